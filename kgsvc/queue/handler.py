"""What the queue asks of the work it drives, and what it tells about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from kgsvc.domain.errors import StepError
from kgsvc.domain.items import Lease, QueuedItem, Step


@dataclass(frozen=True, slots=True)
class Prepared:
    """An item whose model work is done; `work` is the handler's own."""

    item: QueuedItem
    work: Any


@dataclass(frozen=True, slots=True)
class Failure:
    """An item that failed in a step; `stage` is the output of the last step that succeeded, to be kept."""

    item: QueuedItem
    step: Step
    error: StepError
    stage: bytes | None = None


@dataclass(frozen=True, slots=True)
class PreparedBatch:
    """The outcome of preparing some items: each is in one of the two."""

    ready: tuple[Prepared, ...]
    failed: tuple[Failure, ...] = ()


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
