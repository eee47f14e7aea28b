"""A text of any length, of which only a part is in memory at a time."""

from __future__ import annotations

import codecs
import tempfile
from collections.abc import Iterable, Iterator
from typing import IO

from kgsvc.domain.model.keys import Digest

_IN_MEMORY_BYTES = 1024 * 1024  # more of a text is in a file, which has no name and ends with the process
_BLOCK = 64 * 1024


class TextFile:
    """A text that is written once, as UTF-8, and then read in pieces, by one reader at a time."""

    def __init__(self) -> None:
        self.size = 0  # in bytes
        self.chars = 0
        self.content_hash = ""  # of "document" and the text, by kgsvc.domain.model.keys.digest
        self.is_blank = True
        self.has_nul = False
        self._file: IO[bytes] | None = None
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._digest = Digest("document")

    @classmethod
    def of(cls, text: str) -> TextFile:
        """A text that is in memory."""
        made = cls()
        for at in range(0, len(text), _BLOCK):
            made.write(text[at : at + _BLOCK].encode())
        made.end()
        return made

    def write(self, data: bytes) -> None:
        """Take in the next bytes. Raises UnicodeDecodeError: they are not UTF-8."""
        self._take(self._decoder.decode(data))
        if self._file is None:
            self._file = tempfile.SpooledTemporaryFile(_IN_MEMORY_BYTES)  # noqa: SIM115 - closed by `close`
        self._file.write(data)
        self.size += len(data)

    def end(self) -> None:
        """That was all. Raises UnicodeDecodeError: the last character is not whole."""
        self._take(self._decoder.decode(b"", final=True))
        self.content_hash = self._digest.end()

    def blocks(self) -> Iterator[bytes]:
        """All of it from the start."""
        if self._file is None:
            return
        self._file.seek(0)
        while block := self._file.read(_BLOCK):
            yield block

    def slices(self, spans: Iterable[tuple[int, int]]) -> Iterator[str]:
        """What stands between offsets in characters; the spans ascend by their starts."""
        pieces = codecs.iterdecode(self.blocks(), "utf-8")
        held, begin = "", 0
        for start, end in spans:
            while begin + len(held) < end:
                passed = min(start - begin, len(held))
                held, begin = held[passed:] + next(pieces), begin + passed
            yield held[start - begin : end - begin]

    def close(self) -> None:
        """Forget it."""
        if self._file is not None:
            self._file.close()

    def _take(self, text: str) -> None:
        self.chars += len(text)
        self.is_blank = self.is_blank and not text.strip()
        self.has_nul = self.has_nul or "\0" in text
        self._digest.add(text)
