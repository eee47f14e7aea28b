"""Exact cosine over a group's vectors, the same whatever row a vector lies in."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kgsvc.search.codes import CodeColumn, Floats
from kgsvc.search.columns import Column
from kgsvc.search.topk import edge

# A cosine below this is the noise of float32 and counts as 0; only larger ones make a candidate.
COSINE_FLOOR = 1e-5
_NOISE = 2e-6  # generous bound on what a float32 product of unit vectors is off by
_CODED_ROWS = 4_000  # from here on codes are scanned; below, scanning all vectors is as fast
_CHUNK = 4_096  # rows measured at once

Rows = NDArray[np.intp]


class VectorColumn:
    """Unit vectors of one embedding space by row; a row of zeros has none.

    Many rows have codes too: scanning those takes a quarter of the time, and which rows they leave over
    depends on bounds, not on luck.
    """

    def __init__(self, dimension: int) -> None:
        self._dimension = dimension
        self._column = Column(np.float32, dimension)
        self._codes: CodeColumn | None = None
        self._uncoded: set[int] = set()  # rows written since they were coded; none while there are no codes

    def reserve(self, rows: int) -> None:
        """Make room for `rows` rows."""
        self._column.reserve(rows)

    def put(self, row: int, vector: bytes | None) -> None:
        """Set a row from little-endian float32; without a vector of the right length the row has none."""
        if vector is not None and len(vector) == 4 * self._dimension:
            self._column.data[row] = np.frombuffer(vector, "<f4")
        else:
            self._column.data[row] = 0
        if self._codes is not None:
            self._uncoded.add(row)

    def settle(self, rows: int) -> None:
        """Code what was written, if there are rows enough; the next search would do it too."""
        if self._codes is None:
            if rows < _CODED_ROWS:
                return
            self._codes = CodeColumn(self._dimension)
            self._uncoded = set(range(rows))
        if self._uncoded:
            self._codes.reserve(len(self._column.data))
            self._codes.put(np.array(sorted(self._uncoded), np.intp), self._column.data)
            self._uncoded = set()

    def nearest(
        self, query: Floats, visible: NDArray[np.bool_], count: int, min_cosine: float = 0.0
    ) -> tuple[Rows, NDArray[np.float64]]:
        """Those of the visible rows that can be among the `count` nearest, with their cosines, all above
        `min_cosine`.

        A product by BLAS depends in its last bits on where a row lies. So it only preselects, with a margin;
        the cosines that count are sums in double precision, row by row.
        """
        floor = max(min_cosine, COSINE_FLOOR)
        if not np.isfinite(query).all() or not query.any():
            return np.empty(0, np.intp), np.empty(0)
        self.settle(len(visible))
        if self._codes is not None and len(visible) >= _CODED_ROWS:
            rows = _near_by_codes(self._codes, query, visible, count, floor)
        else:
            rows = np.flatnonzero(visible)
        rough = self._rough(rows, query, len(visible))
        kept = rough > floor - _NOISE
        rows, rough = rows[kept], rough[kept]
        rows = rows[rough >= edge(rough, count) - 2 * _NOISE]
        exact = self._exact(rows, query.astype(np.float64))
        kept = exact > floor
        return rows[kept], exact[kept]

    def _rough(self, rows: Rows, query: Floats, every: int) -> Floats:
        """Products in float32; of many rows by going through all."""
        if len(rows) < every // 4:
            few: Floats = self._column.data[rows] @ query
            return few
        return (self._column.data[:every] @ query)[rows]

    def _exact(self, rows: Rows, query: NDArray[np.float64]) -> NDArray[np.float64]:
        exact = np.empty(len(rows))
        for begin in range(0, len(rows), _CHUNK):
            some = slice(begin, begin + _CHUNK)
            exact[some] = (self._column.data[rows[some]].astype(np.float64) * query).sum(axis=1)
        return np.round(exact, 9)

    def of(self, rows: Sequence[int]) -> Floats:
        """The vectors of some rows."""
        taken: Floats = self._column.data[list(rows)]
        return taken

    @property
    def nbytes(self) -> int:
        """Memory held."""
        codes = 0 if self._codes is None else self._codes.nbytes
        return self._column.nbytes + codes


def _near_by_codes(
    codes: CodeColumn, query: Floats, visible: NDArray[np.bool_], count: int, floor: float
) -> Rows:
    """The visible rows that can be above `floor` and among the `count` nearest, by the bounds of codes."""
    about, off, same = codes.products(query, len(visible))
    np.copyto(about, -np.inf, where=~visible)
    least = max(floor, edge(about - off, count) - same)
    about += off
    return np.flatnonzero(about >= np.float32(least - same - _NOISE))
