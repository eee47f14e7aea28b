"""What became of items: receipts, listings, retries, counts (the rest of IntakeStore)."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import apsw

from kgsvc.domain.errors import InvalidArgument, Violation
from kgsvc.domain.model.items import ItemState, ItemStatus, Receipt
from kgsvc.stores.embedded.base import EmbeddedBase, reading, writing
from kgsvc.stores.embedded.groups import group_of, id_span
from kgsvc.stores.embedded.rows import Row, all_rows, first_row, json_ids, json_list, one_row, status_of
from kgsvc.stores.protocol import Page, QueueDepth

GROUP_DELETED = "group_deleted"
NEVER = 2**63 - 1  # the largest number that the engine knows


def present_states(
    db: apsw.Connection, receipt: tuple[str, str, int], entries: Sequence[tuple[int, str, bool]]
) -> tuple[ItemStatus, ...]:
    """The present states of a receipt's entries (item id, uuid, duplicate). `receipt`: id, group, created."""
    rows = all_rows(
        db,
        "SELECT * FROM all_items WHERE id IN (SELECT value FROM json_each(?))",
        (json_ids(entry[0] for entry in entries),),
    )
    found = {row[0]: row for row in rows}
    return tuple(_present(receipt, found.get(item_id), uuid, dup) for item_id, uuid, dup in entries)


def _present(receipt: tuple[str, str, int], row: Row | None, uuid: str, duplicate: bool) -> ItemStatus:
    receipt_id, group_id, created_ms = receipt
    if row is None:
        return ItemStatus(
            group_id, uuid, ItemState.DELETED, receipt_id, created_ms, duplicate=bool(duplicate)
        )
    if row[2] is not None:
        return status_of(row, duplicate=bool(duplicate))
    unfinished, deleted_ms = row[13] is not None, row[14]
    closed = row[10] == GROUP_DELETED
    return ItemStatus(
        group_id,
        uuid,
        ItemState.PARKED if unfinished or closed else ItemState.DELETED,
        row[5],
        row[6] if deleted_ms is None else deleted_ms,
        reason=GROUP_DELETED if unfinished or closed else None,
        duplicate=bool(duplicate),
    )


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
    return min(int(token), NEVER)


def _list_items(
    db: apsw.Connection, group_id: str, states: Collection[ItemState], limit: int, token: str | None
) -> Page[ItemStatus]:
    after = _position(token)
    group = group_of(db, group_id)
    first, last = id_span(group.gid)
    wanted = {ItemState(state) for state in states}
    if wanted == {ItemState.PARKED}:
        rows = _parked_rows(db, group.gid, after, limit + 1)
    else:
        sql = """
            SELECT * FROM live_items WHERE id > ? AND id <= ?
                AND (json_array_length(?3) = 0 OR state IN (SELECT value FROM json_each(?3)))
            ORDER BY id LIMIT ?4
            """
        rows = all_rows(db, sql, (max(after, first), last, json_list(wanted), limit + 1))
    token = str(rows[limit - 1][0]) if len(rows) > limit else None
    return Page(tuple(status_of(row) for row in rows[:limit]), token)


def _parked_rows(db: apsw.Connection, gid: int, after: int, limit: int) -> list[Row]:
    return all_rows(
        db,
        "SELECT * FROM live_items WHERE gid = ? AND state = 'parked' AND id > ? ORDER BY id LIMIT ?",
        (gid, after, limit),
    )


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
    db.executemany("DELETE FROM stages WHERE id = ?", [(row[0],) for row in rows])
    return [uuid for _id, uuid in sorted(rows)]


def _depth(db: apsw.Connection) -> QueueDepth:
    row = one_row(
        db,
        """
        SELECT unfinished, parked, (SELECT min(accepted_ms) FROM items WHERE next_ms IS NOT NULL)
        FROM totals WHERE id = 1
        """,
    )
    return QueueDepth(*row)


def _activity(db: apsw.Connection) -> int:
    return int(one_row(db, "SELECT activity FROM totals WHERE id = 1")[0])


class EmbeddedReceipts(EmbeddedBase):
    """IntakeStore without accept."""

    receipt = reading(_receipt)
    retry_items = writing(_retry_items)
    depth = reading(_depth)
    activity = reading(_activity)
    list_items = reading(_list_items)
