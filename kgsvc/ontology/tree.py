"""Parses YAML into a tree that knows its lines, and reads the fields of its mappings.

Only a part of YAML is allowed: no anchors and aliases (a few lines could expand to gigabytes), no tags (they
name code), one document, bounded in size, depth and nodes. Scalars stay text. A wrong field is noted and
reading goes on, so that all problems are reported at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias, TypeVar

import yaml

MAX_BYTES = 64 * 1024
_MAX_NODES = 20_000
_MAX_DEPTH = 12


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with one field. `line` counts from 1; `field` is empty for the document as a whole."""

    line: int
    field: str
    says: str

    def __str__(self) -> str:
        return f"line {self.line}: {f'{self.field} ' if self.field else ''}{self.says}"


class OntologyError(ValueError):
    """The text is no ontology. Its message names every problem, by line."""

    def __init__(self, problems: list[Problem]) -> None:
        self.problems = tuple(sorted(problems, key=lambda problem: problem.line))
        super().__init__("; ".join(map(str, self.problems)))


@dataclass(frozen=True, slots=True)
class Scalar:
    """A text or number as written; `null` if it is empty or null and not quoted."""

    text: str
    null: bool
    line: int


@dataclass(slots=True)
class Sequence:
    """A list."""

    line: int
    items: list[Node] = field(default_factory=list)


@dataclass(slots=True)
class Mapping:
    """Keys and values in the order written; a key may occur twice."""

    line: int
    entries: list[tuple[Scalar, Node]] = field(default_factory=list)


Node: TypeAlias = "Scalar | Sequence | Mapping"
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})


def parse(text: str) -> Node | None:
    """The document in `text`, None when there is none. Raises OntologyError at the first thing that is no
    YAML or not allowed."""
    size = len(text.encode("utf-8", "replace"))
    if size > MAX_BYTES:
        raise _error(1, f"the text has {size} bytes, at most {MAX_BYTES} are allowed")
    try:
        return _Builder(yaml.parse(text, Loader=yaml.SafeLoader)).build()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise _error(1 if mark is None else mark.line + 1, f"is not YAML: {error.problem}") from None
    except yaml.YAMLError:  # a character that YAML does not know
        raise _error(_line_of_unprintable(text), "is not YAML: a character is not allowed there") from None


class _Builder:
    """Makes the tree from the parser's events; checks the depth before it goes deeper."""

    def __init__(self, events: Iterator[yaml.Event]) -> None:
        self._events = events
        self._nodes = 0
        self._documents = 0

    def build(self) -> Node | None:
        root: Node | None = None
        for event in self._events:
            if isinstance(event, yaml.DocumentStartEvent):
                self._documents += 1
                if self._documents > 1:
                    raise _error(_line(event), "a second document begins")
            elif isinstance(event, yaml.NodeEvent):
                root = self._node(event, 1)
        return None if isinstance(root, Scalar) and root.null else root

    def _node(self, event: yaml.Event, depth: int) -> Node:
        self._allow(event, depth)
        line = _line(event)
        if isinstance(event, yaml.ScalarEvent):
            return Scalar(event.value, event.implicit[0] and event.value in _NULLS, line)
        if isinstance(event, yaml.SequenceStartEvent):
            found = Sequence(line)
            while not isinstance(inner := next(self._events), yaml.SequenceEndEvent):
                found.items.append(self._node(inner, depth + 1))
            return found
        mapping = Mapping(line)
        while not isinstance(inner := next(self._events), yaml.MappingEndEvent):
            key = self._node(inner, depth + 1)
            if not isinstance(key, Scalar):
                raise _error(key.line, "a key must be text")
            mapping.entries.append((key, self._node(next(self._events), depth + 1)))
        return mapping

    def _allow(self, event: yaml.Event, depth: int) -> None:
        self._nodes += 1
        line = _line(event)
        if getattr(event, "anchor", None) is not None:
            raise _error(line, "anchors and aliases are not allowed")
        if getattr(event, "tag", None) is not None:
            raise _error(line, "tags are not allowed")
        if depth > _MAX_DEPTH:
            raise _error(line, f"is nested more than {_MAX_DEPTH} deep")
        if self._nodes > _MAX_NODES:
            raise _error(line, f"the text has more than {_MAX_NODES} values")


def _line(event: yaml.Event) -> int:
    return 1 if event.start_mark is None else int(event.start_mark.line) + 1


def _line_of_unprintable(text: str) -> int:
    found = yaml.reader.Reader.NON_PRINTABLE.search(text)
    return 1 if found is None else text.count("\n", 0, found.start()) + 1


def _error(line: int, says: str) -> OntologyError:
    return OntologyError([Problem(line, "", says)])


_MOST = 20  # problems that are reported
_WORDS = {"true": True, "yes": True, "false": False, "no": False}
Choice = TypeVar("Choice", bound=StrEnum)


@dataclass
class Problems:
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
    notes: Problems

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


def fields_of(node: Node, path: str, allowed: tuple[str, ...], notes: Problems) -> Fields | None:
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
