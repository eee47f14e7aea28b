"""A text for a language model to answer from: facts with their validity, entities, communities, sources.

One line for each, so that no text can pass for a heading; the best of each kind first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from kgsvc.domain.model.communities import Community
from kgsvc.domain.model.graph import Entity, Episode, Fact
from kgsvc.domain.names.entities import UNSPECIFIC

TOKEN_CHARS = 4  # a token is counted as this many characters
EXCERPT_CHARS = 1_000  # of an episode; of a longer one the beginning is told
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MIDNIGHT = "T00:00:00Z"
# What each kind may take of the text before what others leave is given out, the first first.
_SHARES = (0.5, 0.2, 0.1, 0.2)


@dataclass(frozen=True, slots=True)
class Material:
    """What a context is made of, each the best first."""

    facts: Sequence[Fact] = ()
    entities: Sequence[Entity] = ()
    communities: Sequence[Community] = ()
    episodes: Sequence[Episode] = ()
    known_at_ms: int | None = None  # ends of facts that were not known then are left out


class _Section:
    """Lines under a heading, and which of them are taken."""

    def __init__(self, heading: str, lines: Sequence[str]) -> None:
        self._heading = heading
        self._lines = lines
        self._taken: set[int] = set()

    def take(self, room: int) -> int:
        """Take more lines, each if it still fits into `room`; the characters they need."""
        used = 0
        for at, line in enumerate(self._lines):
            cost = len(line) + 1 + (0 if self._taken else len(self._heading) + 1)
            if at not in self._taken and used + cost <= room:
                self._taken.add(at)
                used += cost
        return used

    def text(self) -> list[str]:
        """The lines that were taken, in their order, under the heading."""
        taken = [self._lines[at] for at in sorted(self._taken)]
        return [self._heading, *taken] if taken else []


def composed(material: Material, chars: int) -> str:
    """A context of at most `chars` characters: half for facts, the rest for the others, and what one kind
    leaves for the next. A line that does not fit is left out; a shorter one behind it may be in."""
    sections = (
        _Section("# Facts", [_fact(each, material.known_at_ms) for each in material.facts]),
        _Section("# Entities", [_entity(each) for each in material.entities]),
        _Section("# Communities", [_named(each.name, each.summary) for each in material.communities]),
        _Section("# Sources", [_source(each) for each in material.episodes]),
    )
    left = chars + 1  # no line break behind the last line
    rooms = [int(left * share) for share in _SHARES]
    for section, room in zip(sections, rooms, strict=True):
        left -= section.take(room)
    for section in sections:
        left -= section.take(left)
    return "\n".join(line for section in sections for line in section.text())


def _fact(fact: Fact, known_at_ms: int | None) -> str:
    return f"- {_line(fact.fact)} ({_validity(fact, _known_end(fact, known_at_ms))})"


def _known_end(fact: Fact, known_at_ms: int | None) -> int | None:
    """When it ceased to hold, by what was known then: an expiry may have come later."""
    late = known_at_ms is not None and fact.expired_ms is not None and fact.expired_ms > known_at_ms
    return fact.invalid_before_ms if late else fact.invalid_ms


def _validity(fact: Fact, end_ms: int | None) -> str:
    if fact.valid_ms is not None:
        return _since(fact.valid_ms, end_ms)
    return f"stated {_time(fact.reference_ms)}" if end_ms is None else f"until {_time(end_ms)}"


def _since(start_ms: int, end_ms: int | None) -> str:
    return f"since {_time(start_ms)}" if end_ms is None else f"{_time(start_ms)} to {_time(end_ms)}"


def _entity(entity: Entity) -> str:
    types = [label for label in entity.labels if label not in UNSPECIFIC]
    name = f"{entity.name} ({', '.join(types)})" if types else entity.name
    return _named(name, entity.summary)


def _named(name: str, summary: str) -> str:
    return f"- {_line(name)}: {_line(summary)}" if summary else f"- {_line(name)}"


def _source(episode: Episode) -> str:
    name = f" {_line(episode.name)}" if episode.name else ""
    text = _line(episode.body[: 4 * EXCERPT_CHARS])
    cut = len(text) > EXCERPT_CHARS or len(episode.body) > 4 * EXCERPT_CHARS
    return f"- {_time(episode.reference_ms)}{name}: {text[:EXCERPT_CHARS]}{'…' if cut else ''}"


def _line(text: str) -> str:
    return " ".join(text.split())


def _time(ms: int) -> str:
    """A day, or a time of it to the second, in UTC."""
    moment = _EPOCH + timedelta(seconds=ms // 1_000)
    return moment.isoformat().replace("+00:00", "Z").removesuffix(_MIDNIGHT)
