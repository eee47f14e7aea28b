"""What happens around every operation: deadline, admission, log line, metrics, errors that are statuses.

Handlers behind it get the bytes of a request; parsing them is theirs, so that malformed ones get an answer.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import aclosing, contextmanager
from dataclasses import dataclass
from typing import Any, NoReturn, TypeAlias

import grpc
import grpc.aio

from kgsvc.api.calls import Call, current_call, record
from kgsvc.api.errors import CODE_METADATA, failure_of, to_status
from kgsvc.api.work import Work
from kgsvc.domain.clock import Clock
from kgsvc.domain.errors import KgError, OperationError
from kgsvc.observability.metrics import Metrics

log = logging.getLogger(__name__)
ERRORS_METADATA = "kgsvc-errors"
Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"


@dataclass(frozen=True, slots=True)
class Around:
    """What an interceptor needs."""

    work: Work
    metrics: Metrics
    clock: Clock
    new_id: Callable[[], str]
    default_deadline_s: float  # for unary calls whose caller set none


class CallInterceptor(grpc.aio.ServerInterceptor):
    """Wraps the handlers of one package; others (health, reflection) pass as they are."""

    def __init__(self, package: str, around: Around) -> None:
        self._prefix = f"/{package}."
        self._around = around
        self._wrapped: dict[str, Any] = {}

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[grpc.RpcMethodHandler[Any, Any] | None]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> grpc.RpcMethodHandler[Any, Any] | None:
        """The handler of the method, wrapped once and kept."""
        method = handler_call_details.method
        handler = await continuation(handler_call_details)
        if handler is None or not method.startswith(self._prefix):
            return handler
        if method not in self._wrapped:
            self._wrapped[method] = self._wrap(handler, method.rpartition("/")[2])
        wrapped: grpc.RpcMethodHandler[Any, Any] = self._wrapped[method]
        return wrapped

    def _wrap(self, handler: Any, operation: str) -> grpc.RpcMethodHandler[Any, Any]:
        parts = {"response_serializer": handler.response_serializer}
        if handler.stream_stream:
            behaviour = self._streaming(handler.stream_stream, operation)
            return grpc.stream_stream_rpc_method_handler(behaviour, **parts)
        if handler.unary_stream:
            behaviour = self._streaming(handler.unary_stream, operation)
            return grpc.unary_stream_rpc_method_handler(behaviour, **parts)
        return grpc.unary_unary_rpc_method_handler(self._unary(handler.unary_unary, operation), **parts)

    def _unary(
        self, behaviour: Callable[[bytes, Context], Any], operation: str
    ) -> Callable[[bytes, Context], Any]:
        async def answer(raw: bytes, context: Context) -> Any:
            with self._call(operation, context) as call:
                try:
                    async with asyncio.timeout(self._deadline(context)):
                        response = await self._around.work.run(len(raw), lambda: behaviour(raw, context))
                except Exception as error:  # noqa: BLE001 - each becomes a status; the unforeseen are logged
                    await _abort(call, context, error)
                if call.error_code is not None:
                    context.set_trailing_metadata(((CODE_METADATA, call.error_code),))
                return response

        return answer

    def _streaming(
        self, behaviour: Callable[[Any, Context], AsyncIterator[Any]], operation: str
    ) -> Callable[[Any, Context], AsyncIterator[Any]]:
        async def answer(request: Any, context: Context) -> AsyncIterator[Any]:
            with self._call(operation, context) as call:
                try:
                    with self._around.work.stream():
                        async with aclosing(behaviour(request, context)) as responses:  # type: ignore[type-var]
                            async for response in responses:
                                yield response
                except Exception as error:  # noqa: BLE001 - each becomes a status; the unforeseen are logged
                    await _abort(call, context, error)
                if call.error_code is not None:
                    context.set_trailing_metadata(((CODE_METADATA, call.error_code),))

        return answer

    def _deadline(self, context: Context) -> float | None:
        """None where the caller set one: then gRPC itself ends the call."""
        return None if context.time_remaining() is not None else self._around.default_deadline_s

    @contextmanager
    def _call(self, operation: str, context: Context) -> Iterator[Call]:
        started, patience = self._around.clock.monotonic(), context.time_remaining()
        ends = None if patience is None else started + patience
        call = Call(operation, self._around.new_id(), _wants_status(context), ends_s=ends)
        current_call.set(call)
        try:
            yield call
        except (asyncio.CancelledError, GeneratorExit):
            remaining = context.time_remaining()
            late = remaining is not None and remaining <= 0
            call.refuse("DEADLINE_EXCEEDED" if late else "CANCELLED", outcome="cancelled")
            raise
        finally:
            record(call, (self._around.clock.monotonic() - started) * 1_000, self._around.metrics)


async def _abort(call: Call, context: Context, error: Exception) -> NoReturn:
    """End the call with the status of `error`."""
    failure = failure_of(error)
    call.refuse(failure.error_code, outcome="refused" if isinstance(error, OperationError) else "failed")
    if not isinstance(error, KgError | TimeoutError):
        log.error("%s failed", call.operation, exc_info=error, extra={"request_id": call.request_id})
    code, message, trailers = to_status(failure, call.request_id)
    await context.abort(code, message, trailers)


def _wants_status(context: Context) -> bool:
    return any(
        key == ERRORS_METADATA and value == "status" for key, value in context.invocation_metadata() or ()
    )
