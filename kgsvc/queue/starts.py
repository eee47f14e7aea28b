"""Who may begin in this process. What has crashed a process before runs beside nothing else (design §4).

A crash counts against every suspect that was begun. So that one killer cannot use up the attempts of others,
nobody begins anything while an item runs that was a suspect when a process died, and that item waits for
what is under way.
"""

from __future__ import annotations

import asyncio


class Starts:
    """Shared by the runners of a process. Used on one event loop; only `begin` and `alone` wait."""

    def __init__(self) -> None:
        self._running = 0
        self._starting = False
        self._exclusive = False
        self._changed = asyncio.Event()

    async def begin(self, *, may_wait: bool) -> bool:
        """Take the turn to start items. A caller with batches under way (`may_wait` False) is told False, at
        once, while somebody waits for these to end."""
        while self._starting or self._exclusive:
            if self._exclusive and not may_wait:
                return False
            await self._changed.wait()
        self._starting = True
        return True

    def started(self, *, alone: bool) -> None:
        """A batch has begun and ends the turn; `alone`: nothing else may begin until it has ended."""
        self._running += 1
        self._exclusive = alone
        self._end_turn()

    def found_nothing(self) -> None:
        """The turn ends without a batch."""
        self._end_turn()

    async def alone(self) -> None:
        """Wait until the batch that has begun last is the only one."""
        while self._running > 1:
            await self._changed.wait()

    def ended(self, *, alone: bool) -> None:
        """A batch is committed, failed or given up."""
        self._running -= 1
        if alone:
            self._exclusive = False
        self._tell()

    def _end_turn(self) -> None:
        self._starting = False
        self._tell()

    def _tell(self) -> None:
        told, self._changed = self._changed, asyncio.Event()
        told.set()
