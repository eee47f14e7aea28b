"""Single values and objects of JSON: what they are called, when they hold, how they are written."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime
from typing import Any

from kgsvc.models.rules.days import day_of
from kgsvc.models.rules.relations import screaming
from kgsvc.models.rules.scene import NodeDraft
from kgsvc.models.rules.text import cleaned, mapping, word_list, word_set

DEEPEST = 12
LONGEST_VALUE = 200  # characters; longer strings are read as text
IDENTITY_KEYS = word_list("id uuid key code no number identifier ref")
NAME_KEYS = word_list("name full_name fullname display_name title label username login email slug")
TYPE_KEYS = ("type", "kind", "category", "@type", "class")
SCALARS = (str, int, float, bool)
PEOPLE_KEYS = word_set("""
person people user employee member customer contact author manager owner assignee lead staff friend student
coordinator inspector colleague teacher mother father
""")
ID = re.compile(r"(?=[\w.-]*\d)(?=[\w.-]*[A-Za-z])[A-Z][A-Za-z]{0,9}[-_.]?\w{1,20}(?:-\w{1,20}){0,3}")
_KINDS = mapping("""
project:Project company:Organization organization:Organization employer:Organization town:Location
city:Location depot:Location
""")
_SPEAKER_KEYS = ("speaker", "role", "author", "from", "sender", "user")
_SPOKEN_KEYS = ("content", "text", "message", "body")
_TEXT_KEYS = word_set(
    "description notes note comment comments content text body message summary bio about details"
)
_NAMING_KEYS = frozenset((*NAME_KEYS, *IDENTITY_KEYS, "first_name"))
_DATE = re.compile(r"\d{4}-\d\d-\d\d(?:[T ][\d:.]{4,15}(?:Z|[+-]\d\d:?\d\d)?)?")
_NAMED = re.compile(r"[^\W\d_a-zß-öø-ÿ][^\n;|]{1,60}")


def clean(value: Any, depth: int) -> Any:
    """The value without lone surrogates, which JSON can escape but no store can hold; cut where too deep."""
    if isinstance(value, str):
        return value if value.isascii() else cleaned(value.encode("utf-8", "replace").decode())
    if depth > DEEPEST:
        return None
    if isinstance(value, dict):
        return {clean(key, depth): clean(item, depth + 1) for key, item in value.items()}
    return [clean(item, depth + 1) for item in value] if isinstance(value, list) else value


def speech_of(value: Mapping[str, Any]) -> tuple[str, str] | None:
    """Speaker and text of a chat message in JSON."""
    speaker, text = first_text(value, _SPEAKER_KEYS).strip(), first_text(value, _SPOKEN_KEYS)
    return (speaker, text) if speaker and text else None


def first_text(value: Mapping[str, Any], keys: Iterable[str]) -> str:
    """The text under the first of the keys that has one."""
    return next((value[key] for key in keys if isinstance(value.get(key), str)), "")


def naming_keys(value: Mapping[str, Any], draft: NodeDraft) -> set[str]:
    return {
        key
        for key in _NAMING_KEYS
        if isinstance(value.get(key), (str, int)) and str(value[key]) in draft.name
    }


def name_of(value: Mapping[str, Any], under: str) -> tuple[str, str]:
    """The key and the text of an object's name: its name, else its id; a bare number needs to say of what."""
    for key in NAME_KEYS:
        found = value.get(key)
        if isinstance(found, str) and found.strip() and not (key == "title" and _has_id(value)):
            return key, found.strip()
    first, last = value.get("first_name"), value.get("last_name")
    if isinstance(first, str) and isinstance(last, str) and (first + last).strip():
        return "first_name", f"{first} {last}".strip()
    for key in IDENTITY_KEYS:
        found = value.get(key)
        if isinstance(found, (str, int)) and not isinstance(found, bool) and str(found).strip():
            text = str(found).strip()
            plain = isinstance(found, str) and ID.fullmatch(text)
            return key, text if plain else f"{first_text(value, TYPE_KEYS) or singular(under) or key} {text}"
    return "", ""


def _has_id(value: Mapping[str, Any]) -> bool:
    return any(isinstance(value.get(key), str) and ID.fullmatch(value[key]) for key in IDENTITY_KEYS)


def amount_of(value: Mapping[str, Any], currency: str, per: str = "") -> str:
    """ "310 EUR per day"; "" if the object holds no amount."""
    found = next(
        (value[k] for k in ("amount", "value", "price") if isinstance(value.get(k), (int, float))), None
    )
    percent = value.get("percent")
    if found is None or isinstance(found, bool):
        return f"{percent} percent" if isinstance(percent, (int, float)) else ""
    unit = first_text(value, ("currency", "unit")) or currency
    each = first_text(value, ("per",)) or per
    return " ".join(word for word in (written_as(found), unit, f"per {each}" if each else "") if word)


def moment_of(value: Any) -> int | None:
    """The first millisecond of a date, or a time, in ISO form."""
    match = _DATE.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        return None
    try:
        moment = datetime.fromisoformat(match[0]).replace(microsecond=0)
    except ValueError:
        return None
    exact = int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()) * 1000
    return exact if day_of(exact) else None


def first_moment(value: Mapping[str, Any], keys: Iterable[str]) -> int | None:
    """The moment under the first of the keys that has one."""
    return next((ms for key in keys if (ms := moment_of(value.get(key))) is not None), None)


def day_text(ms: int) -> str:
    """The day of a moment, as it was given."""
    day = day_of(ms)
    return "" if day is None else date.fromordinal(day).isoformat()


def kind_of(value: Mapping[str, Any], key: str) -> str:
    kind = first_text(value, TYPE_KEYS)
    if 0 < len(kind) <= 40 and kind.isascii() and kind.replace(" ", "").isalpha():
        return "".join(word.capitalize() for word in kind.split())
    single = singular(key.rsplit(" ", 1)[-1]).lower()
    if single in PEOPLE_KEYS or "first_name" in value or "full_name" in value:
        return "Person" if single != "customer" else "Entity"
    return _KINDS.get(single, "Entity")


def is_name(value: str) -> bool:
    """A short text with a capital and without the marks of a sentence."""
    text = value.strip()
    if moment_of(text) is not None or not _NAMED.fullmatch(text) or text[-1:] in ".!?":
        return False
    return len(text.split()) <= 6


def names_something(value: Any) -> bool:
    """Whether it is a name, or an id."""
    return isinstance(value, str) and (is_name(value) or ID.fullmatch(value) is not None)


def is_text(key: str, value: str) -> bool:
    last = key.rsplit(" ", 1)[-1].lower()
    return len(value) > LONGEST_VALUE or (last in _TEXT_KEYS and " " in value.strip())


def storable(value: str | float | bool) -> str | float | bool:
    """JSON has no NaN, and stores hold integers of 64 bits."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    large = isinstance(value, int) and not -(2**63) <= value < 2**63
    return str(value) if large else value


def written_as(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value).strip()[:LONGEST_VALUE] if isinstance(value, SCALARS) else ""


def words_of_key(key: str) -> str:
    """ "firstName", "first_name" → "first name"."""
    return screaming(key).replace("_", " ").lower() if key.isascii() else key[:80]


def singular(key: str) -> str:
    if key.endswith("ies") and len(key) > 4:
        return f"{key[:-3]}y"
    return key[:-1] if key.endswith("s") and not key.endswith(("ss", "us", "is")) and len(key) > 3 else key
