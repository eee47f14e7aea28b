"""What kinds of entities and facts a group tells apart (spec 000, "Entity Types").

An entity type's name becomes a label of the graph, so names are few and plain: `type_name_problem` is the one
rule for them. `Entity` is no type: it stands for whatever has none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from kgsvc.domain.model.graph import FactKind

ANY = "Entity"  # an entity without a type; in a signature: of whatever type
UNKNOWN = "UNKNOWN"  # the type of a thing that an extraction names but does not list
UNTYPED = "RELATES_TO"  # a fact whose ends do not fit the fact type it was given
_TYPE = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
_FACT = re.compile(r"[A-Z][A-Z0-9_]{0,63}")
_ATTRIBUTE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_RESERVED = frozenset({"entity", "episodic", "community", "unknown"})
_RESERVED_PREFIX = "kg"
_RESERVED_FACTS = frozenset({UNTYPED, "MENTIONS", "HAS_MEMBER"})
_NEGATIONS = ("NO_LONGER_", "NOT_")


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
    if name in _RESERVED_FACTS or name.startswith(_NEGATIONS):
        return (
            "is reserved, as are RELATES_TO, MENTIONS, HAS_MEMBER and all that begins with NO_LONGER_ or NOT_"
        )
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
            "What somebody wants, likes, prefers or chooses, or does not want, dislikes, avoids or rejects. "
            "Goes before every other type.",
            Priority.HIGHEST,
        ),
        EntityType(
            "Requirement",
            'Something that is needed or must hold: "we need", "is required", "must have"; functions, '
            "qualities such as performance and security, constraints. Clear, specific and measurable ones.",
            Priority.HIGH,
            (
                Attribute("project_name", ValueKind.STR, "the project that it belongs to", required=True),
                Attribute("description", ValueKind.STR, "what is required", required=True),
            ),
        ),
        EntityType(
            "Procedure", 'How something is done, in steps or as a rule: "first X, then Y", "always X when Y".'
        ),
        EntityType("Person", "A human being, by name or as the one who speaks."),
        EntityType("Organization", "A company, institution, agency, team or other body."),
        EntityType("Document", "A book, article, report, video or other recorded content."),
        EntityType("Event", "Something that happens at a time: a meeting, a trip, an incident."),
        EntityType("Project", "An undertaking with a name and an aim."),
        EntityType("Product", "Something made to be sold or used: a device, an application, a service."),
        EntityType("Work", "A work of art or entertainment: a film, song, novel, show or game."),
        EntityType("Location", "A physical or virtual place.", Priority.LOW),
        EntityType("Topic", "A theme of the conversation, an interest or a field.", Priority.LOWEST),
        EntityType("Object", "A physical item or tool that fits nothing else.", Priority.LOWEST),
        EntityType(
            "Value",
            "A quantity or code that a record names, with what it counts; never a number alone.",
            Priority.LOWEST,
        ),
    )
)
