"""What a new fact may repeat or contradict (spec 002), and statements as it was decided."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from kgsvc.domain.facts.plan import relation_of, statement_of, wording_of
from kgsvc.domain.facts.timeline import Contradiction, EdgeStatement, EdgeWording, SlotStatement
from kgsvc.domain.model.delta import SlotView
from kgsvc.domain.model.extraction import ANY, UNKNOWN, FactType, Ontology
from kgsvc.domain.model.graph import Fact, FactKind, Polarity, name_key
from kgsvc.domain.names.entities import BatchItem, ResolvedNames
from kgsvc.domain.resolution.decisions import (
    BatchFact,
    Decisions,
    FactDecision,
    KnownFact,
    KnownRef,
    StoredFact,
)
from kgsvc.domain.text import normalise, tokens

OFFERED = 8  # facts that one fact is compared with: as many to repeat and as many to contradict
OVERLAP = 0.34  # of the distinctive words of the shorter of two facts, for them to be similar
_COMMON = frozenset(
    tokens(
        "a an and are as at be been by for from had has have he her his i in is it its of on or our she that"
        " the their they this to was we were which who will with now currently"
    )
)


@dataclass(frozen=True, slots=True)
class ComparedFact:
    """A fact on either side of a comparison. An end is whatever its name may mean: uuids and name keys."""

    ref: KnownRef | None  # None: the fact that is asked about
    text: str
    relation: str
    kind: FactKind
    polarity: Polarity
    sources: frozenset[str]
    targets: frozenset[str]
    words: frozenset[str]
    slot: str  # "" where an end is undecided
    types: frozenset[str]  # of the target
    asserted: bool = False
    valid_ms: int | None = None
    invalid_ms: int | None = None

    @property
    def number(self) -> str:
        """Equal for what is offered once."""
        return repr(self.ref)

    def known(self, idx: int) -> KnownFact:
        """As it is shown."""
        return KnownFact(idx, self.text, self.relation, self.valid_ms, self.invalid_ms)


@dataclass(frozen=True, slots=True)
class Comparison:
    """What a fact may repeat and what it may contradict, the best matches first; or the fact of the same
    words."""

    repeated: list[ComparedFact]
    contradicted: list[ComparedFact]
    exact: ComparedFact | None = None


def compared(new: ComparedFact, before: Sequence[ComparedFact]) -> Comparison:
    """A new fact beside those known before."""
    between = [old for old in before if _same_ends(old, new)]
    alike = [old for old in between if old.polarity is new.polarity]
    exact = next((old for old in alike if normalise(old.text) == normalise(new.text)), None)
    contradicted = [] if exact else _contradicted(new, before, between)
    return Comparison(alike[:OFFERED], contradicted[:OFFERED], exact)


def _contradicted(
    new: ComparedFact, before: Sequence[ComparedFact], between: Sequence[ComparedFact]
) -> list[ComparedFact]:
    possible = [
        old
        for old in before
        if old.sources & new.sources
        and old.kind is not FactKind.EVENT
        and not old.asserted
        and (old.slot != new.slot or not new.slot or old in between)  # else the rules of its slot decide
    ]
    if new.polarity is not Polarity.ASSERTS:  # an end may go by another relation than what it ends
        asserting = [old for old in possible if old in between and old.polarity is Polarity.ASSERTS]
        return [old for old in asserting if old.slot != new.slot or not new.slot]
    likely: list[ComparedFact] = []
    replaced: list[ComparedFact] = []
    for old in possible:
        if old in between or old.relation == new.relation or _similar(old, new):
            likely.append(old)
        elif _takes_its_place(new, old):
            replaced.append(old)
    return likely + replaced


def stored(fact: Fact, labels: Mapping[str, Sequence[str]]) -> ComparedFact:
    """A fact of the graph; `labels` are those of targets, by uuid."""
    return ComparedFact(
        StoredFact(fact.uuid, fact.slot),
        fact.fact,
        relation_of(fact),
        fact.kind,
        fact.polarity,
        frozenset({fact.source_uuid}),
        frozenset({fact.target_uuid}),
        distinctive_words(fact.fact, fact.source_name, fact.target_name),
        fact.slot,
        specific(labels.get(fact.target_uuid, ())),
        fact.asserted,
        fact.valid_ms,
        fact.invalid_ms,
    )


def distinctive_words(text: str, *names: str) -> frozenset[str]:
    """The words of a fact that tell it apart: without its ends' names and plain words."""
    return frozenset(tokens(text)).difference(_COMMON, *(tokens(name) for name in names))


def _similar(one: ComparedFact, other: ComparedFact) -> bool:
    return len(one.words & other.words) >= max(1.0, OVERLAP * min(len(one.words), len(other.words)))


def _takes_its_place(new: ComparedFact, old: ComparedFact) -> bool:
    """Whether one of the two allows one target only and their targets are of a type: a new employer, under
    whatever relation, may replace the old one."""
    kinds = {new.kind, old.kind}
    return (
        FactKind.FUNCTIONAL in kinds
        and FactKind.EVENT not in kinds
        and old.polarity is Polarity.ASSERTS
        and bool(new.types & old.types)
    )


def _same_ends(one: ComparedFact, other: ComparedFact) -> bool:
    return bool(
        (one.sources & other.sources and one.targets & other.targets)
        or (one.sources & other.targets and one.targets & other.sources)
    )


def specific(types: Collection[str]) -> frozenset[str]:
    """Those that tell kinds apart."""
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
    slots = {entry.slot for entry in statements} | decisions.slots
    for decision in decisions.facts.values():
        for ref in (decision.duplicate, *decision.contradicts):
            if isinstance(ref, BatchFact) and (place := _in_batch(ref, items, resolved)):
                slots.add(place[0])
    return slots


def settle(
    items: Sequence[BatchItem],
    statements: Sequence[SlotStatement],
    decisions: Decisions,
    resolved: ResolvedNames,
    view: SlotView,
) -> tuple[list[SlotStatement], list[Contradiction]]:
    """The statements with duplicates rewritten into the slots and words of what they repeat, their own times
    kept; and what they contradict. Decisions about facts that are gone or expired, or whose ends turned out
    to be others, count for nothing."""
    facts = {fact.uuid: fact for fact in view.facts if fact.expired_ms is None}

    def find(ref: KnownRef) -> tuple[str, EdgeWording] | None:
        if isinstance(ref, BatchFact):
            return _in_batch(ref, items, resolved)
        fact = facts.get(ref.uuid)
        return None if fact is None else (fact.slot, wording_of(fact))

    settled: list[SlotStatement] = []
    contradictions: list[Contradiction] = []
    for stated in statements:
        decision = decisions.facts.get(stated.place, FactDecision())
        repeated = decision.duplicate and find(decision.duplicate)
        entry = _rewritten(stated, *repeated) if repeated else stated
        settled.append(entry)
        for ref in decision.contradicts:
            found = find(ref)
            if found is None or found == (entry.slot, entry.statement.wording):
                continue
            stored_uuid = ref.uuid if isinstance(ref, StoredFact) else None
            key = None if stored_uuid else found[1].key
            contradictions.append(Contradiction(entry, found[0], stored_uuid, key))
    return settled, contradictions


def _in_batch(
    ref: BatchFact, items: Sequence[BatchItem], resolved: ResolvedNames
) -> tuple[str, EdgeWording] | None:
    """Slot and words of a fact stated in a batch; None: an end is not known, or both are the same."""
    source, target = resolved.by_key.get(name_key(ref.source)), resolved.by_key.get(name_key(ref.target))
    if not items or source is None or target is None or source.uuid == target.uuid:
        return None
    entry = statement_of(items[0], 0, ref.edge, source, target)  # of any item: only the words are used
    return entry.slot, entry.statement.wording


def _rewritten(entry: SlotStatement, slot: str, wording: EdgeWording) -> SlotStatement:
    own, evidence = entry.statement.wording, entry.statement.evidence
    if wording.polarity is not own.polarity or _ends(wording) != _ends(own):
        return entry
    if wording.key != own.key:
        evidence = replace(evidence, said=own.fact)
    return replace(entry, slot=slot, statement=EdgeStatement(wording, evidence))


def _ends(wording: EdgeWording) -> frozenset[str]:
    return frozenset((wording.source_uuid, wording.target_uuid))
