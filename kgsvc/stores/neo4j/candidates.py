"""What new names and facts are compared with (CandidateStore)."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, LiteralString

from kgsvc.domain.names.similarity import name_terms
from kgsvc.domain.resolution.decisions import (
    FROM_THE_FIRST,
    CandidateQuery,
    NameCandidates,
    VectorPage,
    VectorsAfter,
)
from kgsvc.stores.neo4j.base import Base, Row
from kgsvc.stores.neo4j.rows import NEVER, entity_of, fact_of, whole

# Part of apply.
WRITE_NAME_TOKENS: LiteralString = """
    CALL () {
        UNWIND $p.name_tokens AS row
        MERGE (:KgNameToken
            {group_id: $p.group_id, epoch: $p.epoch, token: row[0], entity_uuid: row[1]})
    }
    """

# Names written before schema 4 have no tokens: they are read a page at a time.
_NAMED: LiteralString = """
    MATCH (g:KgGroup) USING INDEX SEEK g:KgGroup(group_id)
    WHERE g.group_id >= $p.after_group
    WITH g.group_id AS group_id, g.epoch AS epoch ORDER BY group_id
    CALL (group_id, epoch) {
        MATCH (k:KgName) USING INDEX SEEK k:KgName(group_id, epoch, key)
        WHERE k.group_id = group_id AND k.epoch = epoch
            AND k.key > CASE group_id WHEN $p.after_group THEN $p.after_key ELSE '' END
        RETURN k.key AS key, k.name_key AS name_key, k.entity_uuid AS uuid
        ORDER BY k.group_id, k.epoch, k.key LIMIT $p.limit
    }
    RETURN group_id, epoch, key, name_key, uuid LIMIT $p.limit
    """
_FILL: LiteralString = """
    UNWIND $p.rows AS row
    MERGE (:KgNameToken {group_id: row[0], epoch: row[1], token: row[2], entity_uuid: row[3]})
    """
_PAGE = 1_000

# `valid_ms` as a property is the start that counts.
_CANDIDATES: LiteralString = """
    MATCH (g:KgGroup {group_id: $p.group_id})
    WITH g.epoch AS epoch, g.rev AS rev
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
        RETURN collect([token, uuids]) AS by_token
    }
    CALL (epoch, by_token) {
        UNWIND reduce(asked = $p.uuids, row IN by_token | asked + row[1]) AS uuid
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
    WITH epoch, rev, by_token, entities, reduce(
        all = $p.sources, row IN by_token | all + row[1][..$p.told_per_token]) AS sources
    CALL (epoch, sources) {
        UNWIND sources AS source
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
    CALL (epoch) {
        UNWIND $p.targets AS target
        CALL (epoch, target) {
            MATCH ()-[r:RELATES_TO]->()
            USING INDEX SEEK r:RELATES_TO(target_uuid, group_id, epoch, expired_ms, valid_ms, uuid)
            WHERE r.target_uuid = target AND r.group_id = $p.group_id AND r.epoch = epoch
                AND r.expired_ms = $p.never AND r.valid_ms IS NOT NULL AND r.uuid IS NOT NULL
            RETURN r ORDER BY r.valid_ms DESC, r.uuid DESC LIMIT $p.facts_per_target
        }
        RETURN collect([<FACT>, coalesce(endNode(r).labels, [])]) AS of_targets
    }
    CALL (epoch) {
        UNWIND $p.pairs AS pair
        CALL (epoch, pair) {
            <SEEK s:Entity pair[0] IN epoch>
            <SEEK t:Entity pair[1] IN epoch>
            MATCH (s)-[r:RELATES_TO]->(t) WHERE r.expired_ms = $p.never
            RETURN r ORDER BY r.valid_ms DESC, r.uuid DESC LIMIT $p.facts_per_pair
        }
        RETURN collect([<FACT>, coalesce(endNode(r).labels, [])]) AS of_pairs
    }
    CALL (epoch, rev) {
        UNWIND $p.vectors AS after
        WITH epoch, rev, after, CASE WHEN after.epoch = epoch THEN after.rev ELSE -1 END AS from_rev
        MATCH (n:Entity) USING INDEX SEEK n:Entity(group_id, epoch, vector_rev, uuid)
        WHERE n.group_id = $p.group_id AND n.epoch = epoch AND n.vector_rev >= from_rev
            AND n.vector_rev <= rev AND n.uuid IS NOT NULL
            AND (n.vector_rev > from_rev OR n.uuid > after.uuid) AND n.space = after.space
        WITH n ORDER BY n.group_id, n.epoch, n.vector_rev, n.uuid LIMIT $p.vectors_limit
        RETURN collect([n.vector_rev, n.uuid, n.vector]) AS vectors
    }
    RETURN by_token, entities, of_sources, of_targets, of_pairs, epoch, vectors
    """


class CandidateReads(Base):
    """CandidateStore."""

    async def fill_name_tokens(self) -> None:
        """For the names that are there. Called by the migration that brings tokens."""
        group, key, found = "", "", _PAGE
        while found == _PAGE:
            named = await self._run(_NAMED, after_group=group, after_key=key, limit=_PAGE)
            rows = [
                [group_id, epoch, token, uuid]
                for group_id, epoch, _key, name_key, uuid in named
                for token in sorted(name_terms(name_key))
            ]
            await self._run(_FILL, rows=rows)
            found = len(named)
            group, key = (named[-1][0], named[-1][2]) if named else (group, key)

    async def candidates(self, group_id: str, query: CandidateQuery) -> NameCandidates:
        rows = await self._run(_CANDIDATES, **_values(group_id, query))
        if not rows:
            return NameCandidates()
        by_token, entities, of_sources, of_targets, of_pairs, epoch, vectors = rows[0]
        of_facts = list(whole([*of_sources, *of_targets, *of_pairs]))
        facts = {fact.uuid: fact for fact in map(fact_of, of_facts)}
        return NameCandidates(
            by_token={token: tuple(uuids) for token, uuids in by_token if uuids},
            entities={row[0]: entity_of(row) for row, _names in entities},
            names={row[0]: tuple(names) for row, names in entities},
            facts=tuple(sorted(facts.values(), key=lambda f: (f.start_ms, f.uuid), reverse=True)),
            labels={row[5]: tuple(row[-1]) for row in of_facts},
            vectors=None if query.vectors is None else _page(query.vectors, epoch, vectors),
        )


def _page(after: VectorsAfter, epoch: int, rows: list[Row]) -> VectorPage:
    place = after.place if after.epoch == epoch else FROM_THE_FIRST
    if rows:
        place = (rows[-1][0], rows[-1][1])
    return VectorPage(
        epoch, place, tuple((uuid, vector) for _rev, uuid, vector in rows), len(rows) == after.limit
    )


def _values(group_id: str, query: CandidateQuery) -> dict[str, Any]:
    after = query.vectors
    return asdict(query) | {
        "group_id": group_id,
        "tokens": sorted(set(query.tokens)),
        "sources": sorted(set(query.sources)),
        "targets": sorted(set(query.targets)),
        "pairs": [list(pair) for pair in sorted(set(query.pairs))],
        "never": NEVER,
        "uuids": sorted(set(query.uuids)),
        "vectors": [_after(after)] if after else [],
        "vectors_limit": after.limit if after else 0,
    }


def _after(after: VectorsAfter) -> dict[str, Any]:
    rev, uuid = after.place
    return {"space": after.space, "epoch": after.epoch, "rev": rev, "uuid": uuid}
