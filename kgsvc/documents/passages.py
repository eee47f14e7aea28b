"""Passages: the parts of an episode that have a vector each. Models of embeddings read some 200 tokens and
lose the meaning of what is longer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

PASSAGE_BYTES = 800  # of UTF-8: some 200 tokens in any script
_PAUSE = re.compile(r"""[.!?]["'”’)\]]*\s+|[。．！？…][」』）”’]*|\n""")
_STANDS = 0.8  # share of a text that a fact must be as long as to stand for it


def spoken(body: str, facts: Iterable[str]) -> list[str]:
    """What is embedded for an episode: its passages. For a short one a fact that says nearly all of it, whose
    vector is there already."""
    found = passages(body)
    longest = max(facts, key=len, default="")
    return [longest] if len(found) == 1 and len(longest) >= _STANDS * len(body) else found


def passages(text: str) -> list[str]:
    """Whole sentences, as many as fit into `PASSAGE_BYTES`; longer ones are cut between words, else between
    characters. White space is one blank; what has nothing else is no passage."""
    found: list[str] = []
    room = 0  # in the last one
    for sentence in _sentences(text):
        for part in _parts(" ".join(sentence.split())):
            size = len(part.encode()) + 1
            if size <= room:
                found[-1] = f"{found[-1]} {part}"
            else:
                found.append(part)
                room = PASSAGE_BYTES + 1
            room -= size
    return found


def _sentences(text: str) -> Iterator[str]:
    start = 0
    for pause in _PAUSE.finditer(text):
        yield text[start : pause.end()]
        start = pause.end()
    yield text[start:]


def _parts(sentence: str) -> Iterator[str]:
    """A sentence in pieces of at most `PASSAGE_BYTES`."""
    data = sentence.encode()
    start = 0
    while start < len(data):
        end = start + PASSAGE_BYTES
        if end < len(data):
            blank = data.rfind(b" ", start + PASSAGE_BYTES // 2, end)
            end = blank if blank > 0 else _between_characters(data, end)
        yield data[start:end].decode().strip()
        start = end


def _between_characters(data: bytes, end: int) -> int:
    while data[end] & 0xC0 == 0x80:
        end -= 1
    return end
