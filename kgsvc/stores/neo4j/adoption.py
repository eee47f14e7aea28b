"""Rows of a group that Graphiti wrote and kgsvc has not taken over yet: those without our columns."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import date, datetime
from typing import Any, LiteralString

from neo4j.time import Date, DateTime

from kgsvc.domain.facts.adoption import ForeignFact
from kgsvc.domain.model.graph import Entity, Episode, Source
from kgsvc.domain.model.keys import content_hash
from kgsvc.stores.neo4j.base import Base, Row

_GROUP: LiteralString = "<NEW_GROUP>"

_EPISODES: LiteralString = """
    MATCH (e:Episodic) WHERE e.group_id = $p.group_id AND e.reference_ms IS NULL
    RETURN e.uuid, coalesce(e.content, ''), e.source, e.valid_at.epochMillis, e.created_at.epochMillis,
        e.name, e.source_description
    ORDER BY e.uuid LIMIT $p.limit
    """

# The item says that the episode is done, so that sending it again is a duplicate.
_TAKE_EPISODES: LiteralString = """
    <LOCKED_GROUP>
    SET g.facts = CASE WHEN g.rev = 0 THEN 0 ELSE g.facts END, g.rev = g.rev + 1
    WITH g <BEGIN_FILL>
    WITH g, g.rev AS rev
    UNWIND $p.rows AS row
    MATCH (e:Episodic {uuid: row.uuid}) WHERE e.group_id = $p.group_id AND e.reference_ms IS NULL
    SET e.epoch = g.epoch, e.reference_ms = row.reference_ms, e.created_ms = row.created_ms,
        e.content = row.body, e.source = row.source, e.content_hash = row.hash, e.bytes = row.bytes,
        e.entity_edges = coalesce(e.entity_edges, []), e.rev = rev
    CREATE (:KgItem {
        group_id: $p.group_id, uuid: row.uuid, epoch: g.epoch, seq: row.seq, receipt_id: '',
        accepted_ms: row.created_ms, updated_ms: $p.now_ms, reference_ms: row.reference_ms,
        content_hash: row.hash, name: row.name, bytes: row.bytes, state: 'completed', attempts: 0,
        extract_attempts: 0, embed_attempts: 0, upsert_attempts: 0, crash_attempts: 0
    })
    WITH e
    CALL (e) {
        MATCH (e)-[m:MENTIONS]->() WHERE m.created_ms IS NULL
        SET m.group_id = $p.group_id,
            m.created_ms = coalesce(m.created_at.epochMillis, e.created_ms)
    }
    RETURN count(DISTINCT e)
    """

_ENTITIES: LiteralString = """
    MATCH (n:Entity) WHERE n.group_id = $p.group_id AND n.stamps IS NULL
    WITH n ORDER BY n.uuid LIMIT $p.limit
    CALL (n) {
        OPTIONAL MATCH (e:Episodic)-[:MENTIONS]->(n)
        WITH e ORDER BY e.valid_at, e.uuid LIMIT 1
        RETURN e.uuid AS first
    }
    RETURN n.uuid, coalesce(n.name, ''), coalesce(n.summary, ''), coalesce(n.created_at.epochMillis, 0),
        labels(n), first, n {.*, name_embedding: null}
    """

_FACTS: LiteralString = """
    MATCH (s:Entity)-[r:RELATES_TO]->(t:Entity)
    WHERE r.group_id = $p.group_id AND r.detail IS NULL
    WITH s, r, t ORDER BY r.uuid LIMIT $p.limit
    CALL (r) {
        UNWIND r.episodes AS uuid
        MATCH (e:Episodic {uuid: uuid}) WHERE e.group_id = $p.group_id AND e.reference_ms IS NOT NULL
        RETURN collect([uuid, e.reference_ms]) AS episodes
    }
    RETURN r.uuid, coalesce(r.name, 'RELATES_TO'), coalesce(r.fact, ''), s.uuid, t.uuid, s.name, t.name,
        coalesce(r.created_at.epochMillis, 0), r.valid_at.epochMillis, r.invalid_at.epochMillis,
        r.expired_at.epochMillis, episodes, r {.*, fact_embedding: null}
    """

_TAKE: LiteralString = """
    MATCH (g:KgGroup {group_id: $p.group_id})
    CALL (g) {
        UNWIND $p.entities AS uuid
        MATCH (n:Entity {uuid: uuid}) WHERE n.group_id = $p.group_id
        SET n.epoch = g.epoch
    }
    CALL (g) {
        UNWIND $p.facts AS uuid
        MATCH ()-[r:RELATES_TO {uuid: uuid}]->() WHERE r.group_id = $p.group_id
        SET r.epoch = g.epoch
    }
    RETURN g.epoch
    """

# What both keep in fields of its own.
_ENTITY_FIELDS = {"uuid", "name", "group_id", "summary", "created_at", "name_embedding", "labels", "epoch"}
_FACT_FIELDS = {
    *("uuid", "name", "fact", "group_id", "episodes", "created_at", "valid_at", "invalid_at", "expired_at"),
    *("reference_time", "fact_embedding", "source_node_uuid", "target_node_uuid", "epoch"),
}


class Adoption(Base):
    """What `kgsvc adopt` asks of the store (cli/adopt.py)."""

    async def adopt_episodes(self, group_id: str, now_ms: int, limit: int) -> int:
        """Make at most `limit` of Graphiti's episodes of the group ours; how many. StoreUnavailable."""
        await self._run(_GROUP, group_id=group_id)
        found = await self._run(_EPISODES, group_id=group_id, limit=limit)
        episodes = [_episode(group_id, row, now_ms) for row in found]
        rows = [
            {
                "uuid": e.uuid,
                "reference_ms": e.reference_ms,
                "created_ms": e.created_ms,
                "body": e.body,
                "source": str(e.source),
                "hash": content_hash(e),
                "bytes": len(e.body.encode()),
                "name": e.name,
                "seq": e.created_ms * 1_000_000 + number,
            }
            for number, e in enumerate(episodes)
        ]
        if rows:
            await self._run(_TAKE_EPISODES, group_id=group_id, now_ms=now_ms, rows=rows)
        return len(rows)

    async def foreign_entities(self, group_id: str, limit: int) -> list[Entity]:
        """Some of Graphiti's entities that are not ours yet. StoreUnavailable."""
        found = await self._run(_ENTITIES, group_id=group_id, limit=limit)
        return [
            Entity(
                uuid=uuid,
                group_id=group_id,
                name=name,
                created_ms=created_ms,
                summary=summary,
                attributes=_plain(values, _ENTITY_FIELDS),
                labels=tuple(sorted(set(labels) - {"Entity"})) or ("Entity",),
                source_episode_uuid=first or "",
            )
            for uuid, name, summary, created_ms, labels, first, values in found
        ]

    async def foreign_facts(self, group_id: str, limit: int) -> list[ForeignFact]:
        """Some of Graphiti's facts that are not ours yet. StoreUnavailable."""
        found = await self._run(_FACTS, group_id=group_id, limit=limit)
        return [_fact(row) for row in found]

    async def take(self, group_id: str, entities: Collection[str], facts: Collection[str]) -> None:
        """Let `apply` find these rows; without it they stay invisible to every other read."""
        await self._run(_TAKE, group_id=group_id, entities=sorted(entities), facts=sorted(facts))


def _episode(group_id: str, row: Row, now_ms: int) -> Episode:
    uuid, body, source, valid_ms, created_ms, name, description = row
    created_ms = now_ms if created_ms is None else created_ms
    return Episode(
        uuid=uuid,
        group_id=group_id,
        body=body,
        source=Source(source) if source in set(Source) else Source.TEXT,
        reference_ms=created_ms if valid_ms is None else valid_ms,
        created_ms=created_ms,
        name=name or None,
        source_description=description or None,
    )


def _fact(row: Row) -> ForeignFact:
    *fields, episodes, values = row
    known = ForeignFact(*fields)
    return replace(known, episodes=dict(episodes), attributes=_plain(values, _FACT_FIELDS))


def _plain(values: Mapping[str, Any], fields: Collection[str]) -> dict[str, Any]:
    """What is left beside the fields, as JSON values."""
    return {key: _json(value) for key, value in values.items() if key not in fields and value is not None}


def _json(value: Any) -> Any:
    if isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list):
        return [_json(each) for each in value]
    if isinstance(value, Date | DateTime | date | datetime):
        return value.isoformat()
    return str(value)
