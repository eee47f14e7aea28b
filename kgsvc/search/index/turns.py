"""Conversations: which messages follow one another, and what they lend each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

SHARE = (
    0.3  # of a message's score that goes to the one before and the one after; its square to the next but one
)
_REACH = 2  # messages before and after
PAUSE_MS = 3_600_000  # a longer one ends a conversation

Rows = NDArray[np.intp]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class MessageTurns:
    """The messages of a group in order, as rows, and which of them follow the one before without a pause.

    Episodes that are no messages are in no conversation: documents do not answer their neighbours.
    """

    rows: Rows
    follows: NDArray[np.bool_]
    place: Rows  # of a row in `rows`, by row; -1: it is no message

    def spread(self, rows: Rows, scores: Floats) -> tuple[Rows, Floats]:
        """Scores of rows and their neighbours, with what these lend: 0.3 of the next ones', 0.09 of those
        behind them. Rows not given score 0; what comes back has each row once, in any order."""
        places = self._places(rows)
        alone = places < 0
        if alone.all():
            return rows, scores
        own = _Sparse.of(places[~alone], scores[~alone], len(self.rows))
        here = own.places
        lent = own.at(here)
        for steps in range(1, _REACH + 1):
            lent += SHARE**steps * own.at(here - steps) * self._linked(here - steps, steps)
            lent += SHARE**steps * own.at(here + steps) * self._linked(here, steps)
        return np.concatenate((rows[alone], self.rows[here])), np.concatenate((scores[alone], lent))

    def _places(self, rows: Rows) -> Rows:
        """Where in the order rows are; -1: they are no messages."""
        if not len(self.rows):
            return np.full(len(rows), -1, np.intp)
        return np.where(rows < len(self.place), self.place[np.minimum(rows, len(self.place) - 1)], -1)

    def _linked(self, first: Rows, steps: int) -> NDArray[np.bool_]:
        """Whether as many messages follow the first ones without a pause; where there are none, anything."""
        linked = np.take(self.follows, first + 1, mode="clip")
        for step in range(2, steps + 1):
            linked &= np.take(self.follows, first + step, mode="clip")
        return linked


class _Sparse(NamedTuple):
    """Values at some places, ascending; 0 elsewhere."""

    places: Rows
    values: Floats

    @classmethod
    def of(cls, places: Rows, values: Floats, most: int) -> _Sparse:
        """With the places around those given, from 0 to below `most`."""
        around = distinct((places[:, None] + np.arange(-_REACH, _REACH + 1)).ravel())
        around = around[(around >= 0) & (around < most)]
        spread = np.zeros(len(around))
        spread[np.searchsorted(around, places)] = values
        return cls(around, spread)

    def at(self, places: Rows) -> Floats:
        """The values at some places."""
        found = np.minimum(np.searchsorted(self.places, places), len(self.places) - 1)
        return np.where(self.places[found] == places, self.values[found], 0.0)


def distinct(rows: Rows) -> Rows:
    """Each once, ascending; for some hundreds np.unique takes a hundred times as long."""
    ordered = np.sort(rows)
    once: Rows = ordered[np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)]]
    return once


def turns_of(rows: NDArray[np.intp], times_ms: NDArray[np.int64]) -> MessageTurns:
    """The conversations of a group.

    `rows` are its messages by (reference time, uuid), `times_ms` their reference times.
    """
    follows = np.zeros(len(rows), np.bool_)
    follows[1:] = np.diff(times_ms) <= PAUSE_MS
    place = np.full(int(rows.max(initial=-1)) + 1, -1, np.intp)
    place[rows] = np.arange(len(rows))
    return MessageTurns(rows, follows, place)
