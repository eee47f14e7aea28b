"""Where known passages stand in a long text: one pass over the text, however many passages there are."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

# A passage is found by a hash of its first characters; a shorter one only right behind the passage before it.
_ANCHOR = 64
_BASE = 0x9E3779B97F4A7C15
_TABLE_BITS = 20
_SMALLEST_BLOCK, _LARGEST_BLOCK = 1 << 14, 1 << 20
# Passages that begin alike: so many are compared at one place, and so often in vain at all.
_ALIKE, _IN_VAIN = 8, 1 << 17


class Occurrences:
    """The passages found in a text from its start on, none over another: (offset, number of the passage).

    A passage is looked for first where the one before it ends. What is not found there is sought by its
    beginning. A text made to look like many passages without being one is not searched to its end.
    """

    def __init__(self, passages: Sequence[str], text: str) -> None:
        self._passages, self._text = passages, text
        self._numbers: dict[int, list[int]] = {}
        self._table = np.zeros(0, np.bool_)
        self._left = _IN_VAIN

    def __iter__(self) -> Iterator[tuple[int, int]]:
        place, number = 0, self._from(0)
        while place < len(self._text):
            if not self._stands_at(place, number):
                found = self._next(place, number)
                if found is None:
                    return
                place, number = found
            yield place, number
            place += len(self._passages[number])
            number = self._from(number + 1)

    def _from(self, number: int) -> int:
        """The next passage that is not empty."""
        while number < len(self._passages) and not self._passages[number]:
            number += 1
        return number

    def _stands_at(self, place: int, number: int) -> bool:
        passage = self._passages[number] if number < len(self._passages) else ""
        return bool(passage) and self._text.startswith(passage, place)

    def _next(self, place: int, expected: int) -> tuple[int, int] | None:
        """The first place from `place` on at which a passage stands."""
        self._learn()
        size = _SMALLEST_BLOCK
        while place + _ANCHOR <= len(self._text):
            hashes = _hashes(self._text[place : place + size + _ANCHOR - 1])
            for at in np.flatnonzero(self._table[_slots(hashes)]).tolist():
                numbers = self._numbers.get(int(hashes[at]), ())
                if (found := self._compare(place + at, numbers, expected)) is not None:
                    return place + at, found
                if self._left <= 0:
                    return None
            place += size
            size = min(2 * size, _LARGEST_BLOCK)
        return None

    def _compare(self, place: int, numbers: Sequence[int], expected: int) -> int | None:
        """The passage that stands at `place`, of those that begin alike; rather one that comes next."""
        begin = bisect_left(numbers, expected)
        for number in (*numbers[begin : begin + _ALIKE], *numbers[: min(begin, _ALIKE)]):
            if self._stands_at(place, number):
                return number
            self._left -= 1
        return None

    def _learn(self) -> None:
        if len(self._table):
            return
        self._table = np.zeros(1 << _TABLE_BITS, np.bool_)
        for number, passage in enumerate(self._passages):
            if len(passage) >= _ANCHOR:
                anchor = _hashes(passage[:_ANCHOR])
                self._table[_slots(anchor)] = True
                self._numbers.setdefault(int(anchor[0]), []).append(number)


def _hashes(text: str) -> npt.NDArray[np.uint64]:
    """A hash of the _ANCHOR characters from each one on: by doubling the length that is hashed."""
    hashes = np.frombuffer(text.encode("utf-32-le"), np.uint32).astype(np.uint64)
    length = 1
    while length < _ANCHOR:
        hashes = hashes[:-length] * np.uint64(pow(_BASE, length, 1 << 64)) + hashes[length:]
        length *= 2
    return hashes


def _slots(hashes: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    return (hashes * np.uint64(_BASE)) >> np.uint64(64 - _TABLE_BITS)
