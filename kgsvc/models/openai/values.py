"""Checks single values of a model's answer.

Every function takes the value and the name of its field. It raises Bad, which does not quote the value.
"""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Mapping, Set
from datetime import datetime
from enum import StrEnum
from typing import Any, TypeVar

from kgsvc.domain.text import normalise

Choice = TypeVar("Choice", bound=StrEnum)

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
_PAIRS = 64
_KEY_CHARS = 128
WEIGHT_MAX = 10.0


class Bad(ValueError):
    """A value that cannot be accepted. `field` is its path below the object being read."""

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(problem)
        self.field = field
        self.problem = problem


class NoSuchTime(Bad):
    """A time that is written as one and that no calendar has."""


def fields(raw: object, required: Set[str], optional: Set[str] = frozenset()) -> Mapping[str, Any]:
    """`raw` as an object with all required and no unknown fields."""
    if not isinstance(raw, dict):
        raise Bad("", "is not an object")
    if missing := sorted(required - raw.keys()):
        raise Bad(missing[0], "is missing")
    if raw.keys() - required - optional:
        raise Bad("", "has a field that the schema does not know")
    return raw


def listed(raw: object, field: str, bound: int) -> list[Any]:
    """`raw` as a list of at most `bound` members."""
    if not isinstance(raw, list):
        raise Bad(field, "is not a list")
    if len(raw) > bound:
        raise Bad(field, f"has {len(raw)} members where {bound} are allowed")
    return raw


def text(raw: object, field: str, limit: int) -> str:
    """One line of at most `limit` code points, before and after normalisation; it may be empty."""
    if not isinstance(raw, str):
        raise Bad(field, "is not a string")
    if len(raw) > limit:
        raise Bad(field, f"is longer than {limit} characters")
    if _FORBIDDEN.search(raw):
        raise Bad(field, "holds control characters or broken Unicode")
    line = " ".join(raw.split())
    if len(normalise(line)) > limit:
        raise Bad(field, f"is longer than {limit} characters once normalised")
    return line


def visible(raw: object, field: str, limit: int) -> str:
    """Like text, with at least one visible character."""
    line = text(raw, field, limit)
    if is_blank(line):
        raise Bad(field, "is empty")
    return line


def is_blank(line: str) -> bool:
    """Whether nothing of `line` can be seen."""
    return not any(char.isprintable() and not char.isspace() for char in line)


def relation(raw: object, field: str) -> str:
    """A relation name in SCREAMING_SNAKE_CASE: "works at", "worksAt" and "Works-At" become WORKS_AT."""
    folded = unicodedata.normalize("NFKD", text(raw, field, 256))
    bare = "".join(char for char in folded if not unicodedata.combining(char))
    name = _JOINTS.sub("_", _CAMEL.sub("_", bare)).strip("_").upper()
    if not _RELATION.fullmatch(name):
        raise Bad(field, "is no relation name in SCREAMING_SNAKE_CASE of at most 64 characters")
    return name


def node_type(raw: object, field: str) -> str:
    """A name that a type could have, the first letter upper case; Entity for everything else. Which types
    there are, the ontology says."""
    words = _JOINTS.split(text(raw, field, 128))
    name = "".join(word[:1].upper() + word[1:] for word in words) or "Entity"
    return name if _TYPE.fullmatch(name) else "Entity"


def choice(raw: object, field: str, choices: type[Choice]) -> Choice:
    """A member of an enumeration."""
    given = text(raw, field, 64).lower()
    for member in choices:
        if member.value == given:
            return member
    raise Bad(field, f"is not one of {', '.join(choices)}")


def weight(raw: object, field: str) -> float:
    """A finite number from 0 to 10."""
    number = _number(raw, field)
    if not 0 <= number <= WEIGHT_MAX:
        raise Bad(field, "is not between 0 and 10")
    return float(number)


def instant(raw: object, field: str) -> int | None:
    """Milliseconds since the epoch, finer ones floored; None for null.

    Accepted are an ISO 8601 time with its zone, and a date, a month or a year alone (their first moment in
    UTC), from year 1 to 9999. Raises NoSuchTime for 30 February and the like.
    """
    if raw is None:
        return None
    match = _TIME.fullmatch(text(raw, field, 64))
    if not match:
        raise Bad(field, "is not null, an ISO 8601 time with zone, a date or a year")
    part = match.groupdict()
    try:
        least = {"year": 1, "month": 1, "day": 1, "hour": 0, "minute": 0, "second": 0}
        year, month, day, hour, minute, second = (int(part[unit] or least[unit]) for unit in least)
        local = datetime(year, month, day, hour, minute, second)
    except ValueError:
        raise NoSuchTime(field, "is no date of the calendar between the years 1 and 9999") from None
    since = local - _EPOCH
    millis = int((part["fraction"] or "0").ljust(3, "0")[:3])
    ms = (since.days * 86_400 + since.seconds) * 1000 + millis - _offset_ms(part)
    if not _FIRST_MS <= ms <= _LAST_MS:
        raise NoSuchTime(field, "lies outside the years 1 to 9999")
    return ms


def _offset_ms(part: Mapping[str, str | None]) -> int:
    minutes = int(part["off_hours"] or 0) * 60 + int(part["off_minutes"] or 0)
    return minutes * (-60_000 if part["sign"] == "-" else 60_000)


def words(raw: object, field: str) -> tuple[str, ...]:
    """A list of distinct short texts; empty ones are dropped."""
    found = (text(word, f"{field}[{at}]", _KEY_CHARS) for at, word in enumerate(listed(raw, field, _PAIRS)))
    return tuple(dict.fromkeys(word for word in found if word))


def text_pairs(raw: object, field: str, limit: int, limit_bytes: int) -> dict[str, str]:
    """A list of {key, value} as a map from text to text."""
    return _pairs(raw, field, limit_bytes, lambda value, at: visible(value, at, limit))


def value_pairs(raw: object, field: str, limit: int, limit_bytes: int) -> dict[str, str | int | float | bool]:
    """A list of {key, value} as a map from text to text, number or boolean."""
    return _pairs(raw, field, limit_bytes, lambda value, at: _scalar(value, at, limit))


def within(found: dict[str, Any], field: str, limit_bytes: int) -> dict[str, Any]:
    """`found`, which takes at most `limit_bytes` as JSON."""
    if len(json.dumps(found, ensure_ascii=False).encode()) > limit_bytes:
        raise Bad(field, f"takes more than {limit_bytes} bytes")
    return found


def _pairs(raw: object, field: str, limit_bytes: int, read: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for index, pair in enumerate(listed(raw, field, _PAIRS)):
        at = f"{field}[{index}]"
        try:
            given = fields(pair, {"key", "value"})
        except Bad as bad:
            raise Bad(f"{at}.{bad.field}".rstrip("."), bad.problem) from None
        key = visible(given["key"], f"{at}.key", _KEY_CHARS)
        if key in found:
            raise Bad(f"{at}.key", "is given twice")
        found[key] = read(given["value"], f"{at}.value")
    return within(found, field, limit_bytes)


def _scalar(raw: object, field: str, limit: int) -> str | int | float | bool:
    if isinstance(raw, bool):
        return raw
    if isinstance(raw, str):
        return text(raw, field, limit)
    return _number(raw, field)


def _number(raw: object, field: str) -> int | float:
    if isinstance(raw, bool) or not isinstance(raw, int | float):
        raise Bad(field, "is not a number")
    if isinstance(raw, int):
        if not -_INT64 <= raw < _INT64:
            raise Bad(field, "is a number beyond 64 bits")
    elif not math.isfinite(raw):
        raise Bad(field, "is not a finite number")
    return raw
