"""Requests as protobuf's mapping to JSON writes them. A wrong name is told with those there are."""

from __future__ import annotations

import json
import re
from typing import Any, TypeVar, cast

from google.protobuf import json_format
from google.protobuf.descriptor import Descriptor
from google.protobuf.message import Message

from kgsvc.api.errors import MalformedRequest

M = TypeVar("M", bound=Message)
_EMPTY = re.compile(r'\[\s*\]|""')
_NO_FIELD = re.compile(r'Message type "([\w.]+)" has no field named ')
_NO_VALUE = re.compile(r"Invalid enum value .{1,200}? for enum type ([\w.]+)")


class JsonText(bytes):
    """A request as JSON."""


def of_json(kind: type[M], raw: bytes) -> M:
    """The message. Raises MalformedRequest."""
    try:
        text = raw.decode("utf-8")
        message = json_format.Parse(text, kind())
        if _EMPTY.search(text):
            _check_objects(cast(Descriptor, kind.DESCRIPTOR), json.loads(text))
        return message
    except (json_format.ParseError, UnicodeDecodeError, RecursionError) as error:
        why = _told(kind, error)
        raise MalformedRequest(f"the body is not a {kind.DESCRIPTOR.full_name} as JSON: {why}") from None


def _told(kind: type[Message], error: Exception) -> str:
    """What is wrong, and which names there are where one is none of them."""
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    why, pool = str(error).partition("\n")[0], cast(Any, kind.DESCRIPTOR).file.pool
    if field := _NO_FIELD.search(why):
        names = [each.name for each in pool.FindMessageTypeByName(field[1]).fields]
    elif value := _NO_VALUE.search(why):
        names = [each.name for each in pool.FindEnumTypeByName(value[1]).values]
    else:
        return why
    return f"{why.rstrip('.')}; there are {', '.join(names)}"


def _check_objects(kind: Descriptor, value: Any) -> None:
    """Raise ParseError for a message written as an empty list or text, which json_format takes for one
    without fields."""
    if not isinstance(value, dict):
        raise json_format.ParseError(f"{kind.full_name} is not an object")
    for field in kind.fields:
        below = value.get(field.json_name, value.get(field.name))
        if below is None or field.message_type is None or not _is_plain(field.message_type):
            continue
        for each in below if field.is_repeated else [below]:
            _check_objects(field.message_type, each)


def _is_plain(kind: Descriptor) -> bool:
    """Whether the message is written as an object with its fields: well-known types and maps are not."""
    return not (kind.file.package == "google.protobuf" or kind.GetOptions().map_entry)
