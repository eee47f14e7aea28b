"""Merges of entities, and the mentions that they move."""

from __future__ import annotations

from collections.abc import Collection

import apsw

from kgsvc.domain.model.delta import GraphDelta, MergeRecord
from kgsvc.domain.model.graph import Mention
from kgsvc.domain.names.forgetting import Said, Saying, saying_of
from kgsvc.stores.embedded.groups import find_group
from kgsvc.stores.embedded.rows import all_rows, entity_of, first_row, json_list, strings
from kgsvc.stores.protocol import EpisodeTraces


def write_merges(db: apsw.Connection, gid: int, delta: GraphDelta) -> None:
    """The delta's merges, those it takes back, and the mentions it removes."""
    db.executemany(
        "DELETE FROM merges WHERE gid = ? AND merge_id = ?", [(gid, each) for each in delta.remove_merges]
    )
    db.executemany(
        """
        INSERT INTO merges (gid, merge_id, merged_uuid, kept_uuid, created_ms, data, by_episode)
        VALUES (?, ?, ?, ?, ?, ?, ?)
        """,
        [
            (gid, m.merge_id, m.merged_uuid, m.kept_uuid, m.created_ms, m.data, m.by_episode)
            for m in delta.merges
        ],
    )
    db.executemany(
        """
        DELETE FROM mentions
        WHERE episode_id = (SELECT id FROM episodes WHERE gid = ?1 AND uuid = ?2)
            AND entity_id = (SELECT id FROM entities WHERE gid = ?1 AND uuid = ?3)
        """,
        [(gid, episode, entity) for episode, entity in delta.remove_mentions],
    )


def find_merge(db: apsw.Connection, group_id: str, merge_id: str) -> MergeRecord | None:
    """See HistoryStore."""
    row = first_row(
        db,
        """
        SELECT m.merge_id, g.group_id, m.merged_uuid, m.kept_uuid, m.created_ms, m.data, m.by_episode
        FROM groups g JOIN merges m ON m.gid = g.gid WHERE g.group_id = ? AND m.merge_id = ?
        """,
        (group_id, merge_id),
    )
    return None if row is None else MergeRecord(*row)


def merges_of(db: apsw.Connection, uuid: str, group_id: str | None) -> list[MergeRecord]:
    """See HistoryStore."""
    rows = all_rows(
        db,
        """
        SELECT m.merge_id, g.group_id, m.merged_uuid, m.kept_uuid, max(m.created_ms), m.data, m.by_episode
        FROM merges m JOIN groups g ON g.gid = m.gid
        WHERE m.merged_uuid = ?1 AND (?2 IS NULL OR g.group_id = ?2)
        GROUP BY g.group_id ORDER BY g.group_id LIMIT 2
        """,
        (uuid, group_id),
    )
    return [MergeRecord(*row) for row in rows]


def merges_by(db: apsw.Connection, group_id: str, episode_uuid: str) -> list[MergeRecord]:
    """See HistoryStore."""
    rows = all_rows(
        db,
        """
        SELECT m.merge_id, g.group_id, m.merged_uuid, m.kept_uuid, m.created_ms, m.data, m.by_episode
        FROM groups g JOIN merges m ON m.gid = g.gid AND m.by_episode = ?2 AND m.by_episode <> ''
        WHERE g.group_id = ?1 ORDER BY m.created_ms DESC, m.merge_id
        """,
        (group_id, episode_uuid),
    )
    return [MergeRecord(*row) for row in rows]


def entity_mentions(
    db: apsw.Connection, group_id: str, uuid: str, limit: int, among: Collection[str] | None
) -> list[str]:
    """See HistoryStore."""
    rows = all_rows(
        db,
        """
        SELECT e.uuid FROM groups g JOIN entities n ON n.gid = g.gid AND n.uuid = ?2
        JOIN mentions m ON m.entity_id = n.id JOIN episodes e ON e.id = m.episode_id
        WHERE g.group_id = ?1 AND (?4 IS NULL OR e.uuid IN (SELECT value FROM json_each(?4)))
        ORDER BY e.uuid LIMIT ?3
        """,
        (group_id, uuid, limit, None if among is None else json_list(among)),
    )
    return [row[0] for row in rows]


def find_mentions(
    db: apsw.Connection, group_id: str, uuid: str, episodes: Collection[str]
) -> dict[str, Mention]:
    """See HistoryStore."""
    rows = all_rows(
        db,
        """
        SELECT m.uuid, g.group_id, e.uuid, n.uuid, m.created_ms, m.names, m.types
        FROM groups g JOIN entities n ON n.gid = g.gid AND n.uuid = ?2
        JOIN episodes e ON e.gid = g.gid AND e.uuid IN (SELECT value FROM json_each(?3))
        JOIN mentions m ON m.episode_id = e.id AND m.entity_id = n.id
        WHERE g.group_id = ?1
        """,
        (group_id, uuid, json_list(episodes)),
    )
    return {row[2]: Mention(*row[:5], *map(strings, row[5:])) for row in rows}


def episode_traces(db: apsw.Connection, group_id: str, uuid: str) -> EpisodeTraces:
    """See HistoryStore."""
    group = find_group(db, group_id)
    if group is None:
        return EpisodeTraces((), ())
    slots = all_rows(
        db,
        """
        WITH told (uuid) AS (
            SELECT j.value FROM episodes e JOIN episode_edges x ON x.id = e.id JOIN json_each(x.facts) j
            WHERE e.gid = ?1 AND e.uuid = ?2
        )
        SELECT f.slot FROM told JOIN facts f ON f.uuid = told.uuid AND f.gid = ?1
        UNION SELECT t.slot FROM told JOIN fact_tombstones t ON t.gid = ?1 AND t.uuid = told.uuid
        UNION SELECT f.slot FROM closures c JOIN facts f ON f.id = c.fact_id
            WHERE c.gid = ?1 AND c.by_episode = ?2
        """,
        (group.gid, uuid),
    )
    named = all_rows(
        db,
        """
        SELECT n.* FROM episodes e JOIN mentions m ON m.episode_id = e.id
        JOIN live_entities n ON n.id = m.entity_id WHERE e.gid = ? AND e.uuid = ? ORDER BY n.uuid
        """,
        (group.gid, uuid),
    )
    return EpisodeTraces(tuple(sorted(row[0] for row in slots)), tuple(map(entity_of, named)))


def episode_sayings(db: apsw.Connection, group_id: str, uuid: str) -> dict[str, Saying]:
    """See HistoryStore."""
    group = find_group(db, group_id)
    if group is None:
        return {}
    rows = all_rows(
        db,
        """
        SELECT DISTINCT n.uuid, o.episode_id = e.id, o.names, o.types
        FROM episodes e JOIN mentions m ON m.episode_id = e.id JOIN entities n ON n.id = m.entity_id
        JOIN mentions o ON o.entity_id = n.id WHERE e.gid = ? AND e.uuid = ?
        """,
        (group.gid, uuid),
    )
    firsts = all_rows(
        db,
        """
        SELECT n.uuid, x.reference_ms, x.uuid
        FROM episodes e JOIN mentions m ON m.episode_id = e.id JOIN entities n ON n.id = m.entity_id
        CROSS JOIN episodes x ON x.id = (
            SELECT y.id FROM mentions o JOIN episodes y ON y.id = o.episode_id
            WHERE o.entity_id = n.id AND y.id <> e.id ORDER BY y.reference_ms, y.uuid LIMIT 1)
        WHERE e.gid = ? AND e.uuid = ?
        """,
        (group.gid, uuid),
    )
    first = {entity: (ms, episode) for entity, ms, episode in firsts}
    told: dict[tuple[str, bool], list[Said]] = {(row[0], bool(row[1])): [] for row in rows}
    for entity, is_own, names, types in rows:
        told[entity, bool(is_own)].append((strings(names), strings(types)))
    return {
        entity: saying_of(told[entity, True][0], told.get((entity, False), []), first.get(entity))
        for entity, is_own in told
        if is_own
    }


def remove_names(db: apsw.Connection, gid: int, delta: GraphDelta) -> None:
    """Names that lead to nothing any more, and what they were found by."""
    db.executemany(
        "DELETE FROM names WHERE gid = ? AND name_key = ?", [(gid, key) for key in delta.remove_names]
    )
    db.executemany(
        "DELETE FROM name_tokens WHERE gid = ? AND token = ? AND uuid = ?",
        [(gid, token, uuid) for token, uuid in delta.remove_name_tokens],
    )


def unsay(db: apsw.Connection, gid: int, delta: GraphDelta) -> None:
    """Communities forget what they told of entities and facts that lost words; removed ones see to it
    themselves (schema_communities.py)."""
    if not delta.unsaid:
        return
    unsaid = (gid, json_list(delta.unsaid))
    told = """
        SELECT c.id FROM entities n JOIN community_members m ON m.entity_id = n.id
        JOIN communities c ON c.id = m.community_id
        WHERE n.gid = ? AND n.uuid IN (SELECT value FROM json_each(?))
            AND n.uuid IN (SELECT value FROM json_each(c.plan, '$[0]'))
        """
    hubs = [(row[0],) for row in all_rows(db, told, unsaid)]
    db.executemany("DELETE FROM community_vectors WHERE id = ?", hubs)
    db.executemany("UPDATE communities SET name = '', summary = '' WHERE id = ?", hubs)
    db.execute(
        """
        UPDATE communities SET summary = '' WHERE id IN (
            SELECT x.community_id FROM facts f JOIN community_facts x ON x.fact_id = f.id
            WHERE f.gid = ? AND f.uuid IN (SELECT value FROM json_each(?)))
        """,
        unsaid,
    )


def unheld_entities(
    db: apsw.Connection,
    group_id: str,
    entity_uuids: Collection[str],
    episode_uuid: str,
    fact_uuids: Collection[str],
) -> set[str]:
    """See HistoryStore."""
    group = find_group(db, group_id)
    if group is None:
        return set()
    rows = all_rows(
        db,
        """
        WITH but (uuid) AS (SELECT value FROM json_each(?4))
        SELECT n.uuid FROM entities n
        WHERE n.gid = ?1 AND n.uuid IN (SELECT value FROM json_each(?2))
            AND NOT EXISTS (SELECT 1 FROM facts f WHERE f.source_id = n.id AND f.uuid NOT IN but)
            AND NOT EXISTS (SELECT 1 FROM facts f WHERE f.target_id = n.id AND f.uuid NOT IN but)
            AND NOT EXISTS (SELECT 1 FROM mentions m JOIN episodes e ON e.id = m.episode_id
                            WHERE m.entity_id = n.id AND e.uuid <> ?3)
        """,
        (group.gid, json_list(entity_uuids), episode_uuid, json_list(fact_uuids)),
    )
    return {row[0] for row in rows}


def remove_entities(db: apsw.Connection, gid: int, delta: GraphDelta) -> None:
    """Entities with their names, mentions and vectors; their facts are gone or moved already."""
    if not delta.remove_entities:
        return
    rows = all_rows(
        db,
        "SELECT id FROM entities WHERE gid = ? AND uuid IN (SELECT value FROM json_each(?))",
        (gid, json_list(delta.remove_entities)),
    )
    db.executemany(
        "DELETE FROM name_tokens WHERE gid = ? AND uuid = ?", [(gid, uuid) for uuid in delta.remove_entities]
    )
    db.executemany("DELETE FROM names WHERE entity_id = ?", rows)
    db.executemany("DELETE FROM mentions WHERE entity_id = ?", rows)
    db.executemany("DELETE FROM entity_vectors WHERE id = ?", rows)
    db.executemany("DELETE FROM entities WHERE id = ?", rows)


def write_closures(db: apsw.Connection, gid: int, delta: GraphDelta, facts: dict[str, int]) -> None:
    """Which episodes closed which facts from other slots. One that is no longer so only costs a look."""
    db.executemany(
        "INSERT INTO closures (gid, by_episode, fact_id) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
        [(gid, c.by_episode, facts[fact.uuid]) for fact in delta.facts for c in fact.closures],
    )
