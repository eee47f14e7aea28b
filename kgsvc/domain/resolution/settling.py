"""Statements of a batch in the light of what was decided: duplicates take the words of what they repeat."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from kgsvc.domain.facts.contradictions import Contradiction, SlotStatement
from kgsvc.domain.facts.plan import statement_of, wording_of
from kgsvc.domain.facts.timeline import Statement, Wording
from kgsvc.domain.model.delta import SlotView
from kgsvc.domain.model.graph import Fact
from kgsvc.domain.model.identity import name_key
from kgsvc.domain.names.entities import BatchItem, Resolved
from kgsvc.domain.resolution.decisions import Decisions, KnownRef, StoredFact

Told = tuple[str, Wording]  # slot and words


def slots_of(
    items: Sequence[BatchItem], statements: Iterable[SlotStatement], decisions: Decisions, resolved: Resolved
) -> set[str]:
    """The slots to read before `settle`."""
    told = _Told(items, resolved)
    slots = {entry.slot for entry in statements} | decisions.slots
    for decision in decisions.facts.values():
        for ref in (decision.duplicate, *decision.contradicts):
            found = None if ref is None or isinstance(ref, StoredFact) else told.words(ref)
            slots |= set() if found is None else {found[0]}
    return slots


def settle(
    items: Sequence[BatchItem],
    statements: Sequence[SlotStatement],
    decisions: Decisions,
    resolved: Resolved,
    view: SlotView,
) -> tuple[list[SlotStatement], list[Contradiction]]:
    """The statements with duplicates rewritten into the slots and words of what they repeat, their own times
    kept; and what they contradict. Decisions about facts that are gone or expired, or whose ends turned out
    to be others, count for nothing."""
    told = _Told(items, resolved)
    facts = {fact.uuid: fact for fact in view.facts}
    settled = {entry.place: _rewritten(entry, decisions, told, facts) for entry in statements}
    found: list[Contradiction] = []
    for entry in settled.values():
        decision = decisions.facts.get(entry.place)
        for ref in decision.contradicts if decision else ():
            found.extend(_contradiction(entry, ref, told, facts))
    return list(settled.values()), found


class _Told:
    """Words of facts that episodes of a batch told."""

    def __init__(self, items: Sequence[BatchItem], resolved: Resolved) -> None:
        self._some_item = items[0] if items else None
        self._by_key = resolved.by_key

    def words(self, ref: KnownRef) -> Told | None:
        """None: one of its ends is not known, or both are the same."""
        if isinstance(ref, StoredFact) or self._some_item is None:
            return None
        source, target = self._by_key.get(name_key(ref.source)), self._by_key.get(name_key(ref.target))
        if source is None or target is None or source.uuid == target.uuid:
            return None
        entry = statement_of(self._some_item, 0, ref.edge, source, target)
        return entry.slot, entry.statement.wording


def _rewritten(
    entry: SlotStatement, decisions: Decisions, told: _Told, facts: Mapping[str, Fact]
) -> SlotStatement:
    decision = decisions.facts.get(entry.place)
    if decision is None or decision.duplicate is None:
        return entry
    found = _words(decision.duplicate, told, facts)
    said = entry.statement.wording
    if found is None or found[1].polarity is not said.polarity or _ends(found[1]) != _ends(said):
        return entry
    evidence = entry.statement.evidence
    if found[1].key != said.key:
        evidence = replace(evidence, said=said.fact)
    return replace(entry, slot=found[0], statement=Statement(found[1], evidence))


def _words(ref: KnownRef, told: _Told, facts: Mapping[str, Fact]) -> Told | None:
    if not isinstance(ref, StoredFact):
        return told.words(ref)
    fact = facts.get(ref.uuid)
    return None if fact is None or fact.expired_ms is not None else (fact.slot, wording_of(fact))


def _ends(wording: Wording) -> frozenset[str]:
    return frozenset((wording.source_uuid, wording.target_uuid))


def _contradiction(
    entry: SlotStatement, ref: KnownRef, told: _Told, facts: Mapping[str, Fact]
) -> Iterable[Contradiction]:
    found = _words(ref, told, facts)
    if found is None or found == (entry.slot, entry.statement.wording):
        return
    slot, wording = found
    if isinstance(ref, StoredFact):
        yield Contradiction(entry, slot, uuid=ref.uuid)
    else:
        yield Contradiction(entry, slot, key=wording.key)
