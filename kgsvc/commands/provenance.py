"""Where results come from: the entities they are about, the episodes and chunks that tell them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from kgsvc.commands.core import Core
from kgsvc.domain.facts.beliefs import as_known_at
from kgsvc.domain.model.documents import Document, Place
from kgsvc.domain.model.graph import Entity, Episode, Fact
from kgsvc.search.context.lines import Thing
from kgsvc.search.index.episodes import FoundEpisode
from kgsvc.search.index.nodes import FoundEntity
from kgsvc.search.index.topk import Key
from kgsvc.search.results import Item
from kgsvc.stores.protocol import Anchor

_READ = 16  # episodes at once: bodies may be long
_AROUND_BYTES = 512  # of an entry without its texts
_NO_PLACE = 1  # a chunk that only former texts have is one entry, too


@dataclass(frozen=True, slots=True)
class SourceText:
    """An episode that tells what was found; of a chunk also its document and where it stands there."""

    episode: Episode
    document: Document | None = None
    places: tuple[tuple[int, Place], ...] = ()  # each with its order, from 0; none: only former texts have it


@dataclass(frozen=True, slots=True)
class Provenance:
    """Entities with the scores of the results they come from, and the sources of these."""

    entities: tuple[tuple[Entity, float], ...] = ()
    sources: tuple[SourceText, ...] = ()
    left_out: int = 0  # for want of room


@dataclass(slots=True)
class Room:
    """The bytes that an answer has left. A source's text is told `copies` times, and once for each place."""

    left: int
    copies: int = 1
    left_out: int = field(default=0)

    def takes(self, size: int) -> bool:
        """Whether that much still fits; if so, it is taken. After the first that does not, nothing does."""
        if self.left_out or size > self.left:
            self.left_out += 1
            return False
        self.left -= size
        return True


async def provenance(
    core: Core,
    hits: Iterable[tuple[Item, float]],
    room: Room,
    known_at_ms: int | None = None,
    sources: Sequence[Key] | None = None,
) -> Provenance:
    """Where these results come from, the best first, as far as there is room. `sources` are the episodes to
    tell of; None: those among the results, and those that state them. Raises StoreUnavailable."""
    found = list(hits)
    entities = await _entities(core, found, room, known_at_ms)
    keys = sources_of((_thing(item) for item, _ in found), known_at_ms) if sources is None else sources
    told = await source_texts(core, keys, room, known_at_ms)
    return Provenance(tuple(entities), tuple(told), room.left_out)


def sources_of(things: Iterable[Thing | None], known_at_ms: int | None = None) -> list[Key]:
    """The episodes among these, and those that state the facts among them, each once, in their order."""
    keys: dict[Key, None] = {}
    for thing in things:
        if isinstance(thing, Episode):
            keys[thing.uuid, thing.group_id] = None
        elif isinstance(thing, Fact):
            stated = as_known_at(thing, known_at_ms).episodes
            keys.update(dict.fromkeys((uuid, thing.group_id) for uuid in stated))
    return list(keys)


async def source_texts(
    core: Core, keys: Sequence[Key], room: Room, known_at_ms: int | None = None
) -> list[SourceText]:
    """These episodes, of chunks also their places, as far as there is room. Later ones than `known_at_ms`
    are not there. Raises StoreUnavailable."""
    told: list[SourceText] = []
    chapters = _Chapters(core)
    for first in range(0, len(keys), _READ):
        if room.left_out:
            room.left_out += len(keys) - first
            break
        read = await _episodes(core, keys[first : first + _READ])
        known = [each for each in read if known_at_ms is None or each.created_ms <= known_at_ms]
        placed = await chapters.placed(known)
        told += [source for source in placed if room.takes(_size(source, room.copies))]
    return told


async def placed(core: Core, episodes: Sequence[Episode]) -> list[SourceText]:
    """Episodes, in their order; chunks with their document and places. Raises StoreUnavailable."""
    return await _Chapters(core).placed(episodes)


class _Chapters:
    """The documents of an answer, each read once."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._read: dict[Key, tuple[Document | None, dict[str, list[tuple[int, Place]]]]] = {}

    async def placed(self, episodes: Sequence[Episode]) -> list[SourceText]:
        """The episodes, in their order; chunks with their document and places."""
        chunks = await documents_of(self._core, [(each.uuid, each.group_id) for each in episodes])
        return [await self._source(each, chunks.get((each.uuid, each.group_id))) for each in episodes]

    async def _source(self, episode: Episode, document_id: str | None) -> SourceText:
        if document_id is None:
            return SourceText(episode)
        key = document_id, episode.group_id
        if key not in self._read:
            self._read[key] = await self._chapter(episode.group_id, document_id)
        document, places = self._read[key]
        return SourceText(episode, document, tuple(places.get(episode.uuid, ())))

    async def _chapter(
        self, group_id: str, document_id: str
    ) -> tuple[Document | None, dict[str, list[tuple[int, Place]]]]:
        by_chunk: dict[str, list[tuple[int, Place]]] = {}
        for order, place in enumerate(await self._core.store.places(group_id, document_id)):
            by_chunk.setdefault(place.chunk_uuid, []).append((order, place))
        return await self._core.store.document(group_id, document_id), by_chunk


async def documents_of(core: Core, episodes: Sequence[Key]) -> dict[Key, str]:
    """The documents of those of these episodes that are chunks. Raises StoreUnavailable."""
    found: dict[Key, str] = {}
    for group_id, uuids in _by_group(episodes).items():
        of_group = await core.store.documents_of(group_id, uuids)
        found.update(((uuid, group_id), document_id) for uuid, document_id in of_group.items())
    return found


def _by_group(keys: Sequence[Key]) -> dict[str, list[str]]:
    uuids: dict[str, list[str]] = {}
    for uuid, group_id in keys:
        uuids.setdefault(group_id, []).append(uuid)
    return uuids


async def _episodes(core: Core, keys: Sequence[Key]) -> list[Episode]:
    """Those of them that are there, in their order."""
    read: dict[Key, Episode] = {}
    for group_id, uuids in _by_group(keys).items():
        named = tuple(uuids)
        anchor = Anchor(uuid="", reference_ms=0, named=named)
        found = await core.store.previous_episodes(group_id, [anchor], len(named), core.limits.body_bytes)
        read.update(((each.uuid, group_id), each) for each in found[""])
    return [read[key] for key in keys if key in read]


def _size(source: SourceText, copies: int) -> int:
    entries = max(len(source.places), _NO_PLACE)
    heads = sum(len(heading.encode()) for _, place in source.places for heading in place.headings)
    return (copies + entries) * len(source.episode.body.encode()) + entries * _AROUND_BYTES + heads


# -- entities ------------------------------------------------------------------------------------------


async def _entities(
    core: Core, hits: Sequence[tuple[Item, float]], room: Room, known_at_ms: int | None
) -> list[tuple[Entity, float]]:
    """Those found, and those at the ends of facts, whose summaries tell of now, not of `known_at_ms`."""
    scores: dict[Key, float] = {}
    found: dict[Key, Entity] = {}
    for item, score in hits:
        if isinstance(item, FoundEntity):
            found[item.entity.uuid, item.entity.group_id] = item.entity
            scores.setdefault((item.entity.uuid, item.entity.group_id), score)
        elif isinstance(item, Fact):
            for uuid in (item.source_uuid, item.target_uuid):
                scores.setdefault((uuid, item.group_id), score)
    ends = await _named(core, [key for key in scores if key not in found])
    known = {
        key: replace(each, summary="") if known_at_ms is not None else each for key, each in ends.items()
    }
    there = {**known, **found}
    told = ((there[key], score) for key, score in scores.items() if key in there)
    return [(each, score) for each, score in told if room.takes(_AROUND_BYTES + len(each.summary.encode()))]


async def _named(core: Core, keys: Sequence[Key]) -> Mapping[Key, Entity]:
    found: dict[Key, Entity] = {}
    for group_id, uuids in _by_group(keys).items():
        view = await core.store.names(group_id, (), uuids)
        found.update(((uuid, group_id), each) for uuid, each in view.by_uuid.items())
    return found


def _thing(item: Item) -> Thing | None:
    if isinstance(item, FoundEpisode):
        return item.episode
    return item if isinstance(item, Fact) else None
