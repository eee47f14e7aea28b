"""Fills of vectors and their leases (FillStore)."""

from __future__ import annotations

import uuid as uuids
from collections.abc import Collection, Mapping
from dataclasses import asdict
from typing import Any, LiteralString

from kgsvc.domain.errors import LeaseLost
from kgsvc.domain.model.delta import GraphDelta, Guard
from kgsvc.domain.model.fills import Filled, FillLease, FillWork, Reembedding
from kgsvc.stores.neo4j.apply import Apply
from kgsvc.stores.neo4j.base import Row, Tx
from kgsvc.stores.neo4j.fact_terms import SET_VECTOR, numbers, scope
from kgsvc.stores.neo4j.rows import first_value
from kgsvc.stores.neo4j.vectors import vector_row
from kgsvc.stores.records import reembedding

# Two spans of the index of spaces, and what is filled already, instead of a look at all groups.
_BEGIN_ALL: LiteralString = """
    CALL () {
        MATCH (g:KgGroup) USING INDEX SEEK g:KgGroup(space) WHERE g.space > $p.space RETURN g
        UNION
        MATCH (g:KgGroup) USING INDEX SEEK g:KgGroup(space) WHERE g.space > '' AND g.space < $p.space
        RETURN g
        UNION
        MATCH (f:KgFill) USING INDEX SEEK f:KgFill(next_ms)
        WHERE f.next_ms >= 0 AND NOT coalesce(f.space, '') IN ['', $p.space]
        MATCH (g:KgGroup {group_id: f.group_id}) USING INDEX SEEK g:KgGroup(group_id)
        WHERE g.epoch = f.epoch
        RETURN g
    }
    WITH g WHERE g.rev > 0
    OPTIONAL MATCH (f:KgFill {group_id: g.group_id, epoch: g.epoch})
    WITH g, f WHERE coalesce(f.space, '') <> $p.space
    WITH g SET g.lock = 0
    WITH g <BEGIN_FILL>
    SET f.space = $p.space, f.attempts = 0, f.after_rev = 0, f.after_uuid = '', f.facts_rev = 0,
        f.embedded = 0
    RETURN count(g)
    """

_OPEN: LiteralString = """
    MATCH (f:KgFill) USING INDEX SEEK f:KgFill(next_ms) WHERE f.next_ms <= $p.now_ms
        AND ($p.space = '' OR coalesce(f.space, '') IN ['', $p.space])
    MATCH (g:KgGroup {group_id: f.group_id}) USING INDEX SEEK g:KgGroup(group_id)
    WHERE g.epoch = f.epoch AND NOT g:KgPaused
    RETURN f.group_id, f.token, f.owner_id, f.renewals
    ORDER BY f.next_ms, f.group_id LIMIT $p.limit
    """

# `claim` is new with every call: run again after its answer was lost, this recognises its own lease.
_CLAIM: LiteralString = """
    MATCH (g:KgGroup {group_id: $p.group_id})
    MATCH (f:KgFill {group_id: $p.group_id, epoch: g.epoch})
    SET f.lock = 0
    WITH g, f
    WHERE f.claim = $p.claim OR (f.token = $p.token AND f.renewals = $p.renewals
        AND (f.owner_id = $p.owner_id OR (f.owner_id IS NULL AND $p.owner_id IS NULL)))
    SET f.attempts = f.attempts + CASE WHEN f.claim = $p.claim OR f.owner_id = $p.by THEN 0 ELSE 1 END
    SET f.token = $p.token + 1, f.owner_id = $p.by, f.claim = $p.claim,
        f.space = CASE WHEN coalesce(f.space, '') = '' THEN $p.space ELSE f.space END
    RETURN g.epoch, f.attempts, f.after_rev, f.after_uuid, coalesce(f.facts_rev, 0), f.space,
        CASE WHEN f.space = '' OR f.space = g.space THEN '' ELSE coalesce(g.space, '') END
    """

_RENEW: LiteralString = "<LEASED_FILL> SET f.renewals = f.renewals + 1 RETURN f.group_id"

_RELEASE: LiteralString = """
    <LEASED_FILL>
    SET f.owner_id = null, f.next_ms = $p.next_ms,
        f.attempts = CASE WHEN f.attempts > 0 THEN f.attempts - 1 ELSE 0 END
    """

# Which rows lack a vector of the space, by kind. `<READ>` says which of them count; a row is `x`, and `at` is
# where it stands in the group's changes. Communities stand before all else of their revision.
_BARE: LiteralString = """
    CALL (g) {
        UNWIND $p.facts AS uuid
        <SEEK x:RELATES_TO uuid>
        WITH x, [x.rev, x.uuid] AS at
        WHERE coalesce(x.space, '') <> $p.space AND coalesce(x.next_space, '') <> $p.space
            AND at <= [$p.facts_rev + 1, '']
        RETURN collect(x.uuid) AS facts
    }
    CALL (g) {
        UNWIND $p.entities AS uuid
        <SEEK x:Entity uuid>
        WITH x, [x.rev, x.uuid] AS at
        WHERE coalesce(x.space, '') <> $p.space AND coalesce(x.next_space, '') <> $p.space
            AND at <= [$p.rev + 1, $p.uuid]
        RETURN collect(x.uuid) AS entities
    }
    CALL (g) {
        UNWIND $p.episodes AS uuid
        <SEEK x:Episodic uuid>
        WHERE x.rev IS NOT NULL
        WITH x, [x.rev, x.uuid] AS at
        WHERE coalesce(x.space, '') <> $p.space AND coalesce(x.next_space, '') <> $p.space
            AND at <= [$p.rev + 1, $p.uuid]
        RETURN collect(x.uuid) AS episodes
    }
    CALL (g) {
        UNWIND $p.communities AS uuid
        MATCH (x:Community {group_id: $p.group_id, epoch: $p.epoch, build: g.communities, uuid: uuid})
        WHERE x.name <> ''
        WITH x, [g.communities_rev, '!'] AS at
        WHERE coalesce(x.space, '') <> $p.space AND coalesce(x.next_space, '') <> $p.space
            AND at <= [$p.rev + 1, $p.uuid]
        RETURN collect(x.uuid) AS communities
    }
    """
_LACKING: LiteralString = (
    "MATCH (g:KgGroup {group_id: $p.group_id})" + _BARE + "RETURN facts, entities, episodes, communities"
)
_TAKE_PLACE: LiteralString = (
    """
    <LOCKED_LEASED_FILL>
    SET f.after_rev = $p.rev, f.after_uuid = $p.uuid, f.attempts = 0,
        f.facts_rev = CASE WHEN f.facts_rev > $p.facts_rev THEN f.facts_rev ELSE $p.facts_rev END
    WITH g, f
    """
    + _BARE
    + """
    SET f.embedded = coalesce(f.embedded, 0)
        + size(facts) + size(entities) + size(episodes) + size(communities)
    RETURN g.rev, g.last_ms, facts, entities, episodes, communities
    """
)

_PUT_BESIDE: LiteralString = """
    CALL () {
        UNWIND $p.facts AS row <SEEK x:RELATES_TO row.uuid>
        SET x.next_vector = row.vector, x.next_space = $p.space
    }
    CALL () {
        UNWIND $p.entities AS row <SEEK x:Entity row.uuid>
        SET x.next_vector = row.vector, x.next_space = $p.space
    }
    CALL () {
        UNWIND $p.episodes AS row <SEEK x:Episodic row.uuid>
        SET x.next_vector = row.vector, x.next_space = $p.space
    }
    MATCH (g:KgGroup {group_id: $p.group_id})
    UNWIND $p.communities AS row
    MATCH (x:Community {group_id: $p.group_id, epoch: $p.epoch, build: g.communities, uuid: row.uuid})
    SET x.next_vector = row.vector, x.next_space = $p.space
    """

_PUT_COMMUNITIES: LiteralString = """
    MATCH (g:KgGroup {group_id: $p.group_id})
    SET g.communities_rev = g.rev
    WITH g
    UNWIND $p.communities AS row
    MATCH (x:Community {group_id: $p.group_id, epoch: $p.epoch, build: g.communities, uuid: row.uuid})
    SET x.vector = row.vector, x.space = $p.space
    """

_SWITCH: LiteralString = """
    <LOCKED_LEASED_FILL>
    WITH g, f, EXISTS {
        MATCH ()-[x:RELATES_TO]->() USING INDEX SEEK x:RELATES_TO(group_id, epoch, rev)
        WHERE x.group_id = g.group_id AND x.epoch = g.epoch AND x.rev > f.facts_rev
            AND coalesce(x.space, '') <> f.space AND coalesce(x.next_space, '') <> f.space
    } OR EXISTS {
        MATCH (x:Entity) USING INDEX SEEK x:Entity(group_id, epoch, rev)
        WHERE x.group_id = g.group_id AND x.epoch = g.epoch AND x.rev > f.after_rev
            AND [x.rev, x.uuid] > [f.after_rev + 1, f.after_uuid]
            AND coalesce(x.space, '') <> f.space AND coalesce(x.next_space, '') <> f.space
    } OR EXISTS {
        MATCH (x:Episodic) USING INDEX SEEK x:Episodic(group_id, epoch, rev)
        WHERE x.group_id = g.group_id AND x.epoch = g.epoch AND x.rev > f.after_rev
            AND [x.rev, x.uuid] > [f.after_rev + 1, f.after_uuid]
            AND coalesce(x.space, '') <> f.space AND coalesce(x.next_space, '') <> f.space
    } OR EXISTS {
        MATCH (x:Community) USING INDEX SEEK x:Community(group_id, epoch, build, uuid)
        WHERE x.group_id = g.group_id AND x.epoch = g.epoch AND x.build = g.communities AND x.uuid IS NOT NULL
            AND x.name <> '' AND [g.communities_rev, '!'] > [f.after_rev + 1, f.after_uuid]
            AND coalesce(x.space, '') <> f.space AND coalesce(x.next_space, '') <> f.space
    } AS bare
    FOREACH (_ IN CASE WHEN bare THEN [] ELSE [1] END | SET g.space = f.space, g.tidying = true)
    RETURN NOT bare
    """

_FACTS_BESIDE: LiteralString = """
    <LOCKED_LEASED_FILL>
    MATCH ()-[x:RELATES_TO]->() USING INDEX SEEK x:RELATES_TO(group_id, epoch, next_space)
    WHERE x.group_id = $p.group_id AND x.epoch = $p.epoch AND x.next_space IS NOT NULL
    WITH g, x LIMIT $p.limit
    RETURN g.space AS space, collect([x.uuid, x.next_vector, x.next_space = g.space])
    """
_BRING_UP_FACTS: LiteralString = (
    "UNWIND $p.rows AS row <SEEK r:RELATES_TO row.uuid>" + SET_VECTOR + "REMOVE r.next_vector, r.next_space"
)
_BRING_UP_FACTS_25: LiteralString = "CYPHER 25 " + _BRING_UP_FACTS
_DROP_FACTS: LiteralString = """
    UNWIND $p.uuids AS uuid <SEEK r:RELATES_TO uuid> REMOVE r.next_vector, r.next_space
    """
_BRING_UP: Mapping[LiteralString, LiteralString] = {
    label: """
    <LOCKED_LEASED_FILL>
    MATCH (x:LABEL) USING INDEX SEEK x:LABEL(group_id, epoch, next_space)
    WHERE x.group_id = $p.group_id AND x.epoch = $p.epoch AND x.next_space IS NOT NULL
    WITH g, x LIMIT $p.limit
    FOREACH (_ IN CASE WHEN x.next_space = g.space THEN [1] ELSE [] END |
        SET x.VECTOR = x.next_vector, x.space = x.next_space EXTRA)
    REMOVE x.next_vector, x.next_space
    RETURN count(x)
    """.replace("LABEL", label)
    .replace("VECTOR", name)
    .replace("EXTRA", extra)
    for label, name, extra in (
        ("Entity", "vector", ", x.vector_rev = g.rev"),
        ("Episodic", "passages", ""),
        ("Community", "vector", ""),
    )
}
_END: LiteralString = "<LOCKED_LEASED_FILL> REMOVE g.tidying DELETE f RETURN g.group_id"

_REEMBEDDINGS: LiteralString = """
    MATCH (f:KgFill) USING INDEX SEEK f:KgFill(next_ms) WHERE f.next_ms >= 0 AND f.space <> ''
        AND ($p.group_ids IS NULL OR f.group_id IN $p.group_ids)
    MATCH (g:KgGroup {group_id: f.group_id}) USING INDEX SEEK g:KgGroup(group_id)
    WHERE g.epoch = f.epoch AND f.space <> coalesce(g.space, '')
    RETURN g.group_id, coalesce(g.space, ''), f.space, coalesce(f.embedded, 0), g.rev, f.after_rev,
        coalesce(f.facts_rev, 0)
    ORDER BY g.group_id
    """


class Fills(Apply):
    """FillStore."""

    async def begin_fill(self, group_id: str, now_ms: int) -> None:
        await self._run("<LOCKED_GROUP> WITH g <BEGIN_FILL>", group_id=group_id, now_ms=now_ms)

    async def begin_fills(self, space: str, now_ms: int) -> int:
        ((count,),) = await self._run(_BEGIN_ALL, space=space, now_ms=now_ms)
        return int(count)

    async def open_fills(self, now_ms: int, limit: int, space: str = "") -> list[FillWork]:
        rows = await self._run(_OPEN, now_ms=now_ms, limit=limit, space=space)
        return [FillWork(*row) for row in rows]

    async def claim_fill(self, seen: FillWork, owner_id: str, space: str = "") -> FillLease | None:
        rows = await self._run(_CLAIM, **asdict(seen), by=owner_id, claim=str(uuids.uuid4()), space=space)
        if not rows:
            return None
        ((epoch, attempts, rev, uuid, *spaces),) = rows
        return FillLease(seen.group_id, owner_id, seen.token + 1, epoch, attempts, (rev, uuid), *spaces)

    async def renew_fill(self, lease: FillLease) -> bool:
        return bool(await self._run(_RENEW, **_address(lease)))

    async def release_fill(self, lease: FillLease, next_ms: int) -> None:
        await self._run(_RELEASE, **_address(lease), next_ms=next_ms)

    async def lacking(self, lease: FillLease, uuids: Collection[str]) -> set[str]:
        asked = dict.fromkeys(("facts", "entities", "episodes", "communities"), sorted(uuids))
        place = {"rev": _EVERY, "uuid": "", "facts_rev": _EVERY}
        address = {**_address(lease), "space": lease.space}
        rows = await self._run(_LACKING, **address, **place, **asked)
        return {uuid for row in rows for found in row for uuid in found}

    async def fill(self, lease: FillLease, filled: Filled, now_ms: int) -> None:
        await self._transact(lambda tx: self._fill(tx, lease, filled, now_ms))

    async def _fill(self, tx: Tx, lease: FillLease, filled: Filled, now_ms: int) -> None:
        (rev, uuid), some = filled.place, sorted(filled.vectors)
        asked = {"facts": some, "entities": some, "communities": some, "episodes": sorted(filled.passages)}
        place = {"rev": rev, "uuid": uuid, "facts_rev": filled.facts_rev}
        rows = await tx.run(_TAKE_PLACE, **_address(lease), space=filled.space, **place, **asked)
        if not rows:
            raise _lost()
        ((head, last_ms, *bare),) = rows
        facts, entities, episodes, communities = bare
        if lease.former:
            await self._put_beside(tx, lease, filled, bare)
            return
        if not any(bare):
            return
        vectors = {each: filled.vectors[each] for each in (*facts, *entities)}
        delta = GraphDelta(
            lease.group_id,
            max(now_ms, last_ms + 1),
            vectors=vectors,
            passages={each: filled.passages[each] for each in episodes},
            space=filled.space,
            spent={each: filled.spent[each] for each in episodes if each in filled.spent},
        )
        await self._lock_and_write([(delta, Guard(head, lease.epoch))], tx)
        if communities:
            named = [vector_row(each, filled.vectors[each]) for each in communities]
            await tx.run(_PUT_COMMUNITIES, **_address(lease), space=filled.space, communities=named)

    async def _put_beside(self, tx: Tx, lease: FillLease, filled: Filled, bare: Row) -> None:
        facts, entities, episodes, communities = bare
        await tx.run(
            _PUT_BESIDE,
            **_address(lease),
            space=filled.space,
            facts=[vector_row(each, filled.vectors[each]) for each in facts],
            entities=[vector_row(each, filled.vectors[each]) for each in entities],
            episodes=[vector_row(each, filled.passages[each]) for each in episodes],
            communities=[vector_row(each, filled.vectors[each]) for each in communities],
        )

    async def switch_space(self, lease: FillLease) -> bool:
        switched = first_value(await self._run(_SWITCH, **_address(lease)))
        if switched is None:
            raise _lost()
        return bool(switched)

    async def tidy(self, lease: FillLease, limit: int) -> bool:
        for statement in _BRING_UP.values():
            if first_value(await self._run(statement, **_address(lease), limit=limit)):
                return True
        if await self._transact(lambda tx: self._bring_up_facts(tx, lease, limit)):
            return True
        if not await self._run(_END, **_address(lease)):
            raise _lost()
        return False

    async def _bring_up_facts(self, tx: Tx, lease: FillLease, limit: int) -> bool:
        rows = await tx.run(_FACTS_BESIDE, **_address(lease), limit=limit)
        if not rows:
            return False
        ((space, found),) = rows
        used_rows = [
            vector_row(uuid, vector) | {"numbers": numbers(vector, packed=self._vectors_indexed)}
            for uuid, vector, used in found
            if used
        ]
        statement = _BRING_UP_FACTS_25 if self._vectors_indexed else _BRING_UP_FACTS
        spaces = {"scope": scope(lease.group_id, ""), "space": space}
        await tx.run(statement, **_address(lease), rows=used_rows, **spaces)
        await tx.run(_DROP_FACTS, **_address(lease), uuids=[uuid for uuid, _, used in found if not used])
        return True

    async def reembeddings(self, group_ids: Collection[str] | None = None) -> list[Reembedding]:
        asked = None if group_ids is None else sorted(group_ids)
        rows = await self._run(_REEMBEDDINGS, group_ids=asked)
        return [reembedding(row) for row in rows]


_EVERY = 2**62  # a revision after all


def _address(lease: FillLease) -> dict[str, Any]:
    return {key: getattr(lease, key) for key in ("group_id", "epoch", "token", "owner_id")}


def _lost() -> LeaseLost:
    return LeaseLost("the fill is another process's, or its group was deleted")
