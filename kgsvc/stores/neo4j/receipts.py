"""What became of items and what they use of quotas: receipts, listings, retries, counts (the rest of
IntakeStore)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, LiteralString

from kgsvc.domain.errors import InvalidArgument, Violation
from kgsvc.domain.limits import Allowance, Counter
from kgsvc.domain.model.items import AcceptBatch, ItemState, ItemStatus, NewItem, Receipt
from kgsvc.stores.admission import GROUP_DELETED, holding_of, of_deleted_group, spending_of
from kgsvc.stores.intake_protocol import Page, QueueDepth
from kgsvc.stores.neo4j.base import Base, Tx
from kgsvc.stores.neo4j.rows import NEVER, STATUS_OPTIONAL, Row, status_of, whole

_DAYS_KEPT = 2  # processes' clocks may differ
_BEFORE_ALL = -(2**63)
_RECEIPTS_A_REMOVAL = 50  # of up to 256 items each
_LIFE = [  # the order in which an item has them
    ItemState.ACCEPTED,
    ItemState.EXTRACT_FAILED,
    ItemState.EXTRACTED,
    ItemState.EMBED_FAILED,
    ItemState.EMBEDDED,
    ItemState.UPSERT_FAILED,
    ItemState.UPSERTED,
    ItemState.PARKED,
    ItemState.COMPLETED,
    ItemState.DELETED,
]

# A commit's records can be read a moment before the indexes have them. Taking the group's lock waits for the
# indexes, so that a client that reads COMPLETED finds the facts of the item.
_RECEIPT: LiteralString = """
    MATCH (c:KgReceipt) WHERE c.receipt_id = $p.receipt_id AND c.part IS NOT NULL
    MATCH (g:KgGroup {group_id: c.group_id}) USING INDEX SEEK g:KgGroup(group_id)
    CALL (c) {
        UNWIND c.uuids AS uuid
        MATCH (i:KgItem {group_id: c.group_id, epoch: c.epoch, uuid: uuid})
            USING INDEX SEEK i:KgItem(group_id, epoch, uuid)
        RETURN collect([<STATUS>, i:KgPending]) AS items, max(i.state = 'completed') AS settles
    }
    CALL (g, settles) {
        WITH g WHERE settles
        SET g.lock = 0
    }
    RETURN c.group_id, c.created_ms, c.uuids, c.seqs, c.duplicates, c.epoch = g.epoch, items
    ORDER BY c.part
    """

# A state after the other, of a store that others write to: an item that goes on meanwhile is found twice, and
# would be missed if a later state were read first.
_LIST: LiteralString = """
    <GROUP>
    UNWIND $p.states AS state
    CALL (epoch, state) {
        MATCH (i:KgItem) USING INDEX SEEK i:KgItem(group_id, epoch, state, seq, uuid)
        WHERE i.group_id = $p.group_id AND i.epoch = epoch AND i.state = state AND i.seq >= $p.seq
            AND i.uuid IS NOT NULL AND (i.seq > $p.seq OR i.uuid > $p.uuid)
        RETURN i
        ORDER BY i.group_id, i.epoch, i.state, i.seq, i.uuid
        LIMIT $p.limit
    }
    WITH DISTINCT i ORDER BY i.seq, i.uuid LIMIT $p.limit
    RETURN <STATUS>
    """

_RETRY: LiteralString = """
    <LOCKED_GROUP>
    WITH g.epoch AS epoch
    CALL (epoch) {
        MATCH (i:KgItem) USING INDEX SEEK i:KgItem(group_id, epoch, state, seq, uuid)
        WHERE i.group_id = $p.group_id AND i.epoch = epoch AND i.state = 'parked' AND i.seq IS NOT NULL
            AND i.uuid IS NOT NULL AND ($p.uuids IS NULL OR i.uuid IN $p.uuids)
        SET i:KgPending, i.state = 'accepted', i.next_ms = 0, i.updated_ms = $p.now_ms, i.attempts = 0,
            i.step = null, i.reason = null, i.stage = null, i.suspect = null, i.started = null,
            i.extract_attempts = 0, i.embed_attempts = 0, i.upsert_attempts = 0, i.crash_attempts = 0
        REMOVE i:KgParked
        WITH i ORDER BY i.seq, i.uuid
        RETURN collect(i.uuid) AS retried
    }
    CALL (retried) {
        WITH retried WHERE size(retried) > 0
        MERGE (w:KgWork {group_id: $p.group_id})
        SET w.due_ms = 0
        WITH w
        <COUNT_ACTIVITY>
    }
    RETURN retried
    """

# A receipt may have several parts, made in the same moment. `open`: its items that are unfinished or parked.
_REMOVE: LiteralString = """
    CALL () {
        MATCH (c:KgReceipt)
        WHERE c.created_ms >= $p.after_ms AND c.created_ms < $p.before_ms AND c.receipt_id IS NOT NULL
            AND (c.created_ms > $p.after_ms OR c.receipt_id > $p.after_id)
        RETURN DISTINCT c.created_ms AS created_ms, c.receipt_id AS receipt_id
        ORDER BY created_ms, receipt_id LIMIT $p.limit
    }
    CALL (receipt_id) {
        MATCH (c:KgReceipt) WHERE c.receipt_id = receipt_id AND c.part IS NOT NULL
        RETURN collect(c) AS parts
    }
    CALL (parts) {
        UNWIND parts AS c
        UNWIND c.uuids AS uuid
        MATCH (i:KgItem {group_id: c.group_id, epoch: c.epoch, uuid: uuid})
            USING INDEX SEEK i:KgItem(group_id, epoch, uuid)
        RETURN collect(DISTINCT i) AS items, count(CASE WHEN i:KgPending OR i:KgParked THEN 1 END) AS open
    }
    CALL (receipt_id, parts, items, open) {
        WITH receipt_id, parts, items WHERE open = 0
        FOREACH (i IN [i IN items WHERE i.receipt_id = receipt_id AND NOT coalesce(i.reason, '') = $p.deleted]
            | SET i.receipt_id = '')
        FOREACH (i IN [i IN items WHERE i.receipt_id = receipt_id AND i.reason = $p.deleted] | DELETE i)
        FOREACH (c IN parts | DELETE c)
    }
    RETURN created_ms, receipt_id ORDER BY created_ms, receipt_id
    """

_DEPTH: LiteralString = """
    CALL () { MATCH (i:KgPending) RETURN count(i) AS unfinished }
    CALL () { MATCH (i:KgParked) RETURN count(i) AS parked }
    CALL () {
        OPTIONAL MATCH (i:KgPending) WHERE i.accepted_ms IS NOT NULL
        RETURN i.accepted_ms AS oldest ORDER BY i.accepted_ms LIMIT 1
    }
    RETURN unfinished, parked, oldest
    """

_ACTIVITY: LiteralString = "MATCH (a:KgActivity) RETURN sum(a.count)"

# The counters of quotas: KgQuota. An item that is counted has `charged` (the subjects of its tokens),
# `charge_day`, `held` (tokens set aside, or spent) and `keeps` (the subjects of its bytes). A counter is
# locked before it is read. Whoever changes several locks all of them first, sorted, behind the locks of
# groups and before any other: transactions of different groups share counters, and must not wait in a circle.
LOCK_USED: LiteralString = """
    UNWIND $p.counters AS row
    MERGE (q:KgQuota {subject: row[0], counted: row[1], day: row[2]})
    ON CREATE SET q.used = 0
    SET q.lock = 0
    WITH q, row
    RETURN row, q.used
    """
LOCK_COUNTERS: LiteralString = """
    UNWIND $p.counters AS row
    MATCH (q:KgQuota {subject: row[0], counted: row[1], day: row[2]})
    SET q.lock = 0
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

# The counters of an item i.
COUNTERS_OF: LiteralString = """
        UNWIND [subject IN coalesce(i.charged, []) | [subject, 'model_tokens', i.charge_day]]
            + [subject IN coalesce(i.keeps, []) | [subject, 'bytes', 0]] AS counter
        WITH DISTINCT counter"""
COUNTERS_LOCKED: LiteralString = (
    COUNTERS_OF
    + """ ORDER BY counter[0], counter[1], counter[2]
        MATCH (q:KgQuota {subject: counter[0], counted: counter[1], day: counter[2]})
        SET q.lock = 0
    }
    """
)
COUNTED_LOCKED: LiteralString = (
    """
    CALL () {
        UNWIND $p.counted AS uuid
        <SEEK i:KgItem uuid>
        WHERE i.charged IS NOT NULL
        WITH i"""
    + COUNTERS_LOCKED
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


class Receipts(Base):
    """IntakeStore without accept."""

    async def receipt(self, receipt_id: str) -> Receipt | None:
        parts = await self._run(_RECEIPT, receipt_id=receipt_id)
        items: list[ItemStatus] = []
        for group_id, created_ms, uuids, seqs, duplicates, current, found in parts:
            entries = zip(uuids, seqs, strict=True)
            statuses = present(group_id, receipt_id, created_ms, entries, found, current=current)
            items += [
                replace(status, duplicate=duplicate)
                for status, duplicate in zip(statuses, duplicates, strict=True)
            ]
        return Receipt(receipt_id, parts[0][0], parts[0][1], tuple(items)) if parts else None

    async def list_items(
        self, group_id: str, states: Collection[ItemState], limit: int, token: str | None
    ) -> Page[ItemStatus]:
        seq, uuid = _position(token)
        rows = await self._run(
            _LIST,
            group_id=group_id,
            states=[str(state) for state in _LIFE if not states or state in states],
            limit=limit + 1,
            seq=seq,
            uuid=uuid,
        )
        last = rows[limit - 1] if len(rows) > limit else None
        next_token = None if last is None else f"{last[10]}:{last[1]}"
        return Page(tuple(map(status_of, whole(rows[:limit], STATUS_OPTIONAL))), next_token)

    async def retry_items(self, group_id: str, uuids: Collection[str] | None, now_ms: int) -> list[str]:
        wanted = None if uuids is None else list(uuids)
        rows = await self._run(_RETRY, group_id=group_id, uuids=wanted, now_ms=now_ms, shard=self._shard())
        return list(rows[0][0]) if rows else []

    async def remove_receipts(self, before_ms: int, after: str, limit: int) -> str | None:
        since, _, after_id = after.partition(":")
        at_once = min(limit, _RECEIPTS_A_REMOVAL)
        rows = await self._run(
            _REMOVE,
            before_ms=before_ms,
            after_ms=int(since or _BEFORE_ALL),
            after_id=after_id,
            limit=at_once,
            deleted=GROUP_DELETED,
        )
        return "{}:{}".format(*rows[-1]) if len(rows) == at_once else None

    async def depth(self) -> QueueDepth:
        (row,) = await self._run(_DEPTH)
        return QueueDepth(*row)

    async def activity(self) -> int:
        ((count,),) = await self._run(_ACTIVITY)
        return int(count)

    async def used(self, counters: Collection[Counter]) -> dict[Counter, int]:
        rows = await self._run(_USED, counters=[list(counter) for counter in counters])
        return used_of(rows)

    async def spend(
        self, allowances: Sequence[Allowance], tokens: int, now_ms: int, within: bool = True
    ) -> None:
        counters = [list(counter) for counter in sorted(each.counter(now_ms) for each in allowances)]

        async def counted(tx: Tx) -> None:
            used = used_of(await tx.run(LOCK_USED, counters=counters))
            charges = spending_of(allowances, tokens, now_ms, used if within else None)
            await tx.run(CHARGE, **charging(charges))

        await self._transact(counted)


def present(
    group_id: str,
    receipt_id: str,
    created_ms: int,
    entries: Iterable[tuple[str, int]],
    found: Sequence[Row],
    *,
    current: bool = True,
) -> list[ItemStatus]:
    """The present state of each entry (uuid, seq), from STATUS columns and whether it is unfinished.

    An item that was sent again after its deletion has another seq: to the old receipt it stays deleted.
    `current`: the group is still in the epoch of the receipt. If not, the deletion may still be under way.
    """
    by_seq = {row[10]: row for row in whole(found, STATUS_OPTIONAL)}
    statuses: list[ItemStatus] = []
    for uuid, seq in entries:
        row = by_seq.get(seq)
        if row is None:
            statuses.append(ItemStatus(group_id, uuid, ItemState.DELETED, receipt_id, created_ms))
        elif current:
            statuses.append(status_of(row))
        else:
            parked = bool(row[16]) or row[8] == GROUP_DELETED
            statuses.append(of_deleted_group(*row[:2], *row[3:5], parked=parked))
    return statuses


def held_columns(batch: AcceptBatch, item: NewItem) -> list[Any]:
    """`charged`, `charge_day`, `held` and `keeps` of a new item."""
    holding = holding_of(batch)
    tokens = [list(holding.tokens), holding.day, item.tokens] if holding.tokens else [None, None, None]
    return [*tokens, list(holding.bytes) or None]


def used_of(rows: Iterable[Row]) -> dict[Counter, int]:
    """From rows of LOCK_USED and _USED."""
    return {(counter[0], counter[1], counter[2]): used for counter, used in rows}


def charging(charges: Mapping[Counter, int]) -> dict[str, Any]:
    """Parameters of CHARGE."""
    rows = [[*counter, amount] for counter, amount in sorted(charges.items())]
    return {"charges": rows, "days": _DAYS_KEPT}


def _position(token: str | None) -> tuple[int, str]:
    """Number and uuid of the last item of the page before. InvalidArgument: not a token of ours."""
    if token is None:
        return _BEFORE_ALL, ""
    number, colon, uuid = token.partition(":")
    if not (colon and number.isascii() and number.isdigit() and len(number) <= 19):
        raise InvalidArgument.of([Violation("page_token", "is not a page token of this listing")])
    return min(int(number), NEVER), uuid
