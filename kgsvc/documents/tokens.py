"""Tokens of a text, by o200k_base, whose vocabulary comes with its package: nothing is fetched at run time;
and the window, the part of a document that chunks are being cut from.

A long text is tokenized in segments of at most `SEGMENT` characters, so that only one is held at a time.
They end where the tokenizer would begin a new token anyway: at what follows a letter or a digit and is none
itself.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import cache

import numpy as np
import numpy.typing as npt
import toktok

from kgsvc.documents.outline import Outline

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


def load_vocabulary() -> None:
    """Else the first use does: 50 MB, most of a second in which no thread runs."""
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


_PIECE = 8 * SEGMENT
# More marks than this on one letter are hostile, and are cut anywhere.
LONGEST_CLUSTER = 32
_JOINER = "\u200d"


class Window:
    """The text, tokens and outline of a part of a document. It reads on as is needed, and forgets when told
    so; all offsets are characters of the document.

    What is read depends on the text and the calls alone, not on the pieces that the text comes in.
    """

    def __init__(self, pieces: Iterable[str]) -> None:
        self.outline = Outline()
        self._pieces = _sized(pieces)
        self._text, self._begin = "", 0  # what is held, and the offset of its first character
        self._starts = np.zeros(0, np.int64)  # the offsets of the tokens held
        self._first = 0  # the number in the document of the first token held
        self._end = 0  # the offset up to which tokens are known
        self._complete = False

    @property
    def end(self) -> int:
        """The offset up to which the document is read."""
        return self._end

    def reach_token(self, number: int) -> None:
        """Read on until token `number`, from 0, is known, or to the end."""
        while not self._complete and self._first + len(self._starts) <= number:
            self._read_segment()

    def reach(self, offset: int) -> bool:
        """Read on until the character at `offset` is known; false if the document ends before it."""
        while not self._complete and self._end <= offset:
            self._read_segment()
        return offset < self._end

    def is_within(self, offset: int, token: int) -> bool:
        """Whether the text up to `offset` ends before token `token` does; read on as far as that needs."""
        self.reach_token(token)
        return offset <= self._end and self.token_at(offset) <= token

    def is_end(self, offset: int) -> bool:
        """Whether the document is read and ends at `offset`."""
        return self._complete and offset == self._end

    def offset_of(self, token: int) -> int:
        """The offset of the character in which a token begins; beyond the last, the end of what is read."""
        at = token - self._first
        return int(self._starts[at]) if at < len(self._starts) else self._end

    def token_at(self, offset: int) -> int:
        """The number of the first token that begins at `offset` or behind it."""
        return self._first + int(np.searchsorted(self._starts, offset))

    def text(self, start: int, end: int) -> str:
        """What stands between two offsets."""
        return self._text[start - self._begin : end - self._begin]

    def whole(self, offset: int, direction: int = -1) -> int:
        """The next offset in `direction` at which no CRLF, emoji or letter with its marks is cut in two."""
        for at in range(offset, offset + direction * LONGEST_CLUSTER, direction):
            where = at - self._begin
            if not (0 < where < len(self._text)) or not self._is_joined(where):
                return at
        return offset

    def forget(self, offset: int, tokens: int) -> None:
        """Nothing will be asked for that lies more than `tokens` tokens before `offset`."""
        keep = max(self.token_at(offset) - tokens - 1, self._first)
        begin = min(self.offset_of(keep), offset)
        self._starts = self._starts[keep - self._first :]
        self._first = keep
        self._text, self._begin = self.text(begin, self._begin + len(self._text)), begin
        self.outline.forget(begin)

    def _read_segment(self) -> None:
        start = self._end - self._begin
        while len(self._text) - start < SEGMENT and (piece := next(self._pieces, "")):
            self._text += piece
        end = segment_end(self._text, start)
        segment = self._text[start:end]
        if segment:
            self._starts = np.concatenate([self._starts, token_starts(segment) + self._end])
            self._end += len(segment)
            self.outline.feed(segment)
        elif not self._complete:
            self._complete = True
            self.outline.finish()

    def _is_joined(self, at: int) -> bool:
        before, after = self._text[at - 1], self._text[at]
        if after < "\u0300":
            return before == "\r" and after == "\n"
        if _is_flag_letter(after):
            return self._flag_letters_before(at) % 2 == 1
        return _JOINER in (before, after) or _extends(after)

    def _flag_letters_before(self, at: int) -> int:
        """How many letters of flags stand before: two of them are one flag."""
        found = 0
        while found < LONGEST_CLUSTER and at > found and _is_flag_letter(self._text[at - found - 1]):
            found += 1
        return found


def _extends(character: str) -> bool:
    """Whether it is a mark on the character before it, or the colour of its skin."""
    return unicodedata.category(character)[0] == "M" or "\U0001f3fb" <= character <= "\U0001f3ff"


def _is_flag_letter(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def _sized(pieces: Iterable[str]) -> Iterator[str]:
    """The same text in pieces that are neither tiny nor huge, none of them empty."""
    held: list[str] = []
    for piece in pieces:
        for start in range(0, len(piece), _PIECE):
            held.append(piece[start : start + _PIECE])
            if sum(map(len, held)) >= _PIECE:
                yield "".join(held)
                held = []
    if held:
        yield "".join(held)
