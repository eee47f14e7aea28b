"""The HTTP server in this process: each error code as over gRPC, and patience with slow and many clients."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import grpc
import httpx
import pytest
from google.protobuf import json_format
from grpc_status import rpc_status

from kgsvc.api.errors import RULES, ShuttingDown
from kgsvc.api.http import gateway
from kgsvc.api.http.gateway import Gateway
from kgsvc.api.http.server import HttpServer, HttpSettings
from kgsvc.api.server import ServerSettings
from kgsvc.domain.errors import (
    AnswererUnavailable,
    EmbedderUnavailable,
    Overloaded,
    PermissionDenied,
    QuotaExceeded,
    ReadOnly,
    StoreUnavailable,
    Unauthenticated,
)
from kgsvc.domain.model.items import ItemState
from tests.support.contract import path
from tests.support.hostile_http import Answer, exchange, post
from tests.support.served import LIMITS, Serve, Stack, Wrapped, finish
from tests.unit.api.samples import request
from tests.unit.api.test_errors import OPERATION_CASES

WAIT_S = 20.0
SOON_S = 0.2
# By error code, what goes wrong in the store, as far as a store can.
FAULTS: dict[str, Exception | None] = {
    "OVERLOADED": Overloaded("the queue is full", 1_500),
    "QUOTA_EXCEEDED": QuotaExceeded("quotas.group_items_a_day", 2_500),
    "STORE_UNAVAILABLE": StoreUnavailable("bolt://neo4j:secret@host is gone"),
    "EMBEDDER_UNAVAILABLE": EmbedderUnavailable("no vectors"),
    "READ_ONLY": ReadOnly(),
    "MODEL_UNAVAILABLE": AnswererUnavailable("no answer", 3_500),
    "SHUTTING_DOWN": ShuttingDown(),
    "UNAUTHENTICATED": Unauthenticated("no credential"),
    "PERMISSION_DENIED": PermissionDenied("not here"),
    "INTERNAL": ValueError("what Ann said"),
    "DEADLINE_EXCEEDED": None,  # it does not answer
}
STATUSES = {
    "INVALID_ARGUMENT": 400, "LIMIT_EXCEEDED": 400, "MALFORMED_REQUEST": 400, "READ_ONLY": 400,
    "UNAUTHENTICATED": 401,
    "PERMISSION_DENIED": 403, "NOT_FOUND": 404, "CONFLICT": 409, "OVERLOADED": 429, "QUOTA_EXCEEDED": 429,
    "INTERNAL": 500, "STORE_UNAVAILABLE": 503, "EMBEDDER_UNAVAILABLE": 503, "MODEL_UNAVAILABLE": 503,
    "SHUTTING_DOWN": 503, "DEADLINE_EXCEEDED": 504,
}  # fmt: skip
NO_STATUS = {"PARKED", "CANCELLED"}  # in the answer; told to nobody


@asynccontextmanager
async def over_http(stack: Stack, head_s: float = 30.0, body_s: float = 60.0) -> AsyncIterator[str]:
    """Serve a stack over HTTP too; where."""
    made = Gateway(stack.server.handler, LIMITS.payload_bytes, body_s=body_s)
    server = HttpServer(made, HttpSettings("127.0.0.1", 0, head_s=head_s, grace_s=1.0))
    port = server.listen()
    await server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        await server.stop()


class OverHttp:
    """The services of a client, of which each method is called over HTTP."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self._http = http

    def __getattr__(self, name: str) -> Any:
        if not name[0].isupper():  # a service
            return self
        return lambda sent, **_: self._http.post(
            path(name), content=json_format.MessageToJson(sent), headers={"content-type": "application/json"}
        )


def add(client: Any, **how: Any) -> Awaitable[Any]:
    """An episode of four bytes."""
    return client.ingestion.AddEpisodes(request("AddEpisodes"), **how)  # type: ignore[no-any-return]


async def equal_refusals(stack: Stack, call: Callable[..., Any], code: str) -> None:
    """The same code, message and details, with the status that docs/http.md names."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call(stack.client, metadata=[("kgsvc-errors", "status")])
    expected = rpc_status.from_call(caught.value)  # type: ignore[arg-type]
    async with (
        over_http(stack) as address,
        httpx.AsyncClient(base_url=f"http://{address}", timeout=WAIT_S, trust_env=False) as http,
    ):
        answer = await call(OverHttp(http))
    found = answer.json()
    assert answer.status_code == STATUSES[code]
    assert (found["code"], found["message"]) == (caught.value.code().name.lower(), caught.value.details())
    details = {each["type"]: each["debug"] for each in found["details"]}
    assert details["google.rpc.ErrorInfo"]["reason"] == code
    for packed in expected.details:
        told = details[packed.TypeName()]
        meant = {k: v for k, v in json_format.MessageToDict(packed).items() if k != "@type"}
        for each in (told, meant):  # each call has an id of its own
            each.get("metadata", {}).pop("request_id", None)
        assert told == meant


def test_every_error_code_has_a_status() -> None:
    assert STATUSES.keys() | NO_STATUS == RULES.keys()
    assert STATUSES.keys() == FAULTS.keys() | OPERATION_CASES.keys() | {"MALFORMED_REQUEST"}


@pytest.mark.parametrize("code", sorted(FAULTS))
async def test_a_fault_is_told_as_over_grpc(serve: Serve, code: str) -> None:
    async def accept(_batches: Any) -> Any:
        fault = FAULTS[code]
        if fault is None:
            await asyncio.sleep(SOON_S)
            return []
        raise fault

    deadline_s = SOON_S / 4 if FAULTS[code] is None else WAIT_S
    settings = ServerSettings(default_deadline_s=deadline_s, grace_s=1.0)
    async with serve(wrap=lambda store: Wrapped(store, accept=accept), settings=settings) as stack:
        await equal_refusals(stack, add, code)


@pytest.mark.parametrize("code", sorted(OPERATION_CASES))
async def test_a_refusal_is_told_as_over_grpc(stack: Stack, code: str) -> None:
    taken = request("AddEpisodes")
    taken.input.items[0].uuid = "taken"
    await stack.client.ingestion.AddEpisodes(taken)
    await equal_refusals(stack, OPERATION_CASES[code], code)


async def test_a_parked_item_stands_in_the_answer(stack: Stack) -> None:
    await add(stack.client)
    await finish(stack.store, "g", ItemState.PARKED, "no good")
    async with over_http(stack) as address:
        answer = await exchange(address, post(_added(), where=path("AddEpisodes")))
    found = json.loads(answer.body)
    assert (answer.status, found["status"], found["error"]["errorCode"]) == (200, "STATUS_PARKED", "PARKED")


def _added() -> bytes:
    return json_format.MessageToJson(request("AddEpisodes")).encode()


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (post(_added(), where=path("AddEpisodes"))[:20], "the head of the request did not come in time"),
        (post(_added(), where=path("AddEpisodes"))[:-5], "the body did not come within 0.2 s"),
    ],
)
async def test_who_begins_a_request_and_stops_is_told_so(stack: Stack, raw: bytes, said: str) -> None:
    async with over_http(stack, head_s=SOON_S, body_s=SOON_S) as address:
        answer = await exchange(address, raw)
    assert (answer.status, json.loads(answer.body)) == (408, {"code": "deadline_exceeded", "message": said})


_MORE = "content-length: 99\r\n"  # than comes


@pytest.mark.parametrize("kind", ["content-type: application/connect+json", "accept: text/event-stream"])
async def test_a_stream_that_waits_for_its_request_ends_too(stack: Stack, kind: str) -> None:
    headers = f"{kind}\r\nconnection: close\r\n"
    raw = post(b"\0\0\0\0\x30{", where=path("WatchGroup"), headers=headers, length=_MORE)
    async with over_http(stack, body_s=SOON_S) as address:
        answer = await exchange(address, raw)
    assert b"the body did not come within 0.2 s" in answer.body


async def test_a_silent_connection_is_closed_without_a_word(stack: Stack) -> None:
    async with over_http(stack, head_s=SOON_S) as address:
        reader, writer = await asyncio.open_connection(*address.split(":"))
        async with asyncio.timeout(WAIT_S):
            assert await reader.read() == b""
        writer.close()


async def test_bodies_that_come_at_once_are_bounded_together(
    stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And what they held is free again afterwards, however they end."""
    raw = post(_added(), where=path("AddEpisodes"))
    monkeypatch.setattr(gateway, "_HELD_BYTES", 3 * len(_added()))
    async with over_http(stack, body_s=5 * SOON_S) as address:
        slow = [asyncio.create_task(exchange(address, raw[:-1])) for _ in range(8)]
        first: set[Answer] = {await each for each in asyncio.as_completed(slow)}
        assert {each.status for each in first} == {408, 429}
        assert any(b"too many bodies come at once" in each.body for each in first)
        assert (await exchange(address, raw)).status == 200
