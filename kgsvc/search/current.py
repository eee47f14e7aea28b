"""Which facts hold now: kept, since it changes with few facts and few moments."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kgsvc.search.columns import Column

NEVER = 2**63 - 1  # the end of an open interval
Mask = NDArray[np.bool_]
Times = NDArray[np.int64]


@dataclass(slots=True)
class _Span:
    """While nothing begins or ends: from `since` to before `until`. `at` lies in it."""

    since: int
    at: int
    until: int

    def narrow(self, time: int) -> None:
        """Something begins or ends at a time."""
        if time <= self.at:
            self.since = max(self.since, time)
        else:
            self.until = min(self.until, time)


class Current:
    """By row, whether a fact that is not expired holds at a time; that of the last look is kept."""

    def __init__(self) -> None:
        self._holds = Column(np.bool_)
        self._span: _Span | None = None  # None: no time has been looked at

    def reserve(self, rows: int) -> None:
        """Make room for `rows` rows; new ones do not hold."""
        self._holds.reserve(rows)

    def put(self, row: int, start: int, invalid: int, expired: bool) -> None:
        """Set a row."""
        if self._span is not None:
            self._holds.data[row] = not expired and start <= self._span.at < invalid
            self._span.narrow(start)
            self._span.narrow(invalid)

    def clear(self, row: int) -> None:
        """Free a row."""
        self._holds.data[row] = False

    def kept(self, rows: int, now_ms: int) -> Mask | None:
        """Which of the first `rows` rows hold at a time, if that is the same as at the last look."""
        span = self._span
        if span is None or not span.since <= now_ms < span.until:
            return None
        holds: Mask = self._holds.data[:rows].copy()
        return holds

    def look(self, start: Times, invalid: Times, expired: Mask, now_ms: int) -> Mask:
        """Which of all rows hold at a time."""
        holds: Mask = (start <= now_ms) & (now_ms < invalid) & ~expired
        self._holds.data[: len(holds)] = holds
        self._span = _Span(-NEVER, now_ms, NEVER)
        for times in (start, invalid):
            past = times <= now_ms
            self._span.narrow(int(times.max(where=past, initial=-NEVER)))
            self._span.narrow(int(times.min(where=~past, initial=NEVER)))
        return holds

    @property
    def nbytes(self) -> int:
        """Memory held."""
        return self._holds.nbytes
