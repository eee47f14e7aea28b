"""The scripted server as a process of its own, steered over HTTP."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.scripted_openai import ScriptedOpenAI, answer, dropped, node
from tests.support.scripted_openai.wire import read_request

ROOT = Path(__file__).resolve().parents[3]
CHAT = {"model": "m", "messages": [{"role": "user", "content": "Alice is here"}]}


async def http(port: int, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    """One request on a connection of its own."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    data = json.dumps(body).encode()
    head = f"{method} {path} HTTP/1.1\r\nContent-Length: {len(data)}\r\n\r\n"
    writer.write(head.encode() + data)
    status_line = await reader.readline()
    writer.write_eof()
    rest = await reader.read()
    writer.close()
    await writer.wait_closed()
    return int(status_line.split()[1]), json.loads(rest.partition(b"\r\n\r\n")[2])


@pytest.fixture
async def port(tmp_path: Path) -> AsyncIterator[int]:
    """The port of a server process with a script file."""
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"table": {"Alice": answer([node("n1", "Alice")])}}))
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "tests.support.scripted_openai", "--script", str(script), "--dimension", "8"),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    async with asyncio.timeout(60):
        yield int(await process.stdout.readline())
        process.terminate()
        assert await process.wait() == 0


async def test_a_process_answers_fails_heals_and_logs_as_told(port: int) -> None:
    code, reply = await http(port, "POST", "/v1/chat/completions", CHAT)
    assert code == 200
    assert json.loads(reply["choices"][0]["message"]["content"])["nodes"][0]["name"] == "Alice"

    fault = {"kind": "status", "code": 429, "headers": {"Retry-After": "1"}, "match": "Alice", "times": None}
    assert await http(port, "POST", "/control", {"faults": [fault]}) == (200, {})
    assert (await http(port, "POST", "/v1/chat/completions", CHAT))[0] == 429
    await http(port, "POST", "/control", {"heal": True})
    assert (await http(port, "POST", "/v1/chat/completions", CHAT))[0] == 200

    code, reply = await http(port, "POST", "/v1/embeddings", {"model": "e", "input": "one two"})
    assert (code, len(reply["data"][0]["embedding"])) == (200, 8)

    _, log = await http(port, "GET", "/control/requests")
    assert [each["endpoint"] for each in log["requests"]] == ["chat", "chat", "chat", "embeddings"]
    assert log["requests"][0]["text"] == "Alice is here"
    assert (await http(port, "GET", "/v1/models"))[0] == 404


async def test_a_drop_closes_the_connection_without_a_reply() -> None:
    async with ScriptedOpenAI() as model:
        model.fail(dropped())
        reader, writer = await asyncio.open_connection("127.0.0.1", model.port)
        data = json.dumps(CHAT).encode()
        writer.write(
            f"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: {len(data)}\r\n\r\n".encode() + data
        )
        assert await reader.read() == b""
        writer.close()
        await writer.wait_closed()


async def test_a_request_cut_short_is_the_end_of_the_connection() -> None:
    reader = asyncio.StreamReader()
    reader.feed_data(b"POST / HTTP/1.1\r\nContent-Length: 10\r\n\r\nabc")
    reader.feed_eof()
    assert await read_request(reader) is None
