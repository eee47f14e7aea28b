"""Scores of facts from those of the episodes that tell them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kgsvc.retrieval.fusion import Key

EPISODE = 3.0  # what the best episode counts beside 1 for the fact that fits best by itself
_NONE: Key = ("", "")


def fact_scores(
    own: Mapping[Key, float], told_in: Mapping[Key, Sequence[str]], episodes: Mapping[Key, float]
) -> dict[Key, float]:
    """A score for each fact in `own`.

    `own` is how each fits by itself, `told_in` names the episodes of its group that tell it, `episodes` are
    their scores; none is below 0. A fact follows the best of its episodes. Of those that follow the same one,
    the second gets half of its score, the third a third: ten facts tell of many episodes, not of one.
    """
    best_own = max(own.values(), default=0.0) or 1.0
    best_episode = max(episodes.values(), default=0.0) or 1.0
    followers: dict[Key, int] = {}
    scores: dict[Key, float] = {}
    for low, fact in sorted((-fits, fact) for fact, fits in own.items()):
        episode = _best([(uuid, fact[1]) for uuid in told_in[fact]], episodes)
        followers[episode] = followers.get(episode, 0) + 1
        lent = EPISODE * episodes.get(episode, 0.0) / best_episode / followers[episode]
        scores[fact] = lent - low / best_own
    return scores


def _best(told_in: Sequence[Key], episodes: Mapping[Key, float]) -> Key:
    """The best of some episodes; ties by uuid."""
    if len(told_in) == 1:
        return told_in[0]
    return min(told_in, key=lambda key: (-episodes.get(key, 0.0), key), default=_NONE)
