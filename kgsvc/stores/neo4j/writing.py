"""The write of a delta: its statement, and the parameters of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, LiteralString

from kgsvc.domain.model.delta import GraphDelta, Guard
from kgsvc.domain.model.graph import Mention
from kgsvc.domain.model.keys import digest
from kgsvc.domain.names.similarity import search_terms
from kgsvc.stores.neo4j.base import Base, Row, Tx, for_each, whole_text, without
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
from kgsvc.stores.neo4j.guards import claim_rows
from kgsvc.stores.neo4j.receipts import RELEASE_EPISODES, SETTLE_TRANSITIONS
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
        MERGE (n:Entity {uuid: row[0], group_id: $p.group_id, epoch: $p.epoch})
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
        MATCH (k:KgNameToken {group_id: $p.group_id, epoch: $p.epoch, token: row[0], entity_uuid: row[1]})
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
            {group_id: $p.group_id, epoch: $p.epoch, token: row[0], entity_uuid: row[1]})
    }
    CALL () {
        UNWIND $p.moved AS row
        <SEEK old:RELATES_TO row[0]>
        <SEEK s:Entity row[1]>
        <SEEK t:Entity row[2]>
        WITH row, s, t, old, properties(old) AS values
        DELETE old
        CREATE (s)-[r:RELATES_TO]->(t)
        SET r = values
    }
    CALL () {
        UNWIND $p.created AS row
        <SEEK s:Entity row[1]>
        <SEEK t:Entity row[2]>
        CREATE (s)-[r:RELATES_TO {uuid: row[0], group_id: $p.group_id, epoch: $p.epoch, rev: $p.rev}]->(t)
    <SET_FACT>
    """
    + SET_TERMS
    + """
    }
    CALL () {
        UNWIND $p.replaced AS row
        <SEEK r:RELATES_TO row[0]>
        SET r.rev = $p.rev
    <SET_FACT>
    """
    + SET_TERMS
    + """
    }
    CALL () {
        UNWIND $p.closures AS row
        MERGE (:KgClosure {group_id: $p.group_id, epoch: $p.epoch, by_episode: row[0], fact_uuid: row[1]})
    }
    CALL () {
        UNWIND $p.entity_vectors AS row
        <SEEK n:Entity row[0]>
        SET n.vector = row[1], n.space = $p.space, n.vector_rev = $p.rev
        REMOVE n.next_vector, n.next_space
    }
    CALL () {
        UNWIND $p.passages AS row
        <SEEK e:Episodic row[0]>
        SET e.passages = row[1], e.space = $p.space
        REMOVE e.next_vector, e.next_space
    }
    CALL () {
        UNWIND $p.fact_vectors AS row
        <SEEK r:RELATES_TO row[0]>
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
        <SEEK e:Episodic row[1]>
        <SEEK n:Entity row[2]>
        MERGE (e)-[m:MENTIONS]->(n)
        ON CREATE SET m.uuid = row[0], m.group_id = $p.group_id, m.created_ms = row[3],
            m.created_at = CASE WHEN row[4] IS NOT NULL THEN datetime({epochMillis: row[4]}) END
        SET m.names = row[5], m.types = row[6]
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
        <SEEK i:KgItem row[0]>
        SET i.model_calls = coalesce(i.model_calls, 0) + row[1],
            i.prompt_tokens = coalesce(i.prompt_tokens, 0) + row[2],
            i.completion_tokens = coalesce(i.completion_tokens, 0) + row[3]
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
        CREATE (:KgMerge {group_id: $p.group_id, epoch: $p.epoch, merge_id: row[0], merged_uuid: row[1],
            kept_uuid: row[2], created_ms: row[3], data: row[4], by_episode: row[5]})
    }
    CALL () {
        UNWIND $p.removed_mentions AS row
        <SEEK e:Episodic row[0]>
        <SEEK n:Entity row[1]>
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

    def written(self, row: Row, delta: GraphDelta, guard: Guard) -> dict[str, Any]:
        """Parameters of the write. `row` is one of LOCK."""
        values = _values(row, delta, guard)
        for vector in values["fact_vectors"]:
            vector.append(numbers(vector[1], packed=self._vectors_indexed))
        return values | {"rev": guard.rev + int(delta.bumps_rev)}


def _values(row: Row, delta: GraphDelta, guard: Guard) -> dict[str, Any]:
    """Parameters of the write."""
    names = dict(row[5])
    gone = {tombstone.uuid for tombstone in delta.remove_facts}
    ends = {uuid: [source, target] for uuid, source, target, *_held in row[6] if uuid not in gone}
    held = {found[0]: (found[3], found[4]) for found in row[6] if found[3] is not None}
    terms = TermChanges(delta, guard.epoch, held, indexed=row[7] is not None or guard.rev == 0)
    facts = [[*fact_row(fact), *terms.row(fact)] for fact in {f.uuid: f for f in delta.facts}.values()]
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
        "rewritten": [fact[0] for fact in facts],
        "scope": scope(delta.group_id, ""),
        **terms.counts(),
        "names": [
            {"key": digest(key), "name_key": key, "entity_uuid": uuid} for key, uuid in delta.names.items()
        ],
        "name_tokens": [list(each) for each in sorted(search_terms(delta))],
        "created": [fact for fact in facts if fact[0] not in ends],
        "replaced": [fact for fact in facts if fact[0] in ends],
        "moved": [fact[:3] for fact in facts if ends.get(fact[0], fact[1:3]) != fact[1:3]],
        **vector_rows(delta, row[0][3] if row[0] else None, row[10]),
        "mentions": [_mention_row(mention) for mention in delta.mentions],
        "removed_names": [digest(key) for key in delta.remove_names],
        "removed_name_tokens": [list(pair) for pair in delta.remove_name_tokens],
        "edges": [{"uuid": uuid, "facts": list(facts)} for uuid, facts in delta.episode_edges.items()],
        "removed": [asdict(tombstone) for tombstone in delta.remove_facts],
        "reserved": [asdict(tombstone) for tombstone in delta.reserve_facts],
        "touched_entities": sorted(delta.touched_entities),
        "touched_episodes": sorted(delta.touched_episodes),
        "forgets": delta.forgets,
        "gone": [["entity", uuid] for uuid in delta.remove_entities]
        + [["episode", uuid] for uuid in (*delta.remove_episodes, *delta.hide_episodes)],
        "hidden_episodes": list(delta.hide_episodes),
        "removed_episodes": list(delta.remove_episodes),
        "removed_merges": list(delta.remove_merges),
        "merges": [
            [m.merge_id, m.merged_uuid, m.kept_uuid, m.created_ms, m.data, m.by_episode or None]
            for m in delta.merges
        ],
        "removed_mentions": [list(pair) for pair in delta.remove_mentions],
        "removed_entities": list(delta.remove_entities),
        "dropped_facts": [*(t.uuid for t in delta.remove_facts), *delta.unsaid],
        "dropped_hubs": [*delta.remove_entities, *delta.unsaid],
        "closures": [list(pair) for pair in delta.closures],
        "transitions": transition_rows(delta.transitions, guard.token),
        "counted": sorted({*delta.spent, *(each.uuid for each in delta.transitions)}),
        "spent": [[uuid, u.calls, u.prompt_tokens, u.completion_tokens] for uuid, u in delta.spent.items()],
    }


def _mention_row(mention: Mention) -> list[Any]:
    created_ms, names, types = mention.created_ms, list(mention.names), list(mention.types)
    ends = (mention.episode_uuid, mention.entity_uuid)
    return [mention.uuid, *ends, created_ms, calendar(created_ms), names, types]
