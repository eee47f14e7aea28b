"""What of Markdown a chunk must know: the headings above it, the code fences and tables it should not cut."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import deque
from dataclasses import dataclass

# More of a line is not looked at; a heading longer than this is a paragraph.
_LONGEST_LINE = 1_000
_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]|$)")
_CLOSING_MARKS = re.compile(r"(?:^|[ \t])#+$")
_UNDERLINE = re.compile(r" {0,3}(?:(=)+|-{3,})[ \t]*$")
_FENCE = re.compile(r"[ \t>]*(`{3,}(?=[^`]*$)|~{3,})")
_DAY = re.compile(  # 2024-05-02, 2. Mai 2024, May 2nd, 2024
    r"\b(?:\d{4}-\d\d-\d\d|\d{1,2}\.?[ -][^\W\d_]{3,10}[ -]\d{4}"
    r"|[^\W\d_]{3,10} \d{1,2}(?:st|nd|rd|th)?,? \d{4})\b"
)
_OF_ITS_DAY = re.compile(
    r"(?i)\b(?:minutes|meeting|notes|agenda|call|sync|stand-?up|retro(?:spective)?|protokoll|sitzung)\b|議事録"
)
_TOP = 600  # characters in which a document says of which day it is
_NO_TITLE = re.compile(r"[ \t]*(?:[-*+>|=#]|\d+[.)][ \t])")


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading: `start` and `end` are the character offsets of its line or lines."""

    start: int
    end: int
    level: int
    title: str


@dataclass(frozen=True, slots=True)
class UncutBlock:
    """The lines of a code fence or a table, as half-open offsets; `end` is None until it is known."""

    start: int
    end: int | None


class Outline:
    """Reads a document line by line as it comes; what lies before an offset is forgotten when told so.

    Headings are those of CommonMark (`#`, and lines underlined by `=` or `-`), none of them in code fences.
    One at the top like "Minutes of 2024-05-02" is above everything, as long as no other names a day.
    """

    def __init__(self) -> None:
        self._read = 0  # up to where text was fed
        self._line, self._line_start = "", 0  # the line that is not at its end yet
        self._before: list[tuple[int, str]] = [(0, ""), (0, "")]  # the last two lines
        self._fence = ""
        self._block: int | None = None  # where the open block began
        self._blocks: deque[UncutBlock] = deque()
        self._headings: deque[Heading] = deque()
        self._path: list[Heading] = []
        self._dated: list[Heading] = []  # those above that name a day

    def feed(self, text: str) -> None:
        """Go on with the next part of the document, however it is cut."""
        *lines, rest = text.split("\n")
        for each in lines:
            self._read += len(each) + 1
            if not (each or self._line or self._fence or self._block):
                self._before = [self._before[1], (self._line_start, "")]
                self._line_start = self._read
                continue
            self._end_line(self._line + each[:_LONGEST_LINE])
        self._read += len(rest)
        self._line = (self._line + rest[:_LONGEST_LINE])[: _LONGEST_LINE + 1]

    def finish(self) -> None:
        """The document is at its end."""
        if self._line:
            self._end_line(self._line)
        self._close_block(self._read)

    def headings_above(self, offset: int) -> tuple[str, ...]:
        """The titles above `offset`, outermost first. Offsets must not go down from call to call."""
        while self._headings and self._headings[0].start < offset:
            found = self._headings.popleft()
            self._path = [each for each in self._path if each.level < found.level] + [found]
            if len(self._dated) < 2 and _DAY.search(found.title):
                self._dated.append(found)
        dated = self._dated if len(self._dated) == 1 else []
        alone = [each for each in dated if each.start < _TOP and _OF_ITS_DAY.search(each.title)]
        path = [*(each for each in alone if each not in self._path), *self._path]
        return tuple(each.title for each in path if each.title)

    def headings_within(self, start: int, end: int) -> list[Heading]:
        """The headings that begin from `start` on and before `end`, of those that no chunk is below yet."""
        return [each for each in self._headings if start <= each.start < end]

    def block_around(self, offset: int) -> UncutBlock | None:
        """The code fence or table that a cut at `offset` would cut."""
        if self._block is not None and self._block < offset:
            return UncutBlock(self._block, None)
        at = bisect_left(self._blocks, offset, key=lambda each: each.start) - 1
        found = self._blocks[at] if at >= 0 else None
        return found if found and found.end is not None and offset < found.end else None

    def block_at(self, offset: int) -> UncutBlock | None:
        """The code fence or table that begins at `offset`, if its end is known."""
        at = bisect_left(self._blocks, offset, key=lambda each: each.start)
        found = self._blocks[at] if at < len(self._blocks) else None
        return found if found and found.start == offset else None

    def forget(self, offset: int) -> None:
        """No block that ends before `offset` will be asked for again."""
        while self._blocks and (self._blocks[0].end or 0) < offset:
            self._blocks.popleft()

    def _end_line(self, line: str) -> None:
        start, line = self._line_start, line[: _LONGEST_LINE + 1].rstrip("\r")
        if self._fence:
            self._go_on_with_fence(line)
        elif opened := _FENCE.match(line):
            self._close_block(start)
            self._fence, self._block = opened[1], start
        elif not self._is_row(line):
            self._close_block(start)
            self._note_heading(start, line)
        self._before = [self._before[1], (start, line)]
        self._line, self._line_start = "", self._read

    def _go_on_with_fence(self, line: str) -> None:
        mark = line.strip(" \t>")
        if mark.startswith(self._fence) and not mark.strip(self._fence[0]):
            self._fence = ""
            self._close_block(self._read)

    def _is_row(self, line: str) -> bool:
        """Whether the line is of a table; without outer bars, from the line above its delimiters on."""
        if self._block is not None:
            return "|" in line
        before_start, before = self._before[1]
        if line.lstrip(" \t>").startswith("|"):
            self._block = self._line_start
        elif "|" in before and _is_delimiters(line):
            self._block = before_start
        return self._block is not None

    def _close_block(self, end: int) -> None:
        if self._block is not None:
            self._blocks.append(UncutBlock(self._block, end))
        self._block = None

    def _note_heading(self, start: int, line: str) -> None:
        if len(line) > _LONGEST_LINE:
            return
        if marks := _HEADING.match(line):
            title = _CLOSING_MARKS.sub("", line[marks.end(1) :].strip()).strip()
            self._headings.append(Heading(start, self._read, len(marks[1]), title))
        elif (under := _UNDERLINE.match(line)) and (above := self._title_above()):
            level = 1 if under[1] else 2
            self._headings.append(Heading(self._before[1][0], self._read, level, above))

    def _title_above(self) -> str:
        """The line above, if it is a paragraph of one line: what is underlined there is a heading."""
        (_, blank), (_, line) = self._before
        usable = not blank.strip() and len(line) <= _LONGEST_LINE and not _NO_TITLE.match(line)
        return line.strip() if usable else ""


def _is_delimiters(line: str) -> bool:
    """Whether it is the line below the header of a table."""
    return "|" in line and "-" in line and not line.strip(" \t|:-")
