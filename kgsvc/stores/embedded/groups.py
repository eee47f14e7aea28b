"""The group's record: its internal id, head, lease and id counter."""

from __future__ import annotations

from dataclasses import dataclass

import apsw

from kgsvc.domain.model.delta import GroupHead
from kgsvc.stores.embedded.rows import all_rows, first_row
from kgsvc.stores.embedded.schema import ID_BITS


@dataclass(frozen=True, slots=True)
class Group:
    """A row of `groups`. `last_id` is the last id given to a row of the group."""

    gid: int
    group_id: str
    epoch: int
    rev: int
    last_ms: int
    last_id: int
    token: int
    owner_id: str | None
    ontology: int = 0

    @property
    def head(self) -> GroupHead:
        """What the world knows of it."""
        return GroupHead(self.group_id, self.rev, self.epoch, self.last_ms)


def find_group(db: apsw.Connection, group_id: str) -> Group | None:
    """The group's record, None if it was never written to."""
    row = first_row(
        db,
        """
        SELECT gid, group_id, epoch, rev, last_ms, last_id, token, owner_id, ontology_rev
        FROM groups WHERE group_id = ?
        """,
        (group_id,),
    )
    return None if row is None else Group(*row)


def make_group(db: apsw.Connection, group_id: str) -> Group:
    """The group's record, created if needed."""
    found = find_group(db, group_id)
    if found is not None:
        return found
    gid = new_gid(db)
    first = gid << ID_BITS
    db.execute(
        "INSERT INTO groups (group_id, gid, last_id, has_words) VALUES (?, ?, ?, 1)", (group_id, gid, first)
    )
    return Group(gid, group_id, 0, 0, 0, first, 0, None)


def new_gid(db: apsw.Connection) -> int:
    """A gid that no group ever had."""
    rows = all_rows(db, "UPDATE totals SET last_gid = last_gid + 1 RETURNING last_gid")
    return int(rows[0][0])


def take_ids(db: apsw.Connection, gid: int, count: int) -> range:
    """`count` fresh ids of the group."""
    if not count:
        return range(0)
    rows = all_rows(
        db, "UPDATE groups SET last_id = last_id + ? WHERE gid = ? RETURNING last_id", (count, gid)
    )
    last = int(rows[0][0])
    return range(last - count + 1, last + 1)


def id_span(gid: int) -> tuple[int, int]:
    """The lowest and the highest id that rows of the group can have."""
    return gid << ID_BITS, ((gid + 1) << ID_BITS) - 1


def head_of(db: apsw.Connection, group_id: str) -> GroupHead:
    """The group's head; zeros if it does not exist."""
    group = find_group(db, group_id)
    return GroupHead(group_id) if group is None else group.head
