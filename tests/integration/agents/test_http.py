"""Streamable HTTP as anybody may call it: what no agent sends is refused, in bounds of size and time."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
from starlette.types import Message

from kgsvc.cli.agents.transports import HttpGuard
from tests.integration.cli.conftest import kgsvc
from tests.support.agents import held, over_http

pytestmark = pytest.mark.asyncio(loop_scope="module")
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
HEADERS = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
MIB = 1024 * 1024


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def url(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    """Of a process that needs no service for any of this."""
    folder = tmp_path_factory.mktemp("http")
    async with held(over_http("g", {"client.server": "127.0.0.1:1"}, folder)) as made:
        yield made


async def test_a_request_stands_by_itself(url: str) -> None:
    async with httpx.AsyncClient(trust_env=False) as http:
        answer = await http.post(url, json=LIST, headers=HEADERS)
        assert answer.headers["content-type"] == "application/json"
        assert len(answer.json()["result"]["tools"]) == 7
        assert "mcp-session-id" not in answer.headers
        for method in ("GET", "DELETE"):
            assert (await http.request(method, url, headers=HEADERS)).status_code == 405


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "evil.example"}, 421),
        ({"host": "evil.example:8765"}, 421),
        ({"host": "127.0.0.1.evil.example"}, 421),
        ({"host": ""}, 421),
        ({"host": "["}, 421),
        ({"host": "localhost"}, 200),
        ({"host": "[::1]:80"}, 200),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://localhost.evil.example"}, 403),
        ({"origin": "http://localhost:6274"}, 200),
    ],
)
async def test_pages_of_browsers_are_not_answered(headers: dict[str, str], status: int, url: str) -> None:
    async with httpx.AsyncClient(trust_env=False) as http:
        answer = await http.post(url, json=LIST, headers=HEADERS | headers)
        assert answer.status_code == status
        assert not {name for name in answer.headers if name.startswith("access-control-")}


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"{", 400),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": 7}', 400),
        (json.dumps(LIST).encode() + b" " * MIB, 413),
        (b"[" * 100_000, 400),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "\\ud800"}}', 400),
    ],
    ids=["empty", "no JSON", "no params", "large", "deep", "surrogate"],
)
async def test_bodies_that_are_none_are_refused(body: bytes, status: int, url: str) -> None:
    async with httpx.AsyncClient(trust_env=False) as http:
        assert (await http.post(url, content=body, headers=HEADERS)).status_code == status
        assert (await http.post(url, json=LIST, headers=HEADERS)).status_code == 200


async def test_a_header_that_is_no_token_is_refused(url: str) -> None:
    call = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "recall", "arguments": {"query": "x"}},
    }
    async with httpx.AsyncClient(trust_env=False) as http:
        for sent in ("Basic abc", "Bearer ä", "Bearer a\tb"):
            headers = {name.encode(): value.encode() for name, value in HEADERS.items()}
            answer = await http.post(url, json=call, headers={**headers, b"authorization": sent.encode()})
            (content,) = answer.json()["result"]["content"]
            assert content["text"] == "UNAUTHENTICATED: the header authorization must be `Bearer TOKEN`"


async def test_a_body_that_does_not_come_is_given_up() -> None:
    sent: list[Message] = []
    begun: Iterator[Message] = iter([{"type": "http.request", "body": b"{", "more_body": True}])

    async def receive() -> Message:
        for message in begun:
            return message
        await asyncio.Event().wait()
        raise AssertionError

    async def reads(_scope: Any, receive: Any, _send: Any) -> None:
        while (await receive()).get("more_body"):
            pass

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "POST", "headers": [(b"host", b"localhost")]}
    await HttpGuard(reads, local=True, body_s=0.01)(scope, receive, send)
    assert sent[0]["status"] == 408


async def test_without_a_bound_on_the_host_pages_are_refused_still(tmp_path: Path) -> None:
    settings = {"client.server": "127.0.0.1:1"}
    async with over_http("g", settings, tmp_path, "--insecure", address="0.0.0.0:0") as url:
        local = url.replace("0.0.0.0", "127.0.0.1")
        async with httpx.AsyncClient(trust_env=False) as http:
            named = await http.post(local, json=LIST, headers=HEADERS | {"host": "memory.example"})
            assert named.status_code == 200
            page = {"host": "memory.example", "origin": "http://memory.example"}
            assert (await http.post(local, json=LIST, headers=HEADERS | page)).status_code == 403


@pytest.mark.parametrize(
    ("words", "settings", "said"),
    [
        (("0.0.0.0:0",), {}, "other machines reach 0.0.0.0:0, and nothing there is encrypted"),
        (("0.0.0.0:0", "--insecure"), {"client.token": "t"}, "the rights of this command's own credential"),
        (("nowhere",), {}, "--http must be HOST:PORT"),
        (("203.0.113.1:80", "--insecure"), {}, "203.0.113.1:80 cannot be listened on"),
    ],
)
async def test_where_it_may_not_listen(words: tuple[str, ...], settings: dict[str, str], said: str) -> None:
    done = await kgsvc(
        "mcp", "--group", "g", "--http", *words, settings={"client.server": "127.0.0.1:1", **settings}
    )
    assert said in done.sentence
