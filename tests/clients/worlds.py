"""The servers that the scenarios of clients/ need, behind a proxy whose connections can be cut."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from kgsvc.access.file import changing, new_token
from kgsvc.access.scopes import scopes_of
from scripts.neo4j_files import free_port
from tests.support.certificates import Authority
from tests.support.service import Service

_CHUNK = 64 * 1024
_HOUR_MS = 3_600_000
_RELOAD_S = 0.05
Action = Callable[[], Awaitable[None]]


class Proxy:
    """Passes TCP connections on to a server on this machine."""

    def __init__(self) -> None:
        self.target = ""  # host:port, which may change
        self._open: set[asyncio.StreamWriter] = set()
        self._server: asyncio.Server | None = None

    @property
    def address(self) -> str:
        """host:port that it listens on."""
        assert self._server is not None
        return f"127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    def cut(self) -> None:
        """End all connections as a broken line would."""
        for writer in list(self._open):
            writer.transport.abort()

    async def __aenter__(self) -> Proxy:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        self.cut()
        await self._server.wait_closed()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        host, _, port = self.target.rpartition(":")
        try:
            behind, onward = await asyncio.open_connection(host, int(port))
        except OSError:
            writer.transport.abort()
            return
        self._open |= {writer, onward}
        await asyncio.gather(_pass_on(reader, onward), _pass_on(behind, writer))
        self._open -= {writer, onward}


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Until either side ends, which ends the other."""
    try:
        while data := await reader.read(_CHUNK):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass  # cut
    finally:
        writer.transport.abort() if reader.exception() else writer.close()


@asynccontextmanager
async def control(actions: Mapping[str, Action]) -> AsyncIterator[str]:
    """The address at which a driver asks for actions: `GET /cut`."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = (await reader.readline()).split()
        await actions[request[1].decode().lstrip("/")]()
        writer.write(b"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


def _tokens(path: Path) -> dict[str, str]:
    """The access file, and its tokens by name."""
    made, now_ms = {}, int(time.time() * 1_000)
    with changing(path) as credentials:
        for name, grants in (
            ("reader", {"*": "read"}),
            ("revoked", {"*": "admin"}),
            ("owner", {"*": "admin"}),
        ):
            credential, made[name] = new_token(name, scopes_of(grants), now_ms, now_ms + _HOUR_MS)
            credentials.append(credential)
    return made


def _withdraw(path: Path) -> None:
    with changing(path) as credentials:
        credentials[:] = [each for each in credentials if each.name != "revoked"]


@asynccontextmanager
async def worlds(settings: Mapping[str, str], folder: Path, group: str) -> AsyncIterator[dict[str, Any]]:
    """The setup of a driver: `settings` are those of the store of the open world."""
    authority, access = Authority(folder), folder / "access.json"
    cert, key = authority.certificate("server", "127.0.0.1")
    tokens = await asyncio.to_thread(_tokens, access)
    guarded = {
        "store.data_dir": str(folder / "guarded"),
        "server.tls_cert": str(cert),
        "server.tls_key": str(key),
        "access.file": str(access),
        "access.reload_s": str(_RELOAD_S),
    }
    limited = {"store.data_dir": str(folder / "limited"), "quotas.group_items_a_day": "2"}
    async with AsyncExitStack() as stack:
        found: dict[str, Any] = {"away": {"server": f"127.0.0.1:{free_port()}"}}
        proxies = []
        named = {"open": settings, "guarded": guarded, "limited": limited}
        starting = [stack.enter_async_context(Service(each, folder, name)) for name, each in named.items()]
        for name, service in zip(named, await asyncio.gather(*starting), strict=True):
            proxies.append(await stack.enter_async_context(Proxy()))
            proxies[-1].target = service.address
            found[name] = {"server": proxies[-1].address}
        found["guarded"] |= {"tls_ca": str(authority.path), "tokens": tokens}

        async def cut() -> None:
            for proxy in proxies:
                proxy.cut()

        actions = {"cut": cut, "revoke": lambda: asyncio.to_thread(_withdraw, access)}
        address = await stack.enter_async_context(control(actions))
        yield {"worlds": found, "control": address, "group": group}


def written(folder: Path, name: str, value: Any) -> Path:
    """A file of JSON."""
    path = folder / name
    path.write_text(json.dumps(value))
    return path
