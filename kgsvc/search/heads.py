"""The records of groups, which every search begins with: one read of the store for all that wait for one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Collection
from typing import TypeVar

from kgsvc.domain.errors import StoreUnavailable
from kgsvc.domain.model.delta import GroupHead
from kgsvc.stores.search_protocol import SearchStore

_SHARED_GROUPS = 1_000  # of one read; who asks beyond that reads alone

Heads = dict[str, GroupHead]
T = TypeVar("T")


async def in_time(reading: Awaitable[T], timeout_s: float) -> T:
    """What a store answers. Raises StoreUnavailable when it takes longer."""
    try:
        async with asyncio.timeout(timeout_s):
            return await reading
    except TimeoutError as error:
        raise StoreUnavailable("the store did not answer in time") from error


class GroupHeads:
    """Reads one after the other. Who comes while one is under way shares the next.

    A read begins after everybody who shares it has asked: each sees what was committed before its call.
    """

    def __init__(self, store: SearchStore, timeout_s: float) -> None:
        self._store = store
        self._timeout_s = timeout_s
        self._last: asyncio.Task[Heads] | None = None  # begun, or waiting for the one before
        self._wanted: set[str] | None = None  # of the one that waits

    async def of(self, group_ids: Collection[str]) -> Heads:
        """The records of those groups that there are. Raises StoreUnavailable, also when it takes longer than
        the timeout."""
        if not group_ids:
            return {}
        return await in_time(asyncio.shield(self._joined(group_ids)), self._timeout_s)

    async def close(self) -> None:
        """Wait for the read under way, as long as one may take."""
        if self._last is not None:
            await asyncio.wait([self._last], timeout=self._timeout_s)

    def _joined(self, group_ids: Collection[str]) -> asyncio.Task[Heads]:
        """The next read to begin, with these groups among its own."""
        if self._wanted is None or self._last is None or len(self._wanted) >= _SHARED_GROUPS:
            self._wanted = set()
            self._last = asyncio.create_task(self._read(self._wanted, self._last))
            self._last.add_done_callback(_seen)
        self._wanted.update(group_ids)
        return self._last

    async def _read(self, wanted: set[str], before: asyncio.Task[Heads] | None) -> Heads:
        if before is not None and not before.done():
            await asyncio.wait([before])
        if self._wanted is wanted:
            self._wanted = None
        async with asyncio.timeout(self._timeout_s):
            return await self._store.heads(sorted(wanted))


def _seen(read: asyncio.Task[Heads]) -> None:
    if not read.cancelled():
        read.exception()  # everybody who waited may have gone
