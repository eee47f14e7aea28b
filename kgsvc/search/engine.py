"""The one engine of all searches. SearchFacts and GetMemory are a plan of it;
SearchGraph has scopes, methods, rerankers and filters of the caller's choice.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeVar

from kgsvc.domain.errors import LimitExceeded, NotFound, StoreUnavailable, Violation
from kgsvc.domain.model.communities import Community
from kgsvc.domain.model.delta import GroupHead
from kgsvc.domain.model.graph import Fact
from kgsvc.models.protocol import CrossEncoder, Embedder
from kgsvc.runtime import CONTEXT_CHARS, RANKED, RESULT_BYTES, Clock, offload
from kgsvc.search.context.composing import composed_lines
from kgsvc.search.context.lines import MARK, ContextLine
from kgsvc.search.context.material import material, wider
from kgsvc.search.index.array_files import ArrayFiles
from kgsvc.search.index.cache import IndexCache, SpaceChanged
from kgsvc.search.index.episodes import unpack_episode, unpacked_bytes
from kgsvc.search.index.facts import unpack
from kgsvc.search.index.feed import GroupHeads
from kgsvc.search.index.group import WHOLE, SearchedGroup
from kgsvc.search.index.kept import KeptGroups
from kgsvc.search.index.nodes import unpack_entity
from kgsvc.search.index.topk import Key
from kgsvc.search.plans import Method, Reason, Reranker, Scope, ScopePlan, default_plan
from kgsvc.search.preparing import Prepared, Preparing, PreparingStore
from kgsvc.search.ranking.cross_encoding import CrossEncoding, Ranking, fitting
from kgsvc.search.ranking.finding import find
from kgsvc.search.ranking.pool import ScopeCandidates, ScopeQuery
from kgsvc.search.ranking.rerankers import in_force, ranked
from kgsvc.search.results import FoundBy, GraphHit, GraphQuery, Hit, Item, ScopeAnswer
from kgsvc.search.settings import SearchSettings
from kgsvc.search.spaces import Formers, Spaces, no_former
from kgsvc.stores.community_protocol import CommunityStore
from kgsvc.stores.search_protocol import FactsAsked, ProofStore, SearchStore

T = TypeVar("T")
Shown = Callable[[Key], Item | None]
_log = logging.getLogger("kgsvc.search")
_UNPACK: dict[Scope, Callable[[Any], Item]] = {
    Scope.FACTS: unpack,
    Scope.NODES: unpack_entity,
    Scope.EPISODES: unpack_episode,
    Scope.CHUNKS: unpack_episode,
}
_BODIES = frozenset({Scope.EPISODES, Scope.CHUNKS})
_SEARCH_FACTS = ScopePlan(Scope.FACTS, (Method.BM25, Method.COSINE), Reranker.RRF)


class EngineStore(PreparingStore, SearchStore, CommunityStore, ProofStore, Protocol):
    """Where names are looked up, indexes are fed from, and what is not in memory is found."""


@dataclass(frozen=True, slots=True)
class Searched:
    """A search and what it found, for a context to be made of it."""

    query: GraphQuery
    answers: list[ScopeAnswer]
    prepared: Prepared


class Engine:
    """Searches one or several groups. Deterministic to the last tie, models aside.

    Several groups are ranked together: each scores with its own statistics, the scores are put into one list
    for each method, and those lists are ranked.
    """

    def __init__(
        self,
        store: EngineStore,
        embedder: Embedder | None,
        settings: SearchSettings,
        clock: Clock,
        cross_encoder: CrossEncoder | None = None,
        files: ArrayFiles | None = None,
        formers: Formers = no_former,
    ) -> None:
        """`files`: where indexes are kept. `formers`: whom to ask in the space of a group that is not the
        embedder's."""
        self._store = store
        self._settings = settings
        self._clock = clock
        self._heads = GroupHeads(store, settings.store_timeout_s)
        spaces = Spaces(embedder, formers, settings)
        own, of = (spaces.own, spaces.dimension), spaces.dimension_of
        self._kept = None if files is None else KeptGroups(files, store, *own, of)
        self.indexes = IndexCache(store, settings, *own, kept=self._kept, dimension_of=of)
        self._preparing = Preparing(store, settings, clock, spaces, self.indexes)
        self._cross_encoding = CrossEncoding(cross_encoder, settings)

    async def search(self, query: GraphQuery) -> list[ScopeAnswer]:
        """An answer for each plan, in order. Sees every change committed before the call.

        Raises NotFound (a center or origin that no group has, naming the field), LimitExceeded (the bodies
        of episodes are too much for one response), StoreUnavailable.
        """
        return (await self._searched(query, query.plans)).answers

    async def search_for_context(self, query: GraphQuery) -> Searched:
        """`search`, with what `context` needs."""
        return await self._searched(query, (*query.plans, default_plan(Scope.EPISODES)))

    async def _searched(self, query: GraphQuery, plans: Sequence[ScopePlan]) -> Searched:
        await self.require(query.group_ids, query.center, query.origins)

        async def searched() -> Searched:
            prepared = await self._prepared(query, plans)
            return Searched(query, await self._answers(query, prepared), prepared)

        return await _again(searched)

    async def facts(
        self,
        group_ids: Collection[str],
        text: str,
        max_facts: int,
        center: str | None = None,
        now_ms: int | None = None,
    ) -> list[Hit]:
        """SearchFacts: the best `max_facts` facts that are valid at `now_ms` (None: by the clock) and not
        expired, best first, ties by uuid ascending.

        Groups that do not exist hold nothing; a center without facts is near to none (`require` tells it
        from an unknown one). Raises StoreUnavailable.
        """
        query = GraphQuery(tuple(dict.fromkeys(group_ids)), text, (_SEARCH_FACTS,), max_facts, center=center)

        async def answers() -> list[ScopeAnswer]:
            return await self._answers(query, await self._prepared(query, query.plans, now_ms))

        (answer,) = await _again(answers)
        return [Hit(hit.item, hit.score) for hit in answer.hits if isinstance(hit.item, Fact)]

    async def context(self, searched: Searched, chars: int, mark_chars: int = len(MARK)) -> list[ContextLine]:
        """The lines of a text of at most `chars` characters to answer from (kgsvc.search.context): what was
        found, what belongs to it, and the episodes that bear on the question. Before each line that is no
        heading there is room for `mark_chars` characters. Raises StoreUnavailable."""
        query, prepared = searched.query, searched.prepared
        wanted = wider(query, chars, prepared.now_ms)
        more = await asyncio.gather(*(self._answers(each, prepared) for each in wanted))
        beside = [answer for answers in more for answer in answers]
        use = partial(self._use, prepared)
        known = await material(use, searched.answers, beside, prepared.terms, query.filters.known_at_ms)
        return await offload(chars / CONTEXT_CHARS, composed_lines, known, chars, mark_chars)

    async def require(
        self, group_ids: Collection[str], center: str | None, origins: Sequence[str] = ()
    ) -> None:
        """Raise NotFound, naming the field, unless each of these is an entity of one of the groups."""
        left = {*origins, *([] if center is None else [center])}
        for group_id in dict.fromkeys(group_ids):
            if left:
                left -= (await self._store.names(group_id, (), sorted(left))).by_uuid.keys()
        fields = (f"bfs_origin_node_uuids[{at}]" for at in range(len(origins)))
        for uuid, field in ((center, "center_node_uuid"), *zip(origins, fields, strict=True)):
            if uuid in left:
                problem = Violation(field, "is no entity of these groups")
                raise NotFound(f"no entity {uuid} in these groups", [problem])

    async def sweep(self) -> None:
        """Remove files of indexes that count no more: while this server was away something may have been
        erased."""
        if self._kept is not None:
            await self._kept.sweep()

    async def warm(self, group_ids: Collection[str]) -> None:
        """Load the busiest of these groups behind the searches, one after the other: those that were changed
        most often, as many as settings.warm_groups says."""
        try:
            busiest = sorted(await self.heads(group_ids), key=lambda head: (-head.rev, head.group_id))
            for head in busiest[: self._settings.warm_groups]:
                found = await self._preparing.candidates(
                    head.group_id, FactsAsked((), (), None, "", self._clock.now_ms(), 1)
                )
                if found is not None:
                    self.indexes.load_behind(head, found.facts, WHOLE)
                    await self.indexes.loaded_behind(head.group_id)
        except StoreUnavailable as error:
            _log.warning("groups were not loaded at the start: %s", error)

    async def heads(self, group_ids: Collection[str]) -> list[GroupHead]:
        """Those of the groups that there are, sorted. Raises StoreUnavailable."""
        wanted = sorted(set(group_ids))
        heads = await self._heads.of(wanted)
        for group_id in wanted:
            if group_id not in heads:
                self.indexes.forget(group_id)
        return [heads[group_id] for group_id in wanted if group_id in heads]

    async def erase(self, group_ids: Collection[str]) -> None:
        """Drop the indexes of groups of which something was erased."""
        for group_id in group_ids:
            await self.indexes.erase(group_id)

    async def close(self) -> None:
        """Wait for work left behind and drop the indexes."""
        await self._heads.close()
        await self.indexes.close()

    # -- one search ------------------------------------------------------------------------------------

    async def _prepared(
        self, query: GraphQuery, plans: Sequence[ScopePlan], now_ms: int | None = None
    ) -> Prepared:
        return await self._preparing.prepared(query, plans, await self.heads(query.group_ids), now_ms)

    async def _use(self, prepared: Prepared, work: Callable[[list[SearchedGroup]], T]) -> T:
        """Run `work` on all groups of a search that are in memory."""
        heavy = prepared.heavy or bool(prepared.stored)
        if not prepared.heads:
            return await offload(2 if heavy else 0, work, [])
        return await self.indexes.use(prepared.heads, work, heavy, prepared.parts)

    async def _answers(self, query: GraphQuery, prepared: Prepared) -> list[ScopeAnswer]:
        asked = [self._preparing.asked(query, plan, prepared) for plan in query.plans]
        found = await self._use(
            prepared, lambda groups: [find(groups, prepared.stored, each) for each in asked]
        )
        if len(asked) == 1:
            return [await self._answer(query, asked[0], found[0], prepared)]
        return await asyncio.gather(
            *(self._answer(query, *each, prepared) for each in zip(asked, found, strict=True))
        )

    async def _answer(
        self, query: GraphQuery, asked: ScopeQuery, found: ScopeCandidates, prepared: Prepared
    ) -> ScopeAnswer:
        plan = asked.plan
        reranker, reason = in_force(plan, asked.vector is not None)
        # MMR compares many vectors with many.
        cost = math.inf if reranker is Reranker.MMR else len(found.packed) / RANKED
        order = await offload(cost, ranked, found, asked, reranker, self._settings.distance_weight)
        if plan.reranker is Reranker.CROSS_ENCODER:
            order, reason = await self._rated(query, plan.scope, found, order)
            reranker = reranker if reason else plan.reranker
        kept = [entry for entry in order if _enough(entry[1], query, reason)][: query.max_results]
        keys = [key for key, _ in kept]
        size = _size(plan.scope, found, keys)
        if size > query.max_bytes:
            says = f"the episodes have about {size} bytes, at most {query.max_bytes} are sent; ask for fewer"
            raise LimitExceeded(says, [Violation("max_results", says)])
        shown = await self._shown(plan.scope, found, keys)
        hits = await offload(size / RESULT_BYTES, _hits, found, kept, shown)
        return ScopeAnswer(plan.scope, tuple(found.lists), reranker, hits, reason, bool(prepared.stored))

    async def _rated(
        self, query: GraphQuery, scope: Scope, found: ScopeCandidates, order: Ranking
    ) -> tuple[Ranking, Reason | None]:
        """The order by the ratings of a model, or as it is and why."""
        keys = [key for key, _ in order[: self._settings.rerank_candidates]]
        shown = await self._shown(scope, found, keys)
        limit = self._settings.rerank_bytes
        texts = await offload(_size(scope, found, keys) / RESULT_BYTES, fitting, keys, shown, limit)
        group_id = query.group_ids[0] if len(query.group_ids) == 1 else ""
        left_s = None if query.ends_s is None else query.ends_s - self._clock.monotonic()
        return await self._cross_encoding.reranked(query.text, group_id, order, texts, left_s)

    async def _shown(self, scope: Scope, found: ScopeCandidates, keys: Sequence[Key]) -> Shown:
        """How results become what is shown. Communities are read anew: their members come and go."""
        if scope is not Scope.COMMUNITIES:
            return lambda key: _UNPACK[scope](found.packed[key])
        present: dict[Key, Community] = {}
        for group_id in dict.fromkeys(group_id for _, group_id in keys):
            uuids = [uuid for uuid, home in keys if home == group_id]
            rows = await self._store.communities_of(group_id, uuids)
            present |= {(row.uuid, group_id): row for row in rows}
        return present.get


async def _again(search: Callable[[], Awaitable[T]]) -> T:
    """A search, once more if a group went over to another embedder meanwhile."""
    try:
        return await search()
    except SpaceChanged:
        return await search()


def _enough(score: float, query: GraphQuery, reason: Reason | None) -> bool:
    """Whether a score is not below the least that is wanted; that is one of the reranker asked for."""
    return query.min_score is None or reason is not None or score >= query.min_score


def _size(scope: Scope, found: ScopeCandidates, keys: Sequence[Key]) -> int:
    """About the bytes of episodes; what else is shown is small."""
    return sum(unpacked_bytes(found.packed[key]) for key in keys) if scope in _BODIES else 0


def _hits(found: ScopeCandidates, order: Sequence[tuple[Key, float]], shown: Shown) -> tuple[GraphHit, ...]:
    finders: dict[Key, list[FoundBy]] = {key: [] for key, _ in order}
    for method, entries in found.lists.items():
        for rank, (low, key) in enumerate(entries, 1):
            if key in finders:
                finders[key].append(FoundBy(method, rank, -low))
    items = ((key, score, shown(key)) for key, score in order)
    return tuple(GraphHit(item, score, tuple(finders[key])) for key, score, item in items if item is not None)
