"""A document in chunks: windows of tokens that overlap, cut where a reader would pause, or by step exactly.

Nothing of the document's text is changed, line endings and form feeds included. A document of white space
alone is a chunk like any other; an empty one has no chunks.
"""

from __future__ import annotations

import re
import sys
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Annotated, Literal, Protocol

from kgsvc.documents.outline import UncutBlock
from kgsvc.documents.tokens import Window, count_tokens
from kgsvc.domain.limits import FROM_ZERO, Range

# What a window may end behind, the best first.
_PARAGRAPH = re.compile(r"\n(?:[ \t\r\f]*\n)+")
# A line that the next one goes on with in the midst of a sentence is no end: it was only full.
_SENTENCE = re.compile(r"""[.!?]["'”’)\]]*\s+|[。．！？…][」』）”’]*|\n(?![ \t]*[a-zà-ÿ])""")
_WORD = re.compile(r"\s+|[、，]")
# So many headings in a row stay with what follows them.
_HEADINGS = 4


@dataclass(frozen=True, slots=True)
class Chunking:
    """How documents are cut. Raises ValueError: sizes that no window can have.

    `token_size` is the most tokens of a chunk, `overlap` how many of them the chunk before has too.
    "exact" cuts after every `token_size - overlap` tokens; "near" goes back to the end of a paragraph, a
    sentence or a word where one lies in the last quarter of the window, and leaves code fences and tables
    whole if they fit. `chunker` names an entry point that cuts instead (`Chunker`).
    """

    token_size: Annotated[int, Range(16, 100_000)] = 1_200
    overlap: Annotated[int, FROM_ZERO] = 100
    boundaries: Literal["near", "exact"] = "near"
    chunker: str = ""

    def __post_init__(self) -> None:
        if not 0 <= self.overlap < self.token_size:
            raise ValueError(f"an overlap of {self.overlap} in windows of {self.token_size} tokens")

    @property
    def most(self) -> int:
        """The most tokens of a chunk that nothing cuts in two any more: little is not a chunk of its own."""
        return self.token_size * 5 // 4

    @property
    def step(self) -> int:
        """How many tokens further each window begins, if it is exact."""
        return self.token_size - self.overlap


@dataclass(frozen=True, slots=True)
class Chunk:
    """A part of a document. Offsets are characters of the document's text, half-open.

    The chunk's own part is what the chunk before does not hold: it ends where the chunk ends, and all own
    parts put end to end are the document. It is empty only in the last window by exact step, if the one
    before reaches the end.
    `tokens` counts the tokens of `content`; in exact windows, the document's tokens that lie in it.
    `headings` are the titles above the own part, outermost first; `page` and `last_page` are those on which
    the chunk begins and ends, from 1, None without pages.
    """

    content: str
    start: int
    end: int
    own_start: int
    tokens: int
    headings: tuple[str, ...]
    page: int | None
    last_page: int | None


@dataclass(frozen=True, slots=True)
class Cut:
    """Where a chunk lies, as in `Chunk`."""

    start: int
    own_start: int
    end: int
    tokens: int


def split(text: str, chunking: Chunking, pages: Sequence[int] = ()) -> list[Chunk]:
    """The chunks of `text`; `pages` are the offsets at which its pages begin."""
    return list(chunks_of([text], chunking, pages))


def chunks_of(pieces: Iterable[str], chunking: Chunking, pages: Sequence[int] = ()) -> Iterator[Chunk]:
    """The chunks of a text that comes in pieces, exactly as `split` gives them, holding little at a time."""
    window = Window(pieces)
    cutter = Cutter(window, chunking)
    for cut in cutter.exact() if chunking.boundaries == "exact" else cutter.near():
        yield dressed(cut, window.text(cut.start, cut.end), window, pages)
        window.forget(cut.end, chunking.overlap)


def dressed(cut: Cut, content: str, window: Window, pages: Sequence[int]) -> Chunk:
    """The chunk that lies there. Own parts must not go back from call to call."""
    headings = window.outline.headings_above(cut.own_start)
    first, last = bisect_right(pages, cut.start) or None, bisect_right(pages, cut.end - 1) or None
    return Chunk(content, cut.start, cut.end, cut.own_start, cut.tokens, headings, first, last)


class Cutter:
    """Finds where the chunks of a window end."""

    def __init__(self, window: Window, chunking: Chunking) -> None:
        self._window = window
        self._size, self._overlap, self._step = chunking.token_size, chunking.overlap, chunking.step
        self._exact = chunking.boundaries == "exact"
        self.most = chunking.most

    def exact(self) -> Iterator[Cut]:
        """A cut for every step, moved to the edge of a character where a token ends inside one."""
        first, own = 0, 0
        self._window.reach_token(self._size)
        while not self._window.is_end(self._window.offset_of(first)):
            if (cut := self.exact_at(first, own)).start < cut.end:
                yield cut
            own = cut.end
            first += self._step
            self._window.reach_token(first + self._size)

    def exact_at(self, first: int, own: int) -> Cut:
        """The window that begins with token `first`, of which what lies from `own` on is new."""
        window = self._window
        window.reach_token(first + self._size)
        start, end = self._after_character(first), window.offset_of(first + self._size)
        end = end if window.is_end(end) else max(window.whole(end), own)
        tokens = window.token_at(end) - first if window.is_end(end) else self._size
        return Cut(min(start, own), own, end, tokens)

    def _after_character(self, token: int) -> int:
        """Where a token begins, or the next character if it begins inside one."""
        begin = self._window.offset_of(token)
        inside = token > 0 and begin == self._window.offset_of(token - 1)
        return self._window.whole(begin + inside, +1)

    def near(self) -> Iterator[Cut]:
        """Cuts at paragraphs, sentences and words."""
        own = 0
        while self._window.reach(own):
            cut = self.near_at(own)
            yield cut
            own = cut.end

    def near_at(self, own: int, stop: int = sys.maxsize) -> Cut:
        """The next cut when what lies from `own` on is new, not behind `stop`."""
        window, size = self._window, self._size
        first, start = self._overlap_of(own)
        new, room = window.token_at(own), size
        while True:
            end = self._end(first, room, own, stop)
            tokens = count_tokens(window.text(start, end))
            least = new - first + 1
            if tokens <= size or (room <= least and start == own):
                return Cut(start, own, end, tokens)
            if room > least:
                room = max(room - (tokens - size), least)
            else:
                first, start, room = new, own, size

    def part_at(self, own: int, stop: int) -> Cut:
        """The next cut of a part of the document that ends at `stop`.

        What is left of it may make a chunk a quarter larger than others: little is not a chunk of its own.
        """
        first, start = self._overlap_of(own)
        if self._window.is_within(stop, first + self.most):
            tokens = count_tokens(self._window.text(start, stop))
            if tokens <= self.most:
                return Cut(start, own, stop, tokens)
        if self._exact and own < (cut := self.exact_at(first, own)).end <= stop:
            return cut
        return self.near_at(own, stop)

    def overlap_start(self, own: int) -> int:
        """Where a chunk begins whose own part begins at `own`."""
        return self._overlap_of(own)[1]

    def _overlap_of(self, own: int) -> tuple[int, int]:
        """The first token of a chunk whose own part begins at `own`, and where the chunk begins."""
        window = self._window
        window.reach(own)
        new = window.token_at(own)
        window.reach_token(new + 2 * self._size)
        first = self._first_token(own, new)
        if self._exact:
            return first, min(self._after_character(first), own)
        return first, self._pause_after(first, own)

    def _first_token(self, own: int, new: int) -> int:
        """The first token of the overlap, which is less where a block that begins at `own` would not fit."""
        first = max(new - self._overlap, 0)
        block = None if self._exact else self._window.outline.block_at(own)
        if block and block.end is not None and self._fits(block):
            first = min(max(first, self._window.token_at(block.end) - self._size), new)
        return first

    def _pause_after(self, first: int, own: int) -> int:
        """Where the overlap begins: with a sentence or a word, if one begins in its first half."""
        start = min(self._window.offset_of(first), own)
        if start == 0:
            return start
        text = self._window.text(start, start + (own - start) // 2)
        for pattern in (_SENTENCE, _WORD):
            if found := pattern.search(text):
                return start + found.end()
        return min(self._window.whole(start, +1), own)

    def _end(self, first: int, room: int, own: int, stop: int) -> int:
        window = self._window
        limit = window.offset_of(first + room)
        if limit >= stop:
            return stop
        if window.is_end(limit):
            return limit
        if window.whole(limit) <= own:
            return min(window.whole(max(limit, own + 1), +1), stop)
        low = max(own, window.offset_of(first + room * 3 // 4))
        end = self._pause(low, limit)
        if block := window.outline.block_around(end):
            end = self._beside(block, own, low, limit)
        return self._above_heading(own, end)

    def _pause(self, low: int, limit: int) -> int:
        """The last good place to stop behind `low`, up to `limit`."""
        text = self._window.text(low, limit)
        for pattern in (_PARAGRAPH, _SENTENCE, _WORD):
            ends = [found.end() for found in pattern.finditer(text)]
            if ends and (end := self._window.whole(low + ends[-1])) > low:
                return end
        return self._window.whole(limit)

    def _beside(self, block: UncutBlock, own: int, low: int, limit: int) -> int:
        """Where to stop instead of inside of a block: behind or before it, else behind one of its lines."""
        if block.end is not None and block.end <= limit:
            return block.end
        if own < block.start and self._fits(block):
            return block.start
        line = self._window.text(low, limit).rfind("\n") + 1
        return low + line if line else self._pause(low, limit)

    def _above_heading(self, own: int, end: int) -> int:
        """A heading stays with what follows it."""
        headings = self._window.outline.headings_within(own + 1, end)
        for heading in reversed(headings[-_HEADINGS:]):
            if self._window.text(heading.end, end).strip():
                break
            end = heading.start
        return end

    def _fits(self, block: UncutBlock) -> bool:
        if block.end is None:
            return False
        return self._window.token_at(block.end) - self._window.token_at(block.start) <= self._size


class Chunker(Protocol):
    """A chunker of one's own: an entry point of the group `kgsvc.chunkers`, named by `documents.chunker`.

    It is called in the process that cuts. A chunk may begin before the one in front of it ends; between two,
    before the first and behind the last nothing may be left out.
    """

    def __call__(self, text: str, chunking: Chunking) -> Iterable[tuple[int, int]]:
        """Where the chunks of a document's whole text begin and end, in characters and in their order."""


class WrongChunks(Exception):
    """A chunker failed, or did not keep its contract."""


def chunker_named(name: str) -> EntryPoint | None:
    """The entry point, if a package that is installed has it."""
    return next(iter(entry_points(group="kgsvc.chunkers", name=name)), None)


def cut_by(chunking: Chunking, text: str, pages: Sequence[int]) -> Iterator[Chunk]:
    """The chunks that the chunker makes. Raises WrongChunks."""
    window = Window([text])
    for cut in _checked(chunking, text):
        window.reach(cut.end)
        yield dressed(cut, text[cut.start : cut.end], window, pages)
        window.forget(cut.end, 0)


def _checked(chunking: Chunking, text: str) -> Iterator[Cut]:
    name, own = chunking.chunker, 0
    for start, end in _spans(chunking, text):
        if not 0 <= start <= own < end <= len(text):
            raise WrongChunks(f"the chunker {name} gave {start} to {end} where the text goes on at {own}")
        tokens = count_tokens(text[start:end])
        if tokens > chunking.most:
            raise WrongChunks(f"the chunker {name} made a chunk of {tokens} tokens, at most {chunking.most}")
        yield Cut(start, own, end, tokens)
        own = end
    if own < len(text):
        raise WrongChunks(f"the chunker {name} left out the text from {own} on")


def _spans(chunking: Chunking, text: str) -> list[tuple[int, int]]:
    found = chunker_named(chunking.chunker)
    if found is None:
        raise WrongChunks(f"there is no chunker {chunking.chunker}")
    try:
        chunker: Chunker = found.load()
        return [(int(start), int(end)) for start, end in chunker(text, chunking)]
    except Exception as error:  # whatever code that is not ours raises
        raise WrongChunks(f"the chunker {chunking.chunker} failed: {type(error).__name__}") from error
