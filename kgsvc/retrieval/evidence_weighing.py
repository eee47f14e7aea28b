"""Weighing the episodes of one group: how they fit, what lies around them, what they lend each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kgsvc.retrieval.episode_index import EpisodeIndex
from kgsvc.retrieval.evidence import DIGITS, Fit, in_context
from kgsvc.retrieval.evidence_hops import SEEDS, with_hops
from kgsvc.retrieval.evidence_times import Named, from_times
from kgsvc.retrieval.evidence_turns import Floats, Rows, distinct
from kgsvc.retrieval.group_texts import GroupTexts
from kgsvc.retrieval.pool import Asked
from kgsvc.retrieval.text_index import Mask
from kgsvc.retrieval.text_scopes import searched
from kgsvc.retrieval.topk import Ranked


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


def weighed(texts: GroupTexts, asked: Asked, fitting: Fitting, named: Sequence[Named]) -> dict[str, float]:
    """The best episodes of a group with their scores, best first."""
    index, (_, seen) = texts.episodes, searched(texts, asked)
    known = index.dated(asked.filters.as_of)  # later ones lend nothing to what was known then
    times = index.times()

    def in_time(rows: Rows) -> Mask:
        return from_times(named, times[rows], int(times.max()))

    def seeds(rows: Rows, scores: Floats) -> dict[int, float]:
        best = _best(index, rows, scores, SEEDS)
        return {row: float(scores[rows == row][0]) for _, _, row in best}

    rows, scores = in_context(_fit(index, known, fitting, in_time if named else None), index.turns())
    kept = seen[rows]
    rows, scores = with_hops(rows[kept], scores[kept], seeds, index)
    kept = seen[rows]
    best = _best(index, rows[kept], scores[kept], asked.candidates)
    return {uuid: -low for low, uuid, _ in best}


def _fit(index: EpisodeIndex, known: Mask, fitting: Fitting, in_time: Callable[[Rows], Mask] | None) -> Fit:
    kinds = (fitting.words, fitting.fact_words, fitting.meaning)
    placed = [_by_row(index, known, scores) for scores in kinds]
    rows = distinct(np.concatenate([there for there, _ in placed]))
    words, fact_words, meaning = (_spread(rows, there, scores) for there, scores in placed)
    return Fit(rows, words, fact_words, meaning, in_time)


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
