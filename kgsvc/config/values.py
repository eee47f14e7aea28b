"""Keys, and their values out of text or TOML."""

from __future__ import annotations

import math
import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from kgsvc.config.tree import Settings, split_address

PREFIX = "KGSVC_"


@dataclass(frozen=True, slots=True)
class Key:
    """One setting."""

    section: str
    field: str
    hint: Any
    default: Any
    secret: bool

    @property
    def name(self) -> str:
        """As it is called in messages and in the file."""
        return f"{self.section}.{self.field}"

    @property
    def variable(self) -> str:
        """The environment variable."""
        return f"{PREFIX}{self.section}_{self.field}".upper()

    def shown(self, value: Any) -> str:
        """A value for people; a secret only as set or not set."""
        if self.secret:
            return "(set)" if value else "(not set)"
        if isinstance(value, bool):
            return str(value).lower()
        return "" if value is None else str(value)


# One value under two names: the limit is what is set.
FILLED_IN = {"queue.attempts_per_step": "limits.attempts_per_step"}
# Whole numbers begin at 1 and others above 0, but for these, where 0 means none.
_FROM_ZERO = {
    "server.grace_s", "server.metrics_groups",
    "openai.backoff_s", "openai.backoff_max_s", "openai.retry_after_max_s",
    "chat.repair_attempts", "chat.reflexion_rounds", "chat.context_chars", "chat.temperature",
    "queue.drain_s", "retrieval.distance_weight", "communities.model_calls",
}  # fmt: skip
_AT_MOST: dict[str, float] = {
    "server.processes": 256,
    "retrieval.distance_weight": 1.0,
    "limits.attempts_per_step": 1_000,
    "chat.reflexion_rounds": 3,
}
_ADDRESSES = {"server.listen", "server.metrics_listen", "client.server"}
_MAY_BE_EMPTY = {"server.metrics_listen"}


def _keys() -> Iterator[Key]:
    sections = get_type_hints(Settings)
    for section in fields(Settings):
        kind = sections[section.name]
        hints, defaults = get_type_hints(kind), kind()
        for each in fields(kind):
            name = f"{section.name}.{each.name}"
            if name not in FILLED_IN:
                yield Key(
                    section.name,
                    each.name,
                    hints[each.name],
                    getattr(defaults, each.name),
                    secret=not each.repr,
                )


KEYS: Mapping[str, Key] = {key.name: key for key in _keys()}


def describe(settings: Settings) -> list[tuple[str, str]]:
    """Every setting as (key, value for people), secrets hidden."""
    return [
        (key.name, key.shown(getattr(getattr(settings, key.section), key.field))) for key in KEYS.values()
    ]


def convert(key: Key, raw: object, textual: bool) -> Any:
    """The value as the field's type. Raises ValueError saying what it must be."""
    hint, optional = key.hint, False
    if get_origin(hint) in {Union, types.UnionType}:
        hint = next(part for part in get_args(hint) if part is not type(None))
        optional = True
    if optional and raw == "":
        return None
    if get_origin(hint) is Literal:
        if raw not in get_args(hint):
            raise ValueError(f"one of {', '.join(get_args(hint))}")
        return raw
    if hint is bool:
        return _boolean(raw, textual)
    if hint in {int, float}:
        return _number(key, hint, raw, textual)
    return _text(key, hint, raw)


def _boolean(raw: object, textual: bool) -> bool:
    if isinstance(raw, bool):
        return raw
    words = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
    if textual and str(raw).lower() in words:
        return words[str(raw).lower()]
    raise ValueError("true or false")


def _number(key: Key, hint: type, raw: object, textual: bool) -> int | float:
    least = 0 if key.name in _FROM_ZERO else 1 if hint is int else None
    most = _AT_MOST.get(key.name, 2**53)
    bound = "above 0" if least is None else f"of at least {least}"
    wanted = f"{'a whole number' if hint is int else 'a number'} {bound}"
    wanted += f" and at most {most:g}" if key.name in _AT_MOST else ""
    allowed = int if hint is int else (int, float)
    try:
        if not textual and (isinstance(raw, bool) or not isinstance(raw, allowed)):
            raise ValueError
        value: int | float = hint(raw)
    except (ValueError, OverflowError):
        raise ValueError(wanted) from None
    too_small = value <= 0 if least is None else value < least
    if not math.isfinite(value) or too_small or value > most:
        raise ValueError(wanted)
    return value


def _text(key: Key, hint: type, raw: object) -> Any:
    if isinstance(raw, Path) and hint is Path:
        return raw
    if not isinstance(raw, str) or "\x00" in raw:
        raise ValueError("a text")
    if key.name in _ADDRESSES and not (raw == "" and key.name in _MAY_BE_EMPTY):
        split_address(raw)
    if not raw and not key.secret and key.name not in _MAY_BE_EMPTY:
        raise ValueError("not empty")
    return hint(raw)
