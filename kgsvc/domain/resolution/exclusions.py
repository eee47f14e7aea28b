"""What a statement ends of other relations between the same two.

Who leaves Oracle may work, study or be assigned there; who hates chess does not like it any more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from operator import itemgetter

from kgsvc.domain.facts.plan import MOST_ENDED, Contradiction
from kgsvc.domain.facts.slots import follows, relation_of, statements_behind
from kgsvc.domain.facts.statements import EdgeStatement, EdgeWording, Key, SlotStatement
from kgsvc.domain.model.delta import SlotView
from kgsvc.domain.model.graph import Fact, FactKind, Polarity
from kgsvc.domain.model.keys import slot_of

# By relation and polarity of what is stated.
_ENDS: Mapping[tuple[str, Polarity], tuple[str, ...]] = {
    ("MEMBER_OF", Polarity.ENDS): ("WORKS_AT", "STUDIES_AT", "ASSIGNED_TO", "WORKS_ON"),
    ("LIKES", Polarity.ASSERTS): ("DISLIKES",),
    ("DISLIKES", Polarity.ASSERTS): ("LIKES",),
}
_ENDED = frozenset(name for ended in _ENDS.values() for name in ended)
_ENDED_BY = {name: tuple(by for (by, _), ended in _ENDS.items() if name in ended) for name in _ENDED}
_READ = _ENDED.union(*_ENDED_BY.values())
_KINDS = (FactKind.FUNCTIONAL, FactKind.STATE)


@dataclass(frozen=True, slots=True)
class _Start:
    """Since when a slot says something about a target."""

    slot: str
    key: Key
    about: str
    ms: int


def slots_beside(entry: SlotStatement) -> list[str]:
    """The slots to read before `exclusions`: the end may be told before what it ends, or after it."""
    wording = entry.statement.wording
    ended_by = _ENDED_BY.get(wording.name, ()) if wording.polarity is Polarity.ASSERTS else ()
    return _slots(wording, (*_ends(entry.statement), *ended_by))


def exclusions(settled: Sequence[SlotStatement], view: SlotView) -> list[Contradiction]:
    """What is ended where the end or the start is among `settled`: all that had begun before. Who left may
    come back, so what begins later stays."""
    told = _by_ended_slot(end for end in settled if _ends(end.statement))
    known = _by_ended_slot(sorted(_ends_in(view), key=lambda end: end.statement.evidence))
    begun = [start for entry in settled for start in _start(entry.slot, entry.statement)]
    found = [(end, start) for start in (*begun, *_starts_in(view)) for end in _enders(told, start)]
    for start in begun:
        found.extend((end, start) for end in islice(_enders(known, start), MOST_ENDED))
    # A start may be told many times, and each episode ends a few things at most: the order counts.
    pairs = {(end.statement.evidence, start.slot, start.key): end for end, start in found}
    return [
        Contradiction(end, slot, key=key, at_ms=evidence.start_ms)
        for (evidence, slot, key), end in sorted(pairs.items(), key=itemgetter(0))
    ]


def _by_ended_slot(ends: Iterable[SlotStatement]) -> dict[str, list[SlotStatement]]:
    """The ends by the slots in which they end something, made once for all that states one row."""
    slots: dict[str, list[str]] = {}
    found: dict[str, list[SlotStatement]] = {}
    for end in ends:
        wording = end.statement.wording
        own = f"{end.slot} {wording.target_uuid}"
        if own not in slots:
            slots[own] = _slots(wording, _ends(end.statement))
        for slot in slots[own]:
            found.setdefault(slot, []).append(end)
    return found


def _enders(ends: Mapping[str, Sequence[SlotStatement]], start: _Start) -> Iterator[SlotStatement]:
    """Those that end what a start begins."""
    for end in ends.get(start.slot, ()):
        if end.statement.wording.about == start.about and start.ms < end.statement.evidence.start_ms:
            yield end


def _start(slot: str, statement: EdgeStatement) -> Iterator[_Start]:
    """What the statement begins. What a caller asserted is ended by callers alone."""
    wording = statement.wording
    if wording.polarity is Polarity.ASSERTS and wording.name in _ENDED and not statement.asserted:
        yield _Start(slot, wording.key, wording.about, statement.evidence.start_ms)


def _starts_in(view: SlotView) -> Iterator[_Start]:
    for fact, statement in _stored(view):
        yield from _start(fact.slot, statement)


def _ends_in(view: SlotView) -> Iterator[SlotStatement]:
    for fact, statement in _stored(view):
        if _ends(statement):
            evidence = statement.evidence
            yield SlotStatement(fact.slot, statement, evidence.accepted_ms, evidence.index)


def _stored(view: SlotView) -> Iterator[tuple[Fact, EdgeStatement]]:
    for fact in view.facts:
        if follows(fact) and relation_of(fact) in _READ:
            yield from ((fact, statement) for statement in statements_behind(fact))


def _ends(statement: EdgeStatement) -> tuple[str, ...]:
    """The relations that it ends. What is told as over ends nothing."""
    wording = statement.wording
    return () if statement.closed else _ENDS.get((wording.name, wording.polarity), ())


def _slots(wording: EdgeWording, names: Sequence[str]) -> list[str]:
    """The slots of these relations between the two of `wording`, of either kind."""
    source, target, qualifiers = wording.source_uuid, wording.target_uuid, wording.qualifiers
    return [slot_of(kind, source, name, target, qualifiers) for name in names for kind in _KINDS]
