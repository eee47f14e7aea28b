"""Settings out of flags, the environment and TOML; and the file that server.ontology_file names."""

from __future__ import annotations

import difflib
import math
import os
import re
import tomllib
import types
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from kgsvc.config.tree import Address, ConfigError, Origins, Settings, split_address, split_origins
from kgsvc.domain.limits import Fixed, Range
from kgsvc.domain.model.extraction import DEFAULT, Ontology
from kgsvc.ontology import OntologyError, read

PREFIX = "KGSVC_"
FILE_VARIABLE = "KGSVC_CONFIG"
# What a Kubernetes cluster sets for a service called kgsvc…, what clients read, what steers the tests.
_FOREIGN = re.compile(
    r"KGSVC_(\w+_)?(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT_\d+_(TCP|UDP|SCTP)(_PROTO|_PORT|_ADDR)?)"
    r"|KGSVC_(REQUIRE|TEST)_\w+|KGSVC_NEO4J_CACHE"
)
_LINK = re.compile(r"(tcp|udp|sctp)://")


@dataclass(frozen=True, slots=True)
class SettingKey:
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


def _keys() -> Iterator[SettingKey]:
    sections = get_type_hints(Settings)
    for section in fields(Settings):
        kind = sections[section.name]
        hints, defaults = get_type_hints(kind, include_extras=True), kind()
        for each in fields(kind):
            hint, rules = _parts(hints[each.name])
            if Fixed not in rules:
                default = getattr(defaults, each.name)
                yield SettingKey(section.name, each.name, hint, rules, default, secret=not each.repr)


def _parts(hint: Any) -> tuple[Any, tuple[Any, ...]]:
    """A field's type, and the rules that it is annotated with."""
    if get_origin(hint) is Annotated:
        bare, *rules = get_args(hint)
        return bare, tuple(rules)
    return hint, ()


KEYS: Mapping[str, SettingKey] = {key.name: key for key in _keys()}


def describe(settings: Settings) -> list[tuple[str, str]]:
    """Every setting as (key, value for people), secrets hidden."""
    return [
        (key.name, key.shown(getattr(getattr(settings, key.section), key.field))) for key in KEYS.values()
    ]


def convert(key: SettingKey, raw: object, textual: bool) -> Any:
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


def _number(key: SettingKey, hint: type, raw: object, textual: bool) -> int | float:
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


def _text(key: SettingKey, hint: type, raw: object) -> Any:
    if isinstance(raw, Path) and hint is Path:
        return raw
    if not isinstance(raw, str) or "\x00" in raw:
        raise ValueError("text")
    address = next((rule for rule in key.rules if isinstance(rule, Address)), None)
    origins = Origins in key.rules
    may_be_empty = key.secret or origins or (address is not None and address.optional)
    if address is not None and raw:
        split_address(raw)
    if origins:
        split_origins(raw)
    if not raw and not may_be_empty:
        raise ValueError("not empty")
    return hint(raw)


def read_ontology(path: Path | None) -> Ontology:
    """The types in force for groups without an ontology of their own; without a file, or from one that says
    nothing, the default ones. Raises ConfigError naming every problem by line and field."""
    if path is None:
        return DEFAULT
    try:
        return read(path.read_text(encoding="utf-8")) or DEFAULT
    except OSError as error:
        raise ConfigError(f"server.ontology_file: {path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"server.ontology_file: {path} is not UTF-8") from error
    except OntologyError as error:
        raise ConfigError(f"server.ontology_file: {path}: {error}") from error


_CLIENT_FIELDS = ("server", "token", "tls_ca", "tls_cert", "tls_key", "tls_name")
# The names that the clients for all languages read, too.
_AS_CLIENTS = {f"KGSVC_{field.upper()}": KEYS[f"client.{field}"] for field in _CLIENT_FIELDS}
_VARIABLES = {key.variable: key for key in KEYS.values()} | _AS_CLIENTS
# Variables that name a file with a secret, as containers get theirs; by them the variable of the secret.
_FILES = {f"{name}_FILE": name for name, key in _VARIABLES.items() if key.secret}
_SECRET_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class Loaded:
    """Settings, and for each key that is not at its default where the value came from."""

    settings: Settings
    origins: Mapping[str, str]


def load(
    flags: Mapping[str, object] | None = None,
    file: Path | None = None,
    environ: Mapping[str, str] | None = None,
) -> Loaded:
    """Read the settings. `flags` by key, None for a flag not given; `file` defaults to KGSVC_CONFIG.

    Raises ConfigError naming every unknown key and every bad value. Does not verify().
    """
    environ = os.environ if environ is None else environ
    reader = _SettingsReader()
    named = file or (Path(environ[FILE_VARIABLE]) if environ.get(FILE_VARIABLE) else None)
    if named is not None:
        reader.read_file(named)
    reader.read_environment(environ)
    for name, value in (flags or {}).items():
        if value is not None:
            reader.take(KEYS[name], value, "flag", name)
    return reader.finish()


class _SettingsReader:
    """Collects values, later ones over earlier ones, and problems."""

    def __init__(self) -> None:
        self._values: dict[str, Any] = {}
        self._origins: dict[str, str] = {}
        self._problems: list[str] = []

    def read_file(self, path: Path) -> None:
        try:
            tables = tomllib.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise ConfigError(f"the configuration file {path} cannot be read: {error.strerror}") from error
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ConfigError(f"the configuration file {path} is not TOML: {error}") from error
        sections = {key.section for key in KEYS.values()}
        for section, table in tables.items():
            if section not in sections:
                self._unknown(f"table [{section}]", section, sections)
            elif not isinstance(table, dict):
                self._problems.append(f"{section}: must be a table with keys, as in [{section}]")
            else:
                for name, value in table.items():
                    self._file_value(f"{section}.{name}", value, str(path))

    def _file_value(self, name: str, value: object, origin: str) -> None:
        if name in KEYS:
            self.take(KEYS[name], value, origin, name)
        else:
            siblings = [known.name for known in KEYS.values() if name.startswith(f"{known.section}.")]
            self._unknown(name, name, siblings)

    def read_environment(self, environ: Mapping[str, str]) -> None:
        for name, text in sorted(environ.items()):
            if not name.startswith(PREFIX) or name == FILE_VARIABLE:
                continue
            if name in _VARIABLES:
                self.take(_VARIABLES[name], text, "environment", name)
            elif name in _FILES and text:
                self._secret_of(name, Path(text), environ)
            elif name in _FILES:
                continue
            elif not _FOREIGN.fullmatch(name) and not _LINK.match(text):
                self._unknown(f"variable {name}", name, _VARIABLES, "known are KGSVC_SECTION_FIELD")

    def _secret_of(self, name: str, path: Path, environ: Mapping[str, str]) -> None:
        """The secret in a file, without the line end that editors leave."""
        if environ.get(_FILES[name]):
            self._problems.append(f"{name}: {_FILES[name]} is set, too; which one counts?")
            return
        try:
            with path.open("rb") as file:
                found = file.read(_SECRET_BYTES + 1)
            text = found.decode().removesuffix("\n").removesuffix("\r")
        except OSError as error:
            self._problems.append(f"{name}: {path} cannot be read: {error.strerror}")
        except UnicodeDecodeError:
            self._problems.append(f"{name}: {path} is not UTF-8")
        else:
            if len(found) > _SECRET_BYTES or not text:
                self._problems.append(f"{name}: {path} must hold a secret, up to {_SECRET_BYTES} bytes")
            self.take(_VARIABLES[_FILES[name]], text, "environment", name)

    def take(self, key: SettingKey, raw: object, origin: str, called: str) -> None:
        try:
            self._values[key.name] = convert(key, raw, textual=origin == "environment")
            self._origins[key.name] = origin
        except ValueError as error:
            got = "" if key.secret else f", not {raw!r}"
            self._problems.append(f"{called}: must be {error}{got}")

    def _unknown(self, what: str, name: str, known: Iterable[str], otherwise: str = "") -> None:
        near = difflib.get_close_matches(name, sorted(known), n=1, cutoff=0.75)
        allowed = otherwise or f"known are {', '.join(sorted(known))}"
        self._problems.append(f"unknown {what} ({f'did you mean {near[0]}?' if near else allowed})")

    def finish(self) -> Loaded:
        settings = {}
        for section, kind in get_type_hints(Settings).items():
            chosen = {n.partition(".")[2]: v for n, v in self._values.items() if n.startswith(f"{section}.")}
            try:
                settings[section] = kind(**chosen)
            except ValueError as error:  # what a dataclass of another room demands of its fields together
                self._problems.append(f"{section}: {error}")
        if self._problems:
            raise ConfigError("; ".join(self._problems))
        return Loaded(Settings(**settings), self._origins)
