"""Unknown fields, anywhere in a request, by descriptors alone (design §2).

The generated code keeps what it does not know. A copy without that is smaller exactly when there is some;
only then are the bytes walked to name the paths.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import cast

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message

from kgsvc.domain.errors import Violation

_NAMED = 100  # unknown fields that are named; the rest is as wrong, but one answer must end
_KEY_CHARS = 64  # of a map key in a path
_VARINT, _I64, _LEN, _START_GROUP, _END_GROUP, _I32 = range(6)
_FIXED_BYTES = {_I64: 8, _I32: 4}
_F = FieldDescriptor
_WIRE_TYPES = {
    **dict.fromkeys((_F.TYPE_DOUBLE, _F.TYPE_FIXED64, _F.TYPE_SFIXED64), _I64),
    **dict.fromkeys((_F.TYPE_FLOAT, _F.TYPE_FIXED32, _F.TYPE_SFIXED32), _I32),
    **dict.fromkeys((_F.TYPE_STRING, _F.TYPE_BYTES, _F.TYPE_MESSAGE), _LEN),
}


def unknown_fields(message: Message, raw: bytes) -> list[Violation]:
    """One violation for each field of `raw` that the contract does not know; `message` was parsed from it."""
    known = type(message)()
    known.CopyFrom(message)
    known.DiscardUnknownFields()
    if known.ByteSize() == message.ByteSize():
        return []
    violations: list[Violation] = []
    for path in _walk(memoryview(raw), cast(Descriptor, message.DESCRIPTOR), ""):
        violations.append(Violation(path, "is not a field of this contract"))
        if len(violations) == _NAMED:
            break
    return violations or [Violation("", "has a field that is not in this contract")]


def _walk(data: memoryview, descriptor: Descriptor, path: str) -> Iterator[str]:
    """Paths of the unknown fields in the encoding of one message."""
    seen: Counter[int] = Counter()
    position = 0
    while position < len(data):
        tag, position = _varint(data, position)
        number, wire_type = tag >> 3, tag & 7
        body, position = _payload(data, position, number, wire_type)
        field = descriptor.fields_by_number.get(number)
        if field is None or not _fits(field, wire_type):
            yield f"{path}{number}"
        elif field.message_type is not None:
            inner = _inner(path, field, field.message_type, seen[number], body)
            yield from _walk(body, field.message_type, inner)
        seen[number] += 1


def _inner(path: str, field: FieldDescriptor, inside: Descriptor, index: int, body: memoryview) -> str:
    """The path of what is inside a message field, with its index or map key."""
    if inside.GetOptions().map_entry:
        return f"{path}{field.name}[{_map_key(body)!r}]."
    return f"{path}{field.name}[{index}]." if field.is_repeated else f"{path}{field.name}."


def _map_key(entry: memoryview) -> str:
    position = 0
    while position < len(entry):
        tag, position = _varint(entry, position)
        body, position = _payload(entry, position, tag >> 3, tag & 7)
        if tag == (1 << 3 | _LEN):
            return bytes(body).decode("utf-8", "replace")[:_KEY_CHARS]
    return ""


def _fits(field: FieldDescriptor, wire_type: int) -> bool:
    """Whether a field may be encoded so; repeated numbers may come packed."""
    wanted = _WIRE_TYPES.get(field.type, _VARINT)
    return wire_type == wanted or (wire_type == _LEN and wanted != _LEN and field.is_repeated)


def _varint(data: memoryview, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7


def _payload(data: memoryview, position: int, number: int, wire_type: int) -> tuple[memoryview, int]:
    """The bytes of a field's value and where the next field begins."""
    start = position
    if wire_type == _VARINT:
        _, position = _varint(data, position)
    elif wire_type == _LEN:
        length, start = _varint(data, position)
        position = start + length
    elif wire_type == _START_GROUP:
        position = _group_end(data, position, number)
    else:
        position += _FIXED_BYTES[wire_type]
    return data[start:position], position


def _group_end(data: memoryview, position: int, number: int) -> int:
    """Where a group ends; groups in it are skipped with it."""
    depth = [number]
    while depth:
        tag, position = _varint(data, position)
        if tag & 7 == _START_GROUP:
            depth.append(tag >> 3)
        elif tag & 7 == _END_GROUP:
            depth.pop()
        else:
            _, position = _payload(data, position, tag >> 3, tag & 7)
    return position
