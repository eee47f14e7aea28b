"""The schema, whole groups and their ontologies (AdminStore)."""

from __future__ import annotations

from typing import LiteralString

import apsw

from kgsvc.domain.model.delta import Erased
from kgsvc.domain.model.erasures import GROUP_COUNTS
from kgsvc.domain.text import NORMALISER_VERSION, TOKENISER_VERSION
from kgsvc.stores.admission import GROUP_DELETED, check_schema
from kgsvc.stores.embedded.counts import count_items, note_activity, release
from kgsvc.stores.embedded.erasures import (
    EmbeddedErasures,
    free_pages,
    note_completed,
    note_erased,
    removed_parts,
)
from kgsvc.stores.embedded.modes import paused_since
from kgsvc.stores.embedded.rows import (
    all_rows,
    column,
    first_row,
    first_value,
    group_of,
    id_span,
    make_group,
    new_gid,
    one_row,
    one_value,
    upsert,
)
from kgsvc.stores.embedded.schema import ID_BITS, SCHEMA, SCHEMA_VERSION
from kgsvc.stores.embedded.writer import reading, writing
from kgsvc.stores.protocol import GroupSize, StoreInfo

_BATCH = 300


def _of_ids(table: LiteralString, key: LiteralString = "id", batch: int = _BATCH) -> str:
    """Removes some rows whose `key` lies in an id span (?1 to ?2)."""
    among = f"FROM {table} WHERE {key} BETWEEN ?1 AND ?2"
    return f"DELETE {among} AND {key} IN (SELECT {key} {among} LIMIT {batch})"


def _of_group(table: LiteralString, key: LiteralString, batch: int = _BATCH) -> str:
    """Removes some rows of a group (?1); with its gid `key` is what they are stored under."""
    among = f"FROM {table} WHERE gid = ?1"
    return f"DELETE {among} AND ({key}) IN (SELECT {key} {among} LIMIT {batch})"


# Run in order, each again until it removes nothing: facts go before the entities that they connect.
_BY_ID = (
    _of_ids("mentions", "episode_id"),
    _of_ids("episode_edges"),
    _of_ids("stages"),
    _of_ids("found_episodes"),
    _of_ids("passage_vectors"),
    _of_ids("episodes", batch=100),
    _of_ids("next_vectors"),
    _of_ids("fact_vectors"),
    _of_ids("fact_words"),
    _of_ids("facts"),
    _of_ids("entity_vectors"),
    _of_ids("entities"),
    _of_ids("community_members", "community_id"),
    _of_ids("community_facts", "community_id"),
    _of_ids("community_vectors"),
    _of_ids("communities"),
)
_BY_GID = (
    _of_group("names", "name_key"),
    _of_group("name_tokens", "token, uuid"),
    _of_group("fact_tombstones", "uuid"),
    _of_group("text_tombstones", "kind, uuid"),
    _of_group("merges", "merge_id", batch=20),
    _of_group("closures", "by_episode, fact_id"),
    _of_group("answers", "operation, key"),
    _of_group("ontologies", "gid"),
    _of_group("community_builds", "build_id"),
    _of_group("community_current", "gid"),
    _of_group("fills", "gid"),
    _of_group("documents", "document_id", batch=20),
    _of_group("former_texts", "document_id, revision", batch=20),
    _of_group("document_chunks", "uuid"),
)


_COUNTS = """
    SELECT (SELECT count(*) FROM episodes WHERE id BETWEEN ?1 AND ?2),
        (SELECT count(*) FROM items WHERE id BETWEEN ?1 AND ?2),
        (SELECT count(*) FROM entities WHERE id BETWEEN ?1 AND ?2),
        (SELECT count(*) FROM facts WHERE id BETWEEN ?1 AND ?2),
        (SELECT count(*) FROM communities WHERE id BETWEEN ?1 AND ?2),
        (SELECT count(*) FROM fact_vectors WHERE id BETWEEN ?1 AND ?2)
            + (SELECT count(*) FROM entity_vectors WHERE id BETWEEN ?1 AND ?2)
            + (SELECT count(*) FROM community_vectors WHERE id BETWEEN ?1 AND ?2),
        (SELECT count(*) FROM stages WHERE id BETWEEN ?1 AND ?2),
        (SELECT count(*) FROM merges WHERE gid = ?3), (SELECT count(*) FROM answers WHERE gid = ?3)
    """


def drop_import(db: apsw.Connection, group_id: str, now_ms: int) -> None:
    """What an import of the group has written so far is of no group."""
    sql = "DELETE FROM imports WHERE group_id = ? RETURNING gid"
    for (gid,) in all_rows(db, sql, (group_id,)):
        db.execute("INSERT INTO dead_groups (gid, deleted_ms) VALUES (?, ?)", (gid, now_ms))


def bury(db: apsw.Connection, group_id: str, now_ms: int, erasure_id: str = "") -> None:
    """The group goes on under a new gid; what hangs on the old one is out of sight from this commit on."""
    drop_import(db, group_id, now_ms)
    db.execute("DELETE FROM paused_groups WHERE group_id = ?", (group_id,))
    group = group_of(db, group_id)
    counts = one_row(db, _COUNTS, (*id_span(group.gid), group.gid)) if group.gid and erasure_id else ()
    note_erased(db, group_id, Erased(erasure_id, dict(zip(GROUP_COUNTS, counts, strict=False))))
    if not group.gid:
        return
    gid = new_gid(db)
    db.execute("INSERT INTO dead_groups (gid, deleted_ms) VALUES (?, ?)", (group.gid, now_ms))
    sql = """
        UPDATE groups SET gid = ?, last_id = ?, epoch = epoch + 1, rev = rev + 1,
            last_ms = max(?, last_ms + 1), owner_id = NULL, ontology_rev = ontology_rev + 1, has_words = 1,
            space = '', tidying = 0
        WHERE group_id = ?
        """
    db.execute(sql, (gid, gid << ID_BITS, now_ms, group_id))
    note_activity(db)


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
    lowest, highest = id_span(gid)
    some = "SELECT id FROM items WHERE id > ? AND id <= ? ORDER BY id LIMIT 300"
    ids = column(db, some, (max(upto, lowest), highest))
    if not ids:
        return False
    span = (min(ids), max(ids))
    release(db, ids)
    of_these = "FROM items WHERE id BETWEEN ? AND ? AND"
    unfinished = one_value(db, f"SELECT count(*) {of_these} next_ms IS NOT NULL", span)
    parked = one_value(db, f"SELECT count(*) {of_these} state = 'parked'", span)
    count_items(db, -unfinished, -parked)
    sql = """
        UPDATE items SET state = 'parked', next_ms = NULL, reason = ?3, updated_ms = ?4, started = 0,
            suspect = 0, content_hash = '', step = NULL, previous = '[]', warnings = '[]'
        WHERE id BETWEEN ?1 AND ?2 AND next_ms IS NOT NULL
        """
    db.execute(sql, (*span, GROUP_DELETED, deleted_ms))
    db.execute("DELETE FROM items WHERE id BETWEEN ? AND ? AND reason IS NOT ?", (*span, GROUP_DELETED))
    db.execute("UPDATE dead_groups SET items_upto = ? WHERE gid = ?", (max(ids), gid))
    return True


def _migrate(db: apsw.Connection) -> int:
    version = int(one_value(db, "PRAGMA user_version"))
    if version:
        check_schema("the embedded store", version, SCHEMA_VERSION)
        return version
    db.execute(SCHEMA)
    made_with = (("normaliser", NORMALISER_VERSION), ("tokeniser", TOKENISER_VERSION))
    db.executemany("INSERT INTO versions (name, value) VALUES (?, ?)", made_with)
    db.pragma("user_version", SCHEMA_VERSION)
    return SCHEMA_VERSION


def _keyed(db: apsw.Connection, fingerprint: int) -> int:
    sql = """
        INSERT INTO versions (name, value)
        SELECT 'digest_key', CASE WHEN EXISTS (SELECT 1 FROM groups) THEN 0 ELSE ? END
        WHERE NOT EXISTS (SELECT 1 FROM versions WHERE name = 'digest_key')
        """
    db.execute(sql, (fingerprint,))
    return int(one_value(db, "SELECT value FROM versions WHERE name = 'digest_key'"))


def _info(db: apsw.Connection) -> StoreInfo:
    version = int(one_value(db, "PRAGMA user_version"))
    return StoreInfo("embedded", f"SQLite {apsw.sqlite_lib_version()}", version)


def _bad_indexes(db: apsw.Connection) -> list[str]:
    """Compared with a database that is made anew in memory."""
    made = apsw.Connection(":memory:")
    made.execute(SCHEMA)
    named = "SELECT name FROM main.sqlite_schema WHERE name NOT LIKE 'sqlite_%'"
    missing = {str(name) for name in column(made, named)} - set(column(db, named))
    made.close()
    return sorted(missing)


def _clock_ms(db: apsw.Connection) -> int:
    sql = "SELECT max(CAST(unixepoch('subsec') * 1000 AS INTEGER), coalesce(max(last_ms), 0)) FROM groups"
    return int(one_value(db, sql))


def _group_ids(db: apsw.Connection) -> list[str]:
    rows = all_rows(db, "SELECT group_id, gid FROM groups ORDER BY group_id")
    return [group_id for group_id, gid in rows if has_content(db, gid)]


def _busiest_groups(db: apsw.Connection, limit: int) -> list[str]:
    return column(
        db, "SELECT group_id FROM groups WHERE rev > 0 ORDER BY rev DESC, group_id LIMIT ?", (limit,)
    )


def has_content(db: apsw.Connection, gid: int) -> bool:
    """Whether a group has episodes, entities or an ontology."""
    sql = """
        SELECT EXISTS (SELECT 1 FROM episodes WHERE id BETWEEN ?1 AND ?2)
            OR EXISTS (SELECT 1 FROM entities WHERE id BETWEEN ?1 AND ?2)
            OR EXISTS (SELECT 1 FROM ontologies WHERE gid = ?3)
        """
    return bool(one_value(db, sql, (*id_span(gid), gid)))


def _forget(db: apsw.Connection, group_id: str) -> None:
    if not has_content(db, group_of(db, group_id).gid) and paused_since(db, group_id) is None:
        db.execute("DELETE FROM groups WHERE group_id = ?", (group_id,))


def _group_sizes(db: apsw.Connection, first: str, end: str, limit: int) -> list[GroupSize]:
    sql = """
        SELECT g.group_id, (SELECT count(*) FROM episodes WHERE gid = g.gid),
            (SELECT count(*) FROM entities WHERE gid = g.gid), (SELECT count(*) FROM facts WHERE gid = g.gid),
            g.last_ms, (SELECT count(*) FROM items WHERE gid = g.gid AND next_ms IS NOT NULL),
            (SELECT count(*) FROM items WHERE gid = g.gid AND state = 'parked'), p.since_ms
        FROM groups g LEFT JOIN paused_groups p ON p.group_id = g.group_id
        WHERE g.group_id >= ? AND g.group_id < ? AND (
            p.since_ms IS NOT NULL OR EXISTS (SELECT 1 FROM episodes WHERE gid = g.gid)
            OR EXISTS (SELECT 1 FROM entities WHERE gid = g.gid)
            OR EXISTS (SELECT 1 FROM ontologies WHERE gid = g.gid)
        )
        ORDER BY g.group_id LIMIT ?
        """
    return [GroupSize(*row) for row in all_rows(db, sql, (first, end, limit))]


def _put_ontology(db: apsw.Connection, group_id: str, yaml: str | None) -> None:
    gid = make_group(db, group_id).gid
    if yaml is None:
        db.execute("DELETE FROM ontologies WHERE gid = ?", (gid,))
    else:
        db.execute(upsert("ontologies", "gid", "yaml"), (gid, yaml))
    db.execute("UPDATE groups SET ontology_rev = ontology_rev + 1 WHERE gid = ?", (gid,))


def _ontology(db: apsw.Connection, group_id: str) -> str | None:
    yaml = first_value(db, "SELECT yaml FROM ontologies WHERE gid = ?", (group_of(db, group_id).gid,))
    return None if yaml is None else str(yaml)


class EmbeddedAdmin(EmbeddedErasures):
    """AdminStore, ErasureStore."""

    keyed = writing(_keyed)
    info = reading(_info)
    bad_indexes = reading(_bad_indexes)
    clock_ms = reading(_clock_ms)
    forget_group = writing(_forget)
    group_ids = reading(_group_ids)
    busiest_groups = reading(_busiest_groups)
    group_sizes = reading(_group_sizes)
    put_ontology = writing(_put_ontology)
    ontology = reading(_ontology)

    async def migrate(self) -> int:
        """See AdminStore. The write lock lets one process at a time make it."""
        version = await self._write(_migrate)
        await self._purge()
        return version

    async def delete_group(self, group_id: str, now_ms: int, erasure_id: str = "") -> None:
        """See AdminStore."""
        await self._write(lambda db: bury(db, group_id, now_ms, erasure_id))
        await self._purge()

    async def free_erased(self, now_ms: int) -> int:
        """See ErasureStore."""
        parts = await self._read(removed_parts)
        if not parts:
            return 0
        await self._purge()
        await free_pages(self._writer.directory)
        await self._write(lambda db: note_completed(db, parts, now_ms))
        return len(parts)

    async def close(self) -> None:
        """See AdminStore."""
        await self._readers.close()
        await self._writer.close()

    async def _purge(self) -> None:
        while await self._write(purge_some):
            pass
