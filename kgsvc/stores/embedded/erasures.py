"""What was asked to be erased, and a file without what removed rows leave in it (ErasureStore).

`secure_delete` overwrites rows as they go, but not the copies that splitting a page of a B-tree left in its
free space; and the log keeps former pages until it begins anew. So the file is written anew (VACUUM) and the
log cut off.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import apsw

from kgsvc.domain.model.delta import Erased
from kgsvc.domain.model.erasures import Erasure, added
from kgsvc.stores.embedded.connection import BusyHandler, open_writer, unavailable
from kgsvc.stores.embedded.rows import all_rows, group_of
from kgsvc.stores.embedded.writer import EmbeddedBase, reading, writing
from kgsvc.stores.records import erasure_of

_PARTS = "SELECT erasure_id, group_id, kind, asked_ms, uuid, removed, completed_ms FROM erasures "
_PATIENCE_S = 20.0  # for readers and writers of other processes
Part = tuple[str, str]


def _begin(db: apsw.Connection, erasures: Sequence[Erasure]) -> None:
    sql = """
        INSERT INTO erasures (erasure_id, group_id, kind, asked_ms, uuid) VALUES (?, ?, ?, ?, ?)
        ON CONFLICT DO NOTHING
        """
    db.executemany(sql, [(e.erasure_id, e.group_id, e.kind.value, e.asked_ms, e.uuid) for e in erasures])


def _read(db: apsw.Connection, erasure_id: str) -> list[Erasure]:
    sql = _PARTS + "WHERE erasure_id = ? ORDER BY group_id"
    return [erasure_of(row) for row in all_rows(db, sql, (erasure_id,))]


def _erasures(db: apsw.Connection, open_limit: int, since_ms: int | None = None) -> list[Erasure]:
    sql = f"""
        SELECT * FROM ({_PARTS} WHERE completed_ms IS NULL ORDER BY asked_ms LIMIT ?)
        UNION {_PARTS} WHERE asked_ms >= ? AND removed IS NOT NULL
        ORDER BY asked_ms, erasure_id, group_id
        """
    return [erasure_of(row) for row in all_rows(db, sql, (open_limit, since_ms))]


def _ended_facts(db: apsw.Connection, group_id: str, before_ms: int, limit: int) -> list[str]:
    sql = """
        SELECT uuid, min(ms) FROM (
            SELECT * FROM (SELECT uuid, invalid_ms AS ms FROM facts WHERE gid = ?1 AND invalid_ms < ?2
                ORDER BY invalid_ms, uuid LIMIT ?3)
            UNION ALL
            SELECT * FROM (SELECT uuid, expired_ms AS ms FROM facts WHERE gid = ?1 AND expired_ms < ?2
                ORDER BY expired_ms, uuid LIMIT ?3)
        ) GROUP BY uuid ORDER BY min(ms), uuid LIMIT ?3
        """
    rows = all_rows(db, sql, (group_of(db, group_id).gid, before_ms, limit))
    return [uuid for uuid, _ms in rows]


def note_erased(db: apsw.Connection, group_id: str, erased: Erased) -> None:
    """Add what this transaction removes for an erasure; see ErasureStore.removed. Files of search indexes
    count no more."""
    db.execute("DELETE FROM index_proofs WHERE group_id = ?", (group_id,))
    key = (erased.erasure_id, group_id)
    part = "WHERE erasure_id = ? AND group_id = ? AND removed IS NULL"
    for (so_far,) in all_rows(db, f"SELECT so_far FROM erasures {part}", key):
        counts = json.dumps(added(json.loads(so_far), erased.removed))
        change = "removed = ?, so_far = '{}', uuid = ''" if erased.over else "so_far = ?"
        db.execute(f"UPDATE erasures SET {change} {part}", (counts, *key))


def _removed(db: apsw.Connection, erasure_id: str, group_id: str, counts: Mapping[str, int]) -> None:
    note_erased(db, group_id, Erased(erasure_id, counts))


def removed_parts(db: apsw.Connection) -> list[Part]:
    """Whose rows are gone while the file may still hold them."""
    sql = "SELECT erasure_id, group_id FROM erasures WHERE completed_ms IS NULL AND removed IS NOT NULL"
    return [(erasure_id, group_id) for erasure_id, group_id in all_rows(db, sql)]


def note_completed(db: apsw.Connection, parts: Sequence[Part], now_ms: int) -> None:
    """Nothing of these is left in the file."""
    sql = """
        UPDATE erasures SET completed_ms = ?
        WHERE erasure_id = ? AND group_id = ? AND completed_ms IS NULL
        """
    db.executemany(sql, [(now_ms, *part) for part in parts])


async def free_pages(directory: Path) -> None:
    """Write the file anew with nothing but its rows, and cut off the log. Writes wait meanwhile, reads do
    not. Raises StoreUnavailable."""
    await asyncio.to_thread(_free_pages, directory)


def _free_pages(directory: Path) -> None:
    try:
        db = open_writer(directory, BusyHandler(_PATIENCE_S))
        try:
            db.execute("PRAGMA temp_store = FILE")  # the copy may not fit in memory
            db.execute("VACUUM")
            db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        finally:
            db.close()
    except apsw.Error as error:
        raise unavailable(error) from error


class EmbeddedErasures(EmbeddedBase):
    """ErasureStore, but for `free_erased`."""

    begin_erasures = writing(_begin)
    erasure = reading(_read)
    erasures = reading(_erasures)
    ended_facts = reading(_ended_facts)
    removed = writing(_removed)
