"""The envelope of spec 004 §3 around one operation: bytes → checked values → operation → response."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import grpc
from google.protobuf.message import DecodeError, Message

from kgsvc.api.calls import Call, current_call
from kgsvc.api.checks import Check
from kgsvc.api.errors import Failure, MalformedRequest, failure_of, to_proto
from kgsvc.api.strict import unknown_fields
from kgsvc.domain.errors import LimitExceeded, OperationError, Violation
from kgsvc.domain.limits import Limits
from kgsvc.offload import REQUEST_BYTES, offload
from kgsvc.v1 import envelope_pb2

V = TypeVar("V")
_INPUT = "input."
_ENVELOPE = frozenset({"idempotency_key"})  # what stores name of a call that is not in its input


@dataclass(frozen=True, slots=True)
class Reply:
    """What an operation came to. `failure` goes along with an output: PARKED."""

    output: Message
    status: envelope_pb2.Status.ValueType = envelope_pb2.STATUS_OK
    failure: Failure | None = None


@dataclass(frozen=True, slots=True)
class Unary(Generic[V]):
    """One unary RPC.

    `read` maps the input message, telling `Check` what is wrong with it; `run` carries the operation out
    and gets the idempotency key. Violations that `run` raises are named relative to the input.
    """

    request: type[Message]
    response: type[Message]
    read: Callable[[Any, Check], V]
    run: Callable[[V, str | None], Awaitable[Reply]]
    input_required: bool = True

    def handler(self, limits: Limits) -> grpc.RpcMethodHandler[bytes, Message]:
        """A handler for grpc.aio that takes the request's bytes; CallInterceptor goes around it."""

        async def answer(raw: bytes, _context: Any) -> Message:
            return await self._answer(raw, limits)

        return grpc.unary_unary_rpc_method_handler(answer, response_serializer=serialise)

    async def _answer(self, raw: bytes, limits: Limits) -> Message:
        call = current_call.get()
        try:
            value, key = await offload(len(raw) / REQUEST_BYTES, self._read, raw, limits, call)
            reply = await self._run(value, key)
            return self._succeed(call, reply, limits)
        except OperationError as error:
            if call.native_errors:
                raise
            failure = failure_of(error)
            call.refuse(failure.error_code)
            status = envelope_pb2.STATUS_ERROR
            return self.response(request_id=call.request_id, status=status, error=to_proto(failure))

    def _read(self, raw: bytes, limits: Limits, call: Call) -> tuple[V, str | None]:
        request: Any = parse(self.request, raw)
        check = Check(limits)
        key = read_head(request, check, call, limits)
        if len(raw) > limits.payload_bytes:
            raise LimitExceeded(f"the call has {len(raw)} bytes, at most {limits.payload_bytes} are allowed")
        check.extend(unknown_fields(request, raw))
        if self.input_required and not request.HasField("input"):
            check.invalid("input", "is required")
            check.finish()
        value = self.read(request.input, check)
        call.group_ids = tuple(check.groups)
        check.finish()
        return value, key

    async def _run(self, value: V, key: str | None) -> Reply:
        try:
            return await self.run(value, key)
        except OperationError as error:
            error.violations = tuple(
                v if v.field in _ENVELOPE else replace(v, field=_INPUT + v.field) for v in error.violations
            )
            raise

    def _succeed(self, call: Call, reply: Reply, limits: Limits) -> Message:
        response = self.response(request_id=call.request_id, status=reply.status, output=reply.output)
        if reply.failure is not None:
            response.error.CopyFrom(to_proto(reply.failure))  # type: ignore[attr-defined]
            call.error_code = reply.failure.error_code
        size = response.ByteSize()
        if size > limits.response_bytes:
            says = (
                f"the answer has {size} bytes, at most {limits.response_bytes} are sent; ask for less at once"
            )
            raise LimitExceeded(says, [Violation(_INPUT.rstrip("."), says)])
        call.status = envelope_pb2.Status.Name(reply.status).removeprefix("STATUS_")
        return response


def read_head(request: Any, check: Check, call: Call, limits: Limits) -> str | None:
    """Take over the request_id, which names the call from now on; return the idempotency key."""
    request_id = check.optional_identifier(request, "", "request_id", limits.uuid)
    if request_id is not None and check.error() is None:
        call.request_id = request_id
    return check.optional_identifier(request, "", "idempotency_key", limits.idempotency_key)


M = TypeVar("M", bound=Message)


def parse(kind: type[M], raw: bytes) -> M:
    """The message in `raw`. Raises MalformedRequest."""
    try:
        return kind.FromString(raw)
    except DecodeError:
        raise MalformedRequest(f"the bytes are not a {kind.DESCRIPTOR.full_name}") from None


def serialise(message: Message) -> bytes:
    """The bytes of a response."""
    return message.SerializeToString()
