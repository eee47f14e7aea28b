"""The table of mutants: mutants.toml, edited by hand when a function or a folder of tests is renamed."""

from __future__ import annotations

import shlex
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

TABLE = Path("scripts/mutants/mutants.toml")
NEO4J = "neo4j-2026"  # suites that name this label get a server
_WITH_NEO4J = "stores/neo4j"  # the room that needs one


class TableError(ValueError):
    """The table, or mutants in it, do not fit the tree. Its message says which and why."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """A fault: in the function `where`, the text `before` becomes `after`."""

    id: str
    room: str
    where: str
    before: str
    after: str
    suites: list[str]  # `alias` or `alias:KEYWORD`, the cheapest first
    hint: str = ""  # part of a module's name or of a docstring, where several functions have the name
    drawn: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """All of the file."""

    suites: Mapping[str, str]  # alias -> arguments of pytest
    rooms: Mapping[str, list[str]]  # where mutants are drawn -> suites of what is drawn there
    mutants: list[Mutant]
    equivalent: frozenset[str]  # sites that were drawn and make no difference to any caller
    quick: bool = False  # of each suite only what `make test` runs, of the mutants those that it may notice

    def arguments(self, suite: str, *keywords: str) -> list[str]:
        """What pytest is given for `alias` or `alias:KEYWORD`, or for an alias and any of the keywords."""
        alias, _, keyword = suite.partition(":")
        if alias not in self.suites:
            raise TableError(f"no suite is called {alias}")
        found = shlex.split(self.suites[alias]) + ["-m", "quick"] * self.quick
        wanted = " or ".join(filter(None, (keyword, *keywords)))
        if not wanted:
            return found
        if "-k" not in found:
            return [*found, "-k", wanted]
        at = found.index("-k") + 1
        return [*found[:at], f"({found[at]}) and ({wanted})", *found[at + 1 :]]

    def whole_suites(self, mutants: Iterable[Mutant]) -> dict[str, list[str]]:
        """By alias the arguments that select every test which these mutants need."""
        needed: dict[str, set[str]] = {}
        for suite in (suite for mutant in mutants for suite in mutant.suites):
            alias, _, keyword = suite.partition(":")
            needed.setdefault(alias, set()).add(keyword)
        return {
            alias: self.arguments(alias, *([] if "" in keywords else sorted(keywords)))
            for alias, keywords in needed.items()
        }


def load(path: Path, quick: bool = False) -> Table:
    """The table in a file. Raises TableError."""
    document = tomllib.loads(path.read_text(encoding="utf-8"))
    try:
        mutants = [Mutant(**row) for row in document["mutant"]]
    except (TypeError, KeyError) as error:
        raise TableError(f"{path}: {error}") from error
    if twice := [name for name, count in Counter(m.id for m in mutants).items() if count > 1]:
        raise TableError(f"ids that stand twice: {', '.join(twice)}")
    equivalent = frozenset(row["site"] for row in document.get("equivalent", ()))
    table = Table(document["suites"], document["rooms"], mutants, equivalent, quick)
    if quick:
        mutants[:] = [mutant for mutant in mutants if mutant.room != _WITH_NEO4J]
    table.whole_suites(mutants)  # names aliases that are unknown
    return table
