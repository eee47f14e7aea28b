"""ListItems, RetryItems, GetReceipt, WatchReceipt: what became of items (docs/contract.md)."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace

from kgsvc.access.scopes import current_caller
from kgsvc.api import mapping
from kgsvc.api.calls import current_call
from kgsvc.api.checks import RequestCheck
from kgsvc.api.envelope import Operation, Outputs, Reply, Rpcs, ServerStream, Unary
from kgsvc.api.errors import ShuttingDown
from kgsvc.commands.core import Core
from kgsvc.commands.items import retry_items
from kgsvc.commands.modes import wait_reason
from kgsvc.domain.errors import NotFound
from kgsvc.domain.model.items import ItemState, ItemStatus, Receipt
from kgsvc.observability.logs import found_in
from kgsvc.v1 import ingestion_pb2, types_pb2

_PAUSE_S = 0.005  # for each other watch: together they read at most 200 receipts a second


class ItemRpcs:
    """The RPCs on items and receipts. A watch does not poll: it waits for the change that the process's
    poller sees."""

    def __init__(self, core: Core, stopping: asyncio.Event, watch_deadline_s: float) -> None:
        self._core = core
        self._stopping = stopping
        self._deadline_s = watch_deadline_s
        self._watches = 0
        self.rpcs: Rpcs = {
            "ListItems": Unary(self._list_items),
            "RetryItems": Unary(self._retry_items),
            "GetReceipt": Unary(self._get_receipt),
            "WatchReceipt": ServerStream(self._watch_receipt),
        }

    def _list_items(self, sent: ingestion_pb2.ListItemsInput, check: RequestCheck) -> Operation:
        states: Sequence[int] = check.bounded("input.states", sent.states) if sent.states else ()
        wanted = frozenset(
            check.enum(f"input.states[{i}]", number, mapping.STATES, ItemState.PARKED)
            for i, number in enumerate(states)
        )
        size = check.page_size(sent)
        group_id = check.group_id("input.group_id", sent.group_id)
        token = check.page_token(sent)

        async def run() -> Reply:
            page = await self._core.store.list_items(group_id, wanted, size, token)
            reason = await self._reason(group_id, page.rows)
            output = ingestion_pb2.ListItemsOutput(
                items=map(_listed, page.rows), next_page_token=page.next_token or "", wait_reason=reason
            )
            return Reply(output)

        return run

    def _retry_items(self, sent: ingestion_pb2.RetryItemsInput, check: RequestCheck) -> Operation:
        group_id = check.group_id("input.group_id", sent.group_id)
        uuids: list[str] | None = None  # every parked item
        if not sent.all_parked:
            bounded = enumerate(check.bounded("input.uuids", sent.uuids))
            uuids = [check.identifier(f"input.uuids[{i}]", uuid, check.limits.uuid) for i, uuid in bounded]
            check.names(uuids, check.limits.uuid)
        elif sent.uuids:
            check.invalid("input.uuids", "must be empty when all_parked is set")

        async def run() -> Reply:
            retried = await retry_items(self._core, group_id, uuids)
            current_call.get().wrote(retried)
            return Reply(ingestion_pb2.RetryItemsOutput(retried=len(retried), uuids=retried))

        return run

    def _get_receipt(self, sent: ingestion_pb2.GetReceiptInput, check: RequestCheck) -> Operation:
        receipt_id = check.uuid(sent, "receipt_id")

        async def run() -> Reply:
            receipt = await self._find(receipt_id)
            return Reply(_receipt(receipt, await self._reason(receipt.group_id, receipt.items)))

        return run

    def _watch_receipt(self, sent: ingestion_pb2.WatchReceiptInput, check: RequestCheck) -> Outputs:
        """All items, then those that change, until all are terminal. The stream may end with ShuttingDown,
        StoreUnavailable, and TimeoutError after the longest time of a watch."""
        receipt_id = check.uuid(sent, "receipt_id")
        return lambda: self._watch(receipt_id)

    async def _watch(self, receipt_id: str) -> AsyncGenerator[ingestion_pb2.WatchReceiptOutput, None]:
        until = self._core.clock.monotonic() + self._deadline_s
        seen = self._core.activity.changes.version
        receipt = await self._find(receipt_id)
        reason = await self._reason(receipt.group_id, receipt.items)
        yield _watched(receipt, receipt.items, reason)
        self._watches += 1
        try:
            while not receipt.done:
                await self._next_change(seen, until)
                await asyncio.sleep(_PAUSE_S * (self._watches - 1))
                seen = self._core.activity.changes.version
                before, waited = receipt, reason
                receipt = await self._core.store.receipt(receipt_id) or _of_deleted_group(receipt)
                pairs = zip(before.items, receipt.items, strict=True)
                changed = [after for earlier, after in pairs if earlier != after]
                reason = await self._reason(receipt.group_id, receipt.items)
                if changed or receipt.done or reason != waited:
                    yield _watched(receipt, changed, reason)
        finally:
            self._watches -= 1

    async def _next_change(self, seen: int, until: float) -> None:
        """Wait for the next change, the end of the process or the end of the watch."""
        left = until - self._core.clock.monotonic()
        if left <= 0:
            raise TimeoutError
        change = asyncio.ensure_future(self._core.activity.changes.wait(seen, left))
        stop = asyncio.ensure_future(self._stopping.wait())
        try:
            await asyncio.wait({change, stop}, return_when=asyncio.FIRST_COMPLETED)
            if self._stopping.is_set():
                raise ShuttingDown
        finally:
            change.cancel()
            stop.cancel()

    async def _reason(self, group_id: str, items: Sequence[ItemStatus]) -> str:
        """Why those of the items wait that are not finished; empty: nothing holds them back."""
        if all(item.terminal for item in items):
            return ""
        return await wait_reason(self._core, group_id) or ""

    async def _find(self, receipt_id: str) -> Receipt:
        receipt = await self._core.store.receipt(receipt_id)
        if receipt is None or not current_caller.get().sees(receipt.group_id):
            raise NotFound("there is no receipt with this id")
        found_in([receipt.group_id])
        return receipt


def _listed(item: ItemStatus) -> types_pb2.ListedItem:
    return types_pb2.ListedItem(
        uuid=item.uuid,
        group_id=item.group_id,
        name=item.name,
        state=mapping.STATE_NUMBERS[item.state],
        attempts=item.attempts,
        reason=item.reason,
        step=None if item.step is None else item.step.value,
        updated_at=mapping.timestamp(item.updated_ms),
        receipt_id=item.receipt_id,
        warnings=mapping.warnings(item.warnings),
    )


def _of_deleted_group(receipt: Receipt) -> Receipt:
    items = (item if item.terminal else replace(item, state=ItemState.DELETED) for item in receipt.items)
    return replace(receipt, items=tuple(items))


def _receipt(receipt: Receipt, reason: str) -> types_pb2.Receipt:
    """A receipt with its items counted by state."""
    counted = Counter(item.state for item in receipt.items)
    return types_pb2.Receipt(
        receipt_id=receipt.receipt_id,
        group_id=receipt.group_id,
        created_at=mapping.timestamp(receipt.created_ms),
        items=map(_item, receipt.items),
        counts=[
            types_pb2.StateCount(state=mapping.STATE_NUMBERS[state], count=counted[state])
            for state in ItemState
            if counted[state]
        ],
        done=receipt.done,
        usage=mapping.usage(receipt.usage),
        wait_reason=reason,
    )


def _watched(receipt: Receipt, items: Sequence[ItemStatus], reason: str) -> ingestion_pb2.WatchReceiptOutput:
    return ingestion_pb2.WatchReceiptOutput(
        receipt_id=receipt.receipt_id,
        group_id=receipt.group_id,
        items=map(_item, items),
        done=receipt.done,
        wait_reason=reason,
    )


def _item(item: ItemStatus) -> types_pb2.ReceiptItem:
    return types_pb2.ReceiptItem(
        uuid=item.uuid,
        name=item.name,
        state=mapping.STATE_NUMBERS[item.state],
        duplicate=item.duplicate,
        attempts=item.attempts,
        reason=item.reason,
        updated_at=mapping.timestamp(item.updated_ms),
        usage=mapping.usage(item.usage),
        warnings=mapping.warnings(item.warnings),
    )
