"""The server's own ontology: the file that server.ontology_file names."""

from __future__ import annotations

import difflib
import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_type_hints

from kgsvc.config.tree import ConfigError, Settings
from kgsvc.config.values import KEYS, PREFIX, Key, convert
from kgsvc.domain.model.extraction import DEFAULT, Ontology
from kgsvc.ontology import OntologyError, read


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


FILE_VARIABLE = "KGSVC_CONFIG"
# What a Kubernetes cluster sets for a service called kgsvc…, and what the tests are steered by.
_FOREIGN = re.compile(
    r"KGSVC_(\w+_)?(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT_\d+_(TCP|UDP|SCTP)(_PROTO|_PORT|_ADDR)?)"
    r"|KGSVC_(REQUIRE|TEST)_\w+|KGSVC_NEO4J_CACHE"
)
_LINK = re.compile(r"(tcp|udp|sctp)://")
_VARIABLES = {key.variable: key for key in KEYS.values()} | {"KGSVC_TOKEN": KEYS["client.token"]}


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
    reader = _Reader()
    named = file or (Path(environ[FILE_VARIABLE]) if environ.get(FILE_VARIABLE) else None)
    if named is not None:
        reader.read_file(named)
    reader.read_environment(environ)
    for name, value in (flags or {}).items():
        if value is not None:
            reader.take(KEYS[name], value, "flag", name)
    return reader.finish()


class _Reader:
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
            elif not _FOREIGN.fullmatch(name) and not _LINK.match(text):
                self._unknown(f"variable {name}", name, _VARIABLES, "known are KGSVC_SECTION_FIELD")

    def take(self, key: Key, raw: object, origin: str, called: str) -> None:
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
