"""Builds of communities: one at a time in a process, under a lease, tried again with backoff (design §4)."""

from __future__ import annotations

import asyncio
import logging
from typing import Protocol

from kgsvc.domain.clock import Clock
from kgsvc.domain.errors import KgError, LeaseLost, ModelUnavailable, ServiceError, StepError
from kgsvc.domain.model.communities import BuildLease, BuildWork
from kgsvc.domain.model.items import SCRATCH, GroupWork
from kgsvc.jobs.activity import ActivityWatch
from kgsvc.jobs.leases import LapseWatch
from kgsvc.jobs.retry import QueueSettings, RetryPolicy
from kgsvc.jobs.runner import without_text
from kgsvc.stores.community_protocol import BuildStore

log = logging.getLogger(__name__)
_IDLE_S = 2.0  # the longest pause between two looks
_PAUSE_S = 0.25  # the shortest: the activity of items, too, wakes whoever waits
_LOOKED_AT = 64  # builds, those that others hold included


class BuildHandler(Protocol):
    """The build itself, as the queue sees it."""

    async def build(self, lease: BuildLease) -> None:
        """Carry it on to its end. Raises StepError, ServiceError, LeaseLost."""


class BuildDispatcher:
    """Runs the builds of one process until it is cancelled; then the build under way is given back."""

    def __init__(
        self,
        store: BuildStore,
        handler: BuildHandler,
        retry: RetryPolicy,
        activity: ActivityWatch,
        settings: QueueSettings,
        clock: Clock,
        owner_id: str,
    ) -> None:
        self._store = store
        self._handler = handler
        self._retry = retry
        self._activity = activity
        self._settings = settings
        self._clock = clock
        self._owner_id = owner_id
        self._lapses = LapseWatch(clock, settings.lease_s)

    async def run(self) -> None:
        """Look for builds and carry them out until cancelled."""
        while True:
            seen = self._activity.version
            try:
                found = await self._look()
            except ServiceError as error:
                log.warning("cannot look for builds: %s", type(error).__name__)
                found = False
            if not found:
                await self._activity.wait(seen, min(_IDLE_S, self._settings.lease_s / 2))
                await asyncio.sleep(_PAUSE_S)

    async def _look(self) -> bool:
        """Carry one build out if there is one; whether there was."""
        for work in await self._store.open_builds(self._clock.now_ms(), _LOOKED_AT):
            if work.group_id.startswith(SCRATCH) or not self._lapses.may_claim(_watched(work)):
                continue
            lease = await self._store.claim_build(work, self._owner_id, self._clock.now_ms())
            self._lapses.forget(work.build_id)
            if lease is not None:
                await self._serve(lease)
                return True
        return False

    async def _serve(self, lease: BuildLease) -> None:
        if lease.attempt > self._settings.attempts_per_step:
            died = f"the process died {self._settings.attempts_per_step} times while it worked on this build"
            await self._failed(lease, StepError(died))
            return
        building = asyncio.create_task(self._handler.build(lease))
        renewing = asyncio.create_task(self._renew(lease, building))
        try:
            await building
        except asyncio.CancelledError:
            building.cancel()
            await asyncio.gather(building, return_exceptions=True)
            await asyncio.shield(self._give_back(lease))
            if (task := asyncio.current_task()) is not None and task.cancelling():
                raise
        except LeaseLost:
            log.info("the build is another process's, or its group was deleted", extra=_named(lease))
        except ServiceError as error:
            log.warning("a build is paused: %s", type(error).__name__, extra=_named(lease))
            await self._give_back(lease)
            await asyncio.sleep(self._settings.backoff_base_ms / 1_000)
        except StepError as error:
            await self._failed(lease, error)
        except Exception as error:
            log.error("a build failed", exc_info=without_text(error), extra=_named(lease))
            await self._failed(lease, StepError(f"internal error: {type(error).__name__}"))
        finally:
            renewing.cancel()
            await asyncio.gather(renewing, return_exceptions=True)

    async def _renew(self, lease: BuildLease, building: asyncio.Task[None]) -> None:
        """Keep the lease; end the build once it is lost."""
        while True:
            await asyncio.sleep(self._settings.lease_s / 5)
            try:
                if not await self._store.renew_build(lease):
                    building.cancel()
                    return
            except ServiceError as error:
                log.warning("cannot renew the lease of a build: %s", type(error).__name__)

    async def _failed(self, lease: BuildLease, error: StepError) -> None:
        """Put the build off, or end it after its last attempt."""
        now_ms = self._clock.now_ms()
        asked = error.retry_after_ms if isinstance(error, ModelUnavailable) else None
        over = lease.attempt >= self._settings.attempts_per_step
        next_ms = None if over else now_ms + self._retry.delay_ms(lease.attempt, asked)
        reason = str(error) or type(error).__name__
        log.warning("an attempt to build communities failed", extra={**_named(lease), "reason": reason})
        try:
            await self._store.fail_build(lease, reason, now_ms, next_ms)
        except KgError as lost:
            log.warning("a failed build cannot be recorded: %s", type(lost).__name__, extra=_named(lease))

    async def _give_back(self, lease: BuildLease) -> None:
        try:
            await self._store.release_build(lease, self._clock.now_ms())
        except KgError as error:
            log.warning("release failed, the lease will lapse: %s", type(error).__name__)


def _watched(work: BuildWork) -> GroupWork:
    """The build as LapseWatch knows work: by its own id."""
    return GroupWork(work.build_id, work.token, work.owner_id, work.renewals, 0)


def _named(lease: BuildLease) -> dict[str, str]:
    return {"group_id": lease.group_id, "build_id": lease.build_id}
