"""What must hold before a delta is written, checked under the group's lock in the transaction that writes it
(docs/design/stores.md)."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, LiteralString

from kgsvc.domain.model.delta import Claim, GraphDelta, GroupHead, Guard
from kgsvc.domain.model.keys import digest
from kgsvc.stores.admission import check_delta, check_guard, is_repetition
from kgsvc.stores.neo4j.base import Row
from kgsvc.stores.neo4j.fact_terms import HELD_TERMS
from kgsvc.stores.neo4j.receipts import COUNTERS_OF

# Returns the group's record under its lock, and what must be known of the rows before they are written. Part
# of a statement for many groups (base.for_each).
LOCK: LiteralString = (
    """
    <NEW_GROUP>
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
        <SEEK i:KgItem uuid IN epoch>
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
        <SEEK n:Entity uuid IN epoch>
        RETURN collect([uuid, n.name]) AS entities
    }
    CALL (epoch) {
        UNWIND $p.facts AS uuid
        <SEEK r:RELATES_TO uuid IN epoch>
        RETURN collect([uuid, r.source_uuid, r.target_uuid, """
    + HELD_TERMS
    + """]) AS facts
    }
    CALL (epoch) {
        UNWIND $p.counted AS uuid
        <SEEK i:KgItem uuid IN epoch>
        WHERE i.charged IS NOT NULL OR i.keeps IS NOT NULL"""
    + COUNTERS_OF
    + """
        RETURN collect(counter) AS counters
    }
    OPTIONAL MATCH (f:KgFill {group_id: g.group_id, epoch: epoch})
    RETURN [g.rev, epoch, g.last_ms, coalesce(g.space, '')] AS head,
        CASE WHEN g.owner_id IS NULL THEN null ELSE g.owner_token END AS token,
        claimed, ours, owners, entities, facts, g.facts AS known, g.group_id AS group_id, counters,
        f.space AS wanted
    """
)


def questions_of(delta: GraphDelta, token: int | None) -> dict[str, Any]:
    """Parameters of LOCK, whose row `check` is given."""
    spoken = {e.uuid for e in delta.entities} | set(delta.names.values())
    for fact in delta.facts:
        spoken |= {fact.source_uuid, fact.target_uuid}
    return {
        "group_id": delta.group_id,
        "claims": claim_rows(delta.claim),
        "requires": list(delta.requires_items),
        "token": token,
        "keys": [digest(name_key) for name_key in delta.names],
        "entities": sorted(spoken),
        "facts": sorted({*(f.uuid for f in delta.facts), *(t.uuid for t in delta.remove_facts)}),
        "counted": counted_items(delta),
    }


def counted_items(delta: GraphDelta) -> list[str]:
    """Items whose state or cost changes, or that go: what they use of quotas may change."""
    return sorted({*delta.spent, *delta.remove_episodes, *(each.uuid for each in delta.transitions)})


def claim_rows(claim: Claim | None) -> list[dict[str, Any]]:
    """The caller's key as rows of a parameter: one or none."""
    if claim is None:
        return []
    expires_ms = claim.now_ms + claim.dedup_window_ms
    return [asdict(claim) | {"expires_ms": expires_ms}]


def check(row: Row, delta: GraphDelta, guard: Guard) -> GroupHead | None:
    """The group's head if there is nothing to write, since the caller's key is known with this input.
    Raises what GraphStore.apply raises."""
    head = GroupHead(delta.group_id, *row[0])
    token, claimed, ours, owners, entities = row[1:6]
    check_guard(guard, head, token)
    if is_repetition(delta.claim, claimed[0] if claimed else None):
        return head
    by_digest = dict(owners)
    owned = {key: by_digest[d] for key in delta.names if (d := digest(key)) in by_digest}
    check_delta(delta, ours, owned, [uuid for uuid, _name in entities])
    return None
