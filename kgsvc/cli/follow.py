"""Waiting until items are in the graph."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import grpc.aio

from kgsvc.cli.client import Service, accepted, retryable
from kgsvc.cli.failure import Failure
from kgsvc.cli.upload import PAUSE_S, Outcome
from kgsvc.v1.ingestion_pb2 import WatchReceiptInput, WatchReceiptRequest
from kgsvc.v1.types_pb2 import ItemState, ReceiptItem

_TERMINAL = (
    ItemState.ITEM_STATE_COMPLETED,
    ItemState.ITEM_STATE_PARKED,
    ItemState.ITEM_STATE_DELETED,
)


async def follow(service: Service, outcome: Outcome, within_s: float, on_done: Callable[[int], None]) -> None:
    """Watch the receipts of `outcome` until all its items are done; parked ones are added to it.

    `on_done` gets how many more are done. Raises Failure, also when it takes longer than `within_s`.
    """
    try:
        async with asyncio.timeout(within_s):
            for receipt, uuids in outcome.open.items():
                await _follow_one(service, receipt, uuids, outcome, on_done)
    except TimeoutError as error:
        left = sum(map(len, outcome.open.values()))
        raise Failure(
            f"{left} items are not done after {within_s:g} s; they go on being worked on (`kgsvc items`)"
        ) from error


async def _follow_one(
    service: Service, receipt: str, uuids: set[str], outcome: Outcome, on_done: Callable[[int], None]
) -> None:
    while uuids:
        watch = service.ingestion.WatchReceipt(
            WatchReceiptRequest(input=WatchReceiptInput(receipt_id=receipt)), wait_for_ready=True
        )
        try:
            async for answer in watch:
                before = len(uuids)
                for item in accepted(answer).output.items:
                    _note(item, uuids, outcome)
                on_done(before - len(uuids))
                if not uuids:
                    watch.cancel()
                    return
        except grpc.aio.AioRpcError as error:
            if not retryable(error):
                raise service.failure(error) from error
        await asyncio.sleep(PAUSE_S)


def _note(item: ReceiptItem, uuids: set[str], outcome: Outcome) -> None:
    if item.uuid in uuids and item.state in _TERMINAL:
        uuids.discard(item.uuid)
        if item.state == ItemState.ITEM_STATE_PARKED:
            outcome.parked[item.uuid] = item.reason
