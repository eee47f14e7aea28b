"""What a context is made of: what was found, entities at the ends of facts, episodes that tell them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from kgsvc.domain.model.communities import Community
from kgsvc.domain.model.graph import Entity, Episode, Fact
from kgsvc.offload import RESULT_BYTES, offload
from kgsvc.search.context import Material
from kgsvc.search.episode_index import FoundEpisode, unpack_episode, unpacked_bytes
from kgsvc.search.fusion import Key
from kgsvc.search.graph_results import Item, ScopeAnswer
from kgsvc.search.group_texts import GroupTexts
from kgsvc.search.node_index import FoundEntity, unpack_entity
from kgsvc.search.search import SearchFacts
from kgsvc.search.text_index import TextIndex

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
