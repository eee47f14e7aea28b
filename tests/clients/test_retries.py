"""What the Python client makes of failures: every code of the service's table, and when it tries again."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import grpc
import grpc.aio
import kgsvc_client
import pytest
from kgsvc_client import aio
from kgsvc_client.connection import TRIES, Attempts, Call, Connection, Runtime
from kgsvc_client.errors import error

from kgsvc.api.errors import RULES, CallFailure, Mode, to_status
from kgsvc.domain.errors import Violation
from kgsvc.v1 import envelope_pb2, ingestion_pb2

ANSWERED = [code for code, rule in RULES.items() if rule.mode is not Mode.ENVELOPE]
PERMANENT = [code for code in ANSWERED if not RULES[code].retryable]
PASSING = [code for code in ANSWERED if RULES[code].retryable]
Answers = Callable[[int], CallFailure | None]


@asynccontextmanager
async def service(answers: Answers) -> AsyncIterator[tuple[str, list[Any]]]:
    """The address of a server whose AddEpisodes fails as it is told, in the service's own words, by the
    number of the call; and what it was sent."""
    sent: list[Any] = []

    async def add(request: ingestion_pb2.AddEpisodesRequest, context: Any) -> Any:
        sent.append(request)
        failure = answers(len(sent))
        if failure is not None:
            code, message, trailers = to_status(failure, request.request_id)
            await context.abort(code, message, trailers)
        output = ingestion_pb2.AddEpisodesOutput(receipt_id="r")
        return ingestion_pb2.AddEpisodesResponse(status=envelope_pb2.STATUS_ACCEPTED, output=output)

    server = grpc.aio.server()
    handler: Any = grpc.unary_unary_rpc_method_handler(
        add,
        ingestion_pb2.AddEpisodesRequest.FromString,
        lambda response: response.SerializeToString(),
    )
    handlers = {"AddEpisodes": handler}
    server.add_generic_rpc_handlers(
        (grpc.method_handlers_generic_handler("kgsvc.v1.IngestionService", handlers),)
    )
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        yield f"127.0.0.1:{port}", sent
    finally:
        await server.stop(None)


async def added(address: str, module: Any) -> str:
    """Add a text by one of the two clients; the receipt."""
    if module is aio:
        async with aio.Client(address) as client:
            return (await client.group("g").add("Ann met Bea.")).id
    return await asyncio.to_thread(_added, address)


def _added(address: str) -> str:
    with kgsvc_client.Client(address) as client:
        return client.group("g").add("Ann met Bea.").id


@pytest.mark.parametrize("module", [kgsvc_client, aio])
@pytest.mark.parametrize("code", PERMANENT)
async def test_what_is_refused_is_told_and_not_tried_again(code: str, module: Any) -> None:
    failure = CallFailure(code, "no", (Violation("input.items", "is wrong"),))
    async with service(lambda _: failure) as (address, sent):
        with pytest.raises(kgsvc_client.KgsvcError) as caught:
            await added(address, module)
    found = caught.value
    assert (found.code, found.message, found.retryable) == (code, "no", False)
    assert found.request_id == sent[0].request_id
    assert [(each.field, each.description) for each in found.fields] == [("input.items", "is wrong")]
    assert len(sent) == 1
    assert (type(found) is kgsvc_client.ServiceFault) == (code == "INTERNAL")


@pytest.mark.parametrize("module", [kgsvc_client, aio])
@pytest.mark.parametrize("code", PASSING)
async def test_what_passes_is_tried_again_with_the_same_key(code: str, module: Any) -> None:
    failure = CallFailure(code, "not now", retry_after_ms=20)
    async with service(lambda number: failure if number < 3 else None) as (address, sent):
        assert await added(address, module) == "r"
    assert len(sent) == 3
    assert sent[0].idempotency_key
    assert sent[0] == sent[1] == sent[2]


async def test_attempts_end_with_the_number_of_tries() -> None:
    failure = CallFailure("OVERLOADED", "not now")
    async with service(lambda _: failure) as (address, sent):
        with pytest.raises(kgsvc_client.Unavailable):
            await added(address, aio)
    assert len(sent) == TRIES


async def test_a_service_that_does_not_know_an_operation_is_said_to_be_older() -> None:
    async with service(lambda _: None) as (address, _), aio.Client(address) as client:
        with pytest.raises(kgsvc_client.OlderService, match=f"{address} .*is it older than this client"):
            await client.group("g").search("Who?")


def test_pauses_grow_and_honour_what_the_service_asks_for() -> None:
    runtime = Runtime(monotonic=lambda: 0.0, chance=lambda: 1.0)
    attempts = Attempts(runtime, Call("Healthcheck", tries=100), timeout_s=60.0)
    busy = error("OVERLOADED", "not now")
    assert [attempts.pause_s(busy) for _ in range(8)] == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0]
    busy.retry_after_s = 10.0
    attempts.progressed()
    assert attempts.pause_s(busy) == 10.1
    assert (
        Attempts(replace(runtime, chance=lambda: 0.0), Call("Healthcheck"), 60.0).pause_s(error("BROKEN", ""))
        == 0.05
    )


def test_nobody_waits_longer_than_there_is_time() -> None:
    attempts = Attempts(Runtime(monotonic=lambda: 0.0), Call("Healthcheck"), timeout_s=5.0)
    used_up = error("QUOTA_EXCEEDED", "tomorrow")
    used_up.retry_after_s = 3_600.0
    with pytest.raises(kgsvc_client.Unavailable) as caught:
        attempts.pause_s(used_up)
    assert caught.value is used_up


def test_what_is_given_comes_before_what_the_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KGSVC_SERVER", "localhost:1")
    monkeypatch.setenv("KGSVC_TOKEN", "theirs")
    found = Connection({"server": None, "token": "mine"})
    assert (found.address, dict(found.metadata)["authorization"]) == ("localhost:1", "Bearer mine")
    monkeypatch.setenv("KGSVC_TLS_CERT", "cert.pem")
    with pytest.raises(ValueError, match="tls_cert and tls_key"):
        Connection({})


def test_a_token_does_not_travel_readable_by_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KGSVC_SERVER", "memory.example:443")
    monkeypatch.setenv("KGSVC_TOKEN", "kgsvc_secret")
    with pytest.raises(ValueError, match="readable by all") as caught:
        kgsvc_client.Client()
    assert "kgsvc_secret" not in str(caught.value)


def test_streams_of_interceptors_give_no_way_to_end_them() -> None:
    attempts = Attempts(Runtime(), Call("WatchGroup"), timeout_s=1.0)
    attempts.stream = (number for number in range(3))  # as that of OpenTelemetry
    assert not attempts.cancel()
