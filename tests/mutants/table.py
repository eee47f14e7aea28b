"""The table of mutants: mutants.toml, edited by hand when a function or a folder of tests is renamed."""

from __future__ import annotations

import shlex
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

TABLE = Path("tests/mutants/mutants.toml")
NEO4J = "neo4j-2026"  # suites that name this label get a server


class TableError(ValueError):
    """The table, or one of its mutants, does not fit the tree. Its message says which and why."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """A fault: in the function `where`, the text `before` becomes `after`."""

    id: str
    room: str
    where: str
    before: str
    after: str
    suites: tuple[str, ...] = ()  # `alias` or `alias:KEYWORD`, the cheapest first
    hint: str = ""  # part of a module's name or of a docstring, where several functions have the name
    drawn: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """All of the file."""

    suites: Mapping[str, str]  # alias -> arguments of pytest
    rooms: Mapping[str, tuple[str, ...]]  # where mutants are drawn -> suites of what is drawn there
    mutants: tuple[Mutant, ...]
    equivalent: frozenset[str]  # sites that were drawn and make no difference to any caller

    def arguments(self, suite: str, among: Iterable[str] = ()) -> list[str]:
        """What pytest is given for `alias` or `alias:KEYWORD`. `among`: keywords, any of which selects."""
        alias, _, keyword = suite.partition(":")
        if alias not in self.suites:
            raise TableError(f"no suite is called {alias}")
        found = shlex.split(self.suites[alias])
        wanted = " or ".join(sorted({keyword, *among} - {""}))
        if not wanted:
            return found
        if "-k" not in found:
            return [*found, "-k", wanted]
        at = found.index("-k") + 1
        return [*found[:at], f"({found[at]}) and ({wanted})", *found[at + 1 :]]


def load(path: Path) -> Table:
    """The table in a file. Raises TableError."""
    document = tomllib.loads(path.read_text(encoding="utf-8"))
    rooms = {room: tuple(suites) for room, suites in document["rooms"].items()}
    try:
        mutants = tuple(Mutant(**{**row, "suites": tuple(row["suites"])}) for row in document["mutant"])
    except (TypeError, KeyError) as error:
        raise TableError(f"{path}: {error}") from error
    equivalent = frozenset(row["site"] for row in document.get("equivalent", ()))
    found = Table(document["suites"], rooms, mutants, equivalent)
    ids = [mutant.id for mutant in mutants]
    if twice := {each for each in ids if ids.count(each) > 1}:
        raise TableError(f"ids that stand twice: {', '.join(sorted(twice))}")
    for mutant in mutants:
        if not mutant.suites:
            raise TableError(f"{mutant.id}: names no suite")
        for suite in mutant.suites:
            found.arguments(suite)
    return found
