"""Postings of many rows at once, in arrays made by sorting the words that a store keeps (kgsvc.domain.text):
no text is read again.

A block does not change, but for rows that it says no more. Blocks are merged as they come: a few are left,
each some times as large as the next.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgsvc.search.index.arrays import Arrays, part_of

Words = NDArray[np.uint64]
Packed = NDArray[np.uint32]  # the row above, the count below, as in a posting list
Rows = NDArray[np.intp]

COUNT_BITS = 8
_COUNT = np.uint32(COUNT_BITS)
MAX_COUNT = 255  # a term's count in one text saturates here; BM25 is flat long before
_TIMES = 4  # a block is merged with those before it that are not that much larger


@dataclass(slots=True)
class PostingBlock:
    """Postings by word, both ascending; those of `keys[i]` begin at `begins[i]`."""

    keys: Words
    begins: Rows
    packed: Packed
    rows: Rows  # that are in it, ascending
    gone: NDArray[np.bool_] | None = None  # which it says no more, by row; None: it says all

    @classmethod
    def of(cls, words: Words, packed: Packed, rows: Rows) -> PostingBlock:
        """Of postings by word and row."""
        heads = np.flatnonzero(_changed(words))
        return cls(words[heads], np.append(heads, len(words)), packed, rows)

    def find(self, word: int) -> Packed:
        """The postings of a word."""
        place = int(np.searchsorted(self.keys, np.uint64(word)))
        if place == len(self.keys) or self.keys[place] != word:
            return self.packed[:0]
        found = self.packed[self.begins[place] : self.begins[place + 1]]
        return found if self.gone is None else found[~self.gone[found >> _COUNT]]

    def drop(self, row: int) -> bool:
        """Say no more of a row; whether anything was said."""
        place = int(np.searchsorted(self.rows, row))
        if place == len(self.rows) or self.rows[place] != row:
            return False
        if self.gone is None:
            self.gone = np.zeros(int(self.rows[-1]) + 1, np.bool_)
        said = not self.gone[row]
        self.gone[row] = True
        return said

    def postings(self) -> tuple[Words, Packed, Rows]:
        """What is said, by word and row."""
        words = np.repeat(self.keys, np.diff(self.begins))
        if self.gone is None:
            return words, self.packed, self.rows
        said = ~self.gone[self.packed >> _COUNT]
        return words[said], self.packed[said], self.rows[~self.gone[self.rows]]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All of it."""
        gone = {} if self.gone is None else {"gone": self.gone}
        return {"keys": self.keys, "begins": self.begins, "packed": self.packed, "rows": self.rows, **gone}

    @classmethod
    def read(cls, arrays: Arrays) -> PostingBlock:
        """From `arrays`."""
        return cls(arrays["keys"], arrays["begins"], arrays["packed"], arrays["rows"], arrays.get("gone"))

    @property
    def nbytes(self) -> int:
        """Memory held."""
        gone = 0 if self.gone is None else self.gone.nbytes
        return self.keys.nbytes + self.begins.nbytes + self.packed.nbytes + self.rows.nbytes + gone


class WordBlocks:
    """Blocks of one index. A row is in one of them at most."""

    def __init__(self) -> None:
        self._blocks: list[PostingBlock] = []

    def add(self, rows: Rows, texts: Sequence[bytes]) -> NDArray[np.int64]:
        """Enter the words of rows, none of which is here; how many terms each has."""
        sizes = np.fromiter(map(len, texts), np.int64, len(texts)) // 8
        words = np.frombuffer(b"".join(texts), "<u8")
        row_of = np.repeat(rows, sizes)
        order = np.lexsort((row_of, words))
        ordered, entered = words[order], row_of[order]
        firsts = np.flatnonzero(_changed(ordered) | _changed(entered))
        counts = np.minimum(np.diff(np.append(firsts, len(ordered))), MAX_COUNT)
        packed = (entered[firsts] << COUNT_BITS | counts).astype(np.uint32)
        self._append(PostingBlock.of(ordered[firsts], packed, np.sort(rows)))
        prefixes = np.bincount(np.repeat(np.arange(len(rows)), sizes), words & np.uint64(1), len(rows))
        return sizes - prefixes.astype(np.int64)

    def find(self, word: int) -> list[Packed]:
        """The postings of a word, in parts that have no row in common."""
        parts = (block.find(word) for block in self._blocks)
        return [found for found in parts if len(found)]

    def freeze(self) -> Callable[[PostingBlock | None], Arrays]:
        """The arrays of the blocks as they are now, and of one more (kgsvc.search.index.arrays).

        A block says no more of rows that are gone.
        """
        blocks = [
            replace(each, gone=None if each.gone is None else each.gone.copy()) for each in self._blocks
        ]

        def arrays(more: PostingBlock | None) -> Arrays:
            every = enumerate(blocks if more is None else [*blocks, more])
            return {f"{at}.{name}": array for at, each in every for name, array in each.arrays().items()}

        return arrays

    def take(self, arrays: Arrays) -> None:
        """What was frozen, in the place of what there is. Raises LookupError."""
        count = sum(name.endswith(".keys") for name in arrays)
        self._blocks = [PostingBlock.read(part_of(arrays, str(at))) for at in range(count)]

    def drop(self, row: int) -> bool:
        """Take out a row; whether it was there."""
        return any(block.drop(row) for block in self._blocks)

    @property
    def nbytes(self) -> int:
        """Memory held."""
        return sum(block.nbytes for block in self._blocks)

    def _append(self, block: PostingBlock) -> None:
        """As many of the last blocks as are too small beside what comes behind them become one."""
        size, first = len(block.packed), len(self._blocks)
        while first and len(self._blocks[first - 1].packed) < _TIMES * size:
            first -= 1
            size += len(self._blocks[first].packed)
        self._blocks[first:] = [_merged([*self._blocks[first:], block])]


def _merged(blocks: Sequence[PostingBlock]) -> PostingBlock:
    if len(blocks) == 1:
        return blocks[0]
    words, packed, rows = map(np.concatenate, zip(*(block.postings() for block in blocks), strict=True))
    order = np.argsort(words, kind="stable")  # what is in order by parts is merged, not sorted
    if not np.all(rows[1:] > rows[:-1]):
        order = np.lexsort((packed, words))
    return PostingBlock.of(words[order], packed[order], np.sort(rows))


def _changed(values: NDArray[np.generic]) -> NDArray[np.bool_]:
    """Where a value differs from the one before."""
    changed = np.ones(len(values), np.bool_)
    np.not_equal(values[1:], values[:-1], out=changed[1:])
    return changed
