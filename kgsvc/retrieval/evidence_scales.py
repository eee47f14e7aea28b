"""Scores of different kinds on one scale, 0 to 1."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_TIPPING = 1e-3  # of a step


def by_best(scores: Floats) -> Floats:
    """Each score as a share of the best: for BM25, where 0 means no common word."""
    top = scores.max(initial=0.0)
    return scores / top if top > 0 else np.zeros(len(scores))


def by_spread(cosines: Floats, floor: float, most: int) -> Floats:
    """The nearest ones between `floor` (0) and the nearest (1).

    Only the nearest `most` count: where there are as many, the last of them is 0, not `floor`. What every
    text of a language shares lifts all cosines of a model, and takes no part in the comparison this way.
    """
    top = cosines.max(initial=floor)
    base = max(floor, float(np.partition(cosines, -most)[-most])) if len(cosines) >= most else floor
    return np.maximum(cosines - base, 0.0) / (top - base) if top > base else np.zeros(len(cosines))


def rounded(values: Floats, digits: int) -> Floats:
    """As `round` rounds each: numpy multiplies first, which can tip what lies near the middle of two."""
    quick = np.round(values, digits)
    steps = values * 10.0**digits
    close = np.flatnonzero(np.abs(steps - np.floor(steps) - 0.5) < _TIPPING)
    quick[close] = [round(value, digits) for value in values[close].tolist()]
    return quick
