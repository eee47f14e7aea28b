"""The one table of error codes, and how an error is put into a response or a gRPC status."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import grpc
from google.protobuf import any_pb2, duration_pb2, struct_pb2
from google.rpc import error_details_pb2, status_pb2

from kgsvc.domain.errors import (
    AccessDenied,
    AnswererUnavailable,
    BadToken,
    EmbedderUnavailable,
    OperationError,
    Overloaded,
    QuotaExceeded,
    ReadOnly,
    ServiceError,
    StoreUnavailable,
    Unauthenticated,
    Violation,
    WriteNotSeen,
)
from kgsvc.stores.consistency import TOKEN
from kgsvc.v1 import envelope_pb2

ERROR_DOMAIN = "kgsvc"
CODE_METADATA = "kgsvc-error-code"
STATUS_DETAILS_METADATA = "grpc-status-details-bin"
# Trailers are limited to 8 KiB by common clients; the details travel in base64.
_STATUS_DETAILS_BYTES = 4_096
_STATUS_MESSAGE_CHARS = 256
_RETRY_AFTER_MS = 1_000


class Mode(Enum):
    """Where an error is answered."""

    OPERATION = "in band; as a gRPC status on request"  # the operation itself refuses
    ENVELOPE = "always in band"  # accompanies an output
    STATUS = "always a gRPC status"  # what happens before or around an operation


@dataclass(frozen=True, slots=True)
class ErrorRule:
    """How one error code is answered."""

    mode: Mode
    grpc_code: grpc.StatusCode
    retryable: bool
    meaning: str


_C = grpc.StatusCode
RULES: Mapping[str, ErrorRule] = {
    "INVALID_ARGUMENT": ErrorRule(
        Mode.OPERATION, _C.INVALID_ARGUMENT, False, "the input breaks the contract; every field is named"
    ),
    "LIMIT_EXCEEDED": ErrorRule(
        Mode.OPERATION, _C.INVALID_ARGUMENT, False, "a length, size or count is over its limit"
    ),
    "NOT_FOUND": ErrorRule(Mode.OPERATION, _C.NOT_FOUND, False, "the thing named does not exist"),
    "CONFLICT": ErrorRule(
        Mode.OPERATION,
        _C.ALREADY_EXISTS,
        False,
        "the call does not fit what is stored: for example, the uuid has other content or is in several "
        "groups, the idempotency key was used with other input, or the group changed during its export",
    ),
    "PARKED": ErrorRule(
        Mode.ENVELOPE, _C.OK, False, "an item of the call was parked earlier; RetryItems starts it again"
    ),
    "MALFORMED_REQUEST": ErrorRule(
        Mode.STATUS,
        _C.INVALID_ARGUMENT,
        False,
        "the bytes are not a message of this contract, or its metadata are wrong",
    ),
    "UNAUTHENTICATED": ErrorRule(
        Mode.STATUS, _C.UNAUTHENTICATED, False, "no credential, or one that is not valid (any more)"
    ),
    "PERMISSION_DENIED": ErrorRule(
        Mode.STATUS, _C.PERMISSION_DENIED, False, "the credential does not grant this right in these groups"
    ),
    "OVERLOADED": ErrorRule(
        Mode.STATUS, _C.RESOURCE_EXHAUSTED, True, "a bounded queue is full; try again after the delay given"
    ),
    "QUOTA_EXCEEDED": ErrorRule(
        Mode.STATUS,
        _C.RESOURCE_EXHAUSTED,
        True,
        "a token or a group has used up a quota, which `limit` names; nothing was stored",
    ),
    "STORE_UNAVAILABLE": ErrorRule(
        Mode.STATUS, _C.UNAVAILABLE, True, "the store cannot be reached; a write may have happened"
    ),
    "EMBEDDER_UNAVAILABLE": ErrorRule(
        Mode.STATUS, _C.UNAVAILABLE, True, "a text could not be embedded; nothing was written"
    ),
    "MODEL_UNAVAILABLE": ErrorRule(
        Mode.STATUS, _C.UNAVAILABLE, True, "the language model gave no answer that can be used"
    ),
    "READ_ONLY": ErrorRule(
        Mode.STATUS, _C.FAILED_PRECONDITION, False, "an operator has switched writes off; nothing was written"
    ),
    "SHUTTING_DOWN": ErrorRule(
        Mode.STATUS, _C.UNAVAILABLE, True, "this process is going away; connect again"
    ),
    "DEADLINE_EXCEEDED": ErrorRule(
        Mode.STATUS, _C.DEADLINE_EXCEEDED, True, "no answer in time; a write may have happened"
    ),
    "CANCELLED": ErrorRule(
        Mode.STATUS,
        _C.CANCELLED,
        True,
        "the caller hung up (logs and metrics only); a write may have happened",
    ),
    "INTERNAL": ErrorRule(Mode.STATUS, _C.INTERNAL, False, "a fault of the service; its log says more"),
}


class MalformedRequest(ServiceError):
    """The request's bytes are not a message of the contract."""


class ShuttingDown(ServiceError):
    """This process takes no more calls; another one may."""


@dataclass(frozen=True, slots=True)
class CallFailure:
    """An error as it is answered to the caller."""

    error_code: str
    message: str
    violations: tuple[Violation, ...] = ()
    retry_after_ms: int | None = None
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def rule(self) -> ErrorRule:
        """Its row of the table."""
        return RULES[self.error_code]


def failure_of(error: BaseException) -> CallFailure:  # noqa: PLR0912 - a case each error
    """How `error` is answered. An unforeseen one reveals nothing but that it happened."""
    failure = CallFailure("INTERNAL", "the service failed to carry out the operation")
    match error:
        case OperationError():
            failure = CallFailure(error.error_code, error.message, error.violations)
        case QuotaExceeded():
            delay, named = error.retry_after_ms, {"limit": error.limit}
            failure = CallFailure("QUOTA_EXCEEDED", str(error), retry_after_ms=delay, details=named)
        case Overloaded():
            failure = CallFailure("OVERLOADED", str(error), retry_after_ms=error.retry_after_ms)
        case AccessDenied():
            code = "UNAUTHENTICATED" if isinstance(error, Unauthenticated) else "PERMISSION_DENIED"
            failure = CallFailure(code, str(error))
        case MalformedRequest():
            failure = CallFailure("MALFORMED_REQUEST", str(error))
        case BadToken():
            failure = CallFailure("MALFORMED_REQUEST", f"{TOKEN}: {error}")
        case ShuttingDown():
            failure = CallFailure(
                "SHUTTING_DOWN", "the server is shutting down", retry_after_ms=_RETRY_AFTER_MS
            )
        case WriteNotSeen():
            message = f"the store has not come to the write that {TOKEN} names"
            failure = CallFailure("STORE_UNAVAILABLE", message, retry_after_ms=_RETRY_AFTER_MS)
        case StoreUnavailable():
            message = "the store cannot be reached at the moment"
            failure = CallFailure("STORE_UNAVAILABLE", message, retry_after_ms=_RETRY_AFTER_MS)
        case ReadOnly():
            failure = CallFailure("READ_ONLY", str(error))
        case EmbedderUnavailable():
            failure = CallFailure("EMBEDDER_UNAVAILABLE", str(error), retry_after_ms=_RETRY_AFTER_MS)
        case AnswererUnavailable():
            pause_ms = _RETRY_AFTER_MS if error.retry_after_ms is None else error.retry_after_ms
            failure = CallFailure("MODEL_UNAVAILABLE", str(error), retry_after_ms=pause_ms)
        case TimeoutError():
            failure = CallFailure("DEADLINE_EXCEEDED", "the operation did not finish in time")
    return failure


def summary(violations: Sequence[Violation]) -> str:
    """A sentence about violations: the first in full, then how many more."""
    first = f"{violations[0].field}: {violations[0].description}" if violations else "the input is refused"
    more = len(violations) - 1
    return first if more < 1 else f"{first}; and {more} more"


def to_proto(failure: CallFailure) -> envelope_pb2.Error:
    """The error of an envelope."""
    error = envelope_pb2.Error(
        error_code=failure.error_code,
        message=failure.message,
        field_violations=[
            envelope_pb2.FieldViolation(field=v.field, description=v.description, code=_own_code(v, failure))
            for v in failure.violations
        ],
    )
    details = dict(failure.details)
    if failure.retry_after_ms is not None:
        details["retry_after_ms"] = failure.retry_after_ms
    if details:
        struct = struct_pb2.Struct()
        struct.update(details)
        error.details.CopyFrom(struct)
    return error


def to_status(
    failure: CallFailure, request_id: str
) -> tuple[grpc.StatusCode, str, tuple[tuple[str, str | bytes], ...]]:
    """Code, message and trailing metadata of the gRPC status, with google.rpc details."""
    message = failure.message[:_STATUS_MESSAGE_CHARS]
    status = status_pb2.Status(code=failure.rule.grpc_code.value[0], message=message)
    info = error_details_pb2.ErrorInfo(
        reason=failure.error_code, domain=ERROR_DOMAIN, metadata={"request_id": request_id, **_named(failure)}
    )
    _pack(status, info)
    if failure.retry_after_ms is not None:
        delay = duration_pb2.Duration()
        delay.FromMilliseconds(failure.retry_after_ms)
        _pack(status, error_details_pb2.RetryInfo(retry_delay=delay))
    if failure.violations:
        _pack(status, _bad_request(failure))
    trailers = (
        (CODE_METADATA, failure.error_code),
        (STATUS_DETAILS_METADATA, status.SerializeToString()),
    )
    return failure.rule.grpc_code, message, trailers


def _named(failure: CallFailure) -> dict[str, str]:
    """The quota that is used up, if one is."""
    limit = failure.details.get("limit")
    return {} if limit is None else {"limit": str(limit)}


def _pack(status: status_pb2.Status, detail: Any) -> None:
    packed = any_pb2.Any()
    packed.Pack(detail)
    status.details.append(packed)


def _bad_request(failure: CallFailure) -> error_details_pb2.BadRequest:
    """As many violations as fit into a trailer."""
    bad = error_details_pb2.BadRequest()
    size = 0
    for number, violation in enumerate(failure.violations):
        entry = bad.field_violations.add(
            field=violation.field,
            description=violation.description,
            reason=violation.code or failure.error_code,
        )
        size += entry.ByteSize() + 8
        if size > _STATUS_DETAILS_BYTES:
            left = len(failure.violations) - number
            entry.CopyFrom(
                type(entry)(description=f"{left} more do not fit here; the envelope names all of them")
            )
            break
    return bad


def _own_code(violation: Violation, failure: CallFailure) -> str | None:
    return violation.code if violation.code != failure.error_code else None
