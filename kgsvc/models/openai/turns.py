"""Places for calls of a model server, shared out by group: no backlog holds another group's call up."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

_Place = asyncio.Future[None]


class FairTurns:
    """So many calls at a time. A free place goes to the waiting group with the fewest calls under way, to
    each of several in turn; within a group the first come is served first."""

    def __init__(self, most: int) -> None:
        self._free = most  # none while anybody waits
        self._running: Counter[str] = Counter()
        self._waiting: dict[str, deque[_Place]] = {}  # the group that was served last comes last

    @asynccontextmanager
    async def turn(self, group_id: str) -> AsyncIterator[None]:
        """A place, as soon as it is the group's turn."""
        await self._take(group_id)
        try:
            yield
        finally:
            self._give(group_id)

    async def _take(self, group_id: str) -> None:
        if self._free:
            self._free -= 1
            self._running[group_id] += 1
            return
        place: _Place = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(group_id, deque()).append(place)
        try:
            await place
        except asyncio.CancelledError:
            if not place.cancelled():  # it was given the place in the same moment
                self._give(group_id)
            raise

    def _give(self, group_id: str) -> None:
        self._running[group_id] -= 1
        if not self._running[group_id]:
            del self._running[group_id]
        self._free += 1
        while self._free and self._waiting:
            self._serve(min(self._waiting, key=self._running.__getitem__))

    def _serve(self, group_id: str) -> None:
        """Give the group's first who still waits a place."""
        places = self._waiting.pop(group_id)
        while places:
            place = places.popleft()
            if not place.cancelled():
                self._free -= 1
                self._running[group_id] += 1
                place.set_result(None)
                break
        if places:
            self._waiting[group_id] = places
