"""What an index is as arrays, so that it can be written to a file and read again without looking at any text.

Freezing is cheap and gives a function that makes the arrays: it may run in a thread while the index changes.
Large columns are not copied: a `Live` one is read piece by piece when it is written. A row that changes
meanwhile comes with its new values, which does no harm: whoever reads the file hears of that change again.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from kgsvc.domain.model.beliefs import Belief


@dataclass(frozen=True, slots=True)
class Live:
    """The first `rows` rows of a column that goes on to change."""

    column: Column
    rows: int


Arrays = Mapping[str, NDArray[Any]]
Frozen = Callable[[], Mapping[str, "NDArray[Any] | Live"]]
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
        if rows <= len(self.data):
            return
        if self.data.flags.owndata:
            # In place: the allocator extends large blocks without copying them. No view is alive here.
            self.data.resize(self._shape(rows), refcheck=False)
        else:  # it lies in a file
            grown = np.zeros(self._shape(rows), self.data.dtype)
            grown[: len(self.data)] = self.data
            self.data = grown

    def take(self, data: NDArray[Any]) -> None:
        """Have these rows. Raises ValueError: they are of another kind."""
        if data.dtype != self.data.dtype or data.shape[1:] != self.data.shape[1:]:
            raise ValueError("a column of another kind")
        self.data = data

    @property
    def nbytes(self) -> int:
        """Memory held, spare rows included."""
        return int(self.data.nbytes)

    def _shape(self, rows: int) -> tuple[int, ...]:
        return (rows, self._width) if self._width else (rows,)


def named(name: str, frozen: Frozen) -> Frozen:
    """The same under names that begin with `name` and a point."""
    return lambda: {f"{name}.{each}": array for each, array in frozen().items()}


def united(*parts: Frozen) -> Frozen:
    """All of them together."""
    return lambda: {name: array for part in parts for name, array in part().items()}


def part_of(arrays: Arrays, name: str) -> Arrays:
    """What `named` put under a name."""
    begin = f"{name}."
    return {each.removeprefix(begin): array for each, array in arrays.items() if each.startswith(begin)}


def of_strings(name: str, texts: Sequence[str]) -> Arrays:
    """Texts as arrays."""
    return of_bytes(name, [text.encode("utf-8", "surrogatepass") for text in texts])


def strings(arrays: Arrays, name: str) -> list[str]:
    """The texts again."""
    whole, ends = arrays[name].tobytes(), arrays[f"{name}.ends"].tolist()
    begins = [0, *ends[:-1]]
    if whole.isascii():
        text = whole.decode("ascii")
        return [text[begin:end] for begin, end in zip(begins, ends, strict=bool(ends))]
    spans = zip(begins, ends, strict=bool(ends))
    return [whole[begin:end].decode("utf-8", "surrogatepass") for begin, end in spans]


def of_bytes(name: str, rows: Sequence[bytes]) -> Arrays:
    """Pieces of bytes as arrays: one behind the other, and where each ends."""
    ends = np.cumsum(np.fromiter(map(len, rows), np.int64, len(rows)))
    return {name: np.frombuffer(b"".join(rows), np.uint8), f"{name}.ends": ends}


class _Plain(pickle.Unpickler):
    """Reads values and nothing that could run: a file may have been changed by somebody."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == (Belief.__module__, Belief.__qualname__):
            return Belief
        raise pickle.UnpicklingError(f"{module}.{name} is not read")


def unpickled(packed: bytes | memoryview) -> Any:
    """What was pickled, if it is plain values and beliefs. Raises pickle.UnpicklingError."""
    return _Plain(io.BytesIO(packed)).load()


SHOWN = "shown"  # the bytes of all rows; few of them are looked at


class PackedRows:
    """Bytes by row. Those that were read from a file stay in it until they change."""

    def __init__(self) -> None:
        self._own: list[bytes | None] = []  # None: as in the file
        self._own_bytes = 0
        self._file: NDArray[np.uint8] = np.empty(0, np.uint8)
        self._ends: NDArray[np.int64] = np.empty(0, np.int64)

    def append(self) -> None:
        """A new row, empty."""
        self._own.append(b"")

    def __getitem__(self, row: int) -> bytes:
        own = self._own[row]
        return self._filed(row) if own is None else own

    def views(self, rows: Sequence[int]) -> list[bytes | memoryview]:
        """Of rows, in their order; what lies in a file is not copied."""
        if not len(self._ends):
            return [self._own[row] or b"" for row in rows]
        at = np.minimum(np.array(rows, np.intp), len(self._ends) - 1)
        ends, begins = self._ends[at].tolist(), np.where(at > 0, self._ends[at - 1], 0).tolist()
        view = self._file.data
        return [
            view[begin:end] if (own := self._own[row]) is None else own
            for row, begin, end in zip(rows, begins, ends, strict=True)
        ]

    def __setitem__(self, row: int, packed: bytes) -> None:
        self._own_bytes += len(packed) - len(self._own[row] or b"")
        self._own[row] = packed

    @property
    def nbytes(self) -> int:
        """About the memory held, in bytes, without what each row takes beside its bytes."""
        return self._own_bytes + self._file.nbytes

    def freeze(self) -> Frozen:
        """See above."""
        own, held = list(self._own), self._filed
        return lambda: of_bytes(SHOWN, [held(row) if each is None else each for row, each in enumerate(own)])

    def take(self, arrays: Arrays) -> None:
        """What was frozen, in the place of what there is."""
        self._file, self._ends = arrays[SHOWN], arrays[f"{SHOWN}.ends"]
        self._own, self._own_bytes = [None] * len(self._ends), 0

    def _filed(self, row: int) -> bytes:
        begin = 0 if row == 0 else int(self._ends[row - 1])
        return self._file[begin : int(self._ends[row])].tobytes()
