"""What items use of quotas (KgQuota): counting, settling and giving back.

An item that is counted has `charged` (the subjects of its tokens), `charge_day`, `held` (tokens set aside, or
spent) and `keeps` (the subjects of its bytes). A counter is locked before it is read. Whoever changes several
locks all of them first, sorted, behind the locks of groups and before any other: transactions of different
groups share counters, and must not wait in a circle.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, LiteralString

from kgsvc.domain.limits import Allowance, Counter
from kgsvc.domain.model.items import AcceptBatch, NewItem
from kgsvc.stores.admission import holding_of, spending_of
from kgsvc.stores.neo4j.base import Base, Tx
from kgsvc.stores.neo4j.rows import Row

_DAYS_KEPT = 2  # processes' clocks may differ

LOCK_USED: LiteralString = """
    UNWIND $p.counters AS row
    MERGE (q:KgQuota {subject: row.subject, counted: row.counted, day: row.day})
    ON CREATE SET q.used = 0
    SET q.lock = 0
    WITH q, row
    RETURN row, q.used
    """
LOCK_COUNTERS: LiteralString = """
    UNWIND $p.counters AS row
    MATCH (q:KgQuota {subject: row.subject, counted: row.counted, day: row.day})
    SET q.lock = 0
    """
CHARGE: LiteralString = """
    UNWIND $p.charges AS row
    MATCH (q:KgQuota {subject: row.subject, counted: row.counted, day: row.day})
    SET q.used = q.used + row.more
    WITH q
    WHERE q.day > 0
    MATCH (over:KgQuota {subject: q.subject, counted: q.counted}) WHERE over.day <= q.day - $p.days
    DELETE over
    """
_USED: LiteralString = """
    UNWIND $p.counters AS row
    MATCH (q:KgQuota {subject: row.subject, counted: row.counted, day: row.day})
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

# The counters of an item i.
COUNTERS_OF: LiteralString = """
        UNWIND [subject IN coalesce(i.charged, []) |
                {subject: subject, counted: 'model_tokens', day: i.charge_day}]
            + [subject IN coalesce(i.keeps, []) | {subject: subject, counted: 'bytes', day: 0}] AS counter
        WITH DISTINCT counter"""
COUNTER_LOCK: LiteralString = """
        MATCH (q:KgQuota {subject: counter.subject, counted: counter.counted, day: counter.day})
        SET q.lock = 0"""
COUNTERS_LOCKED: LiteralString = (
    COUNTERS_OF
    + " ORDER BY counter.subject, counter.counted, counter.day"
    + COUNTER_LOCK
    + """
    }
    """
)

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
    UNWIND $p.removed_episodes AS uuid
    <SEEK i:KgItem uuid>
    WHERE i.charged IS NOT NULL OR i.keeps IS NOT NULL
    """
    + _RELEASE
)
# Of a group that was deleted, a batch.
RELEASE_GROUP: LiteralString = (
    """
    MATCH (i:KgItem)
    WHERE i.group_id = $p.group_id AND i.epoch < $p.epoch AND i.state IS NOT NULL AND i.seq IS NOT NULL
        AND i.uuid IS NOT NULL AND (i.charged IS NOT NULL OR i.keeps IS NOT NULL)
    WITH i LIMIT $p.batch
    WITH collect(i) AS going
    CALL (going) {
        UNWIND going AS i"""
    + COUNTERS_LOCKED
    + "UNWIND going AS i"
    + _RELEASE
    + """
    SET i.charged = null, i.keeps = null
    RETURN count(*)
    """
)


class Quotas(Base):
    """What IntakeStore tells of quotas and charges to them."""

    async def used(self, counters: Collection[Counter]) -> dict[Counter, int]:
        return used_of(await self._run(_USED, counters=counter_rows(counters)))

    async def spend(
        self, allowances: Sequence[Allowance], tokens: int, now_ms: int, within: bool = True
    ) -> None:
        counters = counter_rows(sorted(each.counter(now_ms) for each in allowances))

        async def counted(tx: Tx) -> None:
            used = used_of(await tx.run(LOCK_USED, counters=counters))
            charges = spending_of(allowances, tokens, now_ms, used if within else None)
            await tx.run(CHARGE, **charging(charges))

        await self._transact(counted)


def held_columns(batch: AcceptBatch, item: NewItem) -> dict[str, Any]:
    """What a new item has of quotas."""
    holding = holding_of(batch)
    columns: dict[str, Any] = {"keeps": list(holding.bytes) or None}
    if holding.tokens:
        columns |= {"charged": list(holding.tokens), "charge_day": holding.day, "held": item.tokens}
    return columns


def counter_rows(counters: Iterable[Counter]) -> list[dict[str, Any]]:
    """Counters as parameters."""
    return [counter._asdict() for counter in counters]


def used_of(rows: Iterable[Row]) -> dict[Counter, int]:
    """From rows of LOCK_USED and _USED."""
    return {Counter(**counter): used for counter, used in rows}


def charging(charges: Mapping[Counter, int]) -> dict[str, Any]:
    """Parameters of CHARGE."""
    rows = [counter._asdict() | {"more": amount} for counter, amount in sorted(charges.items())]
    return {"charges": rows, "days": _DAYS_KEPT}
