"""What leaving something ends beside membership: who leaves Oracle may work, study or be assigned there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter

from kgsvc.domain.facts.plan import MOST_ENDED, Contradiction
from kgsvc.domain.facts.slots import follows, relation_of, statements_behind
from kgsvc.domain.facts.statements import EdgeStatement, EdgeWording, Key, SlotStatement
from kgsvc.domain.model.delta import SlotView
from kgsvc.domain.model.graph import Fact, FactKind, Polarity
from kgsvc.domain.model.keys import slot_of

_LEFT = "MEMBER_OF"
_ALSO_ENDS = ("WORKS_AT", "STUDIES_AT", "ASSIGNED_TO", "WORKS_ON")
_KINDS = (FactKind.FUNCTIONAL, FactKind.STATE)


@dataclass(frozen=True, slots=True)
class _Start:
    """Since when a slot says something about a target."""

    slot: str
    key: Key
    about: str
    ms: int


def slots_beside(entry: SlotStatement) -> list[str]:
    """The slots to read before `leavings`: the end may be told before what it ends, or after it."""
    wording = entry.statement.wording
    if _is_leaving(wording):
        return _slots(wording, _ALSO_ENDS)
    begins = wording.polarity is Polarity.ASSERTS and wording.name in _ALSO_ENDS
    return _slots(wording, (_LEFT,)) if begins else []


def leavings(settled: Sequence[SlotStatement], view: SlotView) -> list[Contradiction]:
    """What is ended by who left, where the end or the start is among `settled`: all that had begun before.
    Who left may come back, so what begins later stays."""
    told = [end for end in settled if _is_leaving(end.statement.wording)]
    begun = [start for entry in settled for start in _start(entry.slot, entry.statement)]
    found = [(end, start) for end in told for start in _ended([*begun, *_starts_in(view)], end)]
    known = sorted(_ends_in(view), key=lambda end: end.statement.evidence)
    for start in begun:
        ends = [end for end in known if start in _ended([start], end)]
        found.extend((end, start) for end in ends[:MOST_ENDED])
    # A start may be told many times, and each episode ends a few things at most: the order counts.
    pairs = {(end.statement.evidence, start.slot, start.key): end for end, start in found}
    return [
        Contradiction(end, slot, key=key, at_ms=evidence.start_ms)
        for (evidence, slot, key), end in sorted(pairs.items(), key=itemgetter(0))
    ]


def _ended(starts: Iterable[_Start], end: SlotStatement) -> list[_Start]:
    wording, slots = end.statement.wording, set(_slots(end.statement.wording, _ALSO_ENDS))
    before_ms = end.statement.evidence.start_ms
    return [s for s in starts if s.slot in slots and s.about == wording.about and s.ms < before_ms]


def _start(slot: str, statement: EdgeStatement) -> Iterator[_Start]:
    """What the statement begins. What a caller asserted is ended by callers alone."""
    wording = statement.wording
    if wording.polarity is Polarity.ASSERTS and wording.name in _ALSO_ENDS and not statement.asserted:
        yield _Start(slot, wording.key, wording.about, statement.evidence.start_ms)


def _starts_in(view: SlotView) -> Iterator[_Start]:
    for fact, statement in _stored(view):
        yield from _start(fact.slot, statement)


def _ends_in(view: SlotView) -> Iterator[SlotStatement]:
    for fact, statement in _stored(view):
        if _is_leaving(statement.wording):
            evidence = statement.evidence
            yield SlotStatement(fact.slot, statement, evidence.accepted_ms, evidence.index)


def _stored(view: SlotView) -> Iterator[tuple[Fact, EdgeStatement]]:
    for fact in view.facts:
        if follows(fact) and relation_of(fact) in (_LEFT, *_ALSO_ENDS):
            yield from ((fact, statement) for statement in statements_behind(fact))


def _is_leaving(wording: EdgeWording) -> bool:
    return wording.polarity is Polarity.ENDS and wording.name == _LEFT


def _slots(wording: EdgeWording, names: Sequence[str]) -> list[str]:
    """The slots of these relations between the two of `wording`, of either kind."""
    source, target, qualifiers = wording.source_uuid, wording.target_uuid, wording.qualifiers
    return [slot_of(kind, source, name, target, qualifiers) for name in names for kind in _KINDS]
