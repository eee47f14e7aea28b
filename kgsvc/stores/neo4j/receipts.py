"""What became of items: receipts, listings, retries, counts (the rest of IntakeStore)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import LiteralString

from kgsvc.domain.errors import InvalidArgument, Violation
from kgsvc.domain.model.items import ItemState, ItemStatus, Receipt
from kgsvc.domain.model.modes import ServiceModes
from kgsvc.stores.admission import GROUP_DELETED, of_deleted_group
from kgsvc.stores.intake_protocol import Activity, OpenWork, Page, QueueDepth
from kgsvc.stores.neo4j.modes import MODES
from kgsvc.stores.neo4j.quotas import Quotas
from kgsvc.stores.neo4j.rows import NEVER, Row, StatusRow, first_value, status_of, status_rows

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
        RETURN collect([<STATUS>]) AS items, collect(CASE WHEN i:KgPending THEN i.seq END) AS unfinished,
            max(i.state = 'completed') AS settles
    }
    CALL (g, settles) {
        WITH g WHERE settles
        SET g.lock = 0
    }
    RETURN c.group_id, c.created_ms, c.uuids, c.seqs, c.duplicates, c.epoch = g.epoch, items, unfinished
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

_ACTIVITY: LiteralString = (
    """
    MATCH (a:KgActivity)
    WITH sum(a.count) AS work, sum(a.changes) AS changes
    CALL () { MATCH (i:KgPending) RETURN count(i) AS unfinished }
    CALL () { MATCH (i:KgParked) RETURN count(i) AS parked }
    CALL () {
        OPTIONAL MATCH (i:KgPending) WHERE i.accepted_ms IS NOT NULL
        RETURN i.accepted_ms AS oldest ORDER BY i.accepted_ms LIMIT 1
    }
    CALL () {
        OPTIONAL MATCH (x:KgErasure) WHERE x.asked_ms >= 0
        RETURN x.asked_ms AS erased ORDER BY x.asked_ms DESC LIMIT 1
    }
    MATCH (s:KgSchema {name: 'kgsvc'})
    RETURN work, work + changes, [unfinished, parked, oldest], [
        EXISTS { MATCH (d:KgDocument) USING INDEX SEEK d:KgDocument(open) WHERE d.open = true },
        EXISTS { MATCH (b:KgBuild) USING INDEX SEEK b:KgBuild(next_ms) WHERE b.next_ms >= 0 },
        EXISTS { MATCH (f:KgFill) USING INDEX SEEK f:KgFill(next_ms) WHERE f.next_ms >= 0 },
        EXISTS { MATCH (x:KgErasure) USING INDEX SEEK x:KgErasure(open) WHERE x.open = true },
        erased
    ], """
    + MODES
)


class Receipts(Quotas):
    """IntakeStore without accept."""

    async def receipt(self, receipt_id: str) -> Receipt | None:
        parts = await self._run(_RECEIPT, receipt_id=receipt_id)
        receipt: Receipt | None = None
        for group_id, created_ms, uuids, seqs, duplicates, current, found, unfinished in parts:
            entries = zip(uuids, seqs, strict=True)
            ended = None if current else set(seqs).difference(unfinished)
            statuses = present(group_id, receipt_id, created_ms, entries, found, ended)
            items = map(_with_duplicate, statuses, duplicates)
            before = receipt or Receipt(receipt_id, group_id, created_ms, ())
            receipt = replace(before, items=(*before.items, *items))
        return receipt

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
        shown = rows[:limit]
        *_, last = [None, *map(StatusRow._make, shown)]
        next_token = None if last is None or len(rows) <= limit else f"{last.seq}:{last.uuid}"
        return Page(tuple(map(status_of, status_rows(shown))), next_token)

    async def retry_items(self, group_id: str, uuids: Collection[str] | None, now_ms: int) -> list[str]:
        wanted = None if uuids is None else list(uuids)
        rows = await self._run(_RETRY, group_id=group_id, uuids=wanted, now_ms=now_ms, shard=self._shard())
        return list(first_value(rows) or ())

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
        if len(rows) < at_once:
            return None
        *_, (created_ms, receipt_id) = rows
        return f"{created_ms}:{receipt_id}"

    async def activity(self) -> Activity:
        ((work, changes, depth, open_work, *modes),) = await self._run(_ACTIVITY)
        return Activity(work, changes, ServiceModes(*modes), QueueDepth(*depth), OpenWork(*open_work))


def present(
    group_id: str,
    receipt_id: str,
    created_ms: int,
    entries: Iterable[tuple[str, int]],
    found: Sequence[Row],
    ended: Collection[int] | None = None,
) -> list[ItemStatus]:
    """The present state of each entry (uuid, seq), from STATUS columns.

    An item that was sent again after its deletion has another seq: to the old receipt it stays deleted.
    `ended`: the group has left the epoch of the receipt, and these are not unfinished; the deletion may still
    be under way.
    """
    rows = {(row.uuid, row.seq): row for row in status_rows(found)}  # two processes may give one seq
    statuses: list[ItemStatus] = []
    for uuid, seq in entries:
        row = rows.get((uuid, seq))
        if row is None:
            statuses.append(ItemStatus(group_id, uuid, ItemState.DELETED, receipt_id, created_ms))
        elif ended is None:
            statuses.append(status_of(row))
        else:
            parked = seq not in ended or row.reason == GROUP_DELETED
            known = (row.group_id, row.uuid, row.receipt_id, row.updated_ms)
            statuses.append(of_deleted_group(*known, parked=parked))
    return statuses


def _with_duplicate(status: ItemStatus, duplicate: bool) -> ItemStatus:
    return replace(status, duplicate=duplicate)


def _position(token: str | None) -> tuple[int, str]:
    """Number and uuid of the last item of the page before. InvalidArgument: not a token of ours."""
    if token is None:
        return _BEFORE_ALL, ""
    number, colon, uuid = token.partition(":")
    if not (colon and number.isascii() and number.isdigit() and len(number) <= 19):
        raise InvalidArgument.of([Violation("page_token", "is not a page token of this listing")])
    return min(int(number), NEVER), uuid
