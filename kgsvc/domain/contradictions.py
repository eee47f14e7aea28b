"""Contradictions that a model found become endings (spec 002, edge invalidation).

Facts whose intervals do not meet are left alone. Of two that do the later closes the earlier, in whichever
order they arrived; at one instant the one said later. No episode ends more than a few, none ends what a
caller asserted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from kgsvc.domain.decisions import Place
from kgsvc.domain.model import Closure
from kgsvc.domain.timeline import Ending, Row, Statement

MOST_ENDED = 10  # facts that one episode may end from another slot

Draft = Callable[[str], list[tuple[str, Row]]]  # a slot's rows with their uuids


@dataclass(frozen=True, slots=True)
class SlotStatement:
    """A statement with the slot it belongs to and when its item was accepted."""

    slot: str
    statement: Statement
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


def endings_of(
    contradictions: Sequence[Contradiction],
    given: Mapping[str, Sequence[Ending]],
    draft: Draft,
    asserted: Collection[str],
) -> dict[str, list[Ending]]:
    """`given` and what follows from `contradictions`, by slot. `asserted` are uuids of callers' facts."""
    found = {slot: list(endings) for slot, endings in given.items()}
    used: Counter[str] = Counter()
    drafted = cache(draft)
    for each in contradictions:
        episode = each.by.statement.evidence.episode_uuid
        ended = None if used[episode] >= MOST_ENDED else _judged(each, drafted, asserted)
        if ended is not None:
            used[episode] += 1
            found.setdefault(ended[0], []).append(ended[1])
    return found


def _judged(each: Contradiction, draft: Draft, asserted: Collection[str]) -> tuple[str, Ending] | None:
    """Which of the two is ended, by slot; None: neither."""
    said = each.by.statement
    mine = [
        (uuid, row)
        for uuid, row in draft(each.by.slot)
        if row.wording.key == said.wording.key and said.evidence in row.evidence
    ]
    theirs = [
        (uuid, row) for uuid, row in draft(each.slot) if uuid == each.uuid or row.wording.key == each.key
    ]
    if not mine or not theirs or each.slot == each.by.slot:
        return None
    (uuid, new), (other, old) = mine[0], max(theirs, key=lambda entry: entry[1].start_ms)
    first, evidence = old.evidence[0], said.evidence
    if _apart(old.start_ms, old.end_ms, evidence.start_ms, new.end_ms):
        return None
    one, another = (old.start_ms, first.reference_ms), (evidence.start_ms, evidence.reference_ms)
    if one < another and other not in asserted:
        closure = Closure(*another, by_fact=uuid, by_episode=evidence.episode_uuid)
        return each.slot, Ending(old.wording.key, closure)
    if one > another and uuid not in asserted:
        closure = Closure(*one, by_fact=other, by_episode=first.episode_uuid)
        return each.by.slot, Ending(new.wording.key, closure)
    return None


def _apart(start: int, end: int | None, other_start: int, other_end: int | None) -> bool:
    return (end is not None and end <= other_start) or (other_end is not None and other_end <= start)
