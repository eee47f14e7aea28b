"""Parses YAML into a tree that knows its lines.

Only a part of YAML is allowed: no anchors and aliases (a few lines could expand to gigabytes), no tags (they
name code), one document, bounded in size, depth and nodes. Scalars stay text.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

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
