"""Where vectors stand: those of the space in use in a table for each kind of row, those of a space that the
group goes over to beside them in next_vectors (fill_protocol.py)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import LiteralString

import apsw

from kgsvc.domain.model.delta import GraphDelta, SpaceVectors
from kgsvc.stores.embedded.rows import (
    Ids,
    all_rows,
    column,
    first_row,
    first_value,
    group_of,
    id_span,
    ids_of,
    json_ids,
    upsert,
)

# By kind of row: the table of its vectors, and the column that holds them.
TABLES: Mapping[LiteralString, tuple[LiteralString, LiteralString]] = {
    "fact": ("fact_vectors", "vector"),
    "entity": ("entity_vectors", "vector"),
    "episode": ("passage_vectors", "vectors"),
    "community": ("community_vectors", "vector"),
}
_NEXT = upsert("next_vectors", "id", "kind, space, vector")
_ENTITY = upsert("entity_vectors", "id", "space, vector, rev")
Written = Mapping[int, tuple[LiteralString, bytes]]  # kind and vector of rows, by id


def write_vectors(
    db: apsw.Connection, gid: int, rev: int, delta: GraphDelta, facts: Ids, entities: Ids
) -> None:
    """Vectors of a delta, in each space that it has. Where a row gets a new one in one space, what it had in
    another is of a former text and goes.

    A vector may also be of a fact or entity that this delta does not write; of neither: passed over.
    """
    if not delta.vectors and not delta.passages:
        return
    unknown = [uuid for uuid in delta.vectors if uuid not in facts and uuid not in entities]
    if unknown:
        facts = facts | ids_of(db, "facts", gid, unknown)
        entities = entities | ids_of(db, "entities", gid, unknown)
    episodes = ids_of(db, "episodes", gid, delta.passages) if delta.passages else {}

    def rows_of(made: SpaceVectors) -> Written:
        kinds: tuple[tuple[LiteralString, Ids, Mapping[str, bytes]], ...] = (
            ("entity", entities, made.vectors),
            ("fact", facts, made.vectors),
            ("episode", episodes, made.passages),
        )
        return {ids[u]: (kind, data) for kind, ids, found in kinds for u, data in found.items() if u in ids}

    spaces = {delta.space: rows_of(SpaceVectors(delta.space, delta.vectors, delta.passages))}
    if delta.beside is not None:
        spaces[delta.beside.space] = rows_of(delta.beside)
    put_vectors(db, gid, rev, spaces, delta.space, delta.system_ms)


def put_vectors(
    db: apsw.Connection, gid: int, rev: int, spaces: Mapping[str, Written], own: str, now_ms: int
) -> None:
    """Rows whose texts are new, with their vectors by space; `own`: of the one who writes."""
    used, wanted = _spaces(db, gid, own)
    here = used if used in spaces else None if wanted in spaces else own
    there = wanted if wanted in spaces and wanted != used else None
    changed = {row_id: kind for written in spaces.values() for row_id, (kind, _) in written.items()}
    if wanted is not None or here != used:
        _forget(db, changed)
    if here is not None:
        _put(db, rev, here, spaces[here])
    if there is not None:
        put_next(db, there, spaces[there])
    if used not in spaces and wanted is None:  # whoever has an embedder of this space looks it through
        db.execute("INSERT INTO fills (gid, next_ms, space) VALUES (?, ?, ?)", (gid, now_ms, used))


def _spaces(db: apsw.Connection, gid: int, own: str) -> tuple[str, str | None]:
    """The group's space in use, which is that of its first vectors, and that of its fill, None without one.
    Vectors of a group that is being imported stand as they come."""
    sql = "SELECT g.space, f.space FROM groups g LEFT JOIN fills f ON f.gid = g.gid WHERE g.gid = ?"
    row = first_row(db, sql, (gid,))
    if row is None:
        return own, None
    used, wanted = row
    if not used:
        db.execute("UPDATE groups SET space = ? WHERE gid = ?", (own, gid))
    return used or own, wanted


def _forget(db: apsw.Connection, changed: Mapping[int, LiteralString]) -> None:
    db.executemany("DELETE FROM next_vectors WHERE id = ?", [(row_id,) for row_id in changed])
    for kind, (table, _) in TABLES.items():
        gone = [(row_id,) for row_id, each in changed.items() if each == kind]
        db.executemany(f"DELETE FROM {table} WHERE id = ?", gone)


def _put(db: apsw.Connection, rev: int, space: str, written: Written) -> None:
    for kind, (table, data_column) in TABLES.items():
        rows = [(row_id, space, data) for row_id, (each, data) in written.items() if each == kind]
        if kind == "entity":
            db.executemany(_ENTITY, [(*row, rev) for row in rows])
        elif rows:
            db.executemany(upsert(table, "id", f"space, {data_column}"), rows)


def put_next(db: apsw.Connection, space: str, written: Written) -> None:
    """Vectors of a space that is not in use yet."""
    db.executemany(_NEXT, [(row_id, kind, space, data) for row_id, (kind, data) in written.items()])


def space_of(db: apsw.Connection, gid: int) -> str:
    """The space of most of the vectors that stand in their places; empty: there are none."""
    tables = ("fact_vectors", "entity_vectors", "passage_vectors")
    sql = "SELECT space FROM {} WHERE id BETWEEN ? AND ? GROUP BY space ORDER BY count(*) DESC, space LIMIT 1"
    found = (first_value(db, sql.format(table), id_span(gid)) for table in tables)
    return next((str(space) for space in found if space is not None), "")


def bring_up(db: apsw.Connection, group_id: str, limit: int) -> bool:
    """Bring some vectors that stand beside into their place, those of the space in use; False: none are
    left."""
    group = group_of(db, group_id)
    sql = "SELECT id FROM next_vectors WHERE id BETWEEN ? AND ? ORDER BY id LIMIT ?"
    ids = column(db, sql, (*id_span(group.gid), limit))
    if not ids:
        db.execute("UPDATE groups SET tidying = 0 WHERE gid = ?", (group.gid,))
        return False
    for row_id, kind, data in _in_use(db, ids, group.space):
        _put(db, group.rev, group.space, {row_id: (kind, data)})
    db.execute("DELETE FROM next_vectors WHERE id IN (SELECT value FROM json_each(?))", (json_ids(ids),))
    return True


def _in_use(db: apsw.Connection, ids: Iterable[int], space: str) -> list[tuple[int, LiteralString, bytes]]:
    sql = """
        SELECT id, kind, vector FROM next_vectors
        WHERE id IN (SELECT value FROM json_each(?)) AND space = ?
        """
    return [(row_id, kind, data) for row_id, kind, data in all_rows(db, sql, (json_ids(ids), space))]
