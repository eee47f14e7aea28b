"""The index of one group: everything that ranking its facts needs, in memory."""

from __future__ import annotations

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from kgsvc.domain.model import Fact
from kgsvc.retrieval import hops
from kgsvc.retrieval.columns import Column
from kgsvc.retrieval.document import keyword_counts, keyword_text
from kgsvc.retrieval.fusion import RankList
from kgsvc.retrieval.lexical import bm25
from kgsvc.retrieval.packing import pack, unpack
from kgsvc.retrieval.postings import Postings
from kgsvc.retrieval.query import Candidates, Query
from kgsvc.retrieval.topk import Ranked, best, tie_key
from kgsvc.retrieval.vectors import VectorColumn
from kgsvc.stores.protocol import Changes, IndexedFact

NEVER = 2**63 - 1  # the end of an open interval
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
        self._nodes: dict[str, int] = {}
        self._postings = Postings()
        self._total_length = 0
        self._length = Column(np.uint32)
        self._start = Column(np.int64)
        self._invalid = Column(np.int64)
        self._expired = Column(np.int64)
        self._source = Column(np.int32)
        self._target = Column(np.int32)
        self._tie = Column(np.uint64)

    def __len__(self) -> int:
        return len(self._row_of)

    def __contains__(self, uuid: str) -> bool:
        return uuid in self._row_of

    @property
    def nbytes(self) -> int:
        """About the memory held, in bytes."""
        columns = (self._length, self._start, self._invalid, self._expired, self._source, self._target)
        arrays = sum(column.nbytes for column in columns) + self._tie.nbytes
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
        self._set_columns(row, fact)
        if self._vectors is not None:
            self._vectors.put(row, indexed.vector if indexed.space == self._space else None)

    def _set_columns(self, row: int, fact: Fact) -> None:
        self._start.data[row] = fact.start_ms
        self._invalid.data[row] = NEVER if fact.invalid_ms is None else fact.invalid_ms
        self._expired.data[row] = NEVER if fact.expired_ms is None else fact.expired_ms
        self._source.data[row] = self._node(fact.source_uuid)
        self._target.data[row] = self._node(fact.target_uuid)

    def _remove(self, uuid: str) -> None:
        row = self._row_of.pop(uuid)
        self._leave(row, keyword_counts(keyword_text(unpack(self._packed[row]))))
        self._packed_bytes -= len(self._packed[row])
        self._packed[row], self._uuids[row] = b"", ""
        self._expired.data[row] = 0  # a free row is never visible
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
        columns = (self._length, self._start, self._invalid, self._expired, self._source, self._target)
        for column in (*columns, self._tie):
            column.reserve(rows)
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

    def _node(self, uuid: str) -> int:
        return self._nodes.setdefault(uuid, len(self._nodes))

    # -- searching -------------------------------------------------------------------------------------

    def candidates(self, query: Query) -> Candidates:
        """Rank lists over the facts that are valid at `query.now_ms` and not expired."""
        visible = self._visible(query.now_ms)
        keyword, semantic = self._by_keyword(query, visible), self._by_vector(query, visible)
        found = Candidates(self._rank_list(keyword), self._rank_list(semantic))
        rows = [row for _, _, row in (*keyword, *semantic)]
        keys = [key for _, key in (*found.keyword, *found.semantic)]
        found.packed.update(zip(keys, [self._packed[row] for row in rows], strict=True))
        if query.center_node_uuid in self._nodes:
            far = self._distances(self._nodes[query.center_node_uuid], visible, rows)
            found.distances.update((k, d) for k, d in zip(keys, far, strict=True) if d <= hops.MAX_HOPS)
        return found

    def _rank_list(self, found: list[Ranked]) -> RankList:
        return [(low, (uuid, self.group_id)) for low, uuid, _ in found]

    def _visible(self, now_ms: int) -> NDArray[np.bool_]:
        rows = len(self._uuids)
        start, invalid = self._start.data[:rows], self._invalid.data[:rows]
        current = self._expired.data[:rows] == NEVER
        visible: NDArray[np.bool_] = (start <= now_ms) & (now_ms < invalid) & current
        return visible

    def _by_keyword(self, query: Query, visible: NDArray[np.bool_]) -> list[Ranked]:
        matches = [(self._postings.find(term.text, term.by_prefix), term.weight) for term in query.terms]
        if not any(len(postings) for postings, _ in matches):
            return []
        lengths = self._length.data[: len(visible)]
        scores = bm25(matches, lengths, len(self), self._total_length)
        rows = np.flatnonzero(visible & (scores > 0))
        return self._best(rows, np.round(scores[rows], 9), query.candidates)

    def _by_vector(self, query: Query, visible: NDArray[np.bool_]) -> list[Ranked]:
        if query.vector is None or self._vectors is None:
            return []
        seen = np.flatnonzero(visible)
        rows, cosines = self._vectors.nearest(query.vector, seen, query.candidates, query.min_cosine)
        return self._best(rows, cosines, query.candidates)

    def _best(self, rows: NDArray[np.intp], scores: NDArray[np.float64], count: int) -> list[Ranked]:
        return best(rows, scores, count, self._uuids, self._tie.data)

    def _distances(self, center: int, visible: NDArray[np.bool_], rows: list[int]) -> list[int]:
        sources, targets = self._source.data[: len(visible)], self._target.data[: len(visible)]
        reached = hops.distances(sources[visible], targets[visible], len(self._nodes), center)
        nearer: list[int] = np.minimum(reached[sources[rows]], reached[targets[rows]]).tolist()
        return nearer
