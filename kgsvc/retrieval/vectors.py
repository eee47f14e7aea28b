"""Exact cosine over a group's vectors, the same whatever row a vector lies in."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kgsvc.retrieval.columns import Column

# A cosine below this is the noise of float32 and counts as 0; only larger ones make a candidate.
COSINE_FLOOR = 1e-5
_NOISE = 2e-6  # generous bound on what a float32 product of unit vectors is off by


class VectorColumn:
    """Unit vectors of one embedding space by row; a row of zeros has none."""

    def __init__(self, dimension: int) -> None:
        self._dimension = dimension
        self._column = Column(np.float32, dimension)

    def reserve(self, rows: int) -> None:
        """Make room for `rows` rows."""
        self._column.reserve(rows)

    def put(self, row: int, vector: bytes | None) -> None:
        """Set a row from little-endian float32; without a vector of the right length the row has none."""
        if vector is not None and len(vector) == 4 * self._dimension:
            self._column.data[row] = np.frombuffer(vector, "<f4")
        else:
            self._column.data[row] = 0

    def nearest(
        self, query: NDArray[np.float32], rows: NDArray[np.intp], count: int, min_cosine: float = 0.0
    ) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """Those of `rows` that can be among the `count` nearest, with their cosines, all above `min_cosine`.

        A product by BLAS depends in its last bits on where a row lies. So it only preselects, with a margin;
        the cosines that count are sums in double precision, row by row.
        """
        floor = max(min_cosine, COSINE_FLOOR)
        rough = (self._column.data @ query)[rows]
        kept = rough > floor - _NOISE
        rows, rough = rows[kept], rough[kept]
        if len(rows) > count:
            near = rough >= np.partition(rough, -count)[-count] - 2 * _NOISE
            rows = rows[near]
        products = self._column.data[rows].astype(np.float64) * query.astype(np.float64)
        exact = np.round(products.sum(axis=1), 9)
        kept = exact > floor
        return rows[kept], exact[kept]

    def of(self, rows: Sequence[int]) -> NDArray[np.float32]:
        """The vectors of some rows."""
        taken: NDArray[np.float32] = self._column.data[list(rows)]
        return taken

    @property
    def nbytes(self) -> int:
        """Memory held."""
        return self._column.nbytes
