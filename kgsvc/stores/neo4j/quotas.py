"""The counters of quotas: KgQuota. An item that is counted has `charged` (the subjects of its tokens),
`charge_day`, `held` (tokens set aside, or spent) and `keeps` (the subjects of its bytes). A counter is locked
before it is read."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, LiteralString

from kgsvc.domain.limits import Allowance, Counter
from kgsvc.domain.model.items import AcceptBatch, NewItem
from kgsvc.stores.neo4j.base import Base, Tx
from kgsvc.stores.quotas import holding_of, spending_of

_DAYS_KEPT = 2  # processes' clocks may differ

LOCK_USED: LiteralString = """
    UNWIND $p.counters AS row
    MERGE (q:KgQuota {subject: row[0], counted: row[1], day: row[2]})
    ON CREATE SET q.used = 0
    SET q.lock = 0
    WITH q, row
    RETURN row, q.used
    """
CHARGE: LiteralString = """
    UNWIND $p.charges AS row
    MATCH (q:KgQuota {subject: row[0], counted: row[1], day: row[2]})
    SET q.used = q.used + row[3]
    WITH q
    WHERE q.day > 0
    MATCH (over:KgQuota {subject: q.subject, counted: q.counted}) WHERE over.day <= q.day - $p.days
    DELETE over
    """
_USED: LiteralString = """
    UNWIND $p.counters AS row
    MATCH (q:KgQuota {subject: row[0], counted: row[1], day: row[2]})
    RETURN row, q.used
    """

# Of an item i: what was set aside becomes what was spent, as soon as that is more or the item has ended.
_SETTLE: LiteralString = """
    WITH i, coalesce(i.prompt_tokens, 0) + coalesce(i.completion_tokens, 0) AS spent
    WITH i, CASE WHEN i:KgPending AND i.held > spent THEN i.held ELSE spent END AS held
    WITH i, held, held - i.held AS more
    SET i.held = held
    WITH i, more
    UNWIND i.charged AS subject
    MATCH (q:KgQuota {subject: subject, counted: 'model_tokens', day: i.charge_day})
    SET q.lock = 0
    WITH q, more
    SET q.used = q.used + more
    """
# Of an item i that goes: it has ended, and its bytes are free.
_RELEASE: LiteralString = """
    CALL (i) {
        UNWIND i.charged AS subject
        MATCH (q:KgQuota {subject: subject, counted: 'model_tokens', day: i.charge_day})
        SET q.lock = 0
        WITH q, i
        SET q.used = q.used - i.held + coalesce(i.prompt_tokens, 0) + coalesce(i.completion_tokens, 0)
    }
    CALL (i) {
        UNWIND i.keeps AS subject
        MATCH (q:KgQuota {subject: subject, counted: 'bytes', day: 0})
        SET q.lock = 0
        WITH q, i
        SET q.used = q.used - i.bytes
    }
    """

# Parts of save_transitions and of apply. `counted` are items whose state or cost has changed.
SETTLE_TRANSITIONS: LiteralString = (
    """
    CALL () {
        UNWIND $p.counted AS uuid
        <SEEK i:KgItem uuid>
        WHERE i.charged IS NOT NULL
    """
    + _SETTLE
    + """
    }
    """
)
RELEASE_EPISODES: LiteralString = (
    """
    CALL () {
        UNWIND $p.removed_episodes AS uuid
        <SEEK i:KgItem uuid>
        WHERE i.charged IS NOT NULL OR i.keeps IS NOT NULL
    """
    + _RELEASE
    + """
    }
    """
)
# Of a group that was deleted, a batch.
RELEASE_GROUP: LiteralString = (
    """
    MATCH (i:KgItem)
    WHERE i.group_id = $p.group_id AND i.epoch < $p.epoch AND i.state IS NOT NULL AND i.seq IS NOT NULL
        AND i.uuid IS NOT NULL AND (i.charged IS NOT NULL OR i.keeps IS NOT NULL)
    WITH i LIMIT $p.batch
    """
    + _RELEASE
    + """
    SET i.charged = null, i.keeps = null
    RETURN count(*)
    """
)


def held_columns(batch: AcceptBatch, item: NewItem) -> list[Any]:
    """`charged`, `charge_day`, `held` and `keeps` of a new item."""
    holding = holding_of(batch)
    tokens = [list(holding.tokens), holding.day, item.tokens] if holding.tokens else [None, None, None]
    return [*tokens, list(holding.bytes) or None]


def charging(charges: Mapping[Counter, int]) -> dict[str, Any]:
    """Parameters of CHARGE."""
    rows = [[*counter, amount] for counter, amount in sorted(charges.items())]
    return {"charges": rows, "days": _DAYS_KEPT}


class Quotas(Base):
    """IntakeStore.used and spend."""

    async def used(self, counters: Collection[Counter]) -> dict[Counter, int]:
        """See IntakeStore."""
        rows = await self._run(_USED, counters=[list(counter) for counter in counters])
        return {(row[0], row[1], row[2]): used for row, used in rows}

    async def spend(
        self, allowances: Sequence[Allowance], tokens: int, now_ms: int, within: bool = True
    ) -> None:
        """See IntakeStore."""
        counters = [list(counter) for counter in sorted(each.counter(now_ms) for each in allowances)]

        async def counted(tx: Tx) -> None:
            locked = await tx.run(LOCK_USED, counters=counters)
            used = {(row[0], row[1], row[2]): amount for row, amount in locked}
            charges = spending_of(allowances, tokens, now_ms, used if within else None)
            await tx.run(CHARGE, **charging(charges))

        await self._transact(counted)
