"""BM25 over one group's facts.

score(fact) = Σ over query terms  weight · idf · f·(k1+1) / (f + k1·(1 - b + b·length/mean length)),
idf = ln(1 + (N - n + 0.5) / (n + 0.5)), with f the term's count in the fact, n the facts that hold it and N
all facts of the group: expired and closed ones too, so that the statistics do not move with the clock.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from kgsvc.retrieval.postings import Packed, counts_of, rows_of

K1 = 1.2  # how fast repetitions of a term stop counting
B = 0.4  # how much long facts are held back, 0 to 1; facts are short, and 0.75 did worse in trials


def bm25(
    matches: Iterable[tuple[Packed, float]], lengths: NDArray[np.uint32], facts: int, total_length: int
) -> NDArray[np.float64]:
    """Scores by row for the postings and the weight of each query term.

    `lengths` holds the terms of each row, `facts` and `total_length` describe the whole group. Sums run in
    the order of the terms, so a fact's score does not depend on its row.
    """
    found = [(packed, weight * _idf(len(packed), facts)) for packed, weight in matches if len(packed)]
    if not found:
        return np.zeros(len(lengths))
    packed = np.concatenate([postings for postings, _ in found])
    idf = np.repeat([value for _, value in found], [len(postings) for postings, _ in found])
    rows, counts = rows_of(packed), counts_of(packed)
    damping = K1 * (1 - B + B * lengths[rows] * (facts / total_length))
    gains = idf * counts * (K1 + 1) / (counts + damping)
    return np.bincount(rows, weights=gains, minlength=len(lengths)).astype(np.float64, copy=False)


def _idf(holding: int, facts: int) -> float:
    return math.log(1 + (facts - holding + 0.5) / (holding + 0.5))
