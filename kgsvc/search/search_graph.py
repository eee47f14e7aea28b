"""SearchGraph: scopes, methods, rerankers and filters of the caller's choice (specs 000, 002 and 003)."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from kgsvc.domain.errors import LimitExceeded, NotFound, Violation
from kgsvc.domain.model.communities import Community
from kgsvc.domain.model.delta import GroupHead
from kgsvc.models.protocol import CrossEncoder
from kgsvc.runtime import CONTEXT_CHARS, QUERY_CHARS, RANKED, RESULT_BYTES, Clock, offload
from kgsvc.search import fusion
from kgsvc.search.cold_facts import needs_more
from kgsvc.search.cold_groups import ColdGroups, ColdStore, Indexes, Mixed
from kgsvc.search.context import composed
from kgsvc.search.context_material import material, wider
from kgsvc.search.cross_encoding import CrossEncoding, Ranking, fitting
from kgsvc.search.episode_index import unpack_episode, unpacked_bytes
from kgsvc.search.evidence_search import EvidenceSearch
from kgsvc.search.fact_scope import NOWHERE, find_facts, walk
from kgsvc.search.filters import NONE
from kgsvc.search.fusion import Key
from kgsvc.search.graph_results import FoundBy, GraphHit, GraphQuery, Item, ScopeAnswer
from kgsvc.search.node_index import unpack_entity
from kgsvc.search.packing import unpack
from kgsvc.search.plans import Method, Reason, Reranker, Scope, ScopePlan, default_plan
from kgsvc.search.pool import Asked, Found, Scores, united
from kgsvc.search.query import Term
from kgsvc.search.rerankers import RERANKERS, in_force
from kgsvc.search.search import SearchFacts, unknown_entities
from kgsvc.search.settings import SearchSettings
from kgsvc.search.text_scopes import find_texts, origins_found
from kgsvc.stores.protocol import GraphStore

Shown = Callable[[Key], Item | None]
_UNPACK: dict[Scope, Callable[[Any], Item]] = {
    Scope.FACTS: unpack,
    Scope.NODES: unpack_entity,
    Scope.EPISODES: unpack_episode,
}
# By nearness to the center, as in SearchFacts.
_LIFTED = frozenset({Reranker.RRF, Reranker.WEIGHTED_SUM, Reranker.EVIDENCE})
_NAMED = frozenset({Scope.NODES, Scope.COMMUNITIES})  # found by vectors of their names
_COMPARING = frozenset({Reranker.MMR, Reranker.EVIDENCE})


@dataclass(frozen=True, slots=True)
class _Parsed:
    """What is the same for all scopes and groups."""

    terms: tuple[Term, ...]
    vector: NDArray[np.float32] | None
    now_ms: int
    heads: list[GroupHead]
    indexes: Mixed


class NamingStore(GraphStore, ColdStore, Protocol):
    """Where the names of a search are looked up, and what is found while a group is not in memory."""


class SearchGraph:
    """Searches the indexes that SearchFacts keeps. Deterministic to the last tie, models aside."""

    def __init__(
        self,
        store: NamingStore,
        search: SearchFacts,
        settings: SearchSettings,
        clock: Clock,
        cross_encoder: CrossEncoder | None = None,
    ) -> None:
        self._store = store
        self._search = search
        self._settings = settings
        self._clock = clock
        self._cold = ColdGroups(store, search.cold, settings, search.indexes)
        self._cross_encoding = CrossEncoding(cross_encoder, settings)

    async def search(self, query: GraphQuery) -> list[ScopeAnswer]:
        """An answer for each plan, in order. Sees every change committed before the call.

        Raises NotFound (a center or origin that no group has, naming the field), LimitExceeded (the bodies
        of episodes are too much for one response), StoreUnavailable.
        """
        await self._require_nodes(query)
        parsed = await self._parsed(query)
        return await self._answers(query, parsed)

    async def context(self, query: GraphQuery, found: Sequence[ScopeAnswer], chars: int) -> str:
        """A text of at most `chars` characters to answer from (kgsvc.search.context): what `search` found,
        what belongs to it, and the episodes that bear on the question. Raises StoreUnavailable."""
        wanted = wider(query, chars, self._clock.now_ms())
        parsed = await self._parsed(replace(query, plans=(*query.plans, default_plan(Scope.EPISODES))))
        if parsed.indexes.cold:  # the store finds no superseded facts
            wanted = [each for each in wanted if each.filters == query.filters]
        more = await asyncio.gather(*(self._answers(each, parsed) for each in wanted))
        beside = [answer for answers in more for answer in answers]
        known_at_ms = query.filters.known_at_ms
        known = await material(parsed.indexes, parsed.heads, found, beside, parsed.terms, known_at_ms)
        return await offload(chars / CONTEXT_CHARS, composed, known, chars)

    async def _parsed(self, query: GraphQuery) -> _Parsed:
        terms = await self._search.terms(query.text)
        vector = await self._search.vectors.of(query.text) if _compares(query.plans) else None
        heads = await self._search.heads(query.group_ids)
        parsed = _Parsed(terms, vector, self._clock.now_ms(), heads, Mixed(self._search.indexes, {}))
        plans = [plan for plan in query.plans if needs_more(plan)]
        if not plans or query.filters != NONE or query.center is not None or query.origins:
            return parsed
        asked = self._asked(query, plans[0], parsed)
        cold = await self._cold.of([head.group_id for head in heads], asked, query.text)
        return replace(parsed, indexes=Mixed(self._search.indexes, cold))

    async def _answers(self, query: GraphQuery, parsed: _Parsed) -> list[ScopeAnswer]:
        return await asyncio.gather(*(self._scope(query, plan, parsed) for plan in query.plans))

    async def _require_nodes(self, query: GraphQuery) -> None:
        named = {*query.origins, *([] if query.center is None else [query.center])}
        unknown = await unknown_entities(self._store, query.group_ids, named)
        if query.center in unknown:
            raise NotFound(f"no entity {query.center} in these groups", [_missing("center_node_uuid")])
        for at, uuid in enumerate(query.origins):
            if uuid in unknown:
                where = f"bfs_origin_node_uuids[{at}]"
                raise NotFound(f"no entity {uuid} in these groups", [_missing(where)])

    async def _scope(self, query: GraphQuery, plan: ScopePlan, parsed: _Parsed) -> ScopeAnswer:
        asked = self._asked(query, plan, parsed)
        found = await self._found(asked, query.text, parsed)
        reranker, reason = in_force(plan, asked.vector is not None)
        ranking = (found, asked, reranker, self._settings.distance_weight)
        # MMR compares many vectors with many.
        cost = math.inf if reranker is Reranker.MMR else len(found.packed) / RANKED
        ranked = await offload(cost, _ranked, *ranking)
        if plan.reranker is Reranker.CROSS_ENCODER:
            ranked, reason = await self._rated(query, plan.scope, found, ranked)
            reranker = reranker if reason else plan.reranker
        kept = [entry for entry in ranked if _enough(entry[1], query, reason)][: query.max_results]
        keys = [key for key, _ in kept]
        size = _size(plan.scope, found, keys)
        if size > query.max_bytes:
            says = f"the episodes have about {size} bytes, at most {query.max_bytes} are sent; ask for fewer"
            raise LimitExceeded(says, [Violation("max_results", says)])
        shown = await self._shown(plan.scope, found, keys)
        hits = await offload(size / RESULT_BYTES, _hits, found, kept, shown)
        return ScopeAnswer(plan.scope, tuple(found.lists), reranker, hits, reason, found.cold)

    def _asked(self, query: GraphQuery, plan: ScopePlan, parsed: _Parsed) -> Asked:
        unnamed = parsed.indexes.cold and plan.scope in _NAMED  # no vectors of names are read then
        return Asked(
            plan,
            parsed.terms,
            None if unnamed else parsed.vector,
            self._search.min_cosine,
            query.filters,
            parsed.now_ms,
            max(self._settings.candidates, query.max_results),
            query.max_results,
            query.center,
            query.origins,
        )

    async def _rated(
        self, query: GraphQuery, scope: Scope, found: Found, ranked: Ranking
    ) -> tuple[Ranking, Reason | None]:
        """The order by the ratings of a model, or as it is and why."""
        keys = [key for key, _ in ranked[: self._settings.rerank_candidates]]
        shown = await self._shown(scope, found, keys)
        limit = self._settings.rerank_bytes
        texts = await offload(_size(scope, found, keys) / RESULT_BYTES, fitting, keys, shown, limit)
        group_id = query.group_ids[0] if len(query.group_ids) == 1 else ""
        left_s = None if query.ends_s is None else query.ends_s - self._clock.monotonic()
        return await self._cross_encoding.reranked(query.text, group_id, ranked, texts, left_s)

    async def _shown(self, scope: Scope, found: Found, keys: Sequence[Key]) -> Shown:
        """How results become what is shown. Communities are read anew: their members come and go."""
        if scope is not Scope.COMMUNITIES:
            return lambda key: _UNPACK[scope](found.packed[key])
        present: dict[Key, Community] = {}
        for group_id in dict.fromkeys(group_id for _, group_id in keys):
            uuids = [uuid for uuid, home in keys if home == group_id]
            rows = await self._store.communities_of(group_id, uuids)
            present |= {(row.uuid, group_id): row for row in rows}
        return present.get

    async def _found(self, asked: Asked, text: str, parsed: _Parsed) -> Found:
        heavy, indexes, plan = len(text) > QUERY_CHARS, parsed.indexes, asked.plan
        if plan.reranker is Reranker.EVIDENCE:
            found = await EvidenceSearch(indexes).found(asked, text, parsed.heads, heavy)
        else:
            one = self._facts if plan.scope is Scope.FACTS else self._texts
            groups = await asyncio.gather(*(one(asked, head, heavy, indexes) for head in parsed.heads))
            found = united(groups, asked.candidates)
        return replace(found, cold=found.cold or (needs_more(plan) and bool(indexes.cold)))

    async def _facts(self, asked: Asked, head: GroupHead, heavy: bool, indexes: Indexes) -> Found:
        cold = await self._search.cold.found(head.group_id, asked)
        if cold is not None:
            return cold
        types = asked.filters.entity_types
        if types:
            typed = await indexes.use_texts(head, lambda texts: texts.nodes.of_types(types))
            asked = replace(asked, typed=typed)
        return await indexes.use(head, lambda index: find_facts(index, asked), heavy)

    async def _texts(self, asked: Asked, head: GroupHead, heavy: bool, indexes: Indexes) -> Found:
        walked = NOWHERE
        origins = asked.named_origins
        if Method.BFS in asked.plan.methods and not origins:
            found = await indexes.use_texts(head, lambda texts: origins_found(texts, asked), heavy)
            origins = tuple(found)
        if origins:
            walked = await indexes.use(head, lambda index: walk(index, asked, origins))
        return await indexes.use_texts(head, lambda texts: find_texts(texts, asked, walked), heavy)


def _compares(plans: Sequence[ScopePlan]) -> bool:
    """Whether any of them needs the query's embedding."""
    return any(Method.COSINE in plan.methods or plan.reranker in _COMPARING for plan in plans)


def _enough(score: float, query: GraphQuery, reason: Reason | None) -> bool:
    """Whether a score is not below the least that is wanted; that is one of the reranker asked for."""
    return query.min_score is None or reason is not None or score >= query.min_score


def _size(scope: Scope, found: Found, keys: Sequence[Key]) -> int:
    """About the bytes of episodes; what else is shown is small."""
    if scope is not Scope.EPISODES:
        return 0
    bodies = (found.packed[key] for key in keys)
    return sum(unpacked_bytes(body) for body in bodies if isinstance(body, bytes))


def _missing(field: str) -> Violation:
    return Violation(field, "is no entity of these groups")


def _ranked(found: Found, asked: Asked, reranker: Reranker, weight: float) -> Ranking:
    """All candidates, best first; ties by the reciprocal ranks, then by uuid. By MMR as they were taken."""
    scores: Scores = RERANKERS[reranker](found, asked)
    if reranker is Reranker.MMR:
        return list(scores.items())
    if asked.center is not None and reranker in _LIFTED:
        scores = fusion.near_center(scores, found.distances, weight)
    ranks = found.reciprocal_ranks()

    def order(entry: tuple[Key, float]) -> tuple[float, float, Key]:
        key, score = entry
        return -score, -round(ranks.get(key, 0.0), 12), key

    return sorted(scores.items(), key=order)


def _hits(found: Found, ranked: Sequence[tuple[Key, float]], shown: Shown) -> tuple[GraphHit, ...]:
    finders: dict[Key, list[FoundBy]] = {key: [] for key, _ in ranked}
    for method, entries in found.lists.items():
        for rank, (low, key) in enumerate(entries, 1):
            if key in finders:
                finders[key].append(FoundBy(method, rank, -low))
    items = ((key, score, shown(key)) for key, score in ranked)
    return tuple(GraphHit(item, score, tuple(finders[key])) for key, score, item in items if item is not None)
