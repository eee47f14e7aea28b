"""Summaries follow the facts in the same change (spec 002 "summaries", spec 000 EntityNode.summary)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from kgsvc.domain.delta import GraphDelta
from kgsvc.domain.model import Entity, Fact
from kgsvc.domain.summary import KEPT, lacks, recomposed
from kgsvc.stores.protocol import GraphStore, HistoryStore


class SummaryStore(GraphStore, HistoryStore, Protocol):
    """What summaries are composed from."""


async def summarised(
    store: SummaryStore, delta: GraphDelta, known: Mapping[str, Entity], removed: Sequence[Fact] = ()
) -> GraphDelta:
    """The delta with the summaries of all entities whose facts it changes.

    `known` are entities as they are, by uuid: they need not be read again. `removed` are the facts that the
    delta deletes. Raises StoreUnavailable.
    """
    touched = _by_end(delta.facts)
    gone = {fact.uuid for fact in removed}
    ends = {*touched, *_by_end(removed)}.difference(delta.remove_entities)
    entities = {entity.uuid: entity for entity in delta.entities}
    missing = ends - entities.keys() - known.keys()
    read = (await store.names(delta.group_id, (), missing)).by_uuid if missing else {}
    present = {**{uuid: each for uuid, each in known.items() if uuid in ends}, **read, **entities}
    after: dict[str, Entity] = {}
    for uuid, entity in sorted(present.items()):
        made = recomposed(entity, touched.get(uuid, ()), gone, delta.system_ms)
        if lacks(entity, made):
            made = await _rebuilt(store, made, delta, touched.get(uuid, ()), gone)
        if made is not entity or uuid in entities:
            after[uuid] = made
    return replace(delta, entities=tuple(after.values())) if after else delta


async def _rebuilt(
    store: SummaryStore, entity: Entity, delta: GraphDelta, changed: Sequence[Fact], gone: set[str]
) -> Entity:
    """From the latest facts that are current once the delta is written."""
    stored = await store.entity_facts(entity.group_id, entity.uuid, KEPT + len(gone), delta.system_ms)
    overlaid = {fact.uuid: fact for fact in stored if fact.uuid not in gone}
    overlaid |= {fact.uuid: fact for fact in changed}
    return recomposed(entity, overlaid.values(), gone, delta.system_ms)


def _by_end(facts: Iterable[Fact]) -> dict[str, list[Fact]]:
    found: defaultdict[str, list[Fact]] = defaultdict(list)
    for fact in facts:
        for end in {fact.source_uuid, fact.target_uuid}:
            found[end].append(fact)
    return found
