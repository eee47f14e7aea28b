"""Scores of facts from those of the episodes that tell them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

EPISODE = 3.0  # what the best episode counts beside 1 for the fact that fits best by itself


def fact_scores(
    own: Mapping[str, float], told_in: Mapping[str, Sequence[str]], episodes: Mapping[str, float]
) -> dict[str, float]:
    """A score for each fact in `own`, by uuid.

    `own` is how each fits by itself, `told_in` names its episodes, `episodes` are their scores; none is below
    0. A fact follows the best of its episodes. Of those that follow the same one, the second has half of its
    score, the third a third: ten facts tell of many episodes, not ten times of one.
    """
    best_own = max(own.values(), default=0.0) or 1.0
    best_episode = max(episodes.values(), default=0.0) or 1.0
    followers: Counter[str] = Counter()
    scores: dict[str, float] = {}
    for fact in sorted(own, key=lambda fact: (-own[fact], fact)):
        low, episode = _best(told_in[fact], episodes)
        followers[episode] += 1
        scores[fact] = own[fact] / best_own - EPISODE * low / best_episode / followers[episode]
    return scores


def _best(told_in: Iterable[str], episodes: Mapping[str, float]) -> tuple[float, str]:
    """Minus the score of the best episode, and which; ties by uuid. No episode has 0."""
    return min(((-episodes.get(uuid, 0.0), uuid) for uuid in told_in), default=(0.0, ""))
