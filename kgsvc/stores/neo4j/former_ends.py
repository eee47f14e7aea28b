"""The migration of ends that earlier versions stored as facts of their own."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter
from typing import LiteralString

from kgsvc.domain.errors import RevisionChanged
from kgsvc.domain.facts.slots import FORMER_END, with_folded_ends
from kgsvc.domain.model.delta import GraphDelta, Guard
from kgsvc.stores.neo4j.apply import Apply
from kgsvc.stores.neo4j.graph import Graph

_FOUND: LiteralString = """
    MATCH ()-[r:RELATES_TO]->() WHERE r.name STARTS WITH $p.prefix AND r.detail IS NOT NULL
    MATCH (g:KgGroup {group_id: r.group_id}) WHERE g.epoch = r.epoch
    WITH DISTINCT g.group_id AS group_id, r.slot AS slot
    RETURN group_id, slot ORDER BY group_id, slot
    """
_SLOTS = 100  # that are folded in one transaction


class FormerEnds(Graph, Apply):
    """What `migrate` does to facts."""

    async def fold_former_ends(self) -> None:
        """Make them part of the relations that ended. Each transaction leaves whole slots: what is left when
        it is cut short is found by the next call. Raises StoreUnavailable."""
        found = await self._run(_FOUND, prefix=FORMER_END)
        for group_id, rows in groupby(found, key=itemgetter(0)):
            slots = [slot for _, slot in rows]
            for start in range(0, len(slots), _SLOTS):
                await self._fold(group_id, slots[start : start + _SLOTS])

    async def _fold(self, group_id: str, slots: Sequence[str]) -> None:
        """Again for as long as others write the group between the reads and the write."""
        while True:
            head = (await self.names(group_id, ())).head
            system_ms = head.last_ms + 1
            facts = with_folded_ends(group_id, await self.slots(group_id, slots), system_ms)
            delta = GraphDelta(group_id, system_ms, facts=facts)
            try:
                if facts:
                    await self.apply(delta, Guard(head.rev, head.epoch))
                return
            except RevisionChanged:
                continue
