"""Hops from the best episodes to those that name the same thing."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Protocol

import numpy as np

from kgsvc.retrieval.evidence_turns import Floats, Rows, distinct

SEEDS = 5  # best episodes from which each hop goes out
HOP = 0.5  # of a seed's score, for the only other episode that names an entity
_CROWD = 100  # an entity that more episodes name leads nowhere


class Naming(Protocol):
    """Who is named where."""

    def entities(self, row: int) -> Iterable[str]:
        """The entities that an episode names."""

    def naming(self, entity: str) -> Collection[int]:
        """The rows of the episodes that name an entity."""


def with_hops(
    rows: Rows, scores: Floats, best: Callable[[Rows, Floats], Mapping[int, float]], naming: Naming
) -> tuple[Rows, Floats]:
    """Rows with their scores, raised by what other episodes lend; `best` picks the SEEDS highest.

    A seed lends each other episode half of its score, divided by how many others name the entity that both
    name: a name that is everywhere says nothing about what belongs together. Of several loans an episode
    keeps the largest, so that many weak links never outweigh a strong one. The seeds lend one another too.
    Those to whom most was lent lend on of that alone, but never back to the seeds: questions in three hops.
    """
    seeds = best(rows, scores)
    lent = _lent(seeds, naming)
    further = _lent(best(*_columns(lent)), naming)
    for row, amount in further.items():
        if row not in seeds and amount > lent.get(row, 0.0):
            lent[row] = amount
    return _added(rows, scores, *_columns(lent))


def _lent(seeds: Mapping[int, float], naming: Naming) -> dict[int, float]:
    lent: dict[int, float] = {}
    for seed, score in seeds.items():
        for entity in naming.entities(seed):
            rows = naming.naming(entity)
            if 1 < len(rows) <= _CROWD:
                amount = score * HOP / (len(rows) - 1)
                for row in rows:
                    if row != seed and lent.get(row, 0.0) < amount:
                        lent[row] = amount
    return lent


def _columns(scores: Mapping[int, float]) -> tuple[Rows, Floats]:
    return np.array(list(scores), np.intp), np.array(list(scores.values()), np.float64)


def _added(rows: Rows, scores: Floats, more: Rows, amounts: Floats) -> tuple[Rows, Floats]:
    """Amounts added to the scores of rows, or put beside them."""
    every = distinct(np.concatenate((rows, more)))
    sums = np.zeros(len(every))
    sums[np.searchsorted(every, rows)] = scores
    sums[np.searchsorted(every, more)] += amounts
    return every, sums
