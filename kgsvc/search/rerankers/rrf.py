"""Reciprocal rank fusion, k = 60."""

from __future__ import annotations

from kgsvc.search.pool import Asked, Found, Scores


def scores(found: Found, _asked: Asked) -> Scores:
    """Σ 1 / (60 + rank) over the methods, ranks from 1."""
    return {key: round(score, 12) for key, score in found.reciprocal_ranks().items()}
