"""The day that headings give to what stands below them: "2024-10-02", "Board meeting, 2 May 2024"."""

import re

from kgsvc.domain.limits import DAY_MS
from kgsvc.models.rules.days import WEEKDAYS
from kgsvc.models.rules.text import word_set
from kgsvc.models.rules.times import find_times

_OF_ITS_DAY = word_set(  # a text of this kind tells of the day in its title; a biography does not
    "meeting meetings minutes notes note update updates standup sync call report log journal diary entry"
    " retrospective retro session release released version changelog status summary agenda"
)
_VERSION = re.compile(r"\W*v?\d+\.\d+")
_YEAR = re.compile(r"\d{4}")
_WORD = re.compile(r"[^\W\d_]+")


def day_of_title(title: str) -> int | None:
    """When the one day begins that the title names, if what stands below is of that day; in milliseconds."""
    days = [
        time
        for time in find_times(title, 0)
        if time.begin_ms is not None
        and time.finish_ms is not None
        and time.finish_ms - time.begin_ms <= DAY_MS
        and _YEAR.search(title, time.start, time.end)
    ]
    if len(days) != 1:
        return None
    rest = title[: days[0].start] + title[days[0].end :]
    words = {word.lower() for word in _WORD.findall(rest)} - WEEKDAYS.keys()
    fits = not words or not words.isdisjoint(_OF_ITS_DAY) or _VERSION.match(rest)
    return days[0].begin_ms if fits else None


class Sections:
    """The headings above the words being read, as far as they name days."""

    def __init__(self) -> None:
        self._days: list[tuple[int, int]] = []  # level of the heading, its day

    def enter(self, level: int, title: str) -> None:
        """A heading, of level 1 or deeper: it ends the sections of its own level and of deeper ones."""
        self._days = [each for each in self._days if each[0] < level]
        if (day := day_of_title(title)) is not None:
            self._days.append((level, day))

    def day(self, until_ms: int) -> int | None:
        """The day of the innermost heading that has one, if it is not later than `until_ms`."""
        day = self._days[-1][1] if self._days else None
        return None if day is None or day > until_ms else day
