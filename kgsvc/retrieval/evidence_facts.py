"""Scores of facts from those of the episodes that tell them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from kgsvc.retrieval.fusion import Key

EPISODE = 3.0  # what the best episode counts beside 1 for the fact that fits best by itself


def fact_scores(
    own: Mapping[Key, float], told_in: Mapping[Key, Sequence[Key]], episodes: Mapping[Key, float]
) -> dict[Key, float]:
    """A score for each fact in `own`.

    `own` is how each fits by itself, `told_in` names its episodes, `episodes` are their scores; none is below
    0. A fact follows the best of its episodes. Of those that follow the same one, the second has half of its
    score, the third a third: ten facts tell of many episodes, not ten times of one.
    """
    best_own = max(own.values(), default=0.0) or 1.0
    best_episode = max(episodes.values(), default=0.0) or 1.0
    followers: Counter[Key] = Counter()
    scores: dict[Key, float] = {}
    for fact in sorted(own, key=lambda fact: (-own[fact], fact)):
        low, episode = _best(told_in[fact], episodes)
        followers[episode] += 1
        scores[fact] = own[fact] / best_own - EPISODE * low / best_episode / followers[episode]
    return scores


def _best(told_in: Iterable[Key], episodes: Mapping[Key, float]) -> tuple[float, Key]:
    """Minus the score of the best episode, and which; ties by uuid. No episode has 0."""
    return min(((-episodes.get(key, 0.0), key) for key in told_in), default=(0.0, ("", "")))
