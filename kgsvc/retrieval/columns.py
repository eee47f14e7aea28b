"""Growable numpy columns, one row a fact."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

_FIRST_ROWS = 8


class Column:
    """An array over rows that grows by a quarter at a time.

    Growing may move the memory: a view taken of `data` must not outlive the next `reserve`.
    """

    def __init__(self, dtype: DTypeLike, width: int = 0) -> None:
        self._width = width
        self.data: NDArray[Any] = np.zeros(self._shape(0), dtype)

    def reserve(self, rows: int) -> None:
        """Make room for `rows` rows; new ones are zero."""
        if rows > len(self.data):
            # In place: the allocator extends large blocks without copying them. No view is alive here.
            self.data.resize(self._shape(rows + rows // 4 + _FIRST_ROWS), refcheck=False)

    @property
    def nbytes(self) -> int:
        """Memory held, spare rows included."""
        return int(self.data.nbytes)

    def _shape(self, rows: int) -> tuple[int, ...]:
        return (rows, self._width) if self._width else (rows,)
