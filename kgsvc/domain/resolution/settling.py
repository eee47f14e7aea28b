"""Statements as it was decided about them: in whose slot and words they stand, and what they exclude."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from kgsvc.domain.facts.plan import Contradiction, statement_of
from kgsvc.domain.facts.slots import SUPERSEDED, UPDATED, expired, wording_of
from kgsvc.domain.facts.statements import EdgeStatement, EdgeWording, Key, SlotStatement
from kgsvc.domain.model.delta import SlotView
from kgsvc.domain.model.graph import EARLIEST_MS, ENDED, LASTS, Fact, FactKind, Polarity
from kgsvc.domain.model.keys import digest, fact_key, mint, name_key, slot_of
from kgsvc.domain.names.entities import ResolvedNames
from kgsvc.domain.names.meanings import BatchItem
from kgsvc.domain.resolution.decisions import (
    BatchFact,
    Decisions,
    FactDecision,
    Judged,
    KnownRef,
    StoredFact,
    Verdict,
)
from kgsvc.domain.resolution.exclusions import exclusions, slots_beside
from kgsvc.domain.text import normalise

BESIDE = "beside"  # the qualifier of what holds beside another text of its slot


def as_decided(items: Sequence[BatchItem], decisions: Decisions) -> list[BatchItem]:
    """The items with facts as the types that were decided for them."""
    return [_as_decided(item, decisions) for item in items]


def _as_decided(item: BatchItem, decisions: Decisions) -> BatchItem:
    edges = list(item.extraction.edges)
    for index in range(len(edges)):
        decision = decisions.facts.get((item.episode.uuid, index))
        if decision is not None and decision.told_as is not None:
            edges[index] = decision.told_as
    return replace(item, extraction=replace(item.extraction, edges=tuple(edges)))


def slots_of(
    items: Sequence[BatchItem],
    statements: Iterable[SlotStatement],
    decisions: Decisions,
    resolved: ResolvedNames,
) -> set[str]:
    """The slots to read before `settle`."""
    statements = list(statements)
    slots = {entry.slot for entry in statements} | decisions.slots
    for entry in statements:
        slots.update(slots_beside(entry))
        decision = decisions.facts.get(entry.place)
        if entry.statement.wording.polarity is Polarity.ENDS:
            slots.add(_slot(_sibling(entry.statement.wording)))
        elif decision is not None and decision.by_model:
            slots.add(_beside(entry).slot)
    for decision in decisions.facts.values():
        for ref in (decision.duplicate, *(judged.ref for judged in decision.contradicts)):
            if isinstance(ref, BatchFact) and (place := _in_batch(ref, items, resolved)):
                slots.add(place[0])
    return slots


@dataclass(frozen=True, slots=True)
class Settled:
    """Statements in the slots and words that were decided for them, what they contradict, and the facts of
    their slots, among them those that take over from others in fuller words. `updated` have expired by that.
    """

    statements: list[SlotStatement]
    contradictions: list[Contradiction]
    view: SlotView
    updated: tuple[Fact, ...] = ()


def settle(
    items: Sequence[BatchItem],
    statements: Sequence[SlotStatement],
    decisions: Decisions,
    resolved: ResolvedNames,
    view: SlotView,
    system_ms: int,
) -> Settled:
    """The statements as they were decided. Decisions about facts that are gone or expired, or whose ends
    turned out to be others, count for nothing."""
    return _Settling(items, decisions, resolved, view, system_ms).settled(statements)


class _Settling:
    def __init__(
        self,
        items: Sequence[BatchItem],
        decisions: Decisions,
        resolved: ResolvedNames,
        view: SlotView,
        system_ms: int,
    ) -> None:
        self._items, self._decisions, self._resolved, self._view = items, decisions, resolved, view
        self._system_ms = system_ms
        self._facts = {fact.uuid: fact for fact in view.facts if fact.expired_reason in (None, SUPERSEDED)}
        self._renewed: dict[str, Fact] = {}  # who took over, by the uuid of whom
        self._expired: list[Fact] = []
        self._settled: list[SlotStatement] = []
        self._placed: dict[tuple[str, Key], SlotStatement] = {}  # by slot and key as stated
        self._contradictions: list[Contradiction] = []

    def settled(self, statements: Sequence[SlotStatement]) -> Settled:
        for stated in sorted(statements, key=_as_asked):
            self._settle(stated, self._decisions.facts.get(stated.place, FactDecision()))
        gone = {fact.uuid for fact in self._expired}
        stays = [fact for fact in self._view.facts if fact.uuid not in gone]
        facts = (*stays, *(fact for fact in self._renewed.values() if fact.uuid not in gone))
        view = replace(self._view, facts=facts)
        contradictions = [*self._contradictions, *exclusions(self._settled, view)]
        return Settled(self._settled, contradictions, view, tuple(self._expired))

    def _settle(self, stated: SlotStatement, decision: FactDecision) -> None:
        entry = stated
        judged = [(each, found) for each in decision.contradicts if (found := self._find(each.ref))]
        repeated = decision.duplicate and self._find(decision.duplicate)
        if stated.statement.wording.polarity is Polarity.ENDS:
            ended = [
                found
                for each, found in judged
                if each.verdict is Verdict.REPLACED and not (stated.is_past and found[1].is_property)
            ]
            entry = self._as_end(stated, [*ended, *([repeated] if repeated else [])])
        elif repeated and decision.same is Verdict.GOES_ON and self._is_end(decision.duplicate, repeated[1]):
            entry = _going_on(stated, *repeated)
        elif repeated and decision.duplicate and decision.same is Verdict.GOES_ON and stated.statement.closed:
            entry = _going_on(stated, *repeated)  # until another time: the words that tell it take turns
            judged.append((Judged(decision.duplicate, Verdict.REPLACED), repeated))
        elif repeated and decision.duplicate and not self._only_ended(decision.duplicate):
            if decision.same is Verdict.REWORDS:
                repeated = self._in_fuller_words(decision.duplicate, stated) or repeated
            entry = _rewritten(stated, *repeated, LASTS if decision.same is Verdict.GOES_ON else "")
        elif newer := next((pair for pair in judged if pair[0].verdict is Verdict.NEWER), None):
            entry = _outdated(stated, newer[0].since_ms, self._start_of(newer[0].ref))
        elif decision.by_model:
            entry = self._apart(stated, [found for _, found in judged])
        self._settled.append(entry)
        self._placed.setdefault((stated.slot, stated.statement.wording.key), entry)
        own = entry.statement
        ended_ms = own.evidence.start_ms if own.wording.polarity is Polarity.ENDS else None
        for each, (slot, wording) in judged:
            if each.verdict is Verdict.NEWER or (slot, wording.key) == (entry.slot, own.wording.key):
                continue
            uuid = each.ref.uuid if isinstance(each.ref, StoredFact) else None
            now = self._renewed[uuid].uuid if uuid in self._renewed else uuid
            at_ms = ended_ms if each.since_ms is None else each.since_ms
            # Of the same relation to the same target the new one is what comes instead.
            moves = each.verdict is Verdict.MOVED and not _same_relation(own.wording, wording)
            untrue = each.verdict is Verdict.UNTRUE or (each.verdict is Verdict.MOVED and not moves)
            key = None if uuid else wording.key
            self._contradictions.append(Contradiction(entry, slot, now, key, at_ms, untrue, moves))

    def _find(self, ref: KnownRef) -> tuple[str, EdgeWording] | None:
        if isinstance(ref, BatchFact):
            found = _in_batch(ref, self._items, self._resolved)
            placed = found and self._placed.get((found[0], found[1].key))
            return (placed.slot, placed.statement.wording) if placed else found
        fact = self._renewed.get(ref.uuid) or self._facts.get(ref.uuid)
        return None if fact is None else (fact.slot, wording_of(fact))

    def _is_end(self, ref: KnownRef | None, wording: EdgeWording) -> bool:
        """Whether all that is known of it is its end."""
        return wording.polarity is Polarity.ENDS or (ref is not None and self._only_ended(ref))

    def _only_ended(self, ref: KnownRef) -> bool:
        """Whether it is a row of an end alone: what is told of its start has other words."""
        fact = self._facts.get(ref.uuid) if isinstance(ref, StoredFact) else None
        return fact is not None and fact.start_ms == EARLIEST_MS

    def _start_of(self, ref: KnownRef) -> int | None:
        if isinstance(ref, StoredFact):
            fact = self._facts.get(ref.uuid)
            return None if fact is None else fact.start_ms
        found = self._find(ref)
        if found is None:
            return None
        place = (found[0], found[1].key)
        starts = (
            entry.statement.evidence.start_ms
            for entry in self._settled
            if (entry.slot, entry.statement.wording.key) == place
        )
        return min(starts, default=None)

    def _as_end(self, stated: SlotStatement, ended: Sequence[tuple[str, EdgeWording]]) -> SlotStatement:
        """The end in the slot of the relation that it ends, whatever that is called: then a start that comes
        to light later meets it there. What else ends with it (a role with the job) is closed by it."""
        own = stated.statement
        found = [
            each
            for each in ended
            if each[1].polarity is Polarity.ASSERTS and _ends(each[1]) == _ends(own.wording)
        ]
        same = next((wording for slot, wording in found if slot == stated.slot), None)
        if same is not None and same.is_property and not self._holds(stated.slot, own.wording):
            wording = replace(own.wording, about=same.about, judged=True)
            return replace(stated, statement=replace(own, wording=wording))
        if found and same is None:
            slot, wording = found[0]
            wording = replace(wording, polarity=Polarity.ENDS, fact=own.wording.fact)
            return replace(stated, slot=slot, statement=replace(own, wording=wording))
        sibling = _sibling(own.wording)
        if not self._holds(stated.slot, own.wording) and self._holds(_slot(sibling), own.wording):
            return replace(stated, slot=_slot(sibling), statement=replace(own, wording=sibling))
        return stated

    def _holds(self, slot: str, end: EdgeWording) -> bool:
        return any(
            fact.slot == slot and fact.polarity is Polarity.ASSERTS and wording_of(fact).about == end.about
            for fact in self._view.facts
        ) or any(
            entry.slot == slot
            and entry.statement.wording.about == end.about
            and entry.statement.wording.polarity is Polarity.ASSERTS
            for entry in self._settled
        )

    def _apart(self, stated: SlotStatement, excluded: Sequence[tuple[str, EdgeWording]]) -> SlotStatement:
        """The statement with a qualifier of its own, where something else in its slot holds beside it: no
        rule closes that without a question, since a conflict key holds one of them."""
        own = stated.statement
        if own.wording.kind is FactKind.EVENT or own.wording.polarity is not Polarity.ASSERTS:
            return stated
        judged = {(slot, wording.key) for slot, wording in excluded}
        others = {
            (fact.slot, wording_of(fact).key)
            for fact in self._facts.values()
            if fact.slot == stated.slot
            and fact.expired_ms is None
            and fact.start_ms != EARLIEST_MS  # it waits for this start, or closes nothing
            and not _ended_by(fact, own.evidence.start_ms)
        } | {(e.slot, e.statement.wording.key) for e in self._settled if e.slot == stated.slot}
        asserting = {key for _, key in others - judged if key[2] == Polarity.ASSERTS.value}
        return _beside(stated) if asserting - {own.wording.key} else stated

    def _in_fuller_words(self, ref: KnownRef, stated: SlotStatement) -> tuple[str, EdgeWording] | None:
        """Slot and words once the fuller text has taken over interval and episodes (reason `updated`)."""
        text = stated.statement.wording.fact
        if isinstance(ref, BatchFact):
            return None
        old = self._renewed.get(ref.uuid) or self._facts[ref.uuid]
        if old.asserted or normalise(old.fact) == normalise(text) or old.uuid in self._renewed:
            return None
        key = fact_key(old.slot, old.target_uuid, old.start_ms, text)
        taken = {fact.uuid for fact in self._view.facts} | {f.uuid for f in self._renewed.values()}
        said = tuple(replace(each, said=each.said or old.fact) for each in old.evidence)
        new = replace(
            old,
            uuid=mint("fact", old.group_id, key, taken),
            fact=text,
            fact_key=key,
            created_ms=self._system_ms,
            updated_ms=None,
            evidence=said,
            keywords=stated.statement.wording.keywords or old.keywords,
            original_fact=old.fact,
            previous_uuid=old.uuid,
            beliefs=(),
        )
        by_episode = stated.statement.evidence.episode_uuid
        over = expired(old, UPDATED, self._system_ms)
        self._expired.append(replace(over, expired_by_fact=new.uuid, expired_by_episode=by_episode))
        self._renewed[ref.uuid] = new
        return new.slot, wording_of(new)


def _as_asked(stated: SlotStatement) -> tuple[int, str, int]:
    """Of two of a batch the later one was compared with the earlier one (questions.in_order)."""
    episode, index = stated.place
    return stated.statement.evidence.reference_ms, episode, index


def _same_relation(one: EdgeWording, other: EdgeWording) -> bool:
    """Whether two state the same relation between the same two."""
    return (one.name, one.source_uuid, one.target_uuid) == (other.name, other.source_uuid, other.target_uuid)


def _ended_by(fact: Fact, ms: int) -> bool:
    return fact.invalid_ms is not None and fact.invalid_ms <= ms


def _other_kind(kind: FactKind) -> FactKind:
    return FactKind.STATE if kind is FactKind.FUNCTIONAL else FactKind.FUNCTIONAL


def _sibling(wording: EdgeWording) -> EdgeWording:
    """The same relation between the same two as the other kind."""
    return replace(wording, kind=_other_kind(wording.kind))


def _slot(wording: EdgeWording) -> str:
    return slot_of(wording.kind, wording.source_uuid, wording.name, wording.target_uuid, wording.qualifiers)


def _beside(entry: SlotStatement) -> SlotStatement:
    """The statement in a slot of its own, by a qualifier made of its content."""
    own = entry.statement.wording
    wording = replace(own, qualifiers={**own.qualifiers, BESIDE: digest(normalise(own.fact))})
    slot = slot_of(own.kind, own.source_uuid, own.name, own.target_uuid, wording.qualifiers)
    return replace(entry, slot=slot, statement=replace(entry.statement, wording=wording))


def _outdated(entry: SlotStatement, since_ms: int | None, newer_ms: int | None) -> SlotStatement:
    """The statement of something that no longer holds: closed when what replaced it began."""
    evidence, wording = entry.statement.evidence, entry.statement.wording
    ms = next((each for each in (since_ms, newer_ms) if each is not None), evidence.start_ms)
    if evidence.stated_valid_ms is None:  # what is still told of the past: its start is not known
        wording = replace(wording, polarity=Polarity.ENDS)
        evidence = replace(evidence, start_ms=ms, stated_valid_ms=since_ms, said=wording.fact, says=ENDED)
    else:
        evidence = replace(evidence, stated_invalid_ms=max(ms, evidence.start_ms))
    return replace(entry, statement=replace(entry.statement, wording=wording, evidence=evidence))


def _in_batch(
    ref: BatchFact, items: Sequence[BatchItem], resolved: ResolvedNames
) -> tuple[str, EdgeWording] | None:
    """Slot and words of a fact stated in a batch. None: an end is not known, or two turned out to be one."""
    source, target = resolved.by_key.get(name_key(ref.source)), resolved.by_key.get(name_key(ref.target))
    if not items or source is None or target is None:
        return None
    if source.uuid == target.uuid and ref.edge.source_ref != ref.edge.target_ref:
        return None
    entry = statement_of(items[0], 0, ref.edge, source, target)  # of any item: only the words are used
    return entry.slot, entry.statement.wording


def _going_on(entry: SlotStatement, slot: str, wording: EdgeWording) -> SlotStatement:
    """The statement that something goes on, where its end was announced: that does not come."""
    own, evidence = entry.statement.wording, entry.statement.evidence
    if own.polarity is not Polarity.ASSERTS or _ends(wording) != _ends(own):
        return entry
    wording = replace(wording, polarity=Polarity.ASSERTS, fact=own.fact)  # about what was to end
    told = replace(entry.statement, wording=wording, evidence=replace(evidence, said=own.fact, says=LASTS))
    return replace(entry, slot=slot, statement=told)


def _rewritten(entry: SlotStatement, slot: str, wording: EdgeWording, says: str = "") -> SlotStatement:
    own, evidence = entry.statement.wording, entry.statement.evidence
    if wording.polarity is not own.polarity or _ends(wording) != _ends(own):
        return entry
    if wording.key != own.key or says:
        evidence = replace(evidence, said=own.fact, says=says)
    return replace(entry, slot=slot, statement=EdgeStatement(wording, evidence))


def _ends(wording: EdgeWording) -> frozenset[str]:
    return frozenset((wording.source_uuid, wording.target_uuid))
