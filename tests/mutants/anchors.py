"""Where a mutant belongs: to a function or constant by its name, in whatever file that lives."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.mutants.table import Mutant, TableError

GENERATED = "v1"  # of the contract; not ours to break


@dataclass(frozen=True, slots=True)
class Place:
    """A function, method, constant or field, and its text: from `start` to `end` in the file."""

    path: Path
    module: str
    name: str  # Class.method, function or CONSTANT
    doc: str
    start: int
    end: int
    node: ast.stmt


@dataclass(frozen=True, slots=True)
class Source:
    """A module's text and what is in it."""

    path: Path
    text: str
    places: tuple[Place, ...]


def sources(tree: Path) -> list[Source]:
    """Every module of kgsvc but the generated ones, by path."""
    package = tree / "kgsvc"
    paths = sorted(p for p in package.rglob("*.py") if p.relative_to(package).parts[0] != GENERATED)
    return [read(path, ".".join(path.relative_to(tree).with_suffix("").parts)) for path in paths]


def read(path: Path, module: str) -> Source:
    """One module."""
    text = path.read_text(encoding="utf-8")
    offsets = line_offsets(text)
    return Source(path, text, tuple(_places(ast.parse(text).body, path, module, offsets)))


def line_offsets(text: str) -> list[int]:
    """Where each line begins, and where the text ends."""
    found = [0]
    for line in text.splitlines(keepends=True):
        found.append(found[-1] + len(line))
    return found


def _places(
    body: Sequence[ast.stmt], path: Path, module: str, offsets: list[int], within: str = ""
) -> Iterator[Place]:
    """Functions are not looked into: what they define belongs to them."""
    for node in body:
        doc = ""
        names: list[str] = []
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            names, doc = [node.name], ast.get_docstring(node) or ""
        elif isinstance(node, ast.Assign):
            names = [target.id for target in node.targets if isinstance(target, ast.Name)]
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names = [node.target.id]
        elif isinstance(node, ast.ClassDef):
            yield from _places(node.body, path, module, offsets, f"{within}{node.name}.")
        for name in names:
            start, end = offsets[node.lineno - 1], offsets[node.end_lineno or node.lineno]
            yield Place(path, module, within + name, doc, start, end, node)


def occurrences(before: str, text: str) -> list[re.Match[str]]:
    """Where a fragment stands, however it is broken into lines."""
    words = (re.escape(word) for word in before.split())
    return list(re.finditer(r"\s+".join(words), text))


def mutated(mutant: Mutant, tree: Sequence[Source]) -> tuple[Path, str]:
    """The file that the mutant changes and its whole text then. Raises TableError unless there is exactly one
    place for it."""
    found = [
        (source, place, matches)
        for source in tree
        for place in source.places
        if place.name == mutant.where and (mutant.hint in place.module or mutant.hint in place.doc)
        if (matches := occurrences(mutant.before, source.text[place.start : place.end]))
    ]
    if len(found) != 1 or len(found[0][2]) != 1:
        where = ", ".join(f"{place.module} ({len(matches)} times)" for _, place, matches in found)
        raise TableError(
            f"{mutant.id}: {mutant.where} that holds {mutant.before!r} once: {where or 'nowhere'}"
        )
    source, place, (match,) = found[0]
    start, end = place.start + match.start(), place.start + match.end()
    text = source.text[:start] + mutant.after + source.text[end:]
    try:
        ast.parse(text)
    except SyntaxError as error:
        raise TableError(f"{mutant.id}: is no Python then: {error}") from error
    if text == source.text:
        raise TableError(f"{mutant.id}: changes nothing")
    return source.path, text
