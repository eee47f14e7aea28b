"""The index of one group's facts: everything that ranking them needs, in memory."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kgsvc.retrieval import hops
from kgsvc.retrieval.document import keyword_text
from kgsvc.retrieval.fact_columns import FactColumns
from kgsvc.retrieval.packing import pack, unpack
from kgsvc.retrieval.query import Candidates, Query
from kgsvc.retrieval.telling import Telling
from kgsvc.retrieval.text_index import Mask, TextIndex
from kgsvc.stores.search_protocol import Changes, IndexedFact


class GroupIndex(TextIndex):
    """Facts of one group by row, current as of (`epoch`, `rev`).

    Not safe for concurrent use: whoever shares it serialises `apply` and what searches.
    """

    def __init__(self, group_id: str, space: str = "", dimension: int = 0) -> None:
        super().__init__(group_id, space, dimension)
        self.epoch = 0
        self.rev = 0
        self.columns = FactColumns()
        self.telling = Telling()

    @property
    def nbytes(self) -> int:
        """About the memory held, in bytes."""
        return super().nbytes + self.columns.nbytes + self.telling.nbytes

    # -- following the store ---------------------------------------------------------------------------

    def apply(self, changes: Changes) -> None:
        """Advance to a page of changes; its epoch must be this index's own, or the index empty."""
        for uuid in changes.removed:  # first: a fact written again after its removal is among the facts
            if uuid in self:
                self._remove(uuid)
        for indexed in changes.facts:
            self._put(indexed)
        self.settle()
        self.epoch = changes.head.epoch
        self.rev = changes.upto_rev if changes.more else changes.head.rev

    def _put(self, indexed: IndexedFact) -> None:
        fact = indexed.fact
        row = self._set(fact.uuid, keyword_text(fact), pack(fact), indexed.space, indexed.vector)
        self.columns.put(row, fact)
        self.telling.put(row, fact.episodes)

    def _text(self, packed: bytes) -> str:
        return keyword_text(unpack(packed))

    def _make_room(self, rows: int) -> None:
        self.columns.reserve(rows)

    def _clear(self, row: int) -> None:
        self.columns.clear(row)
        self.telling.clear(row)

    # -- searching -------------------------------------------------------------------------------------

    def candidates(self, query: Query) -> Candidates:
        """Rank lists over the facts that are valid at `query.now_ms` and not expired."""
        visible = self.columns.current(self.rows, query.now_ms)
        keyword = self.by_keyword(query.terms, visible, query.candidates)
        semantic = self.by_vector(query.vector, visible, query.candidates, query.min_cosine)
        found = Candidates(self.rank_list(keyword), self.rank_list(semantic))
        rows = [row for _, _, row in (*keyword, *semantic)]
        keys = [key for _, key in (*found.keyword, *found.semantic)]
        found.packed.update(zip(keys, self.packed(rows), strict=True))
        center = self.columns.node(query.center_node_uuid)
        if center is not None:
            far = self.nearest_end(self.walked([center], visible), rows)
            found.distances.update((k, d) for k, d in zip(keys, far, strict=True) if d <= hops.MAX_HOPS)
        return found

    def walked(self, origins: Sequence[int], visible: Mask, most: int = hops.MAX_HOPS) -> NDArray[np.int8]:
        """Hops of each entity from the nearest of `origins` over visible facts, `most` + 1 beyond."""
        sources, targets = self.columns.ends(len(visible))
        return hops.distances(sources[visible], targets[visible], self.columns.nodes, origins, most)

    def nearest_end(self, reached: NDArray[np.int8], rows: Sequence[int]) -> list[int]:
        """Hops to the nearer end of facts."""
        sources, targets = self.columns.ends(self.rows)
        nearer: list[int] = np.minimum(reached[sources[rows]], reached[targets[rows]]).tolist()
        return nearer
