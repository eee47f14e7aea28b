"""Writes what readers find as Markdown: headings, paragraphs, lists, quotes, tables and code."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from kgsvc.documents.reading.formats import UnreadFile

_DEEPEST = 8  # levels of lists and quotes that are indented; below, text stands as on the last one
# At the start of a line these would read as a heading or a fence that the file does not have.
_MISTAKABLE = re.compile(r"^([ \t]*)(#{1,6}(?=[ \t]|$)|`{3}|~{3})", re.MULTILINE)
# Control characters and halves of pairs: no text, and no store or terminal wants them.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")


class Container:
    """A list item or a quote around blocks: what stands before its first line, and before all others.

    Blocks in items that follow one another stand without an empty line between them.
    """

    def __init__(self, first: str, others: str, is_item: bool = True) -> None:
        self._first = first
        self._others = others
        self.is_item = is_item

    def prefix(self) -> str:
        """What stands before the next line."""
        prefix, self._first = self._first, self._others
        return prefix


def item(marker: str) -> Container:
    """A list item, its marker "-" or "3."."""
    return Container(f"{marker} ", " " * (len(marker) + 1))


def quote() -> Container:
    """A quoted passage."""
    return Container("> ", "> ", is_item=False)


class Markdown:
    """A text under construction. Every method that adds raises Refused past `most_chars`."""

    def __init__(self, most_chars: int) -> None:
        self._parts: list[str] = []
        self._chars = 0
        self._most_chars = most_chars
        self._after_item = False

    def text(self) -> str:
        """What was written."""
        return "".join(self._parts)

    def heading(self, level: int, text: str) -> None:
        """A heading of level 1 to 6, on one line."""
        if text := " ".join(clean(text).split()):
            self._block([f"{'#' * level} {text}"], ())

    def paragraph(self, text: str, containers: Sequence[Container] = ()) -> None:
        """Text whose line breaks stay."""
        if text := clean(text).strip():
            self._block(escaped(text).split("\n"), containers)

    def code(self, text: str, language: str = "", containers: Sequence[Container] = ()) -> None:
        """Text that stays as it stands, in a fence longer than any in it."""
        longest = max(map(len, re.findall(r"`{3,}", text)), default=2)
        fence = "`" * (longest + 1)
        self._block([fence + language, *clean(text).strip("\n").split("\n"), fence], containers)

    def table(self, rows: Sequence[Sequence[str]], containers: Sequence[Container] = ()) -> None:
        """A table, its first row the header. One of a single column is written as paragraphs."""
        rows = [cells for row in rows if any(cells := [_cell(text) for text in row])]
        width = max(map(len, rows), default=0)
        if width <= 1:
            for row in rows:
                self.paragraph(row[0].replace(r"\|", "|"), containers)
            return
        full = [[*row, *[""] * (width - len(row))] for row in rows]
        lines = [f"| {' | '.join(row)} |" for row in [full[0], ["---"] * width, *full[1:]]]
        self._block(lines, containers)

    def _block(self, lines: Iterable[str], containers: Sequence[Container]) -> None:
        containers = [*containers[: _DEEPEST - 1], *containers[_DEEPEST - 1 :][-1:]]
        in_item = bool(containers) and containers[-1].is_item
        tight = in_item and self._after_item
        written = "\n".join(_prefixed(line, containers) for line in lines)
        self._add(("\n" if tight else "\n\n") if self._parts else "")
        self._add(written)
        self._after_item = in_item

    def _add(self, text: str) -> None:
        self._chars += len(text)
        if self._chars > self._most_chars:
            raise UnreadFile(f"holds more than {self._most_chars:,} characters of text")
        self._parts.append(text)


def _prefixed(line: str, containers: Sequence[Container]) -> str:
    return ("".join(container.prefix() for container in containers) + line).rstrip()


def _cell(text: str) -> str:
    return " ".join(clean(text).split()).replace("|", r"\|")


def clean(text: str) -> str:
    """The text without control characters, its lines ended by a line feed alone."""
    return _UNPRINTABLE.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))


def escaped(text: str) -> str:
    """A text in which no line reads as a heading or a fence."""
    return _MISTAKABLE.sub(r"\1\\\2", text)
