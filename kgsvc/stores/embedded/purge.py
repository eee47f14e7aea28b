"""Removing what hangs on dead gids, in batches small enough that other writers hardly wait."""

from __future__ import annotations

import apsw

from kgsvc.stores.embedded.groups import id_span
from kgsvc.stores.embedded.receipts import GROUP_DELETED
from kgsvc.stores.embedded.sql import first_row

# Each removes some rows of one table within an id span (?1 to ?2); run again until nothing is removed.
_BY_ID = (
    """
    DELETE FROM mentions WHERE episode_id BETWEEN ?1 AND ?2 AND episode_id IN
        (SELECT episode_id FROM mentions WHERE episode_id BETWEEN ?1 AND ?2 LIMIT 300)
    """,
    """
    DELETE FROM episode_edges WHERE id IN
        (SELECT id FROM episode_edges WHERE id BETWEEN ?1 AND ?2 LIMIT 500)
    """,
    "DELETE FROM stages WHERE id IN (SELECT id FROM stages WHERE id BETWEEN ?1 AND ?2 LIMIT 200)",
    """
    DELETE FROM items WHERE id IN
        (SELECT id FROM items WHERE id BETWEEN ?1 AND ?2 AND reason IS NOT 'group_deleted' LIMIT 300)
    """,
    "DELETE FROM episodes WHERE id IN (SELECT id FROM episodes WHERE id BETWEEN ?1 AND ?2 LIMIT 100)",
    "DELETE FROM fact_vectors WHERE id IN (SELECT id FROM fact_vectors WHERE id BETWEEN ?1 AND ?2 LIMIT 300)",
    "DELETE FROM facts WHERE id IN (SELECT id FROM facts WHERE id BETWEEN ?1 AND ?2 LIMIT 300)",
    """
    DELETE FROM entity_vectors WHERE id IN
        (SELECT id FROM entity_vectors WHERE id BETWEEN ?1 AND ?2 LIMIT 300)
    """,
    "DELETE FROM entities WHERE id IN (SELECT id FROM entities WHERE id BETWEEN ?1 AND ?2 LIMIT 300)",
)
_BY_GID = (
    """
    DELETE FROM names WHERE gid = ?1 AND name_key IN (SELECT name_key FROM names WHERE gid = ?1 LIMIT 500)
    """,
    """
    DELETE FROM fact_tombstones WHERE gid = ?1 AND uuid IN
        (SELECT uuid FROM fact_tombstones WHERE gid = ?1 LIMIT 500)
    """,
    """
    DELETE FROM answers WHERE gid = ?1 AND (operation, key) IN
        (SELECT operation, key FROM answers WHERE gid = ?1 LIMIT 500)
    """,
)


def purge_some(db: apsw.Connection) -> bool:
    """Remove one batch of one dead group; False when no dead group is left."""
    row = first_row(db, "SELECT gid, deleted_ms FROM dead_groups ORDER BY gid LIMIT 1")
    if row is None:
        return False
    gid, deleted_ms = row
    if _park_some(db, gid, deleted_ms):
        return True
    for statement in _BY_ID:
        db.execute(statement, id_span(gid))
        if db.changes():
            return True
    for statement in _BY_GID:
        db.execute(statement, (gid,))
        if db.changes():
            return True
    db.execute("DELETE FROM dead_groups WHERE gid = ?", (gid,))
    return True


def _park_some(db: apsw.Connection, gid: int, deleted_ms: int) -> bool:
    """End unfinished items; they stay, without content, for the receipts that name them."""
    db.execute(
        """
        UPDATE items SET state = 'parked', next_ms = NULL, reason = ?1, updated_ms = ?2, started = 0,
            suspect = 0, content_hash = ''
        WHERE id IN (SELECT id FROM items WHERE gid = ?3 AND next_ms IS NOT NULL LIMIT 300)
        """,
        (GROUP_DELETED, deleted_ms, gid),
    )
    return db.changes() > 0
