"""plan: a batch of extractions and what the graph knows → one GraphDelta. Pure (docs/design/README.md).

Also how what a model found to exclude one another becomes endings of rows: no
episode ends more than a few facts, none ends what a caller asserted.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from kgsvc.domain.facts.beliefs import all_remembering
from kgsvc.domain.facts.slots import NAME_PREFIX, Slot, names_of_ends
from kgsvc.domain.facts.statements import EdgeStatement, EdgeWording, Ending, Key, Row, SlotStatement
from kgsvc.domain.facts.values import value_of
from kgsvc.domain.model.delta import GraphDelta, SlotView
from kgsvc.domain.model.extraction import ExtractedEdge
from kgsvc.domain.model.graph import (
    ENDED,
    Closure,
    Entity,
    Evidence,
    Fact,
    FactKind,
    Mention,
    Polarity,
)
from kgsvc.domain.model.keys import digest, event_qualifiers, mint, name_key, slot_of
from kgsvc.domain.names.entities import ResolvedNames
from kgsvc.domain.names.meanings import RENAMED_TO, BatchItem, specific
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
    model, held to the rules of docs/design/resolution.md here). The result does not depend on the order of
    `items` nor on how they are cut into batches.
    """
    names = names_of_ends(view.facts) | {entity.uuid: entity.name for entity in resolved.by_key.values()}
    taken = {fact.uuid for fact in view.facts} | {stone.uuid for stone in view.tombstones}
    fresh = _by_slot(statements, view)
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
    is_past = _is_past(edge, reference_ms)
    if is_past:  # its start is not known: all that is stated is its end
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
        about=target.uuid if source.uuid != target.uuid else value_of(edge.fact, source.name, edge.name),
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
    return SlotStatement(slot, EdgeStatement(wording, evidence), item.accepted_ms, index, is_past)


def _is_past(edge: ExtractedEdge, reference_ms: int) -> bool:
    """Whether it says of a relation only that it had ended when it was told."""
    stated = edge.polarity is Polarity.ASSERTS and edge.kind is not FactKind.EVENT and edge.valid_ms is None
    return stated and edge.invalid_ms is not None and edge.invalid_ms <= reference_ms


def _by_slot(statements: Iterable[SlotStatement], view: SlotView) -> dict[str, list[EdgeStatement]]:
    """Statements by slot, without those that a later hard delete or retraction forbids."""
    dead: dict[tuple[str, str], int] = {}
    for slot, text, until_ms in _forbidden(view):
        dead[slot, text] = max(until_ms, dead.get((slot, text), until_ms))
    grouped: defaultdict[str, list[EdgeStatement]] = defaultdict(list)
    for entry in statements:
        deleted_ms = dead.get((entry.slot, text_digest(entry.statement.wording.fact)))
        if deleted_ms is None or entry.accepted_ms > deleted_ms:
            grouped[entry.slot].append(entry.statement)
    return grouped


def _forbidden(view: SlotView) -> Iterator[tuple[str, str, int]]:
    """By slot and digest of the text, until when a statement must not have been accepted."""
    for stone in view.tombstones:
        yield stone.slot, stone.fact, stone.deleted_ms
    for fact in view.facts:
        if fact.retract_reason is not None and fact.expired_ms is not None:
            yield fact.slot, text_digest(fact.fact), fact.expired_ms


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
            said = tuple(sorted(names[uuid])), tuple(sorted(specific(types[uuid])))
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


MOST_ENDED = 10  # contradictions of one episode that take effect, in its own slot or another

# A slot's rows with their uuids, under these endings beside those that it has.
Draft = Callable[[str, Sequence[Ending]], list[tuple[str, Row]]]


@dataclass(frozen=True, slots=True)
class Contradiction:
    """A statement and what it was found to contradict: a stored fact (`uuid`), or else the row in `slot` that
    says `key`. `at_ms`: since when that no longer holds, where it is known."""

    by: SlotStatement
    slot: str
    uuid: str | None = None
    key: Key | None = None
    at_ms: int | None = None
    retracts: bool = False  # it was never true
    moves: bool = False  # it begins at `at_ms`, and ends nothing


@dataclass(frozen=True, slots=True)
class _Side:
    """One of two that exclude each other."""

    slot: str
    uuid: str
    row: Row


@dataclass(frozen=True, slots=True)
class _Switch:
    """From `at_ms` on `after` holds and `before` does not, as `evidence` shows. `retracts`: `before` never
    did. `moves`: with `after` it begins then."""

    before: _Side
    after: _Side
    evidence: Evidence
    at_ms: int
    retracts: bool = False
    moves: bool = False

    def ending(self, uuid: str) -> Ending:
        """Of `before`, by the fact `uuid`."""
        by, before = self.evidence, self.before.row
        reference_ms = by.reference_ms
        if self.retracts:  # all that was known by then, though a later time stands on it
            reference_ms = max(reference_ms, *(each.reference_ms for each in before.evidence))
        closure = Closure(self.at_ms, reference_ms, uuid, by.episode_uuid, self.retracts, self.moves)
        return Ending(before.wording.key, closure)


def endings_of(
    contradictions: Sequence[Contradiction],
    given: Mapping[str, Sequence[Ending]],
    draft: Draft,
    asserted: Collection[str],
) -> dict[str, list[Ending]]:
    """`given` and what follows from `contradictions`, by slot. `asserted` are uuids of callers' facts."""
    switches: list[_Switch] = []
    used: Counter[str] = Counter()
    for each in contradictions:
        episode = each.by.statement.evidence.episode_uuid
        found = [] if used[episode] >= MOST_ENDED else list(_judged(each, draft, asserted))
        used[episode] += bool(found)
        switches.extend(found)
    provisional = _with(given, [(switch, switch.after.uuid) for switch in switches])
    # Rows that are cut in two by now have other uuids.
    return _with(given, [(switch, _uuid_of(switch, draft, provisional)) for switch in switches])


def _with(
    given: Mapping[str, Sequence[Ending]], switches: Sequence[tuple[_Switch, str]]
) -> dict[str, list[Ending]]:
    found = {slot: list(endings) for slot, endings in given.items()}
    for switch, uuid in switches:
        found.setdefault(switch.before.slot, []).append(switch.ending(uuid))
    return found


def _uuid_of(switch: _Switch, draft: Draft, endings: Mapping[str, Sequence[Ending]]) -> str:
    after = switch.after
    for uuid, row in draft(after.slot, endings.get(after.slot, ())):
        if row.wording.key == after.row.wording.key and switch.evidence in row.evidence:
            return uuid
    return after.uuid


def _judged(each: Contradiction, draft: Draft, asserted: Collection[str]) -> Iterator[_Switch]:
    """Where the two take turns: both may have been said several times."""
    said = each.by.statement
    mine = [
        _Side(each.by.slot, uuid, row)
        for uuid, row in draft(each.by.slot, ())
        if said.evidence in row.evidence
        and (row.wording.key == said.wording.key or said.wording.polarity is Polarity.ENDS)
    ]
    theirs = [
        _Side(each.slot, uuid, row)
        for uuid, row in draft(each.slot, ())
        if uuid == each.uuid or row.wording.key == each.key
    ]
    if not mine or not theirs:
        return
    new, old = mine[0], _latest(theirs, None if each.moves or each.retracts else each.at_ms)
    if new.uuid == old.uuid:
        return
    if (each.retracts or each.moves or each.at_ms is not None) and old.uuid in asserted:
        return
    if each.moves:
        at_ms = new.row.start_ms if each.at_ms is None else each.at_ms
        yield _Switch(old, new, said.evidence, at_ms, moves=True)
    elif each.retracts:
        yield _Switch(old, new, said.evidence, old.row.start_ms, retracts=True)
    elif each.at_ms is not None:
        yield _Switch(old, new, said.evidence, max(each.at_ms, old.row.start_ms))
    elif each.slot != each.by.slot or said.ends_later:
        yield from _turns(new, old, asserted)


def _latest(sides: Sequence[_Side], before_ms: int | None) -> _Side:
    """The one that began last; if any began before `before_ms`, of those."""
    begun = [side for side in sides if before_ms is not None and side.row.start_ms < before_ms]
    return max(begun or sides, key=lambda side: side.row.start_ms)


def _turns(new: _Side, old: _Side, asserted: Collection[str]) -> Iterator[_Switch]:
    """Of two that exclude each other the later stated replaces the earlier, each time."""
    told = sorted([(e, new) for e in new.row.evidence] + [(e, old) for e in old.row.evidence], key=_by_order)
    for (before, one), (after, other) in pairwise(told):
        end = one.row.end_ms
        ended = end is not None and end <= after.start_ms
        tied = (before.start_ms, before.reference_ms) == (after.start_ms, after.reference_ms)
        if one is not other and not ended and not tied and one.uuid not in asserted:
            yield _Switch(one, other, after, after.start_ms)


def _by_order(entry: tuple[Evidence, _Side]) -> tuple[int, int, str]:
    evidence, side = entry
    return (evidence.start_ms, evidence.reference_ms, side.uuid)
