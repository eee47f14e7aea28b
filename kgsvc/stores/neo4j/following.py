"""Communities that follow the graph between two builds (FollowStore)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import LiteralString

from kgsvc.domain.communities import Behind, membership_uuid
from kgsvc.stores.neo4j.builds import Builds

_BEHIND: LiteralString = """
    MATCH (g:KgGroup) USING INDEX SEEK g:KgGroup(communities)
    WHERE g.communities >= '' AND g.followed_rev < g.rev
    RETURN g.group_id, g.communities, g.followed_rev ORDER BY g.group_id LIMIT $p.limit
    """

_PLACEMENTS: LiteralString = """
    MATCH (g:KgGroup {group_id: $p.group_id})
    SET g.lock = 0
    WITH g.epoch AS epoch, g.communities AS build
    UNWIND $p.uuids AS uuid
    MATCH (n:Entity) USING INDEX SEEK n:Entity(uuid, group_id, epoch)
    WHERE n.uuid = uuid AND n.group_id = $p.group_id AND n.epoch = epoch
    MATCH (n)<-[:HAS_MEMBER]-(c:Community) WHERE c.build = build
    RETURN uuid, c.uuid
    """

# Written first and checked behind it: run again after a lost answer it finds its own mark.
_JOIN: LiteralString = """
    MATCH (g:KgGroup {group_id: $p.group_id})
    SET g.lock = 0
    WITH g WHERE g.communities = $p.build_id AND g.followed_rev IN [$p.rev, $p.upto_rev]
    SET g.followed_rev = $p.upto_rev
    WITH g, g.epoch AS epoch
    CALL (epoch) {
        UNWIND $p.members AS row
        MATCH (n:Entity) USING INDEX SEEK n:Entity(uuid, group_id, epoch)
        WHERE n.uuid = row[0] AND n.group_id = $p.group_id AND n.epoch = epoch
        MATCH (c:Community) USING INDEX SEEK c:Community(group_id, epoch, build, uuid)
        WHERE c.group_id = $p.group_id AND c.epoch = epoch AND c.build = $p.build_id AND c.uuid = row[1]
        MERGE (c)-[m:HAS_MEMBER]->(n)
        ON CREATE SET m.uuid = row[2], m.group_id = $p.group_id, m.created_ms = c.created_ms,
            m.created_at = c.created_at
    }
    RETURN g.group_id
    """


class Following(Builds):
    """FollowStore."""

    async def behind(self, limit: int) -> list[Behind]:
        """See FollowStore."""
        return [Behind(*row) for row in await self._run(_BEHIND, limit=limit)]

    async def placements(self, group_id: str, uuids: Collection[str]) -> dict[str, str]:
        """See FollowStore."""
        rows = await self._run(_PLACEMENTS, group_id=group_id, uuids=list(uuids))
        return {row[0]: row[1] for row in rows}

    async def join(self, behind: Behind, upto_rev: int, members: Mapping[str, str]) -> bool:
        """See FollowStore."""
        rows = [
            [entity, community, membership_uuid(behind.group_id, community, entity)]
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
