"""Modes of the service and pauses of groups (ModeStore): properties of KgSchema and, with the label KgPaused,
of KgGroup. That label counts and finds paused groups without an index."""

from __future__ import annotations

from dataclasses import asdict
from typing import LiteralString

from kgsvc.domain.model.modes import ModeChange, ServiceModes
from kgsvc.stores.neo4j.base import Base
from kgsvc.stores.neo4j.rows import first_value

MODES: LiteralString = "s.read_only_ms, s.model_off_ms, COUNT { MATCH (g:KgPaused) }"
_RETURNED: LiteralString = " RETURN " + MODES
_SET: LiteralString = (
    """
    MATCH (s:KgSchema {name: 'kgsvc'})
    SET s.lock = 0
    SET s.read_only_ms = CASE WHEN $p.read_only IS NULL THEN s.read_only_ms
            WHEN $p.read_only THEN coalesce(s.read_only_ms, $p.now_ms) END,
        s.model_off_ms = CASE WHEN $p.model_off IS NULL THEN s.model_off_ms
            WHEN $p.model_off THEN coalesce(s.model_off_ms, $p.now_ms) END
    WITH s
    <COUNT_ACTIVITY>
    WITH s"""
    + _RETURNED
)
_COUNTED: LiteralString = (
    """
    WITH g
    <COUNT_ACTIVITY>
    WITH a
    MATCH (s:KgSchema {name: 'kgsvc'})"""
    + _RETURNED
)
_PAUSE: LiteralString = (
    """
    <NEW_GROUP>
    SET g.lock = 0
    SET g:KgPaused, g.paused_ms = coalesce(g.paused_ms, $p.now_ms)"""
    + _COUNTED
)
_RESUME: LiteralString = "OPTIONAL <LOCKED_GROUP> REMOVE g:KgPaused SET g.paused_ms = null" + _COUNTED
_SINCE: LiteralString = "MATCH (g:KgGroup {group_id: $p.group_id}) RETURN g.paused_ms"


class Neo4jModes(Base):
    """ModeStore."""

    async def set_modes(self, change: ModeChange, now_ms: int) -> ServiceModes:
        (row,) = await self._run(_SET, **asdict(change), now_ms=now_ms, shard=self._shard())
        return ServiceModes(*row)

    async def pause_group(self, group_id: str, paused: bool, now_ms: int) -> ServiceModes:
        statement = _PAUSE if paused else _RESUME
        (row,) = await self._run(statement, group_id=group_id, now_ms=now_ms, shard=self._shard())
        return ServiceModes(*row)

    async def paused_since(self, group_id: str) -> int | None:
        since: int | None = first_value(await self._run(_SINCE, group_id=group_id))
        return since
