"""Conversations: which messages follow one another, and what they lend each other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

SHARE = (
    0.3  # of a message's score that goes to the one before and the one after; its square to the next but one
)
PAUSE_MS = 3_600_000  # a longer one ends a conversation


@dataclass(frozen=True, slots=True)
class Turns:
    """The messages of a group in order, as rows, and which of them follow the one before without a pause.

    Episodes that are no messages are in no conversation: documents do not answer their neighbours.
    """

    rows: NDArray[np.intp]
    follows: NDArray[np.bool_]

    def spread(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Scores by row, with what neighbours lend: 0.3 of the next ones', 0.09 of those behind them."""
        own = scores[self.rows]
        lent = own.copy()
        one = self.follows[1:]
        for steps, linked in ((1, one), (2, one[1:] & one[:-1])):
            lent[steps:] += SHARE**steps * own[:-steps] * linked
            lent[:-steps] += SHARE**steps * own[steps:] * linked
        spread = scores.copy()
        spread[self.rows] = lent
        return spread


def turns_of(rows: NDArray[np.intp], times_ms: NDArray[np.int64]) -> Turns:
    """The conversations of a group.

    `rows` are its messages by (reference time, uuid), `times_ms` their reference times.
    """
    follows = np.zeros(len(rows), np.bool_)
    follows[1:] = np.diff(times_ms) <= PAUSE_MS
    return Turns(rows, follows)
