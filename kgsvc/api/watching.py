"""WatchReceipt (design §2): all items of a receipt, then those that change, until all are terminal."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from typing import Any

from kgsvc.api.answers import receipt_item
from kgsvc.api.calls import current_call
from kgsvc.api.checks import Check
from kgsvc.api.errors import ShuttingDown, failure_of, to_proto
from kgsvc.api.following import read_receipt_id
from kgsvc.api.ports import Activity
from kgsvc.api.strict import unknown_fields
from kgsvc.api.unary import parse, read_head
from kgsvc.domain.clock import Clock
from kgsvc.domain.errors import NotFound, OperationError
from kgsvc.domain.limits import Limits
from kgsvc.domain.model.items import ItemState, ItemStatus, Receipt
from kgsvc.stores.protocol import IntakeStore
from kgsvc.v1 import envelope_pb2, ingestion_pb2

Response = ingestion_pb2.WatchReceiptResponse
_SHARE_S = 0.005  # however many watches there are, together they read 200 receipts a second at most


class Watching:
    """Serves watches. None of them polls: each waits for the process's one look for changes."""

    def __init__(
        self,
        store: IntakeStore,
        activity: Activity,
        limits: Limits,
        clock: Clock,
        stopping: asyncio.Event,
        deadline_s: float,
    ) -> None:
        self._store = store
        self._activity = activity
        self._limits = limits
        self._clock = clock
        self._stopping = stopping
        self._deadline_s = deadline_s
        self._watches = 0

    async def receipt(self, raw: bytes, _context: object) -> AsyncIterator[Response]:
        """Raises ShuttingDown, StoreUnavailable, and TimeoutError after the longest time of a watch."""
        call = current_call.get()
        try:
            receipt_id = self._read(raw)
            async for shown in self._follow(receipt_id):
                call.status = "OK"
                yield Response(request_id=call.request_id, status=envelope_pb2.STATUS_OK, output=shown)
        except OperationError as error:
            if call.native_errors:
                raise
            failure = failure_of(error)
            call.refuse(failure.error_code)
            status = envelope_pb2.STATUS_ERROR
            yield Response(request_id=call.request_id, status=status, error=to_proto(failure))

    def _read(self, raw: bytes) -> str:
        request: Any = parse(ingestion_pb2.WatchReceiptRequest, raw)
        check = Check(self._limits)
        read_head(request, check, current_call.get(), self._limits)
        check.extend(unknown_fields(request, raw))
        if not request.HasField("input"):
            check.invalid("input", "is required")
            check.finish()
        receipt_id = read_receipt_id(request.input, check)
        check.finish()
        return receipt_id

    async def _follow(self, receipt_id: str) -> AsyncIterator[ingestion_pb2.WatchReceiptOutput]:
        until = self._clock.monotonic() + self._deadline_s
        seen = self._activity.version
        receipt = await self._store.receipt(receipt_id)
        if receipt is None:
            raise NotFound("there is no receipt of this id")
        current_call.get().group_ids = (receipt.group_id,)
        yield _shown(receipt, receipt.items)
        self._watches += 1
        try:
            while not receipt.done:
                await self._next(seen, until)
                await asyncio.sleep(_SHARE_S * (self._watches - 1))
                seen = self._activity.version
                before, receipt = receipt, await self._store.receipt(receipt_id) or _gone(receipt)
                pairs = zip(before.items, receipt.items, strict=True)
                changed = [after for earlier, after in pairs if earlier != after]
                if changed or receipt.done:
                    yield _shown(receipt, changed)
        finally:
            self._watches -= 1

    async def _next(self, seen: int, until: float) -> None:
        """Wait for the next change, the end of the process or the end of the watch."""
        left = until - self._clock.monotonic()
        if left <= 0:
            raise TimeoutError
        change = asyncio.ensure_future(self._activity.wait(seen, left))
        stop = asyncio.ensure_future(self._stopping.wait())
        try:
            await asyncio.wait({change, stop}, return_when=asyncio.FIRST_COMPLETED)
            if self._stopping.is_set():
                raise ShuttingDown
        finally:
            change.cancel()
            stop.cancel()


def _shown(receipt: Receipt, items: Sequence[ItemStatus]) -> ingestion_pb2.WatchReceiptOutput:
    return ingestion_pb2.WatchReceiptOutput(
        receipt_id=receipt.receipt_id,
        group_id=receipt.group_id,
        items=map(receipt_item, items),
        done=receipt.done,
    )


def _gone(receipt: Receipt) -> Receipt:
    """What is left of a receipt whose group was deleted."""
    items = (item if item.terminal else replace(item, state=ItemState.DELETED) for item in receipt.items)
    return replace(receipt, items=tuple(items))
