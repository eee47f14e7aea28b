"""GetReceipt, ListItems, RetryItems: what became of what was accepted (design §2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kgsvc.api import answers
from kgsvc.api.checks import Check
from kgsvc.api.items_in import STATES
from kgsvc.api.ports import Activity
from kgsvc.api.unary import Reply, Unary
from kgsvc.domain.clock import Clock
from kgsvc.domain.errors import NotFound
from kgsvc.domain.model.items import ItemState
from kgsvc.stores.protocol import IntakeStore
from kgsvc.v1 import ingestion_pb2

_PAGE_SIZE = 100
_TOKEN_CHARS = 4_096


@dataclass(frozen=True, slots=True)
class Listing:
    """The input of ListItems."""

    group_id: str
    states: frozenset[ItemState]
    page_size: int
    page_token: str | None


@dataclass(frozen=True, slots=True)
class Retry:
    """The input of RetryItems; no uuids: every parked item."""

    group_id: str
    uuids: tuple[str, ...] | None


class Following:
    """Operations on receipts and items."""

    def __init__(self, store: IntakeStore, activity: Activity, clock: Clock) -> None:
        self._store = store
        self._activity = activity
        self._clock = clock

    def operations(self) -> Mapping[str, Unary[Any]]:
        """The RPCs by method name."""
        pb = ingestion_pb2
        return {
            "GetReceipt": Unary(pb.GetReceiptRequest, pb.GetReceiptResponse, read_receipt_id, self._receipt),
            "ListItems": Unary(pb.ListItemsRequest, pb.ListItemsResponse, read_listing, self._list),
            "RetryItems": Unary(pb.RetryItemsRequest, pb.RetryItemsResponse, read_retry, self._retry),
        }

    async def _receipt(self, receipt_id: str, _key: str | None) -> Reply:
        found = await self._store.receipt(receipt_id)
        if found is None:
            raise NotFound("there is no receipt of this id")
        return Reply(answers.receipt(found))

    async def _list(self, wanted: Listing, _key: str | None) -> Reply:
        page = await self._store.list_items(
            wanted.group_id, wanted.states, wanted.page_size, wanted.page_token
        )
        return Reply(
            ingestion_pb2.ListItemsOutput(
                items=map(answers.listed_item, page.rows), next_page_token=page.next_token or ""
            )
        )

    async def _retry(self, wanted: Retry, _key: str | None) -> Reply:
        uuids = await self._store.retry_items(wanted.group_id, wanted.uuids, self._clock.now_ms())
        if uuids:
            self._activity.poke()
        return Reply(ingestion_pb2.RetryItemsOutput(retried=len(uuids), uuids=uuids))


def read_receipt_id(
    sent: ingestion_pb2.GetReceiptInput | ingestion_pb2.WatchReceiptInput, check: Check
) -> str:
    """The input of GetReceipt and WatchReceipt."""
    return check.identifier("input.receipt_id", sent.receipt_id, check.limits.uuid)


def read_listing(sent: ingestion_pb2.ListItemsInput, check: Check) -> Listing:
    """The input of ListItems."""
    bounded = sent.states[: check.limits.items_per_call]
    if len(bounded) < len(sent.states):
        check.count("input.states", sent.states, check.limits.items_per_call)
    states = [
        check.enum(f"input.states[{i}]", number, STATES, ItemState.PARKED) for i, number in enumerate(bounded)
    ]
    size = _PAGE_SIZE
    if sent.HasField("page_size"):
        size = check.number("input.page_size", sent.page_size, check.limits.page_size_bound)
    return Listing(
        check.group_id("input.group_id", sent.group_id),
        frozenset(states),
        size,
        check.optional_identifier(sent, "input.", "page_token", _TOKEN_CHARS),
    )


def read_retry(sent: ingestion_pb2.RetryItemsInput, check: Check) -> Retry:
    """The input of RetryItems."""
    group_id = check.group_id("input.group_id", sent.group_id)
    if sent.all_parked:
        if sent.uuids:
            check.invalid("input.uuids", "must be empty when all_parked is set")
        return Retry(group_id, None)
    check.count("input.uuids", sent.uuids, check.limits.items_per_call)
    bounded = sent.uuids[: check.limits.items_per_call]
    uuids = [check.identifier(f"input.uuids[{i}]", u, check.limits.uuid) for i, u in enumerate(bounded)]
    return Retry(group_id, tuple(uuids))
