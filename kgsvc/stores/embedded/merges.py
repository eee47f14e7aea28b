"""Merges of entities, and the mentions that they move."""

from __future__ import annotations

from collections.abc import Collection

import apsw

from kgsvc.domain.delta import GraphDelta, MergeRecord
from kgsvc.domain.model import Mention
from kgsvc.stores.embedded.rows import json_list, strings
from kgsvc.stores.embedded.sql import all_rows, first_row


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
