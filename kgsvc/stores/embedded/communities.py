"""Drafts of communities, publishing and listing them (DraftStore, CommunityStore)."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence

import apsw

from kgsvc.domain.model.communities import (
    MEMBERS_SHOWN,
    BuildLease,
    Community,
    CommunityPage,
    Described,
    Draft,
    FactLinks,
    Link,
)
from kgsvc.stores.embedded.builds import EmbeddedBuilds, held
from kgsvc.stores.embedded.removal import communities_go
from kgsvc.stores.embedded.rows import (
    Row,
    all_rows,
    column,
    first_row,
    first_value,
    group_of,
    json_list,
    one_row,
    page_end,
    take_ids,
    upsert,
)
from kgsvc.stores.embedded.vectors import Written, put_vectors
from kgsvc.stores.embedded.writer import reading, writing

_CURRENT = upsert("community_current", "gid", "build_id, rev, followed_rev")


def _links(db: apsw.Connection, group_id: str, at_ms: int, after_rev: int, limit: int) -> FactLinks:
    group = group_of(db, group_id)
    upto_rev = page_end(db, group, after_rev, limit)
    sql = """
        SELECT f.uuid, s.uuid, t.uuid, f.expired_ms IS NULL AND coalesce(f.valid_ms, f.reference_ms) <= ?1
            AND (f.invalid_ms IS NULL OR f.invalid_ms > ?1)
        FROM facts f JOIN entities s ON s.id = f.source_id JOIN entities t ON t.id = f.target_id
        WHERE f.gid = ?2 AND f.rev > ?3 AND f.rev <= ?4 ORDER BY f.rev, f.uuid
        """
    rows = all_rows(db, sql, (at_ms, group.gid, after_rev, upto_rev))
    links = tuple(Link(fact, source, target, bool(current)) for fact, source, target, current in rows)
    return FactLinks(links, upto_rev, upto_rev < group.rev)


def _clear_some(db: apsw.Connection, lease: BuildLease) -> bool:
    gid = held(db, lease)
    some = "SELECT id FROM communities WHERE gid = ? AND build_id = ? LIMIT 100"
    return _remove(db, column(db, some, (gid, lease.build_id)))


def _remove(db: apsw.Connection, row_ids: Sequence[int]) -> bool:
    """False when there is nothing to remove."""
    communities_go(db, row_ids)
    return bool(row_ids)


def _put_drafts(db: apsw.Connection, lease: BuildLease, drafts: Sequence[Draft]) -> None:
    gid = held(db, lease)
    members = """
        INSERT OR IGNORE INTO community_members (community_id, entity_id)
        SELECT ?, id FROM entities WHERE gid = ? AND uuid IN (SELECT value FROM json_each(?))
        """
    facts = """
        INSERT OR IGNORE INTO community_facts (community_id, fact_id)
        SELECT ?, id FROM facts WHERE gid = ? AND uuid IN (SELECT value FROM json_each(?))
        """
    for draft in drafts:
        row_id = _draft_id(db, gid, lease, draft)
        db.execute(members, (row_id, gid, json_list(draft.members)))
        db.execute(facts, (row_id, gid, json_list(draft.facts)))


def _draft_id(db: apsw.Connection, gid: int, lease: BuildLease, draft: Draft) -> int:
    same = "SELECT id FROM communities WHERE gid = ? AND build_id = ? AND uuid = ?"
    known = first_row(db, same, (gid, lease.build_id, draft.uuid))
    if known is not None:
        return int(known[0])
    (row_id,) = take_ids(db, gid, 1)
    plan = json.dumps([draft.hubs, draft.facts, draft.by_model], ensure_ascii=False)
    db.execute(
        "INSERT INTO communities (id, gid, build_id, uuid, created_ms, plan) VALUES (?, ?, ?, ?, ?, ?)",
        (row_id, gid, lease.build_id, draft.uuid, lease.created_ms, plan),
    )
    return row_id


def _end_drafts(db: apsw.Connection, lease: BuildLease, count: int, now_ms: int) -> None:
    sql = """
        UPDATE community_builds SET drafted = 1, found = ?, attempts = 1, updated_ms = ?
        WHERE gid = ? AND build_id = ?
        """
    db.execute(sql, (count, now_ms, held(db, lease), lease.build_id))


def _drafts(db: apsw.Connection, lease: BuildLease, limit: int) -> list[Draft]:
    sql = """
        SELECT c.uuid, c.plan FROM communities c JOIN groups g ON g.gid = c.gid
        WHERE g.group_id = ? AND c.build_id = ? AND c.described = 0 ORDER BY c.uuid LIMIT ?
        """
    rows = all_rows(db, sql, (lease.group_id, lease.build_id, limit))
    drafts = []
    for uuid, plan in rows:
        hubs, facts, by_model = json.loads(plan)
        drafts.append(Draft(uuid, (), tuple(hubs), tuple(facts), by_model))
    return drafts


def _describe(db: apsw.Connection, lease: BuildLease, described: Sequence[Described], now_ms: int) -> None:
    gid = held(db, lease)
    describe = """
        UPDATE communities SET name = ?, summary = ?, described = 1
        WHERE gid = ? AND build_id = ? AND uuid = ? AND described = 0 RETURNING id
        """
    done = 0
    for each in described:
        ids = column(db, describe, (each.name, each.summary, gid, lease.build_id, each.uuid))
        done += len(ids)
        if each.vector is not None:
            made: Written = dict.fromkeys(ids, ("community", each.vector))
            put_vectors(db, gid, 0, {each.space: made}, each.space, now_ms)
    count = """
        UPDATE community_builds SET summarised = summarised + ?, attempts = 1, updated_ms = ?
        WHERE gid = ? AND build_id = ?
        """
    db.execute(count, (done, now_ms, gid, lease.build_id))


def _publish(db: apsw.Connection, lease: BuildLease, now_ms: int) -> int:
    gid = held(db, lease)
    (rev,) = one_row(db, "UPDATE groups SET rev = rev + 1 WHERE gid = ? RETURNING rev", (gid,))
    db.execute(_CURRENT, (gid, lease.build_id, rev, 0))
    complete = """
        UPDATE community_builds SET state = 'completed', next_ms = NULL, owner_id = NULL, reason = NULL,
            updated_ms = ? WHERE gid = ? AND build_id = ?
        """
    db.execute(complete, (now_ms, gid, lease.build_id))
    return gid


def _sweep_some(db: apsw.Connection, gid: int) -> bool:
    """Remove some communities of builds that are over and not the current one; False when there are none."""
    sql = """
        SELECT c.id FROM community_builds b JOIN communities c ON c.gid = b.gid AND c.build_id = b.build_id
        WHERE b.gid = ?1 AND b.next_ms IS NULL
            AND b.build_id IS NOT (SELECT build_id FROM community_current WHERE gid = ?1)
        LIMIT 100
        """
    return _remove(db, column(db, sql, (gid,)))


def _communities(
    db: apsw.Connection, group_id: str, limit: int, after: str, build_id: str | None
) -> CommunityPage:
    gid = group_of(db, group_id).gid
    present = first_value(db, "SELECT build_id FROM community_current WHERE gid = ?", (gid,))
    if present is None:
        return CommunityPage(None, ())
    if build_id not in (None, present):
        return CommunityPage(present, ())
    sql = """
        SELECT id, uuid, name, summary, created_ms FROM communities
        WHERE gid = ? AND build_id = ? AND uuid > ? ORDER BY uuid LIMIT ?
        """
    rows = all_rows(db, sql, (gid, present, after, limit + 1))
    found = tuple(_community(db, group_id, row) for row in rows[:limit])
    return CommunityPage(present, found, len(rows) > limit)


def _communities_of(db: apsw.Connection, group_id: str, uuids: Collection[str]) -> list[Community]:
    sql = """
        SELECT c.id, c.uuid, c.name, c.summary, c.created_ms
        FROM groups g JOIN community_current u ON u.gid = g.gid
        JOIN communities c ON c.gid = g.gid AND c.build_id = u.build_id
        WHERE g.group_id = ? AND c.uuid IN (SELECT value FROM json_each(?)) ORDER BY c.uuid
        """
    rows = all_rows(db, sql, (group_id, json_list(uuids)))
    return [_community(db, group_id, row) for row in rows]


def _community(db: apsw.Connection, group_id: str, row: Row) -> Community:
    row_id, uuid, name, summary, created_ms = row
    (count,) = one_row(db, "SELECT count(*) FROM community_members WHERE community_id = ?", (row_id,))
    return Community(uuid, group_id, name, summary, created_ms, count, _members(db, row_id))


def _members(db: apsw.Connection, row_id: int) -> tuple[str, ...]:
    sql = """
        SELECT e.uuid FROM community_members m JOIN entities e ON e.id = m.entity_id
        WHERE m.community_id = ? ORDER BY e.uuid LIMIT ?
        """
    return tuple(column(db, sql, (row_id, MEMBERS_SHOWN)))


class EmbeddedCommunities(EmbeddedBuilds):
    """CommunityStore."""

    links = reading(_links)
    put_drafts = writing(_put_drafts)
    end_drafts = writing(_end_drafts)
    drafts = reading(_drafts)
    describe = writing(_describe)
    communities = reading(_communities)
    communities_of = reading(_communities_of)

    async def clear_drafts(self, lease: BuildLease) -> None:
        """See DraftStore."""
        while await self._write(lambda db: _clear_some(db, lease)):
            pass

    async def publish(self, lease: BuildLease, now_ms: int) -> None:
        """See DraftStore."""
        gid = await self._write(lambda db: _publish(db, lease, now_ms))
        while await self._write(lambda db: _sweep_some(db, gid)):
            pass
