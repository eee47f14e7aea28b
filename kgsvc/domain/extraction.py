"""What an extractor hands over for one episode (spec 004 §7, with the additive fields of design §3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kgsvc.domain.default_ontology import DEFAULT
from kgsvc.domain.model import Episode, FactKind, Polarity
from kgsvc.domain.ontology import Ontology


@dataclass(frozen=True, slots=True)
class ExtractedNode:
    """A named thing. `ref` is how edges of the same extraction point at it."""

    ref: str
    name: str
    type: str = "Entity"  # a name of an entity type, ontology.ANY or ontology.UNKNOWN
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
    """An episode with its context: earlier episodes of the group by reference time, latest last, and what
    kinds of things the group tells apart."""

    episode: Episode
    previous: Sequence[Episode] = ()
    ontology: Ontology = DEFAULT
