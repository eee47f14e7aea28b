"""Writing a group that comes from another store, out of sight until it is whole (TransferStore)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, dataclass

import apsw

from kgsvc.domain.errors import Conflict
from kgsvc.domain.model.delta import GroupHead
from kgsvc.domain.model.items import CRASH, ItemState, Step
from kgsvc.domain.model.moving import (
    ImportEnd,
    ImportPage,
    ImportStart,
    MovedDocument,
    MovedEpisode,
    MovedReceipt,
)
from kgsvc.stores.embedded.admin import EmbeddedAdmin, drop_import, has_content
from kgsvc.stores.embedded.apply import known_entities, write_delta
from kgsvc.stores.embedded.counts import count_items, note_activity, write_charges
from kgsvc.stores.embedded.fills import begin_fill
from kgsvc.stores.embedded.moving import moving
from kgsvc.stores.embedded.rows import (
    Row,
    all_rows,
    episode_row,
    first_row,
    group_of,
    json_list,
    new_gid,
    one_value,
    upsert,
)
from kgsvc.stores.embedded.schema import ID_BITS
from kgsvc.stores.embedded.vectors import space_of
from kgsvc.stores.embedded.writer import reading, writing
from kgsvc.stores.records import document_text, places_text, warnings_text
from kgsvc.stores.transfers import OVER, TAKEN, deltas_of, is_due, kept_by

_ATTEMPTS = (Step.EXTRACT.value, Step.EMBED.value, Step.UPSERT.value, CRASH)


@dataclass(frozen=True, slots=True)
class _Import:
    gid: int
    import_id: str
    epoch: int
    lines: int
    rev: int
    last_id: int


def _import(db: apsw.Connection, group_id: str) -> _Import | None:
    sql = "SELECT gid, import_id, epoch, lines, rev, last_id FROM imports WHERE group_id = ?"
    row = first_row(db, sql, (group_id,))
    return None if row is None else _Import(*row)


def _under_way(db: apsw.Connection, group_id: str, import_id: str) -> _Import:
    """Raises Conflict."""
    found = _import(db, group_id)
    if found is None or found.import_id != import_id or found.epoch != group_of(db, group_id).epoch:
        raise Conflict(OVER)
    return found


def _begin(db: apsw.Connection, start: ImportStart) -> int:
    group, found = group_of(db, start.group_id), _import(db, start.group_id)
    if group.gid and has_content(db, group.gid):
        raise Conflict(TAKEN)
    if found is not None and (found.import_id, found.epoch) == (start.import_id, group.epoch):
        return found.lines
    drop_import(db, start.group_id, start.now_ms)
    gid = new_gid(db)
    sql = "INSERT INTO imports (group_id, gid, import_id, epoch, last_id) VALUES (?, ?, ?, ?, ?)"
    # Items are numbered in order of acceptance: theirs are the first ids.
    db.execute(sql, (start.group_id, gid, start.import_id, group.epoch, (gid << ID_BITS) + start.episodes))
    return 0


def _write(db: apsw.Connection, page: ImportPage) -> None:
    found = _under_way(db, page.group_id, page.import_id)
    if found.lines != page.after:
        if found.lines >= page.upto:
            return
        raise Conflict(OVER)
    gid, rev = found.gid, found.rev + 1
    _write_documents(db, gid, [row for row in page.rows if isinstance(row, MovedDocument)])
    _write_episodes(db, gid, page, [row for row in page.rows if isinstance(row, MovedEpisode)])
    for row in page.rows:
        if isinstance(row, MovedReceipt):
            _write_receipt(db, gid, page.group_id, row)
    for delta in deltas_of(page.group_id, page.rows):
        write_delta(db, gid, rev, delta, known_entities(db, gid, delta))
    db.execute("UPDATE imports SET lines = ?, rev = ? WHERE group_id = ?", (page.upto, rev, page.group_id))


def _write_documents(db: apsw.Connection, gid: int, rows: list[MovedDocument]) -> None:
    sql = "INSERT INTO documents (gid, document_id, latest, data, places, open) VALUES (?, ?, ?, ?, ?, ?)"
    for row in rows:
        known = row.document
        texts = (document_text(known), places_text(row.places), int(not known.settled))
        db.execute(sql, (gid, known.document_id, known.latest, *texts))
        chunks = [(gid, uuid, known.document_id, int(active)) for uuid, active in row.chunks.items()]
        db.executemany(_CHUNK, chunks)
        former = [(gid, known.document_id, n, places_text(some)) for n, some in row.former.items()]
        db.executemany(_FORMER, former)


_FORMER = "INSERT INTO former_texts (gid, document_id, revision, places) VALUES (?, ?, ?, ?)"
_CHUNK = upsert("document_chunks", "gid, uuid", "document_id, active")
_EPISODE = """
    INSERT INTO episodes (id, gid, uuid, source, reference_ms, created_ms, name, source_description,
                          role_type, role, content_hash, body)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    """
_ITEM = """
    INSERT INTO items (id, gid, uuid, content_hash, rid, state, reference_ms, accepted_ms, updated_ms,
                       next_ms, bytes, extract_attempts, embed_attempts, upsert_attempts, crash_attempts,
                       step, reason, calls, prompt_tokens, completion_tokens, previous, warnings)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    """


def _write_episodes(db: apsw.Connection, gid: int, page: ImportPage, rows: list[MovedEpisode]) -> None:
    wanted = {row.item.receipt_id: row.item.accepted_ms for row in rows}
    rids = {receipt_id: _receipt(db, page, receipt_id, ms) for receipt_id, ms in sorted(wanted.items())}
    ids = {row.key: (gid << ID_BITS) + 1 + page.ranks[row.key] for row in rows}
    db.executemany(_EPISODE, [episode_row(ids[row.key], gid, row.episode) for row in rows])
    items = [_item_row(ids[row.key], gid, rids[row.item.receipt_id], row) for row in rows]
    db.executemany(_ITEM, items)
    parked = [row for row in rows if row.item.state is ItemState.PARKED]
    count_items(db, len([row for row in rows if is_due(row)]), len(parked))
    held = [
        (ids[row.key], subject, "bytes", 0, len(row.episode.body.encode()))
        for row in rows
        for subject in page.keepers
    ]
    write_charges(db, kept_by(page), held)


def _item_row(row_id: int, gid: int, rid: int, row: MovedEpisode) -> Row:
    item, episode = row.item, row.episode
    due = is_due(row)
    counts = {} if due else item.attempts
    said = (None, None) if due else (None if item.step is None else str(item.step), item.reason)
    times = (episode.reference_ms, item.accepted_ms, item.updated_ms, 0 if due else None)
    return (
        *(row_id, gid, row.key, episode.content_hash, rid, "accepted" if due else str(item.state), *times),
        *(len(episode.body.encode()), *(counts.get(name, 0) for name in _ATTEMPTS), *said),
        *(astuple(item.usage)),
        *(json_list(item.previous), warnings_text(item.warnings)),
    )


def _receipt(db: apsw.Connection, page: ImportPage, receipt_id: str, created_ms: int) -> int:
    """The row of a receipt, to be filled once its items are there. One whose id another group has stays that
    one's: then the import itself stands for it."""
    rid, owner = _known_receipt(db, receipt_id)
    if receipt_id and owner is None:
        return _new_receipt(db, receipt_id, page.group_id, created_ms)
    if receipt_id and owner == page.group_id:
        return rid
    own, owner = _known_receipt(db, page.import_id)
    return own if owner is not None else _new_receipt(db, page.import_id, page.group_id, created_ms)


def _known_receipt(db: apsw.Connection, receipt_id: str) -> tuple[int, str | None]:
    """A receipt's row and group; None: there is no such receipt."""
    sql = "SELECT rid, group_id FROM receipts WHERE receipt_id = ?"
    rid, owner = first_row(db, sql, (receipt_id,)) or (0, None)
    return rid, owner


def _new_receipt(db: apsw.Connection, receipt_id: str, group_id: str, created_ms: int) -> int:
    sql = "INSERT INTO receipts (receipt_id, group_id, created_ms, size) VALUES (?, ?, ?, 0) RETURNING rid"
    return int(one_value(db, sql, (receipt_id, group_id, created_ms)))


def _write_receipt(db: apsw.Connection, gid: int, group_id: str, row: MovedReceipt) -> None:
    rid, owner = _known_receipt(db, row.receipt_id)
    if owner not in (None, group_id):
        return
    if owner is None:
        rid = _new_receipt(db, row.receipt_id, group_id, row.created_ms)
    db.execute("DELETE FROM receipt_items WHERE rid = ?", (rid,))  # of a deleted group of this name
    sql = "UPDATE receipts SET created_ms = ?, size = ? WHERE rid = ?"
    db.execute(sql, (row.created_ms, len(row.items), rid))
    ids = _item_ids(db, gid, row)
    listed = [
        (rid, n, ids.get(each.uuid, 0) if each.there else 0, each.uuid, int(each.duplicate))
        for n, each in enumerate(row.items)
    ]
    sql = "INSERT INTO receipt_items (rid, pos, item_id, uuid, duplicate) VALUES (?, ?, ?, ?, ?)"
    db.executemany(sql, listed)


def _item_ids(db: apsw.Connection, gid: int, row: MovedReceipt) -> Mapping[str, int]:
    sql = "SELECT uuid, id FROM items WHERE gid = ? AND uuid IN (SELECT value FROM json_each(?))"
    return dict(all_rows(db, sql, (gid, json_list({each.uuid for each in row.items}))))


def _end(db: apsw.Connection, end: ImportEnd) -> GroupHead | None:
    """None: nothing of it stays, since the group is not as it was."""
    found = _import(db, end.group_id)
    if found is None or found.import_id != end.import_id:
        raise Conflict(OVER)
    group = group_of(db, end.group_id)
    if group.epoch != found.epoch or (group.gid and has_content(db, group.gid)):
        drop_import(db, end.group_id, end.now_ms)
        return None
    last_ms, epoch = max(group.last_ms, end.last_ms), group.epoch + 1
    if group.gid:
        db.execute("INSERT INTO dead_groups (gid, deleted_ms) VALUES (?, ?)", (group.gid, end.now_ms))
    else:
        sql = "INSERT INTO groups (group_id, gid, last_id, has_words) VALUES (?, ?, 0, 1)"
        db.execute(sql, (end.group_id, found.gid))
    sql = """
        UPDATE groups SET gid = ?, last_id = ?, epoch = ?, rev = ?, last_ms = ?, owner_id = NULL,
            ontology_rev = ontology_rev + 1, has_words = 1, space = ?, tidying = 0
        WHERE group_id = ?
        """
    space = space_of(db, found.gid)
    db.execute(sql, (found.gid, found.last_id, epoch, found.rev, last_ms, space, end.group_id))
    if end.ontology is not None:
        db.execute(upsert("ontologies", "gid", "yaml"), (found.gid, end.ontology))
    db.execute("DELETE FROM imports WHERE group_id = ?", (end.group_id,))
    note_activity(db)
    begin_fill(db, end.group_id, end.now_ms)
    return GroupHead(end.group_id, found.rev, epoch, last_ms, space)


class EmbeddedTransfers(EmbeddedAdmin):
    """TransferStore."""

    moving = reading(moving)
    begin_import = writing(_begin)
    write_import = writing(_write)

    async def end_import(self, end: ImportEnd) -> GroupHead:
        """See TransferStore."""
        head = await self._write(lambda db: _end(db, end))
        await self._purge()
        if head is None:
            raise Conflict(TAKEN)
        return head
