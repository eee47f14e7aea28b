"""Which files are read: the format that one has, what reading it gives and may take, and how it fails."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from kgsvc.domain.errors import KgError
from kgsvc.domain.limits import MIB, Range


@dataclass(frozen=True, slots=True)
class DocumentText:
    """The text of a file, with headings, lists, tables and code as Markdown writes them.

    `pages` are the character offsets at which the pages begin, the first at 0; empty for formats without
    pages. A page without text begins where the one before it ends. `title` is what the file itself says.
    """

    text: str
    pages: tuple[int, ...] = ()
    title: str | None = None


@dataclass(frozen=True, slots=True)
class ReadingLimits:
    """How much reading one file may take; a file that needs more is refused, and nothing else suffers."""

    file_bytes: int = 64 * MIB
    text_chars: int = 16 * MIB  # of the text that comes out of a mail, an HTML, a PDF or a DOCX file
    pages: int = 5_000
    deadline_s: int = 60  # of computing, and by the clock
    memory_bytes: Annotated[int, Range(128 * MIB)] = 512 * MIB  # of the process that reads
    at_once: int = 2  # files that are read at the same time


class Unreadable(KgError):
    """A file cannot be read. `name` is the file, `reason` says why, in words for whoever sent it."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"{name}: {reason}")
        self.name = name
        self.reason = reason


class UnreadFile(Exception):
    """Why a file is not read, said where its name is not known."""


class Format(StrEnum):
    """The formats that are read. The value is what people call it."""

    TEXT = "plain text"
    MARKDOWN = "Markdown"
    HTML = "HTML"
    PDF = "PDF"
    DOCX = "DOCX"
    MAIL = "mail"


SUFFIXES = {
    ".txt": Format.TEXT,
    ".text": Format.TEXT,
    ".md": Format.MARKDOWN,
    ".markdown": Format.MARKDOWN,
    ".html": Format.HTML,
    ".htm": Format.HTML,
    ".xhtml": Format.HTML,
    ".pdf": Format.PDF,
    ".docx": Format.DOCX,
    ".eml": Format.MAIL,
}
_MEDIA_TYPES = {
    "text/plain": Format.TEXT,
    "text/markdown": Format.MARKDOWN,
    "text/html": Format.HTML,
    "application/xhtml+xml": Format.HTML,
    "application/pdf": Format.PDF,
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": Format.DOCX,
    "message/rfc822": Format.MAIL,
}
_SIGNATURES = (  # first bytes of what is often named wrongly; others may be any text
    (b"PK\x03\x04", Format.DOCX),  # an archive, at least: reading it shows what is in it
    (b"%PDF-", Format.PDF),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old or an encrypted Office file"),
    (b"{\\rtf", "RTF"),
    (b"\x89PNG", "an image"),
    (b"\xff\xd8\xff", "an image"),
    (b"GIF8", "an image"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"\x7fELF", "a program"),
    (b"SQLite format 3\x00", "a database"),
)


def format_of(name: str, media_type: str, beginning: bytes) -> Format:
    """The format of a file by its media type; if that is empty or unknown, by the end of its name.

    Raises Refused: none that is read, or `beginning`, the file's first 1024 bytes, contradicts it.
    """
    kind = media_type.partition(";")[0].strip().lower()
    end = re.search(r"\.[^./\\]+$", name)
    claimed = _MEDIA_TYPES.get(kind) or SUFFIXES.get(end[0].lower() if end else "")
    if claimed is None:
        raise UnreadFile(f"is none of the formats that are read ({', '.join(SUFFIXES)})")
    if claimed is Format.PDF and b"%PDF-" in beginning:
        return claimed  # some programs write a line of their own before the header
    held = next((what for first, what in _SIGNATURES if beginning.startswith(first)), None)
    if held not in {None, claimed} or (held is None and claimed in {Format.PDF, Format.DOCX}):
        raise UnreadFile(f"is called {claimed} and holds {held or 'something else'}")
    return claimed


def charset_of(media_type: str) -> str:
    """The charset that a media type names, as in "text/html; charset=utf-8"; else ""."""
    found = re.search(r";\s*charset\s*=\s*[\"']?([\w.:-]+)", media_type, re.IGNORECASE)
    return found[1] if found else ""


_MARKS = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
# What pages that name an old charset mean by it, as browsers read them.
_MEANT = {"iso8859-1": "cp1252", "ascii": "cp1252"}


def decoded(data: bytes, charset: str) -> str:
    """The text of `data`, by its byte order mark, else by `charset`, else as UTF-8. Raises Refused."""
    mark = next(filter(data.startswith, _MARKS), b"")
    charset = _MARKS.get(mark) or charset or "utf-8"
    try:
        encoding = codecs.lookup(charset).name
        text = data[len(mark) :].decode(_MEANT.get(encoding, encoding))
    except LookupError:
        raise UnreadFile(f"is written in {charset[:40]}, an encoding that is not known here") from None
    except UnicodeDecodeError as error:
        raise UnreadFile(f"is not {_named(encoding)} (byte {error.start:,})") from None
    if "\0" in text:
        raise UnreadFile("holds NUL characters: it is no text, or UTF-16 without a byte order mark")
    return text


def _named(encoding: str) -> str:
    return "UTF-8, nor UTF-16 with a byte order mark" if encoding == "utf-8" else encoding.upper()
