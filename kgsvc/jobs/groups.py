"""Groups of items as leased work: due items are prepared, committed, retried and parked."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Generic, Protocol, TypeVar

from kgsvc.domain.errors import KgError, LeaseLost, ModelOff, ServiceError, StepError
from kgsvc.domain.model.delta import StaleItems
from kgsvc.domain.model.items import (
    CRASH,
    Claimed,
    FailedItem,
    GroupWork,
    ItemState,
    Lease,
    QueuedItem,
    Step,
)
from kgsvc.jobs.activity import Signal
from kgsvc.jobs.dispatcher import (
    LeasedWork,
    Offer,
    QueueSettings,
    RetryPolicy,
    always,
    nothing,
    step_error,
    without_text,
)
from kgsvc.jobs.starts import BatchStarts
from kgsvc.runtime import Clock
from kgsvc.stores.protocol import QueueStore


class HasItem(Protocol):
    """An item whose model work is done, with whatever else its commit needs."""

    @property
    def item(self) -> QueuedItem:
        """The item."""


P = TypeVar("P", bound=HasItem)


@dataclass(frozen=True, slots=True)
class Steps(Generic[P]):
    """What is done with the items of a leased group, in two steps.

    `prepare` does everything that needs no lock and gives the items that can be committed and those that
    failed; it raises LeaseLost, StoreUnavailable. `commit` changes the graph and completes the items in one
    transaction, which with True releases the lease too; it raises StepError (the batch is then tried in
    halves), StaleItems (it is tried without them), LeaseLost, ServiceError.
    """

    prepare: Callable[[Lease, Sequence[QueuedItem]], Awaitable[tuple[list[P], list[FailedItem]]]]
    commit: Callable[[Lease, Sequence[P], bool], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class PreparedBatch(Generic[P]):
    """The outcome of preparing some items: each is in one of the two."""

    ready: Sequence[P]
    failed: Sequence[FailedItem] = ()


class Observer(Protocol):
    """Who counts what happens (metrics, logs)."""

    def completed(self, group_id: str, count: int) -> None:
        """Items reached COMPLETED."""

    def failed(self, failure: FailedItem, attempt: int) -> None:
        """An attempt of a step failed; it will be tried again."""

    def parked(self, item: QueuedItem, reason: str) -> None:
        """An item was parked."""


@dataclass(frozen=True, slots=True)
class GroupJobs(Generic[P]):
    """What the work on the groups of one process needs."""

    store: QueueStore
    steps: Steps[P]
    observer: Observer
    retry: RetryPolicy
    settings: QueueSettings
    clock: Clock
    starts: BatchStarts = field(default_factory=BatchStarts)
    changes: Signal = field(default_factory=Signal)  # items have changed state
    # Groups whose lease a commit under way gives up: it may be gone before the commit's answer is here.
    giving_up: set[str] = field(default_factory=set)

    def batch(self, joining: int = 0) -> int:
        """How many items a batch may have now. `joining`: groups that are about to be worked on."""
        return self.starts.items(self.settings.micro_batch, self.settings.batch_beside_others, joining)

    def places(self) -> int:
        """How many groups may be worked on now."""
        settings = self.settings
        return self.starts.places(settings.groups_at_once, settings.items_at_once, settings.micro_batch)


log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Begun(Generic[P]):
    """A batch that is being prepared; `alone`: with nothing beside it in this process."""

    task: asyncio.Task[PreparedBatch[P]]
    alone: bool
    nbytes: int

    def ended(self, starts: BatchStarts) -> None:
        """It is committed, failed or given up."""
        starts.ended(alone=self.alone, nbytes=self.nbytes)


class GroupRunner(Generic[P]):
    """Works on the due items of one group while the lease holds."""

    def __init__(self, jobs: GroupJobs[P], claimed: Claimed) -> None:
        self._jobs = jobs
        self._lease = claimed.lease
        self._claimed = list(claimed.items)  # started, not begun
        self._more = claimed.more
        self._ahead: deque[_Begun[P]] = deque()
        self._in_flight: set[str] = set()
        self._exhausted = False
        self._all_begun = False
        self.released = False  # with the last commit

    async def run(self, make_room: Callable[[], bool]) -> None:
        """Until what was due is done; or, when `make_room()` says so, until what has begun is committed.

        What comes meanwhile is left to the next visit, unless so much is due that it fills batches. Raises
        LeaseLost, ServiceError. What was begun and not committed is simply begun anew later.
        """
        try:
            with self._jobs.starts.group():
                await self._work(make_room)
        finally:
            await self._give_up(list(self._ahead))

    async def _work(self, make_room: Callable[[], bool]) -> None:
        while True:
            if not make_room():
                await self._begin_more()
            if not self._ahead:
                return
            begun = self._ahead.popleft()
            try:
                await self._finish(await begun.task)
            finally:
                begun.ended(self._jobs.starts)

    async def _give_up(self, begun: list[_Begun[P]]) -> None:
        for batch in begun:
            batch.task.cancel()
            batch.ended(self._jobs.starts)
        await asyncio.gather(*(batch.task for batch in begun), return_exceptions=True)

    async def _begin_more(self) -> None:
        settings = self._jobs.settings
        self._exhausted = self._all_begun
        most = self._jobs.starts.ahead(settings.batches_ahead)
        while len(self._ahead) < most and not self._exhausted:
            may_wait, started = not self._ahead, bool(self._claimed)
            if not await self._jobs.starts.begin(may_wait=may_wait, started=started):
                return  # what was started with the claim goes back with the lease
            items: list[QueuedItem] = []
            try:
                items = await self._start()
            finally:
                if not items:
                    self._jobs.starts.found_nothing()
            if items:
                # Once is the crash that is counted when a suspect begins; more are crashes that it saw.
                alone = any(item.attempts.get(CRASH, 0) > 1 for item in items)
                nbytes = sum(len(item.episode.body) for item in items)
                self._jobs.starts.started(alone=alone, nbytes=nbytes)
                self._in_flight.update(item.episode.uuid for item in items)
                work = self._prepare_alone(items) if alone else self._prepare(items)
                self._ahead.append(_Begun(asyncio.create_task(work), alone, nbytes))

    async def _start(self) -> list[QueuedItem]:
        items, self._claimed = self._claimed, []
        more, self._more = self._more, False
        limit = self._jobs.batch()
        if not items:
            items = await self._started(limit)
        # A short batch means that nothing else is due, unless the claim left something; a suspect runs with
        # nothing of its group beside it.
        self._exhausted = len(items) < limit and not more
        self._all_begun = self._exhausted and not any(item.suspect for item in items)
        return await self._without_crashers(items)

    async def _started(self, limit: int) -> list[QueuedItem]:
        jobs, in_flight = self._jobs, frozenset(self._in_flight)
        max_bytes = jobs.settings.batch_bytes
        return await jobs.store.start_items(self._lease, jobs.clock.now_ms(), limit, max_bytes, in_flight)

    async def _without_crashers(self, items: list[QueuedItem]) -> list[QueuedItem]:
        now_ms = self._jobs.clock.now_ms()
        parked = [t for item in items if (t := self._jobs.retry.after_crashes(item, now_ms)) is not None]
        if not parked:
            return items
        await self._jobs.store.save_transitions(self._lease, parked)
        self._exhausted = False
        gone = {transition.uuid: transition.reason or "" for transition in parked}
        for item in items:
            if item.episode.uuid in gone:
                self._jobs.observer.parked(item, gone[item.episode.uuid])
        return [item for item in items if item.episode.uuid not in gone]

    async def _prepare_alone(self, items: list[QueuedItem]) -> PreparedBatch[P]:
        await self._jobs.starts.alone()
        return await self._prepare(items)

    async def _prepare(self, items: list[QueuedItem]) -> PreparedBatch[P]:
        try:
            return PreparedBatch(*await self._jobs.steps.prepare(self._lease, items))
        except Exception as error:
            if isinstance(error, KgError) and not isinstance(error, StepError):
                raise
            if not isinstance(error, StepError):
                log.error("preparing failed", exc_info=without_text(error))
            if len(items) == 1:
                return PreparedBatch((), (FailedItem(items[0], Step.EXTRACT, step_error(error)),))
        # One item that cannot be prepared must not count against its neighbours.
        parts = [await self._prepare([item]) for item in items]
        return PreparedBatch(
            tuple(entry for part in parts for entry in part.ready),
            tuple(failure for part in parts for failure in part.failed),
        )

    async def _finish(self, batch: PreparedBatch[P]) -> None:
        failures = list(batch.failed)
        last = self._all_begun and not self._ahead and not failures
        if batch.ready:
            failures.extend(await self._commit(batch.ready, releases=last))
        if failures:
            await self._record(failures)
        done = [entry.item.episode.uuid for entry in batch.ready]
        self._in_flight.difference_update(done, [f.item.episode.uuid for f in batch.failed])

    async def _commit(self, batch: Sequence[P], *, releases: bool = False) -> list[FailedItem]:
        """Commit, or halve the batch until the items that cannot be committed stand alone."""
        try:
            with self._giving_up() if releases else nullcontext():
                await self._jobs.steps.commit(self._lease, batch, releases)
        except (LeaseLost, ServiceError):
            raise
        except StaleItems as stale:
            kept = [entry for entry in batch if entry.item.episode.uuid not in stale.uuids]
            return await self._commit(kept, releases=releases) if kept else []
        except ModelOff as off:
            return [FailedItem(entry.item, Step.UPSERT, off) for entry in batch]
        except Exception as error:
            if not isinstance(error, StepError):
                log.error("committing failed", exc_info=without_text(error))
            return await self._halve(batch, step_error(error))
        self.released = releases
        self._jobs.changes.set()
        self._jobs.observer.completed(self._lease.group_id, len(batch))
        return []

    @contextmanager
    def _giving_up(self) -> Iterator[None]:
        group_id = self._lease.group_id
        self._jobs.giving_up.add(group_id)
        try:
            yield
        finally:
            self._jobs.giving_up.discard(group_id)

    async def _halve(self, batch: Sequence[P], error: StepError) -> list[FailedItem]:
        if len(batch) == 1:
            return [FailedItem(batch[0].item, Step.UPSERT, error)]
        middle = len(batch) // 2
        return [*await self._commit(batch[:middle]), *await self._commit(batch[middle:])]

    async def _record(self, failures: Sequence[FailedItem]) -> None:
        now_ms = self._jobs.clock.now_ms()
        transitions = [self._jobs.retry.after(failure, now_ms) for failure in failures]
        await self._jobs.store.save_transitions(self._lease, transitions)
        self._jobs.changes.set()
        for failure, transition in zip(failures, transitions, strict=True):
            if isinstance(failure.error, ModelOff):
                continue  # no attempt
            self._jobs.observer.failed(failure, transition.attempts)
            if transition.state is ItemState.PARKED:
                self._jobs.observer.parked(failure.item, transition.reason or "")


def _full(claimed: Claimed, limit: int) -> Claimed:
    """The same; more is due where it got as many items as it may."""
    return replace(claimed, more=claimed.more or 0 < limit <= len(claimed.items))


def group_work(
    jobs: GroupJobs[P],
    may_begin: Callable[[], bool] = always,
    together: float = 0.0,
    hurry: Callable[[], None] = nothing,
) -> LeasedWork[Claimed]:
    """Groups with due items, the least recently served first. Those that are claimed together, at least the
    share `together` of the places where so many wait, share transactions: fewer in all, but each group waits
    for the others."""
    store, settings = jobs.store, jobs.settings

    async def offers(now_ms: int, limit: int) -> list[Offer]:
        return [
            Offer(group.group_id, group.group_id, group.owner_id, (group.owner_token, group.renewals), group)
            for group in await store.ready_groups(now_ms, limit)
        ]

    async def claim(works: Sequence[GroupWork], owner_id: str, now_ms: int) -> list[Claimed | None]:
        limit = 0 if jobs.starts.exclusive else jobs.batch(joining=len(works))
        try:
            begun = await store.begin(works, owner_id, now_ms, limit, settings.batch_bytes)
            jobs.starts.claimed([len(claimed.items) for claimed in begun if claimed and claimed.items])
            return [None if claimed is None else _full(claimed, limit) for claimed in begun]
        except ServiceError:
            raise
        except Exception as error:  # each starts its own items then, and only one of them fails
            log.error("groups were not begun together", exc_info=without_text(error))
            return await store.begin(works, owner_id, now_ms, 0, 0)

    async def renew(held: Mapping[str, Claimed]) -> set[str]:
        ending = set(jobs.giving_up)
        alive = set(await store.renew([claimed.lease for claimed in held.values()]))
        return alive | (held.keys() & (ending | jobs.giving_up))  # one that is lost fails by its token

    async def serve(claimed: Claimed, make_room: Callable[[], bool]) -> bool:
        runner = GroupRunner(jobs, claimed)
        await runner.run(make_room)
        return runner.released

    return LeasedWork(
        name="groups",
        key="group_id",
        at_once=jobs.places,
        limit=4 * settings.groups_at_once,
        idle_s=5.0,
        contended_s=0.25,
        rest_s=0.0,
        offers=offers,
        next_due_ms=store.next_due_ms,
        claim=claim,
        renew=renew,
        release=lambda claimed, _now_ms: store.release(claimed.lease),
        serve=serve,
        may_begin=may_begin,
        together=together,
        hurry=hurry,
    )
