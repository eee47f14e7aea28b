"""The whole graph of a group (GraphStore.dump)."""

from __future__ import annotations

import json
from collections.abc import Collection

import apsw

from kgsvc.domain.model.delta import FactTombstone, GraphDelta, GroupHead, Guard, NameView, SlotView
from kgsvc.domain.model.graph import Entity, Episode, Fact
from kgsvc.stores.embedded.apply import apply_delta
from kgsvc.stores.embedded.base import Base
from kgsvc.stores.embedded.episodes import recent_episodes
from kgsvc.stores.embedded.groups import find_group, id_span
from kgsvc.stores.embedded.rows import all_rows, entity_of, episode_of, fact_of, json_list
from kgsvc.stores.protocol import WHOLE, EpisodeCut, GroupDump


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


_FIRST_TWO = "ORDER BY group_id LIMIT 2"


class Graph(Base):
    """GraphStore."""

    async def names(self, group_id: str, name_keys: Collection[str], uuids: Collection[str] = ()) -> NameView:
        """See GraphStore."""
        return await self._read(_names, group_id, name_keys, uuids)

    async def slots(self, group_id: str, slots: Collection[str]) -> SlotView:
        """See GraphStore."""
        return await self._read(_slots, group_id, slots)

    async def apply(self, delta: GraphDelta, guard: Guard) -> GroupHead:
        """See GraphStore. Conflict also when a fact or name points at an entity that does not exist."""
        return await self._write(apply_delta, delta, guard)

    async def entity(self, uuid: str, group_id: str | None) -> list[Entity]:
        """See GraphStore."""
        return await self._read(_entity, uuid, group_id)

    async def fact(self, uuid: str, group_id: str | None) -> list[Fact]:
        """See GraphStore."""
        return await self._read(_fact, uuid, group_id)

    async def episode(self, uuid: str, group_id: str | None) -> list[Episode]:
        """See GraphStore."""
        return await self._read(_episode, uuid, group_id)

    async def recent_episodes(self, group_id: str, limit: int, cut: EpisodeCut = WHOLE) -> list[Episode]:
        """See GraphStore."""
        return await self._read(recent_episodes, group_id, limit, cut)

    async def dump(self, group_id: str) -> GroupDump:
        """See GraphStore."""
        return await self._read(dump_group, group_id)


def _names(
    db: apsw.Connection, group_id: str, name_keys: Collection[str], uuids: Collection[str]
) -> NameView:
    group = find_group(db, group_id)
    if group is None:
        return NameView(GroupHead(group_id), {})
    named = all_rows(
        db,
        """
        SELECT e.*, n.name_key FROM names n JOIN live_entities e ON e.id = n.entity_id
        WHERE n.gid = ? AND n.name_key IN (SELECT value FROM json_each(?))
        """,
        (group.gid, json_list(name_keys)),
    )
    by_key = {row[-1]: entity_of(row[:-1]) for row in named}
    if not uuids:
        return NameView(group.head, by_key)
    wanted = (group.gid, json_list(uuids))
    found = all_rows(
        db, "SELECT * FROM live_entities WHERE gid = ? AND uuid IN (SELECT value FROM json_each(?))", wanted
    )
    by_uuid = {row[2]: entity_of(row) for row in found}
    return NameView(group.head, by_key, by_uuid)


def _slots(db: apsw.Connection, group_id: str, slots: Collection[str]) -> SlotView:
    group = find_group(db, group_id)
    if group is None:
        return SlotView()
    wanted = (group.gid, json_list(slots))
    facts = all_rows(
        db,
        """
        SELECT * FROM live_facts WHERE gid = ? AND slot IN (SELECT value FROM json_each(?)) ORDER BY uuid
        """,
        wanted,
    )
    tombstones = all_rows(
        db,
        """
        SELECT uuid, slot, fact, deleted_ms FROM fact_tombstones
        WHERE gid = ? AND slot IN (SELECT value FROM json_each(?)) ORDER BY uuid
        """,
        wanted,
    )
    return SlotView(tuple(fact_of(row) for row in facts), tuple(FactTombstone(*row) for row in tombstones))


def _entity(db: apsw.Connection, uuid: str, group_id: str | None) -> list[Entity]:
    rows = all_rows(
        db,
        "SELECT * FROM live_entities WHERE uuid = ?1 AND (?2 IS NULL OR group_id = ?2) " + _FIRST_TWO,
        (uuid, group_id),
    )
    return [entity_of(row) for row in rows]


def _fact(db: apsw.Connection, uuid: str, group_id: str | None) -> list[Fact]:
    rows = all_rows(
        db,
        "SELECT * FROM live_facts WHERE uuid = ?1 AND (?2 IS NULL OR group_id = ?2) " + _FIRST_TWO,
        (uuid, group_id),
    )
    return [fact_of(row) for row in rows]


def _episode(db: apsw.Connection, uuid: str, group_id: str | None) -> list[Episode]:
    rows = all_rows(
        db,
        "SELECT * FROM live_episodes WHERE uuid = ?1 AND (?2 IS NULL OR group_id = ?2) " + _FIRST_TWO,
        (uuid, group_id),
    )
    return [episode_of(row) for row in rows]
