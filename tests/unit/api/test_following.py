"""Receipts, listings, retries and watches (docs/contract.md)."""

import asyncio
from typing import Any

import grpc
import pytest

from kgsvc.api.server import ServerSettings
from kgsvc.domain.model.items import ItemState
from kgsvc.stores.protocol import Store
from kgsvc.v1 import ingestion_pb2 as ing
from kgsvc.v1 import types_pb2 as typ
from tests.support.client import Client, episode
from tests.support.served import Serve, Stack, Wrapped, finish


def _watch(client: Client, receipt_id: str, timeout_s: float | None = 30) -> Any:
    request = ing.WatchReceiptRequest(input=ing.WatchReceiptInput(receipt_id=receipt_id))
    return client.ingestion.WatchReceipt(request, timeout=timeout_s)


async def test_receipt_tells_each_item_and_counts_by_state(stack: Stack) -> None:
    done = await stack.client.add_episodes("g", [episode("a", 1, uuid="a", name="first")])
    await finish(stack.store, "g", ItemState.PARKED, "no good")
    more = await stack.client.add_episodes(
        "g", [episode("b", 2, uuid="b"), episode("a", 1, uuid="a", name="first")]
    )
    receipt = await stack.client.receipt(more.receipt_id)
    assert [(i.uuid, i.state, i.duplicate) for i in receipt.items] == [
        ("b", typ.ITEM_STATE_ACCEPTED, False),
        ("a", typ.ITEM_STATE_PARKED, True),
    ]
    assert {c.state: c.count for c in receipt.counts} == {
        typ.ITEM_STATE_ACCEPTED: 1,
        typ.ITEM_STATE_PARKED: 1,
    }
    assert not receipt.done
    first = await stack.client.receipt(done.receipt_id)
    assert first.done
    assert (first.items[0].reason, first.items[0].name, first.items[0].attempts) == ("no good", "first", 5)


async def test_watchers_read_once_a_change_not_in_a_loop(serve: Serve) -> None:
    reads: list[str] = []

    def wrap(store: Store) -> Wrapped:
        async def receipt(receipt_id: str) -> Any:
            reads.append(receipt_id)
            return await store.receipt(receipt_id)

        return Wrapped(store, receipt=receipt)

    async with serve(wrap=wrap) as stack:
        done = await stack.client.add_episodes("g", [episode("a", 1)])
        watches = [aiter(_watch(stack.client, done.receipt_id)) for _ in range(5)]
        for answers in watches:
            await anext(answers)
        seen = stack.core.activity.changes.version
        await stack.core.activity.changes.wait(seen, 0.3)  # thirty polls without a change
        assert len(reads) <= 10  # one for the first answer, at most one more for the acceptance itself
        await finish(stack.store, "g", ItemState.COMPLETED)
        for answers in watches:
            assert [answer.output.done async for answer in answers][-1]


async def test_watch_respects_the_callers_deadline(client: Client) -> None:
    done = await client.add_episodes("g", [episode("a", 1)])
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        async for _ in _watch(client, done.receipt_id, timeout_s=0.2):
            pass
    assert caught.value.code() == grpc.StatusCode.DEADLINE_EXCEEDED


async def test_watch_without_a_deadline_ends_at_the_servers(serve: Serve) -> None:
    async with serve(settings=ServerSettings(watch_deadline_s=0.1)) as stack:
        done = await stack.client.add_episodes("g", [episode("a", 1)])
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            async for _ in _watch(stack.client, done.receipt_id, timeout_s=None):
                pass
    assert caught.value.code() == grpc.StatusCode.DEADLINE_EXCEEDED


async def test_watch_ends_with_the_server(serve: Serve) -> None:
    async with serve() as stack:
        done = await stack.client.add_episodes("g", [episode("a", 1)])
        answers = aiter(_watch(stack.client, done.receipt_id))
        await anext(answers)
        stopping = asyncio.create_task(stack.server.stop())
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await anext(answers)
        await stopping
    assert caught.value.code() == grpc.StatusCode.UNAVAILABLE
