"""Calls of a service in this process with complete requests, spoiled as a test wants."""

from collections.abc import Callable
from typing import Any

import grpc
import grpc.aio

from kgsvc.v1 import envelope_pb2
from tests.support.contract import path, response_class
from tests.support.requests import complete

Change = Callable[[Any], object]


def put(**values: Any) -> Change:
    """Sets fields of a message."""

    def change(target: Any) -> None:
        for name, value in values.items():
            setattr(target, name, value)

    return change


def clear(*names: str) -> Change:
    """Leaves fields of a message out."""

    def change(target: Any) -> None:
        for name in names:
            target.ClearField(name)

    return change


def first(name: str, change: Change) -> Change:
    """Changes the first of a list."""
    return lambda target: change(getattr(target, name)[0])


def request(name: str, change: Change | None = None) -> Any:
    """A valid request of a method, `change`d by a function of its input."""
    made = complete(name, "g")
    if change is not None:
        change(made.input)
    return made


async def call(
    channel: grpc.aio.Channel, name: str, raw: bytes, metadata: Any = None, timeout_s: float = 20
) -> Any:
    """The response to the bytes of a request; of a response stream, the first message."""
    deserialise = response_class(name).FromString
    if name in {"WatchReceipt", "WatchGroup", "ExportGroup"}:
        stream: Any = channel.unary_stream(path(name), response_deserializer=deserialise)
        return await anext(aiter(stream(raw, metadata=metadata, timeout=timeout_s)))
    unary: Any = channel.unary_unary(path(name), response_deserializer=deserialise)
    return await unary(raw, metadata=metadata, timeout=timeout_s)


def assert_violation(response: Any, field: str, code: str) -> None:
    """It is refused because of this field of the input alone, and answers nothing."""
    assert response.status == envelope_pb2.STATUS_ERROR
    assert response.error.error_code == code
    assert [v.field for v in response.error.field_violations] == [f"input.{field}"]
    assert not response.HasField("output")
