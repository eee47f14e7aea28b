"""Reading a request: its bytes, no unknown fields, its values. All violations are collected."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from datetime import UTC, datetime
from itertools import islice
from typing import Any, TypeVar, cast

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import DecodeError, Message
from google.protobuf.timestamp_pb2 import Timestamp
from google.protobuf.unknown_fields import UnknownFieldSet

from kgsvc.api.errors import MalformedRequest, summary
from kgsvc.api.json_text import JsonText, of_json
from kgsvc.domain.errors import InvalidArgument, LimitExceeded, OperationError, Violation
from kgsvc.domain.limits import Limits
from kgsvc.domain.model.graph import is_source_url
from kgsvc.domain.model.items import SCRATCH
from kgsvc.domain.text import has_invisible, normalise, normalise_body

_NAMED = 100  # unknown fields that are named; the rest is as wrong, but one answer must end
_READ_BYTES = 64 * 1024  # of them are read to name them: each becomes an object before the first is told
_KEY_CHARS = 64  # of a map key in a path


M = TypeVar("M", bound=Message)
D = TypeVar("D", int, None)
E = TypeVar("E")
N = TypeVar("N", bound=int)
V = TypeVar("V")
_FIRST_SECOND = int(datetime(1, 1, 1, tzinfo=UTC).timestamp())
_LAST_SECOND = int(datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC).timestamp())
_NANOS_A_SECOND = 1_000_000_000
_OVER = LimitExceeded.error_code
_VIOLATIONS = 1_000  # named at most
_PAGE_SIZE = 100  # when none is asked for
_TOKEN_CHARS = 4_096
INVISIBLE = "must not contain invisible characters, such as zero-width spaces"


def parse(kind: type[M], raw: bytes) -> M:
    """The message in `raw`, by JsonText as JSON. Raises MalformedRequest."""
    if isinstance(raw, JsonText):
        return of_json(kind, raw)
    try:
        return kind.FromString(raw)
    except DecodeError:
        raise MalformedRequest(f"the bytes are not a {kind.DESCRIPTOR.full_name}") from None


def unknown_fields(message: Message) -> list[Violation]:
    """One violation for each field of what `message` was parsed from that the contract does not know."""
    known = type(message)()
    known.CopyFrom(message)
    known.DiscardUnknownFields()
    if known.ByteSize() == message.ByteSize():
        return []
    if message.ByteSize() - known.ByteSize() > _READ_BYTES:
        return [Violation("", "has fields that are not in this contract")]
    found = islice(_unknown(message, ""), _NAMED)
    return [Violation(path, "is not a field of this contract") for path in found]


def _unknown(message: Message, path: str) -> Iterator[str]:
    """Paths of the unknown fields in a message and below it."""
    by_number = cast(Descriptor, message.DESCRIPTOR).fields_by_number
    for unknown in cast(Iterable[Any], UnknownFieldSet(message)):
        field = by_number.get(unknown.field_number)
        # An entry of a map that holds an unknown field is kept among the unknown ones, whole.
        yield f"{path}{field.name if field and _is_map(field) else unknown.field_number}"
    for field, value in message.ListFields():
        for inner, below in _messages(field, value):
            yield from _unknown(below, f"{path}{field.name}{inner}.")


def _messages(field: FieldDescriptor, value: Any) -> Iterator[tuple[str, Message]]:
    """The messages that a field holds, each with its index or map key."""
    if field.message_type is None:
        return
    if _is_map(field):
        if field.message_type.fields_by_name["value"].message_type is not None:
            yield from ((f"[{str(key)[:_KEY_CHARS]!r}].value", each) for key, each in value.items())
    elif field.is_repeated:
        yield from ((f"[{index}]", each) for index, each in enumerate(value))
    else:
        yield "", value


def _is_map(field: FieldDescriptor) -> bool:
    return field.message_type is not None and field.message_type.GetOptions().map_entry


class RequestCheck:
    """Collects what is wrong with one request and maps what is right."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.idempotency_key: str | None = None  # of the envelope
        self.request_id = ""  # of the call, or of the message of a stream
        self.groups: list[str] = []  # tenants named in the request
        self.uuids: list[str] = []  # things named in it, for the audit
        self._violations: list[Violation] = []

    @property
    def violations(self) -> Sequence[Violation]:
        """What is wrong so far."""
        return self._violations

    def extend(self, violations: list[Violation]) -> None:
        """Add violations."""
        self._violations.extend(violations)

    def invalid(self, path: str, problem: str) -> None:
        """Something breaks the contract."""
        self._violations.append(Violation(path, problem))

    def over(self, path: str, problem: str) -> None:
        """Something is over a limit."""
        self._violations.append(Violation(path, problem, _OVER))

    def error(self) -> OperationError | None:
        """All violations as one error: LIMIT_EXCEEDED if all are of limits, else INVALID_ARGUMENT."""
        named = self._violations[:_VIOLATIONS]
        if not named:
            return None
        if all(violation.code == _OVER for violation in self._violations):
            return LimitExceeded(summary(self._violations), named)
        return InvalidArgument(summary(self._violations), named)

    def finish(self) -> None:
        """Raise `error` if there is one."""
        error = self.error()
        if error is not None:
            raise error

    def identifier(self, path: str, value: str, limit: int) -> str:
        """A required uuid or the like: any text without control characters."""
        if not value:
            self.invalid(path, "is required")
        elif _has_control(value):
            self.invalid(path, "must not contain control characters")
        self._length(path, value, limit)
        return value

    def group_id(self, path: str, value: str) -> str:
        """A required tenant. Of two names that look alike one must not be another tenant."""
        if has_invisible(value):
            self.invalid(path, INVISIBLE)
        return self.any_group_id(path, value)

    def any_group_id(self, path: str, value: str) -> str:
        """A required tenant of any name, also of one that nothing is added to any more: to remove it."""
        before = len(self._violations)
        if value.isspace():
            self.invalid(path, "must not be blank")
        self.identifier(path, value, self.limits.group_id)
        if len(self._violations) == before:
            self.groups.append(value)
        return value

    def writable_group_id(self, path: str, value: str) -> str:
        """A required tenant that items are added to."""
        if value.startswith(SCRATCH):
            self.invalid(path, f"must not begin with {SCRATCH}, which is reserved")
        return self.group_id(path, value)

    def group_ids(self, path: str, values: Sequence[str]) -> tuple[str, ...]:
        """A list of 1 to `items_per_call` tenants."""
        return tuple(
            self.group_id(f"{path}[{i}]", group_id) for i, group_id in enumerate(self.bounded(path, values))
        )

    def uuid(self, sent: Any, field: str) -> str:
        """A required uuid of the input."""
        value = self.identifier(f"input.{field}", getattr(sent, field), self.limits.uuid)
        self.names([value], self.limits.uuid)
        return value

    def names(self, ids: Iterable[str | None], limit: int) -> None:
        """The request is about these things."""
        self.uuids.extend(each[:limit] for each in ids if each)

    def optional_uuid(self, sent: Message, field: str) -> str | None:
        """A uuid of the input that may be absent."""
        return self.optional_identifier(sent, "input.", field, self.limits.uuid)

    def named(self, sent: Any) -> tuple[str, str | None]:
        """The uuid and the optional group_id by which an input names one thing."""
        uuid = self.uuid(sent, "uuid")
        if not sent.HasField("group_id") or not self.filled("input.group_id", sent.group_id):
            return uuid, None
        return uuid, self.group_id("input.group_id", sent.group_id)

    def optional_identifier(self, message: Message, path: str, field: str, limit: int) -> str | None:
        """An identifier that may be absent; present it must not be empty."""
        if not message.HasField(field) or not self.filled(f"{path}{field}", getattr(message, field)):
            return None
        return self.identifier(f"{path}{field}", getattr(message, field), limit)

    def source_url(self, path: str, value: str) -> bool:
        """Whether it can be the address of an original."""
        if is_source_url(value):
            return True
        self.invalid(path, "must be an http or https address without blanks and without a comma at its end")
        return False

    def filled(self, path: str, value: str) -> bool:
        """Whether a field that is there, and might have been left out, holds something."""
        if not value:
            self.invalid(path, "must not be empty; leave it out instead")
        return bool(value)

    def name(self, path: str, value: str) -> str:
        """A required name, without the space around it."""
        if not value:
            self.invalid(path, "is required")
        elif not normalise(value):
            self.invalid(path, "must not be blank")  # or of invisible characters alone
        return self.text(path, value, self.limits.name).strip()

    def text(self, path: str, value: str, limit: int) -> str:
        """Text of at most `limit` code points, as sent and as normalised, without NUL."""
        if "\0" in value:
            self.invalid(path, "must not contain NUL")
        self._length(path, value, limit)
        return value

    def required_text(self, path: str, value: str, limit: int) -> str:
        """Text that must not be blank."""
        if not value.strip():
            self.invalid(path, "is required")
        return self.text(path, value, limit)

    def optional_text(self, message: Message, path: str, field: str, limit: int) -> str | None:
        """Text that may be absent and may be empty."""
        if not message.HasField(field):
            return None
        return self.text(f"{path}{field}", getattr(message, field), limit)

    def body(self, path: str, value: str, around: str = "") -> str:
        """The required text of an item, with `around` (what its body problem of the speaker) in bytes."""
        if not value:
            self.invalid(path, "is required")
        if "\0" in value:
            self.invalid(path, "must not contain NUL")
        limit = self.limits.body_bytes
        size = max(_utf8_size(value), _utf8_size(normalise_body(value))) + _utf8_size(around)
        if size > limit:
            self.over(path, f"has {size} bytes, at most {limit} are allowed")
        return value

    def time(self, message: Message, path: str, field: str) -> int:
        """A required time in milliseconds; finer ones are floored."""
        where = f"{path}{field}"
        if not message.HasField(field):
            self.invalid(where, "is required")
            return 0
        stamp: Timestamp = getattr(message, field)
        if not 0 <= stamp.nanos < _NANOS_A_SECOND:
            self.invalid(where, "has nanos outside of 0 to 999,999,999")
        if not _FIRST_SECOND <= stamp.seconds <= _LAST_SECOND:
            self.invalid(where, "is not between 0001-01-01 and 9999-12-31")
        return stamp.seconds * 1_000 + stamp.nanos // 1_000_000

    def optional_time(self, message: Message, path: str, field: str) -> int | None:
        """A time in milliseconds, None where it is absent."""
        return self.time(message, path, field) if message.HasField(field) else None

    def enum(self, path: str, number: N, values: Mapping[N, E], default: E) -> E:
        """A required enum value as the domain's; `default` stands in where it is wrong."""
        if number in values:
            return values[number]
        self.invalid(path, "is required" if number == 0 else f"has no value {number}")
        return default

    def count(self, path: str, values: Sized, limit: int) -> None:
        """A list of 1 to `limit` entries."""
        if not len(values):
            self.invalid(path, "needs at least one entry")
        elif len(values) > limit:
            self.over(path, f"has {len(values)} entries, at most {limit} are allowed")

    def bounded(self, path: str, values: Sequence[V]) -> Sequence[V]:
        """A list of 1 to `items_per_call` entries. Of a longer one, which is refused, the first entries."""
        self.count(path, values, self.limits.items_per_call)
        return values[: self.limits.items_per_call]

    def identifiers(self, path: str, values: Sequence[str], most: int, limit: int) -> tuple[str, ...]:
        """A list of at most `most` identifiers; one named twice counts once."""
        if len(values) > most:
            self.over(path, f"has {len(values)} entries, at most {most} are allowed")
        else:
            for at, value in enumerate(values):
                self.identifier(f"{path}[{at}]", value, limit)
        return tuple(dict.fromkeys(values))

    def number(self, path: str, value: int, limit: int) -> int:
        """A number from 1 to `limit`."""
        if value < 1:
            self.invalid(path, "must be at least 1")
        elif value > limit:
            self.over(path, f"must be at most {limit}")
        return value

    def optional_number(self, message: Message, path: str, field: str, default: D, limit: int) -> int | D:
        """A number from 1 to `limit` that may be absent."""
        if not message.HasField(field):
            return default
        return self.number(f"{path}{field}", getattr(message, field), limit)

    def page_size(self, sent: Message) -> int:
        """The page size of a listing."""
        return self.optional_number(sent, "input.", "page_size", _PAGE_SIZE, self.limits.page_size_bound)

    def page_token(self, sent: Message) -> str | None:
        """The page token of a listing."""
        return self.optional_identifier(sent, "input.", "page_token", _TOKEN_CHARS)

    def _length(self, path: str, value: str, limit: int) -> None:
        length = len(value)
        if length <= limit and not value.isascii():
            length = max(length, len(normalise(value)))
        if length > limit:
            self.over(path, f"has {length} characters, at most {limit} are allowed")


def _has_control(value: str) -> bool:
    if value.isascii() and value.isprintable():
        return False
    return any(unicodedata.category(character) == "Cc" for character in value)


def _utf8_size(value: str) -> int:
    return len(value) if value.isascii() else len(value.encode())
