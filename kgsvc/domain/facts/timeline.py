"""Which of the statements about one slot hold when (design §3, spec 004 §6, spec 002 edge invalidation).

The rows of a slot are a function of the set of its statements, never of their arrival: all statements, old
and new, are sorted and folded anew. A statement equal in text to the open row joins it; another text closes
the open row at its own start; ENDS and DENIES close the row of the target they name. An earlier statement
that arrives late thereby comes out already closed.

Contradictions that a model found in other slots (spec 002, edge invalidation) become endings. They take part
in the fold at their own time: they close the row of their wording that holds then; the same words stated
later begin a new row. Facts whose intervals do not meet are left alone. Of two that do, the later closes the
earlier, in whichever order they arrived; at one instant the one stated later. No episode ends more than a few
facts, none ends what a caller asserted.

A row keeps a bounded part of the statements that joined it (`thinned`): what is said ten thousand times must
not cost as much with every commit. The kept ones fold to the same rows. Only a contradiction that arrives
later, with a time amid those left out, finds the row reopened at the next kept statement behind it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from kgsvc.domain.model.graph import Closure, Evidence, FactKind, Polarity
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


@dataclass(frozen=True, slots=True)
class EdgeStatement:
    """One episode's wording for a slot, with its evidence."""

    wording: EdgeWording
    evidence: Evidence

    @property
    def order(self) -> tuple[int, int, bool, tuple[str, str, str], str]:
        """Which of two conflicting statements is current: the greater (design §3)."""
        negates = self.wording.polarity is not Polarity.ASSERTS
        evidence = self.evidence
        return (evidence.start_ms, evidence.reference_ms, negates, self.wording.key, evidence.episode_uuid)


@dataclass(frozen=True, slots=True)
class Ending:
    """A closure for the row that says `key` (EdgeWording.key)."""

    key: tuple[str, str, str]
    closure: Closure

    @property
    def order(self) -> tuple[int, int, bool, tuple[str, str, str], str]:
        """Before statements of the same start and reference time: those are left alone (spec 002)."""
        return (self.closure.at_ms, self.closure.reference_ms, False, ("", "", ""), self.closure.by_fact)


@dataclass(slots=True)
class Row:
    """An interval in which one wording holds. `closed_by` is what contradicted it: a statement of its slot
    or a closure; `closures` are all that name it, whether they or something earlier closed it."""

    wording: EdgeWording
    start_ms: int
    evidence: list[Evidence]
    stated_end_ms: int | None = None
    closed_ms: int | None = None
    closed_by: Row | Closure | None = None
    closed_by_episode: str | None = None
    closures: list[Closure] = field(default_factory=list)
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

    def reopen(self) -> None:
        """The same words at the same instant, with a contradiction sorted in between: it stands again."""
        self.closed_ms = self.closed_by = self.closed_by_episode = None


def thinned(evidence: Sequence[Evidence]) -> tuple[Evidence, ...]:
    """What is kept of a row's statements, given in order: the first, the last and those that state an end."""
    if len(evidence) <= 2 * KEPT:
        return tuple(evidence)
    between = [e for e in evidence[KEPT:-KEPT] if e.stated_invalid_ms is not None]
    return (*evidence[:KEPT], *between, *evidence[-KEPT:])


class _Fold:
    def __init__(self) -> None:
        self.rows: dict[tuple[tuple[str, str, str], int], Row] = {}
        self.current: Row | None = None
        self.negations: dict[str, Row] = {}
        self.latest: dict[tuple[str, str, str], Row] = {}

    def add(self, statement: EdgeStatement) -> None:
        target = statement.wording.target_uuid
        if statement.wording.polarity is Polarity.ASSERTS:
            self.current = self._follow(self.current, statement)
            self._close(self.negations.pop(target, None), self.current, statement)
            return
        row = self._follow(self.negations.get(target), statement)
        self.negations[target] = row
        if self.current is not None and self.current.wording.target_uuid == target:
            self._close(self.current, row, statement)
            self.current = None

    def _follow(self, open_row: Row | None, statement: EdgeStatement) -> Row:
        """The row of the statement: the open one if it says the same, else a new one that closes it."""
        start = statement.evidence.start_ms
        if (
            open_row is not None
            and open_row.wording.key == statement.wording.key
            and (open_row.holds_at(start) or start == open_row.start_ms)
        ):
            open_row.join(statement.evidence)
            if not open_row.holds_at(start):
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
        self.latest[statement.wording.key] = row
        return row

    def end(self, ending: Ending) -> None:
        """A contradiction from outside: of the row that says so, whether it still holds or not."""
        row, closure = self.latest.get(ending.key), ending.closure
        if row is None:
            return
        row.closures.append(closure)
        if row.holds_at(closure.at_ms) or (row.start_ms == closure.at_ms and row.closed_by is None):
            row.closed_ms, row.closed_by = closure.at_ms, closure
            row.closed_by_episode = closure.by_episode

    @staticmethod
    def _close(row: Row | None, by: Row, statement: EdgeStatement) -> None:
        start = statement.evidence.start_ms
        if row is None or row is by or not (row.holds_at(start) or row.start_ms == start):
            return
        row.closed_ms, row.closed_by = start, by
        row.closed_by_episode = statement.evidence.episode_uuid


def fold(statements: Iterable[EdgeStatement], endings: Iterable[Ending] = ()) -> list[Row]:
    """The rows of one slot, by start."""
    state = _Fold()
    entries: list[EdgeStatement | Ending] = [*statements, *set(endings)]
    for entry in sorted(entries, key=lambda entry: entry.order):
        if isinstance(entry, Ending):
            state.end(entry)
        else:
            state.add(entry)
    return list(state.rows.values())


MOST_ENDED = 10  # facts that one episode may end from another slot

# A slot's rows with their uuids, under these endings beside those that it has.
Draft = Callable[[str, Sequence[Ending]], list[tuple[str, Row]]]


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


@dataclass(frozen=True, slots=True)
class Contradiction:
    """A statement and what it was found to contradict: a stored fact (`uuid`), or else the row in `slot` that
    says `key`."""

    by: SlotStatement
    slot: str
    uuid: str | None = None
    key: tuple[str, str, str] | None = None


@dataclass(frozen=True, slots=True)
class _Side:
    """One of two that exclude each other."""

    slot: str
    uuid: str
    row: Row


@dataclass(frozen=True, slots=True)
class _Switch:
    """From `evidence` on `after` holds and `before` does not."""

    before: _Side
    after: _Side
    evidence: Evidence

    def ending(self, uuid: str) -> Ending:
        """Of `before`, by the fact `uuid`."""
        at = self.evidence
        return Ending(
            self.before.row.wording.key, Closure(at.start_ms, at.reference_ms, uuid, at.episode_uuid)
        )


def endings_of(
    contradictions: Sequence[Contradiction],
    given: Mapping[str, Sequence[Ending]],
    draft: Draft,
    asserted: Collection[str],
) -> dict[str, list[Ending]]:
    """`given` and what follows from `contradictions`, by slot. `asserted` are uuids of callers' facts."""
    switches: list[_Switch] = []
    used: Counter[str] = Counter()
    for each in contradictions:
        episode = each.by.statement.evidence.episode_uuid
        found = [] if used[episode] >= MOST_ENDED else list(_judged(each, draft, asserted))
        used[episode] += bool(found)
        switches.extend(found)
    provisional = _with(given, [(switch, switch.after.uuid) for switch in switches])
    # Rows that are cut in two by now have other uuids.
    return _with(given, [(switch, _uuid_of(switch, draft, provisional)) for switch in switches])


def _with(
    given: Mapping[str, Sequence[Ending]], switches: Sequence[tuple[_Switch, str]]
) -> dict[str, list[Ending]]:
    found = {slot: list(endings) for slot, endings in given.items()}
    for switch, uuid in switches:
        found.setdefault(switch.before.slot, []).append(switch.ending(uuid))
    return found


def _uuid_of(switch: _Switch, draft: Draft, endings: Mapping[str, Sequence[Ending]]) -> str:
    after = switch.after
    for uuid, row in draft(after.slot, endings.get(after.slot, ())):
        if row.wording.key == after.row.wording.key and switch.evidence in row.evidence:
            return uuid
    return after.uuid


def _judged(each: Contradiction, draft: Draft, asserted: Collection[str]) -> Iterator[_Switch]:
    """Where the two take turns: both may have been said several times."""
    said = each.by.statement
    mine = [
        _Side(each.by.slot, uuid, row)
        for uuid, row in draft(each.by.slot, ())
        if row.wording.key == said.wording.key and said.evidence in row.evidence
    ]
    theirs = [
        _Side(each.slot, uuid, row)
        for uuid, row in draft(each.slot, ())
        if uuid == each.uuid or row.wording.key == each.key
    ]
    if not mine or not theirs or each.slot == each.by.slot:
        return
    new, old = mine[0], max(theirs, key=lambda side: side.row.start_ms)
    told = sorted([(e, new) for e in new.row.evidence] + [(e, old) for e in old.row.evidence], key=_by_order)
    for (before, one), (after, other) in pairwise(told):
        end = one.row.end_ms
        ended = end is not None and end <= after.start_ms
        tied = (before.start_ms, before.reference_ms) == (after.start_ms, after.reference_ms)
        if one is not other and not ended and not tied and one.uuid not in asserted:
            yield _Switch(one, other, after)


def _by_order(entry: tuple[Evidence, _Side]) -> tuple[int, int, str]:
    evidence, side = entry
    return (evidence.start_ms, evidence.reference_ms, side.uuid)
