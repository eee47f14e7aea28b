"""Tokens of a text, by o200k_base, whose vocabulary comes with its package: nothing is fetched at run time.

A long text is tokenized in segments of at most `SEGMENT` characters, so that only one is held at a time.
They end where the tokenizer would begin a new token anyway: at what follows a letter or a digit and is none
itself.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

import numpy as np
import numpy.typing as npt
import toktok

SEGMENT = 8_192
# Of a text without such a place (one letter a million times) a segment is as long as is allowed.
_END = re.compile(r".*[^\W_](?=[ \t\r\n,.、。，．])", re.DOTALL)
_ENCODING = "o200k_base"
Offsets = npt.NDArray[np.int64]


@cache
def _tokenizer() -> toktok._toktok.Tokenizer:
    # The package promises counts alone; where tokens begin is had from what it counts with.
    return toktok._encoding(_ENCODING)


@cache
def _lengths() -> npt.NDArray[np.int64]:
    """How many bytes of UTF-8 each token stands for."""
    return np.array([len(each) for each in _tokenizer().token_byte_values()], np.int64)


def load() -> None:
    """Load the vocabulary, else the first use does: 50 MB, most of a second in which no thread runs."""
    _lengths()


def count_tokens(text: str) -> int:
    """How many tokens `text` has by itself."""
    return counts([text])[0]


def counts(texts: Sequence[str]) -> list[int]:
    """How many tokens each of `texts` has by itself."""
    found: list[int] = _tokenizer().count_batch(list(texts), 1, False)
    return found


def segment_end(text: str, start: int) -> int:
    """Where the segment that begins at `start` ends.

    `text` must hold SEGMENT characters from there, or its end is the end of all.
    """
    if len(text) - start <= SEGMENT:
        return len(text)
    found = _END.match(text, start + SEGMENT // 2, start + SEGMENT)
    return found.end() if found else start + SEGMENT


def token_starts(segment: str) -> Offsets:
    """The offset of the character in which each token begins.

    A token may begin inside a character: a rare one is several tokens, which then all have its offset.
    """
    data = segment.encode()
    ids, _ = _tokenizer().encode_batch_to_numpy([segment], 1)
    lengths = _lengths()[ids]
    begins_character = np.frombuffer(data, np.uint8) & 0xC0 != 0x80
    character = np.cumsum(begins_character, dtype=np.int64) - 1
    starts: Offsets = character[np.cumsum(lengths) - lengths]
    return starts
