"""From an HTTP request to a handler of the contract and back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import grpc
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from kgsvc.api.errors import CallFailure, to_status
from kgsvc.api.http.context import HttpContext, Metadata, Refusal
from kgsvc.api.http.exchange import Body, Streamed
from kgsvc.api.http.framing import FramingError, TooLarge, frames
from kgsvc.api.http.wire import EVENT_WIRE, EVENTS, WIRES, Wire, refused
from kgsvc.runtime import REQUEST_BYTES, offload

Find = Callable[[str], Awaitable[Any]]  # the handler of `/SERVICE/METHOD`, as gRPC would call it, or None
_ERRORS = "kgsvc-errors"
_OWN_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
_MOST_MS = 10**9
_HELD_BYTES = 256 * 1024 * 1024
_RETRY_AFTER_MS = 200


@dataclass(frozen=True, slots=True)
class _Call:
    """A request whose method and way of writing are known."""

    body: Body
    handler: Any
    wire: Wire
    context: HttpContext


class _Late(Refusal):
    """The body came too slowly."""


class Gateway:
    """Answers POST /SERVICE/METHOD."""

    def __init__(self, find: Find, most_bytes: int, *, local: bool = False, body_s: float = 60.0) -> None:
        """`local`: only requests to this machine by its own names are answered. Where nobody has to prove who
        calls, the page of a foreign site could else reach the service under a name of its own. `body_s`: in
        which a body with one message must come."""
        self._find = find
        self._most_bytes = most_bytes  # of a message; of a body with one
        self._local = local
        self._body_s = body_s
        self._held = 0  # bytes of bodies that are being received

    async def answer(self, request: Request) -> Response:
        """The answer. Errors of the operation are statuses: the caller may ask for the envelope's by the
        header `kgsvc-errors: envelope`."""
        try:
            call = await self._opened(request)
            if call.handler.unary_unary is None or call.wire.framed:
                return Streamed(self._answers(call), call.body, call.wire.content_type)
            return await self._answered(call)
        except ConnectionError:
            return Response(status_code=499)  # nobody reads it
        except Refusal as refusal:
            status, body = refused(refusal)
            status = 408 if isinstance(refusal, _Late) else status
            return Response(body, status, media_type="application/json")

    async def _opened(self, request: Request) -> _Call:
        if self._local and (request.url.hostname or "") not in _OWN_NAMES:
            raise HTTPException(421, f"this service is not called {request.url.hostname or '(nothing)'}")
        handler = await self._find(request.url.path)
        if handler is None:
            raise Refusal(grpc.StatusCode.UNIMPLEMENTED, f"{request.url.path} is no RPC of this service")
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        wire = WIRES.get(kind)
        if wire is None:
            read = ", ".join(WIRES)
            raise HTTPException(
                415, f"content-type: {kind[:80] or 'none'}; one of {read} is read", {"accept-post": read}
            )
        if handler.unary_unary is None and not wire.streams:
            if kind != "application/json" or EVENTS not in request.headers.get("accept", ""):
                raise _bad(f"this RPC streams: accept {EVENTS}, or send application/connect+json")
            wire = EVENT_WIRE
        client = None if request.client is None else (request.client.host, request.client.port)
        body = Body(request.receive)
        return _Call(body, handler, wire, HttpContext(_metadata(request), client, _timeout_s(request)))

    async def _answered(self, call: _Call) -> Response:
        """A call with one answer and no frames."""
        raw = await self._one(call)
        async with _until(call.context):
            message = await call.handler.unary_unary(raw, call.context)
        body = await offload(message.ByteSize() / REQUEST_BYTES, call.wire.coding.sent, message)
        return Response(body, headers=_headers(call.context.trailers), media_type=call.wire.content_type)

    async def _answers(self, call: _Call) -> AsyncIterator[bytes]:
        """The body of what streams, up to the frame that says how it ended."""
        ended: Refusal | None = None
        try:
            async with _until(call.context), aclosing(self._messages(call)) as messages:
                async for message in messages:
                    yield await offload(message.ByteSize() / REQUEST_BYTES, call.wire.answer, message)
        except Refusal as refusal:
            ended = refusal
        yield call.wire.end(ended, call.context.trailers)

    async def _messages(self, call: _Call) -> AsyncGenerator[Any, None]:
        handler, context = call.handler, call.context
        if handler.stream_stream is not None:
            async for message in handler.stream_stream(self._received(call, call.body.chunks()), context):
                yield message
            return
        raw = await self._one(call)
        if handler.unary_unary is not None:
            yield await handler.unary_unary(raw, context)
            return
        async with aclosing(handler.unary_stream(raw, context)) as messages:
            async for message in messages:
                yield message

    async def _one(self, call: _Call) -> bytes:
        """The only message of a request. Raises Refusal."""
        try:
            async with asyncio.timeout(self._body_s), aclosing(self._chunks(call.body)) as chunks:
                return await (self._only(call, chunks) if call.wire.framed else self._whole(call, chunks))
        except TimeoutError:
            raise _Late(
                grpc.StatusCode.DEADLINE_EXCEEDED, f"the body did not come within {self._body_s:g} s"
            ) from None

    async def _whole(self, call: _Call, chunks: AsyncIterator[bytes]) -> bytes:
        held = bytearray()
        async for chunk in chunks:
            held += chunk
            if len(held) > self._most_bytes:
                raise _over(f"the body has more than {self._most_bytes} bytes")
        return call.wire.coding.received(bytes(held))

    async def _only(self, call: _Call, chunks: AsyncIterator[bytes]) -> bytes:
        found: bytes | None = None
        async for each in self._received(call, chunks):
            if found is not None:
                raise _bad("the body has several messages; this RPC takes one")
            found = each
        if found is None:
            raise _bad("the body has no message; this RPC takes one")
        return found

    async def _received(self, call: _Call, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        try:
            async for message in frames(chunks, self._most_bytes):
                yield call.wire.coding.received(message)
        except FramingError as error:
            raise _bad(str(error)) from None
        except TooLarge as error:
            raise _over(str(error)) from None
        except ConnectionError:
            raise asyncio.CancelledError from None  # the client has gone, as gRPC tells it

    async def _chunks(self, body: Body) -> AsyncGenerator[bytes, None]:
        """A body, as long as there is room for all that come at once: until it is read, nobody knows whose it
        is. Raises Refusal."""
        held = 0
        try:
            async for chunk in body.chunks():
                held += len(chunk)
                self._held += len(chunk)
                if self._held > _HELD_BYTES:
                    full = CallFailure("OVERLOADED", "too many bodies come at once", (), _RETRY_AFTER_MS)
                    raise Refusal(*to_status(full, ""))
                yield chunk
        finally:
            self._held -= held


@asynccontextmanager
async def _until(context: HttpContext) -> AsyncIterator[None]:
    """The time that the caller waits. Raises Refusal at its end."""
    try:
        async with asyncio.timeout(context.time_remaining()):
            yield
    except TimeoutError:
        late = CallFailure("DEADLINE_EXCEEDED", "the operation did not finish in time")
        raise Refusal(*to_status(late, "")) from None


def _bad(message: str) -> Refusal:
    return Refusal(*to_status(CallFailure("MALFORMED_REQUEST", message), ""))


def _over(message: str) -> Refusal:
    return Refusal(*to_status(CallFailure("LIMIT_EXCEEDED", message), ""))


def _metadata(request: Request) -> Metadata:
    """The headers; the errors of operations become statuses unless others are asked for."""
    found = [(key.decode("latin-1"), value.decode("latin-1")) for key, value in request.headers.raw]
    if _ERRORS not in request.headers:
        found.append((_ERRORS, "status"))
    return tuple(found)


def _headers(trailers: Metadata) -> Mapping[str, str]:
    """Trailers of a call with one answer, as Connect has them."""
    return {f"trailer-{key}": value for key, value in trailers if isinstance(value, str)}


def _timeout_s(request: Request) -> float | None:
    """What the caller waits. Raises Refusal."""
    given = request.headers.get("connect-timeout-ms")
    if given is None:
        return None
    if not (given.isascii() and given.isdecimal() and len(given) <= 10 and int(given) <= _MOST_MS):
        raise _bad("connect-timeout-ms is not a number of milliseconds")
    return int(given) / 1_000
