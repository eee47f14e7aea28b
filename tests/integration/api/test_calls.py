"""Unary calls against what goes wrong around them: hang-ups, company, drain."""

import asyncio
import itertools
import logging
from collections.abc import Iterator
from functools import partial
from typing import Any

import grpc
import pytest
from prometheus_client import generate_latest

from kgsvc.stores.protocol import Store
from kgsvc.v1 import envelope_pb2
from kgsvc.v1 import ingestion_pb2 as ing
from tests.support.client import Client, episode
from tests.support.served import Serve, Wrapped


def _add(client: Client, number: int, **how: Any) -> Any:
    given = ing.AddEpisodesInput(group_id="g", items=[episode(str(number), number, uuid=f"u{number}")])
    return client.ingestion.AddEpisodes(ing.AddEpisodesRequest(input=given), **how)


def _held(store: Store, method: str, entered: asyncio.Event, go_on: asyncio.Event, log: list[Any]) -> Wrapped:
    async def call(*args: Any, **kwargs: Any) -> Any:
        log.append(args[0])
        entered.set()
        await go_on.wait()
        try:
            return await getattr(store, method)(*args, **kwargs)
        finally:
            log.append("done")

    return Wrapped(store, **{method: call})


class _Noticed(logging.Handler):
    """Tells when the server has noticed that a caller hung up."""

    def __init__(self) -> None:
        super().__init__()
        self.hung_up = asyncio.Event()

    def emit(self, record: logging.LogRecord) -> None:
        if getattr(record, "outcome", "") == "cancelled":
            self.hung_up.set()


@pytest.fixture
def noticed() -> Iterator[asyncio.Event]:
    """Set when a call was logged as cancelled."""
    handler, requests = _Noticed(), logging.getLogger("kgsvc.request")
    before = requests.level
    requests.addHandler(handler)
    requests.setLevel(logging.INFO)
    yield handler.hung_up
    requests.setLevel(before)
    requests.removeHandler(handler)


@pytest.mark.parametrize("how", ["cancel", "deadline"])
async def test_a_call_that_is_hung_up_on_finishes_its_write(
    serve: Serve, noticed: asyncio.Event, how: str
) -> None:
    entered, go_on = asyncio.Event(), asyncio.Event()
    log: list[Any] = []
    async with serve(wrap=partial(_held, method="apply", entered=entered, go_on=go_on, log=log)) as stack:
        given = ing.AddEntityNodeInput(uuid="e", group_id="g", name="Ann")
        call = stack.client.ingestion.AddEntityNode(
            ing.AddEntityNodeRequest(input=given), timeout=0.2 if how == "deadline" else 30
        )
        waiting = asyncio.ensure_future(_outcome(call))
        await entered.wait()
        if how == "cancel":
            call.cancel()
        assert await waiting in ("cancelled", grpc.StatusCode.DEADLINE_EXCEEDED)
        await noticed.wait()
        go_on.set()
        await stack.server.stop()
        assert log[-1] == "done"
        assert [entity.name for entity in await stack.store.entity("e", "g")] == ["Ann"]


async def test_a_defect_behind_a_call_that_was_hung_up_on_is_logged(
    serve: Serve, noticed: asyncio.Event, caplog: pytest.LogCaptureFixture
) -> None:
    entered, go_on = asyncio.Event(), asyncio.Event()

    async def apply(_delta: Any, _guard: Any) -> Any:
        entered.set()
        await go_on.wait()
        raise LookupError("a body")

    async with serve(wrap=lambda store: Wrapped(store, apply=apply)) as stack:
        given = ing.AddEntityNodeInput(uuid="e", group_id="g", name="Ann")
        call = stack.client.ingestion.AddEntityNode(ing.AddEntityNodeRequest(input=given))
        waiting = asyncio.ensure_future(_outcome(call))
        await entered.wait()
        call.cancel()
        await waiting
        await noticed.wait()
        go_on.set()
        await stack.server.stop()
    failed = [record for record in caplog.records if "without a caller" in record.getMessage()]
    assert [record.exc_info[0] for record in failed if record.exc_info] == [LookupError]


async def _outcome(call: Any) -> Any:
    try:
        await call
    except asyncio.CancelledError:
        return "cancelled"
    except grpc.aio.AioRpcError as error:
        return error.code()
    return "answered"


async def test_calls_at_the_same_time_share_a_commit(serve: Serve) -> None:
    entered, go_on = asyncio.Event(), asyncio.Event()
    log: list[Any] = []
    ids, all_waiting = itertools.count(1), asyncio.Event()

    def new_id() -> str:
        """Each call takes two: its own, and its receipt's just before it waits for the commit."""
        number = next(ids)
        if number == 2 * 41:
            all_waiting.set()
        return f"id-{number}"

    wrap = partial(_held, method="accept", entered=entered, go_on=go_on, log=log)
    async with serve(wrap=wrap, new_id=new_id) as stack:
        calls = [asyncio.ensure_future(_outcome(_add(stack.client, 0)))]
        await entered.wait()
        calls += [asyncio.ensure_future(_outcome(_add(stack.client, n))) for n in range(1, 41)]
        await all_waiting.wait()
        go_on.set()
        assert await asyncio.gather(*calls) == ["answered"] * 41
        assert [len(entry) for entry in log if entry != "done"] == [1, 40]
        assert b"ingestion_accepted_total 41.0" in generate_latest(stack.core.metrics.registry)


async def test_one_conflict_refuses_one_call_of_a_shared_commit(serve: Serve) -> None:
    entered, go_on = asyncio.Event(), asyncio.Event()
    log: list[Any] = []
    async with serve(wrap=partial(_held, method="accept", entered=entered, go_on=go_on, log=log)) as stack:
        go_on.set()
        await _add(stack.client, 1)
        given = ing.AddEpisodesInput(group_id="g", items=[episode("other", 1, uuid="u1")])
        bad = stack.client.ingestion.AddEpisodes(ing.AddEpisodesRequest(input=given))
        responses = await asyncio.gather(_add(stack.client, 2), bad, _add(stack.client, 3))
        assert [r.status for r in responses] == [
            envelope_pb2.STATUS_ACCEPTED,
            envelope_pb2.STATUS_ERROR,
            envelope_pb2.STATUS_ACCEPTED,
        ]


async def test_stop_lets_calls_under_way_finish(serve: Serve) -> None:
    entered, go_on = asyncio.Event(), asyncio.Event()
    log: list[Any] = []
    async with serve(wrap=partial(_held, method="accept", entered=entered, go_on=go_on, log=log)) as stack:
        call = asyncio.ensure_future(_outcome(_add(stack.client, 1)))
        await entered.wait()
        stopping = asyncio.create_task(stack.server.stop())
        await asyncio.sleep(0)
        go_on.set()
        assert await call == "answered"
        await stopping
