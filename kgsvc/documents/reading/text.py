"""What reading a file gives, how much it may take, and how it fails."""

from __future__ import annotations

from dataclasses import dataclass
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
    text_chars: int = 16 * MIB  # of the text that comes out of an HTML, PDF or DOCX file
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


class Refused(Exception):
    """Why a file is not read, said where its name is not known."""
