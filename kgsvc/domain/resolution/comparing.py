"""What a new fact may repeat or make untrue, among those that are known or told before (spec 002)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from kgsvc.domain.facts.plan import relation_of
from kgsvc.domain.model.graph import Fact, FactKind, Polarity
from kgsvc.domain.model.ontology import ANY, UNKNOWN, FactType, Ontology
from kgsvc.domain.names.entities import BatchItem
from kgsvc.domain.resolution.decisions import Decisions, KnownRef, StoredFact
from kgsvc.domain.resolution.types import KnownFact
from kgsvc.domain.text import normalise, tokens

OFFERED = 8  # facts that one fact is compared with: as many to repeat and as many to contradict
OVERLAP = 0.34  # of the telling words of the shorter of two facts, for them to be similar
_PLAIN = frozenset(
    tokens(
        "a an and are as at be been by for from had has have he her his i in is it its of on or our she that"
        " the their they this to was we were which who will with now currently"
    )
)


@dataclass(frozen=True, slots=True)
class Told:
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
    """What a fact may repeat and what it may contradict, the best matches first; or else its very words."""

    repeated: list[Told]
    contradicted: list[Told]
    exact: Told | None = None


def compared(said: Told, before: Sequence[Told]) -> Comparison:
    """A new fact beside those known before."""
    between = [told for told in before if _same_ends(told, said)]
    alike = [told for told in between if told.polarity is said.polarity]
    exact = next((told for told in alike if normalise(told.text) == normalise(said.text)), None)
    untrue = [] if exact else _untrue(said, before, between)
    return Comparison(alike[:OFFERED], untrue[:OFFERED], exact)


def _untrue(said: Told, before: Sequence[Told], between: Sequence[Told]) -> list[Told]:
    doubtful = [
        told
        for told in before
        if told.sources & said.sources
        and told.kind is not FactKind.EVENT
        and not told.asserted
        and (told.slot != said.slot or not said.slot or told in between)  # else its slot's rules decide
    ]
    if said.polarity is not Polarity.ASSERTS:  # an end may go by another relation than what it ends
        asserted = [told for told in doubtful if told in between and told.polarity is Polarity.ASSERTS]
        return [told for told in asserted if told.slot != said.slot or not said.slot]
    likely: list[Told] = []
    kin: list[Told] = []
    for told in doubtful:
        if told in between or told.relation == said.relation or _similar(told, said):
            likely.append(told)
        elif _takes_its_place(said, told):
            kin.append(told)
    return likely + kin


def stored(fact: Fact, labels: Mapping[str, Sequence[str]]) -> Told:
    """A fact of the graph; `labels` are those of targets, by uuid."""
    return Told(
        StoredFact(fact.uuid, fact.slot),
        fact.fact,
        relation_of(fact),
        fact.kind,
        fact.polarity,
        frozenset({fact.source_uuid}),
        frozenset({fact.target_uuid}),
        telling_words(fact.fact, fact.source_name, fact.target_name),
        fact.slot,
        specific(labels.get(fact.target_uuid, ())),
        fact.asserted,
        fact.valid_ms,
        fact.invalid_ms,
    )


def telling_words(text: str, *names: str) -> frozenset[str]:
    """The telling words of a fact: without its ends' names and plain words."""
    return frozenset(tokens(text)).difference(_PLAIN, *(tokens(name) for name in names))


def _similar(one: Told, other: Told) -> bool:
    return len(one.words & other.words) >= max(1.0, OVERLAP * min(len(one.words), len(other.words)))


def _takes_its_place(new: Told, old: Told) -> bool:
    """Whether one of the two has room for one target only and their targets are things of a kind: a new
    employer under whatever relation may be instead of the old one."""
    kinds = {new.kind, old.kind}
    return (
        FactKind.FUNCTIONAL in kinds
        and FactKind.EVENT not in kinds
        and old.polarity is Polarity.ASSERTS
        and bool(new.types & old.types)
    )


def _same_ends(one: Told, other: Told) -> bool:
    return bool(
        (one.sources & other.sources and one.targets & other.targets)
        or (one.sources & other.targets and one.targets & other.sources)
    )


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
