"""Changing the graph (GraphStore.apply): lock and check, then write, in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, LiteralString

from neo4j import AsyncDriver

from kgsvc.domain.errors import Conflict, LeaseLost, RevisionChanged, StoreRefused
from kgsvc.domain.model.delta import GraphDelta, GroupHead, Guard, StaleItems
from kgsvc.stores.neo4j.base import Tx, for_each, whole_text
from kgsvc.stores.neo4j.erasures import note_erased
from kgsvc.stores.neo4j.guards import LOCK, check, questions_of
from kgsvc.stores.neo4j.receipts import LOCK_COUNTERS
from kgsvc.stores.neo4j.writing import DeltaWriting
from kgsvc.stores.together import Together

_LOCK_EACH: LiteralString = for_each(
    whole_text(LOCK),
    "head, token, claimed, ours, owners, entities, facts, known, group_id, counters, wanted",
)
_TOGETHER = 32  # changes of one transaction
_ROWS_TOGETHER = 2_000  # that they write, unless a single one writes more
_AT_ONCE = 2  # such transactions
Change = tuple[GraphDelta, Guard]


class Apply(DeltaWriting):
    """GraphStore.apply. Changes of several groups that come at the same time share a transaction."""

    def __init__(self, driver: AsyncDriver, database: str, deadline_s: float, patience_s: float) -> None:
        super().__init__(driver, database, deadline_s, patience_s)
        self._together = Together(self._apply_all, _weigh, _TOGETHER, _ROWS_TOGETHER, _AT_ONCE)

    async def apply(self, delta: GraphDelta, guard: Guard) -> GroupHead:
        if guard.token is None:  # a caller waits for it
            (outcome,) = await self._apply_all([(delta, guard)])
        else:
            outcome = await self._together.run(delta.group_id, (delta, guard))
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    async def _apply_all(self, changes: Sequence[Change]) -> list[GroupHead | Exception]:
        """Each group of `changes` once. Those that are refused drop out; what cannot be written is found by
        halves."""
        try:
            known = all(delta.claim is not None for delta, _ in changes)  # once written
            found = await self._transact(partial(self._lock_and_write, changes), repeatable=known)
        except (LeaseLost, RevisionChanged, StaleItems, Conflict) as refused:  # of the only change
            return [refused]
        except (StoreRefused, ValueError, TypeError, OverflowError) as error:  # its own group is told, alone
            if len(changes) == 1:
                return [error]
            middle = len(changes) // 2
            return [*await self._apply_all(changes[:middle]), *await self._apply_all(changes[middle:])]
        return [found[delta.group_id] for delta, _ in changes]

    async def _lock_and_write(self, changes: Sequence[Change], tx: Tx) -> dict[str, GroupHead | Exception]:
        """All locks first, in one order everywhere: of groups, then of the counters that they share."""
        ordered = sorted(changes, key=lambda change: change[0].group_id)
        rows = await tx.run(_LOCK_EACH, all=[questions_of(delta, guard.token) for delta, guard in ordered])
        by_group = {row[8]: row for row in rows}
        if counters := sorted({tuple(counter) for row in rows for counter in row[9]}):
            await tx.run(LOCK_COUNTERS, counters=[list(counter) for counter in counters])
        found: dict[str, GroupHead | Exception] = {}
        writes: list[dict[str, Any]] = []
        shard = self._shard()
        for delta, guard in ordered:
            row = by_group[delta.group_id]
            try:
                unchanged = check(row, delta, guard)
            except (LeaseLost, RevisionChanged, StaleItems, Conflict) as refused:
                if len(ordered) == 1:
                    raise  # nothing stays of it, not even the record of a group that was not there
                found[delta.group_id] = refused
                continue
            if unchanged is None:
                writes.append(self.written(row, delta, guard) | {"shard": shard})
                head = (
                    writes[-1]["rev"],
                    guard.epoch,
                    delta.system_ms,
                    row[0][3] or writes[-1]["used"] or "",
                )
                unchanged = GroupHead(delta.group_id, *head)
            found[delta.group_id] = unchanged
        await self.write_rows(tx, writes)
        for delta, _ in ordered:
            if delta.erased is not None and isinstance(found[delta.group_id], GroupHead):
                await note_erased(tx, delta.group_id, delta.erased)
        return found


def _weigh(change: Change) -> int:
    delta, _ = change
    return len(delta.facts) + len(delta.entities) + len(delta.mentions) + len(delta.transitions)
