"""Hops from the best episodes to those that name the same thing."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

SEEDS = 5  # best episodes from which each hop goes out
HOP = 0.5  # of a seed's score, for the only other episode that names an entity
_CROWD = 100  # an entity that more episodes name leads nowhere


class Naming(Protocol):
    """Who is named where."""

    def entities(self, row: int) -> Iterable[str]:
        """The entities that an episode names."""

    def naming(self, entity: str) -> Collection[int]:
        """The rows of the episodes that name an entity."""


def with_hops(scores: Floats, best: Callable[[Floats], Iterable[int]], naming: Naming) -> Floats:
    """Scores by row, raised by what other episodes lend; `best` picks the rows of the SEEDS highest.

    A seed lends each other episode half of its score, divided by how many others name the entity that both
    name: a name that is everywhere says nothing about what belongs together. Of several loans an episode
    keeps the largest, so that many weak links never outweigh a strong one. The seeds lend one another too.
    Those to whom most was lent lend on of that alone, but never back to the seeds: questions in three hops.
    """
    seeds = list(best(scores))
    lent = _lent(scores, seeds, naming)
    further = _lent(lent, best(lent), naming)
    further[seeds] = 0.0
    return scores + np.maximum(lent, further)


def _lent(scores: Floats, seeds: Iterable[int], naming: Naming) -> Floats:
    lent = np.zeros(len(scores))
    for seed in seeds:
        for entity in naming.entities(seed):
            rows = naming.naming(entity)
            if 1 < len(rows) <= _CROWD:
                others = [row for row in rows if row != seed]
                lent[others] = np.maximum(lent[others], scores[seed] * HOP / len(others))
    return lent
