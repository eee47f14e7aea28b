"""What a new fact may repeat or contradict."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from kgsvc.domain.facts.slots import relation_of
from kgsvc.domain.model.extraction import ANY, FactType, Ontology
from kgsvc.domain.model.graph import EARLIEST_MS, Fact, FactKind, Polarity
from kgsvc.domain.names.meanings import specific
from kgsvc.domain.resolution.decisions import (
    KnownFact,
    KnownRef,
    StoredFact,
)
from kgsvc.domain.text import normalise, tokens

MOST = (8, 8, 8, 6, 6, 3, 2)  # facts that one fact is compared with, up to each tier of likeliness
MOST_OF_JOB = (12, 12, 12, 12, 6, 3, 2)  # where a job or membership begins or ends: much hangs on it
OFFERED_CHARS = 3_000  # of their texts
OVERLAP = 0.34  # of the distinctive words of the shorter of two facts, for them to be similar
STRONG_OVERLAP = 0.6  # where they have no end in common, or are of two relations
STATUS = "HAS_STATUS"  # by which extraction tells that something is closed, terminated or called off
COMPANIONS = 5  # facts that may change with one that has another start or value
_COMMON = frozenset(
    tokens(
        "a an and are as at be been by for from had has have he her his i in is it its of on or our she that"
        " the their they this to was we were which who will with now currently"
        " january february march april may june july august september october november december"
    )
)
# Of events after which something is no more, or not as it was.
_ENDING = re.compile(
    r"(?:^|_)(?:ABANDONED|CALLED_OFF|CANCELL?ED|CLOSED|COMPLETED|DELIVERED|DIED|DISSOLVED|ENDED|EXPIRED|FINISHED"
    r"|RETIRED|RETURNED|SCRAPPED|SOLD|STOPPED|SUBMITTED|TERMINATED|WITHDR[AE]WN?)(?:_|$)"
)
_JOB = re.compile(r"(?:^|_)(?:WORK|EMPLOY|MEMBER|JOB|HIRED|JOIN|BELONG|STUD|SERV)")
_NO_WORD = re.compile("(?:19|20)[0-9]{2}|[^\x00-\x7f]")


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
    stated_ms: int | None = None
    about: frozenset[str] = frozenset()  # words of its target's name; of a property its own
    over_ms: int | None = None  # when it was superseded, by what is known now

    @property
    def announced(self) -> bool:
        """Whether it was told before it began."""
        return self.valid_ms is not None and self.stated_ms is not None and self.valid_ms > self.stated_ms

    def is_over(self, ms: int | None) -> bool:
        """Whether it was superseded by then."""
        return self.over_ms is not None and (ms is None or self.over_ms <= ms)

    @property
    def is_property(self) -> bool:
        """Whether it is about one thing alone, as far as is known."""
        return bool(self.sources & self.targets)

    @property
    def sure(self) -> frozenset[str]:
        """Its ends of which it is known what they mean."""
        return frozenset[str]().union(*(ends for ends in (self.sources, self.targets) if len(ends) == 1))

    @property
    def number(self) -> str:
        """Equal for what is offered once."""
        return repr(self.ref)

    def known(self, idx: int) -> KnownFact:
        """As it is shown. Of what only an end is known, that: its words may say so or tell what held."""
        if self.valid_ms is None and self.stated_ms is None and self.invalid_ms is not None:
            return KnownFact(idx, self.text, self.relation, self.invalid_ms, polarity=Polarity.ENDS)
        return KnownFact(
            idx, self.text, self.relation, self.valid_ms, self.invalid_ms, self.stated_ms, self.polarity
        )


def exact(new: ComparedFact, before: Sequence[ComparedFact]) -> ComparedFact | None:
    """The known fact that says the same of the same two in the same words."""
    return next(
        (
            old
            for old in before
            if old.polarity is new.polarity
            and _same_ends(old, new)
            and normalise(old.text) == normalise(new.text)
        ),
        None,
    )


def compared(new: ComparedFact, before: Sequence[ComparedFact]) -> list[ComparedFact]:
    """Known facts that a new one may repeat, end, correct or be outdated by, the likeliest first.

    Those of its slot and between the same two come first; then the same relation of its source, and what
    hangs on a relation that ends, then of its target (a head: another source); then what allows one target
    only, for a target of its type; then similar words of either end; last another value of the same thing,
    and similar words of the same relation. Of equally likely ones those surely about the same come before
    those about what a name may mean. The further down, the fewer: MOST. `before` is ordered by time, the
    latest first, and so are equals. What was announced with a start that moves is added.
    """
    ranked: list[tuple[int, bool, float, ComparedFact]] = []
    sure = new.sure
    for old in before:
        overlap = _overlap(old, new)
        if (tier := _tier(old, new, overlap)) is not None:
            ranked.append((tier, sure.isdisjoint(old.sure), -overlap, old))
    found: list[ComparedFact] = []
    most, room = MOST_OF_JOB if _is_job(new) else MOST, OFFERED_CHARS
    for tier, _, _, old in sorted(ranked, key=lambda each: each[:3]):
        room -= len(old.text)
        if len(found) >= most[tier] or (room < 0 and found):
            break
        found.append(old)
    return [*found, *_companions(new, found, before)]


def _companions(
    new: ComparedFact, found: Sequence[ComparedFact], before: Sequence[ComparedFact]
) -> list[ComparedFact]:
    """What may change with a fact of `found` that has another start or value now: where a job begins later,
    what was announced of the same source for the same instant (its role, its salary); where a trip is put
    off, what else names its day."""
    if new.polarity is not Polarity.ASSERTS:
        return []
    former = [old for old in found if old.relation == new.relation and old.sources & new.sources]
    starts = {old.valid_ms for old in former if old.announced} - {new.valid_ms}
    values = [old.words for old in former if FactKind.FUNCTIONAL is old.kind is new.kind]
    figures = {word for words in values for word in words - new.words if word.isdigit()}
    moved = starts if new.valid_ms is not None else set[int | None]()
    if not moved and not figures:
        return []
    lasting = (old for old in before if old.kind is not FactKind.EVENT)
    near = (old for old in lasting if not new.sources.isdisjoint(old.sources | old.targets))
    changing = (old for old in near if (old.announced and old.valid_ms in moved) or old.words & figures)
    numbers = {old.number for old in found}
    return list(islice((old for old in changing if old.number not in numbers), COMPANIONS))


def _tier(old: ComparedFact, new: ComparedFact, overlap: float) -> int | None:
    if old.slot == new.slot and new.slot:
        return 0
    if old.relation != new.relation and old.sources & old.targets & new.sources & new.targets:
        return _tier_of_values(old, new, overlap)
    if _same_ends(old, new):
        return 0
    if old.relation == new.relation and old.sources & new.sources:
        return 1
    lasting = FactKind.EVENT not in (old.kind, new.kind)
    if old.relation == new.relation and old.targets & new.targets and lasting and not _is_job(new):
        return 2
    return _tier_of_neighbours(old, new, overlap)


def _tier_of_values(old: ComparedFact, new: ComparedFact, overlap: float) -> int | None:
    """Two facts of one thing, each from the thing to itself. Its price says nothing of its title, but a date
    may be told once as its deadline and once as the day that it is due, and what is called off has none."""
    if overlap >= OVERLAP:
        return 4
    may_end = _may_end(new) or new.polarity is not Polarity.ASSERTS
    return 5 if may_end and old.kind is not FactKind.EVENT else None


def _tier_of_neighbours(old: ComparedFact, new: ComparedFact, overlap: float) -> int | None:
    ends = new.polarity is not Polarity.ASSERTS
    if not (old.sources | old.targets) & (new.sources | new.targets):
        return 6 if old.relation == new.relation and overlap >= STRONG_OVERLAP else None
    may_end = _may_end(new)
    lasts = new.kind is not FactKind.EVENT or may_end
    lasting = lasts and old.kind is not FactKind.EVENT and old.polarity is Polarity.ASSERTS
    if lasting:
        if _hangs_on(old, new):
            return 1
        in_place = bool(old.sources & new.sources) and _takes_its_place(new, old)
        with_job = _goes_with_a_job(old, new) and _is_job(new)
        over = may_end and bool((old.sources | old.targets) & new.sources) and not old.is_property
        if in_place or with_job or over:
            return 3
    # Of two relations nearly none was ever found to touch the other, unless that ends or they say much alike.
    if overlap >= (OVERLAP if ends else STRONG_OVERLAP):
        return 4
    return 5 if lasting and ends and old.sources & new.sources else None


def _may_end(new: ComparedFact) -> bool:
    """Whether it may tell by its relation that something is over: a status, "was called off", "was sold"."""
    event = new.kind is FactKind.EVENT and _ENDING.search(new.relation) is not None
    return new.relation == STATUS or event


def _hangs_on(old: ComparedFact, new: ComparedFact) -> bool:
    """Whether `new` tells of the end of a relation whose target is named in `old`: the role at a firm that
    somebody leaves, the way to a lesson that is given up."""
    if new.polarity is not Polarity.ENDS or new.sources.isdisjoint(old.sources | old.targets):
        return False
    return not new.about.isdisjoint(tokens(old.text))


def _is_job(new: ComparedFact) -> bool:
    """Whether it tells of the beginning or end of a job or membership."""
    changes = new.polarity is Polarity.ENDS or new.kind is FactKind.FUNCTIONAL
    return changes and not new.is_property and _JOB.search(new.relation) is not None


def _goes_with_a_job(old: ComparedFact, new: ComparedFact) -> bool:
    """Whether it may change with the job: role, team and boss of the person, and whatever that leads."""
    if not (old.sources | old.targets) & new.sources:
        return False
    personal = old.is_property or bool(old.targets & new.sources) or "Person" in old.types
    return (personal and old.kind is FactKind.FUNCTIONAL) or _JOB.search(old.relation) is not None


def _overlap(one: ComparedFact, other: ComparedFact) -> float:
    shorter = min(len(one.words), len(other.words))
    return len(one.words & other.words) / shorter if shorter else 0.0


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
        None if fact.reference_ms == EARLIEST_MS else fact.reference_ms,
        over_ms=None if fact.expired_ms is None else fact.invalid_ms,
    )


def distinctive_words(text: str, *names: str) -> frozenset[str]:
    """The words of a fact that tell it apart: without its ends' names, plain words, single CJK letters and
    dates but for the day: half of all facts are of one year."""
    words = frozenset(tokens(text)).difference(_COMMON, *(tokens(name) for name in names))
    return frozenset(word for word in words if not _NO_WORD.fullmatch(word))


def _takes_its_place(new: ComparedFact, old: ComparedFact) -> bool:
    """Whether one of the two allows one target only and their targets are of a type: a new employer, under
    whatever relation, may replace the old one. What is said of one thing alone has no target."""
    functional = FactKind.FUNCTIONAL in (new.kind, old.kind)
    return functional and bool(new.types & old.types) and not (new.is_property or old.is_property)


def _same_ends(one: ComparedFact, other: ComparedFact) -> bool:
    return bool(
        (one.sources & other.sources and one.targets & other.targets)
        or (one.sources & other.targets and one.targets & other.sources)
    )


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
