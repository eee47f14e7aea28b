"""A text for a language model to answer from: facts with their validity, entities, communities, sources.

One line for each, so that no text can pass for a heading; the best of each kind first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from kgsvc.domain.facts.beliefs import as_known_at
from kgsvc.domain.model.communities import Community
from kgsvc.domain.model.graph import Entity, Episode, Fact
from kgsvc.domain.names.entities import UNSPECIFIC
from kgsvc.runtime import RESULT_BYTES, offload
from kgsvc.search.episode_index import FoundEpisode, unpack_episode, unpacked_bytes
from kgsvc.search.fusion import Key
from kgsvc.search.graph_results import Item, ScopeAnswer
from kgsvc.search.group_texts import GroupTexts
from kgsvc.search.node_index import FoundEntity, unpack_entity
from kgsvc.search.search import SearchFacts
from kgsvc.search.text_index import TextIndex

TOKEN_CHARS = 4  # a token is counted as this many characters
EXCERPT_CHARS = 1_000  # of an episode; of a longer one the beginning is told
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MIDNIGHT = "T00:00:00Z"
_DAY_MS = 86_400_000
# What each kind may take of the text before what others leave is given out, the first first.
_SHARES = (0.5, 0.2, 0.1, 0.2)


@dataclass(frozen=True, slots=True)
class Material:
    """What a context is made of, each the best first."""

    facts: Sequence[Fact] = ()
    entities: Sequence[Entity] = ()
    communities: Sequence[Community] = ()
    episodes: Sequence[Episode] = ()
    known_at_ms: int | None = None  # facts are told as they were known then


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
    then = as_known_at(fact, known_at_ms)
    return f"- {_line(then.fact)} ({_validity(then, then.invalid_ms)})"


def _validity(fact: Fact, end_ms: int | None) -> str:
    if fact.valid_ms is not None:
        return _since(fact.valid_ms, end_ms)
    return f"stated {_time(fact.reference_ms)}" if end_ms is None else f"until {_end(end_ms)}"


def _since(start_ms: int, end_ms: int | None) -> str:
    return f"since {_time(start_ms)}" if end_ms is None else f"{_time(start_ms)} to {_end(end_ms)}"


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


def _end(ms: int) -> str:
    """What holds until a day is stored with its last millisecond."""
    return _time(ms + 1 - _DAY_MS if (ms + 1) % _DAY_MS == 0 else ms)


def _time(ms: int) -> str:
    """A day, or a time of it to the second, in UTC."""
    moment = _EPOCH + timedelta(seconds=ms // 1_000)
    return moment.isoformat().replace("+00:00", "Z").removesuffix(_MIDNIGHT)


_MOST = 200  # entities, and as many episodes, that are looked up
T = TypeVar("T")
Packed = dict[Key, bytes]  # display fields


async def material(
    search: SearchFacts, found: Iterable[ScopeAnswer], known_at_ms: int | None = None
) -> Material:
    """What `found` holds, and what belongs to its facts, the best facts first.

    Of an earlier time (`known_at_ms`) only what was known then: no entities but those found, whose summaries
    tell of now, and no later episodes. Raises StoreUnavailable.
    """
    items = [hit.item for answer in found for hit in answer.hits]
    facts = _of(items, Fact)
    entities = {_key(each.entity): each.entity for each in _of(items, FoundEntity)}
    episodes = {_key(each.episode): each.episode for each in _of(items, FoundEpisode)}
    ends = [] if known_at_ms is not None else _ends(facts, entities)
    sources = _sources(facts, episodes)
    nodes, bodies = await _looked_up(search, ends, sources)
    size = sum(map(unpacked_bytes, bodies))
    told = await offload(size / RESULT_BYTES, lambda: [unpack_episode(each).episode for each in bodies])
    named = [unpack_entity(each).entity for each in nodes]
    return Material(
        facts,
        [*entities.values(), *(each for each in named if each.summary)],
        _of(items, Community),
        [*episodes.values(), *(each for each in told if _known(each, known_at_ms))],
        known_at_ms,
    )


def _of(items: Iterable[Item], kind: type[T]) -> list[T]:
    return [item for item in items if isinstance(item, kind)]


def _key(each: Entity | Episode) -> Key:
    return each.uuid, each.group_id


def _ends(facts: Iterable[Fact], found: Mapping[Key, Entity]) -> list[Key]:
    ends = ((uuid, fact.group_id) for fact in facts for uuid in (fact.source_uuid, fact.target_uuid))
    return [key for key in dict.fromkeys(ends) if key not in found][:_MOST]


def _sources(facts: Iterable[Fact], found: Mapping[Key, Episode]) -> list[Key]:
    told_in = ((uuid, fact.group_id) for fact in facts for uuid in fact.episodes)
    return [key for key in dict.fromkeys(told_in) if key not in found][:_MOST]


def _known(episode: Episode, known_at_ms: int | None) -> bool:
    return known_at_ms is None or episode.created_ms <= known_at_ms


async def _looked_up(
    search: SearchFacts, ends: Sequence[Key], sources: Sequence[Key]
) -> tuple[list[bytes], list[bytes]]:
    """Entities and episodes out of the indexes, packed, in their order; what is gone is absent."""
    nodes: Packed = {}
    bodies: Packed = {}
    groups = {group_id for _, group_id in (*ends, *sources)}
    for head in await search.heads(groups):
        read = _reader(head.group_id, ends, sources)
        more_nodes, more_bodies = await search.indexes.use_texts(head, read)
        nodes |= more_nodes
        bodies |= more_bodies
    return [nodes[key] for key in ends if key in nodes], [bodies[key] for key in sources if key in bodies]


def _reader(
    group_id: str, ends: Sequence[Key], sources: Sequence[Key]
) -> Callable[[GroupTexts], tuple[Packed, Packed]]:
    def read(texts: GroupTexts) -> tuple[Packed, Packed]:
        return _packed(texts.nodes, group_id, ends), _packed(texts.episodes, group_id, sources)

    return read


def _packed(index: TextIndex, group_id: str, keys: Sequence[Key]) -> Packed:
    rows = ((key, index.row(key[0])) for key in keys if key[1] == group_id)
    return {key: index.packed([row])[0] for key, row in rows if row is not None}
