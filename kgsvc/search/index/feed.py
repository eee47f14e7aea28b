"""What searches read of the store: the records of groups, which every search begins with, and pages of what
changed in a group."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Collection
from types import TracebackType
from typing import Any, NamedTuple, Self, TypeVar

from kgsvc.domain.errors import StoreUnavailable
from kgsvc.domain.model.delta import GroupHead
from kgsvc.runtime import INDEX_CHANGES, INDEX_CHARS
from kgsvc.search.index.facts import GroupIndex
from kgsvc.search.index.group import GroupTexts
from kgsvc.stores.search_protocol import Changes, SearchStore, TextChanges

_SHARED_GROUPS = 1_000  # of one read; who asks beyond that reads alone

Heads = dict[str, GroupHead]
Held = GroupIndex | GroupTexts
Page = Changes | TextChanges  # of what changed in a part
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


def _seen(read: asyncio.Task[Any]) -> None:
    if not read.cancelled():
        read.exception()  # everybody who waited may have gone


class _FeedPlace(NamedTuple):
    """Up to where a part has what the store has."""

    part: type[Held]
    epoch: int
    rev: int
    uuid: str = ""

    @classmethod
    def of(cls, held: Held) -> _FeedPlace:
        return cls(type(held), held.epoch, held.rev, held.uuid if isinstance(held, GroupTexts) else "")

    @classmethod
    def behind(cls, page: Page) -> _FeedPlace:
        if isinstance(page, Changes):
            return cls(GroupIndex, page.head.epoch, page.upto_rev)
        return cls(GroupTexts, page.head.epoch, page.upto_rev, page.upto_uuid)


class Pages:
    """Pages of what changed in a group, the next one read while the last is applied. Leaving the context
    cancels a read that nobody took."""

    def __init__(self, store: SearchStore, timeout_s: float, *, ahead: bool = True) -> None:
        """`ahead`: whether more than one page is wanted."""
        self._store = store
        self._reads_ahead = ahead
        self._timeout_s = timeout_s
        self._ahead: tuple[_FeedPlace, asyncio.Task[Page]] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        await self._drop()

    async def after(self, held: Held, limit: int, head: GroupHead) -> Page:
        """The page that a part of a group needs next on its way to `head`. Raises StoreUnavailable."""
        place = _FeedPlace.of(held)
        if self._ahead is not None and self._ahead[0] != place:
            await self._drop()
        if self._ahead is None:
            page = await self._read(held.group_id, place, limit)
        else:
            page = await self._ahead[1]
            self._ahead = None
        behind = _FeedPlace.behind(page)
        if self._reads_ahead and page.more and (behind.epoch, behind.rev) < (head.epoch, head.rev):
            self._ahead = behind, asyncio.create_task(self._read(held.group_id, behind, limit))
        return page

    async def _read(self, group_id: str, place: _FeedPlace, limit: int) -> Page:
        if place.part is GroupIndex:
            return await in_time(self._store.changes(group_id, place.rev, limit), self._timeout_s)
        texts = self._store.text_changes(group_id, place.rev, limit, after_uuid=place.uuid)
        return await in_time(texts, self._timeout_s)

    async def _drop(self) -> None:
        if self._ahead is not None:
            _, reading = self._ahead
            self._ahead = None
            reading.cancel()
            await asyncio.wait([reading])
            _seen(reading)


def rows_of(page: Page) -> int:
    """How many rows a page changes."""
    if isinstance(page, Changes):
        return len(page.facts) + len(page.removed)
    return len(page.entities) + len(page.episodes) + len(page.removed_entities) + len(page.removed_episodes)


def cost_of(page: Page) -> float:
    """Of applying a page, see `offload`. Bodies are read again when they are removed."""
    if isinstance(page, Changes):
        return (len(page.facts) + len(page.removed)) / INDEX_CHANGES
    if page.removed_episodes:
        return math.inf
    rows = len(page.entities) + len(page.episodes) + len(page.removed_entities) + len(page.communities or ())
    chars = sum(len(indexed.episode.body) for indexed in page.episodes)
    return max(rows / INDEX_CHANGES, chars / INDEX_CHARS)
