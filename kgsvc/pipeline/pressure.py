"""When the worker steps back for callers who queue up to have items accepted, in the same process."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_CROWD = 8  # items in one commit; smaller ones come from callers that do not queue up
_QUIET_S = 0.1
_PATIENCE_S = 0.25  # in a storm without end a batch still gets its turn this often
_ITEMS_A_TURN = 64  # a micro-batch
_TURN_S = 0.1
_LOOK_S = 0.02


class IntakePressure:
    """Whether callers queue up to have items accepted. The worker of the same process then steps back: an
    accepted item can wait for the graph, its sender should not wait for the acknowledgement."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._crowded_s = float("-inf")
        self._crowds = 0
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()
        self._opening: asyncio.Task[None] | None = None
        self._left = 0  # items that may pass in the present turn
        self._ends_s = float("-inf")  # the present turn: what comes at once passes at once

    @contextmanager
    def accepting(self, items: int) -> Iterator[None]:
        """Around a commit that accepts so many items."""
        crowd = items >= _CROWD
        self._crowds += crowd
        try:
            yield
        finally:
            self._crowds -= crowd
            if crowd:
                self._crowded_s = self._monotonic()

    def _is_quiet(self) -> bool:
        return not self._crowds and self._monotonic() - self._crowded_s >= _QUIET_S

    async def lull(self, items: int) -> None:
        """Before so many items are worked on: return when nobody queues, or after 0.25 s. Who waits here goes
        in order, so many items at a time, of however many groups; those of one turn go together, so that they
        share what they read."""
        if not self._waiting and self._passes(items):
            return
        place = asyncio.get_running_loop().create_future()
        self._waiting.append((items, place))
        if len(self._waiting) == 1:
            self._opening = asyncio.create_task(self._open())
        await place

    def _passes(self, items: int) -> bool:
        if self._is_quiet():
            return True
        if items > self._left or self._monotonic() >= self._ends_s:
            return False
        self._left -= items
        return True

    async def _open(self) -> None:
        """Let those who wait pass, turn by turn."""
        while self._waiting:
            await self._wait()
            items, _ = self._waiting[0]
            self._left, self._ends_s = max(_ITEMS_A_TURN, items), self._monotonic() + _TURN_S
            while self._waiting:
                items, place = self._waiting[0]
                if not place.done():  # else its caller was cancelled
                    if not self._passes(items):
                        break
                    place.set_result(None)
                self._waiting.popleft()

    async def _wait(self) -> None:
        until_s = self._monotonic() + _PATIENCE_S
        while self._monotonic() < until_s and not self._is_quiet():  # noqa: ASYNC110 - no signal
            await asyncio.sleep(_LOOK_S)
