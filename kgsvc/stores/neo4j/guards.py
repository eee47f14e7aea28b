"""What must hold before a delta is written, checked under the group's lock in the transaction that writes it
(design §4)."""

from __future__ import annotations

from typing import Any, LiteralString

from kgsvc.domain.errors import Conflict, LeaseLost, RevisionChanged, Violation
from kgsvc.domain.model.delta import GraphDelta, Guard, StaleItems
from kgsvc.domain.model.identity import digest
from kgsvc.stores.neo4j.base import Row
from kgsvc.stores.neo4j.fact_terms import HELD_TERMS

# Returns the group's record under its lock, and what must be known of the rows before they are written.
LOCK: LiteralString = (
    """
    MERGE (g:KgGroup {group_id: $p.group_id})
    ON CREATE SET g.rev = 0, g.epoch = 0, g.last_ms = 0,
        g.owner_token = 0, g.renewals = 0, g.served_ms = 0
    SET g.lock = 0
    WITH g, g.epoch AS epoch
    CALL (epoch) {
        UNWIND $p.claims AS claim
        MATCH (k:KgIdempotency
            {group_id: $p.group_id, epoch: epoch, operation: claim.operation, key: claim.key})
        WHERE k.expires_ms > claim.now_ms
        RETURN collect(k.input_hash) AS claimed
    }
    CALL (epoch) {
        UNWIND $p.requires AS uuid
        MATCH (i:KgItem {group_id: $p.group_id, epoch: epoch, uuid: uuid})
            USING INDEX SEEK i:KgItem(group_id, epoch, uuid)
        WHERE i:KgPending AND ($p.token IS NULL OR i.started = $p.token)
        RETURN collect(uuid) AS ours
    }
    CALL (epoch) {
        UNWIND $p.keys AS key
        MATCH (k:KgName {group_id: $p.group_id, epoch: epoch, key: key})
            USING INDEX SEEK k:KgName(group_id, epoch, key)
        RETURN collect([key, k.entity_uuid]) AS owners
    }
    CALL (epoch) {
        UNWIND $p.entities AS uuid
        MATCH (n:Entity {uuid: uuid, group_id: $p.group_id, epoch: epoch})
            USING INDEX SEEK n:Entity(uuid, group_id, epoch)
        RETURN collect([uuid, n.name]) AS entities
    }
    CALL (epoch) {
        UNWIND $p.facts AS uuid
        MATCH ()-[r:RELATES_TO {uuid: uuid, group_id: $p.group_id, epoch: epoch}]->()
            USING INDEX SEEK r:RELATES_TO(uuid, group_id, epoch)
        RETURN collect([uuid, r.source_uuid, r.target_uuid, """
    + HELD_TERMS
    + """]) AS facts
    }
    RETURN [g.rev, epoch, g.last_ms], CASE WHEN g.owner_id IS NULL THEN null ELSE g.owner_token END,
        claimed, ours, owners, entities, facts, g.facts
    """
)


def questions_of(delta: GraphDelta, token: int | None) -> dict[str, Any]:
    """Parameters of LOCK, whose only row the checks are given."""
    spoken = {e.uuid for e in delta.entities} | set(delta.names.values())
    for fact in delta.facts:
        spoken |= {fact.source_uuid, fact.target_uuid}
    return {
        "group_id": delta.group_id,
        "claims": claims_of(delta),
        "requires": list(delta.requires_items),
        "token": token,
        "keys": [digest(name_key) for name_key in delta.names],
        "entities": sorted(spoken),
        "facts": sorted({*(f.uuid for f in delta.facts), *(t.uuid for t in delta.remove_facts)}),
    }


def claims_of(delta: GraphDelta) -> list[dict[str, Any]]:
    """The caller's key as rows of a parameter: one or none."""
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


def check_guard(row: Row, guard: Guard) -> None:
    """Raises LeaseLost, RevisionChanged."""
    (rev, epoch, _last_ms), token = row[:2]
    if epoch != guard.epoch or guard.token not in (None, token):
        raise LeaseLost("the group is owned by another process or was deleted")
    if rev != guard.rev:
        raise RevisionChanged("the group changed since it was read")


def claimed(row: Row, delta: GraphDelta) -> bool:
    """Whether the caller's key is known with this input. Raises Conflict: with another."""
    known = row[2]
    if delta.claim is None or not known:
        return False
    if known[0] != delta.claim.input_hash:
        used = "was used with other input within the window"
        raise Conflict(f"idempotency_key {used}", [Violation("idempotency_key", used)])
    return True


def check_rows(row: Row, delta: GraphDelta) -> None:
    """What the delta needs is still there. Raises StaleItems, Conflict."""
    ours, owners, entities = row[3:6]
    stale = tuple(uuid for uuid in delta.requires_items if uuid not in set(ours))
    if stale:
        raise StaleItems(stale)
    written = {entity.uuid for entity in delta.entities}
    leaving = written.union(delta.remove_entities)
    owned = {key: owner for key, owner in owners if owner not in leaving}
    if any(owned.get(digest(key), uuid) != uuid for key, uuid in delta.names.items()):
        raise Conflict("a name belongs to another entity")
    known = written | {uuid for uuid, _name in entities}
    if not known.issuperset(delta.names.values()):
        raise Conflict("a name points at an entity that does not exist")
    if not all(f.source_uuid in known and f.target_uuid in known for f in delta.facts):
        raise Conflict("a fact points at an entity that does not exist")
