"""What a context is made of: what a search found, and what belongs to it (kgsvc.search.context.composing)."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from kgsvc.domain.model.communities import Community
from kgsvc.domain.model.graph import Entity, Episode, Fact
from kgsvc.domain.text import tokens
from kgsvc.runtime import RESULT_BYTES, offload
from kgsvc.search.context.composing import Material
from kgsvc.search.filters import Filters, Span
from kgsvc.search.index.episodes import FoundEpisode, unpack_episode, unpacked_bytes
from kgsvc.search.index.group import SearchedGroup
from kgsvc.search.index.nodes import FoundEntity, unpack_entity
from kgsvc.search.index.text_index import TextIndex
from kgsvc.search.index.topk import Key
from kgsvc.search.past import asks_past
from kgsvc.search.plans import Scope, default_plan
from kgsvc.search.query import FUNCTION_WORDS, Term
from kgsvc.search.results import GraphQuery, Item, ScopeAnswer

_MOST = 200  # entities, and as many episodes, that are looked up
_TURN_CHARS = 40  # about the shortest that episodes are
_FEWEST = 20  # episodes that are looked for
T = TypeVar("T")
Packed = dict[Key, bytes | memoryview]  # display fields
Read = tuple[list[bytes | memoryview], list[bytes | memoryview]]
Use = Callable[
    [Callable[[list[SearchedGroup]], Read]], Awaitable[Read]
]  # runs something on the groups of a search


def past_of(question: str, filters: Filters, now_ms: int) -> Filters | None:
    """The filters that find superseded facts too, where the question is worded about the past.

    None where it is not, or where the filters say what times are wanted.
    """
    if not filters.unasked or not asks_past(question):
        return None
    return replace(filters, invalid=Span(until_ms=filters.at_ms(now_ms)))


def wider(query: GraphQuery, chars: int, now_ms: int) -> list[GraphQuery]:
    """What is searched beside what the caller asked for, if anything: the episodes that bear on the question,
    and superseded facts.

    Episodes know nothing of relations and of when facts ended: where such filters are set, those that tell
    what was found must do.
    """
    filters, more = query.filters, []
    if not (filters.relations or filters.invalid or filters.expired) and query.min_score is None:
        results = min(_MOST, _FEWEST + chars // _TURN_CHARS)
        plan = default_plan(Scope.EPISODES)
        more.append(replace(query, plans=(plan,), max_results=results, max_bytes=sys.maxsize))
    past = past_of(query.text, filters, now_ms)
    if past is not None and any(plan.scope is Scope.FACTS for plan in query.plans):
        more.append(replace(query, plans=(default_plan(Scope.FACTS),), filters=past))
    return more


async def material(
    use: Use,
    found: Sequence[ScopeAnswer],
    more: Sequence[ScopeAnswer],
    terms: Sequence[Term],
    known_at_ms: int | None = None,
) -> Material:
    """What `found` holds, and what belongs to its facts, the best first; behind that, what `more` holds of
    episodes, and of facts that have a word of the question: those of the past are of anything.

    Of an earlier time (`known_at_ms`) only what was known then: no entities but those found, whose summaries
    tell of now, and no later episodes. Raises StoreUnavailable.
    """
    items = [hit.item for answer in (*found, *more) for hit in answer.hits]
    wanted = {term.text for term in terms} - FUNCTION_WORDS
    known = [hit.item for answer in found for hit in answer.hits if isinstance(hit.item, Fact)]
    related = (each for each in _of(items, Fact) if wanted.intersection(tokens(each.fact)))
    facts = list({(each.uuid, each.group_id): each for each in (*known, *related)}.values())
    entities = {_key(each.entity): each.entity for each in _of(items, FoundEntity)}
    episodes = {_key(each.episode): each.episode for each in _of(items, FoundEpisode)}
    ends = [] if known_at_ms is not None else _ends(facts, entities)
    nodes, bodies = await use(_reader(ends, _sources(facts, episodes)))
    size = sum(map(unpacked_bytes, bodies))
    told = await offload(size / RESULT_BYTES, lambda: [unpack_episode(each).episode for each in bodies])
    return Material(
        facts,
        list(entities.values()),
        _of(items, Community),
        [*episodes.values(), *(each for each in told if _known(each, known_at_ms))],
        [unpack_entity(each).entity for each in nodes],
        terms,
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


def _reader(ends: Sequence[Key], sources: Sequence[Key]) -> Callable[[list[SearchedGroup]], Read]:
    """Reads entities and episodes, packed, in their order; what is gone is absent."""

    def read(groups: list[SearchedGroup]) -> Read:
        nodes: Packed = {}
        bodies: Packed = {}
        for group in groups:
            nodes |= _packed(group.texts.nodes, group.group_id, ends)
            bodies |= _packed(group.texts.episodes, group.group_id, sources)
        return [nodes[key] for key in ends if key in nodes], [bodies[key] for key in sources if key in bodies]

    return read


def _packed(index: TextIndex, group_id: str, keys: Sequence[Key]) -> Packed:
    rows = ((key, index.row(key[0])) for key in keys if key[1] == group_id)
    return {key: index.packed([row])[0] for key, row in rows if row is not None}
