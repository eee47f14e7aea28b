"""Statements about one slot, what ends them from outside, and the rows that they make."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from kgsvc.domain.facts.values import value_of
from kgsvc.domain.model.graph import ENDED, LASTS, Closure, Evidence, FactKind, Polarity
from kgsvc.domain.resolution.decisions import Place
from kgsvc.domain.text import normalise

Key = tuple[str, str, str]  # of a wording: normalised text, target, polarity
KEPT = 64  # statements of a row that are kept at each of its ends
_DIGITS = 6  # of sums of weights


@dataclass(frozen=True, slots=True)
class EdgeWording:
    """What a statement says, without when and who."""

    name: str
    fact: str
    source_uuid: str
    target_uuid: str
    kind: FactKind
    polarity: Polarity
    qualifiers: Mapping[str, str] = field(default_factory=dict)
    keywords: tuple[str, ...] = ()
    weight: float = 1.0
    attributes: Mapping[str, Any] = field(default_factory=dict)
    # What an end or a denial is about: the target, or of one thing alone the value ("": that of `fact`).
    about: str = ""
    judged: bool = False  # `about` is another value than the words name: a verdict says so
    # Equal for statements that are duplicates of one another when their intervals overlap.
    key: Key = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        key = (normalise(self.fact), self.target_uuid, self.polarity.value)
        object.__setattr__(self, "key", key)  # asked for many times a statement
        if not self.about:
            value = value_of(self.fact, "", self.name) if self.is_property else self.target_uuid
            object.__setattr__(self, "about", value)

    @property
    def is_property(self) -> bool:
        """Whether it is about one thing alone: a value, in words."""
        return self.source_uuid == self.target_uuid

    @property
    def as_held(self) -> EdgeWording:
        """Of an end: the relation itself."""
        return replace(self, polarity=Polarity.ASSERTS)


Order = tuple[int, bool, int, bool, int, int]


@dataclass(frozen=True, slots=True)
class EdgeStatement:
    """One episode's wording for a slot, with its evidence. `asserted`: a caller's own."""

    wording: EdgeWording
    evidence: Evidence
    asserted: bool = False

    @property
    def order(self) -> Order:
        """Which of two conflicting statements is current: the greater. At the same times the one accepted
        later is, of one call that which stands later in it; of equal ones that of the lower episode uuid,
        of one episode the later in its extraction (`fold` sees to both)."""
        negates = self.wording.polarity is not Polarity.ASSERTS
        e = self.evidence
        return (e.start_ms, self.asserted, e.reference_ms, negates, e.accepted_ms, e.sequence)

    @property
    def announced(self) -> bool:
        """Whether it was told before it came."""
        return self.evidence.start_ms > self.evidence.reference_ms

    @property
    def closed(self) -> bool:
        """Whether it states an end."""
        return self.evidence.stated_invalid_ms is not None

    @property
    def ends_later(self) -> bool:
        """Whether it states an end that was to come when it was told."""
        end_ms = self.evidence.stated_invalid_ms
        return end_ms is not None and end_ms > self.evidence.reference_ms


@dataclass(frozen=True, slots=True)
class Ending:
    """A closure for the row that says `key` (EdgeWording.key)."""

    key: Key
    closure: Closure

    @property
    def order(self) -> Order:
        """Before statements of the same start and reference time: those are left alone."""
        return (self.closure.at_ms, False, self.closure.reference_ms, False, -1, 0)


@dataclass(slots=True)
class Row:
    """An interval in which one wording holds. `closed_by` is what contradicted it: a statement of its slot,
    the evidence of its end or a closure; `closures` are all that name it, whether they or something earlier
    closed it."""

    wording: EdgeWording
    start_ms: int
    evidence: list[Evidence]
    stated_end_ms: int | None = None
    closed_ms: int | None = None
    closed_by: Row | Evidence | Closure | None = None
    closed_by_episode: str | None = None
    closures: list[Closure] = field(default_factory=list)
    asserted: bool = False  # a caller's own: what is told later of its end stands beside it
    withdrawn_by: EdgeStatement | Closure | None = None  # it never held
    ended_by: Evidence | None = None  # of what was told of its end, that which counts
    _joined: set[Evidence] = field(default_factory=set, repr=False, compare=False)

    def __post_init__(self) -> None:
        self._joined.update(self.evidence)
        if self.stated_end_ms is not None:
            self.ended_by = self.evidence[0]

    @property
    def end_ms(self) -> int | None:
        """When it ceased to hold, None: it still does."""
        return self.stated_end_ms if self.closed_ms is None else self.closed_ms

    def holds_at(self, ms: int) -> bool:
        """Whether `ms`, not before its start, lies in the interval."""
        return self.end_ms is None or ms < self.end_ms

    def join(self, evidence: Evidence) -> None:
        """Another statement of the same; the latest stated end counts."""
        if self.take(evidence) and evidence.stated_invalid_ms is not None:
            self.stated_end_ms, self.ended_by = evidence.stated_invalid_ms, evidence

    def take(self, evidence: Evidence) -> bool:
        """Hold a statement; False if it is there already."""
        if evidence in self._joined:
            return False
        self._joined.add(evidence)
        self.evidence.append(evidence)
        return True

    def close(self, at_ms: int, by: Row | Evidence | Closure, episode: str) -> None:
        """It ceases to hold at `at_ms`."""
        self.closed_ms, self.closed_by, self.closed_by_episode = at_ms, by, episode

    def reopen(self) -> None:
        """The same words at the same instant, with a contradiction sorted in between: it stands again."""
        self.closed_ms = self.closed_by = self.closed_by_episode = None


def thinned(evidence: Sequence[Evidence], weight: float) -> tuple[Evidence, ...]:
    """What is kept of a row's statements, given in order: the first, the last and those that state an end; of
    ends told for one time the first and the last, of announcements of one start the first. The others are
    counted, with what they weigh, `weight` where none is recorded: weights are summed."""
    if len(evidence) <= 2 * KEPT:
        return tuple(evidence)
    between = [e for e in evidence[KEPT:-KEPT] if e.stated_invalid_ms is not None or e.says == LASTS]
    ends: dict[int | None, list[Evidence]] = {}
    starts: dict[int, Evidence] = {}
    for each in evidence[KEPT:-KEPT]:
        if each.stated_invalid_ms is None and not each.says and each.start_ms > each.reference_ms:
            starts.setdefault(each.start_ms, each)
        elif each.says == ENDED:
            known = ends.setdefault(each.stated_valid_ms, [])
            known[1:] = [each]
    between += [*starts.values(), *(each for known in ends.values() for each in known)]
    known_still = set(between)
    left_out = [e for e in evidence[KEPT:-KEPT] if e not in known_still]
    return (
        *evidence[: KEPT - 1],
        _carrying(evidence[KEPT - 1], left_out, weight),
        *sorted(between),
        *evidence[-KEPT:],
    )


def _carrying(kept: Evidence, left_out: Sequence[Evidence], weight: float) -> Evidence:
    """A statement that also counts those left out."""
    weighed = sum((weight if e.weight is None else e.weight) + e.thinned_weight for e in left_out)
    return replace(
        kept,
        thinned=kept.thinned + sum(1 + e.thinned for e in left_out),
        thinned_weight=round(kept.thinned_weight + weighed, _DIGITS),
    )


def without(evidence: Sequence[Evidence], episode_uuid: str) -> tuple[Evidence, ...]:
    """The statements of other episodes; the first of them goes on counting what the others counted."""
    left = tuple(e for e in evidence if e.episode_uuid != episode_uuid)
    counted = [e for e in evidence if e.episode_uuid == episode_uuid and e.thinned]
    if not left or not counted:
        return left
    more, weight = sum(e.thinned for e in counted), sum(e.thinned_weight for e in counted)
    first = left[0]
    weight = round(first.thinned_weight + weight, _DIGITS)
    return (replace(first, thinned=first.thinned + more, thinned_weight=weight), *left[1:])


@dataclass(frozen=True, slots=True)
class SlotStatement:
    """A statement with the slot it belongs to and when its item was accepted."""

    slot: str
    statement: EdgeStatement
    accepted_ms: int
    index: int = -1  # of the edge in its extraction
    is_past: bool = False  # an end, told as what once was so

    @property
    def place(self) -> Place:
        """Which edge of the batch says so."""
        return (self.statement.evidence.episode_uuid, self.index)


class SlotStarts:
    """Statements of one slot with the starts that they have by now, and their evidence as it was told.

    - What is told again of an announced start before it comes, without a date ("Ann will be my boss"), holds
      from that start and not from when it was told.
    - A start may have been found to move with another: the role, the salary and the boss of a job that begins
      a week later. The statements stay as they were told; the finding, kept on the fact, says when it begins.
    """

    def __init__(self, moves: Iterable[Ending]) -> None:
        self._moves: defaultdict[Key, list[Closure]] = defaultdict(list)
        for each in moves:
            self._moves[each.key].append(each.closure)
        for closures in self._moves.values():
            closures.sort(key=lambda closure: (closure.reference_ms, closure))
        self._told: dict[tuple[Key, Evidence], Evidence] = {}

    def moved(self, statements: Iterable[EdgeStatement]) -> list[EdgeStatement]:
        """The statements, those whose announced start moves with the start found last."""
        return [self._moved(each) for each in statements] if self._moves else list(statements)

    def _moved(self, each: EdgeStatement) -> EdgeStatement:
        by, told = self._moves.get(each.wording.key, [])[-1:], each.evidence
        announced = each.announced and not (each.asserted or told.says)
        if not by or not announced or by[0].reference_ms < told.reference_ms:
            return each
        return self._beginning(each, by[0].at_ms)

    def awaited(self, statements: Sequence[EdgeStatement]) -> list[EdgeStatement]:
        """The statements, those told before an announced start, without a date, with that start."""
        announced: defaultdict[Key, list[tuple[int, int]]] = defaultdict(list)
        for each in statements:
            if each.announced and each.wording.polarity is Polarity.ASSERTS:
                announced[each.wording.key].append((each.evidence.reference_ms, each.evidence.start_ms))
        for starts in announced.values():
            starts.sort()
        found: list[EdgeStatement] = []
        for each in statements:
            told_ms, starts = each.evidence.reference_ms, announced.get(each.wording.key, [])
            before = bisect_left(starts, (told_ms + 1,)) if starts and _is_undated(each) else 0
            awaits = before > 0 and starts[before - 1][1] > told_ms
            found.append(self._beginning(each, starts[before - 1][1]) if awaits else each)
        return found

    def _beginning(self, each: EdgeStatement, start_ms: int) -> EdgeStatement:
        """The statement with another start. An end that would come before it moves along."""
        told = each.evidence
        end_ms = told.stated_invalid_ms
        if end_ms is not None and end_ms <= start_ms:
            end_ms += start_ms - told.start_ms
        evidence = replace(told, start_ms=start_ms, stated_invalid_ms=end_ms)
        self._told[each.wording.key, evidence] = told
        return replace(each, evidence=evidence)

    def as_told(self, rows: list[Row]) -> list[Row]:
        """The rows, with their evidence as it was told, and with what moves the starts of their words: it
        also counts for what arrives later and was told before."""
        for row in rows if self._told or self._moves else ():
            key = row.wording.key
            row.closures.extend(self._moves.get(key, ()))
            row.evidence = [self._told.get((key, each), each) for each in row.evidence]
        return rows


def _is_undated(each: EdgeStatement) -> bool:
    dated = each.evidence.stated_valid_ms is not None or each.closed or each.evidence.says or each.asserted
    return not dated and each.wording.polarity is Polarity.ASSERTS
