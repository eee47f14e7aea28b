"""What a model found to exclude one another becomes endings of rows (spec 002, edge invalidation).

No episode ends more than a few facts, none ends what a caller asserted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from kgsvc.domain.facts.statements import Ending, Row, SlotStatement
from kgsvc.domain.model.graph import Closure, Evidence, Polarity

MOST_ENDED = 10  # facts that one episode may end from another slot

# A slot's rows with their uuids, under these endings beside those that it has.
Draft = Callable[[str, Sequence[Ending]], list[tuple[str, Row]]]


@dataclass(frozen=True, slots=True)
class Contradiction:
    """A statement and what it was found to contradict: a stored fact (`uuid`), or else the row in `slot` that
    says `key`. `at_ms`: since when that no longer holds, where it is known."""

    by: SlotStatement
    slot: str
    uuid: str | None = None
    key: tuple[str, str, str] | None = None
    at_ms: int | None = None
    retracts: bool = False  # it was never true
    moves: bool = False  # it begins at `at_ms`, and ends nothing


@dataclass(frozen=True, slots=True)
class _Side:
    """One of two that exclude each other."""

    slot: str
    uuid: str
    row: Row


@dataclass(frozen=True, slots=True)
class _Switch:
    """From `at_ms` on `after` holds and `before` does not, as `evidence` shows. `retracts`: `before` never
    did. `moves`: with `after` it begins then."""

    before: _Side
    after: _Side
    evidence: Evidence
    at_ms: int
    retracts: bool = False
    moves: bool = False

    def ending(self, uuid: str) -> Ending:
        """Of `before`, by the fact `uuid`."""
        by, before = self.evidence, self.before.row
        reference_ms = by.reference_ms
        if self.retracts:  # all that was known by then, though a later time stands on it
            reference_ms = max(reference_ms, *(each.reference_ms for each in before.evidence))
        closure = Closure(self.at_ms, reference_ms, uuid, by.episode_uuid, self.retracts, self.moves)
        return Ending(before.wording.key, closure)


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
        if said.evidence in row.evidence
        and (row.wording.key == said.wording.key or said.wording.polarity is Polarity.ENDS)
    ]
    theirs = [
        _Side(each.slot, uuid, row)
        for uuid, row in draft(each.slot, ())
        if uuid == each.uuid or row.wording.key == each.key
    ]
    if not mine or not theirs:
        return
    new, old = mine[0], max(theirs, key=lambda side: side.row.start_ms)
    if new.uuid == old.uuid:
        return
    if (each.retracts or each.moves or each.at_ms is not None) and old.uuid in asserted:
        return
    if each.moves:
        at_ms = new.row.start_ms if each.at_ms is None else each.at_ms
        yield _Switch(old, new, said.evidence, at_ms, moves=True)
    elif each.retracts:
        yield _Switch(old, new, said.evidence, old.row.start_ms, retracts=True)
    elif each.at_ms is not None:
        yield _Switch(old, new, said.evidence, max(each.at_ms, old.row.start_ms))
    elif each.slot != each.by.slot:
        yield from _turns(new, old, asserted)


def _turns(new: _Side, old: _Side, asserted: Collection[str]) -> Iterator[_Switch]:
    """Of two that exclude each other the later stated replaces the earlier, each time."""
    told = sorted([(e, new) for e in new.row.evidence] + [(e, old) for e in old.row.evidence], key=_by_order)
    for (before, one), (after, other) in pairwise(told):
        end = one.row.end_ms
        ended = end is not None and end <= after.start_ms
        tied = (before.start_ms, before.reference_ms) == (after.start_ms, after.reference_ms)
        if one is not other and not ended and not tied and one.uuid not in asserted:
            yield _Switch(one, other, after, after.start_ms)


def _by_order(entry: tuple[Evidence, _Side]) -> tuple[int, int, str]:
    evidence, side = entry
    return (evidence.start_ms, evidence.reference_ms, side.uuid)
