"""What accepting items asks of a store: items, receipts, quotas; part of stores/protocol.py and under its
general promises."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from kgsvc.domain.limits import Allowance, Counter
from kgsvc.domain.model.items import AcceptBatch, Accepted, ItemState, ItemStatus, Receipt

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """A page of a listing and where the next begins (None: it was the last)."""

    rows: tuple[T, ...]
    next_token: str | None = None


@dataclass(frozen=True, slots=True)
class QueueDepth:
    """How much is waiting."""

    unfinished: int
    parked: int
    oldest_accepted_ms: int | None  # of an unfinished item


class IntakeStore(Protocol):
    """Accepting items and showing what became of them."""

    async def accept(self, batches: Sequence[AcceptBatch]) -> list[Accepted | Exception]:
        """Accept calls, each whole or not at all, all in one durable commit where possible.

        One result a batch, in order: Accepted, Conflict (a uuid is known with another content_hash, naming
        `items[i].uuid`; an idempotency key with another input_hash) or Overloaded (the queue is full).
        Creates the group, the episodes (readable at once), the items in state ACCEPTED and the receipt.
        An item that the group's epoch has already, or that the batch names twice, is a duplicate and is
        answered with its present state. A key that is known in its group and operation returns, within the
        window, the first answer with every item a duplicate. When all items are duplicates of one receipt
        that lists as many, that receipt is returned; otherwise the batch gets its own. Takes no group lock.
        QuotaExceeded: new items go beyond one of the batch's allowances. Those that are accepted are counted
        in the same commit; duplicates are free.
        """

    async def used(self, counters: Collection[Counter]) -> dict[Counter, int]:
        """What is counted under these counters of quotas; those that never were are absent. Of an item its
        tokens count as set aside until it ends, or as spent if that is more; from then on as spent. Its
        bytes count until its episode is removed."""

    async def spend(
        self, allowances: Sequence[Allowance], tokens: int, now_ms: int, within: bool = True
    ) -> None:
        """Count tokens of models that no item stands for; fewer than 0 are given back. QuotaExceeded if they
        go beyond one of the allowances, and `within` asks for that: then nothing is counted."""

    async def receipt(self, receipt_id: str) -> Receipt | None:
        """A receipt with its items' present states; items gone with their episode show DELETED."""

    async def list_items(
        self, group_id: str, states: Collection[ItemState], limit: int, token: str | None
    ) -> Page[ItemStatus]:
        """Items of the group's epoch in order of acceptance; no states: all. InvalidArgument: bad token."""

    async def retry_items(self, group_id: str, uuids: Collection[str] | None, now_ms: int) -> list[str]:
        """Parked items (None: all of the group) become ACCEPTED with no attempts, suspicion, reason or
        stage; returns their uuids. Items that are not parked are left alone."""

    async def depth(self) -> QueueDepth:
        """Counts over all groups. May be a few seconds old."""

    async def activity(self) -> int:
        """A number that differs whenever items were accepted, retried or changed state since; one cheap
        read, for the one poller of a process (design §4)."""
