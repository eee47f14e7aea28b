"""The index of one group: everything that ranking its facts needs, in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kgsvc.retrieval import hops
from kgsvc.retrieval.columns import Column
from kgsvc.retrieval.document import keyword_counts, keyword_text
from kgsvc.retrieval.fact_columns import FactColumns, Mask
from kgsvc.retrieval.fusion import RankList
from kgsvc.retrieval.lexical import bm25
from kgsvc.retrieval.packing import pack, unpack
from kgsvc.retrieval.postings import Postings
from kgsvc.retrieval.query import Candidates, Query, Term
from kgsvc.retrieval.topk import Ranked, best, tie_key
from kgsvc.retrieval.vectors import VectorColumn
from kgsvc.stores.protocol import Changes, IndexedFact

_ROW_BYTES = 250  # measured: uuid, its dict entry, list slots, bytes header, share of entity ids


class GroupIndex:
    """Facts of one group by row, current as of (`epoch`, `rev`).

    Not safe for concurrent use: whoever shares it serialises `apply` and `candidates`. Rows are reused, and
    nothing that is ranked depends on them: scores come from the facts alone, ties go by uuid.
    """

    def __init__(self, group_id: str, space: str = "", dimension: int = 0) -> None:
        self.group_id = group_id
        self.epoch = 0
        self.rev = 0
        self._space = space
        self._vectors = VectorColumn(dimension) if dimension else None
        self._row_of: dict[str, int] = {}
        self._free: list[int] = []
        self._uuids: list[str] = []
        self._packed: list[bytes] = []
        self._packed_bytes = 0
        self._postings = Postings()
        self._total_length = 0
        self._length = Column(np.uint32)
        self._tie = Column(np.uint64)
        self.columns = FactColumns()

    def __len__(self) -> int:
        return len(self._row_of)

    def __contains__(self, uuid: str) -> bool:
        return uuid in self._row_of

    @property
    def nbytes(self) -> int:
        """About the memory held, in bytes."""
        arrays = self._length.nbytes + self._tie.nbytes + self.columns.nbytes
        vectors = self._vectors.nbytes if self._vectors else 0
        rows = len(self._uuids) * _ROW_BYTES + self._packed_bytes
        return arrays + vectors + rows + self._postings.nbytes

    # -- following the store ---------------------------------------------------------------------------

    def apply(self, changes: Changes) -> None:
        """Advance to a page of changes; its epoch must be this index's own, or the index empty."""
        for uuid in changes.removed:  # first: a fact written again after its removal is among the facts
            if uuid in self._row_of:
                self._remove(uuid)
        for indexed in changes.facts:
            self._put(indexed)
        self.epoch = changes.head.epoch
        self.rev = changes.upto_rev if changes.more else changes.head.rev

    def _put(self, indexed: IndexedFact) -> None:
        fact = indexed.fact
        text, packed = keyword_text(fact), pack(fact)
        row = self._row_of.get(fact.uuid)
        if row is None:
            row = self._new_row(fact.uuid)
            self._enter(row, keyword_counts(text))
        else:
            known = keyword_text(unpack(self._packed[row]))
            if known != text:
                self._leave(row, keyword_counts(known))
                self._enter(row, keyword_counts(text))
        self._packed_bytes += len(packed) - len(self._packed[row])
        self._packed[row] = packed
        self.columns.put(row, fact)
        if self._vectors is not None:
            self._vectors.put(row, indexed.vector if indexed.space == self._space else None)

    def _remove(self, uuid: str) -> None:
        row = self._row_of.pop(uuid)
        self._leave(row, keyword_counts(keyword_text(unpack(self._packed[row]))))
        self._packed_bytes -= len(self._packed[row])
        self._packed[row], self._uuids[row] = b"", ""
        self.columns.clear(row)
        if self._vectors is not None:
            self._vectors.put(row, None)
        self._free.append(row)

    def _new_row(self, uuid: str) -> int:
        if self._free:
            row = self._free.pop()
        else:
            row = len(self._uuids)
            self._uuids.append("")
            self._packed.append(b"")
            self._reserve(row + 1)
        self._row_of[uuid] = row
        self._uuids[row] = uuid
        self._tie.data[row] = tie_key(uuid)
        return row

    def _reserve(self, rows: int) -> None:
        self._length.reserve(rows)
        self._tie.reserve(rows)
        self.columns.reserve(rows)
        if self._vectors is not None:
            self._vectors.reserve(rows)

    def _enter(self, row: int, counts: Counter[str]) -> None:
        self._postings.add(row, counts)
        self._length.data[row] = counts.total()
        self._total_length += counts.total()

    def _leave(self, row: int, counts: Counter[str]) -> None:
        self._postings.remove(row, counts)
        self._length.data[row] = 0
        self._total_length -= counts.total()

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

    @property
    def rows(self) -> int:
        """How many rows there are, free ones included."""
        return len(self._uuids)

    def rank_list(self, found: list[Ranked]) -> RankList:
        """What was found, by keys."""
        return [(low, (uuid, self.group_id)) for low, uuid, _ in found]

    def packed(self, rows: Sequence[int]) -> list[bytes]:
        """Display fields of facts."""
        return [self._packed[row] for row in rows]

    def by_keyword(self, terms: Sequence[Term], visible: Mask, count: int) -> list[Ranked]:
        """The best of the visible facts by BM25."""
        matches = [(self._postings.find(term.text, term.by_prefix), term.weight) for term in terms]
        if not any(len(postings) for postings, _ in matches):
            return []
        lengths = self._length.data[: len(visible)]
        scores = bm25(matches, lengths, len(self), self._total_length)
        rows = np.flatnonzero(visible & (scores > 0))
        return self.best(rows, np.round(scores[rows], 9), count)

    def by_vector(
        self, vector: NDArray[np.float32] | None, visible: Mask, count: int, min_cosine: float
    ) -> list[Ranked]:
        """The nearest of the visible facts by cosine."""
        if vector is None or self._vectors is None:
            return []
        rows, cosines = self._vectors.nearest(vector, np.flatnonzero(visible), count, min_cosine)
        return self.best(rows, cosines, count)

    def best(self, rows: NDArray[np.intp], scores: NDArray[np.float64], count: int) -> list[Ranked]:
        """The `count` best of `rows` by their scores, ties by uuid."""
        return best(rows, scores, count, self._uuids, self._tie.data)

    def vectors(self, rows: Sequence[int]) -> NDArray[np.float32] | None:
        """Unit vectors of facts, zeros where one has none; None without an embedding space."""
        return None if self._vectors is None else self._vectors.of(rows)

    def walked(self, origins: Sequence[int], visible: Mask, most: int = hops.MAX_HOPS) -> NDArray[np.int8]:
        """Hops of each entity from the nearest of `origins` over visible facts, `most` + 1 beyond."""
        sources, targets = self.columns.ends(len(visible))
        return hops.distances(sources[visible], targets[visible], self.columns.nodes, origins, most)

    def nearest_end(self, reached: NDArray[np.int8], rows: Sequence[int]) -> list[int]:
        """Hops to the nearer end of facts."""
        sources, targets = self.columns.ends(self.rows)
        nearer: list[int] = np.minimum(reached[sources[rows]], reached[targets[rows]]).tolist()
        return nearer
