"""Accepting calls (IntakeStore.accept): everything is looked up first, then written by executemany."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import apsw

from kgsvc.domain.errors import Conflict, Overloaded, Violation
from kgsvc.domain.model.items import AcceptBatch, Accepted, ItemState, ItemStatus, NewItem
from kgsvc.stores.embedded.answers import Key, keep_answer, known_answer
from kgsvc.stores.embedded.base import Base
from kgsvc.stores.embedded.groups import find_group, make_group, take_ids
from kgsvc.stores.embedded.receipts import present_states
from kgsvc.stores.embedded.rows import Row, all_rows, episode_row, json_list, one_row, status_of

_RETRY_AFTER_MS = 1_000


@dataclass(slots=True)
class _Entry:
    """An item of the call: its row's id, known or new, and what the caller is told."""

    item: NewItem
    row_id: int
    rid: int | None  # its receipt; None: this call's
    status: ItemStatus


class Intake(Base):
    """IntakeStore.accept."""

    async def accept(self, batches: Sequence[AcceptBatch]) -> list[Accepted | Exception]:
        """See IntakeStore."""
        return await self._write(_accept_all, batches)


def _accept_all(db: apsw.Connection, batches: Sequence[AcceptBatch]) -> list[Accepted | Exception]:
    outcomes: list[Accepted | Exception] = []
    for batch in batches:
        try:
            with db:  # a savepoint: a refused batch leaves nothing behind
                outcomes.append(_accept(db, batch))
        except (Conflict, Overloaded) as refusal:
            outcomes.append(refusal)
    return outcomes


def _accept(db: apsw.Connection, batch: AcceptBatch) -> Accepted:
    replay = _replay(db, batch)
    if replay is not None:
        return replay
    entries = _look_up(db, batch)
    fresh = [entry for entry in entries if entry.rid is None and not entry.status.duplicate]
    _check_room(db, batch, len(fresh))
    gid = make_group(db, batch.group_id).gid
    rid, receipt_id, known = _receipt(db, batch, entries)
    if not known:
        _write_items(db, batch, gid, rid, fresh)
        _settle_own_duplicates(entries)
        _write_receipt_items(db, rid, entries)
    key = _key(batch)
    if key is not None:
        keep_answer(db, gid, key, rid, [(entry.row_id, entry.status.uuid) for entry in entries])
    return Accepted(receipt_id, tuple(entry.status for entry in entries))


def _key(batch: AcceptBatch) -> Key | None:
    if batch.idempotency_key is None:
        return None
    return Key(batch.operation, batch.idempotency_key, batch.input_hash, batch.now_ms, batch.dedup_window_ms)


def _replay(db: apsw.Connection, batch: AcceptBatch) -> Accepted | None:
    """The first answer to a key that is known. Conflict: it is known for something else."""
    key, group = _key(batch), find_group(db, batch.group_id)
    answer = None if key is None or group is None else known_answer(db, group.gid, key)
    if answer is None:
        return None
    if answer.rid is None:
        raise Conflict("the idempotency key stands for another operation")
    receipt_id, created_ms = one_row(
        db, "SELECT receipt_id, created_ms FROM receipts WHERE rid = ?", (answer.rid,)
    )
    entries = [(row_id, uuid, True) for row_id, uuid in answer.items]
    return Accepted(receipt_id, present_states(db, (receipt_id, batch.group_id, created_ms), entries))


def _look_up(db: apsw.Connection, batch: AcceptBatch) -> list[_Entry]:
    """The call's items with what is known of them. Conflict: a uuid is known with other content."""
    known = _known_items(db, batch)
    entries: list[_Entry] = []
    own: dict[str, _Entry] = {}
    taken: list[Violation] = []
    for i, item in enumerate(batch.items):
        episode = item.episode
        row, first = known.get(episode.uuid), own.get(episode.uuid)
        if row is not None:
            entry = _Entry(item, row[0], row[12], status_of(row, duplicate=True))
            same = row[11] == episode.content_hash
        else:
            entry = _Entry(item, 0, None, _new_status(batch, item, duplicate=first is not None))
            same = first is None or first.item.episode.content_hash == episode.content_hash
            own.setdefault(episode.uuid, entry)
        entries.append(entry)
        if not same:
            taken.append(Violation(f"items[{i}].uuid", "belongs to an item with other content"))
    if taken:
        raise Conflict("; ".join(f"{v.field} {v.description}" for v in taken), taken)
    return entries


def _known_items(db: apsw.Connection, batch: AcceptBatch) -> dict[str, Row]:
    group = find_group(db, batch.group_id)
    if group is None:
        return {}
    uuids = json_list([item.episode.uuid for item in batch.items])
    rows = all_rows(
        db,
        "SELECT * FROM live_items WHERE gid = ? AND uuid IN (SELECT value FROM json_each(?))",
        (group.gid, uuids),
    )
    return {row[3]: row for row in rows}


def _new_status(batch: AcceptBatch, item: NewItem, *, duplicate: bool) -> ItemStatus:
    episode = item.episode
    return ItemStatus(
        batch.group_id,
        episode.uuid,
        ItemState.ACCEPTED,
        batch.receipt_id,
        batch.now_ms,
        episode.name,
        duplicate=duplicate,
    )


def _check_room(db: apsw.Connection, batch: AcceptBatch, fresh: int) -> None:
    (unfinished,) = one_row(db, "SELECT unfinished FROM totals WHERE id = 1")
    if fresh and unfinished + fresh > batch.queue_items:
        raise Overloaded("the queue is full", _RETRY_AFTER_MS)


def _receipt(db: apsw.Connection, batch: AcceptBatch, entries: list[_Entry]) -> tuple[int, str, bool]:
    """The receipt that answers the call, and whether it is one that has all the items already."""
    homes = {entry.rid for entry in entries}
    home = homes.pop() if len(homes) == 1 else None
    if home is not None:
        row = one_row(db, "SELECT receipt_id, size FROM receipts WHERE rid = ?", (home,))
        if row[1] == len(entries):
            return home, row[0], True
    rows = all_rows(
        db,
        """
        INSERT INTO receipts (receipt_id, group_id, created_ms, size) VALUES (?, ?, ?, ?)
        ON CONFLICT (receipt_id) DO NOTHING RETURNING rid
        """,
        (batch.receipt_id, batch.group_id, batch.now_ms, len(entries)),
    )
    if not rows:
        raise Conflict("the receipt id stands for another call")
    return int(rows[0][0]), batch.receipt_id, False


def _write_items(db: apsw.Connection, batch: AcceptBatch, gid: int, rid: int, fresh: list[_Entry]) -> None:
    for entry, row_id in zip(fresh, take_ids(db, gid, len(fresh)), strict=True):
        entry.row_id = row_id
    db.executemany(
        """
        INSERT INTO episodes (id, gid, uuid, source, reference_ms, created_ms, name, source_description,
                              role_type, role, content_hash, body)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """,
        [episode_row(entry.row_id, gid, entry.item.episode) for entry in fresh],
    )
    db.executemany(
        """
        INSERT INTO items (id, gid, uuid, content_hash, rid, state, reference_ms, accepted_ms, updated_ms,
                           next_ms, bytes, previous)
        VALUES (?, ?, ?, ?, ?, 'accepted', ?, ?7, ?7, 0, ?, ?)
        """,
        [_item_row(entry, batch, gid, rid) for entry in fresh],
    )


def _item_row(entry: _Entry, batch: AcceptBatch, gid: int, rid: int) -> Row:
    episode = entry.item.episode
    return (
        entry.row_id,
        gid,
        episode.uuid,
        episode.content_hash,
        rid,
        episode.reference_ms,
        batch.now_ms,
        len(episode.body.encode()),
        json_list(entry.item.previous),
    )


def _settle_own_duplicates(entries: list[_Entry]) -> None:
    """An item named twice in one call is the row of its first mention."""
    ids = {entry.item.episode.uuid: entry.row_id for entry in entries if entry.row_id}
    for entry in entries:
        entry.row_id = entry.row_id or ids[entry.item.episode.uuid]


def _write_receipt_items(db: apsw.Connection, rid: int, entries: list[_Entry]) -> None:
    db.executemany(
        "INSERT INTO receipt_items (rid, pos, item_id, uuid, duplicate) VALUES (?, ?, ?, ?, ?)",
        [
            (rid, pos, entry.row_id, entry.status.uuid, int(entry.status.duplicate))
            for pos, entry in enumerate(entries)
        ],
    )
