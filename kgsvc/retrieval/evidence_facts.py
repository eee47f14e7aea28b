"""Scores of facts from those of the episodes that tell them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kgsvc.retrieval.evidence_turns import Floats, Rows

EPISODE = 3.0  # what the best episode counts beside 1 for the fact that fits best by itself
NOBODY = -1


def fact_scores(own: Floats, order: Rows, follows: Rows, episodes: Floats) -> Floats:
    """A score for each fact.

    `own` is how each fits by itself, `order` names them best first, `follows` the best of its episodes by its
    place in `episodes`, which are their scores (or NOBODY); none is below 0. A fact follows the best of its
    episodes. Of those that follow the same one, the second gets half of its score, the third a third: ten
    facts tell of many episodes, not of one.
    """
    best_own = own.max(initial=0.0) or 1.0
    best_episode = episodes.max(initial=0.0) or 1.0
    scored = np.append(episodes, 0.0)[follows]  # NOBODY is the last
    lent = EPISODE * scored / best_episode / _turn(order, follows)
    scores: Floats = lent + own / best_own
    return scores


def _turn(order: Rows, follows: Rows) -> NDArray[np.int64]:
    """The how manieth each is, from 1, of those that follow the same."""
    grouped = np.argsort(follows[order], kind="stable")
    followed = follows[order][grouped]
    begins = np.flatnonzero(np.append(True, followed[1:] != followed[:-1])[: len(order)])
    lengths = np.diff(np.append(begins, len(order)))
    turn = np.empty(len(order), np.int64)
    turn[order[grouped]] = np.arange(len(order)) - np.repeat(begins, lengths) + 1
    return turn
