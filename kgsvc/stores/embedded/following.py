"""Communities that follow the graph between two builds (FollowStore)."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping

import apsw

from kgsvc.domain.communities import Behind
from kgsvc.stores.embedded.builds import Builds
from kgsvc.stores.embedded.rows import json_list
from kgsvc.stores.embedded.sql import all_rows


class Following(Builds):
    """FollowStore."""

    async def behind(self, limit: int) -> list[Behind]:
        """See FollowStore."""
        return await self._read(_behind, limit)

    async def placements(self, group_id: str, uuids: Collection[str]) -> dict[str, str]:
        """See FollowStore."""
        return await self._read(_placements, group_id, uuids)

    async def join(self, behind: Behind, upto_rev: int, members: Mapping[str, str]) -> bool:
        """See FollowStore."""
        return await self._write(_join, behind, upto_rev, members)


def _behind(db: apsw.Connection, limit: int) -> list[Behind]:
    rows = all_rows(
        db,
        """
        SELECT g.group_id, c.build_id, c.followed_rev FROM community_current c JOIN groups g ON g.gid = c.gid
        WHERE c.followed_rev < g.rev ORDER BY g.group_id LIMIT ?
        """,
        (limit,),
    )
    return [Behind(*row) for row in rows]


def _placements(db: apsw.Connection, group_id: str, uuids: Collection[str]) -> dict[str, str]:
    rows = all_rows(
        db,
        """
        SELECT e.uuid, c.uuid FROM groups g JOIN community_current u ON u.gid = g.gid
        JOIN entities e ON e.gid = g.gid JOIN community_members m ON m.entity_id = e.id
        JOIN communities c ON c.id = m.community_id AND c.build_id = u.build_id
        WHERE g.group_id = ? AND e.uuid IN (SELECT value FROM json_each(?))
        """,
        (group_id, json_list(uuids)),
    )
    return dict(rows)


def _join(db: apsw.Connection, behind: Behind, upto_rev: int, members: Mapping[str, str]) -> bool:
    rows = all_rows(
        db,
        """
        UPDATE community_current SET followed_rev = ?
        WHERE gid = (SELECT gid FROM groups WHERE group_id = ?) AND build_id = ? AND followed_rev = ?
        RETURNING gid
        """,
        (upto_rev, behind.group_id, behind.build_id, behind.rev),
    )
    for (gid,) in rows:
        db.execute(
            """
            INSERT OR IGNORE INTO community_members (community_id, entity_id)
            SELECT c.id, e.id FROM json_each(?1) j
            JOIN entities e ON e.gid = ?2 AND e.uuid = j.key
            JOIN communities c ON c.gid = ?2 AND c.build_id = ?3 AND c.uuid = j.value
            """,
            (json.dumps(members, ensure_ascii=False), gid, behind.build_id),
        )
    return bool(rows)
