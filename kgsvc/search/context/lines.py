"""The lines of a context and what each one tells of; passages in order of time, under the times at which
they were said, within a bound of characters."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count

from kgsvc.domain.model.communities import Community
from kgsvc.domain.model.graph import Entity, Episode, Fact
from kgsvc.search.context.passages import Choice, SpokenEpisode

Thing = Fact | Episode | Entity | Community
MARK = "- "  # before what is told
HANDLE_CHARS = len("[9999] ")  # no context has more lines
END_CHARS = len("\n")


@dataclass(frozen=True, slots=True)
class ContextLine:
    """One line. Of a heading `of` is None."""

    text: str
    of: Thing | None = None


def told(lines: Sequence[ContextLine]) -> str:
    """The lines as a text for people and for models that cite nothing."""
    return "\n".join(line.text if line.of is None else f"{MARK}{line.text}" for line in lines)


def numbered(lines: Sequence[ContextLine]) -> list[str]:
    """The lines with the handles by which they are cited: "[1] ...", "[2] ..."."""
    handles = count(1)
    return [line.text if line.of is None else f"[{next(handles)}] {line.text}" for line in lines]


def citable(lines: Sequence[ContextLine]) -> list[ContextLine]:
    """What is told, in the order of the handles: the first one has the handle 1."""
    return [line for line in lines if line.of is not None]


HEADING = "# Sources"
_DAY_MS = 86_400_000
_PAUSE_MS = 3_600_000  # after a longer one, and on another day, the time is told anew
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")

Place = tuple[int, str, str, int]  # time, then uuid and group: two may be of one time


class Talk:
    """What was said, as far as it was taken. Episodes come best first; before each stands a mark of so many
    characters."""

    def __init__(self, told: Sequence[SpokenEpisode], mark_chars: int = len(MARK)) -> None:
        self._told = told
        self._around_chars = mark_chars + END_CHARS
        self._taken: dict[int, list[int]] = {}  # passages by the episode's place, ascending
        self._order: list[Place] = []
        self.chars = 0  # that it needs, each line with its end

    def take(self, choices: Sequence[Choice], room: int) -> int:
        """Take the passages that still fit into `room`, one after the other; the characters they need."""
        used = 0
        for choice in choices:
            if choice.passage not in self._taken.get(choice.episode, ()):
                cost = self._cost(choice)
                if used + cost <= room:
                    self._enter(choice)
                    used += cost
        self.chars += used
        return used

    def holds(self, choices: Sequence[Choice]) -> bool:
        """Whether all of these were taken."""
        return len(choices) == sum(map(len, self._taken.values()))

    def said(self) -> dict[tuple[str, str], str]:
        """What is told of each episode, by uuid and group."""
        keys = ((each.episode.uuid, each.episode.group_id) for each in self._told)
        return {key: self._text(at) for at, key in enumerate(keys) if at in self._taken}

    def lines(self) -> list[ContextLine]:
        """What was taken, under its headings."""
        lines: list[ContextLine] = []
        before = None
        for place in self._order:
            if _anew(before, place):
                lines.append(ContextLine(_heading(place)))
            lines.append(ContextLine(self._text(place[3]), self._told[place[3]].episode))
            before = place
        return [ContextLine(HEADING), *lines] if lines else []

    def _cost(self, choice: Choice) -> int:
        known = self._taken.get(choice.episode)
        if known is not None:
            longer = self._told[choice.episode].text(sorted([*known, choice.passage]))
            return len(longer) - len(self._text(choice.episode))
        place = self._place(choice.episode)
        at = bisect_left(self._order, place)
        before = self._order[at - 1] if at else None
        behind = self._order[at] if at < len(self._order) else None
        cost = len(self._told[choice.episode].text([choice.passage])) + self._around_chars
        cost += _heading_chars(before, place) + _heading_chars(place, behind) - _heading_chars(before, behind)
        return cost + (0 if self._order else len(HEADING) + 1)

    def _enter(self, choice: Choice) -> None:
        if choice.episode not in self._taken:
            place = self._place(choice.episode)
            self._order.insert(bisect_left(self._order, place), place)
        self._taken[choice.episode] = sorted([*self._taken.get(choice.episode, ()), choice.passage])

    def _text(self, at: int) -> str:
        return self._told[at].text(self._taken[at])

    def _place(self, at: int) -> Place:
        episode = self._told[at].episode
        return episode.reference_ms, episode.uuid, episode.group_id, at


def _anew(before: Place | None, place: Place) -> bool:
    if before is None:
        return True
    return place[0] - before[0] > _PAUSE_MS or place[0] // _DAY_MS != before[0] // _DAY_MS


def _heading(place: Place) -> str:
    moment = _EPOCH + timedelta(milliseconds=place[0])
    at = "" if place[0] % _DAY_MS == 0 else moment.strftime(" %H:%M")
    return f"## {moment.date()} {_DAYS[moment.weekday()]}{at}"


def _heading_chars(before: Place | None, place: Place | None) -> int:
    """What the heading above a place needs, if it has one behind the one before."""
    return 0 if place is None or not _anew(before, place) else len(_heading(place)) + 1
