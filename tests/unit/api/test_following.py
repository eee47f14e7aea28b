"""Receipts, listings, retries and watches (design §2)."""

from __future__ import annotations

import asyncio
from typing import Any

import grpc
import pytest

from kgsvc.api.server import ServerSettings
from kgsvc.domain.model.items import ItemState
from kgsvc.stores.protocol import Store
from kgsvc.v1 import admin_pb2 as adm
from kgsvc.v1 import envelope_pb2
from kgsvc.v1 import ingestion_pb2 as ing
from kgsvc.v1 import types_pb2 as typ
from tests.support.client import Client, episode
from tests.support.served import Serve, Stack, Wrapped, finish


def _watch(client: Client, receipt_id: str, timeout_s: float | None = 30) -> Any:
    request = ing.WatchReceiptRequest(input=ing.WatchReceiptInput(receipt_id=receipt_id))
    return client.ingestion.WatchReceipt(request, timeout=timeout_s)


async def _page(client: Client, **fields: Any) -> ing.ListItemsOutput:
    given = ing.ListItemsInput(group_id="g", **fields)
    response = await client.ingestion.ListItems(ing.ListItemsRequest(input=given))
    assert response.status == envelope_pb2.STATUS_OK, response.error
    return response.output


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


async def test_unknown_receipt_is_not_found(client: Client) -> None:
    request = ing.GetReceiptRequest(input=ing.GetReceiptInput(receipt_id="none"))
    assert (await client.ingestion.GetReceipt(request)).error.error_code == "NOT_FOUND"
    answers = [answer async for answer in _watch(client, "none")]
    assert [answer.error.error_code for answer in answers] == ["NOT_FOUND"]


async def test_listing_pages_by_state_with_reasons(stack: Stack) -> None:
    client = stack.client
    await client.add_episodes("g", [episode("p", n, uuid=f"p{n}") for n in range(3)])
    await finish(stack.store, "g", ItemState.PARKED, "no good")
    await client.add_episodes("g", [episode("n", 9, uuid="new")])
    first = await _page(client, states=[typ.ITEM_STATE_PARKED], page_size=2)
    second = await _page(
        client, states=[typ.ITEM_STATE_PARKED], page_size=2, page_token=first.next_page_token
    )
    assert sorted(i.uuid for i in (*first.items, *second.items)) == ["p0", "p1", "p2"]
    assert second.next_page_token == ""
    assert {(i.reason, i.step, i.attempts) for i in first.items} == {("no good", "extract", 5)}
    assert all(i.receipt_id and i.group_id == "g" for i in first.items)
    assert len((await _page(client)).items) == 4


async def test_retry_sets_parked_items_back_and_nothing_else(stack: Stack) -> None:
    client = stack.client
    await client.add_episodes("g", [episode("p", n, uuid=f"p{n}") for n in range(3)])
    await finish(stack.store, "g", ItemState.PARKED, "no good")
    await client.add_episodes("g", [episode("n", 9, uuid="new")])
    assert await client.retry("g", ["p1", "new", "unknown"]) == ["p1"]
    assert sorted(await client.retry("g")) == ["p0", "p2"]
    assert await client.retry("g") == []
    assert {i.state for i in await client.list_items("g")} == {typ.ITEM_STATE_ACCEPTED}


async def test_watch_sends_all_then_changes_and_ends_when_all_are_terminal(stack: Stack) -> None:
    client = stack.client
    done = await client.add_episodes("g", [episode("a", 1, uuid="a"), episode("b", 2, uuid="b")])
    answers = aiter(_watch(client, done.receipt_id))
    first = (await anext(answers)).output
    assert [(i.uuid, i.state) for i in first.items] == [
        ("a", typ.ITEM_STATE_ACCEPTED),
        ("b", typ.ITEM_STATE_ACCEPTED),
    ]
    assert (first.receipt_id, first.group_id, first.done) == (done.receipt_id, "g", False)
    await finish(stack.store, "g", ItemState.COMPLETED)
    rest = [answer.output async for answer in answers]
    assert {i.uuid: i.state for output in rest for i in output.items} == {
        "a": typ.ITEM_STATE_COMPLETED,
        "b": typ.ITEM_STATE_COMPLETED,
    }
    assert [output.done for output in rest] == [False] * (len(rest) - 1) + [True]


async def test_watch_of_finished_items_ends_at_once(stack: Stack) -> None:
    done = await stack.client.add_episodes("g", [episode("a", 1)])
    await finish(stack.store, "g", ItemState.COMPLETED)
    answers = [answer.output async for answer in _watch(stack.client, done.receipt_id)]
    assert [(len(output.items), output.done) for output in answers] == [(1, True)]


async def test_watch_ends_when_the_group_is_deleted(stack: Stack) -> None:
    done = await stack.client.add_episodes("g", [episode("a", 1)])
    answers = aiter(_watch(stack.client, done.receipt_id))
    await anext(answers)
    await stack.client.admin.DeleteGroup(adm.DeleteGroupRequest(input=adm.DeleteGroupInput(group_id="g")))
    last = [answer.output async for answer in answers][-1]
    assert last.done
    assert last.items[0].state in (typ.ITEM_STATE_PARKED, typ.ITEM_STATE_DELETED)


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
        seen = stack.core.activity.version
        await stack.core.activity.wait(seen, 0.3)  # thirty polls without a change
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
