"""Texts with the time of their creation: entities, episodes, communities."""

from __future__ import annotations

import numpy as np

from kgsvc.retrieval.columns import Column
from kgsvc.retrieval.fact_columns import within
from kgsvc.retrieval.filters import Filters
from kgsvc.retrieval.text_index import Mask, TextIndex


class DatedIndex(TextIndex):
    """Rows with the time of their creation."""

    def __init__(self, group_id: str, space: str = "", dimension: int = 0) -> None:
        super().__init__(group_id, space, dimension)
        self._created = Column(np.int64)
        self._alive = Column(np.bool_)

    @property
    def nbytes(self) -> int:
        """About the memory held, in bytes."""
        return super().nbytes + self._created.nbytes + self._alive.nbytes

    def dated(self, filters: Filters) -> Mask:
        """Which rows are there and fulfil `filters` in when they were created and what was known then."""
        kept: Mask = self._alive.data[: self.rows].copy()
        created = self._created.data[: self.rows]
        if filters.known_at_ms is not None:
            kept &= created <= filters.known_at_ms
        if filters.created is not None:
            kept &= within(created, filters.created)
        return kept

    def _date(self, row: int, created_ms: int) -> None:
        self._created.data[row] = created_ms
        self._alive.data[row] = True

    def _make_room(self, rows: int) -> None:
        self._created.reserve(rows)
        self._alive.reserve(rows)

    def _clear(self, row: int) -> None:
        self._alive.data[row] = False
