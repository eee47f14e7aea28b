"""What an episode left behind, what hangs on nothing else, and removing entities."""

from __future__ import annotations

from collections.abc import Collection

import apsw

from kgsvc.domain.delta import GraphDelta
from kgsvc.domain.forgetting import Said, Saying, saying_of
from kgsvc.stores.embedded.groups import find_group
from kgsvc.stores.embedded.rows import entity_of, json_list, strings
from kgsvc.stores.embedded.sql import all_rows
from kgsvc.stores.protocol import EpisodeTraces


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
