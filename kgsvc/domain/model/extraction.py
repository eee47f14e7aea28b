"""What an extractor hands over for one episode (spec 004 §7, with the additive fields of design §3)."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, tzinfo
from typing import Any

from kgsvc.domain.model.graph import Episode, FactKind, Polarity
from kgsvc.domain.model.ontology import (
    ANY,
    DEFAULT,
    UNKNOWN,
    UNTYPED,
    Attribute,
    FactType,
    Ontology,
    ValueKind,
)


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
    """An episode with its context: earlier episodes of the group by reference time, latest last, what kinds
    of things the group tells apart, and the zone of times that name none: the caller's where it is known."""

    episode: Episode
    previous: Sequence[Episode] = ()
    ontology: Ontology = DEFAULT
    zone: tzinfo = UTC


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
