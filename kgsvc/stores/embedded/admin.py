"""The ontology of a group: its text, and the number in the group's record that tells one from the next."""

from __future__ import annotations

import apsw

from kgsvc.domain.errors import StoreUnavailable
from kgsvc.domain.text import NORMALISER_VERSION, TOKENISER_VERSION
from kgsvc.stores.embedded.base import Base
from kgsvc.stores.embedded.candidates import fill_name_tokens
from kgsvc.stores.embedded.groups import find_group, id_span, make_group, new_gid
from kgsvc.stores.embedded.receipts import GROUP_DELETED
from kgsvc.stores.embedded.rows import all_rows, first_row, one_row
from kgsvc.stores.embedded.schema import ID_BITS, MIGRATIONS, NAME_TOKENS_SINCE, SCHEMA_VERSION
from kgsvc.stores.protocol import StoreInfo


def put_ontology(db: apsw.Connection, group_id: str, yaml: str | None) -> None:
    """See AdminStore."""
    gid = make_group(db, group_id).gid
    if yaml is None:
        db.execute("DELETE FROM ontologies WHERE gid = ?", (gid,))
    else:
        db.execute(
            """
            INSERT INTO ontologies (gid, yaml) VALUES (?, ?)
            ON CONFLICT (gid) DO UPDATE SET yaml = excluded.yaml
            """,
            (gid, yaml),
        )
    db.execute("UPDATE groups SET ontology_rev = ontology_rev + 1 WHERE gid = ?", (gid,))


def ontology(db: apsw.Connection, group_id: str) -> str | None:
    """See AdminStore."""
    group = find_group(db, group_id)
    if group is None:
        return None
    row = first_row(db, "SELECT yaml FROM ontologies WHERE gid = ?", (group.gid,))
    return None if row is None else str(row[0])


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


class Admin(Base):
    """AdminStore."""

    async def migrate(self) -> int:
        """See AdminStore. The write lock makes one migrator at a time."""
        version = await self._write(_migrate)
        await self._purge()
        return version

    async def info(self) -> StoreInfo:
        """See AdminStore."""
        return await self._read(_info)

    async def delete_group(self, group_id: str, now_ms: int) -> None:
        """See AdminStore."""
        await self._write(bury, group_id, now_ms)
        await self._purge()

    async def group_ids(self) -> list[str]:
        """See AdminStore."""
        return await self._read(_group_ids)

    async def put_ontology(self, group_id: str, yaml: str | None) -> None:
        """See AdminStore."""
        await self._write(put_ontology, group_id, yaml)

    async def ontology(self, group_id: str) -> str | None:
        """See AdminStore."""
        return await self._read(ontology, group_id)

    async def close(self) -> None:
        """See AdminStore."""
        await self._readers.close()
        await self._writer.close()

    async def _purge(self) -> None:
        while await self._write(purge_some):
            pass


def _migrate(db: apsw.Connection) -> int:
    version = int(one_row(db, "PRAGMA user_version")[0])
    if version > SCHEMA_VERSION:
        raise StoreUnavailable(
            f"the embedded store has schema {version}, this binary knows {SCHEMA_VERSION}: use a newer one"
        )
    for migration in MIGRATIONS[version:]:
        db.execute(migration)
    if 0 < version < NAME_TOKENS_SINCE:
        fill_name_tokens(db)
    if version == 0:
        made_with = (("normaliser", NORMALISER_VERSION), ("tokeniser", TOKENISER_VERSION))
        db.executemany("INSERT INTO versions (name, value) VALUES (?, ?)", made_with)
    if version < SCHEMA_VERSION:
        db.pragma("user_version", SCHEMA_VERSION)
    return SCHEMA_VERSION


def _info(db: apsw.Connection) -> StoreInfo:
    version = int(one_row(db, "PRAGMA user_version")[0])
    return StoreInfo("embedded", f"SQLite {apsw.sqlite_lib_version()}", version)


def _group_ids(db: apsw.Connection) -> list[str]:
    rows = all_rows(db, "SELECT group_id, gid FROM groups ORDER BY group_id")
    return [group_id for group_id, gid in rows if _has_content(db, gid)]


def _has_content(db: apsw.Connection, gid: int) -> bool:
    row = one_row(
        db,
        """
        SELECT EXISTS (SELECT 1 FROM episodes WHERE id BETWEEN ?1 AND ?2)
            OR EXISTS (SELECT 1 FROM entities WHERE id BETWEEN ?1 AND ?2)
            OR EXISTS (SELECT 1 FROM ontologies WHERE gid = ?3)
        """,
        (*id_span(gid), gid),
    )
    return bool(row[0])
