"""Which of the statements about one slot hold when (design §3, spec 004 §6, spec 002 edge invalidation).

The rows of a slot are a function of the set of its statements, never of their arrival: all statements, old
and new, are sorted and folded anew. An earlier statement that arrives late thereby comes out already closed.

- A statement equal in text to the open row joins it; another text closes the open row at its own start.
- What is told as closed (both ends known) stands beside what is open and closes nothing.
- The end of a relation closes the row of its target. Where no such row is known it is a row of its own, from
  an unknown start (EARLIEST_MS) to that end; a start that comes to light later joins it.
- A denial closes the row of the target it names, and stands itself until the relation is stated again.
- What was announced and then put off or called off before its time never held: its row is withdrawn.

Contradictions that a model found become endings (contradictions.py). They take part in the fold at their own
time: they close the row of their wording that holds then; the same words stated later begin a new row. One
that retracts says that what was stated until then was never true.

A row keeps a bounded part of the statements that joined it (`thinned`): what is said ten thousand times must
not cost as much with every commit. The kept ones fold to the same rows. Only a contradiction that arrives
later, with a time amid those left out, finds the row reopened at the next kept statement behind it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from kgsvc.domain.model.graph import EARLIEST_MS, ENDED, LASTS, Closure, Evidence, FactKind, Polarity
from kgsvc.domain.resolution.decisions import Place
from kgsvc.domain.text import normalise

KEPT = 64  # statements of a row that are kept at each of its ends


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
    # Equal for statements that are duplicates of one another when their intervals overlap.
    key: tuple[str, str, str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        key = (normalise(self.fact), self.target_uuid, self.polarity.value)
        object.__setattr__(self, "key", key)  # asked for many times a statement

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
        """Which of two conflicting statements is current: the greater; of equal ones that of the lower
        episode uuid (spec 004 §6)."""
        negates = self.wording.polarity is not Polarity.ASSERTS
        e = self.evidence
        return (e.start_ms, self.asserted, e.reference_ms, negates, e.accepted_ms, e.index)

    @property
    def announced(self) -> bool:
        """Whether it was told before it came."""
        return self.evidence.start_ms > self.evidence.reference_ms

    @property
    def closed(self) -> bool:
        """Whether it states an end."""
        return self.evidence.stated_invalid_ms is not None


@dataclass(frozen=True, slots=True)
class Ending:
    """A closure for the row that says `key` (EdgeWording.key)."""

    key: tuple[str, str, str]
    closure: Closure

    @property
    def order(self) -> Order:
        """Before statements of the same start and reference time: those are left alone (spec 002)."""
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
    _joined: set[Evidence] = field(default_factory=set, repr=False, compare=False)

    def __post_init__(self) -> None:
        self._joined.update(self.evidence)

    @property
    def end_ms(self) -> int | None:
        """When it ceased to hold, None: it still does."""
        return self.stated_end_ms if self.closed_ms is None else self.closed_ms

    def holds_at(self, ms: int) -> bool:
        """Whether `ms`, not before its start, lies in the interval."""
        return self.end_ms is None or ms < self.end_ms

    def join(self, evidence: Evidence) -> None:
        """Another statement of the same; the latest stated end counts."""
        if evidence in self._joined:
            return
        self._joined.add(evidence)
        self.evidence.append(evidence)
        if evidence.stated_invalid_ms is not None:
            self.stated_end_ms = evidence.stated_invalid_ms

    def close(self, at_ms: int, by: Row | Evidence | Closure, episode: str) -> None:
        """It ceases to hold at `at_ms`."""
        self.closed_ms, self.closed_by, self.closed_by_episode = at_ms, by, episode

    def reopen(self) -> None:
        """The same words at the same instant, with a contradiction sorted in between: it stands again."""
        self.closed_ms = self.closed_by = self.closed_by_episode = None


def thinned(evidence: Sequence[Evidence]) -> tuple[Evidence, ...]:
    """What is kept of a row's statements, given in order: the first, the last and those that state an end."""
    if len(evidence) <= 2 * KEPT:
        return tuple(evidence)
    between = [e for e in evidence[KEPT:-KEPT] if e.stated_invalid_ms is not None or e.says]
    return (*evidence[:KEPT], *between, *evidence[-KEPT:])


class _Fold:
    def __init__(self) -> None:
        self.rows: dict[tuple[tuple[str, str, str], int], Row] = {}
        self.current: Row | None = None
        self.closed: list[Row] = []  # told with an end
        self.negations: dict[str, Row] = {}
        self.latest: dict[tuple[str, str, str], Row] = {}
        self.of_target: dict[str, Row] = {}  # the latest row by which the relation holds, or held

    def add(self, statement: EdgeStatement) -> None:
        target, polarity = statement.wording.target_uuid, statement.wording.polarity
        if polarity is Polarity.ENDS:
            self._end(statement)
        elif polarity is Polarity.DENIES:
            row = self._follow(self.negations.get(target), statement)
            self.negations[target] = row
            if statement.wording.is_property:  # another value of it may be right
                return
            self._close(self.of_target.get(target), row, statement)
            if self.current is not None and self.current.wording.target_uuid == target:
                self.current = None
        elif statement.closed and not _continues(self.current, statement):
            same = next((row for row in self.closed if _continues(row, statement)), None)
            if same is not None:
                same.join(statement.evidence)
                return
            row = self.of_target[target] = self._row(statement)
            self.closed.append(row)
        else:
            self.current = self.of_target[target] = self._follow(self.current, statement)
            for before in [*self.closed, self.negations.pop(target, None)]:
                self._close(before, self.current, statement)

    def _end(self, statement: EdgeStatement) -> None:
        """The end of the relation to a target."""
        target, evidence = statement.wording.target_uuid, statement.evidence
        current = self.current
        row = current if current and current.wording.target_uuid == target else self.of_target.get(target)
        key = (statement.wording.key, EARLIEST_MS)
        if row is not None and row.asserted and not statement.asserted:
            row = self.rows.get(key)
        if row is None:
            wording = statement.wording.as_held
            row = Row(wording, EARLIEST_MS, [evidence], stated_end_ms=evidence.start_ms)
            self.rows[key] = row
            self.of_target.setdefault(target, row)
            return
        if evidence not in row.evidence:
            row.evidence.append(evidence)
        if row.start_ms == evidence.start_ms and row.evidence[0].episode_uuid == evidence.episode_uuid:
            return  # of one thing a new value and the end of the old one, which that has closed
        if row.holds_at(evidence.start_ms):
            row.close(evidence.start_ms, evidence, evidence.episode_uuid)
        elif evidence.stated_valid_ms is not None and _may_be_moved(row, evidence):
            self._move_end(row, evidence)
        if row is current:
            self.current = None

    @staticmethod
    def _move_end(row: Row, evidence: Evidence) -> None:
        if row.start_ms == EARLIEST_MS:
            row.stated_end_ms = evidence.start_ms
        else:
            row.close(evidence.start_ms, evidence, evidence.episode_uuid)

    def _follow(self, open_row: Row | None, statement: EdgeStatement) -> Row:
        """The row of the statement: the open one if it says the same, else a new one that closes it."""
        if open_row is not None and _continues(open_row, statement):
            open_row.join(statement.evidence)
            open_row.asserted |= statement.asserted
            if not open_row.holds_at(statement.evidence.start_ms):
                open_row.reopen()
            return open_row
        row = self._row(statement)
        self._close(open_row, row, statement)
        return row

    def _row(self, statement: EdgeStatement) -> Row:
        key = (statement.wording.key, statement.evidence.start_ms)
        row = self.rows.get(key)
        if row is None:
            evidence = statement.evidence
            row = Row(
                statement.wording, evidence.start_ms, [evidence], stated_end_ms=evidence.stated_invalid_ms
            )
            self.rows[key] = row
        else:
            row.join(statement.evidence)
            row.reopen()
        row.asserted |= statement.asserted
        self.latest[statement.wording.key] = row
        return row

    def end(self, ending: Ending) -> None:
        """A contradiction from outside: of the row that says so, whether it still holds or not."""
        row, closure = self.latest.get(ending.key), ending.closure
        if row is None:
            return
        row.closures.append(closure)
        if row.holds_at(closure.at_ms) or (row.start_ms == closure.at_ms and row.closed_by is None):
            row.close(closure.at_ms, closure, closure.by_episode)

    def takes_in(self, withdrawn: Row) -> bool:
        """Whether a row that stands has the withdrawn statements too: the same words from the same instant
        were stated again, or they are about its end."""
        row = self.rows.get((withdrawn.wording.key, withdrawn.start_ms))
        if row is None and all(evidence.says == ENDED for evidence in withdrawn.evidence):
            row = self.of_target.get(withdrawn.wording.target_uuid)
        if row is None:
            return False
        row.evidence = sorted({*row.evidence, *withdrawn.evidence})
        row.closures.extend(withdrawn.closures)
        return True

    @staticmethod
    def _close(row: Row | None, by: Row, statement: EdgeStatement) -> None:
        start = statement.evidence.start_ms
        if row is None or row is by or not (row.holds_at(start) or row.start_ms == start):
            return
        row.close(start, by, statement.evidence.episode_uuid)


def _continues(row: Row | None, statement: EdgeStatement) -> bool:
    """Whether the statement says what the row says, while it holds."""
    start = statement.evidence.start_ms
    return (
        row is not None
        and row.wording.key == statement.wording.key
        and (row.holds_at(start) or start == row.start_ms)
    )


def _may_be_moved(row: Row, end: Evidence) -> bool:
    """Whether a dated end, after the one that the row has, counts instead: what was only implied by another
    start or told without a date gives way, and what was told earlier."""
    by = row.closed_by
    if isinstance(by, Closure):
        return False
    if isinstance(by, Evidence):
        told: Evidence | None = by
    else:
        told = max((e for e in row.evidence if e.says == ENDED and e != end), default=None)
    if told is None:
        return isinstance(by, Row)
    return told.stated_valid_ms is None or told.reference_ms < end.reference_ms


def fold(statements: Iterable[EdgeStatement], endings: Iterable[Ending] = ()) -> list[Row]:
    """The rows of one slot, by start; then those withdrawn."""
    endings = set(endings)
    standing, withdrawn = _apart(list(statements), [each for each in endings if each.closure.retracts])
    state = _Fold()
    entries: list[EdgeStatement | Ending] = [*standing, *endings]
    for entry in sorted(sorted(entries, key=_uuid_of_entry, reverse=True), key=lambda entry: entry.order):
        if not isinstance(entry, Ending):
            state.add(entry)
        elif not entry.closure.retracts:
            state.end(entry)
    return [*state.rows.values(), *(row for row in withdrawn if not state.takes_in(row))]


def _uuid_of_entry(entry: EdgeStatement | Ending) -> tuple[str, tuple[str, str, str]]:
    if isinstance(entry, Ending):
        return (entry.closure.by_fact, entry.key)
    return (entry.evidence.episode_uuid, entry.wording.key)


def _apart(
    statements: Sequence[EdgeStatement], retracting: Sequence[Ending]
) -> tuple[list[EdgeStatement], list[Row]]:
    """The statements that stand, and rows of those that never held: they were announced and put off or called
    off before their time, or found to be untrue."""
    if not retracting and not any(each.announced for each in statements):
        return list(statements), []
    standing: list[EdgeStatement] = []
    rows: dict[tuple[tuple[str, str, str], int], Row] = {}
    for each in statements:
        by = _withdrawing(each, statements) or _retracting(each, retracting)
        if by is None:
            standing.append(each)
        else:
            ends = each.wording.polarity is Polarity.ENDS
            wording = each.wording.as_held if ends else each.wording
            key, evidence = (wording.key, each.evidence.start_ms), each.evidence
            row = rows.setdefault(key, Row(wording, evidence.start_ms, [], withdrawn_by=by))
            row.join(evidence)
            if isinstance(by, Closure) and by not in row.closures:
                row.closures.append(by)
    found = [rows[key] for key in sorted(rows)]
    for row in found:
        by = row.withdrawn_by
        if isinstance(by, EdgeStatement) and by in standing and not _is_needed(by, standing):
            row.evidence.append(by.evidence)
            standing.remove(by)
    return standing, found


def _is_needed(end: EdgeStatement, standing: Iterable[EdgeStatement]) -> bool:
    """Whether a statement by which something was called off says more than that: the end of what held."""
    if end.wording.polarity is not Polarity.ENDS:
        return True
    return any(
        each.wording.target_uuid == end.wording.target_uuid
        and each.wording.polarity is Polarity.ASSERTS
        and each.evidence.start_ms <= end.evidence.start_ms
        for each in standing
    )


def _withdrawing(each: EdgeStatement, others: Iterable[EdgeStatement]) -> EdgeStatement | None:
    """The statement told last by which what `each` announces does not come, or comes at another time."""
    if not each.announced or each.asserted or each.wording.polarity is Polarity.DENIES:
        return None
    ends = each.wording.polarity is Polarity.ENDS
    later = [
        other
        for other in others
        if other.wording.target_uuid == each.wording.target_uuid
        and each.evidence.reference_ms < other.evidence.reference_ms < each.evidence.start_ms
        and (_lifts(each, other) if ends else _calls_off(each, other))
    ]
    return max(later, key=lambda other: (other.evidence.reference_ms, other.evidence), default=None)


def _calls_off(start: EdgeStatement, other: EdgeStatement) -> bool:
    """Whether an announced start does not come, or at another time."""
    if other.wording.polarity is not Polarity.ASSERTS:
        return other.evidence.start_ms <= start.evidence.start_ms
    return other.announced and other.evidence.start_ms != start.evidence.start_ms


def _lifts(end: EdgeStatement, other: EdgeStatement) -> bool:
    """Whether an announced end does not come, or at another time."""
    if other.evidence.says == LASTS:
        return True
    moved = other.evidence.start_ms != end.evidence.start_ms
    return other.wording.polarity is Polarity.ENDS and other.announced and moved


def _retracting(each: EdgeStatement, endings: Iterable[Ending]) -> Closure | None:
    """The contradiction by which what was stated until then was never true."""
    if each.wording.polarity is Polarity.ENDS:
        return None
    found = [e.closure for e in endings if e.key == each.wording.key]
    return max((c for c in found if c.reference_ms >= each.evidence.reference_ms), default=None)


@dataclass(frozen=True, slots=True)
class SlotStatement:
    """A statement with the slot it belongs to and when its item was accepted."""

    slot: str
    statement: EdgeStatement
    accepted_ms: int
    index: int = -1  # of the edge in its extraction

    @property
    def place(self) -> Place:
        """Which edge of the batch says so."""
        return (self.statement.evidence.episode_uuid, self.index)
