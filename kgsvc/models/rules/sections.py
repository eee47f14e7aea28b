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


def _read(title: str) -> tuple[int | None, bool]:
    """When the one day begins that the title names, if what stands below is of that day, in milliseconds; and
    whether the title also says of what: "Minutes of …"."""
    days = [
        time
        for time in find_times(title, 0)
        if time.begin_ms is not None
        and time.finish_ms is not None
        and time.finish_ms - time.begin_ms <= DAY_MS
        and _YEAR.search(title, time.start, time.end)
    ]
    if len(days) != 1:
        return None, False
    rest = title[: days[0].start] + title[days[0].end :]
    words = {word.lower() for word in _WORD.findall(rest)} - WEEKDAYS.keys()
    kind = not words.isdisjoint(_OF_ITS_DAY)
    return days[0].begin_ms if not words or kind or _VERSION.match(rest) else None, kind


class Sections:
    """The headings above the words being read, as far as they name days. "Minutes of 2 May 2024" holds for
    all that follows, whatever its headings, until another one names a day."""

    def __init__(self) -> None:
        self._days: list[tuple[int, int]] = []  # level of the heading, its day
        self._found = 0  # headings with a day
        self._whole: int | None = None  # the day of all

    def enter(self, level: int, title: str) -> None:
        """A heading, of level 1 or deeper: it ends the sections of its own level and of deeper ones."""
        self._days = [each for each in self._days if each[0] < level]
        day, kind = _read(title)
        if day is not None:
            self._days.append((level, day))
            self._found += 1
            self._whole = day if kind and self._found == 1 else None

    def day(self, until_ms: int) -> int | None:
        """The day of the innermost heading that has one, if it is not later than `until_ms`."""
        *_, day = [self._whole, *(day for _level, day in self._days)]
        return None if day is None or day > until_ms else day
