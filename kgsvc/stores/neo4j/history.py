"""One thing with what hangs on it (HistoryStore)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict
from typing import LiteralString

from kgsvc.domain.model.delta import MergeRecord
from kgsvc.domain.model.graph import Citation, Fact, Mention, Source
from kgsvc.domain.names.forgetting import Saying, saying_of
from kgsvc.stores.neo4j.reading import GroupRead, Reading
from kgsvc.stores.neo4j.rows import EPISODE_OPTIONAL, NEVER, column, entity_of, episode_of, fact_of, whole
from kgsvc.stores.protocol import EntityEpisodes, EpisodeTraces, MergesWhere

_FACTS: LiteralString = """
    <FACTS_OF_GROUP>
    RETURN <FACT>
    """

_CITATIONS: LiteralString = """
    <EPISODES_OF_GROUP>
    RETURN e.uuid, coalesce(e.name, ''), e.source, coalesce(e.source_description, ''), e.created_ms
    """

_EDGES: LiteralString = """
    <EPISODES_OF_GROUP>
    UNWIND e.entity_edges AS fact
    <SEEK r:RELATES_TO fact IN epoch>
    RETURN e.uuid, collect(r.uuid)
    """

# `valid_ms` as a property is the start that counts.
_ENTITY_FACTS = GroupRead.of(
    """
    <ENTITY_OF_GROUP>
    MATCH (n)-[r:RELATES_TO]-()
    WHERE ($p.current_ms IS NULL
        OR (r.expired_ms = $p.never AND r.valid_ms <= $p.current_ms AND r.invalid_ms > $p.current_ms))
        AND ($p.other IS NULL
            OR CASE WHEN r.source_uuid = $p.uuid THEN r.target_uuid ELSE r.source_uuid END = $p.other)
    WITH DISTINCT r ORDER BY r.valid_ms DESC, r.uuid DESC LIMIT $p.limit
    RETURN [<FACT>] AS fact
    """,
    "fact",
    bounds=("limit",),
)

# Sizes are added up before bodies are read, up to the one that exceeds the bytes.
_ENTITY_EPISODES: LiteralString = """
    <ENTITY_OF_GROUP>
    CALL (n) {
        MATCH (n)<-[:MENTIONS]-(e:Episodic)
        WITH e ORDER BY e.reference_ms, e.uuid LIMIT 1
        RETURN e.uuid AS first
    }
    CALL (n) {
        MATCH (n)<-[:MENTIONS]-(e:Episodic)
        WITH e ORDER BY e.reference_ms DESC, e.uuid DESC LIMIT $p.limit
        RETURN collect(e) AS latest
    }
    WITH first, latest, reduce(read = {bytes: 0, count: 0}, e IN latest | CASE
        WHEN read.bytes > $p.max_bytes THEN read
        ELSE {bytes: read.bytes + e.bytes, count: read.count + 1} END).count AS fitting
    UNWIND latest[..fitting] AS e
    WITH first, e ORDER BY e.reference_ms, e.uuid
    RETURN first, collect([<EPISODE>])
    """

_ENTITY_NAMES: LiteralString = """
    <GROUP>
    MATCH (k:KgName) USING INDEX SEEK k:KgName(group_id, epoch, entity_uuid)
    WHERE k.group_id = $p.group_id AND k.epoch = epoch AND k.entity_uuid = $p.uuid
    RETURN k.name_key ORDER BY k.name_key LIMIT $p.limit
    """

_NAMED: LiteralString = """
    <EPISODE_OF_GROUP>
    MATCH (e)-[:MENTIONS]->(n:Entity)
    RETURN <ENTITY>
    """

_STATED: LiteralString = """
    <EPISODE_OF_GROUP>
    RETURN coalesce(e.entity_edges, [])
    """

_CLOSED: LiteralString = """
    <GROUP>
    MATCH (c:KgClosure) USING INDEX SEEK c:KgClosure(group_id, epoch, by_episode, fact_uuid)
    WHERE c.group_id = $p.group_id AND c.epoch = epoch AND c.by_episode = $p.uuid AND c.fact_uuid IS NOT NULL
    RETURN c.fact_uuid
    """

_SLOTS_OF_FACTS: LiteralString = """
    <FACTS_OF_GROUP>
    RETURN r.slot
    """

_SLOTS_OF_REMOVED: LiteralString = """
    <GROUP>
    UNWIND $p.uuids AS uuid
    MATCH (t:KgTombstone) USING INDEX SEEK t:KgTombstone(group_id, epoch, uuid)
    WHERE t.group_id = $p.group_id AND t.epoch = epoch AND t.uuid = uuid
    RETURN t.slot
    """

_MENTIONS: LiteralString = """
    <ENTITY_OF_GROUP>
    MATCH (n)<-[:MENTIONS]-(e:Episodic)
    WHERE $p.among IS NULL OR e.uuid IN $p.among
    RETURN e.uuid ORDER BY e.uuid LIMIT $p.limit
    """

_TYPES_SAID: LiteralString = """
    <ENTITY_OF_GROUP>
    MATCH (n)<-[m:MENTIONS]-(:Episodic)
    UNWIND m.types AS type
    RETURN type, count(*)
    """

_NAMING: LiteralString = """
    <EPISODES_OF_GROUP>
    MATCH (e)-[m:MENTIONS]->(n:Entity) WHERE n.uuid = $p.entity
    RETURN coalesce(m.uuid, ''), $p.group_id, e.uuid, n.uuid, m.created_ms,
        coalesce(m.names, []), coalesce(m.types, [])
    """

_SAYINGS: LiteralString = """
    <EPISODE_OF_GROUP>
    MATCH (e)-[m:MENTIONS]->(n:Entity)
    CALL (e, n) {
        MATCH (n)<-[o:MENTIONS]-(x:Episodic) WHERE x <> e
        WITH o, x ORDER BY x.reference_ms, x.uuid
        RETURN collect(DISTINCT [coalesce(o.names, []), coalesce(o.types, [])]) AS others,
            collect([x.reference_ms, x.uuid])[..1] AS first
    }
    RETURN n.uuid, coalesce(m.names, []), coalesce(m.types, []), others, first
    """

_MERGE_ROW: LiteralString = (
    "m.merge_id, m.group_id, m.merged_uuid, m.kept_uuid, m.created_ms, m.data, coalesce(m.by_episode, '')"
)

_MERGED: LiteralString = (
    """
    MATCH (m:KgMerge) USING INDEX SEEK m:KgMerge(merged_uuid, group_id, epoch)
    WHERE m.merged_uuid = $p.uuid AND m.group_id IS NOT NULL AND m.epoch IS NOT NULL
    MATCH (g:KgGroup {group_id: m.group_id}) USING INDEX SEEK g:KgGroup(group_id)
    WHERE g.epoch = m.epoch AND ($p.group_id IS NULL OR m.group_id = $p.group_id)
    WITH m ORDER BY m.group_id, m.created_ms DESC
    WITH m.group_id AS group_id, head(collect(m)) AS m ORDER BY group_id LIMIT 100
    RETURN """
    + _MERGE_ROW
)

_LATEST_MERGES: LiteralString = (
    """m.created_ms <= $p.behind[0] AND (m.created_ms < $p.behind[0] OR m.merge_id > $p.behind[1])
    WITH m ORDER BY m.created_ms DESC, m.merge_id LIMIT $p.limit
    WITH collect(m) AS found
    WITH found, reduce(read = {bytes: 0, count: 0}, m IN found | CASE
        WHEN read.bytes > $p.max_bytes THEN read
        ELSE {bytes: read.bytes + size(m.data), count: read.count + 1} END).count AS fitting
    UNWIND found[..fitting] AS m
    RETURN """
    + _MERGE_ROW
)

_MERGE: LiteralString = (
    """
    <GROUP>
    MATCH (m:KgMerge) USING INDEX SEEK m:KgMerge(group_id, epoch, merge_id)
    WHERE m.group_id = $p.group_id AND m.epoch = epoch AND m.merge_id = $p.merge_id AND """
    + _LATEST_MERGES
)

_MERGES_OF_ENTITY: LiteralString = (
    """
    <GROUP>
    CALL (epoch) {
        MATCH (m:KgMerge) USING INDEX SEEK m:KgMerge(kept_uuid, group_id, epoch)
        WHERE m.kept_uuid = $p.entity_uuid AND m.group_id = $p.group_id AND m.epoch = epoch
        RETURN m
        UNION
        MATCH (m:KgMerge) USING INDEX SEEK m:KgMerge(merged_uuid, group_id, epoch)
        WHERE m.merged_uuid = $p.entity_uuid AND m.group_id = $p.group_id AND m.epoch = epoch
        RETURN m
    }
    WITH m WHERE """
    + _LATEST_MERGES
)

_MERGES_BY: LiteralString = (
    """
    <GROUP>
    MATCH (m:KgMerge) USING INDEX SEEK m:KgMerge(group_id, epoch, by_episode)
    WHERE m.group_id = $p.group_id AND m.epoch = epoch AND m.by_episode = $p.by_episode AND """
    + _LATEST_MERGES
)

_MERGES_HOLDING: LiteralString = (
    """
    <GROUP>
    MATCH (m:KgMerge) USING INDEX SEEK m:KgMerge(group_id, epoch, created_ms)
    WHERE m.group_id = $p.group_id AND m.epoch = epoch AND m.data CONTAINS $p.text AND """
    + _LATEST_MERGES
)

_MERGES_OF_GROUP: LiteralString = (
    """
    <GROUP>
    MATCH (m:KgMerge) USING INDEX SEEK m:KgMerge(group_id, epoch, created_ms)
    WHERE m.group_id = $p.group_id AND m.epoch = epoch AND """
    + _LATEST_MERGES
)

_FACTS_HOLDING: LiteralString = """
    <GROUP>
    MATCH ()-[r:RELATES_TO]->() USING INDEX SEEK r:RELATES_TO(group_id, epoch, rev)
    WHERE r.group_id = $p.group_id AND r.epoch = epoch AND r.rev IS NOT NULL AND r.fact CONTAINS $p.text
    RETURN <FACT>
    """

_UNHELD: LiteralString = """
    <GROUP>
    UNWIND $p.uuids AS uuid
    <SEEK n:Entity uuid IN epoch>
    WHERE NOT EXISTS { MATCH (n)-[r:RELATES_TO]-() WHERE NOT r.uuid IN $p.facts }
        AND NOT EXISTS { MATCH (n)<-[:MENTIONS]-(e:Episodic) WHERE e.uuid <> $p.episode }
    RETURN n.uuid
    """


def _merges_where(where: MergesWhere) -> LiteralString:
    if where.merge_id is not None:
        return _MERGE
    if where.entity_uuid is not None:
        return _MERGES_OF_ENTITY
    if where.by_episode is not None:
        return _MERGES_BY
    return _MERGES_OF_GROUP if where.text is None else _MERGES_HOLDING


class Neo4jHistory(Reading):
    """HistoryStore."""

    async def facts(self, group_id: str, uuids: Collection[str]) -> list[Fact]:
        rows = await self._run(_FACTS, group_id=group_id, uuids=sorted(set(uuids)))
        return sorted(map(fact_of, whole(rows)), key=lambda fact: fact.uuid)

    async def citations(self, group_id: str, episode_uuids: Collection[str]) -> dict[str, Citation]:
        rows = await self._run(_CITATIONS, group_id=group_id, uuids=sorted(set(episode_uuids)))
        return {
            uuid: Citation(uuid, name or None, Source(source), description or None, created_ms)
            for uuid, name, source, description, created_ms in whole(rows)
        }

    async def episode_edges(
        self, group_id: str, episode_uuids: Collection[str]
    ) -> dict[str, tuple[str, ...]]:
        rows = await self._run(_EDGES, group_id=group_id, uuids=sorted(set(episode_uuids)))
        return {episode: tuple(sorted(facts)) for episode, facts in rows}

    async def entity_facts(
        self,
        group_id: str,
        entity_uuid: str,
        limit: int,
        current_ms: int | None = None,
        other_uuid: str | None = None,
    ) -> list[Fact]:
        rows = await self._read(
            _ENTITY_FACTS,
            group_id=group_id,
            uuid=entity_uuid,
            limit=limit,
            current_ms=current_ms,
            never=NEVER,
            other=other_uuid,
        )
        return [fact_of(row) for row in whole(column(rows))]

    async def entity_episodes(
        self, group_id: str, entity_uuid: str, limit: int, max_bytes: int
    ) -> EntityEpisodes:
        rows = await self._run(
            _ENTITY_EPISODES, group_id=group_id, uuid=entity_uuid, limit=limit, max_bytes=max_bytes
        )
        for first, found in rows:
            episodes = tuple(map(episode_of, whole(found, EPISODE_OPTIONAL)))
            return EntityEpisodes(first if episodes else None, episodes)
        return EntityEpisodes(None, ())

    async def entity_names(self, group_id: str, entity_uuid: str, limit: int) -> list[str]:
        return column(await self._run(_ENTITY_NAMES, group_id=group_id, uuid=entity_uuid, limit=limit))

    async def entity_mentions(
        self, group_id: str, entity_uuid: str, limit: int, among: Collection[str] | None = None
    ) -> list[str]:
        rows = await self._run(
            _MENTIONS,
            group_id=group_id,
            uuid=entity_uuid,
            limit=limit,
            among=None if among is None else list(among),
        )
        return column(rows)

    async def mentions(
        self, group_id: str, entity_uuid: str, episode_uuids: Collection[str]
    ) -> dict[str, Mention]:
        rows = await self._run(
            _NAMING, group_id=group_id, entity=entity_uuid, uuids=sorted(set(episode_uuids))
        )
        return {
            episode: Mention(uuid, group, episode, entity, created_ms, tuple(names), tuple(types))
            for uuid, group, episode, entity, created_ms, names, types in whole(rows)
        }

    async def types_said(self, group_id: str, entity_uuid: str) -> dict[str, int]:
        rows = await self._run(_TYPES_SAID, group_id=group_id, uuid=entity_uuid)
        return {each: int(times) for each, times in rows}

    async def sayings(self, group_id: str, episode_uuid: str) -> dict[str, Saying]:
        rows = await self._run(_SAYINGS, group_id=group_id, uuid=episode_uuid)
        return {
            uuid: saying_of(
                (tuple(names), tuple(types)),
                [(tuple(said), tuple(typed)) for said, typed in others],
                next(((uuid, ms) for uuid, ms in first), None),
            )
            for uuid, names, types, others, first in rows
        }

    async def merges(self, group_id: str, where: MergesWhere) -> list[MergeRecord]:
        rows = await self._run(_merges_where(where), group_id=group_id, **asdict(where))
        return [MergeRecord(*row) for row in rows]

    async def merged(self, uuid: str, group_id: str | None) -> list[MergeRecord]:
        return [MergeRecord(*row) for row in await self._run(_MERGED, uuid=uuid, group_id=group_id)]

    async def facts_holding(self, group_id: str, text: str) -> list[Fact]:
        rows = await self._run(_FACTS_HOLDING, group_id=group_id, text=text)
        return sorted(map(fact_of, whole(rows)), key=lambda fact: fact.uuid)

    async def traces(self, group_id: str, episode_uuid: str) -> EpisodeTraces:
        stated = await self._run(_STATED, group_id=group_id, uuid=episode_uuid)
        uuids = [uuid for (facts,) in stated for uuid in facts]
        closed = column(await self._run(_CLOSED, group_id=group_id, uuid=episode_uuid))
        slots = await self._run(_SLOTS_OF_FACTS, group_id=group_id, uuids=uuids + closed)
        slots += await self._run(_SLOTS_OF_REMOVED, group_id=group_id, uuids=uuids)
        named = await self._run(_NAMED, group_id=group_id, uuid=episode_uuid)
        found = sorted(map(entity_of, whole(named)), key=lambda entity: entity.uuid)
        return EpisodeTraces(tuple(sorted(set(filter(None, column(slots))))), tuple(found))

    async def unheld(
        self, group_id: str, entity_uuids: Collection[str], episode_uuid: str, fact_uuids: Collection[str]
    ) -> set[str]:
        rows = await self._run(
            _UNHELD,
            group_id=group_id,
            uuids=sorted(set(entity_uuids)),
            episode=episode_uuid,
            facts=sorted(set(fact_uuids)),
        )
        return set(column(rows))
