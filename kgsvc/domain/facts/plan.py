"""plan: a batch of extractions and what the graph knows → one GraphDelta. Pure (design §1, §3)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from kgsvc.domain.facts.contradictions import Contradiction, SlotStatement, endings_of
from kgsvc.domain.facts.timeline import Ending, Row, Statement, Wording, fold, thinned
from kgsvc.domain.model.delta import FactTombstone, GraphDelta, SlotView
from kgsvc.domain.model.extraction import ExtractedEdge
from kgsvc.domain.model.graph import Closure, Entity, Evidence, Fact, FactKind, Mention, Polarity
from kgsvc.domain.model.identity import digest, event_qualifiers, fact_key, mint, name_key, slot_of
from kgsvc.domain.names.entities import UNSPECIFIC, BatchItem, Resolved
from kgsvc.domain.text import normalise

SUPERSEDED = "superseded"
MERGED = "merged"
UPDATED = "updated"
# A reader that looks for WORKS_AT must not find its end.
_NAME_PREFIX = {Polarity.ASSERTS: "", Polarity.ENDS: "NO_LONGER_", Polarity.DENIES: "NOT_"}
_REBUILT_REASONS = frozenset({None, SUPERSEDED})  # rows that follow from statements, not from a caller


def text_digest(fact: str) -> str:
    """How a tombstone names a text without holding it."""
    return digest(normalise(fact))


def statements_of(resolved: Resolved, items: Sequence[BatchItem]) -> list[SlotStatement]:
    """Every edge of the batch between two different entities, as a statement about its slot."""
    found: list[SlotStatement] = []
    for item in items:
        names = {node.ref: node.name for node in item.extraction.nodes}
        for index, edge in enumerate(item.extraction.edges):
            source = resolved.entity(names[edge.source_ref])
            target = resolved.entity(names[edge.target_ref])
            if source.uuid != target.uuid:
                found.append(statement_of(item, index, edge, source, target))
    return found


def plan(
    group_id: str,
    items: Sequence[BatchItem],
    resolved: Resolved,
    statements: Sequence[SlotStatement],
    view: SlotView,
    system_ms: int,
    endings: Mapping[str, Sequence[Ending]] | None = None,
    contradictions: Sequence[Contradiction] = (),
) -> GraphDelta:
    """The change of the graph that the batch makes; transitions, vectors and the guard are the caller's.

    `resolved` comes from entities.resolve, `statements` from statements_of, `view` holds every fact of
    their slots and of those in `endings` and `contradictions`: what ends something in another slot, ready
    made by that slot, or found by a model and held to the rules of spec 002 here. The result does not
    depend on the order of `items` nor on how they are cut into batches.
    """
    names = _display_names(resolved, view)
    facts: list[Fact] = []
    existing: defaultdict[str, list[Fact]] = defaultdict(list)
    for fact in view.facts:
        existing[fact.slot].append(fact)
    taken = {fact.uuid for fact in view.facts} | {stone.uuid for stone in view.tombstones}
    fresh = _by_slot(statements, view.tombstones)
    asserted = {fact.uuid for fact in view.facts if fact.asserted}
    ended = endings_of(
        contradictions,
        endings or {},
        lambda slot, more: _draft(
            group_id, slot, _News(fresh.get(slot, ()), more), existing[slot], set(taken)
        ),
        asserted,
    )
    for slot in sorted(fresh.keys() | ended.keys()):
        news = _News(fresh.get(slot, ()), ended.get(slot, ()))
        facts.extend(_plan_slot(group_id, slot, news, existing[slot], taken, names, system_ms))
    return GraphDelta(
        group_id=group_id,
        system_ms=system_ms,
        entities=resolved.changed,
        names=dict(resolved.new_names),
        facts=tuple(facts),
        mentions=tuple(_mentions(group_id, items, resolved, system_ms)),
        episode_edges=_episode_edges(items, facts, view.facts),
        bumps_rev=bool(facts or resolved.changed or any(item.extraction.nodes for item in items)),
    )


def _display_names(resolved: Resolved, view: SlotView) -> dict[str, str]:
    """Entity names by uuid: of the batch, and of the other ends of facts that the batch touches."""
    names: dict[str, str] = {}
    for fact in view.facts:
        names[fact.source_uuid], names[fact.target_uuid] = fact.source_name, fact.target_name
    return names | {entity.uuid: entity.name for entity in resolved.by_key.values()}


def statement_of(
    item: BatchItem, index: int, edge: ExtractedEdge, source: Entity, target: Entity
) -> SlotStatement:
    """The edge of an item as a statement about its slot."""
    reference_ms = item.episode.reference_ms
    start = edge.valid_ms
    if start is None:
        start = reference_ms if edge.invalid_ms is None else min(reference_ms, edge.invalid_ms)
    qualifiers = dict(edge.qualifiers)
    if edge.kind is FactKind.EVENT and edge.polarity is Polarity.ASSERTS:
        qualifiers = event_qualifiers(qualifiers, edge.fact, edge.valid_ms)
    wording = Wording(
        name=_NAME_PREFIX[edge.polarity] + edge.name,
        fact=edge.fact.strip(),
        source_uuid=source.uuid,
        target_uuid=target.uuid,
        kind=edge.kind,
        polarity=edge.polarity,
        qualifiers=qualifiers,
        keywords=edge.keywords,
        weight=edge.weight,
        attributes=edge.attributes,
    )
    evidence = Evidence(start, reference_ms, item.episode.uuid, edge.valid_ms, edge.invalid_ms)
    slot = slot_of(edge.kind, source.uuid, edge.name, target.uuid, qualifiers)
    return SlotStatement(slot, Statement(wording, evidence), item.accepted_ms, index)


def _by_slot(
    statements: Iterable[SlotStatement], tombstones: Iterable[FactTombstone]
) -> dict[str, list[Statement]]:
    """Statements by slot, without those that a later hard delete forbids."""
    dead: dict[tuple[str, str], int] = {}
    for stone in tombstones:
        key = (stone.slot, stone.fact)
        dead[key] = max(stone.deleted_ms, dead.get(key, stone.deleted_ms))
    grouped: defaultdict[str, list[Statement]] = defaultdict(list)
    for entry in statements:
        deleted_ms = dead.get((entry.slot, text_digest(entry.statement.wording.fact)))
        if deleted_ms is None or entry.accepted_ms > deleted_ms:
            grouped[entry.slot].append(entry.statement)
    return grouped


@dataclass(frozen=True, slots=True)
class _News:
    """What a batch adds to a slot."""

    statements: Sequence[Statement]
    endings: Sequence[Ending]


def _plan_slot(
    group_id: str,
    slot: str,
    news: _News,
    existing: list[Fact],
    taken: set[str],
    names: Mapping[str, str],
    system_ms: int,
) -> list[Fact]:
    rebuilt = [fact for fact in existing if fact.expired_reason in _REBUILT_REASONS]
    behind = {fact.uuid: _statements_behind(fact) for fact in rebuilt}
    old = [s for statements in behind.values() for s in statements]
    known = {(s.wording.key, s.evidence) for s in old}
    new = [s for s in news.statements if (s.wording.key, s.evidence) not in known]
    before_ended = {Ending(behind[f.uuid][0].wording.key, c) for f in rebuilt for c in f.closures}
    ended = before_ended.union(news.endings)
    if not new and ended == before_ended:
        return []
    return _folded(group_id, slot, rebuilt, behind, [*old, *new], ended, taken, names, system_ms)


def refold(
    group_id: str,
    slot: str,
    facts: Iterable[Fact],
    taken: set[str],
    names: Mapping[str, str],
    system_ms: int,
) -> list[Fact]:
    """The rows of a slot from the statements that its `facts` have now; those that thereby change.

    `facts` are all of the slot that have a statement left, `taken` all uuids that its rows may not get,
    `names` the display names of their ends.
    """
    rebuilt = [fact for fact in facts if fact.expired_reason in _REBUILT_REASONS]
    behind = {fact.uuid: _statements_behind(fact) for fact in rebuilt}
    statements = [s for found in behind.values() for s in found]
    ended = {Ending(behind[f.uuid][0].wording.key, c) for f in rebuilt for c in f.closures}
    return _folded(group_id, slot, rebuilt, behind, statements, ended, taken, names, system_ms)


def relation_of(fact: Fact) -> str:
    """The relation that a fact's slot is about: its name without what its polarity puts before it."""
    return fact.name.removeprefix(_NAME_PREFIX[fact.polarity])


def _folded(
    group_id: str,
    slot: str,
    rebuilt: list[Fact],
    behind: Mapping[str, list[Statement]],
    statements: Sequence[Statement],
    ended: Iterable[Ending],
    taken: set[str],
    names: Mapping[str, str],
    system_ms: int,
) -> list[Fact]:
    rows = fold(statements, ended)
    owners = _owners(rows, rebuilt, behind)
    uuids = _uuids(group_id, slot, rows, owners, taken)
    written = [_fact(group_id, slot, row, owners.get(id(row)), uuids, names, system_ms) for row in rows]
    before = {fact.uuid: fact for fact in rebuilt}
    kept = {fact.uuid for fact in written}
    orphans = [as_merged(fact, system_ms) for fact in rebuilt if fact.uuid not in kept]
    changed = [fact for fact in written if before.get(fact.uuid) != fact] + orphans
    return [replace(fact, updated_ms=system_ms) if fact.uuid in before else fact for fact in changed]


def _uuids(
    group_id: str, slot: str, rows: list[Row], owners: Mapping[int, Fact], taken: set[str]
) -> dict[int, str]:
    """The uuid of each row, by its id: its owner's or a new one, which thereby is taken."""
    uuids: dict[int, str] = {}
    for row in rows:
        owner = owners.get(id(row))
        uuids[id(row)] = mint("fact", group_id, _key(slot, row), taken) if owner is None else owner.uuid
        taken.add(uuids[id(row)])
    return uuids


def _draft(
    group_id: str, slot: str, news: _News, existing: Sequence[Fact], taken: set[str]
) -> list[tuple[str, Row]]:
    """A slot's rows with their uuids, before the facts that they become."""
    rebuilt = [fact for fact in existing if fact.expired_reason in _REBUILT_REASONS]
    behind = {fact.uuid: _statements_behind(fact) for fact in rebuilt}
    ended = {Ending(behind[f.uuid][0].wording.key, c) for f in rebuilt for c in f.closures}
    old = [s for statements in behind.values() for s in statements]
    rows = fold([*old, *news.statements], ended.union(news.endings))
    uuids = _uuids(group_id, slot, rows, _owners(rows, rebuilt, behind), taken)
    return [(uuids[id(row)], row) for row in rows]


def wording_of(fact: Fact) -> Wording:
    """What a stored fact says."""
    return Wording(
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


def _statements_behind(fact: Fact) -> list[Statement]:
    wording = wording_of(fact)
    return [Statement(wording, evidence) for evidence in fact.evidence]


def _key(slot: str, row: Row) -> str:
    return fact_key(slot, row.wording.target_uuid, row.start_ms, row.wording.fact)


def _owners(rows: list[Row], existing: list[Fact], behind: Mapping[str, list[Statement]]) -> dict[int, Fact]:
    """Which stored fact each row continues: the one whose first statement it holds, a caller's before others,
    the older one before the younger."""
    holders: defaultdict[tuple[tuple[str, str, str], Evidence], list[Row]] = defaultdict(list)
    for row in rows:
        for evidence in row.evidence:
            holders[row.wording.key, evidence].append(row)
    owners: dict[int, Fact] = {}
    for fact in sorted(existing, key=lambda f: (not f.asserted, f.created_ms, f.uuid)):
        for first in behind[fact.uuid][:1]:
            holding = holders[first.wording.key, first.evidence]
            free = next((row for row in holding if id(row) not in owners), None)
            if free is not None:
                owners[id(free)] = fact
    return owners


def _fact(
    group_id: str,
    slot: str,
    row: Row,
    owner: Fact | None,
    uuids: Mapping[int, str],
    names: Mapping[str, str],
    system_ms: int,
) -> Fact:
    wording, first, kept = row.wording, row.evidence[0], thinned(row.evidence)
    source_name, target_name = names[wording.source_uuid], names[wording.target_uuid]
    base = owner or Fact(
        uuid=uuids[id(row)],
        group_id=group_id,
        name=wording.name,
        fact=wording.fact,
        source_uuid=wording.source_uuid,
        target_uuid=wording.target_uuid,
        source_name=source_name,
        target_name=target_name,
        created_ms=system_ms,
        reference_ms=row.start_ms,
        slot=slot,
        fact_key="",
        kind=wording.kind,
        polarity=wording.polarity,
        qualifiers=dict(wording.qualifiers),
    )
    fact = replace(
        base,
        source_name=source_name,
        target_name=target_name,
        fact_key=_key(slot, row),
        valid_ms=first.stated_valid_ms,
        reference_ms=first.reference_ms if first.stated_valid_ms is not None else row.start_ms,
        keywords=wording.keywords,
        weight=wording.weight,
        attributes=wording.attributes,
        episodes=tuple(dict.fromkeys(e.episode_uuid for e in sorted(kept, key=_by_reference))),
        evidence=kept,
        closures=tuple(sorted(row.closures)),
    )
    return _closed(fact, row, uuids, system_ms)


def _closed(fact: Fact, row: Row, uuids: Mapping[int, str], system_ms: int) -> Fact:
    """The fact with the end that its row has, and who ended it."""
    if row.closed_ms is None or row.closed_by is None:
        return replace(
            fact,
            invalid_ms=row.stated_end_ms,
            expired_ms=None,
            expired_by_fact=None,
            expired_by_episode=None,
            expired_reason=None,
            invalid_before_ms=None,
        )
    newly, by = fact.expired_ms is None, row.closed_by
    return replace(
        fact,
        invalid_ms=row.closed_ms,
        expired_ms=system_ms if newly else fact.expired_ms,
        expired_by_fact=by.by_fact if isinstance(by, Closure) else uuids[id(by)],
        expired_by_episode=row.closed_by_episode,
        expired_reason=SUPERSEDED,
        invalid_before_ms=row.stated_end_ms if newly else fact.invalid_before_ms,
    )


def as_merged(fact: Fact, system_ms: int) -> Fact:
    """A row that is no more since what it is about became one: it expires, unless it had."""
    if fact.expired_ms is not None:
        return replace(fact, expired_reason=MERGED)
    return replace(fact, expired_ms=system_ms, expired_reason=MERGED, invalid_before_ms=fact.invalid_ms)


def _by_reference(evidence: Evidence) -> tuple[int, str]:
    return (evidence.reference_ms, evidence.episode_uuid)


def _mentions(
    group_id: str, items: Sequence[BatchItem], resolved: Resolved, system_ms: int
) -> Iterable[Mention]:
    for item in items:
        names: defaultdict[str, set[str]] = defaultdict(set)
        types: defaultdict[str, set[str]] = defaultdict(set)
        for node in item.extraction.nodes:
            uuid = resolved.entity(node.name).uuid
            names[uuid] |= {node.name.strip(), *resolved.brought.get(name_key(node.name), ())}
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
