"""Reading the graph, and what new names and facts are compared with (ResolutionStore but apply).

Readers without a lock may see a part of a commit. Plans are made from `names`, so it takes the group's lock
for a moment: its head is then never newer than its rows. Writing to a property the value that it has takes
the lock without changing anything.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict
from typing import Any, LiteralString

from kgsvc.domain.model.delta import FactTombstone, GroupHead, NameView, SlotView
from kgsvc.domain.model.graph import TOLD, Entity, Episode, Fact
from kgsvc.domain.model.keys import digest
from kgsvc.domain.resolution.decisions import (
    EXPIRED_READ,
    CandidateQuery,
    NameCandidates,
    VectorsAfter,
)
from kgsvc.stores.neo4j.base import Row
from kgsvc.stores.neo4j.reading import GroupRead, Reading
from kgsvc.stores.neo4j.rows import EPISODE_OPTIONAL, NEVER, entity_of, episode_of, fact_of, whole
from kgsvc.stores.protocol import WHOLE, EpisodeCut, GroupDump
from kgsvc.stores.records import vector_page

_SOURCES = tuple(str(source) for source in TOLD)

_NAMES = GroupRead.of(
    """
    <LOCKED_GROUP>
    WITH g.epoch AS epoch, [g.rev, g.epoch, g.last_ms] AS head
    CALL (epoch) {
        UNWIND $p.keys AS key
        MATCH (k:KgName {group_id: $p.group_id, epoch: epoch, key: key})
            USING INDEX SEEK k:KgName(group_id, epoch, key)
        <SEEK n:Entity k.entity_uuid IN epoch>
        RETURN collect([k.name_key, [<ENTITY>]]) AS named
    }
    CALL (epoch) {
        UNWIND $p.uuids AS uuid
        <SEEK n:Entity uuid IN epoch>
        RETURN collect([<ENTITY>]) AS found
    }
    RETURN head, named, found
    """,
    "head, named, found",
)

_SLOTS = GroupRead.of(
    """
    <GROUP>
    CALL (epoch) {
        UNWIND $p.slots AS slot
        MATCH ()-[r:RELATES_TO {slot: slot}]->() USING INDEX SEEK r:RELATES_TO(slot)
        WHERE r.group_id = $p.group_id AND r.epoch = epoch
        RETURN collect([<FACT>]) AS facts
    }
    CALL (epoch) {
        UNWIND $p.slots AS slot
        MATCH (t:KgTombstone {slot: slot}) WHERE t.group_id = $p.group_id AND t.epoch = epoch
        RETURN collect([t.uuid, t.slot, t.fact, t.deleted_ms]) AS tombstones
    }
    RETURN facts, tombstones
    """,
    "facts, tombstones",
)

# With hints: without, a plan made on an empty database would scan a label, and plans are kept.
_ENTITY: LiteralString = """
    MATCH (n:Entity) USING INDEX SEEK n:Entity(uuid, group_id, epoch)
    WHERE n.uuid = $p.uuid AND n.group_id IS NOT NULL AND n.epoch IS NOT NULL
    MATCH (g:KgGroup {group_id: n.group_id}) USING INDEX SEEK g:KgGroup(group_id)
    WHERE g.epoch = n.epoch AND ($p.group_id IS NULL OR n.group_id = $p.group_id)
    RETURN <ENTITY> ORDER BY n.group_id LIMIT 100
    """

_FACT: LiteralString = """
    MATCH ()-[r:RELATES_TO]->() USING INDEX SEEK r:RELATES_TO(uuid, group_id, epoch)
    WHERE r.uuid = $p.uuid AND r.group_id IS NOT NULL AND r.epoch IS NOT NULL
    MATCH (g:KgGroup {group_id: r.group_id}) USING INDEX SEEK g:KgGroup(group_id)
    WHERE g.epoch = r.epoch AND ($p.group_id IS NULL OR r.group_id = $p.group_id)
    RETURN <FACT> ORDER BY r.group_id LIMIT 100
    """

_EPISODE: LiteralString = """
    MATCH (e:Episodic) USING INDEX SEEK e:Episodic(uuid, group_id, epoch)
    WHERE e.uuid = $p.uuid AND e.group_id IS NOT NULL AND e.epoch IS NOT NULL
    MATCH (g:KgGroup {group_id: e.group_id}) USING INDEX SEEK g:KgGroup(group_id)
    WHERE g.epoch = e.epoch AND ($p.group_id IS NULL OR e.group_id = $p.group_id)
    RETURN <EPISODE> ORDER BY e.group_id LIMIT 100
    """

# Sizes are added up before bodies are read, up to the one that exceeds the bytes.
_RECENT: LiteralString = """
    <GROUP>
    UNWIND $p.sources AS source
    CALL (epoch, source) {
        MATCH (e:Episodic) USING INDEX SEEK e:Episodic(group_id, epoch, source, reference_ms, uuid)
        WHERE e.group_id = $p.group_id AND e.epoch = epoch AND e.source = source
            AND e.reference_ms <= $p.upto_ms AND e.uuid IS NOT NULL
            AND (e.reference_ms < $p.upto_ms OR e.uuid <= $p.upto_uuid)
        RETURN e
        ORDER BY e.group_id DESC, e.epoch DESC, e.source DESC, e.reference_ms DESC, e.uuid DESC
        LIMIT $p.limit
    }
    WITH e ORDER BY e.reference_ms DESC, e.uuid DESC LIMIT $p.limit
    WITH e WHERE e.reference_ms > $p.after_ms OR (e.reference_ms = $p.after_ms AND e.uuid > $p.after_uuid)
    WITH e ORDER BY e.reference_ms, e.uuid
    WITH collect(e) AS latest
    WITH latest, reduce(read = {bytes: 0, count: 0}, e IN latest | CASE
        WHEN read.bytes > $p.max_bytes THEN read
        ELSE {bytes: read.bytes + e.bytes, count: read.count + 1} END).count AS fitting
    UNWIND latest[..fitting] AS e
    RETURN <EPISODE>
    """

_DUMP: LiteralString = """
    <LOCKED_GROUP>
    WITH g.epoch AS epoch, [g.rev, g.epoch, g.last_ms] AS head
    CALL (epoch) {
        MATCH (e:Episodic) USING INDEX SEEK e:Episodic(group_id, epoch, source, reference_ms, uuid)
        WHERE e.group_id = $p.group_id AND e.epoch = epoch AND e.source IS NOT NULL
            AND e.reference_ms IS NOT NULL AND e.uuid IS NOT NULL
        RETURN collect([[
    <EPISODE>], coalesce(e.entity_edges, []), [(e)-[:MENTIONS]->(n:Entity) | n.uuid]]) AS episodes
    }
    CALL (epoch) {
        MATCH (n:Entity) WHERE n.group_id = $p.group_id AND n.epoch = epoch
        RETURN collect([<ENTITY>]) AS entities
    }
    CALL (epoch) {
        MATCH (k:KgName) WHERE k.group_id = $p.group_id AND k.epoch = epoch AND k.key IS NOT NULL
        RETURN collect([k.name_key, k.entity_uuid]) AS names
    }
    CALL (epoch) {
        MATCH ()-[r:RELATES_TO]->() USING INDEX SEEK r:RELATES_TO(group_id, epoch, rev)
        WHERE r.group_id = $p.group_id AND r.epoch = epoch AND r.rev IS NOT NULL
        RETURN collect([<FACT>]) AS facts
    }
    RETURN head, episodes, entities, names, facts
    """

# Facts with a known name at one end, and those that held at a time and have expired since. `valid_ms` as a
# property is the start that counts.
_OF_SOURCES: LiteralString = """
    CALL (epoch, told) {
        UNWIND $p.sources + told AS source
        WITH DISTINCT epoch, source
        CALL (epoch, source) {
            MATCH ()-[r:RELATES_TO]->()
            USING INDEX SEEK r:RELATES_TO(source_uuid, group_id, epoch, expired_ms, valid_ms, uuid)
            WHERE r.source_uuid = source AND r.group_id = $p.group_id AND r.epoch = epoch
                AND r.expired_ms = $p.never AND r.valid_ms IS NOT NULL AND r.uuid IS NOT NULL
            RETURN r ORDER BY r.valid_ms DESC, r.uuid DESC LIMIT $p.facts_per_source
        }
        RETURN collect([<FACT>, coalesce(endNode(r).labels, [])]) AS of_sources
    }
    CALL (epoch, told) {
        UNWIND $p.held_at AS ms
        UNWIND $p.sources + told AS source
        WITH DISTINCT epoch, ms, source
        CALL (epoch, source) {
            MATCH ()-[r:RELATES_TO]->()
            USING INDEX SEEK r:RELATES_TO(source_uuid, group_id, epoch, expired_ms, valid_ms, uuid)
            WHERE r.source_uuid = source AND r.group_id = $p.group_id AND r.epoch = epoch
                AND r.expired_ms < $p.never AND r.valid_ms IS NOT NULL AND r.uuid IS NOT NULL
            RETURN r ORDER BY r.expired_ms DESC, r.uuid DESC LIMIT $p.expired_read
        }
        WITH r, ms WHERE r.invalid_ms > ms AND r.invalid_ms < $p.never
        RETURN collect([<FACT>, coalesce(endNode(r).labels, [])]) AS held_of_sources
    }
    """

_CANDIDATES = GroupRead.of(
    """
    MATCH (g:KgGroup {group_id: $p.group_id})
    WITH g.epoch AS epoch, g.rev AS rev, CASE WHEN g.tidying IS NULL THEN g.space END AS used
    CALL (epoch) {
        UNWIND $p.tokens AS token
        CALL (epoch, token) {
            MATCH (k:KgNameToken) USING INDEX SEEK k:KgNameToken(group_id, epoch, token, entity_uuid)
            WHERE k.group_id = $p.group_id AND k.epoch = epoch AND k.token = token
                AND k.entity_uuid IS NOT NULL
            <SEEK n:Entity k.entity_uuid IN epoch>
            WITH k.entity_uuid AS uuid ORDER BY uuid LIMIT $p.entities_per_token
            RETURN collect(uuid) AS uuids
        }
        RETURN collect({token: token, uuids: uuids}) AS by_token
    }
    CALL (epoch, by_token) {
        UNWIND reduce(asked = $p.uuids, row IN by_token | asked + row.uuids) AS uuid
        WITH DISTINCT epoch, uuid
        <SEEK n:Entity uuid IN epoch>
        CALL (epoch, uuid) {
            MATCH (k:KgName) USING INDEX SEEK k:KgName(group_id, epoch, entity_uuid)
            WHERE k.group_id = $p.group_id AND k.epoch = epoch AND k.entity_uuid = uuid
            WITH k.name_key AS name ORDER BY name LIMIT $p.names_per_entity
            RETURN collect(name) AS names
        }
        RETURN collect([[<ENTITY>], names]) AS entities
    }
    WITH epoch, rev, used, by_token, entities,
        reduce(told = [], row IN by_token | told + row.uuids[..$p.told_per_token]) AS told
    """
    + _OF_SOURCES
    + _OF_SOURCES.replace("source", "target")
    + """
    CALL (epoch) {
        UNWIND $p.pairs AS pair
        CALL (epoch, pair) {
            <SEEK s:Entity pair.source IN epoch>
            <SEEK t:Entity pair.target IN epoch>
            MATCH (s)-[r:RELATES_TO]->(t) WHERE r.expired_ms = $p.never
            RETURN r ORDER BY r.valid_ms DESC, r.uuid DESC LIMIT $p.facts_per_pair
        }
        RETURN collect([<FACT>, coalesce(endNode(r).labels, [])]) AS of_pairs
    }
    CALL (epoch, rev, used) {
        UNWIND $p.vectors AS after
        WITH epoch, rev, used, after, CASE WHEN after.epoch = epoch THEN after.rev ELSE -1 END AS from_rev
        MATCH (n:Entity) USING INDEX SEEK n:Entity(group_id, epoch, vector_rev, uuid)
        WHERE n.group_id = $p.group_id AND n.epoch = epoch AND n.vector_rev >= from_rev
            AND n.vector_rev <= rev AND n.uuid IS NOT NULL
            AND (n.vector_rev > from_rev OR n.uuid > after.uuid) AND n.space = after.space
            AND used = after.space
        WITH n ORDER BY n.group_id, n.epoch, n.vector_rev, n.uuid LIMIT $p.vectors_limit
        RETURN collect([n.vector_rev, n.uuid, n.vector]) AS vectors
    }
    RETURN by_token, entities, epoch, vectors,
        of_sources + of_targets + of_pairs + held_of_sources + held_of_targets AS found
    """,
    "by_token, entities, found, epoch, vectors",
    (
        "entities_per_token",
        "names_per_entity",
        "facts_per_source",
        "facts_per_target",
        "facts_per_pair",
        "expired_read",
        "vectors_limit",
    ),
)


class Graph(Reading):
    """GraphStore but apply, CandidateStore."""

    async def names(self, group_id: str, name_keys: Collection[str], uuids: Collection[str] = ()) -> NameView:
        keys = [digest(key) for key in name_keys]
        rows = await self._read(_NAMES, group_id=group_id, keys=keys, uuids=list(uuids))
        if not rows:
            return NameView(GroupHead(group_id), {})
        ((head, named, found),) = rows
        return NameView(
            head=GroupHead(group_id, *head),
            by_key={key: entity_of(row) for key, row in named},
            by_uuid={entity.uuid: entity for entity in map(entity_of, found)},
        )

    async def slots(self, group_id: str, slots: Collection[str]) -> SlotView:
        rows = await self._read(_SLOTS, group_id=group_id, slots=list(slots))
        if not rows:
            return SlotView()
        ((facts, tombstones),) = rows
        return SlotView(
            facts=tuple(sorted(map(fact_of, whole(facts)), key=lambda f: f.uuid)),
            tombstones=tuple(FactTombstone(*row) for row in sorted(tombstones)),
        )

    async def entity(self, uuid: str, group_id: str | None) -> list[Entity]:
        rows = await self._run(_ENTITY, uuid=uuid, group_id=group_id)
        return [entity_of(row) for row in whole(rows)]

    async def fact(self, uuid: str, group_id: str | None) -> list[Fact]:
        rows = await self._run(_FACT, uuid=uuid, group_id=group_id)
        return [fact_of(row) for row in whole(rows)]

    async def episode(self, uuid: str, group_id: str | None) -> list[Episode]:
        rows = await self._run(_EPISODE, uuid=uuid, group_id=group_id)
        return [episode_of(row) for row in whole(rows, EPISODE_OPTIONAL)]

    async def recent_episodes(self, group_id: str, limit: int, cut: EpisodeCut = WHOLE) -> list[Episode]:
        upto_ms, upto_uuid = cut.upto or (NEVER, "")
        after_ms, after_uuid = cut.after or (-NEVER, "")
        rows = await self._run(
            _RECENT,
            group_id=group_id,
            sources=_SOURCES,
            limit=limit,
            upto_ms=upto_ms,
            upto_uuid=upto_uuid,
            after_ms=after_ms,
            after_uuid=after_uuid,
            max_bytes=NEVER if cut.max_bytes is None else cut.max_bytes,
        )
        return [episode_of(row) for row in whole(rows, EPISODE_OPTIONAL)]

    async def dump(self, group_id: str) -> GroupDump:
        rows = await self._run(_DUMP, group_id=group_id)
        if not rows:
            return GroupDump(GroupHead(group_id), (), (), {}, (), (), {})
        (row,) = rows
        return _dump_of(group_id, row)

    async def candidates(self, group_id: str, query: CandidateQuery) -> NameCandidates:
        rows = await self._read(_CANDIDATES, **_values(group_id, query))
        if not rows:
            return NameCandidates()
        ((by_token, entities, found, epoch, vectors),) = rows
        known = [(entity_of(row), tuple(names)) for row, names in entities]
        of_facts = [(fact_of(row), tuple(labels)) for *row, labels in whole(found)]
        facts = {fact.uuid: fact for fact, _ in of_facts}
        return NameCandidates(
            by_token={row["token"]: tuple(row["uuids"]) for row in by_token if row["uuids"]},
            entities={entity.uuid: entity for entity, _ in known},
            names={entity.uuid: names for entity, names in known},
            facts=tuple(sorted(facts.values(), key=lambda f: (f.start_ms, f.uuid), reverse=True)),
            labels={fact.target_uuid: labels for fact, labels in of_facts},
            vectors=None if query.vectors is None else vector_page(query.vectors, epoch, vectors),
        )


def _dump_of(group_id: str, row: Row) -> GroupDump:
    head, found, entities, names, facts = row
    return GroupDump(
        head=GroupHead(group_id, *head),
        episodes=tuple(sorted((episode_of(e) for e, _edges, _mentions in found), key=lambda e: e.uuid)),
        entities=tuple(sorted(map(entity_of, entities), key=lambda e: e.uuid)),
        names=dict(sorted(names)),
        facts=tuple(sorted(map(fact_of, facts), key=lambda f: f.uuid)),
        mentions=tuple(sorted((uuid, entity) for (uuid, *_), _edges, uuids in found for entity in uuids)),
        episode_edges={uuid: tuple(edges) for (uuid, *_), edges, _mentions in found if edges},
    )


def _values(group_id: str, query: CandidateQuery) -> dict[str, Any]:
    after = query.vectors
    return asdict(query) | {
        "group_id": group_id,
        "tokens": sorted(set(query.tokens)),
        "sources": sorted(set(query.sources)),
        "targets": sorted(set(query.targets)),
        "pairs": [{"source": source, "target": target} for source, target in sorted(set(query.pairs))],
        "held_at": [] if query.held_at_ms is None else [query.held_at_ms],
        "expired_read": EXPIRED_READ,
        "never": NEVER,
        "uuids": sorted(set(query.uuids)),
        "vectors": [_after(after)] if after else [],
        "vectors_limit": after.limit if after else 0,
    }


def _after(after: VectorsAfter) -> dict[str, Any]:
    rev, uuid = after.place
    return {"space": after.space, "epoch": after.epoch, "rev": rev, "uuid": uuid}
