"""Accepting calls, the answers under their idempotency keys, and what became of their items (IntakeStore)."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

import apsw

from kgsvc.domain.errors import InvalidArgument, Violation
from kgsvc.domain.model.delta import Claim
from kgsvc.domain.model.items import AcceptBatch, Accepted, ItemState, ItemStatus, NewItem, Receipt
from kgsvc.stores.admission import (
    GROUP_DELETED,
    Admission,
    Known,
    KnownAnswer,
    KnownItem,
    KnownReceipt,
    admit_all,
    key_of,
    of_deleted_group,
)
from kgsvc.stores.embedded.quotas import held_rows, read_used, spend, write_charges
from kgsvc.stores.embedded.rows import (
    Row,
    all_rows,
    episode_row,
    first_row,
    group_of,
    id_span,
    json_ids,
    json_list,
    make_group,
    one_row,
    status_of,
    take_ids,
)
from kgsvc.stores.embedded.writer import EmbeddedBase, reading, writing
from kgsvc.stores.intake_protocol import Page, QueueDepth
from kgsvc.stores.quotas import counters_of, sum_of

NEVER = 2**63 - 1  # the largest number that the engine knows


def present_states(
    db: apsw.Connection, receipt: tuple[str, str, int], entries: Sequence[tuple[int, str, bool]]
) -> tuple[ItemStatus, ...]:
    """The present states of a receipt's entries (item id, uuid, duplicate). `receipt`: id, group, created."""
    sql = "SELECT * FROM all_items WHERE id IN (SELECT value FROM json_each(?))"
    found = {row[0]: row for row in all_rows(db, sql, (json_ids(entry[0] for entry in entries),))}
    return tuple(
        replace(_present(receipt, found.get(item_id), uuid), duplicate=bool(duplicate))
        for item_id, uuid, duplicate in entries
    )


def _present(receipt: tuple[str, str, int], row: Row | None, uuid: str) -> ItemStatus:
    receipt_id, group_id, created_ms = receipt
    if row is None:
        return ItemStatus(group_id, uuid, ItemState.DELETED, receipt_id, created_ms)
    if row[2] is not None:
        return status_of(row)
    parked = row[13] is not None or row[10] == GROUP_DELETED
    return of_deleted_group(group_id, uuid, row[5], row[6] if row[14] is None else row[14], parked=parked)


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
    sql = """
        SELECT unfinished, parked, (SELECT min(accepted_ms) FROM items WHERE next_ms IS NOT NULL)
        FROM totals WHERE id = 1
        """
    row = one_row(db, sql)
    return QueueDepth(*row)


def _activity(db: apsw.Connection) -> int:
    return int(one_row(db, "SELECT activity FROM totals WHERE id = 1")[0])


@dataclass(slots=True)
class _Ids:
    """Row ids of the items and receipts that the calls concern; new rows add theirs."""

    items: dict[tuple[str, str], int] = field(default_factory=dict)  # by group_id and uuid
    receipts: dict[str, int] = field(default_factory=dict)


def _accept(db: apsw.Connection, batches: Sequence[AcceptBatch]) -> list[Accepted | Exception]:
    known, ids = Known(one_row(db, "SELECT unfinished FROM totals WHERE id = 1")[0]), _Ids()
    for group_id in {batch.group_id: None for batch in batches}:
        _read_group(db, group_id, [batch for batch in batches if batch.group_id == group_id], known, ids)
    _read_receipts(db, batches, known, ids)
    known.used = read_used(db, counters_of(batches))
    outcomes, admissions = admit_all(batches, known)
    if admissions:
        _write(db, admissions, ids)
    return outcomes


def _read_group(
    db: apsw.Connection, group_id: str, batches: Sequence[AcceptBatch], known: Known, ids: _Ids
) -> None:
    """What is known of the items and keys of one group's calls."""
    gid = group_of(db, group_id).gid
    rows = all_rows(
        db,
        "SELECT * FROM live_items WHERE gid = ? AND uuid IN (SELECT value FROM json_each(?))",
        (gid, json_list({item.episode.uuid for batch in batches for item in batch.items})),
    )
    for row in rows:
        known.items[group_id, row[3]] = KnownItem(status_of(row), row[11])
        ids.items[group_id, row[3]] = row[0]
    for batch in batches:
        if (key := key_of(batch)) is not None:
            answer = known_answer(db, gid, *key[1:], batch.now_ms)
            if answer is not None:
                known.answers[key] = _answer_of(db, group_id, answer)


def _answer_of(db: apsw.Connection, group_id: str, answer: KeptAnswer) -> KnownAnswer:
    if answer.rid is None:
        return KnownAnswer(answer.input_hash, answer.expires_ms, None, ())
    receipt_id, created_ms = one_row(
        db, "SELECT receipt_id, created_ms FROM receipts WHERE rid = ?", (answer.rid,)
    )
    entries = [(row_id, uuid, True) for row_id, uuid in answer.items]
    statuses = present_states(db, (receipt_id, group_id, created_ms), entries)
    return KnownAnswer(answer.input_hash, answer.expires_ms, receipt_id, statuses)


def _read_receipts(db: apsw.Connection, batches: Sequence[AcceptBatch], known: Known, ids: _Ids) -> None:
    """The receipts of the known items, and those that have the calls' receipt ids."""
    wanted = {batch.receipt_id for batch in batches}
    wanted.update(item.status.receipt_id for item in known.items.values())
    sql = """
        SELECT receipt_id, rid, group_id, size FROM receipts
        WHERE receipt_id IN (SELECT value FROM json_each(?))
        """
    rows = all_rows(db, sql, (json_list(wanted),))
    for receipt_id, rid, group_id, size in rows:
        known.receipts[receipt_id] = KnownReceipt(group_id, size)
        ids.receipts[receipt_id] = rid


def _write(db: apsw.Connection, admissions: Sequence[Admission], ids: _Ids) -> None:
    episodes: list[Row] = []
    items: list[Row] = []
    listed: list[Row] = []
    answers: list[KeptAnswer] = []
    held: list[Row] = []
    for made in admissions:
        batch, shown = made.batch, made.answer.items
        gid = make_group(db, batch.group_id).gid
        if made.records_receipt:
            ids.receipts[batch.receipt_id] = _write_receipt(db, made)
        rid = ids.receipts[made.answer.receipt_id]
        for item, row_id in zip(made.fresh, take_ids(db, gid, len(made.fresh)), strict=True):
            ids.items[batch.group_id, item.episode.uuid] = row_id
            episodes.append(episode_row(row_id, gid, item.episode))
            items.append(_item_row(row_id, gid, rid, item, batch.now_ms))
            held += held_rows(row_id, batch, item)
        pairs = tuple((ids.items[batch.group_id, status.uuid], status.uuid) for status in shown)
        if made.records_receipt:
            listed += [(rid, n, *pairs[n], int(status.duplicate)) for n, status in enumerate(shown)]
        if batch.idempotency_key is not None:
            key = (gid, batch.operation, batch.idempotency_key)
            answers.append(KeptAnswer(*key, batch.input_hash, made.expires_ms, rid, pairs))
    _insert(db, episodes, items, listed)
    write_charges(db, sum_of(made.charges for made in admissions), held)
    if answers:
        keep_answers(db, answers, max(made.batch.now_ms for made in admissions))


def _write_receipt(db: apsw.Connection, made: Admission) -> int:
    batch = made.batch
    (rid,) = one_row(
        db,
        "INSERT INTO receipts (receipt_id, group_id, created_ms, size) VALUES (?, ?, ?, ?) RETURNING rid",
        (batch.receipt_id, batch.group_id, batch.now_ms, len(made.answer.items)),
    )
    return int(rid)


def _item_row(row_id: int, gid: int, rid: int, item: NewItem, now_ms: int) -> Row:
    episode = item.episode
    return (
        row_id,
        gid,
        episode.uuid,
        episode.content_hash,
        rid,
        episode.reference_ms,
        now_ms,
        len(episode.body.encode()),
        json_list(item.previous),
        item.request_id,
    )


def _insert(db: apsw.Connection, episodes: list[Row], items: list[Row], listed: list[Row]) -> None:
    sql = """
        INSERT INTO episodes (id, gid, uuid, source, reference_ms, created_ms, name, source_description,
                              role_type, role, content_hash, body)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """
    db.executemany(sql, episodes)
    sql = """
        INSERT INTO items (id, gid, uuid, content_hash, rid, state, reference_ms, accepted_ms, updated_ms,
                           next_ms, bytes, previous, request_id)
        VALUES (?, ?, ?, ?, ?, 'accepted', ?, ?7, ?7, 0, ?, ?, ?)
        """
    db.executemany(sql, items)
    db.executemany(
        "INSERT INTO receipt_items (rid, pos, item_id, uuid, duplicate) VALUES (?, ?, ?, ?, ?)", listed
    )


_LAPSED_A_CALL = 50  # lapsed keys that recording a new one clears away


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    """What a key stands for. An accepted call has a receipt, and `items` (id, uuid) in its order."""

    gid: int
    operation: str
    key: str
    input_hash: str
    expires_ms: int
    rid: int | None = None
    items: tuple[tuple[int, str], ...] = ()


def claimed(gid: int, claim: Claim, items: tuple[tuple[int, str], ...] = ()) -> KeptAnswer:
    """The answer to record for a change of the graph."""
    until_ms = claim.now_ms + claim.dedup_window_ms
    return KeptAnswer(gid, claim.operation, claim.key, claim.input_hash, until_ms, items=items)


def known_answer(db: apsw.Connection, gid: int, operation: str, key: str, now_ms: int) -> KeptAnswer | None:
    """What the key stands for, within its window."""
    sql = """
        SELECT input_hash, expires_ms, rid, items FROM answers
        WHERE gid = ? AND operation = ? AND key = ? AND expires_ms > ?
        """
    row = first_row(db, sql, (gid, operation, key, now_ms))
    if row is None:
        return None
    input_hash, expires_ms, rid, items = row
    pairs = tuple((row_id, uuid) for row_id, uuid in json.loads(items))
    return KeptAnswer(gid, operation, key, input_hash, expires_ms, rid, pairs)


def keep_answers(db: apsw.Connection, answers: Sequence[KeptAnswer], now_ms: int) -> None:
    """Record keys, in the place of those that lapsed."""
    sql = """
        DELETE FROM answers WHERE (gid, operation, key) IN
            (SELECT gid, operation, key FROM answers WHERE expires_ms <= ? ORDER BY expires_ms LIMIT ?)
        """
    db.execute(sql, (now_ms, _LAPSED_A_CALL * len(answers)))
    sql = """
        INSERT INTO answers (gid, operation, key, input_hash, rid, items, expires_ms)
        VALUES (?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT (gid, operation, key) DO UPDATE SET input_hash = excluded.input_hash, rid = excluded.rid,
            items = excluded.items, expires_ms = excluded.expires_ms
        """
    db.executemany(sql, [_answer_row(answer) for answer in answers])


def _answer_row(answer: KeptAnswer) -> Row:
    items = json.dumps(answer.items, ensure_ascii=False)
    return (
        answer.gid,
        answer.operation,
        answer.key,
        answer.input_hash,
        answer.rid,
        items,
        answer.expires_ms,
    )


class EmbeddedIntake(EmbeddedBase):
    """IntakeStore."""

    accept = writing(_accept)
    used = reading(read_used)
    spend = writing(spend)
    receipt = reading(_receipt)
    list_items = reading(_list_items)
    retry_items = writing(_retry_items)
    depth = reading(_depth)
    activity = reading(_activity)
