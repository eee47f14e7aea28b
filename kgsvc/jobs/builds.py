"""Builds of communities as leased work: one at a time in a process, tried again with backoff."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from kgsvc.domain.errors import KgError, LeaseLost, ModelUnavailable, ServiceError, StepError
from kgsvc.domain.model.communities import BuildLease, BuildWork
from kgsvc.jobs.dispatcher import LeasedWork, Offer, QueueSettings, RetryPolicy, step_error, without_text
from kgsvc.runtime import Clock
from kgsvc.stores.community_protocol import BuildStore

log = logging.getLogger(__name__)


class BuildHandler(Protocol):
    """The build itself."""

    async def build(self, lease: BuildLease) -> None:
        """Carry it on to its end. Raises StepError, ServiceError, LeaseLost."""


def build_work(
    store: BuildStore, handler: BuildHandler, retry: RetryPolicy, settings: QueueSettings, clock: Clock
) -> LeasedWork[BuildLease]:
    """Builds that are not over. What fails is put off, or ends after its last attempt."""
    attempts = settings.attempts_per_step

    async def offers(now_ms: int, limit: int) -> list[Offer]:
        return [
            Offer(build.build_id, build.group_id, build.owner_id, (build.token, build.renewals), build)
            for build in await store.open_builds(now_ms, limit)
        ]

    async def next_due_ms() -> int | None:
        return None

    async def renew(leases: Mapping[str, BuildLease]) -> set[str]:
        return {key for key, lease in leases.items() if await store.renew_build(lease)}

    async def claim(builds: Sequence[BuildWork], owner_id: str, now_ms: int) -> list[BuildLease | None]:
        return [await store.claim_build(build, owner_id, now_ms) for build in builds]

    async def serve(lease: BuildLease, _make_room: Callable[[], bool]) -> bool:
        if lease.attempt > attempts:
            await fail(lease, StepError(f"the process died {attempts} times while it worked on this build"))
            return False
        try:
            await handler.build(lease)
        except (LeaseLost, ServiceError):
            raise
        except Exception as error:
            if not isinstance(error, StepError):
                log.error("a build failed", exc_info=without_text(error), extra=_named(lease))
            await fail(lease, step_error(error))
        return False

    async def fail(lease: BuildLease, error: StepError) -> None:
        now_ms = clock.now_ms()
        asked = error.retry_after_ms if isinstance(error, ModelUnavailable) else None
        over = lease.attempt >= attempts
        next_ms = None if over else now_ms + retry.delay_ms(lease.attempt, asked)
        reason = str(error) or type(error).__name__
        log.warning("an attempt to build communities failed", extra={**_named(lease), "reason": reason})
        try:
            await store.fail_build(lease, reason, now_ms, next_ms)
        except KgError as lost:
            log.warning("a failed build cannot be recorded: %s", type(lost).__name__, extra=_named(lease))

    return LeasedWork(
        name="builds of communities",
        key="build_id",
        at_once=1,
        limit=64,
        idle_s=2.0,
        contended_s=2.0,
        rest_s=0.25,  # the activity of items, too, wakes whoever waits
        offers=offers,
        next_due_ms=next_due_ms,
        claim=claim,
        renew=renew,
        release=store.release_build,
        serve=serve,
    )


def _named(lease: BuildLease) -> dict[str, str]:
    return {"group_id": lease.group_id, "build_id": lease.build_id}
