"""google.protobuf.Struct ↔ plain values, strictly: a Struct that JSON could not say is refused."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from google.protobuf import struct_pb2

from kgsvc.api.checks import Check

_EXACT = 2**53  # whole numbers below are the same as integers
_PROTO_BYTES_A_JSON_BYTE = 8  # a Struct larger than this times the limit is over it in JSON too


def attributes_in(check: Check, path: str, struct: struct_pb2.Struct) -> dict[str, Any]:
    """The values of a Struct; whole numbers become integers."""
    limit = check.limits.attributes_bytes
    if struct.ByteSize() > limit * _PROTO_BYTES_A_JSON_BYTE:
        check.over(path, f"is larger than {limit} bytes as JSON")
        return {}
    values = _struct(check, path, struct)
    size = len(json.dumps(values, ensure_ascii=False, separators=(",", ":")).encode())
    if size > limit:
        check.over(path, f"has {size} bytes as JSON, at most {limit} are allowed")
    return values


def attributes_out(values: Mapping[str, Any]) -> struct_pb2.Struct:
    """The values as a Struct."""
    struct = struct_pb2.Struct()
    struct.update(values)
    return struct


def _struct(check: Check, path: str, struct: struct_pb2.Struct) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for key, value in struct.fields.items():
        where = f"{path}[{key[:64]!r}]"
        if "\0" in key:
            check.invalid(where, "has NUL in its name")
        values[key] = _value(check, where, value)
    return values


def _value(check: Check, path: str, value: struct_pb2.Value) -> Any:
    kind = value.WhichOneof("kind")
    match kind:
        case "number_value":
            return _number(check, path, value.number_value)
        case "string_value":
            if "\0" in value.string_value:
                check.invalid(path, "must not contain NUL")
            return value.string_value
        case "bool_value":
            return value.bool_value
        case "struct_value":
            return _struct(check, path, value.struct_value)
        case "list_value":
            return [_value(check, f"{path}[{i}]", v) for i, v in enumerate(value.list_value.values)]
    if kind is None:
        check.invalid(path, "has no value")
    elif value.null_value != struct_pb2.NULL_VALUE:
        check.invalid(path, f"has no null value {value.null_value}")
    return None


def _number(check: Check, path: str, number: float) -> float | int:
    if not math.isfinite(number):
        check.invalid(path, "must be a finite number")
        return 0
    return int(number) if number.is_integer() and abs(number) < _EXACT else number
