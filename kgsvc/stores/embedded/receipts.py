"""What became of items: receipts, listings, retries, counts (the rest of IntakeStore)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import apsw

from kgsvc.domain.errors import InvalidArgument, Violation
from kgsvc.domain.model.items import ItemState, ItemStatus, Receipt
from kgsvc.stores.admission import GROUP_DELETED, of_deleted_group
from kgsvc.stores.embedded.counts import count_items, read_used, spend
from kgsvc.stores.embedded.item_rows import ItemRow, read_items, status_of
from kgsvc.stores.embedded.modes import read_modes
from kgsvc.stores.embedded.rows import (
    Row,
    all_rows,
    first_row,
    group_of,
    id_span,
    json_ids,
    json_list,
    one_row,
    one_value,
)
from kgsvc.stores.embedded.writer import EmbeddedBase, reading, writing
from kgsvc.stores.intake_protocol import Activity, OpenWork, Page, QueueDepth

_ROWS_A_REMOVAL = 2_000  # of receipts, so that writers need not wait
_NEVER = 2**63 - 1  # the largest number that the engine knows


def present_states(
    db: apsw.Connection, receipt: tuple[str, str, int], entries: Sequence[tuple[int, str, bool]]
) -> tuple[ItemStatus, ...]:
    """The present states of a receipt's entries (item id, uuid, duplicate). `receipt`: id, group, created."""
    sql = "SELECT * FROM all_items WHERE id IN (SELECT value FROM json_each(?))"
    ids = json_ids(item_id for item_id, _uuid, _duplicate in entries)
    found = {item.id: item for item in map(ItemRow._make, all_rows(db, sql, (ids,)))}
    return tuple(
        replace(_present(receipt, found.get(item_id), uuid), duplicate=bool(duplicate))
        for item_id, uuid, duplicate in entries
    )


def _present(receipt: tuple[str, str, int], item: ItemRow | None, uuid: str) -> ItemStatus:
    receipt_id, group_id, created_ms = receipt
    if item is None:
        return ItemStatus(group_id, uuid, ItemState.DELETED, receipt_id, created_ms)
    if item.group_id is not None:
        return status_of(item)
    parked = item.next_ms is not None or item.reason == GROUP_DELETED
    at_ms = item.updated_ms if item.deleted_ms is None else item.deleted_ms
    return of_deleted_group(group_id, uuid, item.receipt_id, at_ms, parked=parked)


def _receipt(db: apsw.Connection, receipt_id: str) -> Receipt | None:
    row = first_row(db, "SELECT rid, group_id, created_ms FROM receipts WHERE receipt_id = ?", (receipt_id,))
    if row is None:
        return None
    rid, group_id, created_ms = row
    entries = all_rows(
        db, "SELECT item_id, uuid, duplicate FROM receipt_items WHERE rid = ? ORDER BY pos", (rid,)
    )
    items = present_states(db, (receipt_id, group_id, created_ms), entries)
    return Receipt(receipt_id, group_id, created_ms, items)


def _position(token: str | None) -> int:
    """The last id of the page before. InvalidArgument: not a token of ours."""
    if token is None:
        return 0
    if not (token.isascii() and token.isdigit() and len(token) <= 19):
        raise InvalidArgument.of([Violation("page_token", "is not a page token of this listing")])
    return min(int(token), _NEVER)


def _list_items(
    db: apsw.Connection, group_id: str, states: Collection[ItemState], limit: int, token: str | None
) -> Page[ItemStatus]:
    after = _position(token)
    group = group_of(db, group_id)
    first, last = id_span(group.gid)
    wanted = {ItemState(state) for state in states}
    if wanted == {ItemState.PARKED}:
        parked = "WHERE gid = ? AND state = 'parked' AND id > ? ORDER BY id LIMIT ?"
        items = read_items(db, parked, (group.gid, after, limit + 1))
    else:
        rest = """
            WHERE id > ? AND id <= ?
                AND (json_array_length(?3) = 0 OR state IN (SELECT value FROM json_each(?3)))
            ORDER BY id LIMIT ?4
            """
        items = read_items(db, rest, (max(after, first), last, json_list(wanted), limit + 1))
    token = str(items[limit - 1].id) if len(items) > limit else None
    return Page(tuple(map(status_of, items[:limit])), token)


def _retry_items(db: apsw.Connection, group_id: str, uuids: Collection[str] | None, now_ms: int) -> list[str]:
    group = group_of(db, group_id)
    sql = """
        UPDATE items SET state = 'accepted', next_ms = 0, updated_ms = ?, started = 0, suspect = 0,
            step = NULL, extract_attempts = 0, embed_attempts = 0, upsert_attempts = 0, crash_attempts = 0,
            reason = NULL
        WHERE gid = ? AND state = 'parked' AND (?3 IS NULL OR uuid IN (SELECT value FROM json_each(?3)))
        RETURNING id, uuid
        """
    rows = all_rows(db, sql, (now_ms, group.gid, None if uuids is None else json_list(uuids)))
    db.executemany("DELETE FROM stages WHERE id = ?", [(row_id,) for row_id, _uuid in rows])
    if rows:
        count_items(db, len(rows), -len(rows))
    return [uuid for _id, uuid in sorted(rows)]


def _remove_receipts(db: apsw.Connection, before_ms: int, after: str, limit: int) -> str | None:
    since_ms, _, last = after.partition(":")
    sql = """
        SELECT rid, size, created_ms, EXISTS (
            SELECT 1 FROM receipt_items l JOIN items i ON i.id = l.item_id
            WHERE l.rid = r.rid AND (i.next_ms IS NOT NULL OR i.state = 'parked' AND i.reason IS NOT ?4)
        ) FROM receipts r WHERE (created_ms, rid) > (?1, ?2) AND created_ms < ?3
        ORDER BY created_ms, rid LIMIT ?5
        """
    place = (int(since_ms or -_NEVER), int(last or 0))
    rows = _first(all_rows(db, sql, (*place, before_ms, GROUP_DELETED, limit)), _ROWS_A_REMOVAL)
    _remove(db, [rid for rid, _size, _created_ms, needed in rows if not needed])
    last_rid, _size, last_ms, _needed = rows[-1] if rows else (0, 0, 0, False)
    return f"{last_ms}:{last_rid}" if rows else None


def _remove(db: apsw.Connection, rids: Sequence[int]) -> None:
    """Receipts, and what deleted groups left of items for their sake."""
    going = json_ids(rids)
    sql = """
        DELETE FROM items WHERE reason = ?2 AND rid IN (SELECT value FROM json_each(?1)) AND id IN
            (SELECT item_id FROM receipt_items WHERE rid IN (SELECT value FROM json_each(?1)))
        """
    db.execute(sql, (going, GROUP_DELETED))
    for table in ("receipt_items", "receipts"):
        db.execute(f"DELETE FROM {table} WHERE rid IN (SELECT value FROM json_each(?))", (going,))


def _first(rows: Sequence[Row], most: int) -> list[Row]:
    """Receipts that together list about so many items, one at least."""
    taken: list[Row] = []
    size = 0
    for row in rows:
        _rid, listed, *_more = row
        if taken and size + listed > most:
            break
        taken.append(row)
        size += listed
    return taken


def _depth(db: apsw.Connection) -> QueueDepth:
    sql = """
        SELECT unfinished, parked, (SELECT min(accepted_ms) FROM items WHERE next_ms IS NOT NULL)
        FROM totals WHERE id = 1
        """
    row = one_row(db, sql)
    return QueueDepth(*row)


def _open_work(db: apsw.Connection) -> OpenWork:
    sql = """
        SELECT EXISTS (SELECT 1 FROM documents WHERE open = 1),
            EXISTS (SELECT 1 FROM community_builds WHERE next_ms IS NOT NULL), EXISTS (SELECT 1 FROM fills),
            EXISTS (SELECT 1 FROM erasures WHERE completed_ms IS NULL), (SELECT max(asked_ms) FROM erasures)
        """
    documents, builds, fills, erasures, erased_ms = one_row(db, sql)
    return OpenWork(bool(documents), bool(builds), bool(fills), bool(erasures), erased_ms)


def _activity(db: apsw.Connection) -> Activity:
    count = int(one_value(db, "SELECT activity FROM totals WHERE id = 1"))
    return Activity(count, count, read_modes(db), _depth(db), _open_work(db))


class EmbeddedReceipts(EmbeddedBase):
    """IntakeStore without accept."""

    used = reading(read_used)
    spend = writing(spend)
    receipt = reading(_receipt)
    list_items = reading(_list_items)
    retry_items = writing(_retry_items)
    remove_receipts = writing(_remove_receipts)
    activity = reading(_activity)
