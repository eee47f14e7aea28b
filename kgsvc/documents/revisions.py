"""A changed document in chunks again: where its text did not change, the chunks and their boundaries stay.

The chunks of the old revision are looked for in the new text by what is their own. Only what lies between
those found is cut anew. Little that was put between two chunks goes into the one behind it, at the end into
the one before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kgsvc.documents.chunking import Chunk, Chunking, Cut, Cutter, dressed
from kgsvc.documents.occurrences import Occurrences
from kgsvc.documents.tokens import count_tokens, counts
from kgsvc.documents.window import LONGEST_CLUSTER, Window

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
class _Part:
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


def _parts(old: Sequence[OldChunk], text: str, most: int) -> Iterator[_Part]:
    """The new text as parts that stand in an old chunk, and what lies between them."""
    done = 0
    for start, number in Occurrences([*_usable(old, most)], text):
        if done < start:
            yield _Part(done, start, None)
        done = start + len(old[number].own)
        yield _Part(start, done, old[number])
        yield from (_Part(done, done, each) for each in _without_own(old, number + 1, text, done))
    if done < len(text):
        yield _Part(done, len(text), None)


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


def _joined(parts: Iterator[_Part], text: str, chunking: Chunking, most: int) -> list[_Part]:
    """Put little that is new into the chunk behind or before it, and what is new at the end into the last."""
    little = max(chunking.overlap, chunking.token_size // _LITTLE)

    def both(first: _Part, last: _Part, room: int) -> list[_Part]:
        """The two as one new part, if that has at most `room` tokens."""
        fits = _is_within(text[first.start : last.end], room - chunking.overlap)
        return [_Part(first.start, last.end, None)] if fits else []

    def is_little(part: _Part) -> bool:
        return part.chunk is None and _is_within(text[part.start : part.end], little)

    joined: list[_Part] = []
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


def _cuts(part: _Part, text: str, cutter: Cutter) -> Iterator[Cut]:
    if part.chunk and (kept := _kept(part, part.chunk, text, cutter)):
        yield kept
        return
    own = part.start
    while own < part.end:
        cut = cutter.part_at(own, part.end)
        yield cut
        own = cut.end


def _kept(part: _Part, chunk: OldChunk, text: str, cutter: Cutter) -> Cut | None:
    """The old chunk at its new place, with the overlap of that place; None if it is too large with that."""
    usual = cutter.overlap_start(part.start)
    start = part.start - len(chunk.overlap)
    if start >= 0 and text.startswith(chunk.overlap, start):
        return Cut(start, part.start, part.end, chunk.tokens or count_tokens(chunk.content))
    tokens = count_tokens(text[usual : part.end])
    return Cut(usual, part.start, part.end, tokens) if tokens <= cutter.most else None
