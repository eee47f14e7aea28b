"""Keys, and their values out of text or TOML."""

from __future__ import annotations

import math
import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from kgsvc.config.tree import Address, Settings, split_address
from kgsvc.domain.limits import Fixed, Range

PREFIX = "KGSVC_"


@dataclass(frozen=True, slots=True)
class Key:
    """One setting."""

    section: str
    field: str
    hint: Any
    rules: tuple[Any, ...]  # what its field is annotated with: Range, Address
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


def _keys() -> Iterator[Key]:
    sections = get_type_hints(Settings)
    for section in fields(Settings):
        kind = sections[section.name]
        hints, defaults = get_type_hints(kind, include_extras=True), kind()
        for each in fields(kind):
            hint, rules = _parts(hints[each.name])
            if Fixed not in rules:
                default = getattr(defaults, each.name)
                yield Key(section.name, each.name, hint, rules, default, secret=not each.repr)


def _parts(hint: Any) -> tuple[Any, tuple[Any, ...]]:
    """A field's type, and the rules that it is annotated with."""
    if get_origin(hint) is Annotated:
        bare, *rules = get_args(hint)
        return bare, tuple(rules)
    return hint, ()


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
    rule = next((rule for rule in key.rules if isinstance(rule, Range)), Range())
    least = 1 if rule.least is None and hint is int else rule.least
    most = 2**53 if rule.most is None else rule.most
    bound = "above 0" if least is None else f"of at least {least:g}"
    wanted = f"{'a whole number' if hint is int else 'a number'} {bound}"
    wanted += "" if rule.most is None else f" and at most {most:g}"
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
        raise ValueError("text")
    address = next((rule for rule in key.rules if isinstance(rule, Address)), None)
    may_be_empty = key.secret or (address is not None and address.optional)
    if address is not None and raw:
        split_address(raw)
    if not raw and not may_be_empty:
        raise ValueError("not empty")
    return hint(raw)
