"""Standard input and output; and streamable HTTP: one address, each request by itself, what is too large, too
slow or from a browser is refused."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kgsvc.api.http.server import Embedded, impatient

PATH = "/mcp"
_BODY_BYTES = 1024 * 1024
_BODY_S = 30.0
_HEAD_S = 30.0
_HEAD_BYTES = 32 * 1024
_CONNECTIONS = 200
_GRACE_S = 5
_OWN_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})


async def stdio(server: Server[Any]) -> None:
    """Serve whoever started this process, until it hangs up."""
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


class HttpGuard:
    """Refuses what no agent sends.

    A page in a browser on this machine reaches loopback too, by its address or by a name of its own that
    leads here (DNS rebinding). Its requests name its origin, or that name as the host.
    """

    def __init__(self, app: ASGIApp, local: bool, body_s: float = _BODY_S) -> None:
        self._app = app
        self._local = local  # only this machine reaches it, and by these names
        self._body_s = body_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request. Raises what the application raises."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refusal = self._refusal(Headers(scope=scope))
        if refusal is None:
            late, timely = _timely(receive, self._body_s)
            try:
                await self._app(scope, timely, send)
            except TimeoutError:
                if not late():
                    raise
                refusal = PlainTextResponse("the body did not come in time", 408)
        if refusal is not None:
            await refusal(scope, receive, send)

    def _refusal(self, headers: Headers) -> PlainTextResponse | None:
        host, origin = _name(f"//{headers.get('host', '')}"), headers.get("origin")
        if self._local and host not in _OWN_NAMES:
            return PlainTextResponse(f"this is not {host or 'nobody'}", 421)
        if origin is not None and not (self._local and _name(origin) in _OWN_NAMES):
            return PlainTextResponse("pages of browsers are not answered", 403)
        return None


def _name(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _timely(receive: Receive, body_s: float) -> tuple[Callable[[], bool], Receive]:
    """`receive`, which gives up on a body after some seconds, and whether it did."""
    until: float | None = asyncio.get_running_loop().time() + body_s
    late = False

    async def timely() -> Message:
        nonlocal until, late
        try:
            async with asyncio.timeout_at(until):
                message = await receive()
        except TimeoutError:
            late = True
            raise
        if not message.get("more_body", False):
            until = None  # what follows is that the caller hangs up
        return message

    return (lambda: late), timely


async def http(server: Server[Any], host: str, port: int, local: bool, say: Callable[[str], None]) -> None:
    """Serve until SIGTERM or SIGINT; `say` is told the address. Raises OSError."""
    manager = StreamableHTTPSessionManager(
        server, json_response=True, stateless=True, max_request_body_size=_BODY_BYTES
    )
    # Without sessions there is nothing to listen to (GET) or to end (DELETE).
    route = Route(PATH, StreamableHTTPASGIApp(manager), methods=["POST"])
    app = Starlette(routes=[route], lifespan=lambda _: manager.run())
    config = uvicorn.Config(
        HttpGuard(app, local),
        http=impatient(_HEAD_S),
        ws="none",
        proxy_headers=False,
        h11_max_incomplete_event_size=_HEAD_BYTES,
        limit_concurrency=_CONNECTIONS,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_GRACE_S,
    )
    loop, running = asyncio.get_running_loop(), Embedded(config)
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, running.handle_exit, number, None)
    with _listening(host, port) as found:
        bare = f"[{host}]" if ":" in host else host
        say(f"http://{bare}:{found.getsockname()[1]}{PATH}")
        await running.serve(sockets=[found])


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    found = socket.socket(family, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((host, port))
        found.listen()
    except OSError:
        found.close()
        raise
    return found
