"""What the in-process search index is fed from (SearchStore)."""

from __future__ import annotations

from collections.abc import Collection

import apsw

from kgsvc.domain.delta import GroupHead
from kgsvc.stores.embedded.base import Base
from kgsvc.stores.embedded.groups import find_group
from kgsvc.stores.embedded.rows import fact_of, json_list
from kgsvc.stores.embedded.sql import Row, all_rows, first_row
from kgsvc.stores.embedded.texts import text_changes
from kgsvc.stores.search_protocol import TEXT_BYTES, Changes, IndexedFact, TextChanges


class Search(Base):
    """SearchStore."""

    async def heads(self, group_ids: Collection[str]) -> dict[str, GroupHead]:
        """See SearchStore."""
        return await self._read(_heads, group_ids)

    async def changes(self, group_id: str, after_rev: int, limit: int) -> Changes:
        """See SearchStore."""
        return await self._read(_changes, group_id, after_rev, limit)

    async def text_changes(
        self,
        group_id: str,
        after_rev: int,
        limit: int,
        max_bytes: int = TEXT_BYTES,
        after_uuid: str = "",
    ) -> TextChanges:
        """See SearchStore."""
        return await self._read(text_changes, group_id, (after_rev + 1, after_uuid), limit, max_bytes)


def _heads(db: apsw.Connection, group_ids: Collection[str]) -> dict[str, GroupHead]:
    rows = all_rows(
        db,
        """
        SELECT group_id, rev, epoch, last_ms FROM groups
        WHERE group_id IN (SELECT value FROM json_each(?))
        """,
        (json_list(group_ids),),
    )
    return {row[0]: GroupHead(*row) for row in rows}


def _changes(db: apsw.Connection, group_id: str, after_rev: int, limit: int) -> Changes:
    group = find_group(db, group_id)
    if group is None:
        return Changes(GroupHead(group_id), (), (), 0)
    upto_rev = _last_rev(db, group.gid, after_rev, limit, group.rev)
    span = (group.gid, after_rev, upto_rev)
    facts = all_rows(
        db,
        """
        SELECT f.*, v.space, v.vector FROM live_facts f LEFT JOIN fact_vectors v ON v.id = f.id
        WHERE f.gid = ? AND f.rev > ? AND f.rev <= ? ORDER BY f.rev, f.uuid
        """,
        span,
    )
    removed = all_rows(
        db,
        """
        SELECT t.uuid FROM fact_tombstones t WHERE t.gid = ? AND t.rev > ? AND t.rev <= ?
            AND NOT EXISTS (SELECT 1 FROM facts f WHERE f.uuid = t.uuid AND f.gid = t.gid)
        ORDER BY t.rev, t.uuid
        """,
        span,
    )
    return Changes(
        group.head,
        tuple(_indexed(row) for row in facts),
        tuple(row[0] for row in removed),
        upto_rev,
        more=upto_rev < group.rev,
    )


def _last_rev(db: apsw.Connection, gid: int, after_rev: int, limit: int, last: int) -> int:
    """Up to which revision a page goes: that of its `limit`-th fact, the group's if there are fewer."""
    row = first_row(
        db,
        "SELECT rev FROM facts WHERE gid = ? AND rev > ? ORDER BY rev LIMIT 1 OFFSET ?",
        (gid, after_rev, limit - 1),
    )
    return last if row is None else int(row[0])


def _indexed(row: Row) -> IndexedFact:
    space, vector = row[31:33]
    return IndexedFact(fact_of(row), space or "", vector)
