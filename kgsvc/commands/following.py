"""What changes in the graph of a group, for whoever follows it: pages of what search indexes are fed from."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import NamedTuple

from kgsvc.commands.core import Core, page_token, parts_of
from kgsvc.domain.errors import InvalidArgument, Violation
from kgsvc.domain.model.delta import GroupHead
from kgsvc.domain.model.graph import Fact
from kgsvc.stores.search_protocol import IndexedEntity, IndexedEpisode

_LOOK_S = 0.5  # between two looks at what other processes wrote
_REST_S = 0.05  # between two looks, however much this process writes
_FACTS = _TEXTS = 200  # of a page
_BODY_BYTES = 1024 * 1024  # of a page


class FollowedPlace(NamedTuple):
    """Up to where a follower was told everything."""

    epoch: int
    rev: int

    @property
    def cursor(self) -> str:
        """As callers keep it."""
        return page_token(*self)


def place_of(cursor: str) -> FollowedPlace:
    """Where a cursor stands. Raises InvalidArgument."""
    parts = parts_of(cursor)
    if len(parts) != 2 or not all(type(part) is int and 0 <= part < 2**62 for part in parts):
        problem = "is not a cursor of this operation"
        raise InvalidArgument(f"cursor: {problem}", [Violation("cursor", problem)])
    return FollowedPlace(*parts)


@dataclass(frozen=True, slots=True)
class FollowedChange:
    """What a follower is told, and where to go on before and after it."""

    before: FollowedPlace
    place: FollowedPlace
    reset: bool = False  # forget what was told before
    current: bool = False  # there is no more at the moment
    entities: tuple[IndexedEntity, ...] = ()
    facts: tuple[Fact, ...] = ()
    episodes: tuple[IndexedEpisode, ...] = ()
    removed_entities: tuple[str, ...] = ()
    removed_facts: tuple[str, ...] = ()
    removed_episodes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class _Follower:
    group_id: str
    seen: tuple[int, int]  # epoch and revision
    moved: asyncio.Future[None]


class Movements:
    """Tells followers when the graph of their group changes. One read a look serves all of them; without
    followers there is none."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._followers: set[_Follower] = set()
        self._looking: asyncio.Task[None] | None = None
        # Held by the follower for whom a page is read: a hundred that begin at once must not take all readers
        # of the store from whoever searches.
        self.reading = asyncio.Semaphore(1)

    async def after(self, head: GroupHead) -> None:
        """Return once the record of the group is another one. Raises StoreUnavailable, and whatever else ends
        the look that all wait for."""
        moved = asyncio.get_running_loop().create_future()
        follower = _Follower(head.group_id, (head.epoch, head.rev), moved)
        self._followers.add(follower)
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look())
        looking = self._looking
        try:
            await asyncio.wait((moved, looking), return_when=asyncio.FIRST_COMPLETED)
            if not moved.done():
                looking.result()
        finally:
            self._followers.discard(follower)
            if not self._followers and self._looking is not None:
                self._looking.cancel()
                self._looking = None

    async def _look(self) -> None:
        activity, clock = self._core.activity, self._core.clock
        while True:
            seen, began = activity.changes.version, clock.monotonic()
            await self._tell()
            await activity.changes.wait(seen, _LOOK_S)
            await asyncio.sleep(max(0.0, _REST_S - (clock.monotonic() - began)))

    async def _tell(self) -> None:
        asked = list(self._followers)
        heads = await self._core.store.heads({follower.group_id for follower in asked})
        for follower in asked:
            head = heads.get(follower.group_id, GroupHead(follower.group_id))
            if (head.epoch, head.rev) != follower.seen and not follower.moved.done():
                follower.moved.set_result(None)


async def follow(
    core: Core, movements: Movements, group_id: str, after: FollowedPlace | None
) -> AsyncGenerator[FollowedChange, None]:
    """What a follower has not been told yet, then what changes, without end. The first comes at once, even if
    there is nothing to tell. Raises StoreUnavailable."""
    place, greeted = after, False
    while True:
        heads = await core.store.heads([group_id])
        head = heads.get(group_id, GroupHead(group_id))
        if place is None or place.epoch != head.epoch or place.rev > head.rev:
            place = FollowedPlace(head.epoch, 0)
            yield FollowedChange(place, place, reset=True, current=head.rev == 0)
        elif place.rev == head.rev and greeted:
            await movements.after(head)
            continue
        elif place.rev == head.rev:
            yield FollowedChange(place, place, current=True)
        greeted = True
        while place.rev < head.rev:
            before = place
            async for told in _next(core, movements.reading, group_id, before):
                yield told
                place = told.place
            if place == before:  # the group was deleted meanwhile
                break


async def _next(
    core: Core, reading: asyncio.Semaphore, group_id: str, place: FollowedPlace
) -> AsyncGenerator[FollowedChange, None]:
    """The next page, in parts of which only the last leads behind all: one revision may have more than a
    follower's memory should hold. Facts and texts are read up to revisions of their own: the follower gets
    all, and goes on behind what is complete in both. Ends early when the group has another epoch."""
    async with reading:
        changes = await core.store.changes(group_id, place.rev, _FACTS)
    if changes.head.epoch != place.epoch:
        return
    rev, uuid = place.rev, ""
    while rev == place.rev:
        async with reading:
            page = await core.store.text_changes(group_id, rev, _TEXTS, _BODY_BYTES, uuid)
        if page.head.epoch != place.epoch:
            return
        rev, uuid = page.upto_rev, page.upto_uuid
        yield FollowedChange(
            place,
            place,
            entities=page.entities,
            episodes=page.episodes,
            removed_entities=page.removed_entities,
            removed_episodes=page.removed_episodes,
        )
    behind = FollowedPlace(place.epoch, min(changes.upto_rev, rev))
    current = behind.rev == max(changes.head.rev, page.head.rev)
    facts = tuple(each.fact for each in changes.facts)
    yield FollowedChange(place, behind, current=current, facts=facts, removed_facts=changes.removed)
