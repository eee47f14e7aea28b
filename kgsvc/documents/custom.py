"""A chunker of one's own: an entry point of the group `kgsvc.chunkers`, named by `documents.chunker`.

It is called with a document's whole text and the settings for cutting, in the process that cuts, and gives
the chunks as offsets in characters, (start, end), in their order. A chunk may begin before the one in front
of it ends; between two, before the first and behind the last nothing may be left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import EntryPoint, entry_points
from typing import Protocol

from kgsvc.documents.chunking import Chunk, Chunking, Cut, dressed
from kgsvc.documents.tokens import count_tokens
from kgsvc.documents.window import Window

GROUP = "kgsvc.chunkers"


class Chunker(Protocol):
    """What the entry point names."""

    def __call__(self, text: str, chunking: Chunking) -> Iterable[tuple[int, int]]:
        """Where the chunks of a text begin and end."""


class WrongChunks(Exception):
    """A chunker failed, or did not keep its contract."""


def chunker_named(name: str) -> EntryPoint | None:
    """The entry point, if a package that is installed has it."""
    return next(iter(entry_points(group=GROUP, name=name)), None)


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
