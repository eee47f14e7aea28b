"""`kgsvc mcp` and the client of the official package, by either transport."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import httpx2
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from tests.support.service import environment
from tests.support.spawning import REPOSITORY, Copy

T = TypeVar("T")
TRANSPORTS = ("stdio", "http")
_READY_S = 60.0
_LOOK_S = 0.02
_URL = re.compile(r"http://\S+")


class Told(str):
    """What a tool said; `failed`: that it was an error."""

    failed: bool


class Agent:
    """Calls the tools of a memory."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def __call__(self, tool: str, /, **arguments: Any) -> Told:
        result = await self.client.call_tool(tool, arguments)
        (content,) = result.content
        assert content.type == "text"
        told = Told(content.text)
        told.failed = bool(result.is_error)
        return told


@asynccontextmanager
async def held(context: AbstractAsyncContextManager[T]) -> AsyncIterator[T]:
    """What a context gives, entered and left by one task: a fixture is set up and torn down by two, which the
    client does not bear."""
    entered: asyncio.Future[T] = asyncio.get_running_loop().create_future()
    leave = asyncio.Event()

    async def hold() -> None:
        async with context as given:
            entered.set_result(given)
            await leave.wait()

    holding = asyncio.create_task(hold())
    both: set[asyncio.Future[Any]] = {holding, entered}
    await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
    try:
        if entered.done():
            yield entered.result()
    finally:
        leave.set()
        await holding


@asynccontextmanager
async def agent(
    transport: str, group: str, settings: Mapping[str, str], folder: Path, mode: str = "auto"
) -> AsyncIterator[Agent]:
    """One that talks to a `kgsvc mcp` of its own, which must say nothing on standard error."""
    async with AsyncExitStack() as stack:
        if transport == "http":
            url = await stack.enter_async_context(over_http(group, settings, folder))
            yield await stack.enter_async_context(caller(url, mode=mode))
            return
        errors = folder / "mcp.err"
        with errors.open("wb") as log:
            words = ["-m", "kgsvc", "mcp", "--group", group]
            started = StdioServerParameters(
                command=sys.executable, args=words, env=environment(settings), cwd=REPOSITORY
            )
            transport_ = stdio_client(started, errlog=log)  # type: ignore[arg-type]
            yield Agent(await stack.enter_async_context(Client(transport_, mode=mode)))
        assert errors.read_text() == ""


@asynccontextmanager
async def over_http(
    group: str, settings: Mapping[str, str], folder: Path, *options: str, address: str = "127.0.0.1:0"
) -> AsyncIterator[str]:
    """The address of a `kgsvc mcp --http` that runs meanwhile, ends in order, and says nothing on standard
    error."""
    out, errors = folder / "mcp.out", folder / "mcp.err"
    for path in (out, errors):
        path.unlink(missing_ok=True)
        path.touch()
    words = ("mcp", "--group", group, "--http", address, *options)
    process = Copy(words, environment(settings), out, errors, Path(os.devnull))
    try:
        async with asyncio.timeout(_READY_S):
            while not (found := _URL.search(out.read_text())) and process.poll() is None:  # noqa: ASYNC110
                await asyncio.sleep(_LOOK_S)  # for another process
        assert found, errors.read_text()
        yield found[0]
        process.send_signal(15)
        assert await asyncio.to_thread(process.wait, _READY_S) == 0
    finally:
        process.kill()
    assert errors.read_text() == ""


@asynccontextmanager
async def caller(url: str, token: str | None = None, mode: str = "auto") -> AsyncIterator[Agent]:
    """One who calls over HTTP, with a token or without."""
    headers = {} if token is None else {"authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers, trust_env=False, timeout=_READY_S) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode) as client,
    ):
        yield Agent(client)
