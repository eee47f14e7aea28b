"""Hops from the best episodes to those that name the same thing."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Protocol

import numpy as np

from kgsvc.search.index.episodes import EpisodeIndex
from kgsvc.search.index.group import GroupTexts
from kgsvc.search.index.text_index import Mask
from kgsvc.search.index.topk import Ranked
from kgsvc.search.index.turns import Floats, Rows, distinct
from kgsvc.search.plans import Scope
from kgsvc.search.ranking.evidence import DIGITS, Fit, Parts, fair, in_context
from kgsvc.search.ranking.pool import ScopeQuery
from kgsvc.search.ranking.texts import searched
from kgsvc.search.times import Named, from_times

SEEDS = 5  # best episodes from which each hop goes out
HOP = 0.5  # of a seed's score, for the only other episode that names an entity
_CROWD = 100  # an entity that more episodes name leads nowhere


class Naming(Protocol):
    """Who is named where."""

    def entities(self, row: int) -> Iterable[str]:
        """The entities that an episode names."""

    def naming(self, entity: str) -> Collection[int]:
        """The rows of the episodes that name an entity."""

    def naming_count(self, entity: str) -> int:
        """How many those are."""


def with_hops(
    rows: Rows,
    scores: Floats,
    best: Callable[[Rows, Floats], Mapping[int, float]],
    naming: Naming,
    parts: Parts,
) -> tuple[Rows, Floats]:
    """Rows with their scores, raised by what other episodes lend; `best` picks the SEEDS highest.

    A seed lends each other episode half of its score, divided by how many others name the entity that both
    name: a name that is everywhere says nothing about what belongs together. Of several loans an episode
    keeps the largest, so that many weak links never outweigh a strong one; a long one names more and would
    keep more, so length counts here too (`fair`). The seeds lend one another too.
    Those to whom most was lent lend on of that alone, but never back to the seeds: questions in three hops.
    """
    seeds = best(rows, scores)
    lent = _fairly(_lent(seeds, naming), parts)
    further, amounts = _fairly(_lent(best(*lent), naming), parts)
    others = np.isin(further, list(seeds), invert=True)
    lent = _joined(*lent, further[others], amounts[others], np.maximum)
    return _joined(rows, scores, *lent, np.add)


def _lent(seeds: Mapping[int, float], naming: Naming) -> dict[int, float]:
    loans: list[tuple[float, int, Collection[int]]] = []
    for seed, score in seeds.items():
        for entity in naming.entities(seed):
            others = naming.naming_count(entity) - 1
            if 0 < others < _CROWD:
                loans.append((score * HOP / others, seed, naming.naming(entity)))
    # Of several loans the largest is written last. A seed lends nothing to itself.
    loans.sort(key=itemgetter(0))
    lent: dict[int, float] = {}
    for amount, seed, rows in loans:
        own = lent.get(seed)
        lent.update(dict.fromkeys(rows, amount))
        if own is None:
            lent.pop(seed, None)
        else:
            lent[seed] = own
    return lent


def _fairly(lent: Mapping[int, float], parts: Parts) -> tuple[Rows, Floats]:
    rows = np.fromiter(lent, np.intp, len(lent))
    return rows, fair(np.fromiter(lent.values(), np.float64, len(lent)), parts(rows))


def _joined(rows: Rows, scores: Floats, more: Rows, amounts: Floats, by: np.ufunc) -> tuple[Rows, Floats]:
    """Both together, ascending; what stands in both `by` its scores in both. No score is below 0."""
    every = distinct(np.concatenate((rows, more)))
    joined = np.zeros(len(every))
    joined[np.searchsorted(every, rows)] = scores
    at = np.searchsorted(every, more)
    joined[at] = by(joined[at], amounts)
    return every, joined


@dataclass(frozen=True, slots=True)
class Fitting:
    """How the episodes of a group fit, by uuid."""

    words: Mapping[str, float]
    fact_words: Mapping[str, float]
    meaning: Mapping[str, float]


def best_told(told_in: Sequence[Sequence[str]], scores: Floats) -> dict[str, float]:
    """Of each episode the score of the best fact that it tells; facts come best first."""
    last_first = zip(reversed(told_in), reversed(scores.tolist()), strict=True)
    return {episode: score for told, score in last_first for episode in told}


def weighed(
    texts: GroupTexts, asked: ScopeQuery, fitting: Fitting, named: Sequence[Named]
) -> dict[str, float]:
    """The best episodes of a group with their scores, best first."""
    index, (_, seen) = texts.episodes, searched(texts, asked)
    known = index.dated(asked.filters.as_of)  # later ones lend nothing to what was known then
    times = index.times()

    def in_time(rows: Rows) -> Mask:
        return from_times(named, times[rows], int(times.max()) if len(times) else 0)

    def seeds(rows: Rows, scores: Floats) -> dict[int, float]:
        best = _best(index, rows, scores, SEEDS)
        return {row: float(scores[rows == row][0]) for _, _, row in best}

    # Chunks among chunks are cut to one length: what it brings is the same for all but the last.
    parts = _alike if asked.plan.scope is Scope.CHUNKS else index.parts
    fit = _fit(index, known, fitting, parts, in_time if named else None)
    rows, scores = in_context(fit, index.turns())
    kept = seen[rows]
    rows, scores = with_hops(rows[kept], scores[kept], seeds, index, parts)
    kept = seen[rows]
    best = _best(index, rows[kept], scores[kept], asked.candidates)
    return {uuid: -low for low, uuid, _ in best}


def _alike(rows: Rows) -> Floats:
    return np.ones(len(rows))


def _fit(
    index: EpisodeIndex,
    known: Mask,
    fitting: Fitting,
    parts: Parts,
    in_time: Callable[[Rows], Mask] | None,
) -> Fit:
    kinds = (fitting.words, fitting.fact_words, fitting.meaning)
    placed = [_by_row(index, known, scores) for scores in kinds]
    rows = distinct(np.concatenate([there for there, _ in placed]))
    words, fact_words, meaning = (_spread(rows, there, scores) for there, scores in placed)
    return Fit(rows, words, fact_words, meaning, index.standing(rows), parts, in_time)


def _by_row(index: EpisodeIndex, known: Mask, scores: Mapping[str, float]) -> tuple[Rows, Floats]:
    """The rows of those that are there and were known, and their scores."""
    rows, values = index.rows_of(scores), np.fromiter(scores.values(), np.float64, len(scores))
    there = np.flatnonzero(rows >= 0)
    there = there[known[rows[there]]]
    return rows[there], values[there]


def _spread(rows: Rows, there: Rows, scores: Floats) -> Floats:
    """Scores of some of `rows`, which ascend, for all of them; 0 for the others."""
    values = np.zeros(len(rows))
    values[np.searchsorted(rows, there)] = scores
    return values


def _best(index: EpisodeIndex, rows: Rows, scores: Floats, count: int) -> list[Ranked]:
    """The `count` best of those with a score above 0."""
    some = scores > 0
    return index.best(rows[some], np.round(scores[some], DIGITS), count)
