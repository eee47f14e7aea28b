"""Saving transitions of items (QueueStore.save_transitions): those of several groups by one statement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import LiteralString

from neo4j import AsyncDriver

from kgsvc.domain.errors import LeaseLost, StoreRefused
from kgsvc.domain.model.items import Lease, Transition
from kgsvc.stores.neo4j.base import Base, each_of, whole_text
from kgsvc.stores.neo4j.quotas import COUNTER_LOCK, COUNTERS_OF, SETTLE_TRANSITIONS
from kgsvc.stores.neo4j.rows import column
from kgsvc.stores.neo4j.transitions import WRITE_TRANSITIONS, transition_rows
from kgsvc.together import Together, by_halves

_TOGETHER = 64  # saves of one statement
_BYTES_TOGETHER = 4 * 1024 * 1024  # of their stages, unless a single one has more
_AT_ONCE = 2  # such statements
LOST = "the group is owned by another process or was deleted"
Save = tuple[Lease, Sequence[Transition]]

_LOCKED: LiteralString = (
    """
    <LEASED_GROUP>
    CALL () {
        UNWIND $p.counted AS uuid
        <SEEK i:KgItem uuid>
        WHERE i.charged IS NOT NULL"""
    + COUNTERS_OF
    + """
        RETURN collect(counter) AS counters
    }
    RETURN counters
    """
)
_WRITTEN: LiteralString = WRITE_TRANSITIONS + SETTLE_TRANSITIONS + "RETURN $p.group_id AS saved"
# All locks first, in one order everywhere: of groups, then of the counters that they share. A group whose
# lease is lost drops out.
_SAVE: LiteralString = (
    "UNWIND $p.all AS each CALL (each) {"
    + each_of(whole_text(_LOCKED))
    + """}
    WITH collect(each) AS held, collect(counters) AS counters
    CALL (counters) {
        UNWIND counters AS own
        UNWIND own AS counter
        WITH DISTINCT counter ORDER BY counter.subject, counter.counted, counter.day"""
    + COUNTER_LOCK
    + """
    }
    UNWIND held AS each
    CALL (each) {"""
    + each_of(whole_text(_WRITTEN))
    + "} RETURN saved"
)


class Saving(Base):
    """What comes at the same time is saved together."""

    def __init__(self, driver: AsyncDriver, database: str, deadline_s: float, patience_s: float) -> None:
        super().__init__(driver, database, deadline_s, patience_s)
        self._saves = Together[Save, None](self._save_each, _weigh, _TOGETHER, _BYTES_TOGETHER, _AT_ONCE)

    async def save_transitions(self, lease: Lease, transitions: Sequence[Transition]) -> None:
        if error := await self._saves.run(lease.group_id, (lease, transitions)):
            raise error

    async def _save_each(self, saves: Sequence[Save]) -> list[Exception | None]:
        return await by_halves(saves, self._save_all, StoreRefused, ValueError, TypeError, OverflowError)

    async def _save_all(self, saves: Sequence[Save]) -> list[Exception | None]:
        """Each group of `saves` once."""
        shard = self._shard()
        ordered = sorted(saves, key=lambda save: save[0].group_id)
        saved = set(
            column(await self._run(_SAVE, all=[_values(*save) | {"shard": shard} for save in ordered]))
        )
        return [None if lease.group_id in saved else LeaseLost(LOST) for lease, _ in saves]


def _values(lease: Lease, transitions: Sequence[Transition]) -> dict[str, object]:
    rows = transition_rows(transitions, lease.token)
    return {**asdict(lease), "transitions": rows, "counted": sorted({row["uuid"] for row in rows})}


def _weigh(save: Save) -> int:
    return sum(len(each.stage or b"") for each in save[1])
