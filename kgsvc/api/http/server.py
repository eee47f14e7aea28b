"""The HTTP server, on the event loop of the gRPC server."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from ssl import CERT_NONE, CERT_REQUIRED
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route
from uvicorn.protocols.http.h11_impl import H11Protocol

from kgsvc.api.http.gateway import Gateway
from kgsvc.api.http.page import ROUTES
from kgsvc.stores.consistency import TOKEN

_HEAD_BYTES = 32 * 1024
_START_S = 10.0
_DESCRIPTION = Path(__file__).with_name("openapi.json")
# Headers that clients of Connect and gRPC-Web set on requests. Not all are read here (grpc-timeout is not),
# but a browser makes no request with a header that is not allowed.
_SENT = [
    *("authorization", "connect-protocol-version", "connect-timeout-ms", "content-type", "grpc-timeout"),
    *("kgsvc-errors", TOKEN, "traceparent", "tracestate", "user-agent", "x-grpc-web", "x-user-agent"),
]
# Headers of answers that they read.
_TOLD = ["grpc-message", "grpc-status", "trailer-kgsvc-error-code", f"trailer-{TOKEN}"]


@dataclass(frozen=True, slots=True)
class HttpSettings:
    """Where and how the server listens."""

    host: str
    port: int  # 0: any free one
    shared_port: bool = False  # other processes of this service listen there too
    certificate: Path | None = None
    key: Path | None = None
    client_authority: Path | None = None  # nobody connects without a certificate of it
    origins: tuple[str, ...] = ()  # whose pages may read answers, beside those of this server
    connections: int = 2_000
    head_s: float = 30.0  # in which a connection must bring the whole head of a request
    grace_s: float = 10.0


_LATE = b'{"code":"deadline_exceeded","message":"the head of the request did not come in time"}'
_TOO_SLOW = (
    b"HTTP/1.1 408 Request Timeout\r\ncontent-type: application/json\r\nconnection: close\r\n"
    b"content-length: %d\r\n\r\n%s" % (len(_LATE), _LATE)
)


class _Impatient(H11Protocol):
    """Closes connections that do not bring the head of a request, and tells those that have begun one."""

    head_s: float
    _silence: asyncio.TimerHandle | None = None
    _begun = False

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for a head."""
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Wait on unless the head is whole."""
        self._begun = True
        super().data_received(data)
        self._watch()

    def _watch(self) -> None:
        waits = self.cycle is None or self.cycle.response_complete
        if waits and self._silence is None:
            self._silence = self.loop.call_later(self.head_s, self._give_up)
        elif not waits:
            self._begun = False
            if self._silence is not None:
                self._silence.cancel()
                self._silence = None

    def _give_up(self) -> None:
        self._silence = None
        if not self.transport.is_closing() and (self.cycle is None or self.cycle.response_complete):
            if self._begun:
                self.transport.write(_TOO_SLOW)
            self.transport.close()


def impatient(head_s: float) -> type[asyncio.Protocol]:
    """The protocol with its patience: uvicorn makes the objects."""
    return type("_ImpatientFor", (_Impatient,), {"head_s": head_s})


class Embedded(uvicorn.Server):
    """One that leaves signals to the process it runs in, and says when it is up."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.up = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to accept connections."""
        await super().startup(sockets)
        self.up.set()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take none."""
        yield


class HttpServer:
    """Serves the gateway. `listen`, then `start`, then `stop`."""

    def __init__(self, gateway: Gateway, settings: HttpSettings) -> None:
        self._settings = settings
        app = Starlette(
            routes=[
                *ROUTES,
                Route("/openapi.json", _described),
                Route("/{service}/{method}", gateway.answer, methods=["POST"]),
            ],
            middleware=_middleware(settings.origins),
            exception_handlers={HTTPException: _as_json},
        )
        self._server = Embedded(_config(app, settings))
        self._task: asyncio.Task[None] | None = None
        self._socket: socket.socket | None = None

    def listen(self) -> int:
        """Bind and return the port. Raises OSError."""
        host, port = self._settings.host, self._settings.port
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        found = socket.socket(family, socket.SOCK_STREAM)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if self._settings.shared_port:
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        try:
            found.bind((host, port))
        except OSError:
            found.close()
            raise
        found.setblocking(False)
        self._socket = found
        bound: int = found.getsockname()[1]
        return bound

    async def start(self) -> None:
        """Answer requests."""
        assert self._socket is not None
        self._task = asyncio.create_task(self._server.serve(sockets=[self._socket]), name="http")
        async with asyncio.timeout(_START_S):
            await self._server.up.wait()

    async def stop(self) -> None:
        """Take no more requests, let running ones finish within the grace."""
        self._server.should_exit = True
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)
        if self._socket is not None:
            self._socket.close()


async def _described(_request: Request) -> Response:
    """The OpenAPI document: the contract, which is no secret."""
    return FileResponse(_DESCRIPTION, media_type="application/json")


def _middleware(origins: tuple[str, ...]) -> list[Middleware]:
    """What lets browsers hand answers to pages of these origins. Such a page sets its credential itself:
    there are no cookies that a browser would add."""
    if not origins:
        return []
    allowed: dict[str, Any] = {"allow_methods": ["GET", "POST"], "allow_headers": _SENT, "max_age": 600}
    return [Middleware(CORSMiddleware, allow_origins=origins, expose_headers=_TOLD, **allowed)]


async def _as_json(_request: Request, error: Exception) -> Response:
    """What is found wrong before a method is known, in the form of all other errors."""
    assert isinstance(error, HTTPException)
    own = error.status_code in (415, 421)  # found by the gateway; else no route fits
    said = error.detail if own else f"{error.detail}: what is read is POST /SERVICE/METHOD"
    return JSONResponse({"code": "unimplemented", "message": said}, error.status_code, error.headers)


def _config(app: Starlette, settings: HttpSettings) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=impatient(settings.head_s),
        ws="none",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        access_log=False,  # each call has its line already
        server_header=False,
        proxy_headers=False,  # whom a token or quota is for must not be what a client says
        limit_concurrency=settings.connections,
        h11_max_incomplete_event_size=_HEAD_BYTES,
        timeout_graceful_shutdown=int(settings.grace_s),
        ssl_certfile=settings.certificate,
        ssl_keyfile=settings.key,
        ssl_ca_certs=None if settings.client_authority is None else str(settings.client_authority),
        ssl_cert_reqs=CERT_NONE if settings.client_authority is None else CERT_REQUIRED,
    )
