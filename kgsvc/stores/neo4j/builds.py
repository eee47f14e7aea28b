"""Builds of communities and their leases (BuildStore)."""

from __future__ import annotations

import uuid as uuids
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from typing import Any, LiteralString

from kgsvc.domain.errors import LeaseLost
from kgsvc.domain.model.communities import (
    Behind,
    BuildLease,
    BuildRequest,
    BuildWork,
    CommunityBuild,
    membership_uuid,
)
from kgsvc.domain.model.delta import Claim
from kgsvc.stores.admission import is_repetition
from kgsvc.stores.neo4j.base import Base, Row, Tx
from kgsvc.stores.neo4j.guards import claim_rows
from kgsvc.stores.neo4j.rows import first_value
from kgsvc.stores.records import build_of

_ASK: LiteralString = """
    <NEW_GROUP>
    SET g.lock = 0
    WITH g.epoch AS epoch
    CALL (epoch) {
        UNWIND $p.claims AS claim
        MATCH (k:KgIdempotency
            {group_id: $p.group_id, epoch: epoch, operation: claim.operation, key: claim.key})
        WHERE k.expires_ms > claim.now_ms
        RETURN collect([k.input_hash, head(k.uuids)]) AS answers
    }
    CALL (epoch) {
        MATCH (b:KgBuild) USING INDEX SEEK b:KgBuild(group_id, epoch, next_ms)
        WHERE b.group_id = $p.group_id AND b.epoch = epoch AND b.next_ms IS NOT NULL
        RETURN collect(b.build_id) AS under_way
    }
    RETURN epoch, answers, under_way
    """

_RECORD: LiteralString = """
    MERGE (b:KgBuild {group_id: $p.group_id, epoch: $p.epoch, build_id: $p.build_id})
    ON CREATE SET b.state = 'pending', b.created_ms = $p.now_ms, b.updated_ms = $p.now_ms,
        b.next_ms = $p.now_ms, b.attempts = 0, b.token = 0, b.renewals = 0, b.drafted = false, b.found = 0,
        b.summarised = 0
    WITH b
    <COUNT_ACTIVITY>
    """

_KEEP_KEY: LiteralString = """
    MERGE (k:KgIdempotency
        {group_id: $p.group_id, epoch: $p.epoch, operation: $p.operation, key: $p.key})
    SET k.input_hash = $p.input_hash, k.expires_ms = $p.expires_ms, k.receipt_id = '',
        k.uuids = [$p.build_id], k.seqs = [0]
    """

_READ_BUILD: LiteralString = """
    MATCH (g:KgGroup {group_id: $p.group_id})
    MATCH (b:KgBuild {group_id: $p.group_id, epoch: g.epoch, build_id: $p.build_id})
    RETURN b.build_id, b.group_id, b.state, b.created_ms, b.updated_ms, b.found, b.summarised, b.reason
    """

_OPEN: LiteralString = """
    MATCH (b:KgBuild) USING INDEX SEEK b:KgBuild(next_ms) WHERE b.next_ms <= $p.now_ms
    MATCH (g:KgGroup {group_id: b.group_id}) USING INDEX SEEK g:KgGroup(group_id)
    WHERE g.epoch = b.epoch AND NOT g:KgPaused
    RETURN b.build_id, b.group_id, b.token, b.owner_id, b.renewals
    ORDER BY b.next_ms, b.build_id LIMIT $p.limit
    """

_REMOVE_BUILDS: LiteralString = """
    MATCH (g:KgGroup {group_id: $p.group_id})
    MATCH (b:KgBuild) USING INDEX SEEK b:KgBuild(group_id, epoch, build_id)
    WHERE b.group_id = $p.group_id AND b.epoch = g.epoch AND b.build_id IS NOT NULL AND b.next_ms IS NULL
        AND b.updated_ms < $p.before_ms AND b.build_id <> coalesce(g.communities, '')
    DELETE b
    RETURN count(*)
    """

# `claim` is new with every call: run again after its answer was lost, this recognises its own lease.
_CLAIM_BUILD: LiteralString = """
    MATCH (g:KgGroup {group_id: $p.group_id})
    MATCH (b:KgBuild {group_id: $p.group_id, epoch: g.epoch, build_id: $p.build_id})
    SET b.lock = 0
    WITH g, b
    WHERE b.next_ms IS NOT NULL AND (b.claim = $p.claim OR (b.token = $p.token
        AND b.renewals = $p.renewals
        AND (b.owner_id = $p.owner_id OR (b.owner_id IS NULL AND $p.owner_id IS NULL))))
    SET b.attempts = b.attempts + CASE WHEN b.claim = $p.claim OR b.owner_id = $p.by THEN 0 ELSE 1 END
    SET b.token = $p.token + 1, b.owner_id = $p.by, b.claim = $p.claim, b.state = 'running',
        b.updated_ms = $p.now_ms
    RETURN g.epoch, b.attempts, b.created_ms, b.drafted
    """

_RENEW_BUILD: LiteralString = "<LEASED_BUILD> SET b.renewals = b.renewals + 1 RETURN b.build_id"

_RELEASE_BUILD: LiteralString = """
    <LOCKED_LEASED_BUILD>
    SET b.owner_id = null, b.updated_ms = $p.now_ms, b.reason = coalesce($p.reason, b.reason),
        b.attempts = b.attempts - CASE WHEN $p.reason IS NULL AND b.attempts > 0 THEN 1 ELSE 0 END,
        b.next_ms = CASE WHEN $p.reason IS NULL THEN b.next_ms ELSE $p.next_ms END,
        b.state = CASE WHEN $p.reason IS NULL OR $p.next_ms IS NOT NULL THEN 'pending' ELSE 'failed' END
    WITH b
    <COUNT_ACTIVITY>
    RETURN b.build_id
    """


class Builds(Base):
    """BuildStore."""

    async def request_builds(
        self, requests: Sequence[BuildRequest], claim: Claim | None = None
    ) -> list[CommunityBuild]:
        shard = self._shard()

        async def work(tx: Tx) -> list[CommunityBuild]:
            in_lock_order = sorted(requests, key=lambda request: request.group_id)
            found = {each.group_id: await _request(tx, each, claim, shard) for each in in_lock_order}
            return [found[request.group_id] for request in requests]

        return await self._transact(work)

    async def build(self, group_id: str, build_id: str) -> CommunityBuild | None:
        rows = await self._run(_READ_BUILD, group_id=group_id, build_id=build_id)
        return next(map(build_of, rows), None)

    async def remove_builds(self, group_id: str, before_ms: int) -> int:
        rows = await self._run(_REMOVE_BUILDS, group_id=group_id, before_ms=before_ms)
        return int(first_value(rows))

    async def open_builds(self, now_ms: int, limit: int) -> list[BuildWork]:
        return [BuildWork(*row) for row in await self._run(_OPEN, now_ms=now_ms, limit=limit)]

    async def claim_build(self, seen: BuildWork, owner_id: str, now_ms: int) -> BuildLease | None:
        asked = {"by": owner_id, "now_ms": now_ms, "claim": str(uuids.uuid4())}
        rows = await self._run(_CLAIM_BUILD, **asdict(seen), **asked)
        if not rows:
            return None
        ((epoch, attempts, created_ms, drafted),) = rows
        return BuildLease(
            seen.build_id, seen.group_id, owner_id, seen.token + 1, epoch, attempts, created_ms, drafted
        )

    async def renew_build(self, lease: BuildLease) -> bool:
        return bool(await self._run(_RENEW_BUILD, **asdict(lease)))

    async def release_build(
        self, lease: BuildLease, now_ms: int, reason: str | None = None, next_ms: int | None = None
    ) -> None:
        values = {"now_ms": now_ms, "reason": reason, "next_ms": next_ms, "shard": self._shard()}
        if not await self._run(_RELEASE_BUILD, **asdict(lease), **values) and reason is not None:
            raise _lost()

    async def _held(self, statement: LiteralString, lease: BuildLease, **values: Any) -> Row:
        """The row of a statement under the lease. LeaseLost when there is none."""
        rows = await self._run(statement, **asdict(lease), **values)
        if not rows:
            raise _lost()
        (row,) = rows
        return row


def _lost() -> LeaseLost:
    return LeaseLost("the build is another process's, or its group was deleted")


async def _request(tx: Tx, request: BuildRequest, claim: Claim | None, shard: int) -> CommunityBuild:
    claims = claim_rows(claim)
    ((epoch, answers, under_way),) = await tx.run(_ASK, group_id=request.group_id, claims=claims)
    address: dict[str, Any] = {"group_id": request.group_id, "epoch": epoch}
    for input_hash, build_id in answers:
        if is_repetition(claim, input_hash):
            return await _present(tx, request.group_id, build_id)
    build_id = next(iter(under_way), request.build_id)
    if not under_way:
        await tx.run(_RECORD, **address, build_id=build_id, now_ms=request.now_ms, shard=shard)
    for row in claims:
        await tx.run(_KEEP_KEY, **address, **row, build_id=build_id)
    return await _present(tx, request.group_id, build_id)


async def _present(tx: Tx, group_id: str, build_id: str) -> CommunityBuild:
    rows = await tx.run(_READ_BUILD, group_id=group_id, build_id=build_id)
    if not rows:  # keys and builds go together, with their group
        raise LeaseLost("the build is gone")
    (row,) = rows
    return build_of(row)


_BEHIND: LiteralString = """
    MATCH (g:KgGroup) USING INDEX SEEK g:KgGroup(communities)
    WHERE g.communities >= '' AND g.followed_rev < g.rev
    RETURN g.group_id, g.communities, g.followed_rev ORDER BY g.group_id LIMIT $p.limit
    """

_PLACEMENTS: LiteralString = """
    <LOCKED_GROUP>
    WITH g.epoch AS epoch, g.communities AS build
    UNWIND $p.uuids AS uuid
    <SEEK n:Entity uuid IN epoch>
    MATCH (n)<-[:HAS_MEMBER]-(c:Community) WHERE c.build = build
    RETURN uuid, c.uuid
    """

# Also matches the revision that it writes: run again after its answer was lost, it succeeds again.
_JOIN: LiteralString = """
    <LOCKED_GROUP>
    WITH g WHERE g.communities = $p.build_id AND g.followed_rev IN [$p.rev, $p.upto_rev]
    SET g.followed_rev = $p.upto_rev
    WITH g, g.epoch AS epoch
    CALL (epoch) {
        UNWIND $p.members AS row
        <SEEK n:Entity row.entity IN epoch>
        MATCH (c:Community) USING INDEX SEEK c:Community(group_id, epoch, build, uuid)
        WHERE c.group_id = $p.group_id AND c.epoch = epoch AND c.build = $p.build_id
            AND c.uuid = row.community
        MERGE (c)-[m:HAS_MEMBER]->(n)
        ON CREATE SET m.uuid = row.uuid, m.group_id = $p.group_id, m.created_ms = c.created_ms,
            m.created_at = c.created_at
    }
    RETURN g.group_id
    """


class Following(Builds):
    """FollowStore."""

    async def behind(self, limit: int) -> list[Behind]:
        return [Behind(*row) for row in await self._run(_BEHIND, limit=limit)]

    async def placements(self, group_id: str, uuids: Collection[str]) -> dict[str, str]:
        rows = await self._run(_PLACEMENTS, group_id=group_id, uuids=list(uuids))
        return dict(rows)

    async def join(self, behind: Behind, upto_rev: int, members: Mapping[str, str]) -> bool:
        rows = [
            {
                "entity": entity,
                "community": community,
                "uuid": membership_uuid(behind.group_id, community, entity),
            }
            for entity, community in members.items()
        ]
        found = await self._run(
            _JOIN,
            group_id=behind.group_id,
            build_id=behind.build_id,
            rev=behind.rev,
            upto_rev=upto_rev,
            members=rows,
        )
        return bool(found)
