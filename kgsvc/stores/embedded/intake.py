"""Accepting calls, and the answers under their idempotency keys (IntakeStore.accept)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

import apsw

from kgsvc.domain.model.delta import Claim
from kgsvc.domain.model.items import AcceptBatch, Accepted, NewItem
from kgsvc.stores.admission import (
    Admission,
    Known,
    KnownAnswer,
    KnownItem,
    KnownReceipt,
    admit_all,
    counters_of,
    key_of,
    sum_of,
)
from kgsvc.stores.embedded.counts import count_items, held_rows, read_used, write_charges
from kgsvc.stores.embedded.item_rows import read_items, status_of
from kgsvc.stores.embedded.receipts import EmbeddedReceipts, present_states
from kgsvc.stores.embedded.rows import (
    Row,
    all_rows,
    episode_row,
    first_row,
    group_of,
    json_list,
    make_group,
    one_row,
    one_value,
    take_ids,
    upsert,
)
from kgsvc.stores.embedded.writer import writing


@dataclass(slots=True)
class _Ids:
    """Row ids of the items and receipts that the calls concern; new rows add theirs."""

    items: dict[tuple[str, str], int] = field(default_factory=dict)  # by group_id and uuid
    receipts: dict[str, int] = field(default_factory=dict)


def _accept(db: apsw.Connection, batches: Sequence[AcceptBatch]) -> list[Accepted | Exception]:
    known, ids = Known(one_value(db, "SELECT unfinished FROM totals WHERE id = 1")), _Ids()
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
    uuids = json_list({item.episode.uuid for batch in batches for item in batch.items})
    for item in read_items(db, "WHERE gid = ? AND uuid IN (SELECT value FROM json_each(?))", (gid, uuids)):
        known.items[group_id, item.uuid] = KnownItem(status_of(item), item.content_hash)
        ids.items[group_id, item.uuid] = item.id
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
        SELECT receipt_id, rid, group_id, size, created_ms FROM receipts
        WHERE receipt_id IN (SELECT value FROM json_each(?))
        """
    rows = all_rows(db, sql, (json_list(wanted),))
    for receipt_id, rid, *listed in rows:
        known.receipts[receipt_id] = KnownReceipt(*listed)
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
        item.trace,
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
                           next_ms, bytes, previous, request_id, trace)
        VALUES (?, ?, ?, ?, ?, 'accepted', ?, ?7, ?7, 0, ?, ?, ?, ?)
        """
    db.executemany(sql, items)
    if items:
        count_items(db, len(items), 0)
    db.executemany(
        "INSERT INTO receipt_items (rid, pos, item_id, uuid, duplicate) VALUES (?, ?, ?, ?, ?)", listed
    )


_ANSWER = upsert("answers", "gid, operation, key", "input_hash, rid, items, expires_ms")
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
    for answer in answers:
        items = json.dumps(answer.items, ensure_ascii=False)
        key = (answer.gid, answer.operation, answer.key)
        db.execute(_ANSWER, (*key, answer.input_hash, answer.rid, items, answer.expires_ms))


class EmbeddedIntake(EmbeddedReceipts):
    """IntakeStore."""

    accept = writing(_accept)
