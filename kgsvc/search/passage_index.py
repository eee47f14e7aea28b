"""The vectors of the passages of a group's chunks. A chunk is as near as the nearest of its passages."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kgsvc.search.arrays import Arrays, Column, Frozen, room_for, united
from kgsvc.search.text_index import Mask
from kgsvc.search.vectors import Rows, VectorColumn

_NUMBER_BYTES = 4


class PassageIndex:
    """Unit vectors of one embedding space, each of which belongs to the row of an episode."""

    def __init__(self, dimension: int) -> None:
        self._size = _NUMBER_BYTES * dimension
        self._vectors = VectorColumn(dimension)
        self._owner = Column(np.int64)  # -1: nobody
        self._of: dict[int, list[int]] = {}  # episode's row -> its passages
        self._free: list[int] = []
        self._rows = 0
        self._most = 1  # passages that an episode has

    @property
    def nbytes(self) -> int:
        """About the memory held, in bytes."""
        return self._vectors.nbytes + self._owner.nbytes

    def freeze(self) -> Frozen:
        """See kgsvc.search.arrays."""
        owners = self._owner.data[: self._rows].copy()
        return united(lambda: {"owners": owners}, self._vectors.freeze(self._rows))

    def take(self, arrays: Arrays) -> None:
        """What was frozen, in the place of what there is. Raises LookupError, ValueError."""
        self._owner.take(arrays["owners"])
        self._vectors.take(arrays)
        owners = self._owner.data.tolist()
        self._rows, self._of = len(owners), {}
        for row, episode in enumerate(owners):
            if episode >= 0:
                self._of.setdefault(episode, []).append(row)
        self._free = [row for row, episode in enumerate(owners) if episode < 0]
        self._most = max(map(len, self._of.values()), default=1)

    def put(self, episode: int, vectors: bytes) -> None:
        """Set an episode's vectors: float32 little-endian, one behind the other. What is of another length
        is none."""
        self.clear(episode)
        if not vectors or len(vectors) % self._size:
            return
        rows = self._of[episode] = [self._row() for _ in range(len(vectors) // self._size)]
        for place, row in enumerate(rows):
            self._owner.data[row] = episode
            self._vectors.put(row, vectors[place * self._size : (place + 1) * self._size])
        self._most = max(self._most, len(rows))

    def clear(self, episode: int) -> None:
        """Forget an episode's vectors, if there are any."""
        for row in self._of.pop(episode, ()):
            self._owner.data[row] = -1
            self._vectors.put(row, None)
            self._free.append(row)

    def _row(self) -> int:
        if self._free:
            return self._free.pop()
        if self._rows >= len(self._owner.data):
            room = room_for(self._rows + 1)
            self._owner.reserve(room)
            self._vectors.reserve(room)
        self._rows += 1
        return self._rows - 1

    def nearest(
        self, query: NDArray[np.float32], visible: Mask, count: int, min_cosine: float
    ) -> tuple[Rows, NDArray[np.float64]]:
        """Those of the visible episodes that can be among the `count` nearest, with their cosines."""
        owners = self._owner.data[: self._rows]
        seen = (owners >= 0) & visible[owners] if len(visible) else np.zeros(self._rows, np.bool_)
        passages, cosines = self._vectors.nearest(query, seen, count * self._most, min_cosine)
        order = np.lexsort((-cosines, owners[passages]))
        episodes, first = np.unique(owners[passages][order], return_index=True)
        return episodes.astype(np.intp), cosines[order][first]

    def settle(self) -> None:
        """Make what was written ready for searching; otherwise the next search does."""
        self._vectors.settle(self._rows)
