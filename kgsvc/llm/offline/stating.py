"""What copulas and other verbs share: a clause with what it is about, and how it becomes a statement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kgsvc.domain.model import FactKind, Polarity
from kgsvc.llm.offline.clauses import Argument, Clause
from kgsvc.llm.offline.reading import Reading
from kgsvc.llm.offline.referents import Referent, referent
from kgsvc.llm.offline.relations import BY_NAME, ENDING
from kgsvc.llm.offline.scene import Draft
from kgsvc.llm.offline.times import Time

PLANS = "PLANS"
_STATIVE = (FactKind.STATE, FactKind.FUNCTIONAL)


@dataclass(frozen=True, slots=True)
class Statement:
    """A fact about two nodes, not yet in words. `tail` is the argument that it is about, if the clause has
    several ("likes tea and coffee" gives two facts)."""

    name: str
    kind: FactKind
    source: Draft
    target: Draft
    polarity: Polarity = Polarity.ASSERTS
    valid_ms: int | None = None
    invalid_ms: int | None = None
    keywords: tuple[str, ...] = ()
    weight: float = 1.0
    tail: Argument | None = None


class Stated:
    """A clause, what its subject and arguments stand for, and the times that belong to it."""

    def __init__(self, reading: Reading, clause: Clause, subject: Referent, times: Sequence[Time]) -> None:
        self.reading, self.clause, self.subject, self.times = reading, clause, subject, times
        self.scene, self.verb = reading.scene, clause.verb
        self.found: list[tuple[Argument, Referent]] = [
            (argument, referent(reading, argument.phrase)) for argument in clause.arguments
        ]

    def source(self) -> Draft | None:
        """The subject as a node: something named or somebody's; a plain topic only in prose."""
        subject, scene = self.subject, self.scene
        if subject.named is None and subject.owner is None and scene.speaker is not None:
            return None
        if subject.part and subject.owner is not None:
            return scene.node(f"{subject.owner.name}'s {subject.head}"[: scene.limits.name], "Topic")
        source = subject.node(scene)
        if source is not None and source.type == "Person" and subject.named is None:
            scene.recall(source)  # "my sister …. She …"
        return source

    def statement(
        self,
        name: str,
        kind: FactKind,
        source: Draft,
        target: Draft,
        argument: Argument | None,
        polarity: Polarity = Polarity.ASSERTS,
        onset: bool = False,
    ) -> Statement:
        """The statement with the interval that the clause's times give it."""
        relation = BY_NAME.get(name)
        valid, invalid = self._interval(name, kind, polarity, onset)
        keywords = relation.keywords if relation is not None else ()
        return Statement(name, kind, source, target, polarity, valid, invalid, keywords, tail=argument)

    def polarity(self) -> Polarity:
        """Whether the clause says that something holds, ended, or does not hold."""
        stops = bool(set(self.verb.via) & ENDING)
        if stops != self.verb.negated:
            return Polarity.ENDS if stops or self.no_longer() else Polarity.DENIES
        return Polarity.ASSERTS

    def no_longer(self) -> bool:
        """ "no longer", "not … anymore"."""
        lows = [unit.low for unit in self.reading.units[self.clause.start : self.clause.end + 4]]
        return self.verb.no_longer or "anymore" in lows or ("any" in lows and "more" in lows)

    def _interval(
        self, name: str, kind: FactKind, polarity: Polarity, onset: bool
    ) -> tuple[int | None, int | None]:
        """When the fact begins to hold and when it ceases to, as far as the clause says so."""
        reference, stative = self.scene.reference_ms, kind in _STATIVE
        past = self.verb.tense in ("past", "participle")
        now = reference if stative and (onset or not past) else None
        time = self._time()
        if time is None or name == PLANS:
            return (now if polarity is Polarity.ASSERTS else None), None
        if polarity is not Polarity.ASSERTS:
            return (None if time.role == "for" else _not_after(time.begin_ms, reference)), None
        finish = time.finish_ms if stative else None
        if time.role == "for":
            return (None if past else time.begin_ms), None
        if time.role == "range":
            return time.begin_ms, finish
        if time.role == "until":
            return now, finish
        begin = time.begin_ms if past or self.verb.tense == "perfect" else time.ahead_ms
        return (begin if stative else _not_after(begin, reference)), None

    def _time(self) -> Time | None:
        """The time that counts: the first one, durations last."""
        possible = [time for time in self.times if time.begin_ms is not None]
        return min(possible, key=lambda time: time.role == "for", default=None)


def _not_after(begin_ms: int | None, reference_ms: int) -> int | None:
    """An event to come has no beginning yet: it would be hidden as not yet valid."""
    return begin_ms if begin_ms is not None and begin_ms <= reference_ms else None
