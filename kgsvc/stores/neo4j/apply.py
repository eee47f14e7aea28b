"""Writing a delta (GraphStore.apply): lock and check, then write, in one transaction."""

from __future__ import annotations

from typing import Any, LiteralString

from kgsvc.domain.delta import GraphDelta, GroupHead, Guard, StaleItems
from kgsvc.domain.errors import Conflict, LeaseLost, RevisionChanged, Violation
from kgsvc.domain.identity import digest
from kgsvc.domain.model import Fact
from kgsvc.stores.neo4j.base import Base, Row, Tx
from kgsvc.stores.neo4j.rows import entity_values, fact_values, moment
from kgsvc.stores.neo4j.transitions import WRITE_TRANSITIONS, transition_rows

# Returns the group's record under its lock, and what must be known of the rows before they are written.
_LOCK: LiteralString = """
    MERGE (g:KgGroup {group_id: $group_id})
    ON CREATE SET g.rev = 0, g.epoch = 0, g.last_ms = 0,
        g.owner_token = 0, g.renewals = 0, g.served_ms = 0
    SET g.lock = 0
    WITH g, g.epoch AS epoch
    CALL (epoch) {
        UNWIND $claims AS claim
        MATCH (k:KgIdempotency
            {group_id: $group_id, epoch: epoch, operation: claim.operation, key: claim.key})
        WHERE k.expires_ms > claim.now_ms
        RETURN collect(k.input_hash) AS claimed
    }
    CALL (epoch) {
        UNWIND $requires AS uuid
        MATCH (i:KgItem {group_id: $group_id, epoch: epoch, uuid: uuid}) WHERE i:KgPending
        RETURN collect(uuid) AS unfinished
    }
    CALL (epoch) {
        UNWIND $keys AS key
        MATCH (k:KgName {group_id: $group_id, epoch: epoch, key: key})
        RETURN collect([key, k.entity_uuid]) AS owners
    }
    CALL (epoch) {
        UNWIND $entities AS uuid
        MATCH (n:Entity {uuid: uuid, group_id: $group_id, epoch: epoch})
        RETURN collect([uuid, n.name]) AS entities
    }
    CALL (epoch) {
        UNWIND $facts AS uuid
        MATCH ()-[r:RELATES_TO {uuid: uuid, group_id: $group_id, epoch: epoch}]->()
        RETURN collect([uuid, r.source_uuid, r.target_uuid]) AS facts
    }
    RETURN [g.rev, epoch, g.last_ms], CASE WHEN g.owner_id IS NULL THEN null ELSE g.owner_token END,
        claimed, unfinished, owners, entities, facts
    """

_WRITE: LiteralString = (
    """
    MATCH (g:KgGroup {group_id: $group_id})
    SET g.rev = $rev, g.last_ms = $system_ms
    WITH g
    CALL () {
        UNWIND $claims AS row
        MERGE (k:KgIdempotency
            {group_id: $group_id, epoch: $epoch, operation: row.operation, key: row.key})
        SET k.input_hash = row.input_hash, k.expires_ms = row.now_ms + row.window_ms, k.receipt_id = '',
            k.uuids = [], k.seqs = []
    }
    CALL () {
        UNWIND $removed AS row
        MERGE (t:KgTombstone {group_id: $group_id, epoch: $epoch, uuid: row.uuid})
        SET t.slot = row.slot, t.fact = row.fact, t.deleted_ms = row.deleted_ms, t.rev = $rev
        WITH row
        MATCH ()-[r:RELATES_TO {uuid: row.uuid, group_id: $group_id, epoch: $epoch}]->()
        DELETE r
    }
    CALL () {
        UNWIND $entities AS row
        MERGE (n:Entity {uuid: row.uuid, group_id: $group_id, epoch: $epoch})
        SET n += row.values
    }
    CALL () {
        UNWIND $renamed AS row
        MATCH (n:Entity {uuid: row.uuid, group_id: $group_id, epoch: $epoch})
        CALL (n, row) {
            MATCH (n)-[r:RELATES_TO]->() SET r.source_name = row.name, r.rev = $rev
        }
        CALL (n, row) {
            MATCH (n)<-[r:RELATES_TO]-() SET r.target_name = row.name, r.rev = $rev
        }
    }
    CALL () {
        UNWIND $names AS row
        MERGE (k:KgName {group_id: $group_id, epoch: $epoch, key: row.key})
        SET k.name_key = row.name_key, k.entity_uuid = row.entity_uuid
    }
    CALL () {
        UNWIND $moved AS row
        MATCH ()-[old:RELATES_TO {uuid: row.uuid, group_id: $group_id, epoch: $epoch}]->()
        MATCH (s:Entity {uuid: row.values.source_uuid, group_id: $group_id, epoch: $epoch})
        MATCH (t:Entity {uuid: row.values.target_uuid, group_id: $group_id, epoch: $epoch})
        WITH row, s, t, old, properties(old) AS values
        DELETE old
        CREATE (s)-[r:RELATES_TO]->(t)
        SET r = values
    }
    CALL () {
        UNWIND $created AS row
        MATCH (s:Entity {uuid: row.values.source_uuid, group_id: $group_id, epoch: $epoch})
        MATCH (t:Entity {uuid: row.values.target_uuid, group_id: $group_id, epoch: $epoch})
        CREATE (s)-[r:RELATES_TO {uuid: row.uuid, group_id: $group_id, epoch: $epoch, rev: $rev}]->(t)
        SET r += row.values
    }
    CALL () {
        UNWIND $replaced AS row
        MATCH ()-[r:RELATES_TO {uuid: row.uuid, group_id: $group_id, epoch: $epoch}]->()
        SET r += row.values, r.rev = $rev
    }
    CALL () {
        UNWIND $vectors AS row
        OPTIONAL MATCH (n:Entity {uuid: row.uuid, group_id: $group_id, epoch: $epoch})
        SET n += row.values
        WITH row
        MATCH ()-[r:RELATES_TO {uuid: row.uuid, group_id: $group_id, epoch: $epoch}]->()
        SET r += row.values, r.rev = $rev
    }
    CALL () {
        UNWIND $mentions AS row
        MATCH (e:Episodic {uuid: row.episode_uuid, group_id: $group_id, epoch: $epoch})
        MATCH (n:Entity {uuid: row.entity_uuid, group_id: $group_id, epoch: $epoch})
        MERGE (e)-[m:MENTIONS]->(n)
        ON CREATE SET m.uuid = row.uuid, m.group_id = $group_id, m.created_ms = row.created_ms,
            m.created_at = row.created_at
    }
    CALL () {
        UNWIND $edges AS row
        MATCH (e:Episodic {uuid: row.uuid, group_id: $group_id, epoch: $epoch})
        SET e.entity_edges = row.facts
    }
    """
    + WRITE_TRANSITIONS
    + """
    CALL () {
        UNWIND $removed_episodes AS uuid
        MATCH (i:KgItem {group_id: $group_id, epoch: $epoch, uuid: uuid})
        DELETE i
    }
    CALL () {
        UNWIND $removed_episodes AS uuid
        MATCH (e:Episodic {uuid: uuid, group_id: $group_id, epoch: $epoch})
        DETACH DELETE e
    }
    RETURN g.rev
    """
)


class Apply(Base):
    """GraphStore.apply."""

    async def apply(self, delta: GraphDelta, guard: Guard) -> GroupHead:
        """See GraphStore."""
        questions = _questions(delta)

        async def write(tx: Tx) -> GroupHead:
            (row,) = await tx.run(_LOCK, **questions)
            _check_guard(row, guard)
            if _claimed(row, delta):
                return GroupHead(delta.group_id, *row[0])
            _check(row, delta)
            rev = guard.rev + int(delta.bumps_rev)
            await tx.run(_WRITE, **_values(row, delta), rev=rev, epoch=guard.epoch, shard=self._shard())
            return GroupHead(delta.group_id, rev, guard.epoch, delta.system_ms)

        return await self._transact(write)


def _questions(delta: GraphDelta) -> dict[str, Any]:
    spoken = {e.uuid for e in delta.entities} | set(delta.names.values())
    for fact in delta.facts:
        spoken |= {fact.source_uuid, fact.target_uuid}
    return {
        "group_id": delta.group_id,
        "claims": _claims(delta),
        "requires": list(delta.requires_items),
        "keys": [digest(name_key) for name_key in delta.names],
        "entities": sorted(spoken),
        "facts": [fact.uuid for fact in delta.facts],
    }


def _claims(delta: GraphDelta) -> list[dict[str, Any]]:
    if delta.claim is None:
        return []
    return [
        {
            "operation": delta.claim.operation,
            "key": delta.claim.key,
            "input_hash": delta.claim.input_hash,
            "now_ms": delta.claim.now_ms,
            "window_ms": delta.claim.dedup_window_ms,
        }
    ]


def _check_guard(row: Row, guard: Guard) -> None:
    """LeaseLost, RevisionChanged."""
    (rev, epoch, _last_ms), token = row[:2]
    if epoch != guard.epoch or guard.token not in (None, token):
        raise LeaseLost("the group is owned by another process or was deleted")
    if rev != guard.rev:
        raise RevisionChanged("the group changed since it was read")


def _claimed(row: Row, delta: GraphDelta) -> bool:
    """Whether the caller's key is known with this input. Conflict: with another."""
    known = row[2]
    if delta.claim is None or not known:
        return False
    if known[0] != delta.claim.input_hash:
        used = "was used with other input within the window"
        raise Conflict(f"idempotency_key {used}", [Violation("idempotency_key", used)])
    return True


def _check(row: Row, delta: GraphDelta) -> None:
    """StaleItems, Conflict."""
    unfinished, owners, entities = row[3:6]
    stale = tuple(uuid for uuid in delta.requires_items if uuid not in set(unfinished))
    if stale:
        raise StaleItems(stale)
    written = {entity.uuid for entity in delta.entities}
    owned = {key: owner for key, owner in owners if owner not in written}
    if any(owned.get(digest(key), uuid) != uuid for key, uuid in delta.names.items()):
        raise Conflict("a name belongs to another entity")
    known = written | {uuid for uuid, _name in entities}
    if not known.issuperset(delta.names.values()):
        raise Conflict("a name points at an entity that does not exist")
    if not all(f.source_uuid in known and f.target_uuid in known for f in delta.facts):
        raise Conflict("a fact points at an entity that does not exist")


def _values(row: Row, delta: GraphDelta) -> dict[str, Any]:
    """Parameters of the write."""
    names = dict(row[5])
    gone = {tombstone.uuid for tombstone in delta.remove_facts}
    ends = {uuid: (source, target) for uuid, source, target in row[6] if uuid not in gone}
    written = {e.uuid for e in delta.entities} | {f.uuid for f in delta.facts}
    facts = [_fact_row(fact, delta) for fact in {f.uuid: f for f in delta.facts}.values()]
    return {
        "group_id": delta.group_id,
        "claims": _claims(delta),
        "system_ms": delta.system_ms,
        "entities": [
            {"uuid": e.uuid, "values": entity_values(e) | _vector(e.uuid, delta)} for e in delta.entities
        ],
        "renamed": [
            {"uuid": e.uuid, "name": e.name} for e in delta.entities if names.get(e.uuid, e.name) != e.name
        ],
        "names": [
            {"key": digest(key), "name_key": key, "entity_uuid": uuid} for key, uuid in delta.names.items()
        ],
        "created": [f for f in facts if f["uuid"] not in ends],
        "replaced": [f for f in facts if f["uuid"] in ends],
        "moved": [f for f in facts if ends.get(f["uuid"], _ends(f)) != _ends(f)],
        "vectors": [
            {"uuid": uuid, "values": _vector(uuid, delta)} for uuid in delta.vectors if uuid not in written
        ],
        "mentions": [
            {
                "uuid": m.uuid,
                "episode_uuid": m.episode_uuid,
                "entity_uuid": m.entity_uuid,
                "created_ms": m.created_ms,
                "created_at": moment(m.created_ms),
            }
            for m in delta.mentions
        ],
        "edges": [{"uuid": uuid, "facts": list(facts)} for uuid, facts in delta.episode_edges.items()],
        "removed": [
            {"uuid": t.uuid, "slot": t.slot, "fact": t.fact, "deleted_ms": t.deleted_ms}
            for t in delta.remove_facts
        ],
        "removed_episodes": list(delta.remove_episodes),
        "transitions": transition_rows(delta.transitions),
    }


def _fact_row(fact: Fact, delta: GraphDelta) -> dict[str, Any]:
    return {
        "uuid": fact.uuid,
        "values": fact_values(fact) | _vector(fact.uuid, delta),
    }


def _vector(uuid: str, delta: GraphDelta) -> dict[str, Any]:
    """Its vector's properties; without a vector in the delta a row keeps what it has."""
    return {"vector": delta.vectors[uuid], "space": delta.space} if uuid in delta.vectors else {}


def _ends(row: dict[str, Any]) -> tuple[str, str]:
    return row["values"]["source_uuid"], row["values"]["target_uuid"]
