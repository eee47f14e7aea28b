"""Lines that end where they were full, as in mail, plain text and much Markdown: put together again."""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from math import inf
from statistics import median

_NARROW, _FULL = 40, 60  # characters: lines are not broken so short; so long, they often are
_LOWER = 0.4  # of the lines that go on, where text is wrapped; other lines are entries or verses
_OWN = re.compile(  # what begins a line of its own: a bullet, a heading, a cell, a quotation, who speaks
    r"\s*(?:[-*+•>#|=]|\d{1,3}[.)]\s|[^\W\d_][\w.'’ -]{0,40}:\s|\[?\d{1,4}[-/:.]\d)"
)
_CELLS = re.compile(r"\s*\||\t|\S {3,}\S")
_ENDS = ".!?:;…。！？"
_OPEN_WORDS = (  # what no line ends with that is whole
    "a an the my your his her its our their this these those of to in on at by for from with into onto over"
    " under as than and or but nor is are was were be been has have had do does did will would can could may"
    " might must shall should"
)
_OPEN = frozenset(_OPEN_WORDS.split())
_FENCES = ("```", "~~~")


def unwrapped(text: str) -> str:
    """The text with one line for what was one, code aside, and quoted mail as what it quotes."""
    lines = map(_unquoted, text.split("\n"))
    blocks = [list(block) for _, block in groupby(lines, lambda line: bool(line.strip()))]
    width = _width(blocks)
    made: list[str] = []
    fenced = False
    for block in blocks:
        fences = sum(line.lstrip().startswith(_FENCES) for line in block)
        made += block if fenced or fences else _joined(block, width)
        fenced ^= fences % 2 == 1
    return "\n".join(made)


def _unquoted(line: str) -> str:
    return line.lstrip("> \t") if line.startswith(">") else line


def _width(blocks: Sequence[Sequence[str]]) -> float:
    """What half of the lines reach that others follow; infinite unless many of these begin in the midst of
    sentences: then lines end for other reasons."""
    pairs = [
        pair for block in blocks for pair in pairwise(block) if pair[1].strip() and not _OWN.match(pair[1])
    ]
    if sum(line.strip()[0].islower() for _, line in pairs) <= _LOWER * len(pairs):
        return inf
    return max(_NARROW, median(len(before.rstrip()) for before, _ in pairs))


def _joined(block: Sequence[str], width: float) -> Iterator[str]:
    parts = [block[0]]
    for before, line in pairwise(block):
        if _goes_on(before.rstrip(), line.strip(), width):
            parts[-1] = parts[-1].rstrip()
            parts.append(line.strip())
        else:
            yield " ".join(parts)
            parts = [line]
    yield " ".join(parts)


def _goes_on(before: str, line: str, width: float) -> bool:
    """Whether the line goes on with the one before: its first word had no room there, or that one is not at
    its end."""
    if not before or not line or _OWN.match(line) or _CELLS.search(before) or before.lstrip()[0] in "#=":
        return False
    last, first = before.rsplit(maxsplit=1)[-1].lower(), line.split(maxsplit=1)[0]
    inside = line[0].islower() and before[-1] not in _ENDS and (width < inf or len(before) >= _FULL)
    return inside or len(before) + 1 + len(first) > width or last in _OPEN
