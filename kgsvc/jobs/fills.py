"""Filling in vectors as leased work: one group at a time in a process, put off while the model fails."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from kgsvc.domain.errors import LeaseLost, ModelOff, ModelUnavailable, ServiceError, StepError
from kgsvc.domain.model.fills import FillLease, FillWork
from kgsvc.jobs.dispatcher import LeasedWork, Offer, RetryPolicy, always, one, step_error, without_text
from kgsvc.runtime import Clock
from kgsvc.stores.fill_protocol import FillStore

log = logging.getLogger(__name__)
_PATIENT = 8  # a failed attempt is followed by a pause as long as that after so many: nobody waits for it


class FillHandler(Protocol):
    """The work itself."""

    async def fill(self, lease: FillLease, make_room: Callable[[], bool]) -> None:
        """Go on to the end of the group, or until there is to be room for others. Raises StepError,
        ServiceError, LeaseLost."""


def fill_work(
    store: FillStore,
    handler: FillHandler,
    retry: RetryPolicy,
    clock: Clock,
    space: str = "",
    may_begin: Callable[[], bool] = always,
    waits: Callable[[], bool] = always,
) -> LeasedWork[FillLease]:
    """Fills in a space, or in none yet, that are not over."""

    async def offers(now_ms: int, limit: int) -> list[Offer]:
        return [
            Offer(each.group_id, each.group_id, each.owner_id, (each.token, each.renewals), each)
            for each in await store.open_fills(now_ms, limit, space)
        ]

    async def renew(leases: Mapping[str, FillLease]) -> set[str]:
        return {key for key, lease in leases.items() if await store.renew_fill(lease)}

    async def claim(fills: Sequence[FillWork], owner_id: str, _now_ms: int) -> list[FillLease | None]:
        return [await store.claim_fill(each, owner_id, space) for each in fills]

    async def serve(lease: FillLease, make_room: Callable[[], bool]) -> bool:
        named = {"group_id": lease.group_id}
        try:
            await handler.fill(lease, make_room)
        except (LeaseLost, ServiceError, ModelOff):
            raise
        except Exception as error:
            if not isinstance(error, StepError):
                log.error("filling in vectors failed", exc_info=without_text(error), extra=named)
            log.warning("vectors are filled in later: %s", step_error(error), extra=named)
            asked = error.retry_after_ms if isinstance(error, ModelUnavailable) else None
            await store.release_fill(lease, clock.now_ms() + retry.delay_ms(_PATIENT, asked))
            return True
        return False

    return LeasedWork(
        name="vectors to be filled in",
        key="group_id",
        at_once=one,
        limit=64,
        idle_s=10.0,
        contended_s=2.0,
        rest_s=2.0,
        woken_by_items=True,  # with vectors of another space
        offers=offers,
        claim=claim,
        renew=renew,
        release=store.release_fill,
        serve=serve,
        may_begin=may_begin,
        waits=waits,
    )
