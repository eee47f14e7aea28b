"""How the protocols spoken over HTTP write requests, answers and errors.

Connect: https://connectrpc.com/docs/protocol; gRPC-Web: PROTOCOL-WEB.md of gRPC.
"""

from __future__ import annotations

import base64
import json
import string
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any
from urllib.parse import quote

import grpc
from google.protobuf import json_format
from google.protobuf.message import Message

from kgsvc.api.http.context import Metadata, Refusal
from kgsvc.api.http.framing import END_OF_STREAM, TRAILERS, frame
from kgsvc.api.json_text import JsonText

_C = grpc.StatusCode
_PLAIN = " " + string.punctuation.replace("%", "")  # is not escaped in grpc-message
HTTP_STATUSES: Mapping[grpc.StatusCode, int] = MappingProxyType(
    {
        _C.CANCELLED: 499,
        _C.INVALID_ARGUMENT: 400,
        _C.DEADLINE_EXCEEDED: 504,
        _C.NOT_FOUND: 404,
        _C.ALREADY_EXISTS: 409,
        _C.FAILED_PRECONDITION: 400,
        _C.PERMISSION_DENIED: 403,
        _C.RESOURCE_EXHAUSTED: 429,
        _C.UNIMPLEMENTED: 501,
        _C.INTERNAL: 500,
        _C.UNAVAILABLE: 503,
        _C.UNAUTHENTICATED: 401,
    }
)


def as_json(message: Message) -> bytes:
    """A message by protobuf's mapping to JSON, with the field names of the contract in lowerCamelCase."""
    return _compact(json_format.MessageToDict(message))


def _compact(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


@dataclass(frozen=True, slots=True)
class Coding:
    """How messages are written: as JSON or as protobuf's bytes."""

    received: Callable[[bytes], bytes]  # as handlers take it
    sent: Callable[[Message], bytes]


JSON = Coding(JsonText, as_json)
PROTO = Coding(bytes, lambda message: message.SerializeToString())


@dataclass(frozen=True, slots=True)
class Wire:
    """One way to write a call, chosen by the content type of its request."""

    content_type: str
    coding: Coding
    streams: bool  # for RPCs that stream, too; else for those with one answer alone
    framed: bool  # messages stand in frames
    end: Callable[[Refusal | None, Metadata], bytes]  # what comes after the last answer of a stream

    def answer(self, message: Message) -> bytes:
        """One answer of a stream."""
        written = self.coding.sent(message)
        return frame(written) if self.framed else _event("answer", written)


def _connect_end(refusal: Refusal | None, trailers: Metadata) -> bytes:
    shown = {key: [value] for key, value in trailers if isinstance(value, str)}
    end = ({"error": refusal.to_json()} if refusal else {}) | ({"metadata": shown} if shown else {})
    return frame(_compact(end), END_OF_STREAM)


def _web_end(refusal: Refusal | None, trailers: Metadata) -> bytes:
    code, message = (refusal.code, refusal.message) if refusal else (grpc.StatusCode.OK, "")
    lines = [("grpc-status", str(code.value[0])), ("grpc-message", quote(message, safe=_PLAIN))]
    lines += [(key, _text(value)) for key, value in (refusal.trailers if refusal else trailers)]
    return frame("".join(f"{key}: {value}\r\n" for key, value in lines).encode(), TRAILERS)


def _text(value: str | bytes) -> str:
    return value if isinstance(value, str) else base64.b64encode(value).decode().rstrip("=")


def _event(kind: str, data: bytes) -> bytes:
    return b"event: " + kind.encode() + b"\ndata: " + data + b"\n\n"


def _events_end(refusal: Refusal | None, _trailers: Metadata) -> bytes:
    return _event("error", _compact(refusal.to_json())) if refusal else _event("end", b"{}")


def refused(refusal: Refusal) -> tuple[int, bytes]:
    """Status and body of a call with one answer, which is an error."""
    return HTTP_STATUSES.get(refusal.code, 500), _compact(refusal.to_json())


EVENTS = "text/event-stream"
_ONE = [Wire("application/json", JSON, False, False, _connect_end)]
_ONE += [Wire("application/proto", PROTO, False, False, _connect_end)]
_MANY = [Wire("application/connect+json", JSON, True, True, _connect_end)]
_MANY += [Wire("application/connect+proto", PROTO, True, True, _connect_end)]
_MANY += [
    Wire(kind, PROTO, True, True, _web_end) for kind in ("application/grpc-web", "application/grpc-web+proto")
]
WIRES: Mapping[str, Wire] = MappingProxyType({wire.content_type: wire for wire in (*_ONE, *_MANY)})
EVENT_WIRE = Wire(EVENTS, JSON, True, False, _events_end)  # of a request as JSON, for an RPC that streams
