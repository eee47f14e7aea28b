"""plan: a batch of extractions and what the graph knows → one GraphDelta. Pure (design §1, §3)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

from kgsvc.domain.facts.beliefs import all_remembering
from kgsvc.domain.facts.contradictions import Contradiction, endings_of
from kgsvc.domain.facts.slots import NAME_PREFIX, Slot, names_of_ends
from kgsvc.domain.facts.statements import EdgeStatement, EdgeWording, Ending, SlotStatement
from kgsvc.domain.model.delta import FactTombstone, GraphDelta, SlotView
from kgsvc.domain.model.extraction import ExtractedEdge
from kgsvc.domain.model.graph import (
    ENDED,
    Entity,
    Evidence,
    Fact,
    FactKind,
    Mention,
    Polarity,
)
from kgsvc.domain.model.keys import digest, event_qualifiers, mint, name_key, slot_of
from kgsvc.domain.names.entities import UNSPECIFIC, BatchItem, ResolvedNames
from kgsvc.domain.names.renames import RENAMED_TO
from kgsvc.domain.text import normalise


def text_digest(fact: str) -> str:
    """How a tombstone names a text without holding it."""
    return digest(normalise(fact))


def statements_of(resolved: ResolvedNames, items: Sequence[BatchItem]) -> list[SlotStatement]:
    """Every edge of the batch as a statement about its slot. One from a node to itself states a property; one
    between two names that turned out to mean one entity says nothing, unless it is what renamed it."""
    found: list[SlotStatement] = []
    for item in items:
        names = {node.ref: node.name for node in item.extraction.nodes}
        for index, edge in enumerate(item.extraction.edges):
            source = resolved.entity(names[edge.source_ref])
            target = resolved.entity(names[edge.target_ref])
            if source.uuid != target.uuid or edge.source_ref == edge.target_ref or edge.name == RENAMED_TO:
                found.append(statement_of(item, index, edge, source, target))
    return found


def plan(
    group_id: str,
    items: Sequence[BatchItem],
    resolved: ResolvedNames,
    statements: Sequence[SlotStatement],
    view: SlotView,
    system_ms: int,
    endings: Mapping[str, Sequence[Ending]] | None = None,
    contradictions: Sequence[Contradiction] = (),
) -> GraphDelta:
    """The change of the graph that the batch makes; transitions, vectors and the guard are the caller's.

    `resolved` comes from entities.resolve, `statements` from statements_of. `view` holds every fact of their
    slots and of those in `endings` (closures from other slots, ready made) and `contradictions` (found by a
    model, held to the rules of spec 002 here). The result does not depend on the order of `items` nor on how
    they are cut into batches.
    """
    names = names_of_ends(view.facts) | {entity.uuid: entity.name for entity in resolved.by_key.values()}
    taken = {fact.uuid for fact in view.facts} | {stone.uuid for stone in view.tombstones}
    fresh = _by_slot(statements, view.tombstones)
    existing: defaultdict[str, list[Fact]] = defaultdict(list)
    for fact in view.facts:
        existing[fact.slot].append(fact)
    slots: dict[str, Slot] = {}

    def slot_at(key: str) -> Slot:
        if key not in slots:
            slots[key] = Slot(group_id, key, existing[key], fresh.get(key, ()))
        return slots[key]

    ended = endings_of(
        contradictions,
        endings or {},
        lambda key, more: [(uuid, row) for uuid, row, _ in slot_at(key).rows(more, set(taken))],
        {fact.uuid for fact in view.facts if fact.asserted},
    )
    written: dict[str, Fact] = {}
    for key in sorted(fresh.keys() | ended.keys()):
        slot, closing = slot_at(key), ended.get(key, ())
        if slot.new or not slot.endings.issuperset(closing):
            written |= {fact.uuid: fact for fact in slot.folded(closing, taken, names, system_ms)}
    facts = tuple(all_remembering(view.facts, written, system_ms).values())
    return GraphDelta(
        group_id=group_id,
        system_ms=system_ms,
        entities=resolved.changed,
        names=dict(resolved.new_names),
        facts=facts,
        mentions=tuple(_mentions(group_id, items, resolved, system_ms)),
        episode_edges=_episode_edges(items, facts, view.facts),
        bumps_rev=bool(facts or resolved.changed or any(item.extraction.nodes for item in items)),
    )


def statement_of(
    item: BatchItem, index: int, edge: ExtractedEdge, source: Entity, target: Entity
) -> SlotStatement:
    """The edge of an item as a statement about its slot."""
    reference_ms, polarity = item.episode.reference_ms, edge.polarity
    valid_ms, invalid_ms = edge.valid_ms, edge.invalid_ms
    if _is_past(edge, reference_ms):  # its start is not known: all that is stated is its end
        polarity, valid_ms, invalid_ms = Polarity.ENDS, invalid_ms, None
    elif polarity is Polarity.ENDS:
        invalid_ms = None
    start = reference_ms if valid_ms is None else valid_ms
    qualifiers = dict(edge.qualifiers)
    if edge.kind is FactKind.EVENT and edge.polarity is Polarity.ASSERTS:
        qualifiers = event_qualifiers(qualifiers, edge.fact, edge.valid_ms)
    wording = EdgeWording(
        name=NAME_PREFIX[polarity] + edge.name,
        fact=edge.fact.strip(),
        source_uuid=source.uuid,
        target_uuid=target.uuid,
        kind=edge.kind,
        polarity=polarity,
        qualifiers=qualifiers,
        keywords=edge.keywords,
        weight=edge.weight,
        attributes=edge.attributes,
    )
    ends = polarity is Polarity.ENDS
    evidence = Evidence(
        start,
        reference_ms,
        item.episode.uuid,
        valid_ms,
        invalid_ms,
        wording.fact if ends else "",
        ENDED if ends else "",
        item.accepted_ms,
        index,
        item.sequence,
        edge.weight,
    )
    slot = slot_of(edge.kind, source.uuid, edge.name, target.uuid, qualifiers)
    return SlotStatement(slot, EdgeStatement(wording, evidence), item.accepted_ms, index)


def _is_past(edge: ExtractedEdge, reference_ms: int) -> bool:
    """Whether it says of a relation only that it had ended when it was told."""
    stated = edge.polarity is Polarity.ASSERTS and edge.kind is not FactKind.EVENT and edge.valid_ms is None
    return stated and edge.invalid_ms is not None and edge.invalid_ms <= reference_ms


def _by_slot(
    statements: Iterable[SlotStatement], tombstones: Iterable[FactTombstone]
) -> dict[str, list[EdgeStatement]]:
    """Statements by slot, without those that a later hard delete forbids."""
    dead: dict[tuple[str, str], int] = {}
    for stone in tombstones:
        key = (stone.slot, stone.fact)
        dead[key] = max(stone.deleted_ms, dead.get(key, stone.deleted_ms))
    grouped: defaultdict[str, list[EdgeStatement]] = defaultdict(list)
    for entry in statements:
        deleted_ms = dead.get((entry.slot, text_digest(entry.statement.wording.fact)))
        if deleted_ms is None or entry.accepted_ms > deleted_ms:
            grouped[entry.slot].append(entry.statement)
    return grouped


def _mentions(
    group_id: str, items: Sequence[BatchItem], resolved: ResolvedNames, system_ms: int
) -> Iterable[Mention]:
    for item in items:
        names: defaultdict[str, set[str]] = defaultdict(set)
        types: defaultdict[str, set[str]] = defaultdict(set)
        for node in item.extraction.nodes:
            uuid = resolved.entity(node.name).uuid
            names[uuid] |= {node.name.strip(), *resolved.further_names.get(name_key(node.name), ())}
            types[uuid].add(node.type)
        for uuid in sorted(names):
            made = mint("mention", group_id, f"{item.episode.uuid}/{uuid}")
            said = tuple(sorted(names[uuid])), tuple(sorted(types[uuid] - UNSPECIFIC))
            yield Mention(made, group_id, item.episode.uuid, uuid, system_ms, *said)


def _episode_edges(
    items: Sequence[BatchItem], written: Collection[Fact], known: Collection[Fact]
) -> dict[str, tuple[str, ...]]:
    """The facts that each episode of the batch supports."""
    current = {fact.uuid: fact for fact in known} | {fact.uuid: fact for fact in written}
    edges: dict[str, set[str]] = {item.episode.uuid: set() for item in items}
    for fact in current.values():
        for episode in fact.episodes:
            if episode in edges:
                edges[episode].add(fact.uuid)
    return {episode: tuple(sorted(uuids)) for episode, uuids in edges.items() if uuids}
