"""A queue over a real embedded store, with a handler that does what a test tells it."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kgsvc.domain.errors import StepError
from kgsvc.domain.model.delta import GraphDelta, Guard
from kgsvc.domain.model.graph import Episode, Source
from kgsvc.domain.model.items import (
    AcceptBatch,
    Claimed,
    FailedItem,
    ItemState,
    ItemStatus,
    Lease,
    NewItem,
    QueuedItem,
    Transition,
)
from kgsvc.domain.model.keys import content_hash
from kgsvc.jobs.activity import ActivityWatch
from kgsvc.jobs.dispatcher import Dispatcher, QueueSettings, RetryPolicy, always, nothing
from kgsvc.jobs.groups import GroupJobs, GroupRunner, Steps, group_work
from kgsvc.jobs.starts import BatchStarts
from kgsvc.runtime import SystemClock
from kgsvc.stores.embedded import EmbeddedStore
from tests.support.samples import claim

DEADLINE_S = 30.0
CLOCK = SystemClock()
SETTINGS = QueueSettings(
    micro_batch=4, batches_ahead=2, attempts_per_step=3, backoff_base_ms=1, backoff_cap_ms=4, poll_s=0.01
)


async def open_store(folder: Path) -> EmbeddedStore:
    """A migrated store."""
    store = await EmbeddedStore.open(folder)
    await store.migrate()
    return store


async def accept(store: EmbeddedStore, group: str, uuids: Iterable[str]) -> None:
    """Episodes that come in this order; for the tests only their uuids matter."""
    made = [
        Episode(uuid, group, f"body of {uuid}", Source.TEXT, reference_ms=at, created_ms=1)
        for at, uuid in enumerate(uuids)
    ]
    items = tuple(NewItem(replace(episode, content_hash=content_hash(episode))) for episode in made)
    answers = await store.accept(
        [AcceptBatch(group, items, f"r-{group}-{made[0].uuid}", "test", CLOCK.now_ms())]
    )
    assert not isinstance(answers[0], Exception)


async def statuses(store: EmbeddedStore, group: str) -> dict[str, ItemStatus]:
    """The group's items by uuid."""
    page = await store.list_items(group, (), 1_000, None)
    return {status.uuid: status for status in page.rows}


async def states(store: EmbeddedStore, group: str) -> dict[str, ItemState]:
    """The states of the group's items by uuid."""
    return {uuid: status.state for uuid, status in (await statuses(store, group)).items()}


async def lease_of(store: EmbeddedStore, group: str, owner: str = "me") -> Lease:
    """Claim the group as it stands."""
    works = {work.group_id: work for work in await store.ready_groups(CLOCK.now_ms(), 100)}
    lease = await claim(store, works[group], owner, CLOCK.now_ms())
    assert lease is not None
    return lease


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    """Return once `condition` holds. Raises TimeoutError."""
    async with asyncio.timeout(DEADLINE_S):
        while not await condition():  # noqa: ASYNC110  the store has no event to wait for
            await asyncio.sleep(0.005)


@dataclass(frozen=True, slots=True)
class Started:
    """A prepared item of which nothing but the item is known."""

    item: QueuedItem


class ScriptedHandler:
    """Completes items; `spoilt` ones cannot be committed, preparing a `broken` one raises its error."""

    def __init__(self, store: EmbeddedStore) -> None:
        self.store = store
        self.spoilt: set[str] = set()
        self.broken: dict[str, Exception] = {}
        self.prepared: list[tuple[str, ...]] = []
        self.committed: list[tuple[str, ...]] = []
        self.preparing = 0
        self.preparing_max = 0
        self.before_prepare: Callable[[Lease], Awaitable[None]] = _nothing
        self.before_commit: Callable[[Lease], Awaitable[None]] = _nothing

    async def prepare(
        self, lease: Lease, items: Sequence[QueuedItem]
    ) -> tuple[list[Started], list[FailedItem]]:
        """See Steps."""
        self.preparing += 1
        self.preparing_max = max(self.preparing_max, self.preparing)
        try:
            await self.before_prepare(lease)
        finally:
            self.preparing -= 1
        self.prepared.append(tuple(item.episode.uuid for item in items))
        for item in items:
            if item.episode.uuid in self.broken:
                raise self.broken[item.episode.uuid]
        return [Started(item) for item in items], []

    async def commit(self, lease: Lease, batch: Sequence[Started], releases: bool) -> None:
        """See Steps."""
        await self.before_commit(lease)
        uuids = tuple(entry.item.episode.uuid for entry in batch)
        if self.spoilt.intersection(uuids):
            raise StepError("cannot be committed")
        head = (await self.store.names(lease.group_id, ())).head
        now_ms = max(CLOCK.now_ms(), head.last_ms + 1)
        delta = GraphDelta(
            lease.group_id,
            now_ms,
            transitions=tuple(Transition(uuid, ItemState.COMPLETED, now_ms) for uuid in uuids),
            requires_items=uuids,
            bumps_rev=False,
        )
        await self.store.apply(delta, Guard(head.rev, lease.epoch, lease.token, releases))
        self.committed.append(uuids)


async def _nothing(_lease: Lease) -> None:
    return


class Told:
    """What the observer was told."""

    def __init__(self) -> None:
        self.done: dict[str, int] = {}
        self.failures: list[tuple[str, int]] = []
        self.parked_items: dict[str, str] = {}

    def completed(self, group_id: str, count: int) -> None:
        """See Observer."""
        self.done[group_id] = self.done.get(group_id, 0) + count

    def failed(self, failure: FailedItem, attempt: int) -> None:
        """See Observer."""
        self.failures.append((failure.item.episode.uuid, attempt))

    def parked(self, item: QueuedItem, reason: str) -> None:
        """See Observer."""
        self.parked_items[item.episode.uuid] = reason


def never() -> bool:
    """Nobody else wants room."""
    return False


class Queue:
    """A store with a handler and an observer; items of the group g where none is named."""

    def __init__(self, store: EmbeddedStore) -> None:
        self.store, self.handler, self.told = store, ScriptedHandler(store), Told()

    async def accept(self, *uuids: str, group: str = "g") -> None:
        """Episodes that come in this order."""
        await accept(self.store, group, uuids)

    async def lease(self, owner: str = "me", group: str = "g") -> Lease:
        """Claim the group as it stands."""
        return await lease_of(self.store, group, owner)

    async def statuses(self) -> dict[str, ItemStatus]:
        """The items by uuid."""
        return await statuses(self.store, "g")

    async def states(self, group: str = "g") -> dict[str, ItemState]:
        """Their states by uuid."""
        return await states(self.store, group)

    def runner(
        self, lease: Lease, settings: QueueSettings = SETTINGS, starts: BatchStarts | None = None
    ) -> GroupRunner[Started]:
        """A runner of one leased group."""
        policy = RetryPolicy(settings, random.Random(1))
        steps, alone = Steps(self.handler.prepare, self.handler.commit), starts or BatchStarts()
        return GroupRunner(
            GroupJobs(self.store, steps, self.told, policy, settings, CLOCK, alone), Claimed(lease)
        )

    async def run(
        self,
        lease: Lease | None = None,
        settings: QueueSettings = SETTINGS,
        wanted: Callable[[], bool] = never,
    ) -> None:
        """Work on the group until nothing is due."""
        await self.runner(lease or await self.lease(), settings).run(wanted)

    async def run_until_over(self, uuid: str) -> None:
        """Work on the group under one lease until this item is terminal."""
        lease = await self.lease()

        async def over() -> bool:
            await self.run(lease)
            return (await self.statuses())[uuid].terminal

        await until(over)


def dispatcher(
    store: EmbeddedStore,
    handler: ScriptedHandler,
    told: Told | None = None,
    settings: QueueSettings = SETTINGS,
    owner: str = "me",
    may_begin: Callable[[], bool] = always,
    hurry: Callable[[], None] = nothing,
) -> Dispatcher[Claimed]:
    """A dispatcher; what others do it sees by polling."""
    activity = ActivityWatch(store, settings.poll_s, random.Random(2))
    policy = RetryPolicy(settings, random.Random(1))
    steps = Steps(handler.prepare, handler.commit)
    jobs = GroupJobs(store, steps, told or Told(), policy, settings, CLOCK)
    return Dispatcher(group_work(jobs, may_begin, hurry=hurry), activity, settings, CLOCK, owner)
