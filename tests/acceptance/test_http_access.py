"""Who may, over HTTP: every RPC by its descriptor, with tokens of every kind, as test_access.py asks it over
gRPC."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator

import httpx
import pytest
import pytest_asyncio
from google.protobuf import json_format
from google.protobuf.message_factory import GetMessageClass

from tests.acceptance.access import GROUP, HOUR_MS, Guarded, guarded
from tests.acceptance.test_access import NO_GROUP, body_of, reads
from tests.support.client import CALL_S
from tests.support.contract import METHODS, path
from tests.support.http_calls import Outcome, called, streams

MALFORMED = b"{"
SHORT = {"connect_timeout_ms": "300"}  # of streams that do not end by themselves
REVOKED_S = 10.0


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Guarded]:
    async with guarded(tmp_path_factory.mktemp("access"), "token", server__http_listen="127.0.0.1:0") as made:
        yield made


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def http(server: Guarded) -> AsyncIterator[httpx.AsyncClient]:
    trusted = ssl.create_default_context(cafile=server.authority.path)
    async with httpx.AsyncClient(
        base_url=server.http_url, verify=trusted, timeout=CALL_S, trust_env=False
    ) as made:
        yield made


def sent(name: str, group: str = GROUP) -> bytes:
    """A right request of a method for a group, as JSON."""
    kind = GetMessageClass(METHODS[name].input_type)
    return json_format.MessageToJson(kind.FromString(body_of(name, group))).encode()


async def outcome(http: httpx.AsyncClient, name: str, body: bytes, token: str | None) -> Outcome:
    """How a call ends; a stream that would go on does not count as ended."""
    found = await called(http, name, body, token, **(SHORT if streams(name) else {}))
    if streams(name) and found.code == "deadline_exceeded":
        return Outcome(found.status, "", {}, found.answers)
    return found


@pytest.mark.parametrize(
    "kind",
    [
        None,
        "kgsvc_0123_wrong",
        *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("forged", "expired")),
    ],
)
@pytest.mark.parametrize("name", METHODS)
async def test_without_a_valid_token_nothing_is_done(
    name: str, kind: str | None, server: Guarded, http: httpx.AsyncClient
) -> None:
    token = None if kind is None else server.tokens.get(kind, kind)
    server.store.touched.clear()
    for body in (MALFORMED, sent(name)):
        found = await outcome(http, name, body, token)
        assert (found.code, found.answers) == ("unauthenticated", [])
        assert found.status == (200 if streams(name) else 401)
    assert server.store.touched == []


@pytest.mark.parametrize("name", sorted(METHODS.keys() - NO_GROUP))
async def test_a_foreign_group_is_denied(name: str, server: Guarded, http: httpx.AsyncClient) -> None:
    server.store.touched.clear()
    found = await outcome(http, name, sent(name), server.tokens["foreign"])
    assert (found.code, found.answers) == ("permission_denied", [])
    assert found.status == (200 if streams(name) else 403)
    assert server.store.touched == []


@pytest.mark.parametrize("name", METHODS)
async def test_a_token_that_may_only_read_does_not_write(
    name: str, server: Guarded, http: httpx.AsyncClient
) -> None:
    found = await outcome(http, name, sent(name), server.tokens["only-reads"])
    assert (found.code == "permission_denied") is not reads(name), found.error
    malformed = await outcome(http, name, MALFORMED, server.tokens["only-reads"])
    assert malformed.code == ("invalid_argument" if reads(name) else "permission_denied")


@pytest.mark.parametrize("name", sorted(METHODS.keys() - {"ClearAll", "DeleteGroup"}))
async def test_a_tenant_may_do_everything_in_its_groups(
    name: str, server: Guarded, http: httpx.AsyncClient
) -> None:
    found = await outcome(http, name, sent(name, f"acme/http-{name}"), server.tokens["tenant"])
    assert found.code in {"", "not_found"}, found.error


async def test_a_revoked_token_is_none(server: Guarded, http: httpx.AsyncClient) -> None:
    """Neither for new calls nor for a stream that runs."""
    await server.add("short", {"acme/": "read"}, HOUR_MS)
    await server.taken_over("short")
    headers = {"authorization": f"Bearer {server.tokens['short']}", "accept": "text/event-stream"}
    asked = {"input": {"groupId": GROUP}}
    async with asyncio.timeout(REVOKED_S):
        async with http.stream("POST", path("WatchGroup"), json=asked, headers=headers) as watched:
            told = watched.aiter_text()
            assert (await anext(told)).startswith("event: answer")
            await server.revoke("short")
            rest = "".join([each async for each in told])
    assert json.loads(rest.rpartition("data: ")[2])["code"] == "unauthenticated"
    found = await outcome(http, "Healthcheck", sent("Healthcheck"), server.tokens["short"])
    assert (found.status, found.code) == (401, "unauthenticated")
