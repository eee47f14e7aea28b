"""What an extractor is asked for, an ontology, and what it hands over for one episode, an extraction.

Specs: 000, "Entity Types"; 004 §7, with the additive fields of docs/types.md. An entity type's name becomes a
label of the graph, so names are few and plain: `type_name_problem` is the one rule for them. `Entity` is no
type: it stands for whatever has none.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from enum import StrEnum
from functools import cached_property
from typing import Any

from kgsvc.domain.model.graph import Episode, FactKind, Polarity

ANY = "Entity"  # an entity without a type; in a signature: of whatever type
UNKNOWN = "UNKNOWN"  # the type of a thing that an extraction names but does not list
UNTYPED = "RELATES_TO"  # a fact whose ends do not fit the fact type it was given
_TYPE = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
_FACT = re.compile(r"[A-Z][A-Z0-9_]{0,63}")
_ATTRIBUTE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_RESERVED = frozenset({"entity", "episodic", "community", "unknown"})
_RESERVED_PREFIX = "kg"
_RESERVED_FACTS = frozenset({UNTYPED, "MENTIONS", "HAS_MEMBER"})
_NEGATION = "NOT_"


class Priority(StrEnum):
    """Which of several fitting types a thing gets: the one of higher priority."""

    HIGHEST = "highest"
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"
    LOWEST = "lowest"


class ValueKind(StrEnum):
    """What an attribute holds. A date is text: YYYY-MM-DD."""

    STR = "str"
    INT = "int"
    FLOAT = "float"
    BOOL = "bool"
    DATE = "date"


def type_name_problem(name: str) -> str | None:
    """Why `name` can be no entity type and so no label; None: it can."""
    if not _TYPE.fullmatch(name):
        return "must be a Latin letter, followed by at most 63 letters, digits and _"
    folded = name.casefold()
    if folded in _RESERVED or folded.startswith(_RESERVED_PREFIX):
        return "is reserved, as are Entity, Episodic, Community, Unknown and all that begins with Kg"
    return None


def fact_name_problem(name: str) -> str | None:
    """Why `name` can be no fact type; None: it can."""
    if not _FACT.fullmatch(name):
        return "must be in SCREAMING_SNAKE_CASE, of at most 64 characters"
    if name in _RESERVED_FACTS or name.startswith(_NEGATION):
        return "is reserved, as are RELATES_TO, MENTIONS, HAS_MEMBER and all that begins with NOT_"
    return None


def attribute_name_problem(name: str) -> str | None:
    """Why `name` can be no attribute; None: it can."""
    if not _ATTRIBUTE.fullmatch(name):
        return "must be a Latin letter or _, followed by at most 63 letters, digits and _"
    return None


@dataclass(frozen=True, slots=True)
class Attribute:
    """A typed field. A required one is asked for as such; what the text does not tell stays absent."""

    name: str
    kind: ValueKind
    description: str = ""
    required: bool = False

    def __post_init__(self) -> None:
        _demand(attribute_name_problem(self.name))


@dataclass(frozen=True, slots=True)
class EntityType:
    """A type of entities. `description` tells what belongs to it and how to find it."""

    name: str
    description: str
    priority: Priority = Priority.MEDIUM
    attributes: tuple[Attribute, ...] = ()

    def __post_init__(self) -> None:
        _demand(type_name_problem(self.name))


@dataclass(frozen=True, slots=True)
class Signature:
    """Which entity types a fact type connects; ANY at an end allows every type there."""

    source: str
    target: str

    def fits(self, source: str, target: str) -> bool:
        """Whether ends of these types may be connected. A type that is not known contradicts nothing."""
        return _end_fits(self.source, source) and _end_fits(self.target, target)


@dataclass(frozen=True, slots=True)
class FactType:
    """A type of facts: a relation by name. `kind` says how facts of it conflict; without signatures it may
    connect all."""

    name: str
    description: str
    kind: FactKind = FactKind.STATE
    signatures: tuple[Signature, ...] = ()
    attributes: tuple[Attribute, ...] = ()

    def __post_init__(self) -> None:
        _demand(fact_name_problem(self.name))

    def connects(self, source: str, target: str) -> bool:
        """Whether it may lead from an entity of the one type to one of the other."""
        return not self.signatures or any(each.fits(source, target) for each in self.signatures)


@dataclass(frozen=True)
class Ontology:
    """The types of a group. `excluded` are types (or ANY) whose entities are not kept."""

    entity_types: tuple[EntityType, ...] = ()
    fact_types: tuple[FactType, ...] = ()
    excluded: frozenset[str] = frozenset()

    @cached_property
    def by_priority(self) -> tuple[EntityType, ...]:
        """The entity types, those of the highest priority first, else in the order they were given."""
        ranks = list(Priority)
        return tuple(sorted(self.entity_types, key=lambda each: ranks.index(each.priority)))

    @property
    def in_force(self) -> Sequence[EntityType]:
        """The entity types that entities can have, by priority."""
        return [each for each in self.by_priority if each.name not in self.excluded]

    def entity_type(self, name: str) -> EntityType | None:
        """The type of this name in whatever case."""
        return self._entity_types.get(name.casefold())

    def fact_type(self, name: str) -> FactType | None:
        """The fact type of this name."""
        return self._fact_types.get(name)

    @cached_property
    def _entity_types(self) -> dict[str, EntityType]:
        return {each.name.casefold(): each for each in self.entity_types}

    @cached_property
    def _fact_types(self) -> dict[str, FactType]:
        return {each.name: each for each in self.fact_types}


def labels_of(names: Sequence[str]) -> list[str]:
    """Those of `names` that may be labels of the graph: everything else stays out of it."""
    return [name for name in names if type_name_problem(name) is None]


def _end_fits(allowed: str, found: str) -> bool:
    return allowed == ANY or found in (allowed, ANY, UNKNOWN)


def _demand(problem: str | None) -> None:
    if problem is not None:
        raise ValueError(f"the name {problem}")


DEFAULT = Ontology(
    (
        EntityType(
            "Preference",
            "What somebody wants, likes, prefers, chooses, dislikes, avoids or rejects, in few words; never "
            "what has a name of its own.",
            Priority.HIGHEST,
        ),
        EntityType(
            "Requirement",
            'What is needed or must hold ("we need", "is required", "must have"), specific and measurable: '
            "performance, security, constraints.",
            Priority.HIGH,
            (
                Attribute("project_name", ValueKind.STR, "its project", required=True),
                Attribute("description", ValueKind.STR, "what is required", required=True),
            ),
        ),
        EntityType("Procedure", 'How something is done: "first X, then Y", "always X when Y".'),
        EntityType("Person", "A human being."),
        EntityType("Organization", "A company, institution, team or other body."),
        EntityType("Document", "Recorded content: a book, article, report or video."),
        EntityType("Event", "What happens at a time: a meeting, a trip, an incident."),
        EntityType("Project", "An undertaking with a name and an aim."),
        EntityType("Product", "A device, an application, a service."),
        EntityType("Work", "A work of art: a film, song, novel or game."),
        EntityType("Location", "A physical or virtual place.", Priority.LOW),
        EntityType("Topic", "A theme of conversation or an interest.", Priority.LOWEST),
        EntityType("Object", "A physical item or tool.", Priority.LOWEST),
        EntityType(
            "Value",
            "A quantity or code that a record names; never a number alone.",
            Priority.LOWEST,
        ),
    )
)


@dataclass(frozen=True, slots=True)
class ExtractedNode:
    """A named thing. `ref` is how edges of the same extraction point at it."""

    ref: str
    name: str
    type: str = "Entity"  # a name of an entity type, ANY or UNKNOWN
    summary: str = ""
    attributes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ExtractedEdge:
    """A statement about two nodes. `name` is the relation in SCREAMING_SNAKE_CASE.

    With polarity ENDS or DENIES the edge names the relation that stops or does not hold (WORKS_AT, not
    LEFT), `fact` says so in words, and `valid_ms` is when it stopped (None: at the reference time).
    """

    name: str
    fact: str
    source_ref: str
    target_ref: str
    valid_ms: int | None = None
    invalid_ms: int | None = None
    kind: FactKind = FactKind.STATE
    polarity: Polarity = Polarity.ASSERTS
    qualifiers: Mapping[str, str] = field(default_factory=dict)
    keywords: tuple[str, ...] = ()
    weight: float = 1.0
    attributes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Extraction:
    """The whole of what one episode says."""

    nodes: tuple[ExtractedNode, ...] = ()
    edges: tuple[ExtractedEdge, ...] = ()


@dataclass(frozen=True, slots=True)
class ExtractionRequest:
    """An episode with its context: earlier episodes of the group by reference time, latest last, what kinds
    of things the group tells apart, names of relations that it uses, and of things that words of the episode
    may mean."""

    episode: Episode
    previous: Sequence[Episode] = ()
    ontology: Ontology = DEFAULT
    relations: Sequence[str] = ()
    known: Sequence[str] = ()


_RELATION = "relation"  # the qualifier that names it
_INT64 = 2**63
_WHOLE = re.compile(r"[+-]?[0-9]{1,19}")
_DECIMAL = re.compile(r"[+-]?[0-9]{1,30}(\.[0-9]{1,30})?")
_DATE = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})([T ].*)?")
_TRUTH = {"true": True, "yes": True, "false": False, "no": False}


def conform(extraction: Extraction, ontology: Ontology) -> Extraction:
    """`extraction` as the ontology allows it."""
    nodes = [_node(node, ontology) for node in extraction.nodes]
    kept = {node.ref: node for node in nodes if not _is_excluded(node.type, ontology)}
    edges = [
        _edge(edge, kept[edge.source_ref].type, kept[edge.target_ref].type, ontology)
        for edge in extraction.edges
        if edge.source_ref in kept and edge.target_ref in kept
    ]
    return Extraction(tuple(kept.values()), tuple(edges))


def _is_excluded(name: str, ontology: Ontology) -> bool:
    return (ANY if name == UNKNOWN else name) in ontology.excluded


def _node(node: ExtractedNode, ontology: Ontology) -> ExtractedNode:
    known = ontology.entity_type(node.type)
    if known is None:
        return replace(node, type=UNKNOWN if node.type == UNKNOWN else ANY)
    return replace(node, type=known.name, attributes=_typed(node.attributes, known.attributes, others=True))


def _edge(edge: ExtractedEdge, source: str, target: str, ontology: Ontology) -> ExtractedEdge:
    known = ontology.fact_type(edge.name)
    if known is None:
        return replace(edge, attributes={}) if edge.attributes else edge
    if known.connects(source, target):
        return of_type(edge, known)
    qualifiers = {**edge.qualifiers, _RELATION: edge.name}
    return replace(edge, name=UNTYPED, kind=FactKind.STATE, qualifiers=qualifiers, attributes={})


def of_type(edge: ExtractedEdge, fact_type: FactType) -> ExtractedEdge:
    """The edge as one of this type."""
    qualifiers = dict(edge.qualifiers)
    if edge.name == UNTYPED:
        qualifiers.pop(_RELATION, None)
    values = _typed(edge.attributes, fact_type.attributes, others=False)
    return replace(edge, name=fact_type.name, kind=fact_type.kind, qualifiers=qualifiers, attributes=values)


def _typed(
    values: Mapping[str, Any], declared: Sequence[Attribute], *, others: bool
) -> dict[str, str | int | float | bool]:
    kinds = {attribute.name: attribute.kind for attribute in declared}
    found = {name: value for name, value in values.items() if others and name not in kinds}
    for name, kind in kinds.items():
        value = _OF_KIND[kind](values[name]) if name in values else None
        if value is not None:
            found[name] = value
    return found


def _str(value: object) -> str | None:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    return str(value).strip() or None


def _int(value: object) -> int | None:
    if isinstance(value, str):
        value = int(value) if _WHOLE.fullmatch(value.strip()) else None
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value // 1:
        return None
    return int(value) if -_INT64 <= value < _INT64 else None


def _float(value: object) -> float | None:
    if isinstance(value, str) and _DECIMAL.fullmatch(value.strip()):
        value = float(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) else None


def _bool(value: object) -> bool | None:
    if isinstance(value, bool):
        return value
    return _TRUTH.get(value.strip().lower()) if isinstance(value, str) else None


def _date(value: object) -> str | None:
    match = _DATE.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        return None
    try:
        return date.fromisoformat(match.group(1)).isoformat()
    except ValueError:
        return None


_OF_KIND: Mapping[ValueKind, Callable[[object], str | int | float | bool | None]] = {
    ValueKind.STR: _str,
    ValueKind.INT: _int,
    ValueKind.FLOAT: _float,
    ValueKind.BOOL: _bool,
    ValueKind.DATE: _date,
}
