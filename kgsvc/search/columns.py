"""Growable numpy columns, one row a fact."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

_FIRST_ROWS = 8


def room_for(rows: int) -> int:
    """How many rows to make room for at once, so that growing copies each row a few times at most."""
    return rows + rows // 8 + _FIRST_ROWS


class Column:
    """An array over rows.

    Growing may move the memory: a view taken of `data` must not outlive the next `reserve`.
    """

    def __init__(self, dtype: DTypeLike, width: int = 0) -> None:
        self._width = width
        self.data: NDArray[Any] = np.zeros(self._shape(0), dtype)

    def reserve(self, rows: int) -> None:
        """Make room for `rows` rows; new ones are zero."""
        if rows > len(self.data):
            # In place: the allocator extends large blocks without copying them. No view is alive here.
            self.data.resize(self._shape(rows), refcheck=False)

    @property
    def nbytes(self) -> int:
        """Memory held, spare rows included."""
        return int(self.data.nbytes)

    def _shape(self, rows: int) -> tuple[int, ...]:
        return (rows, self._width) if self._width else (rows,)
