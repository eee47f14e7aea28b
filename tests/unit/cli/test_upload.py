"""Streaming items in, against a server that follows a script."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import grpc
import grpc.aio
import pytest

from kgsvc.cli import upload as upload_module
from kgsvc.cli.client import connect
from kgsvc.cli.options import Failure
from kgsvc.cli.reading import BadLine, Record
from kgsvc.cli.upload import Outcome, Upload
from kgsvc.config import Client
from kgsvc.v1.envelope_pb2 import STATUS_ACCEPTED, STATUS_ERROR, Error
from kgsvc.v1.ingestion_pb2 import StreamEpisodesRequest, StreamEpisodesResponse
from kgsvc.v1.types_pb2 import EpisodeItem, ItemState
from tests.unit.cli.serving import serving

COMPLETED, PARKED = ItemState.ITEM_STATE_COMPLETED, ItemState.ITEM_STATE_PARKED


class Store:
    """Keeps items by uuid. A stream breaks after so many acknowledgements, while breaks are left."""

    def __init__(self, breaks: list[tuple[int, grpc.StatusCode]] | None = None) -> None:
        self.kept: dict[str, str] = {}
        self.received = 0
        self.streams = 0
        self.breaks = breaks or []
        self.acknowledging = asyncio.Event()
        self.acknowledging.set()

    async def StreamEpisodes(self, request_iterator: Any, context: Any) -> AsyncIterator[Any]:
        self.streams += 1
        count, code = self.breaks.pop(0) if self.breaks else (-1, None)
        acknowledged = 0
        async for request in request_iterator:
            self.received += 1
            await self.acknowledging.wait()
            answer = self.answer(request)
            if acknowledged == count and code is not None:
                await context.abort(code, "broken by the script")
            acknowledged += 1
            yield answer

    def answer(self, request: StreamEpisodesRequest) -> StreamEpisodesResponse:
        uuid, body = request.episode.uuid, request.episode.body
        duplicate = uuid in self.kept
        known = self.kept.setdefault(uuid, body)
        if known != body:
            error = Error(error_code="CONFLICT", message="other content")
            return StreamEpisodesResponse(status=STATUS_ERROR, error=error)
        state = PARKED if body == "parked" else COMPLETED if body == "done" else ItemState.ITEM_STATE_ACCEPTED
        return StreamEpisodesResponse(
            status=STATUS_ACCEPTED,
            uuid=uuid,
            state=state,
            receipt_id="r",
            client_ref=request.client_ref,
            duplicate=duplicate,
        )


AHEAD = 5 + 2 + 1  # in flight, read ahead, in the reader's hand


def record(line: int, body: str = "text", uuid: str | None = None, minted: bool = False) -> Record:
    item = EpisodeItem(uuid=uuid or f"u{line}", body=body)
    return Record(line, 10, StreamEpisodesRequest(episode=item), minted)


async def send(
    store: Store, records: Iterator[Record | BadLine], timeout_s: float = 20.0, item_bytes: int = 10_000
) -> Outcome:
    async with (
        serving("StreamEpisodes", store.StreamEpisodes) as address,
        connect(Client(server=address, timeout_s=timeout_s)) as service,
    ):
        return await Upload(service, "g", item_bytes, lambda _: None).run(records)


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upload_module, "PAUSE_S", 0.0)


async def test_every_item_is_stored_and_counted() -> None:
    store = Store()
    outcome = await send(store, iter([record(1), record(2, "done"), record(3, "parked")]))
    assert list(store.kept) == ["u1", "u2", "u3"]
    assert (outcome.accepted, outcome.duplicates, outcome.refused) == (3, 0, [])
    assert outcome.open == {"r": {"u1"}}
    assert outcome.parked == {"u3": "parked earlier"}


async def test_bad_lines_and_refused_items_are_named_and_the_others_stored() -> None:
    store = Store()
    store.kept["u3"] = "something else"
    outcome = await send(store, iter([record(1), BadLine(2, 5, "is not JSON"), record(3), record(4)]))
    assert sorted(outcome.refused) == [(2, "is not JSON"), (3, "other content")]
    assert outcome.accepted == 2


async def test_a_minted_uuid_in_conflict_is_there_already() -> None:
    store = Store()
    store.kept["u1"] = "something else"
    outcome = await send(store, iter([record(1, minted=True), record(2)]))
    assert (outcome.accepted, outcome.duplicates, outcome.refused) == (1, 1, [])


async def test_what_was_there_before_this_run_is_a_duplicate() -> None:
    store = Store()
    await send(store, iter([record(1)]))
    outcome = await send(store, iter([record(1), record(2)]))
    assert (outcome.accepted, outcome.duplicates) == (1, 1)


async def test_an_item_larger_than_a_call_may_be_is_not_sent() -> None:
    store = Store()
    outcome = await send(store, iter([record(1, "x" * 200), record(2)]), item_bytes=100)
    assert [line for line, _ in outcome.refused] == [1]
    assert list(store.kept) == ["u2"]


@pytest.mark.parametrize("code", [grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.RESOURCE_EXHAUSTED])
async def test_a_broken_stream_is_taken_up_again_without_losing_or_doubling(code: grpc.StatusCode) -> None:
    store = Store(breaks=[(0, code), (7, code), (1, code)])
    outcome = await send(store, (record(line) for line in range(1, 501)))
    assert len(store.kept) == 500
    assert (outcome.accepted, outcome.duplicates, outcome.refused) == (500, 0, [])
    assert store.streams == 4


async def test_other_errors_end_the_upload_and_say_what_is_stored() -> None:
    store = Store(breaks=[(3, grpc.StatusCode.INVALID_ARGUMENT)] * 10_000)
    with pytest.raises(Failure, match=r"\d+ items are stored; run the same command again for the rest"):
        await send(store, (record(line) for line in range(1, 101)))


async def test_a_stream_that_never_gets_anywhere_is_given_up() -> None:
    store = Store(breaks=[(0, grpc.StatusCode.UNAVAILABLE)] * 10_000)
    with pytest.raises(Failure):
        await send(store, iter([record(1)]), timeout_s=0.2)


async def test_at_most_a_window_is_sent_ahead_of_the_acknowledgements(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(upload_module, "WINDOW_ITEMS", 5)
    monkeypatch.setattr(upload_module, "READ_AHEAD", 2)
    store = Store()
    store.acknowledging.clear()
    taken: list[int] = []
    full, loop = asyncio.Event(), asyncio.get_running_loop()

    def endless() -> Iterator[Record]:
        for line in range(1, 101):
            taken.append(line)
            if line == AHEAD:
                loop.call_soon_threadsafe(full.set)
            yield record(line)

    task = asyncio.create_task(send(store, endless()))
    async with asyncio.timeout(20):
        await full.wait()
        await asyncio.sleep(0.2)  # it would go on now
        assert len(taken) == AHEAD
        store.acknowledging.set()
        outcome = await task
    assert outcome.accepted == 100


async def test_an_input_that_breaks_is_said_after_what_was_read_is_stored() -> None:
    store = Store()

    def breaking() -> Iterator[Record]:
        yield record(1)
        raise OSError(5, "Input/output error")

    with pytest.raises(Failure, match="the input cannot be read further: Input/output error"):
        await send(store, breaking())
    assert list(store.kept) == ["u1"]


async def test_nobody_there_is_said_in_a_sentence() -> None:
    async with connect(Client(server="127.0.0.1:1", timeout_s=0.2)) as service:
        with pytest.raises(Failure, match=r"no service answers at 127\.0\.0\.1:1"):
            await Upload(service, "g", 100, lambda _: None).run(iter([record(1)]))
