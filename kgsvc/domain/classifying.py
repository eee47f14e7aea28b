"""Which fact type of the ontology a new fact may be of, and facts told as the types that were decided."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from kgsvc.domain.decisions import Decisions
from kgsvc.domain.entities import BatchItem
from kgsvc.domain.ontology import ANY, UNKNOWN, FactType, Ontology


def specific(types: Collection[str]) -> frozenset[str]:
    """Those that say something."""
    return frozenset(types) - {ANY, UNKNOWN}


def fitting(
    ontology: Ontology, relation: str, sources: Collection[str], targets: Collection[str]
) -> tuple[FactType, ...]:
    """The fact types that may connect ends of these types; none where `relation` is the only one."""
    found = tuple(
        each
        for each in ontology.fact_types
        if any(each.connects(one, other) for one in sources or (ANY,) for other in targets or (ANY,))
    )
    return () if [each.name for each in found] == [relation] else found


def as_decided(items: Sequence[BatchItem], decisions: Decisions) -> list[BatchItem]:
    """The items with the facts told as what they were decided to state."""
    return [_as_decided(item, decisions) for item in items]


def _as_decided(item: BatchItem, decisions: Decisions) -> BatchItem:
    edges = list(item.extraction.edges)
    for index in range(len(edges)):
        decision = decisions.facts.get((item.episode.uuid, index))
        if decision is not None and decision.told_as is not None:
            edges[index] = decision.told_as
    return replace(item, extraction=replace(item.extraction, edges=tuple(edges)))
