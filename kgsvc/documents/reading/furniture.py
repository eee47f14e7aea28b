"""What a PDF repeats above and below the text of its pages: titles, page numbers, notices."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

_LINES = 2  # at most so many above and below
_LEAST = 3  # pages that repeat a line
_SHARE = 3  # one page of so many repeats it: left and right pages may differ, and first ones of chapters
_NUMBER = re.compile(r"\d+|\b[ivxlc]+\b")


@dataclass(frozen=True, slots=True)
class PageLine:
    """A line of a page: its text, the size of its letters, and where it stands."""

    text: str
    size: float
    left: float
    bottom: float


Page = Sequence[PageLine]


def without_furniture(pages: Sequence[Page], body: float, gap: float) -> list[Page]:
    """The pages without lines that stand apart at their edges and are repeated, their numbers aside. `body`
    is the size of the text's letters, `gap` what lies between two paragraphs, beside that size."""
    left = list(pages)
    for _ in range(_LINES):
        for top in (True, False):
            left = _without_edge(left, top, body, gap)
    return left


def _without_edge(pages: Sequence[Page], top: bool, body: float, gap: float) -> list[Page]:
    edges = [_edge(page, top, body, gap) for page in pages]
    repeated = Counter(_NUMBER.sub("#", edge.text) for edge in edges if edge)
    least = max(_LEAST, len(pages) / _SHARE)
    return [
        [line for line in page if line is not edge]
        if edge and repeated[_NUMBER.sub("#", edge.text)] >= least
        else page
        for page, edge in zip(pages, edges, strict=True)
    ]


def _edge(page: Page, top: bool, body: float, gap: float) -> PageLine | None:
    """The first or last line of a page, if it stands apart from the others and is no heading."""
    ordered = sorted(page, key=lambda line: line.bottom, reverse=top)
    if len(ordered) < 2 or ordered[0].size > body:
        return None
    edge, after = ordered[:2]
    apart = abs(edge.bottom - after.bottom) > gap * max(edge.size, after.size)
    return edge if apart else None
