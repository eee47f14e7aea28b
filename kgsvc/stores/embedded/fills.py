"""Fills of vectors and their leases (FillStore)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import LiteralString

import apsw

from kgsvc.domain.errors import LeaseLost
from kgsvc.domain.model.delta import GraphDelta, Guard
from kgsvc.domain.model.fills import Filled, FillLease, FillWork, Reembedding
from kgsvc.stores.embedded.apply import apply_delta
from kgsvc.stores.embedded.rows import all_rows, column, first_row, first_value, group_of, json_ids, json_list
from kgsvc.stores.embedded.vectors import TABLES, Written, bring_up, put_next, put_vectors
from kgsvc.stores.embedded.writer import EmbeddedBase, reading, writing
from kgsvc.stores.records import reembedding


def begin_fill(db: apsw.Connection, group_id: str, now_ms: int) -> None:
    """See FillStore."""
    sql = """
        INSERT INTO fills (gid, next_ms) SELECT gid, ?2 FROM groups WHERE group_id = ?1
        ON CONFLICT (gid) DO UPDATE SET token = token + 1, owner_id = NULL, next_ms = excluded.next_ms
        """
    db.execute(sql, (group_id, now_ms))


def _begin_fills(db: apsw.Connection, space: str, now_ms: int) -> int:
    # Two spans of the index of spaces, instead of a look at all groups.
    sql = """
        WITH others (gid) AS (
            SELECT gid FROM groups WHERE space <> '' AND space < ?1
            UNION SELECT gid FROM groups WHERE space <> '' AND space > ?1
            UNION SELECT gid FROM fills WHERE space NOT IN ('', ?1)
        )
        INSERT INTO fills (gid, next_ms, space)
        SELECT g.gid, ?2, ?1 FROM others o JOIN groups g ON g.gid = o.gid LEFT JOIN fills f ON f.gid = g.gid
        WHERE g.rev > 0 AND f.space IS NOT ?1
        ON CONFLICT (gid) DO UPDATE SET token = token + 1, owner_id = NULL, next_ms = excluded.next_ms,
            space = excluded.space, attempts = 0, after_rev = 0, after_uuid = '', facts_rev = 0, embedded = 0
        """
    db.execute(sql, (space, now_ms))
    return int(db.changes())


def _open_fills(db: apsw.Connection, now_ms: int, limit: int, space: str = "") -> list[FillWork]:
    sql = """
        SELECT g.group_id, f.token, f.owner_id, f.renewals FROM fills f JOIN groups g ON g.gid = f.gid
        WHERE f.next_ms <= ?1 AND (?3 = '' OR f.space IN ('', ?3))
            AND NOT EXISTS (SELECT 1 FROM paused_groups p WHERE p.group_id = g.group_id)
        ORDER BY f.next_ms, f.gid LIMIT ?2
        """
    return [FillWork(*row) for row in all_rows(db, sql, (now_ms, limit, space))]


def _claim_fill(db: apsw.Connection, seen: FillWork, owner_id: str, space: str = "") -> FillLease | None:
    sql = """
        UPDATE fills SET token = token + 1, owner_id = ?1, attempts = attempts + (owner_id IS NOT ?1),
            space = iif(space = '', ?6, space)
        WHERE gid = (SELECT gid FROM groups WHERE group_id = ?2) AND token = ?3 AND renewals = ?4
            AND owner_id IS ?5
        RETURNING token, attempts, after_rev, after_uuid, facts_rev, space
        """
    row = first_row(db, sql, (owner_id, seen.group_id, seen.token, seen.renewals, seen.owner_id, space))
    if row is None:
        return None
    token, attempts, rev, uuid, facts_rev, wanted = row
    group = group_of(db, seen.group_id)
    former = group.space if wanted not in ("", group.space) else ""
    place = (rev, uuid)
    return FillLease(seen.group_id, owner_id, token, group.epoch, attempts, place, facts_rev, wanted, former)


def _held(db: apsw.Connection, lease: FillLease) -> int | None:
    sql = """
        SELECT f.gid FROM fills f JOIN groups g ON g.gid = f.gid
        WHERE g.group_id = ? AND g.epoch = ? AND f.token = ? AND f.owner_id = ?
        """
    gid = first_value(db, sql, (lease.group_id, lease.epoch, lease.token, lease.owner_id))
    return None if gid is None else int(gid)


def _own(db: apsw.Connection, lease: FillLease) -> int:
    """The gid of the lease's group. LeaseLost."""
    gid = _held(db, lease)
    if gid is None:
        raise LeaseLost("the fill is another process's, or its group was deleted")
    return gid


def _renew_fill(db: apsw.Connection, lease: FillLease) -> bool:
    gid = _held(db, lease)
    db.execute("UPDATE fills SET renewals = renewals + 1 WHERE gid = ?", (gid,))
    return gid is not None


def _release_fill(db: apsw.Connection, lease: FillLease, next_ms: int) -> None:
    sql = "UPDATE fills SET owner_id = NULL, attempts = max(attempts - 1, 0), next_ms = ? WHERE gid = ?"
    db.execute(sql, (next_ms, _held(db, lease)))


# By kind, the rows of a group (?1) and where they stand in its changes: communities before all else of a
# revision.
_CHANGED: Mapping[LiteralString, LiteralString] = {
    "fact": "SELECT f.id, f.uuid, f.rev, f.uuid AS place FROM facts f WHERE f.gid = ?1",
    "entity": "SELECT n.id, n.uuid, n.rev, n.uuid AS place FROM entities n WHERE n.gid = ?1",
    "episode": """
        SELECT f.id, e.uuid, f.rev, e.uuid AS place
        FROM found_episodes f JOIN episodes e ON e.id = f.id WHERE f.gid = ?1
        """,
    "community": """
        SELECT c.id, c.uuid, u.rev, '!' AS place FROM community_current u
        JOIN communities c ON c.gid = u.gid AND c.build_id = u.build_id WHERE u.gid = ?1 AND c.name <> ''
        """,
}


def _bare(kind: LiteralString, condition: str) -> str:
    """The statement that finds those of them that have no vector of a space (?2)."""
    return f"""
        SELECT r.id, r.uuid FROM ({_CHANGED[kind]}) r
        LEFT JOIN {TABLES[kind][0]} v ON v.id = r.id LEFT JOIN next_vectors x ON x.id = r.id
        WHERE v.space IS NOT ?2 AND x.space IS NOT ?2 AND {condition}
        """


_AMONG = "r.uuid IN (SELECT value FROM json_each(?3))"
# Revisions up to ?4 were read whole, the next one up to the uuid ?5.
_READ = "(r.rev <= ?4 OR (r.rev = ?4 + 1 AND r.place <= ?5))"
_LATER = "(r.rev > ?3 + 1 OR (r.rev = ?3 + 1 AND r.place > ?4))"


def _lacking(db: apsw.Connection, lease: FillLease, uuids: Collection[str]) -> set[str]:
    gid, asked = group_of(db, lease.group_id).gid, json_list(uuids)
    rows = (all_rows(db, _bare(kind, _AMONG), (gid, lease.space, asked)) for kind in _CHANGED)
    return {uuid for found in rows for _, uuid in found}


def _made(db: apsw.Connection, gid: int, lease: FillLease, filled: Filled) -> dict[str, Written]:
    """By kind, the vectors of rows that still lack one and are as they were when the page was read."""
    found: dict[str, Written] = {}
    for kind in _CHANGED:
        vectors = filled.passages if kind == "episode" else filled.vectors
        place = (filled.facts_rev, "") if kind == "fact" else filled.place
        asked = (gid, lease.space or filled.space, json_list(vectors), *place)
        rows = all_rows(db, _bare(kind, f"{_AMONG} AND {_READ}"), asked) if vectors else []
        found[kind] = {row_id: (kind, vectors[uuid]) for row_id, uuid in rows}
    return found


def _fill(db: apsw.Connection, lease: FillLease, filled: Filled, now_ms: int) -> None:
    gid = _own(db, lease)
    made = _made(db, gid, lease, filled)
    if lease.former:
        for written in made.values():
            put_next(db, filled.space, written)
    elif any(made.values()):
        _use(db, gid, lease, filled, made, now_ms)
    sql = """
        UPDATE fills SET after_rev = ?, after_uuid = ?, facts_rev = max(facts_rev, ?), attempts = 0,
            embedded = embedded + ? WHERE gid = ?
        """
    db.execute(sql, (*filled.place, filled.facts_rev, sum(map(len, made.values())), gid))


def _use(
    db: apsw.Connection,
    gid: int,
    lease: FillLease,
    filled: Filled,
    made: Mapping[str, Written],
    now_ms: int,
) -> None:
    """As a change of the graph, of which indexes are told."""
    head = group_of(db, lease.group_id).head
    episodes = _uuids(db, "episodes", made["episode"])
    delta = GraphDelta(
        lease.group_id,
        max(now_ms, head.last_ms + 1),
        passages={uuid: filled.passages[uuid] for uuid in episodes},
        vectors={uuid: filled.vectors[uuid] for uuid in _uuids(db, "entities", made["entity"])},
        space=filled.space,
        spent={uuid: filled.spent[uuid] for uuid in episodes if uuid in filled.spent},
    )
    rev = apply_delta(db, delta, Guard(head.rev, head.epoch)).rev
    facts, communities = made["fact"], made["community"]
    for written in (facts, communities):
        put_vectors(db, gid, rev, {filled.space: written}, filled.space, now_ms)
    db.executemany("UPDATE facts SET rev = ? WHERE id = ?", [(rev, row_id) for row_id in facts])
    if communities:
        db.execute("UPDATE community_current SET rev = ? WHERE gid = ?", (rev, gid))


def _uuids(db: apsw.Connection, table: LiteralString, written: Written) -> list[str]:
    sql = f"SELECT uuid FROM {table} WHERE id IN (SELECT value FROM json_each(?))"
    return column(db, sql, (json_ids(written),))


def _switch_space(db: apsw.Connection, lease: FillLease) -> bool:
    gid = _own(db, lease)
    sql = "SELECT after_rev, after_uuid, facts_rev FROM fills WHERE gid = ?"
    ((rev, uuid, facts_rev),) = all_rows(db, sql, (gid,))
    for kind in _CHANGED:
        place = (facts_rev, "") if kind == "fact" else (rev, uuid)
        if first_row(db, _bare(kind, _LATER) + " LIMIT 1", (gid, lease.space, *place)) is not None:
            return False
    db.execute("UPDATE groups SET space = ?, tidying = 1 WHERE gid = ?", (lease.space, gid))
    return True


def _tidy(db: apsw.Connection, lease: FillLease, limit: int) -> bool:
    gid = _own(db, lease)
    left = bring_up(db, lease.group_id, limit)
    if not left:
        db.execute("DELETE FROM fills WHERE gid = ?", (gid,))
    return left


def _reembeddings(db: apsw.Connection, group_ids: Collection[str] | None = None) -> list[Reembedding]:
    sql = """
        SELECT g.group_id, g.space, f.space, f.embedded, g.rev, f.after_rev, f.facts_rev
        FROM fills f JOIN groups g ON g.gid = f.gid WHERE f.space NOT IN ('', g.space)
            AND (?1 IS NULL OR g.group_id IN (SELECT value FROM json_each(?1))) ORDER BY g.group_id
        """
    asked = None if group_ids is None else json_list(group_ids)
    rows = all_rows(db, sql, (asked,))
    return [reembedding(row) for row in rows]


class EmbeddedFills(EmbeddedBase):
    """FillStore."""

    begin_fill = writing(begin_fill)
    begin_fills = writing(_begin_fills)
    open_fills = reading(_open_fills)
    claim_fill = writing(_claim_fill)
    renew_fill = writing(_renew_fill)
    release_fill = writing(_release_fill)
    lacking = reading(_lacking)
    fill = writing(_fill)
    switch_space = writing(_switch_space)
    tidy = writing(_tidy)
    reembeddings = reading(_reembeddings)
