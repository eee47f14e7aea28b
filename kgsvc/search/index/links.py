"""Rows and what they name, in both directions: facts and the episodes that tell them, episodes and the
entities in them, entities and their labels."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import repeat

import numpy as np

from kgsvc.search.index.arrays import Arrays, Frozen, of_strings, strings

_ROW_BYTES = 180  # measured: tuple of names, share of a name's set and of the name


class NameLinks:
    """Names by row and rows by name.

    Rows that were read from a file lie in arrays (`_base`), until they change.
    """

    def __init__(self) -> None:
        self._base: _Base | None = None
        self._names: dict[str, str] = {}  # one string for all rows of a name
        self._of_row: dict[int, tuple[str, ...]] = {}
        self._rows_of: dict[str, set[int]] = {}

    @property
    def nbytes(self) -> int:
        """About the memory held, in bytes."""
        return len(self._of_row) * _ROW_BYTES + (0 if self._base is None else self._base.nbytes)

    def put(self, row: int, names: Iterable[str]) -> None:
        """Set the names of a row."""
        self.clear(row)
        held = self._of_row[row] = tuple(self._names.setdefault(name, name) for name in dict.fromkeys(names))
        for name in held:
            self._rows_of.setdefault(name, set()).add(row)

    def clear(self, row: int) -> None:
        """Forget a row, if it is there."""
        if self._base is not None:
            self._base.leave(row)
        for name in self._of_row.pop(row, ()):
            rows = self._rows_of[name]
            rows.discard(row)
            if not rows:
                del self._rows_of[name], self._names[name]

    def of_rows(self, rows: Sequence[int]) -> list[tuple[str, ...]]:
        """The names of rows, in their order."""
        if self._base is None:
            return list(map(self._of_row.get, rows, repeat(())))
        own, read, names_of = self._of_row, self._base.read_before, self._base.names_of
        return [own.get(row) or read.get(row) or names_of(row) for row in rows]

    def of_row(self, row: int) -> tuple[str, ...]:
        """The names of a row."""
        return self.of_rows((row,))[0]

    def rows_of(self, name: str) -> list[int]:
        """The rows that have a name, ascending."""
        rows = self._rows_of.get(name, ())
        before = [] if self._base is None else self._base.rows_of(name)
        return sorted((*before, *rows)) if rows else before

    def rows_in(self, name: str) -> Collection[int]:
        """The same in any order: to sort them costs more than to look them up."""
        rows: Collection[int] = self._rows_of.get(name, ())
        before = [] if self._base is None else self._base.rows_of(name)
        return (*before, *rows) if before else rows

    def count_of(self, name: str) -> int:
        """How many rows have a name."""
        before = 0 if self._base is None else self._base.count_of(name)
        return before + len(self._rows_of.get(name, ()))

    def freeze(self) -> Frozen:
        """See kgsvc.search.index.arrays."""
        base, changed = self._base, dict(self._of_row)
        left = set() if base is None else set(base.left)

        def arrays() -> Arrays:
            names: dict[str, int] = {}
            begins, numbers = [0], list[int]()
            rows = max(base.rows if base else 0, max(changed, default=-1) + 1)
            for row in range(rows):
                held = changed.get(row)
                if held is None:
                    held = base.read(row) if base is not None and row < base.rows and row not in left else ()
                numbers += [names.setdefault(name, len(names)) for name in held]
                begins.append(len(numbers))
            return _arrays_of(begins, numbers, list(names))

        return arrays

    def take(self, arrays: Arrays) -> None:
        """What was frozen, in the place of what there is."""
        self._base, self._names, self._of_row, self._rows_of = _Base(arrays), {}, {}, {}


class _Base:
    """Links in arrays: the names of row i are `numbers[begins[i]:begins[i + 1]]`, and the other way round."""

    def __init__(self, arrays: Arrays) -> None:
        self._names = strings(arrays, "names")
        self._number = {name: number for number, name in enumerate(self._names)}
        self._begins, self._numbers = arrays["begins"], arrays["numbers"]
        self._row_begins, self._rows = arrays["row_begins"], arrays["rows"]
        self.read_before: dict[int, tuple[str, ...]] = {}  # of rows that have these names still
        self.left: set[int] = set()  # rows that have other names now, or none
        self.rows = len(self._begins) - 1

    @property
    def nbytes(self) -> int:
        arrays = (self._begins, self._numbers, self._row_begins, self._rows)
        return sum(array.nbytes for array in arrays) + len(self._names) * 250 + len(self.read_before) * 100

    def leave(self, row: int) -> None:
        if row < self.rows:
            self.left.add(row)
            self.read_before.pop(row, None)

    def names_of(self, row: int) -> tuple[str, ...]:
        if row >= self.rows or row in self.left:
            return ()
        held = self.read_before[row] = self.read(row)
        return held

    def read(self, row: int) -> tuple[str, ...]:
        begin, end = self._begins[row : row + 2].tolist()
        return tuple(self._names[number] for number in self._numbers[begin:end].tolist())

    def count_of(self, name: str) -> int:
        if self.left:
            return len(self.rows_of(name))
        number = self._number.get(name)
        if number is None:
            return 0
        begin, end = self._row_begins[number : number + 2].tolist()
        return int(end - begin)

    def rows_of(self, name: str) -> list[int]:
        number = self._number.get(name)
        if number is None:
            return []
        begin, end = self._row_begins[number : number + 2].tolist()
        rows: list[int] = self._rows[begin:end].tolist()
        return [row for row in rows if row not in self.left] if self.left else rows


def _arrays_of(begins: list[int], numbers: list[int], names: list[str]) -> Arrays:
    ends = np.array(begins, np.int64)
    counts = ends[1:] - ends[:-1]
    flat = np.array(numbers, np.int32)
    by_number = np.argsort(flat, kind="stable")
    rows = np.repeat(np.arange(len(counts), dtype=np.int32), counts)[by_number]
    row_begins = np.searchsorted(flat[by_number], np.arange(len(names) + 1)).astype(np.int64)
    return {
        **of_strings("names", names),
        "begins": ends,
        "numbers": flat,
        "row_begins": row_begins,
        "rows": rows,
    }
