"""Waiting for items, against a server that follows a script."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import grpc
import grpc.aio
import pytest

from kgsvc.cli import upload as follow_module
from kgsvc.cli.client import connect
from kgsvc.cli.options import Failure
from kgsvc.cli.upload import Outcome, follow
from kgsvc.config import Client
from kgsvc.v1.envelope_pb2 import STATUS_ERROR, STATUS_OK, Error
from kgsvc.v1.ingestion_pb2 import WatchReceiptOutput, WatchReceiptRequest, WatchReceiptResponse
from kgsvc.v1.types_pb2 import ItemState, ReceiptItem
from tests.unit.cli.serving import serving

COMPLETED, PARKED = ItemState.ITEM_STATE_COMPLETED, ItemState.ITEM_STATE_PARKED
EMBEDDED, DELETED = ItemState.ITEM_STATE_EMBEDDED, ItemState.ITEM_STATE_DELETED
Message = tuple[str, ItemState.ValueType]


class Watches:
    """Each watch sends the messages of its turn, then ends, breaks or goes on for ever."""

    def __init__(self, *turns: list[Message | grpc.StatusCode | Error | None]) -> None:
        self.turns = list(turns)
        self.asked: list[str] = []

    async def WatchReceipt(self, request: WatchReceiptRequest, context: Any) -> AsyncIterator[Any]:
        self.asked.append(request.input.receipt_id)
        for each in self.turns.pop(0):
            match each:
                case None:
                    await asyncio.Event().wait()
                case grpc.StatusCode():
                    await context.abort(each, "broken by the script")
                case Error():
                    yield WatchReceiptResponse(status=STATUS_ERROR, error=each)
                case (uuid, state):
                    item = ReceiptItem(uuid=uuid, state=state, reason="because" if state == PARKED else None)
                    yield WatchReceiptResponse(status=STATUS_OK, output=WatchReceiptOutput(items=[item]))


async def watch(watches: Watches, outcome: Outcome, within_s: float = 20.0) -> int:
    done = 0

    def count(more: int) -> None:
        nonlocal done
        done += more

    async with (
        serving("WatchReceipt", watches.WatchReceipt) as address,
        connect(Client(server=address)) as service,
    ):
        await follow(service, outcome, within_s, count)
    return done


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follow_module, "PAUSE_S", 0.0)


async def test_every_receipt_is_watched_until_its_items_are_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follow_module, "WATCHES", 1)  # so that the turns come in order
    outcome = Outcome(open={"r1": {"a", "b"}, "r2": {"c"}})
    watches = Watches(
        [("a", EMBEDDED), ("other", COMPLETED), ("b", DELETED), ("a", COMPLETED), None], [("c", PARKED)]
    )
    assert await watch(watches, outcome) == 3
    assert watches.asked == ["r1", "r2"]
    assert outcome.parked == {"c": "because"}


async def test_a_broken_watch_is_taken_up_again() -> None:
    outcome = Outcome(open={"r": {"a", "b"}})
    watches = Watches([("a", COMPLETED), grpc.StatusCode.UNAVAILABLE], [], [("b", COMPLETED)])
    assert await watch(watches, outcome) == 2
    assert watches.asked == ["r", "r", "r"]


async def test_waiting_ends_in_time() -> None:
    outcome = Outcome(open={"r": {"a", "b"}})
    with pytest.raises(Failure, match=r"1 items are not done after 0\.3 s"):
        await watch(Watches([("a", COMPLETED), None]), outcome, within_s=0.3)


async def test_errors_are_said_as_the_service_says_them() -> None:
    gone = Error(error_code="NOT_FOUND", message="no such receipt")
    with pytest.raises(Failure, match="no such receipt"):
        await watch(Watches([gone]), Outcome(open={"r": {"a"}}))
    with pytest.raises(Failure, match="PERMISSION_DENIED"):
        await watch(Watches([grpc.StatusCode.PERMISSION_DENIED]), Outcome(open={"r": {"a"}}))


async def test_a_receipt_that_stands_still_does_not_hide_that_others_are_done() -> None:
    outcome = Outcome(open={"stuck": {"a"}, "r2": {"b"}, "r3": {"c", "d"}})
    others = {"r2": ["b"], "r3": ["c", "d"]}

    async def watched(request: WatchReceiptRequest, context: Any) -> AsyncIterator[Any]:
        for uuid in others.get(request.input.receipt_id, ()):
            item = ReceiptItem(uuid=uuid, state=COMPLETED)
            yield WatchReceiptResponse(status=STATUS_OK, output=WatchReceiptOutput(items=[item]))
        await asyncio.Event().wait()

    done: list[int] = []
    async with (
        serving("WatchReceipt", watched) as address,
        connect(Client(server=address)) as service,
    ):
        with pytest.raises(Failure, match=r"1 items are not done after 1 s"):
            await follow(service, outcome, 1.0, done.append)
    assert sum(done) == 3
