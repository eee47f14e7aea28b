"""Maximal marginal relevance (spec 002)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kgsvc.search.pool import Asked, Found, Scores

Floats = NDArray[np.float64]


def scores(found: Found, asked: Asked) -> Scores:
    """λ · cosine to the query - (1 - λ) · largest cosine to what was taken before, of the first `asked.top`.

    What has no vector is like nothing. Of equals the one that ranks higher is taken.
    """
    if asked.vector is None or not found.candidates():
        return {}
    ranks = found.reciprocal_ranks()
    keys = sorted(found.candidates(), key=lambda key: (-round(ranks[key], 12), key))
    none = np.zeros(len(asked.vector))
    rows = np.array([found.vectors.get(key, none) for key in keys], np.float64)
    share = asked.plan.mmr_lambda
    relevance = share * _cosines(rows, asked.vector.astype(np.float64))
    alike = np.zeros(len(keys))
    taken: Scores = {}
    left = np.ones(len(keys), np.bool_)
    while len(taken) < min(asked.top, len(keys)):
        worth = np.where(left, np.round(relevance - (1 - share) * alike, 9), -np.inf)
        best = int(worth.argmax())
        cosines = _cosines(rows, rows[best])
        alike = np.maximum(alike, cosines) if taken else cosines
        taken[keys[best]] = float(worth[best])
        left[best] = False
    return taken


def _cosines(rows: Floats, one: Floats) -> Floats:
    """Row by row: a product by BLAS would depend in its last bits on where a row lies."""
    products: Floats = (rows * one).sum(axis=1)
    return products
