"""Reads the fields of a mapping. A problem is noted and reading goes on, so that all are reported at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeVar

from kgsvc.ontology.tree import Mapping, Node, Problem, Scalar, Sequence

_MOST = 20  # problems that are reported
_WORDS = {"true": True, "yes": True, "false": False, "no": False}
Choice = TypeVar("Choice", bound=StrEnum)


@dataclass
class Notes:
    """The problems found so far."""

    problems: list[Problem] = field(default_factory=list)

    def add(self, line: int, path: str, says: str) -> None:
        """One more."""
        if len(self.problems) < _MOST:
            self.problems.append(Problem(line, path, says))


@dataclass(frozen=True, slots=True)
class Fields:
    """The fields of one mapping; a missing one and a null one are the same."""

    path: str
    line: int
    values: dict[str, Node]
    notes: Notes

    def at(self, name: str) -> str:
        """The path of a field."""
        return f"{self.path}.{name}" if self.path else name

    def line_of(self, name: str) -> int:
        """Where the field is, or should be."""
        return self.values[name].line if name in self.values else self.line

    def wrong(self, name: str, says: str) -> None:
        """Note what is wrong with a field."""
        self.notes.add(self.line_of(name), self.at(name), says)

    def text(self, name: str, most: int, *, required: bool) -> str:
        """A text of at most `most` characters, without the space around it."""
        node = self.values.get(name)
        if node is None:
            if required:
                self.wrong(name, "is required")
            return ""
        if not isinstance(node, Scalar):
            self.wrong(name, "must be text")
            return ""
        found = node.text.strip()
        if required and not found:
            self.wrong(name, "must not be empty")
        if len(found) > most:
            self.wrong(name, f"has {len(found)} characters, at most {most} are allowed")
        return found

    def name(self, name: str, problem: Callable[[str], str | None]) -> str | None:
        """A required name that `problem` has nothing against."""
        before = len(self.notes.problems)
        found = self.text(name, 10_000, required=True)
        if len(self.notes.problems) > before or not found:
            return None
        says = problem(found)
        if says is not None:
            self.wrong(name, f"{says}: {found[:64]!r}")
            return None
        return found

    def choice(self, name: str, choices: type[Choice], default: Choice | None) -> Choice | None:
        """One of the members; required without a default."""
        if name not in self.values and default is not None:
            return default
        found = self.text(name, 100, required=True)
        for member in choices:
            if member.value == found:
                return member
        if found:
            self.wrong(name, f"must be one of {', '.join(choices)}")
        return None

    def truth(self, name: str) -> bool:
        """True or false; absent: false."""
        node = self.values.get(name)
        if node is None:
            return False
        found = _WORDS.get(node.text.lower()) if isinstance(node, Scalar) else None
        if found is None:
            self.wrong(name, "must be true or false")
        return bool(found)

    def mappings(self, name: str, allowed: tuple[str, ...]) -> Iterator[Fields]:
        """The members of a list of mappings."""
        for path, node in self._members(name):
            found = fields_of(node, path, allowed, self.notes)
            if found is not None:
                yield found

    def names(self, name: str) -> Iterator[tuple[str, int, str]]:
        """The members of a list of texts: path, line, text."""
        for path, node in self._members(name):
            if isinstance(node, Scalar) and node.text.strip():
                yield path, node.line, node.text.strip()
            else:
                self.notes.add(node.line, path, "must be text")

    def _members(self, name: str) -> Iterator[tuple[str, Node]]:
        node = self.values.get(name)
        if node is None:
            return
        if not isinstance(node, Sequence):
            self.wrong(name, "must be a list")
            return
        for index, member in enumerate(node.items):
            yield f"{self.at(name)}[{index}]", member


def fields_of(node: Node, path: str, allowed: tuple[str, ...], notes: Notes) -> Fields | None:
    """The fields of a mapping that has `allowed` ones only, each once; None when it is no mapping."""
    if not isinstance(node, Mapping):
        notes.add(node.line, path, f"must be a mapping with {', '.join(allowed)}")
        return None
    found = Fields(path, node.line, {}, notes)
    seen: set[str] = set()
    for key, value in node.entries:
        if key.text in seen:
            notes.add(key.line, found.at(key.text[:64]), "is given twice")
        elif key.text not in allowed:
            notes.add(key.line, found.at(key.text[:64]), f"is not known; allowed are {', '.join(allowed)}")
        elif not (isinstance(value, Scalar) and value.null):
            found.values[key.text] = value
        seen.add(key.text)
    return found
