"""SearchFacts (spec 004 §4.3.1, §10): hybrid search over the facts of one or several groups."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection
from dataclasses import dataclass

from kgsvc.domain.errors import NotFound, StoreUnavailable
from kgsvc.domain.model.delta import GroupHead
from kgsvc.domain.model.graph import Fact
from kgsvc.models.protocol import Embedder
from kgsvc.runtime import QUERY_CHARS, Clock, offload
from kgsvc.search import fusion
from kgsvc.search.cold_facts import ColdFacts
from kgsvc.search.group_index import GroupIndex
from kgsvc.search.heads import GroupHeads
from kgsvc.search.index_cache import IndexCache
from kgsvc.search.packing import unpack
from kgsvc.search.query import Candidates, Query, Term, parse
from kgsvc.search.query_vectors import QueryVectors
from kgsvc.search.settings import SearchSettings
from kgsvc.stores.protocol import GraphStore
from kgsvc.stores.search_protocol import FactSearchStore

_log = logging.getLogger("kgsvc.search")


@dataclass(frozen=True, slots=True)
class Hit:
    """A fact that was found and its score, comparable within one answer only.

    The fact carries what is shown of it: `slot`, `fact_key`, `evidence` and `closures` are empty.
    """

    fact: Fact
    score: float


class SearchFacts:
    """Keyword and semantic rank lists, fused by reciprocal ranks, reranked by distance from a center.

    Several groups are ranked together: each scores its facts with its own statistics, the scores are put
    into one list for each modality, and those lists are fused.
    """

    def __init__(
        self,
        store: FactSearchStore,
        embedder: Embedder | None,
        settings: SearchSettings,
        clock: Clock,
    ) -> None:
        self._heads = GroupHeads(store, settings.store_timeout_s)
        self._settings = settings
        self._clock = clock
        self.vectors = QueryVectors(embedder, settings)
        self.min_cosine = embedder.min_cosine if embedder else 0.0
        space, dimension = (embedder.space, embedder.dimension) if embedder else ("", 0)
        self.indexes = IndexCache(store, settings, space, dimension)
        self.cold = ColdFacts(store, self.indexes, settings, space, dimension)

    async def search(
        self,
        group_ids: Collection[str],
        query: str,
        max_facts: int,
        center_node_uuid: str | None = None,
        now_ms: int | None = None,
    ) -> list[Hit]:
        """The best `max_facts` facts that are valid at `now_ms` (None: by the clock) and not expired.

        Best first, ties by uuid ascending. Sees every change committed before the call. Groups that do not
        exist hold nothing; a center without facts is near to none (require_center tells it from an unknown
        one). Raises StoreUnavailable.
        """
        asked = await self._query(query, max_facts, center_node_uuid, now_ms)
        heavy = len(query) > QUERY_CHARS

        def work(index: GroupIndex) -> Candidates:
            return index.candidates(asked)

        found = await self._cold(group_ids, asked)
        heads = await self.heads([group_id for group_id in group_ids if group_id not in found])
        if len(heads) == 1:
            loaded = [await self.indexes.use(heads[0], work, heavy)]
        else:
            loaded = await asyncio.gather(*(self.indexes.use(head, work, heavy) for head in heads))
        return self._fuse([*found.values(), *loaded], max_facts, center_node_uuid is not None)

    async def _cold(self, group_ids: Collection[str], asked: Query) -> dict[str, Candidates]:
        """What the store itself finds in groups that are not in memory; their heads are not needed."""
        wanted = [group_id for group_id in dict.fromkeys(group_ids) if not self.indexes.holds(group_id)]
        if not wanted or asked.center_node_uuid is not None:
            return {}
        answers = await asyncio.gather(*(self.cold.candidates(group_id, asked) for group_id in wanted))
        return {group_id: each for group_id, each in zip(wanted, answers, strict=True) if each is not None}

    async def warm(self, group_ids: Collection[str]) -> None:
        """Load the busiest of these groups behind the searches, one after the other: those that were changed
        most often, as many as settings.warm_groups says."""
        try:
            heads = await self.heads(group_ids)
            busiest = sorted(heads, key=lambda head: (-head.rev, head.group_id))
            for head in busiest[: self._settings.warm_groups]:
                await self.cold.warm(head.group_id, self._clock.now_ms())
        except StoreUnavailable as error:
            _log.warning("groups were not loaded at the start: %s", error)

    async def erase(self, group_ids: Collection[str]) -> None:
        """Drop the indexes of groups of which something was erased."""
        for group_id in group_ids:
            await self.indexes.erase(group_id)

    async def close(self) -> None:
        """Wait for work left behind and drop the indexes."""
        await self._heads.close()
        await self.indexes.close()

    async def terms(self, text: str) -> tuple[Term, ...]:
        """The terms of a query."""
        return await offload(len(text) / QUERY_CHARS, parse, text)

    async def _query(self, text: str, max_facts: int, center: str | None, now_ms: int | None) -> Query:
        return Query(
            terms=await self.terms(text),
            vector=await self.vectors.of(text),
            now_ms=self._clock.now_ms() if now_ms is None else now_ms,
            candidates=max(self._settings.candidates, max_facts),
            center_node_uuid=center,
            min_cosine=self.min_cosine,
        )

    async def heads(self, group_ids: Collection[str]) -> list[GroupHead]:
        """Those of the groups that there are, sorted. Raises StoreUnavailable."""
        wanted = sorted(set(group_ids))
        heads = await self._heads.of(wanted)
        for group_id in wanted:
            if group_id not in heads:
                self.indexes.forget(group_id)
        return [heads[group_id] for group_id in wanted if group_id in heads]

    def _fuse(self, found: list[Candidates], max_facts: int, centered: bool) -> list[Hit]:
        length = max(self._settings.candidates, max_facts)
        rankings = (
            fusion.merged((group.keyword for group in found), length),
            fusion.merged((group.semantic for group in found), length),
        )
        scores = fusion.reciprocal_ranks(rankings)
        if centered:
            distances = {key: hops for group in found for key, hops in group.distances.items()}
            scores = fusion.near_center(scores, distances, self._settings.distance_weight)
        packed = {key: data for group in found for key, data in group.packed.items()}
        return [Hit(unpack(packed[key]), score) for key, score in fusion.best(scores, max_facts)]


async def require_center(store: GraphStore, group_ids: Collection[str], uuid: str | None) -> None:
    """Raise NotFound unless one of the groups has an entity with this uuid, or it is None."""
    if uuid is not None and await unknown_entities(store, group_ids, [uuid]):
        raise NotFound(f"no entity {uuid} in these groups")


async def unknown_entities(store: GraphStore, group_ids: Collection[str], uuids: Collection[str]) -> set[str]:
    """Those of the uuids that are no entity of any of the groups. Raises StoreUnavailable."""
    left = set(uuids)
    for group_id in dict.fromkeys(group_ids):
        if left:
            left -= (await store.names(group_id, (), sorted(left))).by_uuid.keys()
    return left
