"""One hop from the best episodes to those that name the same thing."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

SEEDS = 5  # best episodes from which a hop goes out
HOP = 0.5  # of a seed's score, for the only other episode that names an entity
_CROWD = 100  # an entity that more episodes name leads nowhere


class Naming(Protocol):
    """Who is named where."""

    def entities(self, row: int) -> Iterable[str]:
        """The entities that an episode names."""

    def naming(self, entity: str) -> Collection[int]:
        """The rows of the episodes that name an entity."""


def with_hops(scores: NDArray[np.float64], seeds: Sequence[int], naming: Naming) -> NDArray[np.float64]:
    """Scores by row, raised by what the seeds lend.

    A seed lends each other episode half of its score, divided by how many others name the entity that both
    name: a name that is everywhere says nothing about what belongs together. Of several loans an episode
    keeps the largest, so that many weak links never outweigh a strong one. The seeds lend one another too.
    """
    lent = np.zeros(len(scores))
    for seed in seeds:
        for entity in naming.entities(seed):
            rows = naming.naming(entity)
            if 1 < len(rows) <= _CROWD:
                others = [row for row in rows if row != seed]
                lent[others] = np.maximum(lent[others], scores[seed] * HOP / len(others))
    return scores + lent
