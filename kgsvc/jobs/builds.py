"""Builds of communities as leased work: one at a time in a process, tried again with backoff."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from kgsvc.domain.errors import KgError, LeaseLost, ModelOff, ModelUnavailable, ServiceError, StepError
from kgsvc.domain.model.communities import BuildLease, BuildWork
from kgsvc.jobs.dispatcher import (
    LeasedWork,
    Offer,
    QueueSettings,
    RetryPolicy,
    always,
    one,
    step_error,
    without_text,
)
from kgsvc.runtime import Clock
from kgsvc.stores.community_protocol import BuildStore

log = logging.getLogger(__name__)


class BuildHandler(Protocol):
    """The build itself."""

    async def build(self, lease: BuildLease) -> None:
        """Carry it on to its end. Raises StepError, ServiceError, LeaseLost."""


def build_work(
    store: BuildStore,
    handler: BuildHandler,
    retry: RetryPolicy,
    settings: QueueSettings,
    clock: Clock,
    may_begin: Callable[[], bool] = always,
    waits: Callable[[], bool] = always,
) -> LeasedWork[BuildLease]:
    """Builds that are not over. What fails is put off, or ends after its last attempt."""
    attempts = _Attempts(store, handler, retry, clock, settings.attempts_per_step)

    async def offers(now_ms: int, limit: int) -> list[Offer]:
        return [
            Offer(build.build_id, build.group_id, build.owner_id, (build.token, build.renewals), build)
            for build in await store.open_builds(now_ms, limit)
        ]

    async def renew(leases: Mapping[str, BuildLease]) -> set[str]:
        return {key for key, lease in leases.items() if await store.renew_build(lease)}

    async def claim(builds: Sequence[BuildWork], owner_id: str, now_ms: int) -> list[BuildLease | None]:
        return [await store.claim_build(build, owner_id, now_ms) for build in builds]

    return LeasedWork(
        name="builds of communities",
        key="build_id",
        at_once=one,
        limit=64,
        idle_s=2.0,
        contended_s=2.0,
        rest_s=1.0,  # accepted items, too, wake whoever waits
        offers=offers,
        claim=claim,
        renew=renew,
        release=store.release_build,
        serve=attempts.serve,
        may_begin=may_begin,
        waits=waits,
    )


@dataclass(frozen=True, slots=True)
class _Attempts:
    """Attempts at builds, a bounded number each."""

    store: BuildStore
    handler: BuildHandler
    retry: RetryPolicy
    clock: Clock
    most: int

    async def serve(self, lease: BuildLease, _make_room: Callable[[], bool]) -> bool:
        """One attempt. Raises LeaseLost, ServiceError, ModelOff: it was none."""
        if lease.attempt > self.most:
            died = f"the process died {self.most} times while it worked on this build"
            await self._fail(lease, StepError(died))
            return False
        try:
            await self.handler.build(lease)
        except (LeaseLost, ServiceError, ModelOff):
            raise
        except Exception as error:
            if not isinstance(error, StepError):
                log.error("a build failed", exc_info=without_text(error), extra=_named(lease))
            await self._fail(lease, step_error(error))
        return False

    async def _fail(self, lease: BuildLease, error: StepError) -> None:
        now_ms = self.clock.now_ms()
        asked = error.retry_after_ms if isinstance(error, ModelUnavailable) else None
        over = lease.attempt >= self.most
        next_ms = None if over else now_ms + self.retry.delay_ms(lease.attempt, asked)
        reason = str(error) or type(error).__name__
        log.warning("an attempt to build communities failed", extra={**_named(lease), "reason": reason})
        try:
            await self.store.release_build(lease, now_ms, reason, next_ms)
        except KgError as lost:
            log.warning("a failed build cannot be recorded: %s", type(lost).__name__, extra=_named(lease))


def _named(lease: BuildLease) -> dict[str, str]:
    return {"group_id": lease.group_id, "build_id": lease.build_id}
