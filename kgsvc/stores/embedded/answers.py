"""Idempotency keys: what was answered to (operation, group, key) within the window (design §3)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import apsw

from kgsvc.domain.errors import Conflict, Violation
from kgsvc.stores.embedded.rows import first_row

_EXPIRED_A_CALL = 50  # expired keys that recording a new one clears away


@dataclass(frozen=True, slots=True)
class Key:
    """A key as it is used now."""

    operation: str
    key: str
    input_hash: str
    now_ms: int
    window_ms: int


@dataclass(frozen=True, slots=True)
class Answer:
    """What was recorded: for accepted calls the receipt and the items (id, uuid) in the call's order."""

    rid: int | None
    items: tuple[tuple[int, str], ...]


def known_answer(db: apsw.Connection, gid: int, key: Key) -> Answer | None:
    """What the key stands for. Conflict: for other input."""
    row = first_row(
        db,
        """
        SELECT input_hash, rid, items FROM answers
        WHERE gid = ? AND operation = ? AND key = ? AND expires_ms > ?
        """,
        (gid, key.operation, key.key, key.now_ms),
    )
    if row is None:
        return None
    input_hash, rid, items = row
    if input_hash != key.input_hash:
        used = "was used with other input within the window"
        raise Conflict(f"idempotency_key {used}", (Violation("idempotency_key", used),))
    return Answer(rid, tuple((row_id, uuid) for row_id, uuid in json.loads(items)))


def keep_answer(
    db: apsw.Connection, gid: int, key: Key, rid: int | None = None, items: Sequence[tuple[int, str]] = ()
) -> None:
    """Record the key, in the place of one that lapsed."""
    db.execute(
        """
        DELETE FROM answers WHERE (gid, operation, key) IN
            (SELECT gid, operation, key FROM answers WHERE expires_ms <= ? ORDER BY expires_ms LIMIT ?)
        """,
        (key.now_ms, _EXPIRED_A_CALL),
    )
    db.execute(
        """
        INSERT INTO answers (gid, operation, key, input_hash, rid, items, expires_ms)
        VALUES (?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT (gid, operation, key) DO UPDATE SET input_hash = excluded.input_hash, rid = excluded.rid,
            items = excluded.items, expires_ms = excluded.expires_ms
        """,
        (
            gid,
            key.operation,
            key.key,
            key.input_hash,
            rid,
            json.dumps(items, ensure_ascii=False),
            key.now_ms + key.window_ms,
        ),
    )
