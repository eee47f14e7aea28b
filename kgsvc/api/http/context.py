"""What a handler is told of a call that came over HTTP, as gRPC would tell it."""

from __future__ import annotations

import base64
import ipaddress
from collections.abc import Mapping, Sequence
from time import monotonic
from typing import Any, NoReturn

import grpc
from google.protobuf import json_format
from google.rpc import error_details_pb2, status_pb2

from kgsvc.api.errors import STATUS_DETAILS_METADATA

Metadata = Sequence[tuple[str, str | bytes]]
# google.rpc's details are shown as JSON: their types must be known where they are.
_DETAILS = error_details_pb2.DESCRIPTOR.package


class Refusal(Exception):
    """A call that ended with a gRPC status."""

    def __init__(self, code: grpc.StatusCode, message: str, trailers: Metadata = ()) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.trailers = trailers

    @property
    def name(self) -> str:
        """The code as the Connect protocol writes it."""
        spelled: str = self.code.name.lower()
        return "canceled" if spelled == "cancelled" else spelled

    def to_json(self) -> dict[str, Any]:
        """The error as the Connect protocol answers it; `debug` is each detail in readable form."""
        packed = dict(self.trailers).get(STATUS_DETAILS_METADATA, b"")
        status = status_pb2.Status.FromString(packed if isinstance(packed, bytes) else b"")
        details = [
            {
                "type": detail.TypeName(),
                "value": base64.b64encode(detail.value).decode().rstrip("="),
                "debug": {k: v for k, v in json_format.MessageToDict(detail).items() if k != "@type"},
            }
            for detail in status.details
            if detail.TypeName().startswith(_DETAILS)
        ]
        return {"code": self.name, "message": self.message} | ({"details": details} if details else {})


class HttpContext:
    """The part of grpc.aio.ServicerContext that this service's handlers use."""

    def __init__(self, metadata: Metadata, client: tuple[str, int] | None, timeout_s: float | None) -> None:
        self._metadata = metadata
        self._client = client
        self._ends_s = None if timeout_s is None else monotonic() + timeout_s
        self.trailers: Metadata = ()

    def invocation_metadata(self) -> Metadata:
        """The request's headers."""
        return self._metadata

    def auth_context(self) -> Mapping[str, Sequence[bytes]]:
        """Nothing: over HTTP a certificate lets a client connect and proves nobody."""
        return {}

    def peer(self) -> str:
        """The client's address, as gRPC writes it."""
        if self._client is None:
            return "unknown:"
        host, port = self._client
        try:
            version = ipaddress.ip_address(host.partition("%")[0]).version
        except ValueError:
            return f"unknown:{host}"
        return f"ipv6:[{host}]:{port}" if version == 6 else f"ipv4:{host}:{port}"

    def time_remaining(self) -> float | None:
        """Seconds until the caller stops waiting; None: it set no deadline."""
        return None if self._ends_s is None else self._ends_s - monotonic()

    def set_trailing_metadata(self, metadata: Metadata) -> None:
        """What is told after the answer."""
        self.trailers = metadata

    async def abort(self, code: grpc.StatusCode, details: str = "", trailing: Metadata = ()) -> NoReturn:
        """End the call with a status. Raises Refusal."""
        raise Refusal(code, details, trailing)
