"""Searching the facts of a group that is not in memory: the store's own indexes find, we rank as ever.

Candidates come with what their scores are made of, so a fact scores here what it scores in an index in
memory; the two can differ only in candidates that the store's indexes pass over.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from kgsvc.domain.errors import StoreUnavailable
from kgsvc.domain.text import K1, B, idf
from kgsvc.runtime import SCORES, offload
from kgsvc.search.filters import NONE
from kgsvc.search.fusion import Key, RankList
from kgsvc.search.index_cache import IndexCache
from kgsvc.search.plans import Method, Reranker, Scope, ScopePlan
from kgsvc.search.pool import Asked, Found
from kgsvc.search.postings import MAX_COUNT
from kgsvc.search.query import Candidates, Query, Term
from kgsvc.search.settings import SearchSettings
from kgsvc.search.vectors import COSINE_FLOOR
from kgsvc.stores.search_protocol import ColdSearchStore, FactCandidate, FactCandidates, FactsAsked

# Up to this size a group is loaded while its caller waits: that takes a moment, and the answer is exact.
LOADED_AT_ONCE = 500
_METHODS = frozenset({Method.BM25, Method.COSINE})


def needs_more(plan: ScopePlan) -> bool:
    """Whether a plan needs more of a group than lists of facts."""
    lists = plan.scope is Scope.FACTS and _METHODS.issuperset(plan.methods)
    return not lists or plan.reranker is Reranker.EVIDENCE


class ColdFacts:
    """Answers while a group's facts are not in memory and lets them be loaded behind the answer.

    Every answer is None where the facts must be loaded: they are in memory already or are few, or the store
    cannot search the group. Raises StoreUnavailable.
    """

    def __init__(
        self,
        store: ColdSearchStore,
        indexes: IndexCache,
        settings: SearchSettings,
        space: str,
        dimension: int,
        loaded_at_once: int = LOADED_AT_ONCE,
    ) -> None:
        self._store = store
        self._indexes = indexes
        self._settings = settings
        self._space = space
        self._dimension = dimension
        self._loaded_at_once = loaded_at_once

    async def candidates(self, group_id: str, query: Query) -> Candidates | None:
        """What GroupIndex.candidates gives; a center needs the index."""
        if query.center_node_uuid is not None:
            return None
        asked = self._asked(query.terms, query.vector, query.now_ms, query.candidates, query.min_cosine)
        found = await self._read(group_id, asked)
        if found is None:
            return None
        keyword, semantic = await self._lists(found, query.terms, query.vector, asked)
        ranked = Candidates(_keys(keyword, group_id), _keys(semantic, group_id))
        ranked.packed.update(((each.uuid, group_id), each.show) for _, each in keyword + semantic)
        return ranked

    async def found(self, group_id: str, asked: Asked) -> Found | None:
        """What fact_scope.find_facts gives; filters and a center need the index, BFS and EVIDENCE more of the
        group (kgsvc.search.cold_groups)."""
        plan = asked.plan
        if needs_more(plan) or asked.filters != NONE or asked.center is not None:
            return None
        terms = asked.terms if Method.BM25 in plan.methods else ()
        vector = asked.vector if Method.COSINE in plan.methods else None
        compares = plan.reranker is Reranker.MMR and self._dimension > 0
        wanted = self._asked(terms, vector, asked.now_ms, asked.candidates, asked.min_cosine, compares)
        found = await self._read(group_id, wanted)
        if found is None:
            return None
        keyword, semantic = await self._lists(found, terms, vector, wanted)
        lists = {Method.BM25: keyword} if Method.BM25 in plan.methods else {}
        if vector is not None:
            lists[Method.COSINE] = semantic
        ranked = Found({method: _keys(entries, group_id) for method, entries in lists.items()}, cold=True)
        for each in {each.uuid: each for entries in lists.values() for _, each in entries}.values():
            self._show(ranked, (each.uuid, group_id), each, plan.reranker)
        return ranked

    async def warm(self, group_id: str, now_ms: int) -> None:
        """Load a group while nobody waits for it, if it can be held, and wait until that is over."""
        found = await self._candidates(group_id, self._asked((), None, now_ms, 1, 0.0))
        if found is not None:
            self._indexes.load_behind(found.head, found.facts, texts=True)
            await self._indexes.loaded_behind(group_id)

    async def read(self, group_id: str, asked: Asked) -> tuple[FactCandidates, Ranked, Ranked] | None:
        """The candidates of a group that is not in memory whole, with their vectors, and the best of them by
        keyword and by vector. Its texts are loaded behind too."""
        compares = self._dimension > 0
        wanted = self._asked(
            asked.terms, asked.vector, asked.now_ms, asked.candidates, asked.min_cosine, compares
        )
        found = await self._read(group_id, wanted, texts=True)
        return (
            None if found is None else (found, *await self._lists(found, asked.terms, asked.vector, wanted))
        )

    async def _read(self, group_id: str, asked: FactsAsked, texts: bool = False) -> FactCandidates | None:
        if self._indexes.holds(group_id, texts):
            return None
        found = await self._candidates(group_id, asked)
        if found is None or found.facts <= self._loaded_at_once:
            return None
        self._indexes.load_behind(found.head, found.facts, texts)
        return found

    async def _candidates(self, group_id: str, asked: FactsAsked) -> FactCandidates | None:
        try:
            async with asyncio.timeout(self._settings.store_timeout_s):
                return await self._store.search_candidates(group_id, asked)
        except TimeoutError as error:
            raise StoreUnavailable("the store did not answer in time") from error

    def _asked(
        self,
        terms: Sequence[Term],
        vector: NDArray[np.float32] | None,
        now_ms: int,
        count: int,
        min_cosine: float,
        all_vectors: bool = False,
    ) -> FactsAsked:
        return FactsAsked(
            tuple(term.text for term in terms if not term.by_prefix),
            tuple(term.text for term in terms if term.by_prefix),
            None if vector is None else vector.astype("<f4").tobytes(),
            self._space,
            now_ms,
            count,
            min_cosine,
            {term.text: term.weight for term in terms if term.weight != 1.0},
            all_vectors,
        )

    async def _lists(
        self,
        found: FactCandidates,
        terms: Sequence[Term],
        vector: NDArray[np.float32] | None,
        asked: FactsAsked,
    ) -> tuple[Ranked, Ranked]:
        """The best by keyword and by vector; where that is much work, beside the event loop."""

        def ranked() -> tuple[Ranked, Ranked]:
            return by_keyword(found, terms)[: asked.count], self._semantic(found, vector, asked)

        steps = len(terms) * len(found.keyword) + self._dimension * len(found.semantic) // 16
        return await offload(steps / SCORES, ranked)

    def _semantic(
        self, found: FactCandidates, vector: NDArray[np.float32] | None, asked: FactsAsked
    ) -> Ranked:
        if vector is None:
            return []
        candidates = [each for each in found.semantic if each.cosine is not None or self._fits(each)]
        floor = max(asked.min_cosine, COSINE_FLOOR)
        cosines = self._cosines(candidates, vector)
        pairs = zip(cosines, candidates, strict=True)
        return _sorted([(-cosine, each) for cosine, each in pairs if cosine > floor])[: asked.count]

    def _cosines(self, candidates: list[FactCandidate], vector: NDArray[np.float32]) -> list[float]:
        """As the store says, or exact."""
        rows = [np.frombuffer(each.vector or b"", "<f4") for each in candidates if each.cosine is None]
        exact: Iterator[float] = iter(())
        if rows:
            products = np.array(rows, np.float64) * vector.astype(np.float64)
            exact = iter(np.round(products.sum(axis=1), 9).tolist())
        return [next(exact) if each.cosine is None else each.cosine for each in candidates]

    def _fits(self, candidate: FactCandidate) -> bool:
        return candidate.vector is not None and len(candidate.vector) == 4 * self._dimension

    def _show(self, found: Found, key: Key, candidate: FactCandidate, reranker: Reranker) -> None:
        found.packed[key] = candidate.show
        if reranker is Reranker.EPISODE_MENTIONS:
            found.mentions[key] = len(candidate.show().episodes)
        if reranker is Reranker.MMR and self._dimension:
            vector = candidate.vector if self._fits(candidate) else bytes(4 * self._dimension)
            found.vectors[key] = np.frombuffer(vector or b"", "<f4")


Ranked = list[tuple[float, FactCandidate]]  # minus the score; best first, ties by uuid


def by_keyword(found: FactCandidates, terms: Sequence[Term]) -> Ranked:
    """Candidates by BM25, with the statistics of the whole group."""
    scores = np.zeros(len(found.keyword))
    lengths = np.array([each.length for each in found.keyword], np.uint32)
    damping = K1 * (1 - B + B * lengths * (found.facts / max(found.total_length, 1)))
    for term in terms:
        held = np.array([each.counts.get(term.text, 0) for each in found.keyword], np.float64)
        counts = np.minimum(held, MAX_COUNT)
        holding = max(found.frequencies.get(term.text, 0), int(np.count_nonzero(counts)))
        if holding:
            scores += term.weight * idf(holding, found.facts) * counts * (K1 + 1) / (counts + damping)
    ranked = zip(np.round(-scores, 9).tolist(), found.keyword, strict=True)
    return _sorted([entry for entry in ranked if entry[0] < 0])


def _sorted(ranked: Ranked) -> Ranked:
    return sorted(ranked, key=lambda entry: (entry[0], entry[1].uuid))


def _keys(ranked: Ranked, group_id: str) -> RankList:
    return [(low, (each.uuid, group_id)) for low, each in ranked]
