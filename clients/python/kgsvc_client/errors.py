"""Why a call failed, as exceptions; the service's docs/contract.md says what each code means."""

from contextlib import suppress
from typing import Any, NamedTuple

import grpc
from google.protobuf.message import DecodeError

from kgsvc_client import rpc_status_pb2


class Violation(NamedTuple):
    """A field of a request that was not acceptable, by its path, such as `input.items[2].body`."""

    field: str
    description: str


class KgsvcError(Exception):
    """A call that failed. `code` is one of the service's, or of those that Unreachable names."""

    codes: tuple[str, ...] = ()  # those of a class
    retryable = False  # whether the same call may succeed later
    fields: tuple[Violation, ...] = ()  # every field of the request that was wrong
    retry_after_s: float | None = None  # how long to wait before trying again, if the service says so

    def __init_subclass__(cls, codes: str) -> None:
        cls.codes = tuple(codes.split())
        _KINDS.update(dict.fromkeys(cls.codes, cls))

    def __init__(self, code: str, message: str, request_id: str = "") -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.request_id = request_id  # names the call in the service's log


_KINDS: dict[str, type[KgsvcError]] = {}


class InvalidInput(KgsvcError, codes="INVALID_ARGUMENT LIMIT_EXCEEDED MALFORMED_REQUEST"):
    """The service does not take the input."""


class NotFound(KgsvcError, codes="NOT_FOUND"):
    """The thing named does not exist."""


class Conflict(KgsvcError, codes="CONFLICT"):
    """It exists already with other content, or several groups have the uuid."""


class AccessDenied(KgsvcError, codes="UNAUTHENTICATED PERMISSION_DENIED READ_ONLY"):
    """The token is missing or not valid (any more), or does not grant this; or nobody may write now."""


class ServiceFault(KgsvcError, codes="INTERNAL"):
    """A fault of the service, or a code that this client does not know."""


class OlderService(KgsvcError, codes="UNIMPLEMENTED"):
    """The service does not know the operation, its contract is older than this client's."""


class Unavailable(
    KgsvcError,
    codes="OVERLOADED QUOTA_EXCEEDED SHUTTING_DOWN STORE_UNAVAILABLE EMBEDDER_UNAVAILABLE MODEL_UNAVAILABLE",
):
    """The service cannot do it at the moment."""

    retryable = True


class Unreachable(Unavailable, codes="UNREACHABLE BROKEN CANCELLED"):
    """No service answers, or the connection broke."""


class DeadlineExceeded(KgsvcError, codes="DEADLINE_EXCEEDED"):
    """No answer in time; a write may have happened, and sending it again with the same uuids is safe."""

    retryable = True


# What gRPC itself says where the service said nothing. INTERNAL and UNKNOWN are broken streams, the former
# also a status that grpc.aio lost (grpc/grpc#36066): whoever tries again is told it.
_BY_GRPC = {
    grpc.StatusCode.UNAVAILABLE: "UNREACHABLE",
    grpc.StatusCode.INTERNAL: "BROKEN",
    grpc.StatusCode.UNKNOWN: "BROKEN",
    grpc.StatusCode.RESOURCE_EXHAUSTED: "LIMIT_EXCEEDED",  # larger than a message may be
}


def error(code: str, message: str, request_id: str = "") -> KgsvcError:
    """The exception for a code."""
    return _KINDS.get(code, ServiceFault)(code, message, request_id)


def from_grpc(failure: Any, address: str, request_id: str = "") -> KgsvcError:
    """The exception for a gRPC status, of grpc or of grpc.aio."""
    trailers = dict(failure.trailing_metadata() or ())
    status, said = failure.code(), failure.details() or ""
    code = str(trailers.get("kgsvc-error-code") or _BY_GRPC.get(status, status.name))
    if code == "UNREACHABLE":
        said = f"no service answers at {address}: {said}"
    elif code == "UNIMPLEMENTED":
        said = f"{address} does not know this operation: is it older than this client?"
    made = error(code, said, request_id)
    with suppress(DecodeError):  # code and sentence are there all the same
        _add_details(made, trailers.get("grpc-status-details-bin", b""))
    return made


def _add_details(made: KgsvcError, trailer: bytes) -> None:
    for detail in rpc_status_pb2.Status.FromString(trailer).details:
        match detail.type_url.rpartition(".")[2]:
            case "ErrorInfo":
                named = rpc_status_pb2.ErrorInfo.FromString(detail.value).metadata
                made.request_id = named.get("request_id", made.request_id)
            case "BadRequest":
                wrong = rpc_status_pb2.BadRequest.FromString(detail.value).field_violations
                made.fields = tuple(Violation(each.field, each.description) for each in wrong)
            case "RetryInfo":
                delay = rpc_status_pb2.RetryInfo.FromString(detail.value).retry_delay
                made.retry_after_s = delay.seconds + delay.nanos / 1e9
