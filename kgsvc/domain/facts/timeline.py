"""Which of the statements about one slot hold when.

The rows of a slot are a function of the set of its statements, never of their arrival: all statements, old
and new, are sorted and folded anew. An earlier statement that arrives late thereby comes out already closed.

- A statement equal in text to the open row joins it; another text closes the open row at its own start.
- What is told as closed (both ends known) stands beside what is open and closes nothing.
- The end of a relation closes the row of its target, of a property the row of its value (values.py). Where
  no such row is known it is a row of its own, from an unknown start (EARLIEST_MS) to that end; a start that
  comes to light later joins it.
- A denial closes the row of the target or value that it names, and stands itself until that is stated again.
- What was announced and then put off or called off before its time never held: its row is withdrawn.

Contradictions that a model found become endings (plan.py). They take part in the fold at their own
time: they close the row of their wording that holds then; the same words stated later begin a new row. One
that retracts says that what was stated until then was never true, one that moves that it begins at another
time (`Starts`).

A row keeps a bounded part of the statements that joined it (`thinned`): what is said ten thousand times must
not cost as much with every commit. The kept ones fold to the same rows. Only a contradiction that arrives
later, with a time amid those left out, finds the row reopened at the next kept statement behind it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from kgsvc.domain.facts.statements import EdgeStatement, Ending, Key, Row, SlotStarts
from kgsvc.domain.model.graph import EARLIEST_MS, ENDED, LASTS, Closure, Evidence, Polarity


class _Fold:
    def __init__(self) -> None:
        self.rows: dict[tuple[Key, int], Row] = {}
        self.current: Row | None = None
        self.closed: list[Row] = []  # told with an end, as long as that is to come
        self.negations: dict[str, Row] = {}
        self.latest: dict[Key, Row] = {}
        self.filled: dict[int, Row] = {}  # with withdrawn statements, in no order
        self.of: dict[str, Row] = {}  # by target or value, the latest row by which it holds, or held
        self.early: list[Ending] = []  # that come before anything they could end

    def add(self, statement: EdgeStatement) -> None:
        about, polarity = statement.wording.about, statement.wording.polarity
        if polarity is Polarity.ENDS:
            self._end(statement)
        elif polarity is Polarity.DENIES:
            row = self._follow(self.negations.get(about), statement)
            self.negations[about] = row
            self._close(self.of.get(about), row, statement)
            if self.current is not None and self.current.wording.about == about:
                self.current = None
        elif statement.closed and not _continues(self.current, statement):
            same = self.latest.get(statement.wording.key)
            if same is not None and same is not self.current and _continues(same, statement):
                same.join(statement.evidence)
                return
            row = self.of[about] = self._row(statement)
            self.closed.append(row)
        else:
            self.current = self.of[about] = self._follow(self.current, statement)
            for before in [*self.closed, self.negations.pop(about, None)]:
                self._close(before, self.current, statement)
            # What it has closed, or what was over by then, is of no concern to those that begin later.
            start = statement.evidence.start_ms
            self.closed = [row for row in self.closed if row.start_ms == start]

    def _end(self, statement: EdgeStatement) -> None:
        """The end of the relation to a target, or of a value."""
        about, evidence = statement.wording.about, statement.evidence
        current = self.current
        row = current if current and current.wording.about == about else self.of.get(about)
        key = (statement.wording.key, EARLIEST_MS)
        if row is not None and row.asserted and not statement.asserted:
            row = self.rows.get(key)
        if row is None:
            wording = statement.wording.as_held
            row = Row(wording, EARLIEST_MS, [evidence], evidence.start_ms)
            self.rows[key] = row
            self.of.setdefault(about, row)
            return
        if row.start_ms == EARLIEST_MS and row.wording.judged:
            row.wording = statement.wording.as_held  # rather the words that name the value
        row.take(evidence)
        if row.start_ms == evidence.start_ms and row.evidence[0].episode_uuid == evidence.episode_uuid:
            return  # one episode tells its start and end for one instant: it begins
        if row.holds_at(evidence.start_ms):
            row.close(evidence.start_ms, evidence, evidence.episode_uuid)
            row.ended_by = evidence
        elif evidence.stated_valid_ms is not None and _may_be_moved(row, evidence):
            self._move_end(row, evidence)
        if row is current:
            self.current = None

    @staticmethod
    def _move_end(row: Row, evidence: Evidence) -> None:
        row.ended_by = evidence
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
            self.early.append(ending)
            return
        row.closures.append(closure)
        if row.holds_at(closure.at_ms) or (row.start_ms == closure.at_ms and row.closed_by is None):
            row.close(closure.at_ms, closure, closure.by_episode)

    def takes_in(self, withdrawn: Row) -> bool:
        """Whether a row that stands has the withdrawn statements too: the same words from the same instant
        were stated again, or they are about its end."""
        row = self.rows.get((withdrawn.wording.key, withdrawn.start_ms))
        if row is None and all(evidence.says == ENDED for evidence in withdrawn.evidence):
            row = self.of.get(withdrawn.wording.about)
        if row is None:
            return False
        for evidence in withdrawn.evidence:
            row.take(evidence)
        self.filled[id(row)] = row
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
    """Whether a dated end, after the one that the row has, counts instead: what was implied by another
    start or told without a date gives way, and what was told earlier."""
    if isinstance(row.closed_by, Closure):
        return False
    told = row.ended_by
    if told is None:
        return isinstance(row.closed_by, Row)
    undated = told.says == ENDED and told.stated_valid_ms is None
    return undated or told.reference_ms < end.reference_ms


def fold(statements: Iterable[EdgeStatement], endings: Iterable[Ending] = ()) -> list[Row]:
    """The rows of one slot, by start; then those withdrawn."""
    endings = set(endings)
    starts = SlotStarts([each for each in endings if each.closure.moves])
    standing, withdrawn = _apart(
        starts.moved(statements), [each for each in endings if each.closure.retracts]
    )
    standing = starts.awaited(standing)
    state = _Fold()
    entries: list[EdgeStatement | Ending] = [*standing, *(each for each in endings if each.closure.closes)]
    for entry in _in_order(entries):
        if isinstance(entry, Ending):
            state.end(entry)
        else:
            state.add(entry)
    apart = [row for row in withdrawn if not state.takes_in(row)]
    for row in state.filled.values():
        row.evidence.sort()
    rows = [*state.rows.values(), *apart]
    for ending in state.early:  # kept for what arrives later and was told before
        same = [row for row in rows if row.wording.key == ending.key]
        if same:
            min(same, key=lambda row: row.start_ms).closures.append(ending.closure)
    return starts.as_told(rows)


Entry = TypeVar("Entry", bound=EdgeStatement | Ending)


def _in_order(entries: Iterable[Entry]) -> list[Entry]:
    """By precedence, whatever the order of arrival."""
    ordered = sorted(entries, key=_place)
    ordered.sort(key=_uuid, reverse=True)
    ordered.sort(key=lambda entry: entry.order)
    return ordered


def _place(entry: EdgeStatement | Ending) -> tuple[int, Key, str]:
    if isinstance(entry, Ending):
        return (0, entry.key, entry.closure.by_episode)
    return (entry.evidence.index, entry.wording.key, "")


def _uuid(entry: EdgeStatement | Ending) -> str:
    return entry.closure.by_fact if isinstance(entry, Ending) else entry.evidence.episode_uuid


def _apart(
    statements: Sequence[EdgeStatement], retracting: Sequence[Ending]
) -> tuple[list[EdgeStatement], list[Row]]:
    """The statements that stand, and rows of those that never held: they were announced and put off or called
    off before their time, or found to be untrue."""
    if not retracting and not any(each.announced for each in statements):
        return list(statements), []
    untrue: dict[Key, Closure] = {}  # the finding told last, by what it says was never true
    for ending in retracting:
        known = untrue.get(ending.key, ending.closure)
        untrue[ending.key] = max(known, ending.closure, key=lambda each: (each.reference_ms, each))
    told: defaultdict[str, list[EdgeStatement]] = defaultdict(list)
    for each in statements:
        told[each.wording.about].append(each)
    withdrawals = {about: _Withdrawals(of_it) for about, of_it in told.items()}
    standing: list[EdgeStatement] = []
    rows: dict[tuple[Key, int], Row] = {}
    for each in _in_order(statements):
        by = withdrawals[each.wording.about].of(each) or _untrue(each, untrue)
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
    used = _used_up(found, standing)
    return [each for each in standing if id(each) not in used], found


def _untrue(each: EdgeStatement, found: Mapping[Key, Closure]) -> Closure | None:
    """The finding by which what was stated until then was never true."""
    closure = None if each.wording.polarity is Polarity.ENDS else found.get(each.wording.key)
    return closure if closure and closure.reference_ms >= each.evidence.reference_ms else None


def _used_up(withdrawn: Iterable[Row], standing: Sequence[EdgeStatement]) -> set[int]:
    """The ends, by id, that say no more than that something does not come: nothing held that they could end.
    They are kept with the first row that they withdraw."""
    held: dict[str, int] = {}  # since when, by target or value
    for each in standing:
        if each.wording.polarity is Polarity.ASSERTS:
            start, about = each.evidence.start_ms, each.wording.about
            held[about] = min(start, held.get(about, start))
    ends = {id(each) for each in standing if each.wording.polarity is Polarity.ENDS}
    used: set[int] = set()
    for row in withdrawn:
        by = row.withdrawn_by
        if not isinstance(by, EdgeStatement) or id(by) not in ends or id(by) in used:
            continue
        if held.get(by.wording.about, by.evidence.start_ms + 1) > by.evidence.start_ms:
            row.take(by.evidence)
            used.add(id(by))
    return used


class _ByReference:
    """Statements by the time at which they were told, for the last one told in a span that begins at another
    time than a given one. Each look takes logarithmic time: a slot may hold thousands."""

    def __init__(self, statements: Iterable[EdgeStatement]) -> None:
        self._told = sorted(statements, key=lambda each: (each.evidence.reference_ms, each.evidence))
        self._times = [each.evidence.reference_ms for each in self._told]
        self._other: list[int] = []  # the last place before each that has another start
        for at, each in enumerate(self._told):
            same = at > 0 and self._told[at - 1].evidence.start_ms == each.evidence.start_ms
            self._other.append(self._other[at - 1] if same else at - 1)

    def last(self, after_ms: int, before_ms: int, but_start_ms: int | None = None) -> EdgeStatement | None:
        """The last told after `after_ms` and before `before_ms`, but for a start at `but_start_ms`."""
        at = bisect_left(self._times, before_ms) - 1
        if at >= 0 and self._told[at].evidence.start_ms == but_start_ms:
            at = self._other[at]
        return self._told[at] if at >= 0 and self._times[at] > after_ms else None


class _Withdrawals:
    """Which announcements about one target or value do not come, or at another time, and by what."""

    def __init__(self, statements: Sequence[EdgeStatement]) -> None:
        asserts = [each for each in statements if each.wording.polarity is Polarity.ASSERTS]
        ends = [each for each in statements if each.wording.polarity is Polarity.ENDS]
        others = [each for each in statements if each.wording.polarity is not Polarity.ASSERTS]
        self._starts = _ByReference(each for each in asserts if each.announced)
        self._refusals = _ByReference(each for each in others if not each.announced)
        self._ends = _ByReference(each for each in ends if each.announced)
        self._lasting = _ByReference(each for each in asserts if each.evidence.says == LASTS)

    def of(self, each: EdgeStatement) -> EdgeStatement | None:
        """The statement told last, before the announced time, that withdraws `each`."""
        if not each.announced or each.asserted or each.wording.polarity is Polarity.DENIES:
            return None
        told_ms, start_ms = each.evidence.reference_ms, each.evidence.start_ms
        if each.wording.polarity is Polarity.ENDS:
            found = [
                self._lasting.last(told_ms, start_ms),
                self._ends.last(told_ms, start_ms, but_start_ms=start_ms),
            ]
        else:
            found = [
                self._refusals.last(told_ms, start_ms),
                self._starts.last(told_ms, start_ms, but_start_ms=start_ms),
            ]
        return max(
            filter(None, found),
            key=lambda other: (other.evidence.reference_ms, other.evidence),
            default=None,
        )
