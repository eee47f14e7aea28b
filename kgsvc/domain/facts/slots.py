"""The rows of a slot as facts of the graph: folded from what stored facts and new statements say."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from kgsvc.domain.facts.statements import EdgeStatement, EdgeWording, Ending, Key, Row, thinned
from kgsvc.domain.facts.timeline import fold
from kgsvc.domain.facts.values import value_of
from kgsvc.domain.model.delta import SlotView
from kgsvc.domain.model.graph import (
    EARLIEST_MS,
    ENDED,
    Closure,
    Evidence,
    Fact,
    Polarity,
)
from kgsvc.domain.model.keys import fact_key, mint

SUPERSEDED = "superseded"
MERGED = "merged"
UPDATED = "updated"
RETRACTED = "retracted"
WITHDRAWN = "withdrawn"  # the document that alone stated it has another text now

# A reader that looks for WORKS_AT must not find its denial. An end is part of the relation that ended.
NAME_PREFIX = {Polarity.ASSERTS: "", Polarity.ENDS: "", Polarity.DENIES: "NOT_"}

_REBUILT_REASONS = frozenset({None, SUPERSEDED, RETRACTED})


def follows(fact: Fact) -> bool:
    """Whether the row follows from what episodes state, so that a fold makes it anew. One that a caller
    retracted never does: its statements are taken out of the fold with it."""
    return fact.expired_reason in _REBUILT_REASONS and fact.retract_reason is None


def names_of_ends(facts: Iterable[Fact]) -> dict[str, str]:
    """Display names by entity uuid."""
    names: dict[str, str] = {}
    for fact in facts:
        names[fact.source_uuid], names[fact.target_uuid] = fact.source_name, fact.target_name
    return names


class Slot:
    """The rows of a slot that follow from statements, with statements that come to it."""

    def __init__(
        self, group_id: str, key: str, facts: Iterable[Fact], statements: Iterable[EdgeStatement] = ()
    ) -> None:
        self._group_id, self._key = group_id, key
        self._stored = {fact.uuid: fact for fact in facts if follows(fact)}
        self._facts = list(self._stored.values())
        self._behind = {fact.uuid: statements_behind(fact) for fact in self._facts}
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
        before = self._stored
        kept = {fact.uuid for fact in written}
        orphans = [as_merged(fact, system_ms) for fact in self._facts if fact.uuid not in kept]
        changed = [fact for fact in written if before.get(fact.uuid) != fact] + orphans
        return [replace(fact, updated_ms=system_ms) if fact.uuid in before else fact for fact in changed]

    def _owners(self, rows: list[Row]) -> dict[int, Fact]:
        """Which stored fact each row continues, by the row's id: the one whose first statement it holds, a
        caller's before others, the older one before the younger."""
        holders: defaultdict[tuple[Key | None, Evidence], list[Row]] = defaultdict(list)
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
        folded = Slot(group_id, key, by_slot[key]).folded((), taken, names, system_ms)
        changed |= {fact.uuid: fact for fact in folded}
    return changed


def relation_of(fact: Fact) -> str:
    """The relation that a fact's slot is about: its name without what its polarity puts before it."""
    return fact.name.removeprefix(NAME_PREFIX[fact.polarity])


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
        about=_about(fact),
    )


def _about(fact: Fact) -> str:
    if fact.source_uuid != fact.target_uuid:
        return fact.target_uuid
    return value_of(fact.fact, fact.source_name, fact.name)


def statements_behind(fact: Fact) -> list[EdgeStatement]:
    """What episodes state of the row, its ends among them."""
    wording = wording_of(fact)
    return [
        EdgeStatement(
            _as_end(fact, wording, evidence) if evidence.says == ENDED else wording, evidence, fact.asserted
        )
        for evidence in fact.evidence
    ]


def _as_end(fact: Fact, wording: EdgeWording, evidence: Evidence) -> EdgeWording:
    """An end of this row, whatever its words name."""
    said = evidence.said or fact.fact
    names = wording.about
    if wording.is_property:
        names = value_of(said, fact.source_name, relation_of(fact))
    return replace(wording, polarity=Polarity.ENDS, fact=said, judged=names != wording.about)


def _key_of(wording: EdgeWording, evidence: Evidence) -> Key | None:
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
    wording, first = row.wording, row.evidence[0]
    kept = thinned(row.evidence, wording.weight)
    only_ended = row.start_ms == EARLIEST_MS
    # As the row has it: a start may have moved since it was stated.
    stated_ms = None if only_ended or first.stated_valid_ms is None else row.start_ms
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
    # An end that an episode states is no bound that something else has set.
    told_ms = {row.stated_end_ms, *(each.stated_invalid_ms for each in was.evidence)}
    bounded = was.expired_ms is None and was.invalid_ms == row.closed_ms and was.start_ms != EARLIEST_MS
    bounded = bounded and row.closed_ms not in told_ms
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


def expired(fact: Fact, reason: str, system_ms: int) -> Fact:
    """A row that is no longer held, though nothing that it conflicts with closed it."""
    return replace(
        fact,
        expired_ms=system_ms,
        expired_reason=reason,
        invalid_before_ms=fact.invalid_ms,
        updated_ms=system_ms,
    )


def as_merged(fact: Fact, system_ms: int) -> Fact:
    """A row that is no more since what it is about became one: it expires, unless it had."""
    if fact.retract_reason is not None:
        return fact
    if fact.expired_ms is not None:
        return replace(fact, expired_reason=MERGED)
    return replace(fact, expired_ms=system_ms, expired_reason=MERGED, invalid_before_ms=fact.invalid_ms)


def episodes_of(evidence: Iterable[Evidence]) -> tuple[str, ...]:
    """The episodes behind a fact, by reference time."""
    ordered = sorted(evidence, key=lambda e: (e.reference_ms, e.episode_uuid))
    return tuple(dict.fromkeys(each.episode_uuid for each in ordered))
