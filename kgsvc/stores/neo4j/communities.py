"""Drafts of communities, publishing and listing them (DraftStore, CommunityStore).

A draft has a label of its own until it is published: whoever reads (:Community)-[:HAS_MEMBER]->(:Entity), as
Graphiti names them, sees the communities of one build. `build` tells which.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict
from typing import Any, LiteralString

from kgsvc.domain.model.communities import (
    MEMBERS_SHOWN,
    BuildLease,
    Community,
    CommunityPage,
    Described,
    Draft,
    FactLinks,
    Link,
    membership_uuid,
)
from kgsvc.stores.neo4j.base import Row
from kgsvc.stores.neo4j.builds import Following
from kgsvc.stores.neo4j.rows import NEVER, calendar

_BATCH = 100

# Under the group's lock, as `changes`: what stands at `rev` is all there.
_LINKS: LiteralString = """
    <LOCKED_GROUP>
    WITH g.epoch AS epoch, g.rev AS rev
    CALL (epoch) {
        MATCH ()-[r:RELATES_TO]->() USING INDEX SEEK r:RELATES_TO(group_id, epoch, rev)
        WHERE r.group_id = $p.group_id AND r.epoch = epoch AND r.rev > $p.after_rev
        WITH r.rev AS full ORDER BY r.group_id, r.epoch, r.rev SKIP $p.limit - 1 LIMIT 1
        RETURN max(full) AS full_rev
    }
    WITH epoch, rev, coalesce(full_rev, rev) AS upto_rev
    CALL (epoch, upto_rev) {
        MATCH ()-[r:RELATES_TO]->() USING INDEX SEEK r:RELATES_TO(group_id, epoch, rev)
        WHERE r.group_id = $p.group_id AND r.epoch = epoch AND r.rev > $p.after_rev AND r.rev <= upto_rev
        WITH r ORDER BY r.group_id, r.epoch, r.rev, r.uuid
        RETURN collect([r.uuid, r.source_uuid, r.target_uuid,
            r.expired_ms = $p.never AND r.valid_ms <= $p.at_ms AND r.invalid_ms > $p.at_ms]) AS links
    }
    RETURN rev, upto_rev, links
    """

_CLEAR_DRAFTS: LiteralString = """
    <LOCKED_LEASED_BUILD>
    CALL () {
        <DRAFTS_OF_BUILD>
        WITH d LIMIT $p.batch
        DETACH DELETE d
        RETURN count(*) AS gone
    }
    RETURN gone
    """

_PUT_DRAFTS: LiteralString = """
    <LOCKED_LEASED_BUILD>
    CALL () {
        UNWIND $p.drafts AS row
        MERGE (d:KgDraft {group_id: $p.group_id, epoch: $p.epoch, build: $p.build_id, uuid: row.uuid})
        ON CREATE SET d.name = '', d.summary = '', d.described = false, d.created_ms = $p.created_ms,
            d.created_at = CASE WHEN $p.calendar_ms IS NOT NULL
                THEN datetime({epochMillis: $p.calendar_ms}) END,
            d.hubs = row.hubs, d.facts = row.facts, d.by_model = row.by_model
        WITH d, row
        UNWIND row.members AS member
        <SEEK n:Entity member.entity>
        MERGE (d)-[m:HAS_MEMBER]->(n)
        ON CREATE SET m.uuid = member.uuid, m.group_id = $p.group_id, m.created_ms = d.created_ms,
            m.created_at = d.created_at
    }
    RETURN b.build_id
    """

_END_DRAFTS: LiteralString = """
    <LOCKED_LEASED_BUILD>
    SET b.drafted = true, b.found = $p.count, b.attempts = 1, b.updated_ms = $p.now_ms
    RETURN b.build_id
    """

_DRAFTS: LiteralString = """
    <DRAFTS_OF_BUILD> AND d.described = false
    RETURN d.uuid, d.hubs, d.facts, d.by_model
    ORDER BY d.group_id, d.epoch, d.build, d.uuid LIMIT $p.limit
    """

_DESCRIBE: LiteralString = """
    <LOCKED_LEASED_BUILD>
    OPTIONAL MATCH (f:KgFill {group_id: $p.group_id, epoch: $p.epoch})
    WITH g, b, f.space AS wanted
    CALL (g, wanted) {
        UNWIND $p.described AS row
        MATCH (d:KgDraft {group_id: $p.group_id, epoch: $p.epoch, build: $p.build_id, uuid: row.uuid})
        WHERE d.described = false
        WITH d, row, coalesce(row.space <> g.space AND row.space = wanted, false) AS beside
        SET d.described = true, d.name = row.name, d.summary = row.summary,
            d.vector = CASE WHEN NOT beside THEN row.vector END,
            d.space = CASE WHEN NOT beside THEN row.space END,
            d.next_vector = CASE WHEN beside THEN row.vector END,
            d.next_space = CASE WHEN beside AND row.vector IS NOT NULL THEN row.space END
        RETURN count(*) AS done
    }
    SET b.summarised = b.summarised + done, b.attempts = 1, b.updated_ms = $p.now_ms
    RETURN b.build_id
    """

_PUBLISH: LiteralString = """
    <LOCKED_LEASED_BUILD>
    CALL () {
        MATCH (c:Community) USING INDEX SEEK c:Community(group_id, epoch, build, uuid)
        WHERE c.group_id = $p.group_id AND c.epoch = $p.epoch AND c.build IS NOT NULL AND c.uuid IS NOT NULL
        SET c:KgReplaced
        REMOVE c:Community
    }
    CALL () {
        <DRAFTS_OF_BUILD>
        SET d:Community
        REMOVE d:KgDraft
    }
    SET g.communities = $p.build_id, g.followed_rev = 0, g.rev = g.rev + 1
    SET g.communities_rev = g.rev
    SET b.state = 'completed', b.owner_id = null, b.next_ms = null, b.reason = null, b.updated_ms = $p.now_ms
    RETURN b.build_id
    """

# What publications replaced, and what builds that failed have left.
_SWEEP_REPLACED: LiteralString = """
    MATCH (c:KgReplaced) USING INDEX SEEK c:KgReplaced(group_id, epoch)
    WHERE c.group_id = $p.group_id AND c.epoch = $p.epoch
    WITH c LIMIT $p.batch
    DETACH DELETE c
    RETURN count(*)
    """
_SWEEP_FAILED: LiteralString = """
    MATCH (b:KgBuild) USING INDEX SEEK b:KgBuild(group_id, epoch, build_id)
    WHERE b.group_id = $p.group_id AND b.epoch = $p.epoch AND b.build_id IS NOT NULL AND b.state = 'failed'
    MATCH (d:KgDraft) USING INDEX SEEK d:KgDraft(group_id, epoch, build, uuid)
    WHERE d.group_id = $p.group_id AND d.epoch = $p.epoch AND d.build = b.build_id AND d.uuid IS NOT NULL
    WITH d LIMIT $p.batch
    DETACH DELETE d
    RETURN count(*)
    """

# Under the group's lock: nothing of a publication under way is seen.
_LIST: LiteralString = """
    <LOCKED_GROUP>
    WITH g.epoch AS epoch, g.communities AS build
    CALL (epoch, build) {
        MATCH (c:Community) USING INDEX SEEK c:Community(group_id, epoch, build, uuid)
        WHERE c.group_id = $p.group_id AND c.epoch = epoch AND c.build = build AND c.uuid > $p.after
            AND ($p.build_id IS NULL OR $p.build_id = build)
        WITH c ORDER BY c.group_id, c.epoch, c.build, c.uuid LIMIT $p.limit
        <MEMBERS_OF_COMMUNITY>
        RETURN collect([c.uuid, c.name, c.summary, c.created_ms, size, members]) AS found
    }
    RETURN build, found
    """

_OF: LiteralString = """
    <LOCKED_GROUP>
    WITH g.epoch AS epoch, g.communities AS build
    UNWIND $p.uuids AS uuid
    MATCH (c:Community) USING INDEX SEEK c:Community(group_id, epoch, build, uuid)
    WHERE c.group_id = $p.group_id AND c.epoch = epoch AND c.build = build AND c.uuid = uuid
    <MEMBERS_OF_COMMUNITY>
    RETURN c.uuid, c.name, c.summary, c.created_ms, size, members ORDER BY c.uuid
    """


class Communities(Following):
    """CommunityStore."""

    async def links(self, group_id: str, at_ms: int, after_rev: int, limit: int) -> FactLinks:
        rows = await self._run(
            _LINKS, group_id=group_id, at_ms=at_ms, after_rev=after_rev, limit=max(limit, 1), never=NEVER
        )
        if not rows:
            return FactLinks((), 0)
        ((rev, upto_rev, links),) = rows
        return FactLinks(tuple(Link(*row) for row in links), upto_rev, upto_rev < rev)

    async def clear_drafts(self, lease: BuildLease) -> None:
        removed = _BATCH
        while removed == _BATCH:
            (removed,) = await self._held(_CLEAR_DRAFTS, lease, batch=_BATCH)

    async def put_drafts(self, lease: BuildLease, drafts: Sequence[Draft]) -> None:
        await self._held(
            _PUT_DRAFTS,
            lease,
            drafts=[_draft_row(lease.group_id, draft) for draft in drafts],
            calendar_ms=calendar(lease.created_ms),
        )

    async def end_drafts(self, lease: BuildLease, count: int, now_ms: int) -> None:
        await self._held(_END_DRAFTS, lease, count=count, now_ms=now_ms)

    async def drafts(self, lease: BuildLease, limit: int) -> list[Draft]:
        rows = await self._run(_DRAFTS, **asdict(lease), limit=limit)
        return [Draft(uuid, (), tuple(hubs), tuple(facts), model) for uuid, hubs, facts, model in rows]

    async def describe(self, lease: BuildLease, described: Sequence[Described], now_ms: int) -> None:
        await self._held(_DESCRIBE, lease, described=[asdict(each) for each in described], now_ms=now_ms)

    async def publish(self, lease: BuildLease, now_ms: int) -> None:
        await self._held(_PUBLISH, lease, now_ms=now_ms)
        for statement in (_SWEEP_REPLACED, _SWEEP_FAILED):
            await self._run_in_batches(statement, _BATCH, **asdict(lease))

    async def communities(self, group_id: str, limit: int, after: str, build_id: str | None) -> CommunityPage:
        rows = await self._run(
            _LIST, group_id=group_id, limit=limit + 1, after=after, build_id=build_id, shown=MEMBERS_SHOWN
        )
        if not rows:
            return CommunityPage(None, ())
        ((present, found),) = rows
        shown = tuple(_community(group_id, row) for row in found[:limit])
        return CommunityPage(present, shown, len(found) > limit)

    async def communities_of(self, group_id: str, uuids: Collection[str]) -> list[Community]:
        rows = await self._run(_OF, group_id=group_id, uuids=sorted(set(uuids)), shown=MEMBERS_SHOWN)
        return [_community(group_id, row) for row in rows]


def _community(group_id: str, row: Row) -> Community:
    uuid, name, summary, created_ms, size, members = row
    return Community(uuid, group_id, name, summary, created_ms, size, tuple(members))


def _draft_row(group_id: str, draft: Draft) -> dict[str, Any]:
    return {
        "uuid": draft.uuid,
        "hubs": list(draft.hubs),
        "facts": list(draft.facts),
        "by_model": draft.by_model,
        "members": [
            {"entity": each, "uuid": membership_uuid(group_id, draft.uuid, each)} for each in draft.members
        ],
    }
