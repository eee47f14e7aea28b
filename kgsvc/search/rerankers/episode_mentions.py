"""By the number of episodes (spec 002)."""

from __future__ import annotations

from kgsvc.search.pool import Asked, Found, Scores


def scores(found: Found, _asked: Asked) -> Scores:
    """How many episodes tell a fact or name an entity."""
    return {key: float(found.mentions.get(key, 0)) for key in found.candidates()}
