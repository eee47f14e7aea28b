"""The migration of ends that earlier versions stored as facts of their own."""

from __future__ import annotations

import apsw

from kgsvc.domain.facts.slots import FORMER_END, with_folded_ends
from kgsvc.domain.model.delta import GraphDelta, Guard
from kgsvc.stores.embedded.apply import apply_delta, read_slots
from kgsvc.stores.embedded.rows import all_rows, column, group_of

_GROUPS = "SELECT group_id FROM groups ORDER BY gid"
_SLOTS = """
    SELECT DISTINCT slot FROM facts
    WHERE gid = (SELECT gid FROM groups WHERE group_id = ?) AND polarity = 'ends' AND substr(name, 1, ?) = ?
    """


def fold_former_ends(db: apsw.Connection) -> None:
    """Make them part of the relations that ended. Belongs into the transaction of the migration."""
    for (group_id,) in all_rows(db, _GROUPS):
        slots = column(db, _SLOTS, (group_id, len(FORMER_END), FORMER_END))
        if slots:
            head = group_of(db, group_id).head
            system_ms = head.last_ms + 1
            facts = with_folded_ends(group_id, read_slots(db, group_id, list(slots)), system_ms)
            apply_delta(db, GraphDelta(group_id, system_ms, facts=facts), Guard(head.rev, head.epoch))
