"""A changed document in chunks again: where its text did not change, the chunks and their boundaries stay.

The chunks of the old revision are looked for in the new text by what is their own. Only what lies between
those found is cut anew. Little that was put between two chunks goes into the one behind it, at the end into
the one before it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kgsvc.documents.chunking import Chunk, Chunking, Cut, Cutter, dressed
from kgsvc.documents.tokens import LONGEST_CLUSTER, Window, count_tokens, counts

# Of the window's size: what is less does not become a chunk of its own beside one that did not change.
_LITTLE = 12


@dataclass(frozen=True, slots=True)
class OldChunk:
    """A chunk of the revision before; `own` is the end of `content`, which the chunk before it did not hold.

    `tokens` is what was counted then; None: counted again.
    """

    content: str
    own: str
    tokens: int | None = None

    @property
    def overlap(self) -> str:
        """What the chunk before it held too."""
        return self.content[: len(self.content) - len(self.own)]


@dataclass(frozen=True, slots=True)
class _NewPart:
    """A part of the new text: `chunk` is the old chunk whose own part it is, None where it is other text."""

    start: int
    end: int
    chunk: OldChunk | None


def resplit(old: Sequence[OldChunk], text: str, chunking: Chunking, pages: Sequence[int] = ()) -> list[Chunk]:
    """The chunks of a document's new text, given those of its old one in their order.

    A chunk whose own text and overlap stand in the new text has the same content there, wherever they stand
    now. A chunk may be a quarter larger than `chunking.token_size` before it is cut in two. Text equal to
    the old one gives equal chunks.
    """
    window = Window([text])
    cutter = Cutter(window, chunking)
    chunks = []
    for part in _joined(_parts(old, text, cutter.most), text, chunking, cutter.most):
        for cut in _cuts(part, text, cutter):
            chunks.append(dressed(cut, text[cut.start : cut.end], window, pages))
            window.forget(cut.end, chunking.overlap)
    return chunks


def _parts(old: Sequence[OldChunk], text: str, most: int) -> Iterator[_NewPart]:
    """The new text as parts that stand in an old chunk, and what lies between them."""
    done = 0
    for start, number in Occurrences([*_usable(old, most)], text):
        if done < start:
            yield _NewPart(done, start, None)
        done = start + len(old[number].own)
        yield _NewPart(start, done, old[number])
        yield from (_NewPart(done, done, each) for each in _without_own(old, number + 1, text, done))
    if done < len(text):
        yield _NewPart(done, len(text), None)


def _usable(old: Sequence[OldChunk], most: int) -> Iterator[str]:
    """What is each chunk's own; nothing of chunks that are too large by today's settings and can be cut."""
    tokens = [each.tokens for each in old]
    if None in tokens:
        tokens = list(counts([each.content for each in old]))
    for chunk, size in zip(old, tokens, strict=True):
        yield chunk.own if (size or 0) <= most or len(chunk.own) <= LONGEST_CLUSTER else ""


def _without_own(old: Sequence[OldChunk], number: int, text: str, place: int) -> list[OldChunk]:
    """The exact windows from `number` on with nothing of their own; the last only where the text ends."""
    found = []
    while number < len(old) and not old[number].own and text.endswith(old[number].content, 0, place):
        found.append(old[number])
        number += 1
    return found if number < len(old) or place == len(text) else []


def _joined(parts: Iterator[_NewPart], text: str, chunking: Chunking, most: int) -> list[_NewPart]:
    """Put little that is new into the chunk behind or before it, and what is new at the end into the last."""
    little = max(chunking.overlap, chunking.token_size // _LITTLE)

    def both(first: _NewPart, last: _NewPart, room: int) -> list[_NewPart]:
        """The two as one new part, if that has at most `room` tokens."""
        fits = _is_within(text[first.start : last.end], room - chunking.overlap)
        return [_NewPart(first.start, last.end, None)] if fits else []

    def is_little(part: _NewPart) -> bool:
        return part.chunk is None and _is_within(text[part.start : part.end], little)

    joined: list[_NewPart] = []
    for part in parts:
        if joined and is_little(joined[-1]):
            if behind := both(joined[-1], part, most):
                joined[-1:] = behind
                continue
            joined[-2:] = (len(joined) > 1 and both(joined[-2], joined[-1], most)) or joined[-2:]
        joined.append(part)
    if len(joined) > 1 and joined[-1].chunk is None:
        room = most if is_little(joined[-1]) else chunking.token_size
        joined[-2:] = both(joined[-2], joined[-1], room) or joined[-2:]
    return joined


def _is_within(text: str, tokens: int) -> bool:
    # No token is longer than this.
    return len(text) <= tokens * 128 and count_tokens(text) <= tokens


def _cuts(part: _NewPart, text: str, cutter: Cutter) -> Iterator[Cut]:
    if part.chunk and (kept := _kept(part, part.chunk, text, cutter)):
        yield kept
        return
    own = part.start
    while own < part.end:
        cut = cutter.part_at(own, part.end)
        yield cut
        own = cut.end


def _kept(part: _NewPart, chunk: OldChunk, text: str, cutter: Cutter) -> Cut | None:
    """The old chunk at its new place, with the overlap of that place; None if it is too large with that."""
    usual = cutter.overlap_start(part.start)
    start = part.start - len(chunk.overlap)
    if start >= 0 and text.startswith(chunk.overlap, start):
        return Cut(start, part.start, part.end, chunk.tokens or count_tokens(chunk.content))
    tokens = count_tokens(text[usual : part.end])
    return Cut(usual, part.start, part.end, tokens) if tokens <= cutter.most else None


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
