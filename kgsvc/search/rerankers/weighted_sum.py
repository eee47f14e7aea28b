"""Scaled scores of the methods, added up."""

from __future__ import annotations

from kgsvc.search.pool import Asked, Found, Scores


def scores(found: Found, asked: Asked) -> Scores:
    """Σ weight · score / best score over the methods."""
    sums: Scores = {}
    for method, ranked in found.lists.items():
        weight = asked.plan.weight(method)
        for low, key in ranked:
            sums[key] = sums.get(key, 0.0) + weight * (low / ranked[0][0])
    return {key: round(score, 12) for key, score in sums.items()}
