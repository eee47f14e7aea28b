"""What the queue asks of the work it drives, and whom it tells about it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from kgsvc.domain.items import Lease, QueuedItem
from kgsvc.domain.work import Failure, Prepared, PreparedBatch


class Handler(Protocol):
    """The pipeline's steps, as the queue sees them."""

    async def prepare(self, lease: Lease, items: Sequence[QueuedItem]) -> PreparedBatch:
        """Everything that needs no lock: extraction, embedding. Raises LeaseLost, StoreUnavailable."""

    async def commit(self, lease: Lease, batch: Sequence[Prepared]) -> None:
        """One atomic change of the graph that also completes the items; items that were deleted meanwhile
        are left out. Raises StepError (the batch is then tried in halves), LeaseLost, StoreUnavailable."""


class Observer(Protocol):
    """Who counts what happens (metrics, logs)."""

    def completed(self, group_id: str, count: int) -> None:
        """Items reached COMPLETED."""

    def failed(self, failure: Failure, attempt: int) -> None:
        """An attempt of a step failed; it will be tried again."""

    def parked(self, group_id: str, uuid: str, reason: str) -> None:
        """An item was parked."""
