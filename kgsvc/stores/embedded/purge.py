"""Deleting a group: hidden in one small commit, then removed in batches that let other writers through."""

from __future__ import annotations

import apsw

from kgsvc.stores.embedded.groups import find_group, id_span, new_gid
from kgsvc.stores.embedded.receipts import GROUP_DELETED
from kgsvc.stores.embedded.schema import ID_BITS
from kgsvc.stores.embedded.sql import all_rows, first_row

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
    "DELETE FROM episodes WHERE id IN (SELECT id FROM episodes WHERE id BETWEEN ?1 AND ?2 LIMIT 100)",
    "DELETE FROM fact_vectors WHERE id IN (SELECT id FROM fact_vectors WHERE id BETWEEN ?1 AND ?2 LIMIT 300)",
    "DELETE FROM facts WHERE id IN (SELECT id FROM facts WHERE id BETWEEN ?1 AND ?2 LIMIT 300)",
    """
    DELETE FROM entity_vectors WHERE id IN
        (SELECT id FROM entity_vectors WHERE id BETWEEN ?1 AND ?2 LIMIT 300)
    """,
    "DELETE FROM entities WHERE id IN (SELECT id FROM entities WHERE id BETWEEN ?1 AND ?2 LIMIT 300)",
    """
    DELETE FROM community_members WHERE community_id BETWEEN ?1 AND ?2 AND community_id IN
        (SELECT community_id FROM community_members WHERE community_id BETWEEN ?1 AND ?2 LIMIT 300)
    """,
    """
    DELETE FROM community_facts WHERE community_id BETWEEN ?1 AND ?2 AND community_id IN
        (SELECT community_id FROM community_facts WHERE community_id BETWEEN ?1 AND ?2 LIMIT 300)
    """,
    """
    DELETE FROM community_vectors WHERE id IN
        (SELECT id FROM community_vectors WHERE id BETWEEN ?1 AND ?2 LIMIT 300)
    """,
    "DELETE FROM communities WHERE id IN (SELECT id FROM communities WHERE id BETWEEN ?1 AND ?2 LIMIT 300)",
)
_BY_GID = (
    """
    DELETE FROM names WHERE gid = ?1 AND name_key IN (SELECT name_key FROM names WHERE gid = ?1 LIMIT 500)
    """,
    """
    DELETE FROM name_tokens WHERE gid = ?1 AND (token, uuid) IN
        (SELECT token, uuid FROM name_tokens WHERE gid = ?1 LIMIT 500)
    """,
    """
    DELETE FROM fact_tombstones WHERE gid = ?1 AND uuid IN
        (SELECT uuid FROM fact_tombstones WHERE gid = ?1 LIMIT 500)
    """,
    """
    DELETE FROM text_tombstones WHERE gid = ?1 AND (kind, uuid) IN
        (SELECT kind, uuid FROM text_tombstones WHERE gid = ?1 LIMIT 500)
    """,
    """
    DELETE FROM merges WHERE gid = ?1 AND merge_id IN (SELECT merge_id FROM merges WHERE gid = ?1 LIMIT 20)
    """,
    """
    DELETE FROM closures WHERE gid = ?1 AND (by_episode, fact_id) IN
        (SELECT by_episode, fact_id FROM closures WHERE gid = ?1 LIMIT 500)
    """,
    """
    DELETE FROM answers WHERE gid = ?1 AND (operation, key) IN
        (SELECT operation, key FROM answers WHERE gid = ?1 LIMIT 500)
    """,
    "DELETE FROM ontologies WHERE gid = ?1",
    """
    DELETE FROM community_builds WHERE gid = ?1 AND build_id IN
        (SELECT build_id FROM community_builds WHERE gid = ?1 LIMIT 500)
    """,
    "DELETE FROM community_current WHERE gid = ?1",
)


def bury(db: apsw.Connection, group_id: str, now_ms: int) -> None:
    """The group goes on under a new gid; what hangs on the old one is out of sight from this commit on."""
    group = find_group(db, group_id)
    if group is None:
        return
    gid = new_gid(db)
    db.execute("INSERT INTO dead_groups (gid, deleted_ms) VALUES (?, ?)", (group.gid, now_ms))
    db.execute(
        """
        UPDATE groups SET gid = ?, last_id = ?, epoch = epoch + 1, rev = rev + 1,
            last_ms = max(?, last_ms + 1), owner_id = NULL, ontology_rev = ontology_rev + 1, has_words = 1
        WHERE group_id = ?
        """,
        (gid, gid << ID_BITS, now_ms, group_id),
    )
    db.execute("UPDATE totals SET activity = activity + 1 WHERE id = 1")


def purge_some(db: apsw.Connection) -> bool:
    """Remove one batch of one dead group; False when no dead group is left."""
    row = first_row(db, "SELECT gid, deleted_ms, items_upto FROM dead_groups ORDER BY gid LIMIT 1")
    if row is None:
        return False
    gid, deleted_ms, items_upto = row
    if _end_items(db, gid, deleted_ms, items_upto):
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


def _end_items(db: apsw.Connection, gid: int, deleted_ms: int, upto: int) -> bool:
    """The next items: finished ones go; unfinished ones are parked and stay, without content, for their
    receipts. `upto` is how far the batches before came, so that what stays is not looked at again."""
    rows = all_rows(
        db,
        "SELECT id FROM items WHERE id > ? AND id <= ? ORDER BY id LIMIT 300",
        (max(upto, id_span(gid)[0]), id_span(gid)[1]),
    )
    if not rows:
        return False
    span = (rows[0][0], rows[-1][0])
    db.execute(
        """
        UPDATE items SET state = 'parked', next_ms = NULL, reason = ?3, updated_ms = ?4, started = 0,
            suspect = 0, content_hash = ''
        WHERE id BETWEEN ?1 AND ?2 AND next_ms IS NOT NULL
        """,
        (*span, GROUP_DELETED, deleted_ms),
    )
    db.execute("DELETE FROM items WHERE id BETWEEN ? AND ? AND reason IS NOT ?", (*span, GROUP_DELETED))
    db.execute("UPDATE dead_groups SET items_upto = ? WHERE gid = ?", (span[1], gid))
    return True
