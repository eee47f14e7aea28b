"""StreamEpisodes: order, durability, refusals in band, flow control, ends of every kind."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import grpc
import pytest

from kgsvc.api.errors import CODE_METADATA
from kgsvc.domain.errors import Overloaded, StoreUnavailable
from kgsvc.domain.model.items import ItemState
from kgsvc.stores.protocol import Store
from kgsvc.v1 import envelope_pb2
from kgsvc.v1 import ingestion_pb2 as ing
from kgsvc.v1 import types_pb2 as typ
from tests.support.client import Client, episode, stream_request
from tests.support.served import LIMITS, Serve, Stack, Wrapped, finish


class Gate:
    """A store whose accepts wait until they are let through; it counts what reached it."""

    def __init__(self, store: Store) -> None:
        self.open = asyncio.Event()
        self.entered = asyncio.Event()
        self.batches: list[list[int]] = []  # items of each batch, by call
        self.store = Wrapped(store, accept=self._accept)
        self._inner = store

    async def _accept(self, batches: Any) -> Any:
        self.batches.append([len(batch.items) for batch in batches])
        self.entered.set()
        await self.open.wait()
        return await self._inner.accept(batches)


@asynccontextmanager
async def gated(serve: Serve) -> AsyncIterator[tuple[Stack, Gate]]:
    """A server on such a store."""
    gates: list[Gate] = []

    def wrap(store: Store) -> Wrapped:
        gates.append(Gate(store))
        return gates[0].store

    async with serve(wrap=wrap) as stack:
        yield stack, gates[0]


def _item(number: int, group: str = "g", size: int = 1) -> ing.StreamEpisodesRequest:
    item = episode(str(number).ljust(size), number, uuid=f"u{number}")
    return stream_request(group, item, client_ref=f"c{number}")


async def test_replay_of_a_parked_item_says_so(stack: Stack) -> None:
    await stack.client.stream(_item(1))
    await finish(stack.store, "g", ItemState.PARKED, "no good")
    answers = await stack.client.stream(_item(1), _item(2))
    assert [a.status for a in answers] == [envelope_pb2.STATUS_PARKED, envelope_pb2.STATUS_ACCEPTED]
    assert (answers[0].state, answers[0].duplicate) == (typ.ITEM_STATE_PARKED, True)


async def test_refused_items_are_answered_in_band_and_the_stream_lives_on(client: Client) -> None:
    unknown = _item(3)
    unknown.episode.MergeFromString(b"\xf8\x7c\x05")
    requests = [
        _item(0),
        ing.StreamEpisodesRequest(group_id="g", client_ref="none"),
        stream_request("", episode("x", 1)),
        unknown,
        stream_request("g", episode("b" * 9_000, 1)),
        stream_request("g", episode("x", 1), client_ref="r" * 257),
        stream_request("g", episode("other", 0, uuid="u0"), client_ref="conflict"),
        _item(5),
    ]
    answers = await client.stream(*requests, metadata=(("kgsvc-errors", "status"),))
    found = [(a.error.error_code, [v.field for v in a.error.field_violations]) for a in answers]
    assert found == [
        ("", []),
        ("INVALID_ARGUMENT", ["item"]),
        ("INVALID_ARGUMENT", ["group_id"]),
        ("INVALID_ARGUMENT", ["episode.1999"]),
        ("LIMIT_EXCEEDED", ["episode.body"]),
        ("LIMIT_EXCEEDED", ["client_ref"]),
        ("CONFLICT", ["episode.uuid"]),
        ("", []),
    ]
    assert [a.sequence for a in answers] == list(range(8))
    assert [a.client_ref for a in answers if a.error.error_code == "CONFLICT"] == ["conflict"]
    assert [e.body for e in await client.get_episodes("g")] == ["0", "5"]


async def test_nothing_is_acknowledged_before_its_commit_and_what_waits_goes_together(serve: Serve) -> None:
    async with gated(serve) as (stack, gate):
        call = stack.client.ingestion.StreamEpisodes(timeout=60)
        await call.write(_item(0))
        await gate.entered.wait()
        for number in range(1, 150):
            await call.write(_item(number))
        first = asyncio.ensure_future(call.read())
        answered, _ = await asyncio.wait({first}, timeout=0.2)
        assert not answered
        gate.open.set()
        await call.done_writing()
        answers = 0
        while await (first if answers == 0 else call.read()) is not grpc.aio.EOF:
            answers += 1
        assert answers == 150
        sizes = [size for batches in gate.batches for size in batches]
        assert sizes[0] == 1
        assert sum(sizes) == 150
        assert 64 < max(sizes) <= 128


async def test_items_of_many_groups_that_wait_go_into_one_commit(serve: Serve) -> None:
    async with gated(serve) as (stack, gate):
        call = stack.client.ingestion.StreamEpisodes(timeout=60)
        await call.write(_item(0))
        await gate.entered.wait()
        for number in range(1, 101):
            await call.write(_item(number, group=f"g{number % 20}"))
        await call.done_writing()
        gate.open.set()
        answers = [answer async for answer in call]
        assert [answer.sequence for answer in answers] == list(range(101))
        assert [answer.uuid for answer in answers] == [f"u{number}" for number in range(101)]
        assert len(gate.batches) <= 4
        receipts = {answer.receipt_id: number % 20 for number, answer in enumerate(answers) if number}
        assert all(receipts[a.receipt_id] == number % 20 for number, a in enumerate(answers) if number)


async def test_a_fast_client_is_slowed_by_bytes_in_flight(serve: Serve) -> None:
    size, count = 8_000, 1_000  # 8 MB, far more than the bound and what buffers on the way can hold
    async with gated(serve) as (stack, gate):
        sent = 0

        async def send() -> AsyncIterator[ing.StreamEpisodesRequest]:
            nonlocal sent
            for number in range(count):
                yield _item(number, size=size)
                sent += 1

        call = stack.client.ingestion.StreamEpisodes(send(), timeout=120)
        answers = aiter(call)
        pending = asyncio.ensure_future(anext(answers))
        await gate.entered.wait()
        before = -1
        while sent != before:  # until the writer makes no progress any more
            before = sent
            await asyncio.sleep(0.3)
        assert sent < count
        assert sum(gate.batches[0]) * size <= LIMITS.stream_inflight_bytes + size
        gate.open.set()
        await pending
        assert sum([1 async for _ in answers]) == count - 1
        assert max(size_ for batches in gate.batches for size_ in batches) <= 5


async def test_cancelled_stream_ends_and_what_reached_the_store_stays(serve: Serve) -> None:
    async with gated(serve) as (stack, gate):
        call = stack.client.ingestion.StreamEpisodes(timeout=60)
        await call.write(_item(0))
        await gate.entered.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call.read()
        gate.open.set()
        assert [a.duplicate for a in await stack.client.stream(_item(0))] == [True]


@pytest.mark.parametrize(
    ("error", "code", "name"),
    [
        (StoreUnavailable("gone"), grpc.StatusCode.UNAVAILABLE, "STORE_UNAVAILABLE"),
        (Overloaded("full", 100), grpc.StatusCode.RESOURCE_EXHAUSTED, "OVERLOADED"),
        (KeyError("a body"), grpc.StatusCode.INTERNAL, "INTERNAL"),
    ],
)
async def test_faults_end_the_stream_behind_what_was_acknowledged(
    serve: Serve, error: Exception, code: grpc.StatusCode, name: str
) -> None:
    failing = asyncio.Event()

    def wrap(store: Store) -> Wrapped:
        async def accept(batches: Any) -> Any:
            if failing.is_set():
                raise error
            return await store.accept(batches)

        return Wrapped(store, accept=accept)

    async with serve(wrap=wrap) as stack:
        call = stack.client.ingestion.StreamEpisodes(timeout=60)
        await call.write(_item(0))
        first: Any = await call.read()
        assert first.status == envelope_pb2.STATUS_ACCEPTED
        failing.set()
        await call.write(_item(1))
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await call.read()
        assert caught.value.code() == code
        assert dict(caught.value.trailing_metadata() or ())[CODE_METADATA] == name


async def test_malformed_bytes_end_the_stream_behind_what_came_before(client: Client) -> None:
    stream: Any = client.channel.stream_stream(
        "/kgsvc.v1.IngestionService/StreamEpisodes",
        response_deserializer=ing.StreamEpisodesResponse.FromString,
    )
    answers = aiter(stream(iter([_item(0).SerializeToString(), b"\x0a\xff"]), timeout=60))
    assert (await anext(answers)).status == envelope_pb2.STATUS_ACCEPTED
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await anext(answers)
    assert caught.value.code() == grpc.StatusCode.INVALID_ARGUMENT


async def test_stopping_acknowledges_what_was_read_then_says_unavailable(serve: Serve) -> None:
    async with gated(serve) as (stack, gate):
        call = stack.client.ingestion.StreamEpisodes(timeout=60)
        await call.write(_item(0))
        await gate.entered.wait()
        stopping = asyncio.create_task(stack.server.stop())
        await asyncio.sleep(0)
        gate.open.set()
        answer: Any = await call.read()
        assert answer.status == envelope_pb2.STATUS_ACCEPTED
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await call.read()
        assert caught.value.code() == grpc.StatusCode.UNAVAILABLE
        await stopping


async def test_an_empty_stream_is_fine(client: Client) -> None:
    assert await client.stream() == []


@pytest.mark.parametrize("times", [1, 2, 6])
async def test_a_message_over_the_limit_is_refused_in_band_and_the_stream_goes_on(
    stack: Stack, times: int
) -> None:
    large = times * LIMITS.payload_bytes + 1_000
    answers = await stack.client.stream(_item(1), _item(2, size=large), _item(3))
    assert [answer.status for answer in answers] == [
        envelope_pb2.STATUS_ACCEPTED,
        envelope_pb2.STATUS_ERROR,
        envelope_pb2.STATUS_ACCEPTED,
    ]
    assert answers[1].error.error_code == "LIMIT_EXCEEDED"
    assert (answers[1].client_ref, answers[1].sequence) == ("c2", 1)


async def test_a_call_over_the_limit_names_it(stack: Stack) -> None:
    item = episode("x" * 6 * LIMITS.payload_bytes, 1, uuid="u")
    given = ing.AddEpisodesInput(group_id="g", items=[item])
    answer = await stack.client.ingestion.AddEpisodes(ing.AddEpisodesRequest(input=given, request_id="r"))
    assert (answer.error.error_code, answer.request_id) == ("LIMIT_EXCEEDED", "r")
