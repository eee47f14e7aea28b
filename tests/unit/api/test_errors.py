"""The error table, row by row, in both modes (docs/contract.md)."""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import grpc
import pytest
from google.protobuf.json_format import MessageToDict
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from kgsvc.api.errors import CODE_METADATA, ERROR_DOMAIN, RULES, Mode
from kgsvc.api.server import ServerSettings
from kgsvc.domain.errors import Overloaded, QuotaExceeded, ReadOnly, StoreRefused, StoreUnavailable
from kgsvc.domain.model.items import ItemState
from kgsvc.observability.logs import JsonFormatter
from kgsvc.stores.protocol import Store
from kgsvc.v1 import envelope_pb2
from kgsvc.v1 import ingestion_pb2 as ing
from kgsvc.v1 import retrieval_pb2 as ret
from tests.support.client import Client, episode
from tests.support.served import Serve, Stack, Wrapped, finish
from tests.unit.api.samples import call, request

STATUS_MODE = (("kgsvc-errors", "status"),)
SECRET = "what Ann said"


def _add(body: str = "x", uuid: str | None = None, group: str = "g") -> ing.AddEpisodesRequest:
    given = ing.AddEpisodesInput(group_id=group, items=[episode(body, 1, uuid=uuid)])
    return ing.AddEpisodesRequest(request_id="r1", input=given)


def _invalid(client: Client, **how: Any) -> Any:
    return client.ingestion.AddEpisodes(_add(group=""), **how)


def _limit(client: Client, **how: Any) -> Any:
    return client.ingestion.AddEpisodes(_add("b" * 9_000), **how)


def _not_found(client: Client, **how: Any) -> Any:
    wanted = ret.GetEntityEdgeInput(uuid="nothing")
    return client.retrieval.GetEntityEdge(ret.GetEntityEdgeRequest(request_id="r1", input=wanted), **how)


def _conflict(client: Client, **how: Any) -> Any:
    return client.ingestion.AddEpisodes(_add("other", uuid="taken"), **how)


OPERATION_CASES: dict[str, Callable[..., Any]] = {
    "INVALID_ARGUMENT": _invalid,
    "LIMIT_EXCEEDED": _limit,
    "NOT_FOUND": _not_found,
    "CONFLICT": _conflict,
}


def test_every_operation_error_of_the_table_is_tested() -> None:
    assert {code for code, rule in RULES.items() if rule.mode is Mode.OPERATION} == set(OPERATION_CASES)


@pytest.mark.parametrize("code", sorted(OPERATION_CASES))
async def test_operation_errors_are_in_band_by_default(client: Client, code: str) -> None:
    await client.ingestion.AddEpisodes(_add("one", uuid="taken"))
    sent = OPERATION_CASES[code](client)
    response = await sent
    assert response.status == envelope_pb2.STATUS_ERROR
    assert response.error.error_code == code
    assert response.error.message
    assert response.request_id == "r1"
    assert await sent.code() == grpc.StatusCode.OK
    assert dict(await sent.trailing_metadata())[CODE_METADATA] == code


@pytest.mark.parametrize("code", sorted(OPERATION_CASES))
async def test_operation_errors_are_statuses_on_request(client: Client, code: str) -> None:
    await client.ingestion.AddEpisodes(_add("one", uuid="taken"))
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await OPERATION_CASES[code](client, metadata=STATUS_MODE)
    info, details = _details(caught.value)
    assert caught.value.code() == RULES[code].grpc_code
    assert (info.reason, info.domain, info.metadata["request_id"]) == (code, ERROR_DOMAIN, "r1")
    assert _metadata(caught.value)[CODE_METADATA] == code
    if code == "INVALID_ARGUMENT":
        violation = details["BadRequest"].field_violations[0]
        assert (violation.field, violation.reason) == ("input.group_id", code)


async def test_success_is_the_same_in_both_modes(client: Client) -> None:
    response = await client.ingestion.AddEpisodes(_add("fine"), metadata=STATUS_MODE)
    assert response.status == envelope_pb2.STATUS_ACCEPTED


async def test_many_violations_fit_into_a_status(client: Client) -> None:
    made = request("AddEpisodes")
    made.input.MergeFromString(b"\xf8\x7c\x05" * 500)
    raw = made.SerializeToString()
    in_band = await call(client.channel, "AddEpisodes", raw)
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call(client.channel, "AddEpisodes", raw, metadata=STATUS_MODE)
    _, details = _details(caught.value)
    named = details["BadRequest"].field_violations
    assert len(in_band.error.field_violations) == 100
    assert 0 < len(named) < 100
    assert "do not fit" in named[-1].description


@pytest.mark.parametrize("metadata", [None, STATUS_MODE])
async def test_parked_is_always_in_the_envelope(stack: Stack, metadata: Any) -> None:
    client = stack.client
    first = await client.ingestion.AddEpisodes(_add("bad"))
    await finish(stack.store, "g", ItemState.PARKED, "no good")
    sent = client.ingestion.AddEpisodes(_add("bad"), metadata=metadata)
    response = await sent
    assert response.status == envelope_pb2.STATUS_PARKED
    assert response.output.receipt_id == first.output.receipt_id
    assert response.output.accepted == 1
    assert response.error.error_code == "PARKED"
    assert MessageToDict(response.error.details)["uuids"] == [response.output.items[0].uuid]
    assert dict(await sent.trailing_metadata())[CODE_METADATA] == "PARKED"


async def _raise_overloaded(_batches: Any) -> Any:
    raise Overloaded("the queue is full", 1_500)


async def _raise_quota(_batches: Any) -> Any:
    raise QuotaExceeded("quotas.group_items_a_day", 2_500)


async def _raise_unavailable(_batches: Any) -> Any:
    raise StoreUnavailable("bolt://neo4j:secret@host is gone")


async def _raise_read_only(_batches: Any) -> Any:
    raise ReadOnly


async def _raise_defect(_batches: Any) -> Any:
    raise ValueError(SECRET)


async def _never(_batches: Any) -> Any:
    await asyncio.sleep(0.2)
    return []


FAULTS: dict[str, Callable[[Any], Awaitable[Any]]] = {
    "OVERLOADED": _raise_overloaded,
    "QUOTA_EXCEEDED": _raise_quota,
    "STORE_UNAVAILABLE": _raise_unavailable,
    "READ_ONLY": _raise_read_only,
    "INTERNAL": _raise_defect,
    "DEADLINE_EXCEEDED": _never,
}


@pytest.mark.parametrize("metadata", [None, STATUS_MODE])
@pytest.mark.parametrize("code", sorted(FAULTS))
async def test_faults_around_an_operation_are_statuses_in_both_modes(
    serve: Serve, code: str, metadata: Any
) -> None:
    settings = ServerSettings(default_deadline_s=0.05, grace_s=1.0)
    wrap = lambda store: Wrapped(store, accept=FAULTS[code])  # noqa: E731
    async with serve(wrap=wrap, settings=settings) as stack:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await stack.client.ingestion.AddEpisodes(_add("x"), metadata=metadata)
    assert caught.value.code() == RULES[code].grpc_code
    info, details = _details(caught.value)
    assert (info.reason, info.metadata["request_id"]) == (code, "r1")
    assert _metadata(caught.value)[CODE_METADATA] == code
    text = f"{caught.value.details()} {caught.value.debug_error_string()}"
    assert SECRET not in text
    assert "secret" not in text
    if code == "OVERLOADED":
        assert details["RetryInfo"].retry_delay.ToMilliseconds() == 1_500
    if code == "QUOTA_EXCEEDED":
        assert details["RetryInfo"].retry_delay.ToMilliseconds() == 2_500
        assert info.metadata["limit"] == "quotas.group_items_a_day"


async def test_a_write_that_the_engine_refuses_is_internal_and_says_nothing(
    serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    async def refuse(_delta: Any, _guard: Any) -> Any:
        raise StoreRefused("the store refuses this write") from ValueError(SECRET)

    wanted = ing.AddEntityNodeInput(uuid="n", group_id="g", name="Ada")
    async with serve(wrap=lambda store: Wrapped(store, apply=refuse)) as stack:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await stack.client.ingestion.AddEntityNode(ing.AddEntityNodeRequest(input=wanted))
    info, details = _details(caught.value)
    assert (info.reason, caught.value.code()) == ("INTERNAL", grpc.StatusCode.INTERNAL)
    assert "RetryInfo" not in details
    shown = [caught.value.details(), *(JsonFormatter().format(record) for record in caplog.records)]
    assert SECRET not in "".join(map(str, shown))


@pytest.mark.parametrize("name", ["AddEpisodes", "WatchReceipt"])
@pytest.mark.parametrize("metadata", [None, STATUS_MODE])
async def test_malformed_bytes_are_a_status(client: Client, name: str, metadata: Any) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call(client.channel, name, b"\x0a\xff", metadata=metadata)
    assert caught.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    assert _metadata(caught.value)[CODE_METADATA] == "MALFORMED_REQUEST"


async def test_text_that_is_not_utf8_is_malformed(client: Client) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call(client.channel, "AddEpisodes", b"\x0a\x01\xff")
    assert _metadata(caught.value)[CODE_METADATA] == "MALFORMED_REQUEST"


async def test_too_many_calls_at_once_are_refused_with_a_delay(serve: Serve) -> None:
    entered, go_on = asyncio.Event(), asyncio.Event()

    def wrap(store: Store) -> Wrapped:
        async def accept(batches: Any) -> Any:
            entered.set()
            await go_on.wait()
            return await store.accept(batches)

        return Wrapped(store, accept=accept)

    async with serve(wrap=wrap, settings=ServerSettings(max_calls=1)) as stack:
        first = asyncio.ensure_future(stack.client.ingestion.AddEpisodes(_add("first")))
        await entered.wait()
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await stack.client.retrieval.GetEntityEdge(
                ret.GetEntityEdgeRequest(input=ret.GetEntityEdgeInput(uuid="x"))
            )
        assert caught.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
        assert _details(caught.value)[1]["RetryInfo"].retry_delay.ToMilliseconds() > 0
        go_on.set()
        assert (await first).status == envelope_pb2.STATUS_ACCEPTED


async def test_a_defect_is_logged_with_its_position_and_without_its_text(
    serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    async with serve(wrap=lambda store: Wrapped(store, accept=_raise_defect)) as stack:
        with pytest.raises(grpc.aio.AioRpcError):
            await stack.client.ingestion.AddEpisodes(_add("the body of Ann"))
    lines = [JsonFormatter().format(record) for record in caplog.records]
    assert any("ValueError" in line and "_raise_defect" in line for line in lines)
    assert not any(SECRET in line or "the body of Ann" in line for line in lines)


async def test_each_call_leaves_one_log_line(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="kgsvc.request")
    await client.ingestion.AddEpisodes(_add("a body"))
    await client.ingestion.AddEpisodes(_add("b" * 9_000))
    lines = [json.loads(JsonFormatter().format(record)) for record in caplog.records]
    good, bad = (line for line in lines if line["logger"] == "kgsvc.request")
    assert good["latency_ms"] > 0
    kept = ("request_id", "operation", "group_id", "status", "outcome", "error_code")
    assert [good.get(key) for key in kept] == ["r1", "AddEpisodes", "g", "ACCEPTED", "success", None]
    assert [bad.get(key) for key in kept] == [
        "r1", "AddEpisodes", "g", "ERROR", "refused", "LIMIT_EXCEEDED",
    ]  # fmt: skip
    assert "a body" not in json.dumps(lines)


def _metadata(error: grpc.aio.AioRpcError) -> dict[str, Any]:
    return {str(key): value for key, value in error.trailing_metadata() or ()}


def _details(error: grpc.aio.AioRpcError) -> tuple[error_details_pb2.ErrorInfo, dict[str, Any]]:
    status = rpc_status.from_call(error)  # type: ignore[arg-type]
    assert status is not None
    found: dict[str, Any] = {}
    for packed in status.details:
        name = packed.type_url.rpartition(".")[2]
        found[name] = getattr(error_details_pb2, name)()
        packed.Unpack(found[name])
    return found["ErrorInfo"], found


def _requests(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    return [record for record in caplog.records if record.name == "kgsvc.request"]


async def test_calls_that_name_no_group_are_logged_with_the_one_they_found(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    added = await client.ingestion.AddEpisodes(_add("a body"))
    node = ing.AddEntityNodeInput(uuid="n", group_id="g", name="Ann")
    await client.ingestion.AddEntityNode(ing.AddEntityNodeRequest(input=node))
    caplog.set_level(logging.INFO, logger="kgsvc.request")
    caplog.clear()
    receipt = added.output.receipt_id
    asked = ing.GetReceiptInput(receipt_id=receipt)
    await client.ingestion.GetReceipt(ing.GetReceiptRequest(input=asked))
    watch = client.ingestion.WatchReceipt(
        ing.WatchReceiptRequest(input=ing.WatchReceiptInput(receipt_id=receipt))
    )
    await watch.read()
    watch.cancel()
    bare = ret.GetEntityNodeRequest(input=ret.GetEntityNodeInput(uuid="n"))
    await client.retrieval.GetEntityNode(bare)
    unknown = ret.GetEntityNodeRequest(input=ret.GetEntityNodeInput(uuid="x"))
    await client.retrieval.GetEntityNode(unknown)
    async with asyncio.timeout(10):
        while len(_requests(caplog)) < 4:  # noqa: ASYNC110  the watch ends by itself
            await asyncio.sleep(0.01)
    lines = [json.loads(JsonFormatter().format(record)) for record in _requests(caplog)]
    found = {(line["operation"], line["status"]): line.get("group_id") for line in lines}
    assert found.pop(("GetEntityNode", "ERROR")) is None
    assert {operation: group for (operation, _), group in found.items()} == {
        "GetEntityNode": "g", "GetReceipt": "g", "WatchReceipt": "g",
    }  # fmt: skip
