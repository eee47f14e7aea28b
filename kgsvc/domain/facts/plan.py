"""plan: a batch of extractions and what the graph knows → one GraphDelta. Pure (design §1, §3)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from kgsvc.domain.facts.beliefs import all_remembering
from kgsvc.domain.facts.contradictions import Contradiction, endings_of
from kgsvc.domain.facts.timeline import (
    EdgeStatement,
    EdgeWording,
    Ending,
    Row,
    SlotStatement,
    fold,
    thinned,
)
from kgsvc.domain.model.delta import FactTombstone, GraphDelta, SlotView
from kgsvc.domain.model.extraction import ExtractedEdge
from kgsvc.domain.model.graph import (
    EARLIEST_MS,
    ENDED,
    Closure,
    Entity,
    Evidence,
    Fact,
    FactKind,
    Mention,
    Polarity,
    digest,
    event_qualifiers,
    fact_key,
    mint,
    name_key,
    slot_of,
)
from kgsvc.domain.names.entities import UNSPECIFIC, BatchItem, ResolvedNames
from kgsvc.domain.names.renames import RENAMED_TO
from kgsvc.domain.text import normalise

SUPERSEDED = "superseded"
MERGED = "merged"
UPDATED = "updated"
RETRACTED = "retracted"
# A reader that looks for WORKS_AT must not find its denial. An end is part of the relation that ended.
_NAME_PREFIX = {Polarity.ASSERTS: "", Polarity.ENDS: "", Polarity.DENIES: "NOT_"}
_REBUILT_REASONS = frozenset({None, SUPERSEDED, RETRACTED})  # rows that follow from statements


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
    slots: dict[str, _Slot] = {}

    def slot_at(key: str) -> _Slot:
        if key not in slots:
            slots[key] = _Slot(group_id, key, existing[key], fresh.get(key, ()))
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


def names_of_ends(facts: Iterable[Fact]) -> dict[str, str]:
    """Display names by entity uuid."""
    names: dict[str, str] = {}
    for fact in facts:
        names[fact.source_uuid], names[fact.target_uuid] = fact.source_name, fact.target_name
    return names


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
        name=_NAME_PREFIX[polarity] + edge.name,
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


class _Slot:
    """The rows of a slot that follow from statements, with statements that come to it."""

    def __init__(
        self, group_id: str, key: str, facts: Iterable[Fact], statements: Iterable[EdgeStatement] = ()
    ) -> None:
        self._group_id, self._key = group_id, key
        self._facts = [fact for fact in facts if fact.expired_reason in _REBUILT_REASONS]
        self._behind = {fact.uuid: _statements_behind(fact) for fact in self._facts}
        self._old = [statement for behind in self._behind.values() for statement in behind]
        known = {(each.wording.key, each.evidence) for each in self._old}
        self.new = [each for each in statements if (each.wording.key, each.evidence) not in known]
        self.endings = {
            Ending(wording_of(fact).key, closure) for fact in self._facts for closure in fact.closures
        }

    def rows(self, endings: Iterable[Ending], taken: set[str]) -> list[tuple[str, Row, Fact | None]]:
        """The rows under these endings too, each with its uuid and the stored fact it continues. New uuids
        are added to `taken`."""
        rows = fold([*self._old, *self.new], self.endings.union(endings))
        owners = self._owners(rows)
        found: list[tuple[str, Row, Fact | None]] = []
        for row in rows:
            owner = owners.get(id(row))
            uuid = owner.uuid if owner else mint("fact", self._group_id, _key(self._key, row), taken)
            taken.add(uuid)
            found.append((uuid, row, owner))
        return found

    def folded(
        self, endings: Iterable[Ending], taken: set[str], names: Mapping[str, str], system_ms: int
    ) -> list[Fact]:
        """The facts that change; stored ones that no row continues expire as merged."""
        rows = self.rows(endings, taken)
        uuids = {id(row): uuid for uuid, row, _ in rows}
        written = [
            _fact(
                owner or _new_fact(self._group_id, self._key, uuid, row, system_ms),
                row,
                uuids,
                names,
                system_ms,
            )
            for uuid, row, owner in rows
        ]
        before = {fact.uuid: fact for fact in self._facts}
        kept = {fact.uuid for fact in written}
        orphans = [as_merged(fact, system_ms) for fact in self._facts if fact.uuid not in kept]
        changed = [fact for fact in written if before.get(fact.uuid) != fact] + orphans
        return [replace(fact, updated_ms=system_ms) if fact.uuid in before else fact for fact in changed]

    def _owners(self, rows: list[Row]) -> dict[int, Fact]:
        """Which stored fact each row continues, by the row's id: the one whose first statement it holds, a
        caller's before others, the older one before the younger."""
        holders: defaultdict[tuple[tuple[str, str, str] | None, Evidence], list[Row]] = defaultdict(list)
        for row in rows:
            for evidence in row.evidence:
                holders[_key_of(row.wording, evidence), evidence].append(row)
        owners: dict[int, Fact] = {}
        for fact in sorted(self._facts, key=lambda f: (not f.asserted, f.created_ms, f.uuid)):
            for first in self._behind[fact.uuid][:1]:
                holding = holders[_key_of(first.wording, first.evidence), first.evidence]
                free = next((row for row in holding if id(row) not in owners), None)
                if free is not None:
                    owners[id(free)] = fact
        return owners


def refolded(
    group_id: str,
    facts: Collection[Fact],
    view: SlotView,
    system_ms: int,
    slots: Iterable[str] | None = None,
) -> dict[str, Fact]:
    """What changes, by uuid, when slots (None: all of `facts`) are folded anew from the statements that
    `facts` have now. `view` holds what is stored around them."""
    known = (*view.facts, *facts)
    taken = {fact.uuid for fact in known} | {stone.uuid for stone in view.tombstones}
    names = names_of_ends(known)
    by_slot: defaultdict[str, list[Fact]] = defaultdict(list)
    for fact in facts:
        if fact.evidence:
            by_slot[fact.slot].append(fact)
    changed: dict[str, Fact] = {}
    for key in sorted(by_slot if slots is None else slots):
        folded = _Slot(group_id, key, by_slot[key]).folded((), taken, names, system_ms)
        changed |= {fact.uuid: fact for fact in folded}
    return changed


def relation_of(fact: Fact) -> str:
    """The relation that a fact's slot is about: its name without what its polarity puts before it."""
    return fact.name.removeprefix(_NAME_PREFIX[fact.polarity])


def wording_of(fact: Fact) -> EdgeWording:
    """What a stored fact says."""
    return EdgeWording(
        name=fact.name,
        fact=fact.fact,
        source_uuid=fact.source_uuid,
        target_uuid=fact.target_uuid,
        kind=fact.kind,
        polarity=fact.polarity,
        qualifiers=fact.qualifiers,
        keywords=fact.keywords,
        weight=fact.weight,
        attributes=fact.attributes,
    )


def _statements_behind(fact: Fact) -> list[EdgeStatement]:
    wording = wording_of(fact)
    return [
        EdgeStatement(
            replace(wording, polarity=Polarity.ENDS, fact=evidence.said or fact.fact)
            if evidence.says == ENDED
            else wording,
            evidence,
            fact.asserted,
        )
        for evidence in fact.evidence
    ]


def _key_of(wording: EdgeWording, evidence: Evidence) -> tuple[str, str, str] | None:
    """By what a statement is recognised, beside its evidence; an end is in whatever row it ended."""
    return None if evidence.says == ENDED else wording.key


def _key(slot: str, row: Row) -> str:
    return fact_key(slot, row.wording.target_uuid, row.start_ms, row.wording.fact)


def _new_fact(group_id: str, slot: str, uuid: str, row: Row, system_ms: int) -> Fact:
    """What never changes of the fact of a row; the rest is written by `_fact`."""
    wording = row.wording
    return Fact(
        uuid=uuid,
        group_id=group_id,
        name=wording.name,
        fact=wording.fact,
        source_uuid=wording.source_uuid,
        target_uuid=wording.target_uuid,
        source_name="",
        target_name="",
        created_ms=system_ms,
        reference_ms=row.start_ms,
        slot=slot,
        fact_key="",
        kind=wording.kind,
        polarity=wording.polarity,
        qualifiers=dict(wording.qualifiers),
    )


def _fact(base: Fact, row: Row, uuids: Mapping[int, str], names: Mapping[str, str], system_ms: int) -> Fact:
    wording, first, kept = row.wording, row.evidence[0], thinned(row.evidence)
    only_ended = row.start_ms == EARLIEST_MS
    stated_ms = None if only_ended else first.stated_valid_ms
    fact = replace(
        base,
        name=wording.name,
        fact=wording.fact,
        polarity=wording.polarity,
        source_name=names[wording.source_uuid],
        target_name=names[wording.target_uuid],
        fact_key=_key(base.slot, row),
        valid_ms=stated_ms,
        reference_ms=row.start_ms if stated_ms is None else first.reference_ms,
        keywords=wording.keywords,
        weight=wording.weight,
        attributes=wording.attributes,
        episodes=episodes_of(kept),
        evidence=kept,
        closures=tuple(sorted(row.closures)),
    )
    return _closed(fact, base, row, uuids, system_ms)


def _closed(fact: Fact, was: Fact, row: Row, uuids: Mapping[int, str], system_ms: int) -> Fact:
    """The fact with the end that its row has, and who ended it. What ends later than now is bounded in fact
    time and does not expire; neither does it expire by the mere passing of that date."""
    by = row.withdrawn_by or row.closed_by
    passed = row.closed_ms is not None and row.closed_ms <= system_ms
    bounded = was.expired_ms is None and was.invalid_ms == row.closed_ms and was.start_ms != EARLIEST_MS
    if by is None or (row.withdrawn_by is None and (bounded or not passed)):
        return replace(
            fact,
            invalid_ms=row.end_ms,
            expired_ms=None,
            expired_by_fact=None,
            expired_by_episode=None,
            expired_reason=None,
            invalid_before_ms=None,
        )
    newly = fact.expired_ms is None
    before_ms = row.stated_end_ms if fact.created_ms == system_ms else fact.invalid_ms
    return replace(
        fact,
        invalid_ms=row.stated_end_ms if row.withdrawn_by else row.closed_ms,
        expired_ms=system_ms if newly else fact.expired_ms,
        expired_by_fact=_fact_of(by, uuids),
        expired_by_episode=_episode_of(by) or row.closed_by_episode,
        expired_reason=RETRACTED if row.withdrawn_by else SUPERSEDED,
        invalid_before_ms=before_ms if newly else fact.invalid_before_ms,
    )


def _fact_of(by: Row | Evidence | Closure | EdgeStatement, uuids: Mapping[int, str]) -> str | None:
    """The fact that ended another, if it was one: an end is a statement alone."""
    if isinstance(by, Closure):
        return by.by_fact
    return uuids[id(by)] if isinstance(by, Row) else None


def _episode_of(by: Row | Evidence | Closure | EdgeStatement) -> str | None:
    if isinstance(by, Closure):
        return by.by_episode
    return by.evidence.episode_uuid if isinstance(by, EdgeStatement) else None


def as_merged(fact: Fact, system_ms: int) -> Fact:
    """A row that is no more since what it is about became one: it expires, unless it had."""
    if fact.expired_ms is not None:
        return replace(fact, expired_reason=MERGED)
    return replace(fact, expired_ms=system_ms, expired_reason=MERGED, invalid_before_ms=fact.invalid_ms)


def episodes_of(evidence: Iterable[Evidence]) -> tuple[str, ...]:
    """The episodes behind a fact, by reference time."""
    ordered = sorted(evidence, key=lambda e: (e.reference_ms, e.episode_uuid))
    return tuple(dict.fromkeys(each.episode_uuid for each in ordered))


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
