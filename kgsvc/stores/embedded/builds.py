"""Builds of communities with their leases, and following the graph in between (BuildStore, FollowStore)."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence

import apsw

from kgsvc.domain.errors import LeaseLost
from kgsvc.domain.model.communities import (
    Behind,
    BuildLease,
    BuildRequest,
    BuildWork,
    CommunityBuild,
)
from kgsvc.domain.model.delta import Claim
from kgsvc.stores.admission import is_repetition
from kgsvc.stores.embedded.counts import note_activity
from kgsvc.stores.embedded.intake import claimed, keep_answers, known_answer
from kgsvc.stores.embedded.rows import all_rows, first_row, first_value, group_of, json_list, make_group
from kgsvc.stores.embedded.writer import EmbeddedBase, reading, writing
from kgsvc.stores.records import build_of

_BUILD = """
    SELECT b.build_id, g.group_id, b.state, b.created_ms, b.updated_ms, b.found, b.summarised, b.reason
    FROM community_builds b JOIN groups g ON g.gid = b.gid
"""


def held(db: apsw.Connection, lease: BuildLease) -> int:
    """The gid of the lease's group. LeaseLost."""
    gid = _held(db, lease)
    if gid is None:
        raise LeaseLost("the build is another process's, or its group was deleted")
    return gid


def _held(db: apsw.Connection, lease: BuildLease) -> int | None:
    sql = """
        SELECT b.gid FROM community_builds b JOIN groups g ON g.gid = b.gid
        WHERE g.group_id = ? AND g.epoch = ? AND b.build_id = ? AND b.token = ? AND b.owner_id = ?
            AND b.next_ms IS NOT NULL
        """
    gid = first_value(db, sql, (lease.group_id, lease.epoch, lease.build_id, lease.token, lease.owner_id))
    return None if gid is None else int(gid)


def _request_builds(
    db: apsw.Connection, requests: Sequence[BuildRequest], claim: Claim | None = None
) -> list[CommunityBuild]:
    return [_request_build(db, request, claim) for request in requests]


def _request_build(db: apsw.Connection, request: BuildRequest, claim: Claim | None) -> CommunityBuild:
    gid = make_group(db, request.group_id).gid
    if claim is not None:
        answer = known_answer(db, gid, claim.operation, claim.key, claim.now_ms)
        if answer is not None and is_repetition(claim, answer.input_hash):
            return _known(db, request.group_id, answer.items[0][1])
    open_build = "SELECT build_id FROM community_builds WHERE gid = ? AND next_ms IS NOT NULL"
    build_id = first_value(db, open_build, (gid,))
    if build_id is None:
        build_id = request.build_id
        sql = """
            INSERT INTO community_builds (gid, build_id, state, created_ms, updated_ms, next_ms)
            VALUES (?1, ?2, 'pending', ?3, ?3, ?3)
            """
        db.execute(sql, (gid, build_id, request.now_ms))
        note_activity(db)
    if claim is not None:
        keep_answers(db, [claimed(gid, claim, ((0, build_id),))], claim.now_ms)
    return _known(db, request.group_id, build_id)


def _known(db: apsw.Connection, group_id: str, build_id: str) -> CommunityBuild:
    found = _build(db, group_id, build_id)
    if found is None:  # keys and builds go together, with their group
        raise LeaseLost("the build is gone")
    return found


def _build(db: apsw.Connection, group_id: str, build_id: str) -> CommunityBuild | None:
    row = first_row(db, _BUILD + "WHERE g.group_id = ? AND b.build_id = ?", (group_id, build_id))
    return None if row is None else build_of(row)


def _remove_builds(db: apsw.Connection, group_id: str, before_ms: int) -> int:
    sql = """
        DELETE FROM community_builds AS b WHERE b.gid = ? AND b.next_ms IS NULL AND b.updated_ms < ?
            AND NOT EXISTS (SELECT 1 FROM community_current c WHERE c.gid = b.gid AND c.build_id = b.build_id)
            AND NOT EXISTS (SELECT 1 FROM communities c WHERE c.gid = b.gid AND c.build_id = b.build_id)
        """
    db.execute(sql, (group_of(db, group_id).gid, before_ms))
    return db.changes()


def _open_builds(db: apsw.Connection, now_ms: int, limit: int) -> list[BuildWork]:
    sql = """
        SELECT b.build_id, g.group_id, b.token, b.owner_id, b.renewals
        FROM community_builds b JOIN groups g ON g.gid = b.gid
        WHERE b.next_ms <= ? AND NOT EXISTS (SELECT 1 FROM paused_groups p WHERE p.group_id = g.group_id)
        ORDER BY b.next_ms, b.build_id LIMIT ?
        """
    rows = all_rows(db, sql, (now_ms, limit))
    return [BuildWork(*row) for row in rows]


def _claim_build(db: apsw.Connection, seen: BuildWork, owner_id: str, now_ms: int) -> BuildLease | None:
    sql = """
        UPDATE community_builds SET token = token + 1, owner_id = ?1, state = 'running',
            attempts = attempts + (owner_id IS NOT ?1), updated_ms = ?2
        WHERE gid = (SELECT gid FROM groups WHERE group_id = ?3) AND build_id = ?4 AND token = ?5
            AND renewals = ?6 AND owner_id IS ?7 AND next_ms IS NOT NULL
        RETURNING token, (SELECT epoch FROM groups WHERE group_id = ?3), attempts, created_ms, drafted
        """
    row = first_row(
        db, sql, (owner_id, now_ms, seen.group_id, seen.build_id, seen.token, seen.renewals, seen.owner_id)
    )
    if row is None:
        return None
    token, epoch, attempts, created_ms, drafted = row
    return BuildLease(
        seen.build_id, seen.group_id, owner_id, token, epoch, attempts, created_ms, bool(drafted)
    )


def _renew_build(db: apsw.Connection, lease: BuildLease) -> bool:
    gid = _held(db, lease)
    renewed = "UPDATE community_builds SET renewals = renewals + 1 WHERE gid = ? AND build_id = ?"
    db.execute(renewed, (gid, lease.build_id))
    return gid is not None


def _release_build(
    db: apsw.Connection, lease: BuildLease, now_ms: int, reason: str | None = None, next_ms: int | None = None
) -> None:
    gid = _held(db, lease) if reason is None else held(db, lease)
    sql = """
        UPDATE community_builds SET owner_id = NULL, updated_ms = ?1, reason = coalesce(?2, reason),
            attempts = max(attempts - (?2 IS NULL), 0), next_ms = iif(?2 IS NULL, next_ms, ?3),
            state = iif(?2 IS NULL OR ?3 IS NOT NULL, 'pending', 'failed')
        WHERE gid = ?4 AND build_id = ?5
        """
    db.execute(sql, (now_ms, reason, next_ms, gid, lease.build_id))
    note_activity(db)


def _behind(db: apsw.Connection, limit: int) -> list[Behind]:
    sql = """
        SELECT g.group_id, c.build_id, c.followed_rev FROM community_current c JOIN groups g ON g.gid = c.gid
        WHERE c.followed_rev < g.rev ORDER BY g.group_id LIMIT ?
        """
    rows = all_rows(db, sql, (limit,))
    return [Behind(*row) for row in rows]


def _placements(db: apsw.Connection, group_id: str, uuids: Collection[str]) -> dict[str, str]:
    sql = """
        SELECT e.uuid, c.uuid FROM groups g JOIN community_current u ON u.gid = g.gid
        JOIN entities e ON e.gid = g.gid JOIN community_members m ON m.entity_id = e.id
        JOIN communities c ON c.id = m.community_id AND c.build_id = u.build_id
        WHERE g.group_id = ? AND e.uuid IN (SELECT value FROM json_each(?))
        """
    rows = all_rows(db, sql, (group_id, json_list(uuids)))
    return dict(rows)


def _join(db: apsw.Connection, behind: Behind, upto_rev: int, members: Mapping[str, str]) -> bool:
    sql = """
        UPDATE community_current SET followed_rev = ?
        WHERE gid = (SELECT gid FROM groups WHERE group_id = ?) AND build_id = ? AND followed_rev = ?
        RETURNING gid
        """
    rows = all_rows(db, sql, (upto_rev, behind.group_id, behind.build_id, behind.rev))
    for (gid,) in rows:
        sql = """
            INSERT OR IGNORE INTO community_members (community_id, entity_id)
            SELECT c.id, e.id FROM json_each(?1) j
            JOIN entities e ON e.gid = ?2 AND e.uuid = j.key
            JOIN communities c ON c.gid = ?2 AND c.build_id = ?3 AND c.uuid = j.value
            """
        db.execute(sql, (json.dumps(members, ensure_ascii=False), gid, behind.build_id))
    return bool(rows)


class EmbeddedBuilds(EmbeddedBase):
    """BuildStore and FollowStore."""

    request_builds = writing(_request_builds)
    build = reading(_build)
    remove_builds = writing(_remove_builds)
    open_builds = reading(_open_builds)
    claim_build = writing(_claim_build)
    renew_build = writing(_renew_build)
    release_build = writing(_release_build)
    behind = reading(_behind)
    placements = reading(_placements)
    join = writing(_join)
