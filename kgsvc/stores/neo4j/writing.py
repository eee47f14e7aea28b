"""The write of a delta: what most of them write, by one statement; and its parameters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any, LiteralString

from kgsvc.domain.model.delta import GraphDelta, Guard
from kgsvc.domain.model.graph import Fact, Mention
from kgsvc.domain.model.keys import digest
from kgsvc.domain.names.similarity import search_terms
from kgsvc.stores.neo4j.amending import FIRST, LAST, amend, parameters
from kgsvc.stores.neo4j.base import Base, Tx, for_each, whole_text
from kgsvc.stores.neo4j.fact_terms import (
    COUNT_TERMS,
    SET_TERMS,
    SET_VECTOR,
    TermChanges,
    numbers,
    renamed_row,
    scope,
)
from kgsvc.stores.neo4j.guards import Locked, claim_rows
from kgsvc.stores.neo4j.quotas import SETTLE_TRANSITIONS
from kgsvc.stores.neo4j.rows import calendar, entity_row, fact_row
from kgsvc.stores.neo4j.search import TOUCH_TEXTS
from kgsvc.stores.neo4j.transitions import WRITE_TRANSITIONS, transition_rows
from kgsvc.stores.neo4j.vectors import vector_rows

_WRITE: LiteralString = (
    """
    MATCH (g:KgGroup {group_id: $p.group_id})
    SET g.rev = $p.rev, g.last_ms = $p.system_ms, g.space = coalesce(g.space, $p.used)
    WITH g
    CALL () {
        UNWIND $p.entities AS row
        MERGE (n:Entity {uuid: row.uuid, group_id: $p.group_id, epoch: $p.epoch})
        <SET_ENTITY>
    }
    """
    + TOUCH_TEXTS
    + """
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
    + SETTLE_TRANSITIONS
    + """
    CALL (g) {
        UNWIND CASE WHEN $p.releases THEN [1] ELSE [] END AS given_up
        SET g.owner_id = null
        WITH g
        <UNMARK>
    }
    RETURN g.rev AS rev
    """
)
_WRITE_EACH: LiteralString = for_each(whole_text(_WRITE), "rev")
_WRITE_EACH_25: LiteralString = "CYPHER 25 " + _WRITE_EACH  # takes vectors as such
_AMENDED = {each.rows for each in (*FIRST, *LAST)}


class DeltaWriting(Base):
    """Writes deltas of groups that are locked and were checked."""

    async def write_rows(self, tx: Tx, writes: Sequence[dict[str, Any]]) -> None:
        """Write changes whose parameters `written` made, with the shard of each; all together what most of
        them write."""
        amending = [values for values in writes if any(values[rows] for rows in _AMENDED)]
        for values in amending:
            await amend(tx, FIRST, values)
        if writes:
            plain = [{name: each[name] for name in parameters(_WRITE)} for each in writes]
            await tx.run(_WRITE_EACH_25 if self._vectors_indexed else _WRITE_EACH, all=plain)
        for values in amending:
            await amend(tx, LAST, values)

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
