"""From YAML to an Ontology, in the shape of docs/types.md:

    entity_types:                # absent: the default ones
      - name: Task
        description: what belongs to it and how to find it
        priority: high           # highest, high, medium (default), low, lowest
        attributes:
          - {name: due, type: date, required: true, description: when it must be done}
    fact_types:
      - {name: ASSIGNED_TO, description: who does it, kind: functional, attributes: []}
    fact_type_map:               # without an entry a fact type may connect all; Entity stands for every type
      - {source: Task, target: Person, fact_types: [ASSIGNED_TO]}
    excluded_entity_types: [Topic]

All of it may stand below a key `graphiti`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import yaml

from kgsvc.domain.model.extraction import (
    ANY,
    DEFAULT,
    Attribute,
    EntityType,
    FactType,
    Ontology,
    Priority,
    Signature,
    ValueKind,
    attribute_name_problem,
    fact_name_problem,
    type_name_problem,
)
from kgsvc.domain.model.graph import FactKind
from kgsvc.ontology.tree import Fields, Mapping, Node, OntologyError, Problems, fields_of, parse

_SECTIONS = ("entity_types", "fact_types", "fact_type_map", "excluded_entity_types")
_WRAPPER = "graphiti"
_ENTITY_TYPE = ("name", "description", "priority", "attributes")
_FACT_TYPE = ("name", "description", "kind", "attributes")
_ATTRIBUTE = ("name", "type", "required", "description")
_MAP_ENTRY = ("source", "target", "fact_types")
_DESCRIPTION_CHARS = 4_096


def read(text: str) -> Ontology | None:
    """The ontology that `text` describes; None when the document says nothing. Raises OntologyError naming
    every problem."""
    root = parse(text)
    if root is None:
        return None
    notes = Problems()
    path, node = _unwrapped(root, notes)
    fields = fields_of(node, path, _SECTIONS, notes)
    found = _ontology(fields) if fields is not None and fields.values else None
    if notes.problems:
        raise OntologyError(notes.problems)
    return found


def _unwrapped(root: Node, notes: Problems) -> tuple[str, Node]:
    if isinstance(root, Mapping) and any(key.text == _WRAPPER for key, _ in root.entries):
        outer = fields_of(root, "", (_WRAPPER,), notes)
        if outer is not None and _WRAPPER in outer.values:
            return _WRAPPER, outer.values[_WRAPPER]
        return _WRAPPER, Mapping(root.line)
    return "", root


def _ontology(fields: Fields) -> Ontology:
    entity_types = DEFAULT.entity_types
    if "entity_types" in fields.values:
        entity_types = tuple(_entity_types(fields))
    known = {each.name for each in entity_types} | {ANY}
    fact_types = {each.name: each for each in _fact_types(fields)}
    _connect(fields, known, fact_types)
    excluded = frozenset(
        name
        for path, line, name in fields.names("excluded_entity_types")
        if _knows(fields, path, line, name, known)
    )
    return Ontology(entity_types, tuple(fact_types.values()), excluded)


def _entity_types(fields: Fields) -> Iterator[EntityType]:
    for each, name in _named(fields, "entity_types", _ENTITY_TYPE, type_name_problem):
        description = each.text("description", _DESCRIPTION_CHARS, required=True)
        priority = each.choice("priority", Priority, Priority.MEDIUM)
        attributes = tuple(_attributes(each))
        if name and priority:
            yield EntityType(name, description, priority, attributes)


def _fact_types(fields: Fields) -> Iterator[FactType]:
    for each, name in _named(fields, "fact_types", _FACT_TYPE, fact_name_problem):
        description = each.text("description", _DESCRIPTION_CHARS, required=True)
        kind = each.choice("kind", FactKind, FactKind.STATE)
        attributes = tuple(_attributes(each))
        if name and kind:
            yield FactType(name, description, kind, (), attributes)


def _attributes(fields: Fields) -> Iterator[Attribute]:
    for each, name in _named(fields, "attributes", _ATTRIBUTE, attribute_name_problem):
        kind = each.choice("type", ValueKind, None)
        required = each.truth("required")
        description = each.text("description", _DESCRIPTION_CHARS, required=False)
        if name and kind:
            yield Attribute(name, kind, description, required)


def _named(
    fields: Fields, section: str, allowed: tuple[str, ...], problem: Callable[[str], str | None]
) -> Iterator[tuple[Fields, str | None]]:
    """The members of a list, each with its name; None if it is wrong, or used already in whatever case."""
    seen: set[str] = set()
    for each in fields.mappings(section, allowed):
        name = each.name("name", problem)
        if name is not None and name.casefold() in seen:
            each.wrong("name", f"is used by another entry above: {name!r}")
            name = None
        if name is not None:
            seen.add(name.casefold())
        yield each, name


def _connect(fields: Fields, known: set[str], fact_types: dict[str, FactType]) -> None:
    """Put the signatures of fact_type_map into the fact types."""
    for each in fields.mappings("fact_type_map", _MAP_ENTRY):
        source, target = _end(each, "source", known), _end(each, "target", known)
        if "fact_types" not in each.values:
            each.wrong("fact_types", "is required")
        for path, line, name in each.names("fact_types"):
            if name not in fact_types:
                each.notes.add(line, path, f"is not in fact_types: {name[:64]!r}")
            elif source and target:
                signature = Signature(source, target)
                fact_type = fact_types[name]
                if signature not in fact_type.signatures:
                    fact_types[name] = replace(fact_type, signatures=(*fact_type.signatures, signature))


def _end(fields: Fields, name: str, known: set[str]) -> str | None:
    found = fields.text(name, 10_000, required=True)
    at = (fields.at(name), fields.line_of(name))
    return found if found and _knows(fields, *at, found, known) else None


def _knows(fields: Fields, path: str, line: int, name: str, known: set[str]) -> bool:
    if name not in known:
        fields.notes.add(line, path, f"is not an entity type: {name[:64]!r}")
    return name in known


_WIDTH = 110


def write(ontology: Ontology) -> str:
    """The ontology as YAML."""
    sections = {
        "entity_types": [_written(each, priority=each.priority.value) for each in ontology.entity_types],
        "fact_types": [_written(each, kind=each.kind.value) for each in ontology.fact_types],
        "fact_type_map": _map(ontology),
        "excluded_entity_types": sorted(ontology.excluded),
    }
    kept = {name: rows for name, rows in sections.items() if rows or name == "entity_types"}
    return str(yaml.safe_dump(kept, sort_keys=False, allow_unicode=True, width=_WIDTH))


def _written(each: EntityType | FactType, **fields: str) -> dict[str, Any]:
    attributes = [
        _without_empty(name=a.name, type=a.kind.value, required=a.required, description=a.description)
        for a in each.attributes
    ]
    return _without_empty(name=each.name, description=each.description, **fields, attributes=attributes)


def _map(ontology: Ontology) -> list[dict[str, Any]]:
    by_ends: defaultdict[Signature, list[str]] = defaultdict(list)
    for fact_type in ontology.fact_types:
        for signature in fact_type.signatures:
            by_ends[signature].append(fact_type.name)
    return [{"source": s.source, "target": s.target, "fact_types": names} for s, names in by_ends.items()]


def _without_empty(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value not in ([], "", False)}
