"""By the episodes that bear on the question (kgsvc.search.evidence)."""

from __future__ import annotations

from kgsvc.search.pool import Asked, Found, Scores


def scores(found: Found, asked: Asked) -> Scores:
    """What the search found out already: it takes all indexes of the groups."""
    return found.evidence
