"""Times, ends and relations of facts by row, and which of them fulfil filters."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kgsvc.domain.facts.beliefs import past_of
from kgsvc.domain.model.beliefs import Belief
from kgsvc.domain.model.graph import Fact
from kgsvc.search.filters import NONE, Filters, Span
from kgsvc.search.index.arrays import Arrays, Column, Frozen, of_strings, strings
from kgsvc.search.times import held_in

NEVER = 2**63 - 1  # the end of an open interval
Mask = NDArray[np.bool_]
Times = NDArray[np.int64]


@dataclass(slots=True)
class _Span:
    """While nothing begins or ends: from `since` to before `until`. `at` lies in it."""

    since: int
    at: int
    until: int

    def narrow(self, time: int) -> None:
        """Something begins or ends at a time."""
        if time <= self.at:
            self.since = max(self.since, time)
        else:
            self.until = min(self.until, time)


class Current:
    """By row, whether a fact that is not expired holds at a time; that of the last look is kept."""

    def __init__(self) -> None:
        self._holds = Column(np.bool_)
        self._span: _Span | None = None  # None: no time has been looked at

    def reserve(self, rows: int) -> None:
        """Make room for `rows` rows; new ones do not hold."""
        self._holds.reserve(rows)

    def put(self, row: int, start: int, invalid: int, expired: bool) -> None:
        """Set a row."""
        if self._span is not None:
            self._holds.data[row] = not expired and start <= self._span.at < invalid
            self._span.narrow(start)
            self._span.narrow(invalid)

    def clear(self, row: int) -> None:
        """Free a row."""
        self._holds.data[row] = False

    def kept(self, rows: int, now_ms: int) -> Mask | None:
        """Which of the first `rows` rows hold at a time, if that is the same as at the last look."""
        span = self._span
        if span is None or not span.since <= now_ms < span.until:
            return None
        holds: Mask = self._holds.data[:rows].copy()
        return holds

    def look(self, start: Times, invalid: Times, expired: Mask, now_ms: int) -> Mask:
        """Which of all rows hold at a time."""
        holds: Mask = (start <= now_ms) & (now_ms < invalid) & ~expired
        self._holds.data[: len(holds)] = holds
        self._span = _Span(-NEVER, now_ms, NEVER)
        for times in (start, invalid):
            past = times <= now_ms
            self._span.narrow(int(times.max(where=past, initial=-NEVER)))
            self._span.narrow(int(times.min(where=~past, initial=NEVER)))
        return holds

    @property
    def nbytes(self) -> int:
        """Memory held."""
        return self._holds.nbytes


_NODE_BYTES = 200  # measured: uuid, its dict entry, its number
_BELIEFS_BYTES = 400  # of a row that has any: measured with three
_SUPERSEDED = "superseded"


class FactColumns:
    """Times, ends and relations of facts by row. A free row fulfils nothing."""

    def __init__(self) -> None:
        self._nodes: dict[str, int] = {}
        self._uuids: list[str] = []  # of nodes, by number
        self._relations: dict[str, int] = {}
        self._start = Column(np.int64)
        self._invalid = Column(np.int64)
        self._expired = Column(np.int64)
        self._created = Column(np.int64)
        self._before = Column(np.int64)  # what `invalid` was before the expiry
        self._superseded = Column(np.bool_)
        self._relation = Column(np.int32)
        self._episodes = Column(np.int32)
        self._source = Column(np.int32)
        self._target = Column(np.int32)
        self._current = Current()
        # Of rows that changed by more than one expiry, all former beliefs; few have any.
        self._beliefs: dict[int, tuple[Belief, ...]] = {}

    @property
    def nbytes(self) -> int:
        """About the memory held, in bytes."""
        columns = sum(column.nbytes for column in self._all()) + self._current.nbytes
        return columns + len(self._nodes) * _NODE_BYTES + len(self._beliefs) * _BELIEFS_BYTES

    @property
    def nodes(self) -> int:
        """How many entities are numbered."""
        return len(self._nodes)

    def node(self, uuid: str | None) -> int | None:
        """The number of an entity that facts name."""
        return None if uuid is None else self._nodes.get(uuid)

    def uuid(self, number: int) -> str:
        """The entity of a number."""
        return self._uuids[number]

    def reserve(self, rows: int) -> None:
        """Make room for `rows` rows."""
        for column in self._all():
            column.reserve(rows)
        self._current.reserve(rows)

    def put(self, rows: Sequence[int], facts: Sequence[Fact]) -> None:
        """Set rows."""
        starts = [fact.start_ms for fact in facts]
        ends = [_end(fact.invalid_ms) for fact in facts]
        expired = [_end(fact.expired_ms) for fact in facts]
        at = list(rows)
        self._start.data[at] = starts
        self._invalid.data[at] = ends
        self._expired.data[at] = expired
        self._created.data[at] = [fact.created_ms for fact in facts]
        self._before.data[at] = [_end(fact.invalid_before_ms) for fact in facts]
        self._superseded.data[at] = [fact.expired_reason == _SUPERSEDED for fact in facts]
        number = self._relations.setdefault
        self._relation.data[at] = [number(fact.name, len(self._relations)) for fact in facts]
        self._episodes.data[at] = [len(fact.episodes) for fact in facts]
        nodes = [(self._node(fact.source_uuid), self._node(fact.target_uuid)) for fact in facts]
        self._source.data[at], self._target.data[at] = np.array(nodes, np.int32).reshape(-1, 2).T
        for row, start, end, expiry in zip(rows, starts, ends, expired, strict=True):
            self._current.put(row, start, end, expiry != NEVER)
        for row, fact in zip(rows, facts, strict=True):
            self._beliefs.pop(row, None)
            if fact.beliefs:
                self._beliefs[row] = past_of(fact)

    def freeze(self, rows: int) -> Frozen:
        """See kgsvc.search.index.arrays."""
        columns = {f"column{at}": column.data[:rows].copy() for at, column in enumerate(self._all())}
        uuids, relations = list(self._uuids), list(self._relations)
        beliefs = {row: [each.row() for each in held] for row, held in self._beliefs.items()}
        return lambda: {
            **columns,
            **of_strings("nodes", uuids),
            **of_strings("relations", relations),
            **of_strings("beliefs", [json.dumps(beliefs)]),
        }

    def take(self, arrays: Arrays) -> None:
        """What was frozen, in the place of what there is. Raises LookupError, TypeError, ValueError."""
        for at, column in enumerate(self._all()):
            column.take(arrays[f"column{at}"])
        self._current = Current()
        self._current.reserve(len(self._start.data))
        self._uuids = strings(arrays, "nodes")
        self._nodes = {uuid: number for number, uuid in enumerate(self._uuids)}
        self._relations = {name: number for number, name in enumerate(strings(arrays, "relations"))}
        beliefs = json.loads(strings(arrays, "beliefs")[0])
        self._beliefs = {int(row): tuple(Belief(*each) for each in held) for row, held in beliefs.items()}

    def clear(self, row: int) -> None:
        """Free a row."""
        self._expired.data[row] = 0
        self._created.data[row] = NEVER
        self._superseded.data[row] = False
        self._current.clear(row)
        self._beliefs.pop(row, None)

    def ends(self, rows: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The numbers of the entities at both ends of the first `rows` rows."""
        return self._source.data[:rows], self._target.data[:rows]

    def episodes(self, rows: Sequence[int]) -> list[int]:
        """How many episodes tell each of some facts."""
        counts: list[int] = self._episodes.data[list(rows)].tolist()
        return counts

    def current(self, rows: int, now_ms: int) -> Mask:
        """Which of all rows are valid at a time and not expired."""
        kept = self._current.kept(rows, now_ms)
        if kept is not None:
            return kept
        start, invalid, expired = (c.data[:rows] for c in (self._start, self._invalid, self._expired))
        return self._current.look(start, invalid, expired != NEVER, now_ms)

    def fulfilling(self, rows: int, filters: Filters, now_ms: int) -> Mask:
        """Which of the first `rows` rows fulfil `filters`."""
        if replace(filters, holding_now=False) == NONE:
            return self.current(rows, now_ms)
        created = self._created.data[:rows]
        kept: Mask = created != NEVER
        if filters.known_at_ms is not None:
            kept &= created <= filters.known_at_ms
        start, invalid, expired, superseded = self._held(rows, filters.known_at_ms)
        live = expired == NEVER
        if filters.expired is not None:
            kept &= within(expired, filters.expired)
        elif filters.on_fact_axis:
            kept &= live | superseded
        else:
            kept &= live
        if filters.past is not None:
            kept &= held_in(filters.past, start, invalid, filters.at_ms(now_ms))
        if filters.needs_holding:
            at_ms = filters.at_ms(now_ms)
            kept &= (start <= at_ms) & (at_ms < invalid)
        for values, span in ((start, filters.valid), (invalid, filters.invalid), (created, filters.created)):
            if span is not None:
                kept &= within(values, span)
        if filters.relations:
            kept &= self._related(rows, filters.relations)
        return kept

    def touching(self, rows: int, entities: Collection[str]) -> Mask:
        """Which of the first `rows` rows have one of these entities at an end."""
        chosen = np.zeros(self.nodes, np.bool_)
        chosen[[self._nodes[uuid] for uuid in entities if uuid in self._nodes]] = True
        touched: Mask = chosen[self._source.data[:rows]] | chosen[self._target.data[:rows]]
        return touched

    def _held(self, rows: int, known_ms: int | None) -> tuple[Times, Times, Times, Mask]:
        """Starts, ends, expiries and whether those are by succession, as they were held at a system time."""
        start, invalid, expired = (c.data[:rows] for c in (self._start, self._invalid, self._expired))
        superseded: Mask = self._superseded.data[:rows]
        if known_ms is None:
            return start, invalid, expired, superseded
        later = (expired > known_ms) & (expired != NEVER)
        invalid = np.where(later, self._before.data[:rows], invalid)
        expired = np.where(later, NEVER, expired)
        start, superseded = start.copy(), superseded.copy()
        for row, beliefs in self._beliefs.items():
            held = next((each for each in beliefs if known_ms < each.until_ms), None)
            if held is not None:
                start[row] = held.start_ms
                invalid[row] = NEVER if held.invalid_ms is None else held.invalid_ms
                expired[row] = NEVER if held.expired_ms is None else held.expired_ms
                superseded[row] = held.expired_reason == _SUPERSEDED
        return start, invalid, expired, superseded

    def _related(self, rows: int, names: frozenset[str]) -> Mask:
        wanted = [self._relations[name] for name in names if name in self._relations]
        return np.isin(self._relation.data[:rows], wanted)

    def _node(self, uuid: str) -> int:
        number = self._nodes.get(uuid)
        if number is None:
            number = self._nodes[uuid] = len(self._uuids)
            self._uuids.append(uuid)
        return number

    def _all(self) -> tuple[Column, ...]:
        return (
            self._start,
            self._invalid,
            self._expired,
            self._created,
            self._before,
            self._superseded,
            self._relation,
            self._episodes,
            self._source,
            self._target,
        )


def _end(time_ms: int | None) -> int:
    return NEVER if time_ms is None else time_ms


def within(values: NDArray[np.int64], span: Span) -> Mask:
    """Times in a span; what never comes is in none."""
    inside: Mask = values != NEVER
    if span.since_ms is not None:
        inside &= values >= span.since_ms
    if span.until_ms is not None:
        inside &= values < span.until_ms
    return inside
