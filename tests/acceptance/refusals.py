"""Calls that are refused, in both modes of error: in the envelope, and as a gRPC status on request."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import grpc
import pytest
from google.protobuf.message import Message
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from kgsvc.v1 import envelope_pb2
from tests.acceptance.operations import OPERATIONS
from tests.support.client import CALL_S, Client

AS_STATUS = (("kgsvc-errors", "status"),)
CODE_TRAILER = "kgsvc-error-code"
GRPC_CODES = {
    "INVALID_ARGUMENT": grpc.StatusCode.INVALID_ARGUMENT,
    "LIMIT_EXCEEDED": grpc.StatusCode.INVALID_ARGUMENT,
    "NOT_FOUND": grpc.StatusCode.NOT_FOUND,
    "CONFLICT": grpc.StatusCode.ALREADY_EXISTS,
}


@dataclass(frozen=True, slots=True)
class Refusal:
    """What a caller learns of an error, however it was told."""

    code: str
    message: str
    fields: tuple[str, ...]
    codes: tuple[str, ...]  # of the fields, one by one
    descriptions: tuple[str, ...]  # likewise


async def call(
    client: Client, operation: str, request: Message, metadata: Sequence[tuple[str, str]] = ()
) -> tuple[Any, dict[str, str]]:
    """The response of a unary operation and its trailing metadata."""
    one = OPERATIONS[operation]
    method: Any = client.channel.unary_unary(
        one.path,
        request_serializer=lambda message: message.SerializeToString(),
        response_deserializer=one.response.FromString,
    )
    started = method(request, timeout=CALL_S, metadata=metadata)
    response = await started
    return response, dict(await started.trailing_metadata())


async def refused(client: Client, operation: str, request: Message) -> Refusal:
    """The error that both modes agree on. Fails when one of them answers."""
    response, trailers = await call(client, operation, request)
    assert response.status == envelope_pb2.STATUS_ERROR, f"answered: {response}"
    assert not response.HasField("output")
    assert response.request_id
    in_band = _in_band(response.error)
    assert trailers[CODE_TRAILER] == in_band.code
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call(client, operation, request, AS_STATUS)
    assert caught.value.code() is GRPC_CODES[in_band.code]
    assert dict(caught.value.trailing_metadata())[CODE_TRAILER] == in_band.code
    assert as_status(caught.value) == in_band
    return in_band


def _in_band(error: envelope_pb2.Error) -> Refusal:
    return Refusal(
        error.error_code,
        error.message,
        tuple(violation.field for violation in error.field_violations),
        tuple(violation.code or error.error_code for violation in error.field_violations),
        tuple(violation.description for violation in error.field_violations),
    )


def as_status(error: grpc.aio.AioRpcError) -> Refusal:
    """The google.rpc details of a status."""
    status = rpc_status.from_call(cast(grpc.Call, error))
    assert status is not None, f"a status without details: {error}"
    info, bad = error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest()
    for detail in status.details:
        for kind in (info, bad):
            detail.Unpack(kind)
    assert info.domain == "kgsvc"
    assert info.metadata["request_id"]
    return Refusal(
        info.reason,
        status.message,
        tuple(violation.field for violation in bad.field_violations),
        tuple(violation.reason for violation in bad.field_violations),
        tuple(violation.description for violation in bad.field_violations),
    )
