"""What must hold before a delta is written, checked under the group's lock in the transaction that writes it
(docs/design/stores.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, LiteralString, NamedTuple

from kgsvc.domain.model.delta import Claim, GraphDelta, GroupHead, Guard
from kgsvc.domain.model.keys import digest
from kgsvc.stores.admission import check_delta, check_guard, is_repetition
from kgsvc.stores.neo4j.base import Row
from kgsvc.stores.neo4j.fact_terms import HELD_TERMS
from kgsvc.stores.neo4j.quotas import COUNTERS_OF


class Locked(NamedTuple):
    """What LOCK returns: the group's record, and what must be known of the rows before they are written."""

    head: Sequence[int]  # rev, epoch, last_ms
    space: str | None  # of the vectors in use, '' before the first; None while the group is imported
    token: int | None  # of who has the lease
    claimed: Sequence[str]  # the input that is known under the caller's key
    ours: Sequence[str]  # of the required items, those that may be written
    owners: Sequence[Row]  # digest of a name key, entity
    entities: Sequence[Row]  # uuid, name
    facts: Sequence[Row]  # uuid, source, target, keys of terms and how many
    known: int | None  # facts that the cold search knows
    group_id: str
    counters: Sequence[Mapping[str, Any]]  # of quotas
    wanted: str | None  # the space that the group goes over to

    def group_head(self) -> GroupHead:
        rev, epoch, last_ms = self.head
        return GroupHead(self.group_id, rev, epoch, last_ms, self.space or "")


def untouched(group_id: str, known: int) -> Locked:
    """Of a group that is imported: nothing is there yet that a delta could meet."""
    return Locked((), None, None, (), (), (), (), (), known, group_id, (), None)


# Part of a statement for many groups (base.for_each), which returns Locked.
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
    RETURN [g.rev, epoch, g.last_ms] AS head, coalesce(g.space, '') AS space,
        CASE WHEN g.owner_id IS NULL THEN null ELSE g.owner_token END AS token,
        claimed, ours, owners, entities, facts, g.facts AS known, g.group_id AS group_id, counters,
        f.space AS wanted
    """
)


def questions_of(delta: GraphDelta, token: int | None) -> dict[str, Any]:
    """Parameters of LOCK."""
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


def check(there: Locked, delta: GraphDelta, guard: Guard) -> GroupHead | None:
    """The group's head if there is nothing to write, since the caller's key is known with this input.
    Raises what GraphStore.apply raises."""
    head = there.group_head()
    check_guard(guard, head, there.token)
    if is_repetition(delta.claim, next(iter(there.claimed), None)):
        return head
    by_digest = dict(there.owners)
    owned = {key: by_digest[d] for key in delta.names if (d := digest(key)) in by_digest}
    check_delta(delta, there.ours, owned, [uuid for uuid, _name in there.entities])
    return None
