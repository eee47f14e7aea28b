"""The group's record: its internal id, head, lease and id counter; and its idempotency keys (design §3)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import apsw

from kgsvc.domain.errors import LeaseLost
from kgsvc.domain.model.delta import Claim, GroupHead
from kgsvc.domain.model.items import Lease
from kgsvc.stores.embedded.rows import Row, first_row, one_row
from kgsvc.stores.embedded.schema import ID_BITS

_LAPSED_A_CALL = 50  # lapsed keys that recording a new one clears away


@dataclass(frozen=True, slots=True)
class Group:
    """A row of `groups`. Of a group that was never written to all numbers are 0: no row has its gid."""

    gid: int
    group_id: str
    epoch: int = 0
    rev: int = 0
    last_ms: int = 0
    token: int = 0
    owner_id: str | None = None
    ontology: int = 0  # a number that differs from one ontology of the group to the next

    @property
    def head(self) -> GroupHead:
        """What the outside knows of it."""
        return GroupHead(self.group_id, self.rev, self.epoch, self.last_ms)


def group_of(db: apsw.Connection, group_id: str) -> Group:
    """The group's record."""
    sql = """
        SELECT gid, group_id, epoch, rev, last_ms, token, owner_id, ontology_rev
        FROM groups WHERE group_id = ?
        """
    row = first_row(db, sql, (group_id,))
    return Group(0, group_id) if row is None else Group(*row)


def make_group(db: apsw.Connection, group_id: str) -> Group:
    """The group's record, created if needed."""
    group = group_of(db, group_id)
    if group.gid:
        return group
    gid = new_gid(db)
    db.execute(
        "INSERT INTO groups (group_id, gid, last_id, has_words) VALUES (?, ?, ?, 1)",
        (group_id, gid, gid << ID_BITS),
    )
    return Group(gid, group_id)


def leased_group(db: apsw.Connection, lease: Lease) -> Group:
    """The group's record. LeaseLost if the lease is no longer held."""
    group = group_of(db, lease.group_id)
    if (group.token, group.owner_id, group.epoch) != (lease.token, lease.owner_id, lease.epoch):
        raise LeaseLost("another process owns the group now")
    return group


def new_gid(db: apsw.Connection) -> int:
    """A gid that no group ever had."""
    return int(one_row(db, "UPDATE totals SET last_gid = last_gid + 1 RETURNING last_gid")[0])


def take_ids(db: apsw.Connection, gid: int, count: int) -> range:
    """`count` fresh ids for rows of the group."""
    if not count:
        return range(0)
    (last,) = one_row(
        db, "UPDATE groups SET last_id = last_id + ? WHERE gid = ? RETURNING last_id", (count, gid)
    )
    return range(last - count + 1, last + 1)


def id_span(gid: int) -> tuple[int, int]:
    """The lowest and the highest id that rows of the group can have."""
    return gid << ID_BITS, ((gid + 1) << ID_BITS) - 1


def page_end(db: apsw.Connection, group: Group, after_rev: int, limit: int) -> int:
    """Up to which revision a page of facts goes: that of its `limit`-th fact, the group's if there are
    fewer."""
    later = "SELECT rev FROM facts WHERE gid = ? AND rev > ? ORDER BY rev LIMIT 1 OFFSET ?"
    row = first_row(db, later, (group.gid, after_rev, max(limit, 1) - 1))
    return group.rev if row is None else int(row[0])


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
    db.execute(
        """
        DELETE FROM answers WHERE (gid, operation, key) IN
            (SELECT gid, operation, key FROM answers WHERE expires_ms <= ? ORDER BY expires_ms LIMIT ?)
        """,
        (now_ms, _LAPSED_A_CALL * len(answers)),
    )
    db.executemany(
        """
        INSERT INTO answers (gid, operation, key, input_hash, rid, items, expires_ms)
        VALUES (?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT (gid, operation, key) DO UPDATE SET input_hash = excluded.input_hash, rid = excluded.rid,
            items = excluded.items, expires_ms = excluded.expires_ms
        """,
        [_answer_row(answer) for answer in answers],
    )


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
