"""The whole graph of a group (GraphStore.dump)."""

from __future__ import annotations

import json

import apsw

from kgsvc.domain.delta import GroupHead
from kgsvc.stores.embedded.groups import find_group, id_span
from kgsvc.stores.embedded.rows import entity_of, episode_of, fact_of
from kgsvc.stores.embedded.sql import all_rows
from kgsvc.stores.protocol import GroupDump


def dump_group(db: apsw.Connection, group_id: str) -> GroupDump:
    """Everything that the group holds."""
    group = find_group(db, group_id)
    if group is None:
        return GroupDump(GroupHead(group_id), (), (), {}, (), (), {})
    gid = (group.gid,)
    return GroupDump(
        group.head,
        tuple(map(episode_of, db.execute("SELECT * FROM live_episodes WHERE gid = ? ORDER BY uuid", gid))),
        tuple(map(entity_of, db.execute("SELECT * FROM live_entities WHERE gid = ? ORDER BY uuid", gid))),
        _dump_names(db, group.gid),
        tuple(map(fact_of, db.execute("SELECT * FROM live_facts WHERE gid = ? ORDER BY uuid", gid))),
        _dump_mentions(db, group.gid),
        _dump_edges(db, group.gid),
    )


def _dump_names(db: apsw.Connection, gid: int) -> dict[str, str]:
    rows = all_rows(
        db,
        """
        SELECT n.name_key, e.uuid FROM names n JOIN entities e ON e.id = n.entity_id
        WHERE n.gid = ? ORDER BY n.name_key
        """,
        (gid,),
    )
    return dict(rows)


def _dump_mentions(db: apsw.Connection, gid: int) -> tuple[tuple[str, str], ...]:
    rows = all_rows(
        db,
        """
        SELECT e.uuid, n.uuid FROM mentions m JOIN episodes e ON e.id = m.episode_id
        JOIN entities n ON n.id = m.entity_id WHERE m.episode_id BETWEEN ? AND ?
        """,
        id_span(gid),
    )
    return tuple(sorted(rows))


def _dump_edges(db: apsw.Connection, gid: int) -> dict[str, tuple[str, ...]]:
    rows = all_rows(
        db,
        """
        SELECT e.uuid, x.facts FROM episode_edges x JOIN episodes e ON e.id = x.id
        WHERE x.id BETWEEN ? AND ? ORDER BY e.uuid
        """,
        id_span(gid),
    )
    return {uuid: tuple(json.loads(facts)) for uuid, facts in rows}
