"""What a model is asked when names and facts cannot be told apart by rule, and what it may answer.

All numbers are the asker's own: `NodeQuestion.id` and `FactQuestion.id` number the questions of a request,
`KnownEntity.idx` and `KnownFact.idx` what is known already. A model never sees a uuid.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class KnownEntity:
    """An entity of the graph (or of the micro-batch, already decided) that a new name may mean."""

    idx: int
    name: str
    type: str = "Entity"
    summary: str = ""
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NodeQuestion:
    """A new name: is it one of the `candidates` (KnownEntity.idx) or of the `peers` (other, smaller ids)?"""

    id: int
    name: str
    type: str = "Entity"
    context: str = ""  # what its episode says about it
    candidates: tuple[int, ...] = ()
    peers: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class KnownFact:
    """A fact of the graph that a new one may repeat or contradict. `valid_ms` None: not stated."""

    idx: int
    fact: str
    relation: str
    valid_ms: int | None = None
    invalid_ms: int | None = None


@dataclass(frozen=True, slots=True)
class KnownType:
    """A fact type of the ontology."""

    name: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class FactQuestion:
    """A new fact: which of `duplicates_of` says the same, which of `may_contradict` does it make untrue, and
    which of `fact_types` (KnownType.name) is it of?

    The first two hold KnownFact.idx and may overlap. `valid_ms` is the stated start, else None.
    """

    id: int
    fact: str
    relation: str
    source_name: str
    target_name: str
    reference_ms: int
    valid_ms: int | None = None
    invalid_ms: int | None = None
    duplicates_of: tuple[int, ...] = ()
    may_contradict: tuple[int, ...] = ()
    fact_types: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ResolutionRequest:
    """Everything that a micro-batch needs decided. Raises ValueError where its numbers do not fit."""

    group_id: str
    nodes: tuple[NodeQuestion, ...] = ()
    entities: tuple[KnownEntity, ...] = ()
    facts: tuple[FactQuestion, ...] = ()
    known_facts: tuple[KnownFact, ...] = ()
    context: tuple[str, ...] = ()  # bodies of the episodes, by reference time
    fact_types: tuple[KnownType, ...] = ()

    def __post_init__(self) -> None:
        """Every number offered exists, every id and idx is given once, peers have smaller ids."""
        entities, known = _once(self.entities), _once(self.known_facts)
        ids = {node.id for node in self.nodes}
        types = {each.name for each in self.fact_types}
        fits = (
            len(ids) == len(self.nodes)
            and len({fact.id for fact in self.facts}) == len(self.facts)
            and all(entities.issuperset(node.candidates) for node in self.nodes)
            and all(ids.issuperset(node.peers) for node in self.nodes)
            and all(peer < node.id for node in self.nodes for peer in node.peers)
            and all(known.issuperset(fact.duplicates_of + fact.may_contradict) for fact in self.facts)
            and all(types.issuperset(fact.fact_types) for fact in self.facts)
        )
        if not fits:
            raise ValueError("the numbers of a resolution request do not fit together")


def _once(known: tuple[KnownEntity, ...] | tuple[KnownFact, ...]) -> set[int]:
    found = {each.idx for each in known}
    if len(found) != len(known):
        raise ValueError("a resolution request gives an idx twice")
    return found


@dataclass(frozen=True, slots=True)
class NodeResolution:
    """What a name turned out to be: a known entity, another question's node, or (both None) something new.

    The rest of its candidates and peers that are the same thing too: the name shows that what was taken for
    several is one.
    """

    entity: int | None = None
    node: int | None = None
    full_name: str | None = None  # the fullest name that the context supports
    also_known: tuple[int, ...] = ()
    also_new: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class FactResolution:
    """What a fact turned out to be. `contradicts` never holds `duplicate_of`: a duplicate wins. Without a
    `fact_type` it keeps its relation."""

    duplicate_of: int | None = None
    contradicts: tuple[int, ...] = ()
    fact_type: str | None = None


@dataclass(frozen=True, slots=True)
class Resolutions:
    """Exactly one resolution for each question, by its id; only numbers offered to that question."""

    nodes: Mapping[int, NodeResolution] = field(default_factory=dict)
    facts: Mapping[int, FactResolution] = field(default_factory=dict)
