"""The write of a delta: its statement, and the parameters of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any, LiteralString

from kgsvc.domain.model.delta import GraphDelta, Guard
from kgsvc.domain.model.graph import Fact, Mention
from kgsvc.domain.model.keys import digest
from kgsvc.domain.names.similarity import search_terms
from kgsvc.stores.neo4j.base import Base, Tx, for_each, whole_text, without
from kgsvc.stores.neo4j.fact_terms import (
    COUNT_TERMS,
    RENAME_TERMS,
    SET_TERMS,
    SET_VECTOR,
    TermChanges,
    numbers,
    renamed_row,
    scope,
)
from kgsvc.stores.neo4j.guards import Locked, claim_rows
from kgsvc.stores.neo4j.quotas import RELEASE_EPISODES, SETTLE_TRANSITIONS
from kgsvc.stores.neo4j.rows import calendar, entity_row, fact_row
from kgsvc.stores.neo4j.search import TOUCH_TEXTS
from kgsvc.stores.neo4j.transitions import WRITE_TRANSITIONS, transition_rows
from kgsvc.stores.neo4j.vectors import WRITE_NEXT, vector_rows

_WRITE: LiteralString = (
    """
    MATCH (g:KgGroup {group_id: $p.group_id})
    SET g.rev = $p.rev, g.last_ms = $p.system_ms, g.space = coalesce(g.space, $p.used)
    WITH g
    CALL () {
        UNWIND $p.claims AS row
        MERGE (k:KgIdempotency
            {group_id: $p.group_id, epoch: $p.epoch, operation: row.operation, key: row.key})
        SET k.input_hash = row.input_hash, k.expires_ms = row.expires_ms, k.receipt_id = '',
            k.uuids = [], k.seqs = []
    }
    CALL () {
        UNWIND $p.removed AS row
        MERGE (t:KgTombstone {group_id: $p.group_id, epoch: $p.epoch, uuid: row.uuid})
        SET t.slot = row.slot, t.fact = row.fact, t.deleted_ms = row.deleted_ms, t.rev = $p.rev
        WITH row
        <SEEK r:RELATES_TO row.uuid>
        DELETE r
    }
    CALL () {
        UNWIND $p.reserved AS row
        MERGE (t:KgTombstone {group_id: $p.group_id, epoch: $p.epoch, uuid: row.uuid})
        ON CREATE SET t.slot = row.slot, t.fact = row.fact, t.deleted_ms = row.deleted_ms, t.rev = 0
    }
    CALL () {
        UNWIND $p.dropped_facts AS uuid
        MATCH (c:Community) USING INDEX SEEK c:Community(group_id, epoch, build, uuid)
        WHERE c.group_id = $p.group_id AND c.epoch = $p.epoch AND c.build IS NOT NULL AND c.uuid IS NOT NULL
            AND uuid IN c.facts
        SET c.summary = ''
    }
    CALL () {
        UNWIND $p.dropped_facts AS uuid
        MATCH (d:KgDraft) USING INDEX SEEK d:KgDraft(group_id, epoch, build, uuid)
        WHERE d.group_id = $p.group_id AND d.epoch = $p.epoch AND d.build IS NOT NULL AND d.uuid IS NOT NULL
            AND uuid IN d.facts
        SET d.summary = ''
    }
    CALL () {
        UNWIND $p.entities AS row
        MERGE (n:Entity {uuid: row.uuid, group_id: $p.group_id, epoch: $p.epoch})
        <SET_ENTITY>
    }
    CALL () {
        UNWIND $p.renamed AS row
        <SEEK n:Entity row.uuid>
        CALL (n, row) {
            MATCH (n)-[r:RELATES_TO]->() SET r.source_name = row.name, r.words = null, r.rev = $p.rev
        }
        CALL (n, row) {
            MATCH (n)<-[r:RELATES_TO]-() SET r.target_name = row.name, r.words = null, r.rev = $p.rev
        }
    }
    """
    + RENAME_TERMS
    + TOUCH_TEXTS
    + """
    CALL () {
        UNWIND $p.removed_names AS key
        MATCH (k:KgName {group_id: $p.group_id, epoch: $p.epoch, key: key})
            USING INDEX SEEK k:KgName(group_id, epoch, key)
        DELETE k
    }
    CALL () {
        UNWIND $p.removed_name_tokens AS row
        MATCH (k:KgNameToken
            {group_id: $p.group_id, epoch: $p.epoch, token: row.token, entity_uuid: row.entity_uuid})
            USING INDEX SEEK k:KgNameToken(group_id, epoch, token, entity_uuid)
        DELETE k
    }
    CALL () {
        UNWIND $p.names AS row
        MERGE (k:KgName {group_id: $p.group_id, epoch: $p.epoch, key: row.key})
        SET k.name_key = row.name_key, k.entity_uuid = row.entity_uuid
    }
    CALL () {
        UNWIND $p.name_tokens AS row
        MERGE (:KgNameToken
            {group_id: $p.group_id, epoch: $p.epoch, token: row.token, entity_uuid: row.entity_uuid})
    }
    CALL () {
        UNWIND $p.moved AS row
        <SEEK old:RELATES_TO row.uuid>
        <SEEK s:Entity row.source_uuid>
        <SEEK t:Entity row.target_uuid>
        WITH row, s, t, old, properties(old) AS values
        DELETE old
        CREATE (s)-[r:RELATES_TO]->(t)
        SET r = values
    }
    CALL () {
        UNWIND $p.created AS row
        <SEEK s:Entity row.source_uuid>
        <SEEK t:Entity row.target_uuid>
        CREATE (s)-[r:RELATES_TO {uuid: row.uuid, group_id: $p.group_id, epoch: $p.epoch, rev: $p.rev}]->(t)
    <SET_FACT>
    """
    + SET_TERMS
    + """
    }
    CALL () {
        UNWIND $p.replaced AS row
        <SEEK r:RELATES_TO row.uuid>
        SET r.rev = $p.rev
    <SET_FACT>
    """
    + SET_TERMS
    + """
    }
    CALL () {
        UNWIND $p.closures AS row
        MERGE (:KgClosure
            {group_id: $p.group_id, epoch: $p.epoch, by_episode: row.by_episode, fact_uuid: row.fact_uuid})
    }
    CALL () {
        UNWIND $p.entity_vectors AS row
        <SEEK n:Entity row.uuid>
        SET n.vector = row.vector, n.space = $p.space, n.vector_rev = $p.rev
        REMOVE n.next_vector, n.next_space
    }
    CALL () {
        UNWIND $p.passages AS row
        <SEEK e:Episodic row.uuid>
        SET e.passages = row.vector, e.space = $p.space
        REMOVE e.next_vector, e.next_space
    }
    CALL () {
        UNWIND $p.fact_vectors AS row
        <SEEK r:RELATES_TO row.uuid>
        SET r.rev = $p.rev
    """
    + SET_VECTOR
    + """
        REMOVE r.next_vector, r.next_space
    }
    """
    + WRITE_NEXT
    + COUNT_TERMS
    + """
    CALL () {
        UNWIND $p.mentions AS row
        <SEEK e:Episodic row.episode_uuid>
        <SEEK n:Entity row.entity_uuid>
        MERGE (e)-[m:MENTIONS]->(n)
        ON CREATE SET m.uuid = row.uuid, m.group_id = $p.group_id, m.created_ms = row.created_ms,
            m.created_at = CASE WHEN row.created IS NOT NULL THEN datetime({epochMillis: row.created}) END
        SET m.names = row.names, m.types = row.types
    }
    CALL () {
        UNWIND $p.edges AS row
        <SEEK e:Episodic row.uuid>
        SET e.entity_edges = row.facts
    }
    """
    + WRITE_TRANSITIONS
    + """
    CALL () {
        UNWIND $p.spent AS row
        <SEEK i:KgItem row.uuid>
        SET i.model_calls = coalesce(i.model_calls, 0) + row.calls,
            i.prompt_tokens = coalesce(i.prompt_tokens, 0) + row.prompt_tokens,
            i.completion_tokens = coalesce(i.completion_tokens, 0) + row.completion_tokens
    }
    """
    + SETTLE_TRANSITIONS
    + RELEASE_EPISODES
    + """
    CALL () {
        UNWIND $p.removed_episodes AS uuid
        <SEEK i:KgItem uuid>
        DELETE i
    }
    CALL () {
        UNWIND $p.removed_episodes AS uuid
        <SEEK e:Episodic uuid>
        DETACH DELETE e
    }
    CALL () {
        UNWIND $p.removed_merges AS merge_id
        MATCH (m:KgMerge {group_id: $p.group_id, epoch: $p.epoch, merge_id: merge_id})
        DELETE m
    }
    CALL () {
        UNWIND $p.merges AS row
        CREATE (:KgMerge {group_id: $p.group_id, epoch: $p.epoch, merge_id: row.merge_id,
            merged_uuid: row.merged_uuid, kept_uuid: row.kept_uuid, created_ms: row.created_ms,
            data: row.data, by_episode: row.by_episode})
    }
    CALL () {
        UNWIND $p.removed_mentions AS row
        <SEEK e:Episodic row.episode_uuid>
        <SEEK n:Entity row.entity_uuid>
        MATCH (e)-[m:MENTIONS]->(n)
        DELETE m
    }
    CALL () {
        UNWIND $p.removed_entities AS uuid
        MATCH (k:KgName) USING INDEX SEEK k:KgName(group_id, epoch, entity_uuid)
        WHERE k.group_id = $p.group_id AND k.epoch = $p.epoch AND k.entity_uuid = uuid
        DELETE k
    }
    CALL () {
        UNWIND $p.removed_entities AS uuid
        MATCH (k:KgNameToken) USING INDEX SEEK k:KgNameToken(group_id, epoch, entity_uuid)
        WHERE k.group_id = $p.group_id AND k.epoch = $p.epoch AND k.entity_uuid = uuid
        DELETE k
    }
    CALL () {
        UNWIND $p.dropped_hubs AS uuid
        <SEEK n:Entity uuid>
        MATCH (c)-[:HAS_MEMBER]->(n) WHERE uuid IN c.hubs
        SET c.name = '', c.summary = '', c.vector = null, c.space = null, c.next_vector = null,
            c.next_space = null
    }
    CALL () {
        UNWIND $p.removed_entities AS uuid
        <SEEK n:Entity uuid>
        DETACH DELETE n
    }
    CALL (g) {
        UNWIND CASE WHEN $p.releases THEN [1] ELSE [] END AS given_up
        SET g.owner_id = null
        WITH g
        <UNMARK>
    }
    RETURN g.rev AS rev
    """
)
_WRITE_25: LiteralString = "CYPHER 25" + _WRITE  # takes vectors as such
# What few commits of items have, if any: removals, merges, new names of entities, callers' keys.
_RARE = (
    "claims",
    "removed",
    "reserved",
    "dropped_facts",
    "renamed",
    "removed_names",
    "removed_name_tokens",
    "moved",
    "spent",
    "removed_episodes",
    "removed_merges",
    "merges",
    "removed_mentions",
    "removed_entities",
    "dropped_hubs",
    "hidden_episodes",
    "gone",
    "next_entities",
    "next_facts",
    "next_passages",
    "refilled",
)
_ADD_EACH: LiteralString = for_each(without(whole_text(_WRITE), _RARE), "rev")
_ADD_EACH_25: LiteralString = "CYPHER 25 " + _ADD_EACH


class DeltaWriting(Base):
    """Writes deltas of groups that are locked and were checked."""

    async def write_rows(self, tx: Tx, writes: Sequence[dict[str, Any]]) -> None:
        """Write changes whose parameters `written` made, with the shard of each."""
        plain = [values for values in writes if not any(values[name] for name in _RARE)]
        if plain:
            await tx.run(_ADD_EACH_25 if self._vectors_indexed else _ADD_EACH, all=plain)
        for values in writes:
            if any(values[name] for name in _RARE):
                await tx.run(_WRITE_25 if self._vectors_indexed else _WRITE, **values)

    def written(self, there: Locked, delta: GraphDelta, guard: Guard) -> dict[str, Any]:
        """Parameters of the write."""
        values = _values(there, delta, guard)
        for vector in values["fact_vectors"]:
            vector["numbers"] = numbers(vector["vector"], packed=self._vectors_indexed)
        return values | {"rev": guard.rev + int(delta.bumps_rev)}


def _values(there: Locked, delta: GraphDelta, guard: Guard) -> dict[str, Any]:
    """Parameters of the write."""
    names = dict(there.entities)
    gone = {tombstone.uuid for tombstone in delta.remove_facts}
    ends = {uuid: (source, target) for uuid, source, target, *_ in there.facts if uuid not in gone}
    held = {uuid: (keys, count) for uuid, _, _, keys, count in there.facts if keys is not None}
    terms = TermChanges(delta, guard.epoch, held, indexed=there.known is not None or guard.rev == 0)
    written = list({fact.uuid: fact for fact in delta.facts}.values())
    facts = [fact_row(fact) | terms.row(fact) for fact in written]
    return {
        "group_id": delta.group_id,
        "epoch": guard.epoch,
        "token": guard.token,
        "releases": guard.releases,
        "claims": claim_rows(delta.claim),
        "system_ms": delta.system_ms,
        "entities": [entity_row(entity) for entity in delta.entities],
        "renamed": [
            renamed_row(terms.keys, e) for e in delta.entities if names.get(e.uuid, e.name) != e.name
        ],
        "rewritten": [fact["uuid"] for fact in facts],
        "scope": scope(delta.group_id, ""),
        **terms.counts(),
        "names": [
            {"key": digest(key), "name_key": key, "entity_uuid": uuid} for key, uuid in delta.names.items()
        ],
        "name_tokens": _named(("token", "entity_uuid"), sorted(search_terms(delta))),
        "created": [fact for fact in facts if fact["uuid"] not in ends],
        "replaced": [fact for fact in facts if fact["uuid"] in ends],
        "moved": [
            {"uuid": fact.uuid, "source_uuid": fact.source_uuid, "target_uuid": fact.target_uuid}
            for fact in written
            if ends.get(fact.uuid, _ends(fact)) != _ends(fact)
        ],
        **vector_rows(delta, there.space, there.wanted),
        "mentions": [_mention_row(mention) for mention in delta.mentions],
        "removed_names": [digest(key) for key in delta.remove_names],
        "removed_name_tokens": _named(("token", "entity_uuid"), delta.remove_name_tokens),
        "edges": [{"uuid": uuid, "facts": list(facts)} for uuid, facts in delta.episode_edges.items()],
        "removed": [asdict(tombstone) for tombstone in delta.remove_facts],
        "reserved": [asdict(tombstone) for tombstone in delta.reserve_facts],
        "touched_entities": sorted(delta.touched_entities),
        "touched_episodes": sorted(delta.touched_episodes),
        "forgets": delta.forgets,
        "gone": [{"kind": "entity", "uuid": uuid} for uuid in delta.remove_entities]
        + [{"kind": "episode", "uuid": uuid} for uuid in (*delta.remove_episodes, *delta.hide_episodes)],
        "hidden_episodes": list(delta.hide_episodes),
        "removed_episodes": list(delta.remove_episodes),
        "removed_merges": list(delta.remove_merges),
        "merges": [asdict(each) | {"by_episode": each.by_episode or None} for each in delta.merges],
        "removed_mentions": _named(("episode_uuid", "entity_uuid"), delta.remove_mentions),
        "removed_entities": list(delta.remove_entities),
        "dropped_facts": [*(t.uuid for t in delta.remove_facts), *delta.unsaid],
        "dropped_hubs": [*delta.remove_entities, *delta.unsaid],
        "closures": _named(("by_episode", "fact_uuid"), delta.closures),
        "transitions": transition_rows(delta.transitions, guard.token),
        "counted": sorted({*delta.spent, *(each.uuid for each in delta.transitions)}),
        "spent": [{"uuid": uuid, **asdict(usage)} for uuid, usage in delta.spent.items()],
    }


def _ends(fact: Fact) -> tuple[str, str]:
    return fact.source_uuid, fact.target_uuid


def _named(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(names, row, strict=True)) for row in rows]


def _mention_row(mention: Mention) -> dict[str, Any]:
    return {
        "uuid": mention.uuid,
        "episode_uuid": mention.episode_uuid,
        "entity_uuid": mention.entity_uuid,
        "created_ms": mention.created_ms,
        "created": calendar(mention.created_ms),
        "names": list(mention.names),
        "types": list(mention.types),
    }
