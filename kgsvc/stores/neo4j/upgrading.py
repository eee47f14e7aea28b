"""What `migrate` does to the rows of earlier versions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from operator import itemgetter
from typing import LiteralString

from kgsvc.domain.errors import RevisionChanged
from kgsvc.domain.facts.mending import with_values_apart
from kgsvc.domain.facts.slots import FORMER_END, with_folded_ends
from kgsvc.domain.model.delta import GraphDelta, Guard, SlotView
from kgsvc.domain.model.graph import Fact
from kgsvc.domain.names.similarity import name_terms
from kgsvc.stores.neo4j.apply import Apply
from kgsvc.stores.neo4j.base import Row
from kgsvc.stores.neo4j.graph import Graph

# Names written before schema 4 have no tokens: they are read a page at a time.
_NAMED: LiteralString = """
    MATCH (g:KgGroup) USING INDEX SEEK g:KgGroup(group_id)
    WHERE g.group_id >= $p.after_group
    WITH g.group_id AS group_id, g.epoch AS epoch ORDER BY group_id
    CALL (group_id, epoch) {
        MATCH (k:KgName) USING INDEX SEEK k:KgName(group_id, epoch, key)
        WHERE k.group_id = group_id AND k.epoch = epoch
            AND k.key > CASE group_id WHEN $p.after_group THEN $p.after_key ELSE '' END
        RETURN k.key AS key, k.name_key AS name_key, k.entity_uuid AS uuid
        ORDER BY k.group_id, k.epoch, k.key LIMIT $p.limit
    }
    RETURN group_id, epoch, key, name_key, uuid LIMIT $p.limit
    """
_FILL: LiteralString = """
    UNWIND $p.rows AS row
    MERGE (:KgNameToken {group_id: row[0], epoch: row[1], token: row[2], entity_uuid: row[3]})
    """
_PAGE = 1_000

_FORMER_ENDS: LiteralString = """
    MATCH ()-[r:RELATES_TO]->() WHERE r.name STARTS WITH $p.prefix AND r.detail IS NOT NULL
    MATCH (g:KgGroup {group_id: r.group_id}) WHERE g.epoch = r.epoch
    WITH DISTINCT g.group_id AS group_id, r.slot AS slot
    RETURN group_id, slot ORDER BY group_id, slot
    """
_FORMER_VALUES: LiteralString = """
    MATCH (n:Entity)-[r:RELATES_TO]->(n) WHERE r.detail CONTAINS '"ended"'
    MATCH (g:KgGroup {group_id: r.group_id}) WHERE g.epoch = r.epoch
    WITH DISTINCT g.group_id AS group_id, r.slot AS slot
    RETURN group_id, slot ORDER BY group_id, slot
    """
Fold = Callable[[str, SlotView, int], tuple[Fact, ...]]
_SLOTS = 100  # that are folded in one transaction


class Upgrading(Graph, Apply):
    """The steps of migrations that are more than DDL."""

    async def fill_name_tokens(self) -> None:
        """For the names that are there."""
        group, key, found = "", "", _PAGE
        while found == _PAGE:
            named = await self._run(_NAMED, after_group=group, after_key=key, limit=_PAGE)
            rows = [
                [group_id, epoch, token, uuid]
                for group_id, epoch, _key, name_key, uuid in named
                for token in sorted(name_terms(name_key))
            ]
            await self._run(_FILL, rows=rows)
            found = len(named)
            group, key = (named[-1][0], named[-1][2]) if named else (group, key)

    async def fold_former_ends(self) -> None:
        """Ends that were facts of their own become part of the relations that ended. Raises
        StoreUnavailable."""
        await self._fold_all(await self._run(_FORMER_ENDS, prefix=FORMER_END), with_folded_ends)

    async def mend_values(self) -> None:
        """Former values that closed the present ones become rows of their own. Raises StoreUnavailable."""
        await self._fold_all(await self._run(_FORMER_VALUES), with_values_apart)

    async def _fold_all(self, found: Sequence[Row], fold: Fold) -> None:
        """Slots, by group. Each transaction leaves whole slots: what is left when it is cut short is found
        by the next call."""
        for group_id, rows in groupby(found, key=itemgetter(0)):
            slots = [slot for _, slot in rows]
            for start in range(0, len(slots), _SLOTS):
                await self._fold(group_id, slots[start : start + _SLOTS], fold)

    async def _fold(self, group_id: str, slots: Sequence[str], fold: Fold) -> None:
        """Again for as long as others write the group between the reads and the write."""
        while True:
            head = (await self.names(group_id, ())).head
            system_ms = head.last_ms + 1
            facts = fold(group_id, await self.slots(group_id, slots), system_ms)
            delta = GraphDelta(group_id, system_ms, facts=facts)
            try:
                if facts:
                    await self.apply(delta, Guard(head.rev, head.epoch))
                return
            except RevisionChanged:
                continue
