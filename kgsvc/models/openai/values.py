"""Parts of a model's answer: pydantic checks shape, types and numbers, the functions here what texts must be.

What is wrong is raised as Bad, which names the place and does not quote the value.
"""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, TypeVar, cast

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, ValidationError, ValidationInfo
from pydantic_core import ErrorDetails

from kgsvc.domain.limits import Limits
from kgsvc.domain.text import normalise

Read = TypeVar("Read", bound="ExactObject")

_FORBIDDEN = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")  # controls, lone surrogates
_RELATION = re.compile(r"[A-Z][A-Z0-9_]{0,63}")
_TYPE = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
_JOINTS = re.compile(r"[\s_./-]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_TIME = re.compile(
    r"(?P<year>[0-9]{4})(?:-(?P<month>[0-9]{2})(?:-(?P<day>[0-9]{2})(?:[Tt ]"
    r"(?P<hour>[0-9]{2}):(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2})(?:[.,](?P<fraction>[0-9]{1,9}))?)?"
    r"(?:[Zz]|(?P<sign>[+-])(?P<off_hours>[0-9]{2}):?(?P<off_minutes>[0-5][0-9])))?)?)?"
)
_EPOCH = datetime(1970, 1, 1)  # without zones: no overflow in the years 1 and 9999
_FIRST_MS = -62_135_596_800_000  # 0001-01-01T00:00:00Z
_LAST_MS = 253_402_300_799_999  # 9999-12-31T23:59:59.999Z
_INT64 = 2**63
PAIRS = 64
KEY_CHARS = 128
WEIGHT_MAX = 10.0


class BadValue(ValueError):
    """A value that cannot be accepted. `field` is its path below the object being read."""

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(problem)
        self.field = field
        self.problem = problem


class NoSuchTime(BadValue):
    """A time that is written as one and that no calendar has."""


class ExactObject(BaseModel):
    """An object with exactly these fields; those with a default may be left out."""

    model_config = ConfigDict(extra="forbid", strict=True)


def read(kind: type[Read], raw: object, limits: Limits | None = None) -> Read:
    """`raw` as such a part. Lengths that are named are those of `limits`. Raises Bad for the first thing that
    is wrong with it."""
    try:
        return kind.model_validate(raw, context=limits)
    except ValidationError as error:
        raise _bad(error.errors(include_url=False, include_input=False)[0]) from None


_WRONG = {
    "missing": "is missing",
    "model_type": "is not an object",
    "list_type": "is not a list",
    "string_type": "is not a string",
    "int_type": "is not a whole number",
    "float_type": "is not a number",
    "finite_number": "is not a finite number",
}


def _bad(found: ErrorDetails) -> BadValue:
    kind, place, more = found["type"], found["loc"], found.get("ctx", {})
    if kind == "extra_forbidden":
        return BadValue(_path(place[:-1]), "has a field that the schema does not know")
    if kind == "too_long":
        return BadValue(_path(place), _too_many(more["actual_length"], more["max_length"]))
    own = more.get("error")
    return BadValue(
        _path(place), own.problem if isinstance(own, BadValue) else _WRONG.get(kind, "is out of range")
    )


def _path(place: Sequence[str | int]) -> str:
    return "".join(f"[{each}]" if isinstance(each, int) else f".{each}" for each in place).lstrip(".")


def _too_many(count: object, bound: object) -> str:
    return f"has {count} members where {bound} are allowed"


def listed(raw: object, field: str, bound: int) -> list[Any]:
    """`raw` as a list of at most `bound` members, whatever they are."""
    if not isinstance(raw, list):
        raise BadValue(field, "is not a list")
    if len(raw) > bound:
        raise BadValue(field, _too_many(len(raw), bound))
    return raw


def text(raw: str, limit: int) -> str:
    """One line of at most `limit` code points, before and after normalisation; it may be empty."""
    if len(raw) > limit:
        raise BadValue("", f"is longer than {limit} characters")
    if _FORBIDDEN.search(raw):
        raise BadValue("", "holds control characters or broken Unicode")
    line = " ".join(raw.split())
    if len(normalise(line)) > limit:
        raise BadValue("", f"is longer than {limit} characters once normalised")
    return line


def visible(raw: str, limit: int) -> str:
    """Like text, with at least one visible character."""
    line = text(raw, limit)
    if is_blank(line):
        raise BadValue("", "is empty")
    return line


def is_blank(line: str) -> bool:
    """Whether nothing of `line` can be seen."""
    return not any(char.isprintable() and not char.isspace() for char in line)


def a_text(limit: int | str, check: Callable[[str, int], str] = text) -> AfterValidator:
    """Of a field: `check` with this limit, or with the one of this name in the limits that are read by."""

    def checked(raw: str, info: ValidationInfo) -> str:
        return check(raw, limit if isinstance(limit, int) else getattr(info.context, limit))

    return AfterValidator(checked)


def relation(raw: str) -> str:
    """A relation name in SCREAMING_SNAKE_CASE: "works at", "worksAt" and "Works-At" become WORKS_AT."""
    folded = unicodedata.normalize("NFKD", text(raw, 256))
    bare = "".join(char for char in folded if not unicodedata.combining(char))
    name = _JOINTS.sub("_", _CAMEL.sub("_", bare)).strip("_").upper()
    if not _RELATION.fullmatch(name):
        raise BadValue("", "is no relation name in SCREAMING_SNAKE_CASE of at most 64 characters")
    return name


def node_type(raw: str) -> str:
    """A name that a type could have, the first letter upper case; Entity for everything else. Which types
    there are, the ontology says."""
    words = _JOINTS.split(text(raw, 128))
    name = "".join(word[:1].upper() + word[1:] for word in words) or "Entity"
    return name if _TYPE.fullmatch(name) else "Entity"


def one_of(choices: type[StrEnum]) -> BeforeValidator:
    """Of a field: a member of an enumeration, in letters of any case."""

    def chosen(raw: object) -> StrEnum:
        if not isinstance(raw, str):
            raise BadValue("", "is not a string")
        given = text(raw, 64).lower()
        for member in choices:
            if member.value == given:
                return member
        raise BadValue("", f"is not one of {', '.join(choices)}")

    return BeforeValidator(chosen)


def instant(raw: object) -> int | None:
    """Milliseconds since the epoch, finer ones floored; None for null.

    Accepted are an ISO 8601 time with its zone, and a date, a month or a year alone (their first moment in
    UTC), from year 1 to 9999. Raises NoSuchTime for 30 February and the like.
    """
    if raw is None:
        return None
    if not isinstance(raw, str):
        raise BadValue("", "is not a string")
    match = _TIME.fullmatch(text(raw, 64))
    if not match:
        raise BadValue("", "is not null, an ISO 8601 time with zone, a date or a year")
    part = match.groupdict()
    try:
        least = {"year": 1, "month": 1, "day": 1, "hour": 0, "minute": 0, "second": 0}
        year, month, day, hour, minute, second = (int(part[unit] or least[unit]) for unit in least)
        local = datetime(year, month, day, hour, minute, second)
    except ValueError:
        raise NoSuchTime("", "is no date of the calendar between the years 1 and 9999") from None
    since = local - _EPOCH
    millis = int((part["fraction"] or "0").ljust(3, "0")[:3])
    ms = (since.days * 86_400 + since.seconds) * 1000 + millis - _offset_ms(part)
    if not _FIRST_MS <= ms <= _LAST_MS:
        raise NoSuchTime("", "lies outside the years 1 to 9999")
    return ms


def _offset_ms(part: Mapping[str, str | None]) -> int:
    minutes = int(part["off_hours"] or 0) * 60 + int(part["off_minutes"] or 0)
    return minutes * (-60_000 if part["sign"] == "-" else 60_000)


Instant = Annotated[int | None, BeforeValidator(instant)]


def scalar(raw: object, info: ValidationInfo) -> object:
    """A text as long as a summary, a boolean or a number of 64 bits."""
    if isinstance(raw, str):
        return text(raw, cast(Limits, info.context).summary)
    if not isinstance(raw, int | float):
        raise BadValue("", "is not a number")
    if isinstance(raw, int) and not -_INT64 <= raw < _INT64:
        raise BadValue("", "is a number beyond 64 bits")
    if not math.isfinite(raw):
        raise BadValue("", "is not a finite number")
    return raw


class TextPair(ExactObject):
    """A qualifier."""

    key: Annotated[str, a_text(KEY_CHARS, visible)]
    value: Annotated[str, a_text("fact", visible)]


class Pair(ExactObject):
    """An attribute."""

    key: Annotated[str, a_text(KEY_CHARS, visible)]
    value: Annotated[Any, AfterValidator(scalar)]


def mapped(pairs: Sequence[TextPair | Pair], field: str, limit_bytes: int) -> dict[str, Any]:
    """The pairs as a map."""
    found: dict[str, Any] = {}
    for at, pair in enumerate(pairs):
        if pair.key in found:
            raise BadValue(f"{field}[{at}].key", "is given twice")
        found[pair.key] = pair.value
    return within(found, field, limit_bytes)


def within(found: dict[str, Any], field: str, limit_bytes: int) -> dict[str, Any]:
    """`found`, which takes at most `limit_bytes` as JSON."""
    if len(json.dumps(found, ensure_ascii=False).encode()) > limit_bytes:
        raise BadValue(field, f"takes more than {limit_bytes} bytes")
    return found
