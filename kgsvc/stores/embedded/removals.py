"""What a change of the graph takes out, and what it moves from one entity to another: called by apply."""

from __future__ import annotations

import apsw

from kgsvc.domain.model.delta import GraphDelta
from kgsvc.stores.embedded.rows import column, ids_of, json_list, upsert

_TOMBSTONE = upsert("fact_tombstones", "gid, uuid", "slot, fact, deleted_ms, rev")
_MERGE = """
    INSERT INTO merges (gid, merge_id, merged_uuid, kept_uuid, created_ms, data, by_episode)
    VALUES (?, ?, ?, ?, ?, ?, ?)
    """


def remove_facts(db: apsw.Connection, gid: int, rev: int, delta: GraphDelta) -> None:
    """Facts, for which tombstones stand."""
    if not delta.remove_facts:
        return
    ids = ids_of(db, "facts", gid, (tombstone.uuid for tombstone in delta.remove_facts))
    gone = [(row_id,) for row_id in ids.values()]
    db.executemany("DELETE FROM facts WHERE id = ?", gone)
    db.executemany("DELETE FROM fact_vectors WHERE id = ?", gone)
    rows = [(gid, t.uuid, t.slot, t.fact, t.deleted_ms, rev) for t in delta.remove_facts]
    db.executemany(_TOMBSTONE, rows)


def remove_episodes(db: apsw.Connection, gid: int, delta: GraphDelta) -> None:
    """Episodes with their items, links and stored stages."""
    if not delta.remove_episodes:
        return
    gone = [(row_id,) for row_id in ids_of(db, "episodes", gid, delta.remove_episodes).values()]
    db.executemany("DELETE FROM mentions WHERE episode_id = ?", gone)
    db.executemany("DELETE FROM episode_edges WHERE id = ?", gone)
    db.executemany("DELETE FROM stages WHERE id = ?", gone)
    db.executemany("DELETE FROM items WHERE id = ?", gone)
    db.executemany("DELETE FROM episodes WHERE id = ?", gone)


def remove_entities(db: apsw.Connection, gid: int, delta: GraphDelta) -> None:
    """Entities with their names, mentions and vectors; their facts are gone or moved already."""
    if not delta.remove_entities:
        return
    gone = [(row_id,) for row_id in ids_of(db, "entities", gid, delta.remove_entities).values()]
    tokens = [(gid, uuid) for uuid in delta.remove_entities]
    db.executemany("DELETE FROM name_tokens WHERE gid = ? AND uuid = ?", tokens)
    db.executemany("DELETE FROM names WHERE entity_id = ?", gone)
    db.executemany("DELETE FROM mentions WHERE entity_id = ?", gone)
    db.executemany("DELETE FROM entity_vectors WHERE id = ?", gone)
    db.executemany("DELETE FROM entities WHERE id = ?", gone)


def remove_names(db: apsw.Connection, gid: int, delta: GraphDelta) -> None:
    """Names that lead to nothing any more, and what they were found by."""
    db.executemany(
        "DELETE FROM names WHERE gid = ? AND name_key = ?", [(gid, key) for key in delta.remove_names]
    )
    db.executemany(
        "DELETE FROM name_tokens WHERE gid = ? AND token = ? AND uuid = ?",
        [(gid, token, uuid) for token, uuid in delta.remove_name_tokens],
    )


def write_merges(db: apsw.Connection, gid: int, delta: GraphDelta) -> None:
    """The delta's merges, those it takes back, and the mentions it removes."""
    undone = [(gid, merge_id) for merge_id in delta.remove_merges]
    db.executemany("DELETE FROM merges WHERE gid = ? AND merge_id = ?", undone)
    made = [
        (gid, m.merge_id, m.merged_uuid, m.kept_uuid, m.created_ms, m.data, m.by_episode)
        for m in delta.merges
    ]
    db.executemany(_MERGE, made)
    sql = """
        DELETE FROM mentions
        WHERE episode_id = (SELECT id FROM episodes WHERE gid = ?1 AND uuid = ?2)
            AND entity_id = (SELECT id FROM entities WHERE gid = ?1 AND uuid = ?3)
        """
    db.executemany(sql, [(gid, episode, entity) for episode, entity in delta.remove_mentions])


def drop_descriptions(db: apsw.Connection, gid: int, delta: GraphDelta) -> None:
    """Communities lose descriptions that speak of entities and facts whose text was dropped. For removed
    entities and facts triggers do the same (schema.py)."""
    if not delta.unsaid:
        return
    dropped = (gid, json_list(delta.unsaid))
    described = """
        SELECT c.id FROM entities n JOIN community_members m ON m.entity_id = n.id
        JOIN communities c ON c.id = m.community_id
        WHERE n.gid = ? AND n.uuid IN (SELECT value FROM json_each(?))
            AND n.uuid IN (SELECT value FROM json_each(c.plan, '$[0]'))
        """
    hubs = [(row_id,) for row_id in column(db, described, dropped)]
    db.executemany("DELETE FROM community_vectors WHERE id = ?", hubs)
    db.executemany("UPDATE communities SET name = '', summary = '' WHERE id = ?", hubs)
    sql = """
        UPDATE communities SET summary = '' WHERE id IN (
            SELECT x.community_id FROM facts f JOIN community_facts x ON x.fact_id = f.id
            WHERE f.gid = ? AND f.uuid IN (SELECT value FROM json_each(?)))
        """
    db.execute(sql, dropped)
