"""Where a mutant belongs: to a function or constant by its name, in whatever file that lives."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from scripts.mutants.table import Mutant, TableError

GENERATED = "v1"  # of the contract; not ours to break
Change = tuple[Path, str]  # a file and its whole text then


@dataclass(frozen=True, slots=True)
class Place:
    """A function, method, constant or field in a file that says `text`."""

    path: Path
    module: str
    name: str  # Class.method, function or CONSTANT
    node: ast.stmt
    text: str

    @property
    def span(self) -> tuple[int, int]:
        """From where to where in the text, in whole lines."""
        return lines_of(self.node, self.text)

    @property
    def doc(self) -> str:
        """A function's docstring."""
        is_function = isinstance(self.node, ast.FunctionDef | ast.AsyncFunctionDef)
        return ast.get_docstring(self.node) or "" if is_function else ""  # type: ignore[arg-type]


def places(tree: Path) -> list[Place]:
    """All of kgsvc but what is generated, by path."""
    package, found = tree / "kgsvc", list[Place]()
    for path in sorted(package.rglob("*.py")):
        if path.relative_to(package).parts[0] != GENERATED:
            text, module = path.read_text(encoding="utf-8"), path.relative_to(tree).with_suffix("")
            for name, node in _named(ast.parse(text).body):
                found.append(Place(path, ".".join(module.parts), name, node, text))
    return found


def _named(body: Sequence[ast.stmt], within: str = "") -> Iterator[tuple[str, ast.stmt]]:
    """Functions are not looked into: what they define belongs to them."""
    for node in body:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield within + name, node
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                yield within + name, node
            case ast.ClassDef():
                yield from _named(node.body, f"{within}{node.name}.")


def lines_of(node: ast.expr | ast.stmt, text: str) -> tuple[int, int]:
    """From where to where the node's lines go in the text."""
    lines = text.splitlines(keepends=True)
    first, last = node.lineno - 1, node.end_lineno or node.lineno
    start = sum(map(len, lines[:first]))
    return start, start + sum(map(len, lines[first:last]))


def occurrences(before: str, text: str) -> list[re.Match[str]]:
    """Where a fragment stands, however it is broken into lines."""
    return list(re.finditer(r"\s+".join(map(re.escape, before.split())), text))


def changes_of(mutants: Sequence[Mutant], known: Sequence[Place]) -> list[Change]:
    """What each mutant changes. Raises TableError naming all that have not exactly one place."""
    changes: list[Change] = []
    lost: list[str] = []
    for mutant in mutants:
        try:
            changes.append(_change_of(mutant, known))
        except TableError as error:
            lost.append(f"{mutant.id}: {error}")
    if lost:
        raise TableError("\n".join(lost))
    return changes


def _change_of(mutant: Mutant, known: Sequence[Place]) -> Change:
    found = [
        (place, place.span[0] + match.start(), place.span[0] + match.end())
        for place in known
        if place.name == mutant.where and (mutant.hint in place.module or mutant.hint in place.doc)
        for match in occurrences(mutant.before, place.text[slice(*place.span)])
    ]
    if len(found) != 1:
        modules = ", ".join(place.module for place, _, _ in found) or "nowhere"
        raise TableError(f"{mutant.where} must hold {mutant.before!r} once; it does in: {modules}")
    ((place, start, end),) = found
    text = place.text[:start] + mutant.after + place.text[end:]
    try:
        ast.parse(text)
    except SyntaxError as error:
        raise TableError(f"is no Python then: {error}") from error
    if text == place.text:
        raise TableError("changes nothing")
    return place.path, text
