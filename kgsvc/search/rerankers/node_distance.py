"""By steps from the center (spec 002)."""

from __future__ import annotations

from kgsvc.search.pool import Asked, Found, Scores


def scores(found: Found, _asked: Asked) -> Scores:
    """1 / (1 + steps), 0 for what is not within five."""
    return {
        key: 1.0 / (1 + found.distances[key]) if key in found.distances else 0.0 for key in found.candidates()
    }
