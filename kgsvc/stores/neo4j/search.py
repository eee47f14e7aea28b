"""What search indexes are fed from (SearchStore)."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import LiteralString

from kgsvc.domain.delta import GroupHead
from kgsvc.stores.neo4j.base import Base
from kgsvc.stores.neo4j.rows import FACT, fact_of
from kgsvc.stores.search_protocol import Changes, IndexedFact

_HEADS: LiteralString = """
    UNWIND $p.group_ids AS group_id
    MATCH (g:KgGroup {group_id: group_id})
    RETURN g.group_id, g.rev, g.epoch, g.last_ms
    """

# Under the group's lock: what stands at `rev` is all there, and nothing of the next commit. Facts come in
# slices, so that no single row keeps the event loop busy for long.
_CHANGES: LiteralString = (
    """
    MATCH (g:KgGroup {group_id: $p.group_id})
    SET g.lock = 0
    WITH g.epoch AS epoch, [g.rev, g.epoch, g.last_ms] AS head
    CALL (epoch) {
        MATCH ()-[r:RELATES_TO]->() USING INDEX SEEK r:RELATES_TO(group_id, epoch, rev)
        WHERE r.group_id = $p.group_id AND r.epoch = epoch AND r.rev > $p.after_rev
        WITH r.rev AS rev ORDER BY r.group_id, r.epoch, r.rev SKIP $p.limit - 1 LIMIT 1
        RETURN max(rev) AS full_rev
    }
    WITH epoch, head, coalesce(full_rev, head[0]) AS upto_rev
    CALL (epoch, upto_rev) {
        MATCH ()-[r:RELATES_TO]->() USING INDEX SEEK r:RELATES_TO(group_id, epoch, rev)
        WHERE r.group_id = $p.group_id AND r.epoch = epoch AND r.rev > $p.after_rev AND r.rev <= upto_rev
        WITH r ORDER BY r.group_id, r.epoch, r.rev
        RETURN collect([r.space, r.vector, """
    + FACT
    + """]) AS facts
    }
    CALL (epoch, upto_rev) {
        MATCH (t:KgTombstone)
        WHERE t.group_id = $p.group_id AND t.epoch = epoch AND t.rev > $p.after_rev AND t.rev <= upto_rev
        RETURN collect(t.uuid) AS removed
    }
    UNWIND CASE WHEN size(facts) = 0 THEN [0] ELSE range(0, size(facts) - 1, 250) END AS first
    RETURN head, upto_rev, removed, facts[first..first + 250]
    """
)


class Search(Base):
    """SearchStore."""

    async def heads(self, group_ids: Collection[str]) -> dict[str, GroupHead]:
        """See SearchStore. Read without lock: for a plan's guard use `names`."""
        rows = await self._run(_HEADS, group_ids=sorted(set(group_ids)))
        return {row[0]: GroupHead(*row) for row in rows}

    async def changes(self, group_id: str, after_rev: int, limit: int) -> Changes:
        """See SearchStore."""
        rows = await self._run(_CHANGES, group_id=group_id, after_rev=after_rev, limit=max(limit, 1))
        if not rows:
            return Changes(GroupHead(group_id), (), (), 0)
        record, upto_rev, removed, _facts = rows[0]
        facts: list[IndexedFact] = []
        for *_repeated, found in rows:
            facts += [IndexedFact(fact_of(row[2:]), row[0] or "", row[1]) for row in found]
            await asyncio.sleep(0)
        present = {indexed.fact.uuid for indexed in facts}
        head = GroupHead(group_id, *record)
        return Changes(
            head=head,
            facts=tuple(facts),
            removed=tuple(uuid for uuid in removed if uuid not in present),
            upto_rev=upto_rev,
            more=upto_rev < head.rev,
        )
