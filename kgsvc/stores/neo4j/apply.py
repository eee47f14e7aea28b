"""Changing the graph (GraphStore.apply): lock and check, then write, in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, LiteralString

from neo4j import AsyncDriver

from kgsvc.domain.errors import Conflict, LeaseLost, RevisionChanged, StoreRefused
from kgsvc.domain.limits import Counter
from kgsvc.domain.model.delta import GraphDelta, GroupHead, Guard, StaleItems
from kgsvc.stores.neo4j.base import Tx, for_each, whole_text
from kgsvc.stores.neo4j.erasures import note_erased
from kgsvc.stores.neo4j.guards import LOCK, Locked, check, questions_of
from kgsvc.stores.neo4j.quotas import LOCK_COUNTERS, counter_rows
from kgsvc.stores.neo4j.writing import DeltaWriting
from kgsvc.together import Together, by_halves

_LOCK_EACH: LiteralString = for_each(whole_text(LOCK), ", ".join(Locked._fields))
_TOGETHER = 64  # changes of one transaction
_ROWS_TOGETHER = 2_000  # that they write, unless a single one writes more
_AT_ONCE = 2  # such transactions
_REFUSED = LeaseLost, RevisionChanged, StaleItems, Conflict
_NOT_WRITTEN = StoreRefused, ValueError, TypeError, OverflowError
Change = tuple[GraphDelta, Guard]


class Apply(DeltaWriting):
    """GraphStore.apply. Changes of several groups that come at the same time share a transaction."""

    def __init__(self, driver: AsyncDriver, database: str, deadline_s: float, patience_s: float) -> None:
        super().__init__(driver, database, deadline_s, patience_s)
        self._together = Together(self._apply_each, _weigh, _TOGETHER, _ROWS_TOGETHER, _AT_ONCE)

    async def apply(self, delta: GraphDelta, guard: Guard) -> GroupHead:
        if guard.token is None:  # a caller waits for it
            (outcome,) = await self._apply_each([(delta, guard)])
        else:
            outcome = await self._together.run(delta.group_id, (delta, guard))
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    async def _apply_each(self, changes: Sequence[Change]) -> list[GroupHead | Exception]:
        """Those that are refused drop out; what cannot be written is found by halves."""
        return await by_halves(changes, self._apply_all, *_REFUSED, *_NOT_WRITTEN)

    async def _apply_all(self, changes: Sequence[Change]) -> list[GroupHead | Exception]:
        """Each group of `changes` once."""
        known = all(delta.claim is not None for delta, _ in changes)  # once written
        found = await self._transact(partial(self._lock_and_write, changes), repeatable=known)
        return [found[delta.group_id] for delta, _ in changes]

    async def _lock_and_write(self, changes: Sequence[Change], tx: Tx) -> dict[str, GroupHead | Exception]:
        """All locks first, in one order everywhere: of groups, then of the counters that they share."""
        ordered = sorted(changes, key=lambda change: change[0].group_id)
        asked = [questions_of(delta, guard.token) for delta, guard in ordered]
        locked = list(map(Locked._make, await tx.run(_LOCK_EACH, all=asked)))
        by_group = {there.group_id: there for there in locked}
        if counters := sorted({Counter(**each) for there in locked for each in there.counters}):
            await tx.run(LOCK_COUNTERS, counters=counter_rows(counters))
        found: dict[str, GroupHead | Exception] = {}
        writes: list[dict[str, Any]] = []
        shard = self._shard()
        for delta, guard in ordered:
            there = by_group[delta.group_id]
            try:
                unchanged = check(there, delta, guard)
            except _REFUSED as refused:
                if len(ordered) == 1:
                    raise  # nothing stays of it, not even the record of a group that was not there
                found[delta.group_id] = refused
                continue
            if unchanged is None:
                values = self.written(there, delta, guard) | {"shard": shard}
                writes.append(values)
                space = there.space or values["used"] or ""
                unchanged = GroupHead(delta.group_id, values["rev"], guard.epoch, delta.system_ms, space)
            found[delta.group_id] = unchanged
        await self.write_rows(tx, writes)
        for delta, _ in ordered:
            if delta.erased is not None and isinstance(found[delta.group_id], GroupHead):
                await note_erased(tx, delta.group_id, delta.erased)
        return found


def _weigh(change: Change) -> int:
    delta, _ = change
    return len(delta.facts) + len(delta.entities) + len(delta.mentions) + len(delta.transitions)
