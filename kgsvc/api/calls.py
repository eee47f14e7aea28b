"""What happens around every call: admission, deadline, errors as statuses, log line, metrics.

The handlers get the bytes of a request and parse them themselves, so that malformed ones get an answer. An
operation is never cancelled with its call, since a cancelled store call may have committed or not; the
stores' own deadlines bound it.
"""

from __future__ import annotations

import asyncio
import logging
from abc import abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Iterator, Sequence
from contextlib import aclosing, asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any, NoReturn, TypeAlias, TypeVar

import grpc
import grpc.aio

from kgsvc.api.errors import CODE_METADATA, ShuttingDown, failure_of, to_status
from kgsvc.commands.core import Core
from kgsvc.domain.errors import AccessDenied, KgError, OperationError, Overloaded, ReadOnly
from kgsvc.observability.logs import groups_found
from kgsvc.observability.metrics import Metrics
from kgsvc.stores.consistency import TOKEN

T = TypeVar("T")
Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"
log = logging.getLogger(__name__)
request_log = logging.getLogger("kgsvc.request")
ERRORS_METADATA = "kgsvc-errors"
_GROUPS_LOGGED = 8
_RETRY_AFTER_MS = 200
_REFUSALS = (OperationError, AccessDenied, ReadOnly)


@dataclass(slots=True)
class Call:
    """One call as the logs and metrics see it, filled in while it runs. It holds nothing of its content."""

    operation: str
    request_id: str  # generated; replaced by the caller's once that is read
    native_errors: bool = False  # the caller asked for gRPC statuses (docs/contract.md)
    group_ids: tuple[str, ...] = ()
    status: str = ""  # of the envelope
    error_code: str | None = None
    outcome: str = "success"  # success | refused (by the operation itself) | failed | cancelled
    items: int | None = None  # of a stream
    refused_items: int | None = None
    who: str | None = None  # None: nobody was proven
    credential: str | None = None  # its id
    uuids: tuple[str, ...] = ()  # things that it names or adds
    peer: str = ""
    ends_s: float | None = None  # when its caller stops waiting, by the monotonic clock; None: no deadline
    consistency_token: str = ""  # told to the caller; empty: the store is one copy
    audit: Callable[[Call], None] | None = None

    @property
    def trailers(self) -> tuple[tuple[str, str], ...]:
        """What its caller is told behind the answer."""
        told = ((CODE_METADATA, self.error_code), (TOKEN, self.consistency_token))
        return tuple((key, value) for key, value in told if value)

    def wrote(self, uuids: Iterable[str]) -> None:
        """It added or changed these, beside what it names."""
        self.uuids = tuple(dict.fromkeys((*self.uuids, *uuids)))

    def stored(self, group_id: str, uuids: Sequence[str]) -> None:
        """A stream has stored these: a line of the audit, since a stream may never end."""
        if self.audit is not None and uuids:
            self.audit(replace(self, group_ids=(group_id,), uuids=tuple(uuids), items=len(uuids)))

    def refuse(self, error_code: str, *, outcome: str = "refused") -> None:
        """It ends with this error."""
        self.status, self.error_code, self.outcome = "ERROR", error_code, outcome


current_call: ContextVar[Call] = ContextVar("current_call")


def record(call: Call, latency_ms: float, metrics: Metrics) -> None:
    """Write the call's log line and count it."""
    metrics.requests.labels(call.operation, call.outcome, call.error_code or "").inc()
    metrics.request_latency.labels(call.operation).observe(latency_ms / 1_000)
    request_log.info(
        "%s %s",
        call.operation,
        call.outcome,
        extra={
            "request_id": call.request_id,
            "operation": call.operation,
            "group_id": _shown(call.group_ids),
            "status": call.status or None,
            "latency_ms": round(latency_ms, 3),
            "outcome": call.outcome,
            "error_code": call.error_code,
            "items": call.items,
            "refused_items": call.refused_items,
        },
    )


def _shown(group_ids: Sequence[str]) -> str | list[str] | None:
    if len(group_ids) == 1:
        return group_ids[0]
    return list(group_ids[:_GROUPS_LOGGED]) or None


class CallBounds:
    """Bounds how much one process serves at once."""

    def __init__(self, max_calls: int, max_bytes: int, max_streams: int) -> None:
        self._max_calls = max_calls
        self._max_bytes = max_bytes
        self._max_streams = max_streams
        self._bytes = 0
        self._streams = 0
        self._tasks: set[asyncio.Task[Any]] = set()
        self.stopping = asyncio.Event()

    async def run(self, size: int, operation: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """The result of `operation` for a request of `size` bytes. Raises Overloaded, ShuttingDown."""
        if self.stopping.is_set():
            raise ShuttingDown
        if len(self._tasks) >= self._max_calls or self._bytes + size > self._max_bytes:
            raise Overloaded("too many calls are running", _RETRY_AFTER_MS)
        task = asyncio.create_task(operation())
        self._tasks.add(task)
        self._bytes += size

        def done(finished: asyncio.Task[Any]) -> None:
            self._tasks.discard(finished)
            self._bytes -= size

        task.add_done_callback(done)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            task.add_done_callback(_log_defect)  # nobody waits for its outcome any more
            raise

    @contextmanager
    def stream(self) -> Iterator[None]:
        """The time of one stream. Raises Overloaded, ShuttingDown."""
        if self.stopping.is_set():
            raise ShuttingDown
        if self._streams >= self._max_streams:
            raise Overloaded("too many streams are open", _RETRY_AFTER_MS)
        self._streams += 1
        try:
            yield
        finally:
            self._streams -= 1

    async def drain(self, timeout_s: float) -> int:
        """Wait for operations whose callers have gone; how many did not end in time."""
        if not self._tasks:
            return 0
        _, late = await asyncio.wait(self._tasks, timeout=timeout_s)
        return len(late)


def _log_defect(task: asyncio.Task[Any]) -> None:
    """Log a defect of an operation whose caller has gone."""
    error = None if task.cancelled() else task.exception()
    if error is not None and not isinstance(error, KgError):
        log.error("an operation without a caller failed", exc_info=error)


class Wrapping(grpc.aio.ServerInterceptor):
    """Puts something around handlers; each is wrapped once and kept."""

    def __init__(self) -> None:
        self._wrapped: dict[str, grpc.RpcMethodHandler[Any, Any]] = {}

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[grpc.RpcMethodHandler[Any, Any] | None]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> grpc.RpcMethodHandler[Any, Any] | None:
        """The handler of the method, wrapped if it is to be."""
        method = handler_call_details.method
        handler = await continuation(handler_call_details)
        if handler is None or not self._wraps(method):
            return handler
        if method not in self._wrapped:
            self._wrapped[method] = self._wrap(handler, method)
        return self._wrapped[method]

    def _wrap(self, handler: Any, method: str) -> grpc.RpcMethodHandler[Any, Any]:
        parts = {
            "request_deserializer": handler.request_deserializer,
            "response_serializer": handler.response_serializer,
        }
        if handler.stream_stream:
            behaviour = self._streaming(handler.stream_stream, method)
            return grpc.stream_stream_rpc_method_handler(behaviour, **parts)
        if handler.unary_stream:
            behaviour = self._streaming(handler.unary_stream, method)
            return grpc.unary_stream_rpc_method_handler(behaviour, **parts)
        return grpc.unary_unary_rpc_method_handler(self._unary(handler.unary_unary, method), **parts)

    @abstractmethod
    def _wraps(self, method: str) -> bool:
        """Whether it stands around this method, named `/SERVICE/METHOD`."""

    @abstractmethod
    def _unary(self, behaviour: Any, method: str) -> Any:
        """Around what answers with one response."""

    @abstractmethod
    def _streaming(self, behaviour: Any, method: str) -> Any:
        """Around what answers with a stream."""


class CallInterceptor(Wrapping):
    """Wraps the handlers of one package; others (health, reflection) pass as they are."""

    def __init__(
        self,
        package: str,
        core: Core,
        bounds: CallBounds,
        default_deadline_s: float,
        audit: Callable[[Call], None],
    ) -> None:
        super().__init__()
        self._prefix = f"/{package}."
        self._audit = audit  # of every call that has ended
        self._core = core
        self._bounds = bounds
        self._default_deadline_s = default_deadline_s  # of unary calls whose caller set none

    def _wraps(self, method: str) -> bool:
        return method.startswith(self._prefix)

    def _unary(
        self, behaviour: Callable[[bytes, Context], Any], method: str
    ) -> Callable[[bytes, Context], Any]:
        async def answer(raw: bytes, context: Context) -> Any:
            # Where the caller set a deadline, gRPC itself ends the call.
            most = self._default_deadline_s if context.time_remaining() is None else None
            async with self._call(method, context), asyncio.timeout(most):
                return await self._bounds.run(len(raw), lambda: behaviour(raw, context))

        return answer

    def _streaming(
        self, behaviour: Callable[[Any, Context], AsyncIterator[Any]], method: str
    ) -> Callable[[Any, Context], AsyncIterator[Any]]:
        async def answer(request: Any, context: Context) -> AsyncIterator[Any]:
            async with self._call(method, context):
                with self._bounds.stream():
                    async with aclosing(behaviour(request, context)) as responses:  # type: ignore[type-var]
                        async for response in responses:
                            yield response

        return answer

    @asynccontextmanager
    async def _call(self, method: str, context: Context) -> AsyncIterator[Call]:
        """Around one call: its errors become statuses, and it is logged and counted when it ends."""
        started, remaining = self._core.clock.monotonic(), context.time_remaining()
        ends = None if remaining is None else started + remaining
        native = _wants_status(context)
        operation = method.rpartition("/")[2]
        call = Call(
            operation, self._core.new_id(), native, peer=context.peer(), ends_s=ends, audit=self._audit
        )
        current_call.set(call)
        span = self._core.metrics.tracer.call(operation, context.invocation_metadata() or ())
        found = groups_found()
        try:
            yield call
            if call.trailers:
                context.set_trailing_metadata(call.trailers)
        except (asyncio.CancelledError, GeneratorExit):
            remaining = context.time_remaining()
            late = remaining is not None and remaining <= 0
            if call.outcome != "refused":  # a client that was told so may leave
                call.refuse("DEADLINE_EXCEEDED" if late else "CANCELLED", outcome="cancelled")
            raise
        except Exception as error:  # noqa: BLE001 - each becomes a status; the unforeseen are logged
            await _abort(call, context, error)
        finally:
            call.group_ids = call.group_ids or tuple(dict.fromkeys(found))
            record(call, (self._core.clock.monotonic() - started) * 1_000, self._core.metrics)
            self._audit(call)
            span.end(call.request_id, call.outcome, call.error_code)


async def _abort(call: Call, context: Context, error: Exception) -> NoReturn:
    """End the call with the status of `error`."""
    failure = failure_of(error)
    call.refuse(failure.error_code, outcome="refused" if isinstance(error, _REFUSALS) else "failed")
    if not isinstance(error, KgError | TimeoutError):
        log.error("%s failed", call.operation, exc_info=error, extra={"request_id": call.request_id})
    code, message, trailers = to_status(failure, call.request_id)
    await context.abort(code, message, trailers)


def _wants_status(context: Context) -> bool:
    return any(
        key == ERRORS_METADATA and value == "status" for key, value in context.invocation_metadata() or ()
    )
