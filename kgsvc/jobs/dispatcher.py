"""Which groups this process works on: claims, fairness, renewal, drain."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from typing import Generic, TypeVar

from kgsvc.domain.clock import Clock
from kgsvc.domain.errors import KgError, LeaseLost, ServiceError
from kgsvc.domain.model.items import SCRATCH, GroupWork, Lease
from kgsvc.jobs.activity import ActivityWatch
from kgsvc.jobs.leases import LapseWatch
from kgsvc.jobs.retry import QueueSettings, RetryPolicy
from kgsvc.jobs.runner import GroupRunner, HasItem, Observer, Starts, Steps, without_text
from kgsvc.stores.protocol import QueueStore

log = logging.getLogger(__name__)
_IDLE_S = 5.0  # the longest pause between two looks when nothing seems due
_AFTER_FAILURE_S = 1.0
P = TypeVar("P", bound=HasItem)


@dataclass(slots=True)
class _Held:
    lease: Lease
    task: asyncio.Task[None]


class Dispatcher(Generic[P]):
    """Runs the queue of one process until `drain`."""

    def __init__(
        self,
        store: QueueStore,
        steps: Steps[P],
        observer: Observer,
        retry: RetryPolicy,
        activity: ActivityWatch,
        settings: QueueSettings,
        clock: Clock,
        owner_id: str,
    ) -> None:
        self._store = store
        self._steps = steps
        self._observer = observer
        self._retry = retry
        self._activity = activity
        self._settings = settings
        self._clock = clock
        self._owner_id = owner_id
        self._lapses = LapseWatch(clock, settings.lease_s)
        self._starts = Starts()
        self._held: dict[str, _Held] = {}
        self._others_wait = False
        self._scratch = 0  # groups of a doctor's checks among those ready: they must not hide the others
        self._draining = False
        self._running = False
        self._ended = asyncio.Event()

    async def run(self) -> None:
        """Look for work, claim it, renew what is held; after `drain` only finish what has begun."""
        self._running = True
        renewing = asyncio.create_task(self._renew_forever())
        try:
            while not self._draining:
                seen = self._activity.version
                pause = await self._look()
                await self._activity.wait(seen, pause)
            # Still renewing: a lease that lapses now would make suspects of healthy items.
            await self._finish_held()
        finally:
            await self._drop_held()
            renewing.cancel()
            await asyncio.gather(renewing, return_exceptions=True)
            self._ended.set()

    async def drain(self) -> None:
        """Begin nothing new, commit what has begun within `drain_s`, give the leases back."""
        self._draining = True
        self._activity.poke()
        if self._running:
            await self._ended.wait()

    async def _finish_held(self) -> None:
        if tasks := [held.task for held in self._held.values()]:
            await asyncio.wait(tasks, timeout=self._settings.drain_s)

    async def _drop_held(self) -> None:
        tasks = [held.task for held in self._held.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _look(self) -> float:
        """Claim what may be claimed; how long to wait before the next look."""
        settings = self._settings
        try:
            limit = 4 * settings.groups_at_once + self._scratch
            works = await self._store.ready_groups(self._clock.now_ms(), limit)
            self._scratch = sum(work.group_id.startswith(SCRATCH) for work in works)
            waiting = [work for work in works if self._may_take(work.group_id)]
            claimed = await self._claim(waiting)
            self._others_wait = len(waiting) > claimed and len(self._held) >= settings.groups_at_once
            if waiting and claimed < len(waiting):
                return max(settings.poll_s, min(0.25, settings.lease_s / 4))
            return await self._until_due()
        except ServiceError as error:
            log.warning("cannot look for work: %s", error)
        except Exception as error:
            log.error("cannot look for work", exc_info=without_text(error))
        return _AFTER_FAILURE_S

    def _may_take(self, group_id: str) -> bool:
        return group_id not in self._held and not group_id.startswith(SCRATCH)

    async def _until_due(self) -> float:
        due_ms = await self._store.next_due_ms()
        if due_ms is None:
            return _IDLE_S
        # What is due now is held by a runner here; it, or its release, will poke.
        wait_s = (due_ms - self._clock.now_ms()) / 1000
        return min(_IDLE_S, max(wait_s, self._settings.poll_s))

    async def _claim(self, works: list[GroupWork]) -> int:
        claimed = 0
        for work in works:
            if self._draining or len(self._held) >= self._settings.groups_at_once:
                break
            if not self._lapses.may_claim(work):
                continue
            lease = await self._store.claim(work, self._owner_id, self._clock.now_ms())
            self._lapses.forget(work.group_id)
            if lease is not None:
                claimed += 1
                self._held[lease.group_id] = _Held(lease, asyncio.create_task(self._serve(lease)))
        return claimed

    async def _serve(self, lease: Lease) -> None:
        turn = 0

        def make_room() -> bool:
            nonlocal turn
            turn += 1
            return self._draining or (turn > self._settings.batches_a_turn and self._others_wait)

        runner = GroupRunner(
            self._store,
            self._steps,
            self._observer,
            self._retry,
            self._settings,
            self._clock,
            self._starts,
            lease,
        )
        try:
            await runner.run(make_room)
        except LeaseLost:
            log.info("lease lost", extra={"group_id": lease.group_id})
        except KgError as error:
            log.warning("group paused: %s", error, extra={"group_id": lease.group_id})
            await asyncio.sleep(self._settings.backoff_base_ms / 1000)
        except Exception as error:
            log.error("group paused", exc_info=without_text(error), extra={"group_id": lease.group_id})
            await asyncio.sleep(self._settings.backoff_base_ms / 1000)
        finally:
            await self._give_back(lease)

    async def _give_back(self, lease: Lease) -> None:
        try:
            await asyncio.shield(self._store.release(lease))
        except KgError as error:
            log.warning("release failed, the lease will lapse: %s", type(error).__name__)
        finally:
            self._held.pop(lease.group_id, None)
            self._activity.poke()

    async def _renew_forever(self) -> None:
        while True:
            await asyncio.sleep(self._settings.lease_s / 5)
            try:
                await self._renew()
            except ServiceError as error:
                log.warning("cannot renew leases: %s", type(error).__name__)
            except Exception as error:
                log.error("cannot renew leases", exc_info=without_text(error))

    async def _renew(self) -> None:
        held = dict(self._held)
        if not held:
            return
        alive = set(await self._store.renew([h.lease for h in held.values()]))
        for group_id, lost in held.items():
            if group_id not in alive:
                lost.task.cancel()
