"""BM25 over the texts of one scope of a group, such as its facts.

score(text) = Σ over query terms  weight · idf · f·(k1+1) / (f + k1·(1 - b + b·length/mean length)),
idf = ln(1 + (N - n + 0.5) / (n + 0.5)), with f the term's count in the text, n the texts that hold it and N
all of the group: expired and closed ones too, so that the statistics do not move with the clock.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgsvc.domain import text as bm25
from kgsvc.search.index.postings import counts_of, found_at, rows_of
from kgsvc.search.index.topk import edge
from kgsvc.search.index.word_blocks import MAX_COUNT, Packed

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]
Weighed = tuple[Packed, float]  # postings of a term and what the term says

_FEW = 50_000  # postings of a query that are simply gone through
_CHUNK = 32_768  # of them at once: what is made of these stays in the processor's cache
_SLACK = 5e-5  # more than sums in float32, in another order, or rounded to nine digits are off by
_SMALLEST = 1e-30


@dataclass(frozen=True, slots=True)
class Corpus:
    """What the scores of a group's facts depend on."""

    lengths: NDArray[np.uint32]  # terms of each row
    facts: int
    total_length: int

    def gains(self, idf: float | Floats, rows: Rows, counts: Floats) -> Floats:
        """What a term adds to the scores of rows in which it is found `counts` times."""
        lengths: NDArray[Any] = self.lengths[rows] * (self.facts / self.total_length)
        each: Floats = bm25.gain(counts, lengths)
        return idf * each

    def most(self, idf: float, packed: Packed) -> float:
        """More than a term adds to any score: a fact that holds it that often is at least that long."""
        count = float((packed & MAX_COUNT).max())
        return idf * bm25.gain(count, count * (self.facts / self.total_length)) * (1 + _SLACK) + _SLACK

    def idf(self, packed: Packed) -> float:
        """How much a term says that these postings are of."""
        return bm25.idf(len(packed), self.facts)


def strongest(
    matches: Iterable[tuple[Packed, float]], corpus: Corpus, visible: NDArray[np.bool_], count: int
) -> tuple[Rows, Floats]:
    """Those of the visible rows that can be among the `count` best, with their scores, all above 0.

    `matches` are the postings and the weight of each query term. Sums run in the order of the terms, so a
    fact's score does not depend on its row.
    """
    terms = [(packed, weight * corpus.idf(packed)) for packed, weight in matches if len(packed)]
    if not terms:
        return np.empty(0, np.intp), np.empty(0)
    if max(sum(len(packed) for packed, _ in terms), len(visible) // 4) <= _FEW:
        scores = _summed(terms, corpus)
        rows = np.flatnonzero(visible & (scores > 0))
        return rows, scores[rows]
    rows = _possible(terms, corpus, visible, count)
    scores = np.zeros(len(rows))
    for packed, idf in terms:
        scores += _looked_up(packed, idf, rows, corpus)
    return rows, scores


def _summed(terms: Sequence[Weighed], corpus: Corpus) -> Floats:
    """The scores of all rows."""
    packed = np.concatenate([postings for postings, _ in terms])
    idf = np.repeat([value for _, value in terms], [len(postings) for postings, _ in terms])
    rows = rows_of(packed)
    gains = corpus.gains(idf, rows, counts_of(packed))
    return np.bincount(rows, weights=gains, minlength=len(corpus.lengths)).astype(np.float64, copy=False)


def _looked_up(packed: Packed, idf: float, rows: Rows, corpus: Corpus) -> Floats:
    """What a term adds to the scores of rows; 0 where it is not found."""
    places, counts = found_at(packed, rows)
    gains = np.zeros(len(rows))
    gains[places] = corpus.gains(idf, rows[places], counts)
    return gains


def _possible(terms: Sequence[Weighed], corpus: Corpus, visible: NDArray[np.bool_], count: int) -> Rows:
    """Rows that can be among the best, without going through the postings of every common term.

    The terms that can add most go first. Once `count` facts have more than all other terms together could
    give to one that has none yet, only facts seen so far are followed, and those dropped that are too far
    behind to come among the best (known as MaxScore).
    """
    bounded = ((corpus.most(idf, packed), packed, idf) for packed, idf in terms)
    order = sorted(bounded, key=lambda term: -term[0])
    rest = _sums_behind([most for most, _, _ in order])
    sums = np.zeros(len(visible), np.float32)
    least = 0.0
    for done, (_, packed, idf) in enumerate(order):
        least = max(least, _added(sums, packed, idf, corpus, visible, count))
        if least > rest[done]:
            break
    rows = np.flatnonzero(sums >= np.float32(max(least - rest[done], _SMALLEST)))
    rows = rows[visible[rows]]
    scores = sums[rows].astype(np.float64)
    for after, (_, packed, idf) in enumerate(order[done + 1 :], done + 1):
        scores = scores + _looked_up(packed, idf, rows, corpus)
        least = max(least, _least(scores, count))
        kept = scores >= least - rest[after]
        rows, scores = rows[kept], scores[kept]
    return rows


def _added(
    sums: NDArray[np.float32],
    packed: Packed,
    idf: float,
    corpus: Corpus,
    visible: NDArray[np.bool_],
    count: int,
) -> float:
    """Add what a term gives to all that hold it; what the best of these have at least."""
    reached = np.empty(len(packed), np.float32)
    for begin in range(0, len(packed), _CHUNK):
        some = slice(begin, begin + _CHUNK)
        rows = rows_of(packed[some])
        here = sums[rows] + corpus.gains(idf, rows, counts_of(packed[some]))
        sums[rows] = here
        reached[some] = here * visible[rows]
    return _least(reached, count)


def _sums_behind(values: Sequence[float]) -> list[float]:
    """Of each the sum of all that come after it."""
    sums: list[float] = np.cumsum([0.0, *values[::-1]]).tolist()[-2::-1]
    return sums


def _least(scores: NDArray[Any], count: int) -> float:
    """A little less than what each of the `count` best has at least."""
    return max(edge(scores, count) * (1 - _SLACK) - _SLACK, 0.0)
