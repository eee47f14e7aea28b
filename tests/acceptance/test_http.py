"""The contract over HTTP: what gRPC answers, in the forms of Connect, gRPC-Web and server-sent events."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from typing import Any

import grpc
import httpx
import pytest
import pytest_asyncio
from google.protobuf import json_format
from google.protobuf.message_factory import GetMessageClass

from kgsvc.v1 import ingestion_pb2 as ing
from tests.acceptance.access import GROUP, Guarded, guarded
from tests.acceptance.saying import JAN, fact, telling
from tests.acceptance.test_access import body_of
from tests.acceptance.test_limits import CAPS, NUMBERS, with_value
from tests.support.client import CALL_S, Client
from tests.support.contract import METHODS, path, response_class
from tests.support.http_calls import as_json, called, first, frame, framed, streams
from tests.support.requests import complete
from tests.support.service import Service

SETTINGS = {"server.http_listen": "127.0.0.1:0"}
UNARY = sorted(n for n, m in METHODS.items() if not m.server_streaming and n != "ClearAll")
JSON = {"content-type": "application/json"}
HTTP_STATUSES = {"INVALID_ARGUMENT": 400, "NOT_FOUND": 404, "ALREADY_EXISTS": 409}


@pytest_asyncio.fixture(loop_scope="session")
async def http(service: Service) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=service.http_url, timeout=CALL_S, trust_env=False) as made:
        yield made


def shape(value: Any) -> Any:
    """The fields that are set, without what another call has otherwise."""
    if isinstance(value, dict):
        return {key: shape(each) for key, each in value.items()}
    return [shape(each) for each in value] if isinstance(value, list) else type(value).__name__


async def over_grpc(client: Client, name: str, group: str) -> tuple[int, Any]:
    call: Any = client.channel.unary_unary(
        path(name),
        request_serializer=lambda message: message.SerializeToString(),
        response_deserializer=response_class(name).FromString,
    )
    try:
        answer = await call(complete(name, group), timeout=CALL_S, metadata=[("kgsvc-errors", "status")])
    except grpc.aio.AioRpcError as error:
        return HTTP_STATUSES[error.code().name], error.details()
    return 200, shape(json_format.MessageToDict(answer))


@pytest.mark.parametrize("name", UNARY)
async def test_a_call_answers_as_over_grpc(
    name: str, client: Client, http: httpx.AsyncClient, group: str
) -> None:
    answer = await http.post(path(name), content=as_json(complete(name, f"{group}-b")), headers=JSON)
    found = answer.json()
    status, expected = await over_grpc(client, name, f"{group}-a")
    assert answer.status_code == status
    assert (found["message"] if "code" in found else shape(found)) == expected


async def first_over_grpc(client: Client, name: str, raw: bytes) -> tuple[str, Any]:
    """The code of a stream and the first answer."""
    method = METHODS[name]
    make: Any = client.channel.stream_stream if method.client_streaming else client.channel.unary_stream
    started = make(path(name), lambda sent: sent, response_class(name).FromString)
    call = started(
        iter([raw]) if method.client_streaming else raw,
        timeout=CALL_S,
        metadata=[("kgsvc-errors", "status")],
    )
    try:
        answer = await call.read()
    except grpc.aio.AioRpcError as error:
        return error.code().name.lower(), error.details()
    call.cancel()
    return "", shape(json_format.MessageToDict(answer))


@pytest.mark.parametrize("name", sorted(filter(streams, METHODS)))
async def test_a_stream_answers_as_over_grpc(
    name: str, client: Client, http: httpx.AsyncClient, group: str
) -> None:
    raw = body_of(name, f"{group}-b")
    sent = as_json(GetMessageClass(METHODS[name].input_type).FromString(raw))
    found = await first(http, name, sent)
    code, expected = await first_over_grpc(client, name, body_of(name, f"{group}-a"))
    if code:
        told = found.error["message"].replace(f"{group}-b", f"{group}-a")
        assert (found.code, told) == (code, expected)
    else:
        assert shape(found.answers[0]) == expected


@pytest.mark.parametrize(
    ("operation", "where", "most"),
    [*((o, w, "x" * (n + 1)) for o, w, n in CAPS), *((o, w, n + 1) for o, w, n in NUMBERS)],
)
async def test_what_is_over_its_limit_is_named(
    operation: str, where: str, most: str | int, http: httpx.AsyncClient, group: str
) -> None:
    found = await called(http, operation, as_json(with_value(operation, where, most, group)))
    details = {each["type"]: each["debug"] for each in found.error["details"]}
    (violation,) = details["google.rpc.BadRequest"]["fieldViolations"]
    assert (found.status, violation["field"], violation["reason"]) == (400, where, "LIMIT_EXCEEDED")


@pytest.mark.parametrize("name", UNARY)
async def test_an_unknown_field_is_named(name: str, http: httpx.AsyncClient, group: str) -> None:
    answer = await http.post(path(name), json={"input": {"nosuch": 1}}, headers=JSON)
    assert answer.status_code == 400
    assert '"nosuch"' in answer.json()["message"]


async def test_protobuf_and_grpc_web_hold_the_same_answer(http: httpx.AsyncClient, group: str) -> None:
    raw, where = complete("Healthcheck", group).SerializeToString(), path("Healthcheck")
    plain = await http.post(where, content=raw, headers={"content-type": "application/proto"})
    web = await http.post(where, content=frame(raw), headers={"content-type": "application/grpc-web+proto"})
    (_, message), (flags, trailers) = framed(web.content)
    kind = response_class("Healthcheck")
    assert kind.FromString(plain.content).output == kind.FromString(message).output
    assert (flags, trailers.split(b"\r\n")[0]) == (0x80, b"grpc-status: 0")


async def test_an_error_of_grpc_web_stands_in_its_trailers(http: httpx.AsyncClient) -> None:
    headers = {"content-type": "application/grpc-web+proto"}
    answer = await http.post(path("SearchFacts"), content=frame(b""), headers=headers)
    ((flags, trailers),) = framed(answer.content)
    assert flags == 0x80
    assert b"grpc-status: 3\r\ngrpc-message: input: is required\r\n" in trailers
    assert b"kgsvc-error-code: INVALID_ARGUMENT" in trailers


async def test_a_stream_comes_as_events(http: httpx.AsyncClient, client: Client, group: str) -> None:
    accepted = await client.add_episodes(group, [telling(JAN, fact("LIKES", "Ann", "tea"))])
    receipt = accepted.receipt_id
    body = {"input": {"receiptId": receipt}}
    answer = await http.post(path("WatchReceipt"), json=body, headers={"accept": "text/event-stream"})
    *events, end, nothing = answer.text.split("\n\n")
    assert all(each.startswith("event: answer\ndata: {") for each in events)
    assert json.loads(events[-1].partition("data: ")[2])["output"]["receiptId"] == receipt
    assert (end, nothing) == ("event: end\ndata: {}", "")


async def test_a_stream_of_connect_both_ways(http: httpx.AsyncClient, group: str) -> None:
    episode = telling(JAN, fact("LIKES", "Ann", "tea"), uuid="told")
    request = as_json(ing.StreamEpisodesRequest(group_id=group, episode=episode))
    headers = {"content-type": "application/connect+json"}
    answer = await http.post(path("StreamEpisodes"), content=frame(request) + frame(request), headers=headers)
    *acknowledged, (flags, end) = framed(answer.content)
    assert [json.loads(each)["uuid"] for _, each in acknowledged] == ["told", "told"]
    assert (flags, end) == (0x02, b"{}")


@pytest.mark.parametrize(
    ("body", "headers", "status", "said"),
    [
        (b"{", JSON, 400, "Failed to load JSON"),
        (b"[]", JSON, 400, "is not an object"),
        (b"{}", JSON, 400, "input: is required"),
        (b"\xff", JSON, 400, "as JSON"),
        (b"[" * 20_000, JSON, 400, "as JSON"),
        (b'{"input": {"query": 7}}', JSON, 400, "query"),
        (b'{"input": {"max_facts": "' + b"9" * 5_000 + b'"}}', JSON, 400, "integer"),
        (b'{"input": {}, "input": {}}', JSON, 400, "input"),
        (b"{}", {"content-type": "text/plain"}, 415, "text/plain"),
        (b"{}", {"content-type": ""}, 415, "none"),
        (b"x" * 5_000_000, JSON, 400, "bytes"),
        (b"{}", JSON | {"connect-timeout-ms": "-1"}, 400, "connect-timeout-ms"),
        (b"\x01\0\0\0\0", {"content-type": "application/connect+json"}, 200, "compressed"),
        (b"\0\xff\xff\xff\xff", {"content-type": "application/connect+json"}, 200, "bytes"),
        (b"\0\0\0\0\x09{}", {"content-type": "application/connect+json"}, 200, "within a message"),
        (b"", {"content-type": "application/connect+json"}, 200, "no message"),
        (b"\0\0\0\0\x02{}" * 3, {"content-type": "application/connect+json"}, 200, "several messages"),
        (b"{}", JSON | {"host": "evil.test"}, 421, "evil.test"),
    ],
)
async def test_what_cannot_be_read_is_refused(
    http: httpx.AsyncClient, body: bytes, headers: dict[str, str], status: int, said: str
) -> None:
    answer = await http.post(path("SearchFacts"), content=body, headers=headers)
    assert (answer.status_code, said in answer.text) == (status, True), answer.text[:500]


async def test_pages_of_other_origins_are_told_nothing(http: httpx.AsyncClient) -> None:
    origin = {"origin": "https://evil.test"}
    wanted = origin | {"access-control-request-method": "POST"}
    asked = await http.options(path("Healthcheck"), headers=wanted)
    assert asked.status_code == 405
    answer = await http.post(path("Healthcheck"), json={}, headers=origin)
    assert not any(each.startswith("access-control") for each in (*asked.headers, *answer.headers))


async def test_a_deadline_ends_a_stream(http: httpx.AsyncClient, group: str) -> None:
    headers = {"accept": "text/event-stream", "connect-timeout-ms": "50"}
    answer = await http.post(path("WatchGroup"), json={"input": {"groupId": group}}, headers=headers)
    assert json.loads(answer.text.rpartition("data: ")[2])["code"] == "deadline_exceeded"


@pytest.mark.parametrize(("method", "where", "status"), [("GET", "SearchFacts", 405), ("POST", "No", 501)])
async def test_what_is_not_there(http: httpx.AsyncClient, method: str, where: str, status: int) -> None:
    answer = await http.request(method, f"/kgsvc.v1.RetrievalService/{where}", headers=JSON, content="{}")
    assert (answer.status_code, answer.json()["code"]) == (status, "unimplemented")


async def test_a_client_that_goes_is_no_fault(service: Service, http: httpx.AsyncClient, group: str) -> None:
    """In the middle of its body, and of a stream's answers."""

    async def half() -> AsyncIterator[bytes]:
        yield frame(b"{}")[:3]
        raise ConnectionAbortedError

    headers = {"content-type": "application/connect+json"}
    for name in ("StreamEpisodes", "SearchFacts"):
        with pytest.raises(ConnectionAbortedError):
            await http.post(path(name), content=half(), headers=headers)
    events = {"accept": "text/event-stream"}
    with pytest.raises(httpx.ReadTimeout):
        await http.post(path("WatchGroup"), json={"input": {"groupId": group}}, headers=events, timeout=0.2)
    await service.printed("WatchGroup cancelled")
    await service.printed("StreamEpisodes cancelled")
    assert "INTERNAL" not in service.errors


async def test_many_at_once_are_answered(http: httpx.AsyncClient, group: str) -> None:
    body = {"input": {"groupIds": [group], "query": "tea"}}
    answers = await asyncio.gather(*(http.post(path("SearchFacts"), json=body) for _ in range(50)))
    assert {answer.status_code for answer in answers} == {200}


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Guarded]:
    async with guarded(tmp_path_factory.mktemp("access"), "token", server__http_listen="127.0.0.1:0") as made:
        yield made


@pytest.mark.parametrize(
    ("kind", "name", "status"),
    [
        (None, "SearchFacts", 401),
        ("expired", "SearchFacts", 401),
        ("foreign", "SearchFacts", 403),
        ("read-only", "DeleteGroup", 403),
        ("read-only", "SearchFacts", 200),
        ("tenant", "ClearAll", 403),
    ],
)
async def test_who_may_is_asked_as_over_grpc(
    server: Guarded, kind: str | None, name: str, status: int
) -> None:
    trusted = ssl.create_default_context(cafile=server.authority.path)
    headers = JSON if kind is None else JSON | {"authorization": f"Bearer {server.tokens[kind]}"}
    async with httpx.AsyncClient(base_url=server.http_url, verify=trusted, trust_env=False) as http:
        body = as_json(complete(name, GROUP))
        assert (await http.post(path(name), content=body, headers=headers)).status_code == status
        if kind is None:
            malformed = await http.post(path(name), content="{", headers=headers)
            assert malformed.status_code == 401, "nobody is read before it is known who calls"
