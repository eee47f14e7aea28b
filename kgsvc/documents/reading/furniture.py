"""What a PDF repeats above and below the text of its pages: titles, page numbers, notices."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

_LINES = 2  # at most so many above and below
_LEAST = 3  # pages that repeat a line
_SHARE = 12  # one page of so many repeats it: each chapter may have its own
_DIGITS = re.compile(r"(?<!\d)\d{1,4}(?!\d)")
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
    texts = ["" if edge is None else edge.text for edge in edges]
    repeated = Counter(_NUMBER.sub("#", text) for text in texts if text)
    least = max(_LEAST, len(pages) / _SHARE)
    counted = _counted(texts, max(_LEAST, len(pages) / 2))
    return [
        [line for line in page if line is not edge]
        if at in counted or repeated[_NUMBER.sub("#", texts[at])] >= least
        else page
        for at, (page, edge) in enumerate(zip(pages, edges, strict=True))
    ]


def _counted(texts: Sequence[str], least: float) -> set[int]:
    """The pages whose line has the number of the page in it, if at least so many have."""
    behind = defaultdict[int, set[int]](set)  # how far numbers are from the places of their pages
    for at, text in enumerate(texts):
        for digits in _DIGITS.findall(text):
            behind[int(digits) - at].add(at)
    most = max(behind.values(), key=len, default=set())
    return most if len(most) >= least else set()


def _edge(page: Page, top: bool, body: float, gap: float) -> PageLine | None:
    """The first or last line of a page, if it stands apart from the others and is no heading."""
    ordered = sorted(page, key=lambda line: line.bottom, reverse=top)
    if len(ordered) < 2 or ordered[0].size > body:
        return None
    edge, after = ordered[:2]
    apart = abs(edge.bottom - after.bottom) > gap * max(edge.size, after.size)
    return edge if apart else None
