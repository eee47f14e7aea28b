"""One thing with what hangs on it (HistoryStore)."""

from __future__ import annotations

import json
from collections.abc import Collection

import apsw

from kgsvc.domain.model.delta import MergeRecord
from kgsvc.domain.model.graph import Citation, Episode, Fact, Mention, Source
from kgsvc.domain.names.forgetting import Saying
from kgsvc.stores.embedded.base import Base
from kgsvc.stores.embedded.groups import find_group
from kgsvc.stores.embedded.rows import Row, all_rows, episode_of, fact_of, first_row, json_ids, json_list
from kgsvc.stores.embedded.traces import (
    entity_mentions,
    episode_sayings,
    episode_traces,
    find_mentions,
    find_merge,
    merges_by,
    merges_of,
    unheld_entities,
)
from kgsvc.stores.protocol import EntityEpisodes, EpisodeTraces

_NONE = EntityEpisodes(None, ())


class History(Base):
    """HistoryStore."""

    async def facts(self, group_id: str, uuids: Collection[str]) -> list[Fact]:
        """See HistoryStore."""
        return await self._read(_facts, group_id, uuids)

    async def citations(self, group_id: str, episode_uuids: Collection[str]) -> dict[str, Citation]:
        """See HistoryStore."""
        return await self._read(_citations, group_id, episode_uuids)

    async def episode_edges(
        self, group_id: str, episode_uuids: Collection[str]
    ) -> dict[str, tuple[str, ...]]:
        """See HistoryStore."""
        return await self._read(_episode_edges, group_id, episode_uuids)

    async def entity_facts(
        self, group_id: str, entity_uuid: str, limit: int, current_ms: int | None = None
    ) -> list[Fact]:
        """See HistoryStore."""
        return await self._read(_entity_facts, group_id, entity_uuid, limit, current_ms)

    async def entity_episodes(
        self, group_id: str, entity_uuid: str, limit: int, max_bytes: int
    ) -> EntityEpisodes:
        """See HistoryStore."""
        return await self._read(_entity_episodes, group_id, entity_uuid, limit, max_bytes)

    async def entity_names(self, group_id: str, entity_uuid: str, limit: int) -> list[str]:
        """See HistoryStore."""
        return await self._read(_entity_names, group_id, entity_uuid, limit)

    async def entity_mentions(
        self, group_id: str, entity_uuid: str, limit: int, among: Collection[str] | None = None
    ) -> list[str]:
        """See HistoryStore."""
        return await self._read(entity_mentions, group_id, entity_uuid, limit, among)

    async def mentions(
        self, group_id: str, entity_uuid: str, episode_uuids: Collection[str]
    ) -> dict[str, Mention]:
        """See HistoryStore."""
        return await self._read(find_mentions, group_id, entity_uuid, episode_uuids)

    async def sayings(self, group_id: str, episode_uuid: str) -> dict[str, Saying]:
        """See HistoryStore."""
        return await self._read(episode_sayings, group_id, episode_uuid)

    async def merge(self, group_id: str, merge_id: str) -> MergeRecord | None:
        """See HistoryStore."""
        return await self._read(find_merge, group_id, merge_id)

    async def merged(self, uuid: str, group_id: str | None) -> list[MergeRecord]:
        """See HistoryStore."""
        return await self._read(merges_of, uuid, group_id)

    async def merges_by(self, group_id: str, episode_uuid: str) -> list[MergeRecord]:
        """See HistoryStore."""
        return await self._read(merges_by, group_id, episode_uuid)

    async def traces(self, group_id: str, episode_uuid: str) -> EpisodeTraces:
        """See HistoryStore."""
        return await self._read(episode_traces, group_id, episode_uuid)

    async def unheld(
        self, group_id: str, entity_uuids: Collection[str], episode_uuid: str, fact_uuids: Collection[str]
    ) -> set[str]:
        """See HistoryStore."""
        return await self._read(unheld_entities, group_id, entity_uuids, episode_uuid, fact_uuids)


def _facts(db: apsw.Connection, group_id: str, uuids: Collection[str]) -> list[Fact]:
    rows = all_rows(
        db,
        """
        SELECT * FROM live_facts
        WHERE uuid IN (SELECT value FROM json_each(?)) AND group_id = ? ORDER BY uuid
        """,
        (json_list(set(uuids)), group_id),
    )
    return [fact_of(row) for row in rows]


def _citations(db: apsw.Connection, group_id: str, uuids: Collection[str]) -> dict[str, Citation]:
    rows = all_rows(
        db,
        """
        SELECT uuid, name, source, source_description, created_ms FROM live_episodes
        WHERE uuid IN (SELECT value FROM json_each(?)) AND group_id = ?
        """,
        (json_list(set(uuids)), group_id),
    )
    return {row[0]: Citation(row[0], row[1], Source(row[2]), row[3], row[4]) for row in rows}


def _episode_edges(db: apsw.Connection, group_id: str, uuids: Collection[str]) -> dict[str, tuple[str, ...]]:
    rows = all_rows(
        db,
        """
        SELECT e.uuid, x.facts FROM live_episodes e JOIN episode_edges x ON x.id = e.id
        WHERE e.uuid IN (SELECT value FROM json_each(?)) AND e.group_id = ?
        """,
        (json_list(set(uuids)), group_id),
    )
    told = {uuid: json.loads(facts) for uuid, facts in rows}
    alive = all_rows(
        db,
        """
        SELECT f.uuid FROM facts f JOIN groups g ON g.gid = f.gid
        WHERE f.uuid IN (SELECT value FROM json_each(?)) AND g.group_id = ?
        """,
        (json_list({fact for facts in told.values() for fact in facts}), group_id),
    )
    there = {row[0] for row in alive}
    kept = {uuid: tuple(sorted(there.intersection(facts))) for uuid, facts in told.items()}
    return {uuid: facts for uuid, facts in kept.items() if facts}


def _entity_facts(
    db: apsw.Connection, group_id: str, uuid: str, limit: int, current_ms: int | None
) -> list[Fact]:
    rows = all_rows(
        db,
        """
        WITH ends (id) AS (
            SELECT n.id FROM entities n JOIN groups g ON g.gid = n.gid WHERE n.uuid = ?1 AND g.group_id = ?2
        ), hanging (id) AS (
            SELECT f.id FROM ends JOIN facts f ON f.source_id = ends.id
            UNION SELECT f.id FROM ends JOIN facts f ON f.target_id = ends.id
        )
        SELECT f.id FROM hanging JOIN facts f ON f.id = hanging.id
        WHERE ?3 IS NULL OR (f.expired_ms IS NULL AND coalesce(f.valid_ms, f.reference_ms) <= ?3
                             AND (f.invalid_ms IS NULL OR f.invalid_ms > ?3))
        ORDER BY coalesce(f.valid_ms, f.reference_ms) DESC, f.uuid DESC LIMIT ?4
        """,
        (uuid, group_id, current_ms, limit),
    )
    places = {row[0]: place for place, row in enumerate(rows)}
    whole = all_rows(
        db, "SELECT * FROM live_facts WHERE id IN (SELECT value FROM json_each(?))", (json_ids(places),)
    )
    return [fact_of(row) for row in sorted(whole, key=lambda row: places[row[0]])]


def _entity_episodes(
    db: apsw.Connection, group_id: str, uuid: str, limit: int, max_bytes: int
) -> EntityEpisodes:
    found = first_row(
        db,
        "SELECT n.id FROM entities n JOIN groups g ON g.gid = n.gid WHERE n.uuid = ? AND g.group_id = ?",
        (uuid, group_id),
    )
    if found is None:
        return _NONE
    naming = """
        SELECT e.uuid, e.id, octet_length(e.body) FROM mentions m JOIN episodes e ON e.id = m.episode_id
        WHERE m.entity_id = ?
        """
    first = first_row(db, naming + "ORDER BY e.reference_ms, e.uuid LIMIT 1", found)
    if first is None:
        return _NONE
    latest = all_rows(db, naming + "ORDER BY e.reference_ms DESC, e.uuid DESC LIMIT ?", (*found, limit))
    return EntityEpisodes(first[0], _whole_episodes(db, latest, max_bytes))


def _whole_episodes(db: apsw.Connection, latest: list[Row], max_bytes: int) -> tuple[Episode, ...]:
    """Up to the one with which the bodies exceed `max_bytes`, oldest first."""
    ids: list[int] = []
    total = 0
    for _uuid, row_id, size in latest:
        ids.append(row_id)
        total += size
        if total > max_bytes:
            break
    rows = all_rows(
        db,
        """
        SELECT * FROM live_episodes WHERE id IN (SELECT value FROM json_each(?)) ORDER BY reference_ms, uuid
        """,
        (json_ids(ids),),
    )
    return tuple(episode_of(row) for row in rows)


def _entity_names(db: apsw.Connection, group_id: str, uuid: str, limit: int) -> list[str]:
    group = find_group(db, group_id)
    rows = all_rows(
        db,
        """
        SELECT k.name_key FROM entities n JOIN names k ON k.entity_id = n.id
        WHERE n.gid = ? AND n.uuid = ? ORDER BY k.name_key LIMIT ?
        """,
        (None if group is None else group.gid, uuid, limit),
    )
    return [row[0] for row in rows]
