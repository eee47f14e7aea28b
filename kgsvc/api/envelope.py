"""The envelope around an operation (docs/contract.md): bytes → checked input → operation → response.

Every RPC but StreamEpisodes, StreamDocuments and ImportGroup is a `Unary` or a `ServerStream`. Its `read`
takes the input message, reports to `RequestCheck` what is wrong with it, and returns the operation, which
runs only when nothing was wrong.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeAlias, TypeVar

import grpc
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from kgsvc.access.scopes import current_caller
from kgsvc.api.calls import Call, current_call
from kgsvc.api.checks import RequestCheck, parse, unknown_fields
from kgsvc.api.errors import CallFailure, failure_of, to_proto
from kgsvc.domain.errors import LimitExceeded, OperationError, Violation
from kgsvc.domain.limits import Limits
from kgsvc.runtime import REQUEST_BYTES, offload
from kgsvc.v1 import envelope_pb2

_ENVELOPE_FIELDS = frozenset({"idempotency_key", "input"})  # violations of these are not inside the input


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer of an operation. Only PARKED has both an output and a `failure`."""

    output: Message
    status: envelope_pb2.Status.ValueType = envelope_pb2.STATUS_OK
    failure: CallFailure | None = None


Operation: TypeAlias = Callable[[], Awaitable[Reply]]
Outputs: TypeAlias = Callable[[], AsyncGenerator[Message, None]]
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Unary:
    """An RPC with one request and one response. Violations that the operation raises name fields of the
    input."""

    read: Callable[[Any, RequestCheck], Operation]
    input_required: bool = True

    def handler(self, method: MethodDescriptor, limits: Limits) -> grpc.RpcMethodHandler[bytes, Message]:
        """A handler for grpc.aio that takes the request's bytes; CallInterceptor wraps it."""
        envelope = _Envelope(method, self.read, limits, self.input_required)

        async def answer(raw: bytes, _context: object) -> Message:
            try:
                operation = await envelope.opened(raw)
                return envelope.reply(await _within_input(operation))
            except OperationError as error:
                return envelope.refusal(error)

        return grpc.unary_unary_rpc_method_handler(answer, response_serializer=_bytes_of(method))


@dataclass(frozen=True, slots=True)
class ServerStream:
    """An RPC with one request and a stream of outputs."""

    read: Callable[[Any, RequestCheck], Outputs]

    def handler(self, method: MethodDescriptor, limits: Limits) -> grpc.RpcMethodHandler[bytes, Message]:
        """As `Unary.handler`."""
        envelope = _Envelope(method, self.read, limits)

        async def answer(raw: bytes, _context: object) -> AsyncIterator[Message]:
            try:
                outputs = await envelope.opened(raw)
                with _fields_of_input():
                    async with aclosing(outputs()) as running:
                        async for output in running:
                            yield envelope.reply(Reply(output))
            except OperationError as error:
                yield envelope.refusal(error)

        return grpc.unary_stream_rpc_method_handler(answer, response_serializer=_bytes_of(method))


@dataclass(frozen=True, slots=True)
class BidiStream:
    """An RPC that reads and answers a stream of messages by itself, without an envelope."""

    answer: Callable[[AsyncIterator[bytes], Any], AsyncIterator[Message]]

    def handler(self, method: MethodDescriptor, _limits: Limits) -> grpc.RpcMethodHandler[bytes, Message]:
        """As `Unary.handler`."""
        return grpc.stream_stream_rpc_method_handler(self.answer, response_serializer=_bytes_of(method))


Rpcs: TypeAlias = Mapping[str, Unary | ServerStream | BidiStream]  # by name


def _bytes_of(method: MethodDescriptor) -> Callable[[Message], bytes]:
    return GetMessageClass(method.output_type).SerializeToString


class _Envelope(Generic[R]):
    """Opens the requests of one RPC and wraps its responses."""

    def __init__(
        self,
        method: MethodDescriptor,
        read: Callable[[Any, RequestCheck], R],
        limits: Limits,
        input_required: bool = True,
    ) -> None:
        self._request: Any = GetMessageClass(method.input_type)
        self._response: Any = GetMessageClass(method.output_type)
        self._read = read
        self._limits = limits
        self._input_required = input_required

    async def opened(self, raw: bytes) -> R:
        """The operation asked for. Raises MalformedRequest, PermissionDenied, OperationError."""
        call = current_call.get()
        return await offload(len(raw) / REQUEST_BYTES, self._opened, raw, call)

    def _opened(self, raw: bytes, call: Call) -> R:
        request = parse(self._request, raw)
        check, most = RequestCheck(self._limits), self._limits.payload_bytes
        _read_head(request, check, call)
        if len(raw) > most:
            raise LimitExceeded(f"the call has {len(raw)} bytes, at most {most} are allowed")
        check.extend(unknown_fields(request))
        if self._input_required and not request.HasField("input"):
            check.invalid("input", "is required")
            check.finish()
        operation = self._read(request.input, check)
        call.group_ids, call.uuids = tuple(check.groups), tuple(check.uuids)
        current_caller.get().require(check.groups)
        check.finish()
        return operation

    def reply(self, reply: Reply) -> Message:
        """The response to a success. Raises LimitExceeded when it is larger than a response may be."""
        call, most = current_call.get(), self._limits.response_bytes
        response: Message = self._response(
            request_id=call.request_id, status=reply.status, output=reply.output
        )
        if reply.failure is not None:
            response.error.CopyFrom(to_proto(reply.failure))  # type: ignore[attr-defined]
            call.error_code = reply.failure.error_code
        size = response.ByteSize()
        if size > most:
            problem = f"the answer has {size} bytes, at most {most} are sent; ask for less at once"
            raise LimitExceeded(problem, [Violation("input", problem)])
        call.status = envelope_pb2.Status.Name(reply.status).removeprefix("STATUS_")
        return response

    def refusal(self, error: OperationError) -> Message:
        """The response to an error. Raises it where the caller asked for gRPC statuses."""
        call = current_call.get()
        failure = failure_of(error)
        if call.native_errors:
            raise error
        call.refuse(failure.error_code)
        response: Message = self._response(
            request_id=call.request_id, status=envelope_pb2.STATUS_ERROR, error=to_proto(failure)
        )
        return response


async def _within_input(operation: Operation) -> Reply:
    """Carry the operation out."""
    with _fields_of_input():
        return await operation()


@contextmanager
def _fields_of_input() -> Iterator[None]:
    """The fields that an operation refuses are named as fields of the request."""
    try:
        yield
    except OperationError as error:
        error.violations = tuple(
            v if v.field in _ENVELOPE_FIELDS else replace(v, field=f"input.{v.field}")
            for v in error.violations
        )
        raise


def _read_head(request: Any, check: RequestCheck, call: Call) -> None:
    """Take over the request_id, which names the call from now on, and the idempotency key."""
    request_id = check.optional_identifier(request, "", "request_id", check.limits.uuid)
    if request_id is not None and check.error() is None:
        call.request_id = request_id
    check.request_id = call.request_id
    most = check.limits.idempotency_key
    check.idempotency_key = check.optional_identifier(request, "", "idempotency_key", most)
