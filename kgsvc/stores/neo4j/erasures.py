"""What was asked to be erased (ErasureStore). What removed rows leave in the files of the server, its log and
its backups, only the server's operator can reach: docs/security.md says how."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, LiteralString

from kgsvc.domain.model.delta import Erased
from kgsvc.domain.model.erasures import Erasure, added
from kgsvc.stores.neo4j.base import Base, Tx
from kgsvc.stores.records import erasure_of

_PART: LiteralString = "x.erasure_id, x.group_id, x.kind, x.asked_ms, x.uuid, x.removed, x.completed_ms"

_BEGIN: LiteralString = """
    UNWIND $p.parts AS row
    MERGE (x:KgErasure {erasure_id: row.erasure_id, group_id: row.group_id})
    ON CREATE SET x.kind = row.kind, x.asked_ms = row.asked_ms, x.uuid = row.uuid, x.open = true
    """
_READ: LiteralString = (
    "MATCH (x:KgErasure) WHERE x.erasure_id = $p.erasure_id AND x.group_id IS NOT NULL RETURN "
    + _PART
    + " ORDER BY x.group_id"
)
_ERASURES: LiteralString = (
    """
    CALL () {
        MATCH (x:KgErasure) WHERE x.open = true RETURN x ORDER BY x.asked_ms LIMIT $p.open_limit
        UNION
        MATCH (x:KgErasure) WHERE x.asked_ms >= $p.since_ms AND x.removed IS NOT NULL RETURN x
    }
    RETURN """
    + _PART
    + " ORDER BY x.asked_ms, x.erasure_id, x.group_id"
)
_INVALID_FACTS: LiteralString = """
    <GROUP>
    MATCH ()-[r:RELATES_TO]->()
    WHERE r.group_id = $p.group_id AND r.epoch = epoch AND r.invalid_ms < $p.before_ms
    RETURN r.invalid_ms, r.uuid ORDER BY r.invalid_ms, r.uuid LIMIT $p.limit
    """
_EXPIRED_FACTS: LiteralString = """
    <GROUP>
    MATCH ()-[r:RELATES_TO]->()
    WHERE r.group_id = $p.group_id AND r.epoch = epoch AND r.expired_ms < $p.before_ms
    RETURN r.expired_ms, r.uuid ORDER BY r.expired_ms, r.uuid LIMIT $p.limit
    """
_FORGET_PROOFS: LiteralString = "<LOCKED_GROUP> SET g.index_proofs = null"
_LOCK: LiteralString = """
    MATCH (x:KgErasure {erasure_id: $p.erasure_id, group_id: $p.group_id}) SET x.locked = true
    """  # a statement of its own, so that the counts are read under the lock
_SO_FAR: LiteralString = """
    MATCH (x:KgErasure {erasure_id: $p.erasure_id, group_id: $p.group_id})
    WHERE x.removed IS NULL
    RETURN coalesce(x.so_far, '{}')
    """
_NOTE: LiteralString = """
    MATCH (x:KgErasure {erasure_id: $p.erasure_id, group_id: $p.group_id})
    SET x.so_far = $p.counts, x.locked = null
    """
_NOTE_REMOVED: LiteralString = """
    MATCH (x:KgErasure {erasure_id: $p.erasure_id, group_id: $p.group_id})
    SET x.removed = $p.counts, x.so_far = null, x.locked = null, x.uuid = ''
    """
_COMPLETE: LiteralString = """
    UNWIND $p.parts AS part
    MATCH (x:KgErasure {erasure_id: part.erasure_id, group_id: part.group_id})
    SET x.completed_ms = coalesce(x.completed_ms, $p.now_ms), x.open = null
    """  # a condition on `open` lets the planner walk through all that is open


async def note_erased(tx: Tx, group_id: str, erased: Erased) -> None:
    """Add what a transaction removes for an erasure; see ErasureStore.removed. Files of search indexes count
    no more."""
    await tx.run(_FORGET_PROOFS, group_id=group_id)
    part = {"erasure_id": erased.erasure_id, "group_id": group_id}
    await tx.run(_LOCK, **part)
    for (so_far,) in await tx.run(_SO_FAR, **part):
        counts = json.dumps(added(json.loads(so_far), erased.removed))
        await tx.run(_NOTE_REMOVED if erased.over else _NOTE, **part, counts=counts)


class Neo4jErasures(Base):
    """ErasureStore, but for `free_erased`."""

    async def begin_erasures(self, erasures: Sequence[Erasure]) -> None:
        parts = [
            {**_id_of(each), "kind": each.kind.value, "asked_ms": each.asked_ms, "uuid": each.uuid}
            for each in erasures
        ]
        await self._run(_BEGIN, parts=parts)

    async def erasure(self, erasure_id: str) -> list[Erasure]:
        return [erasure_of(row) for row in await self._run(_READ, erasure_id=erasure_id)]

    async def erasures(self, open_limit: int, since_ms: int | None = None) -> list[Erasure]:
        rows = await self._run(_ERASURES, open_limit=open_limit, since_ms=since_ms)
        return [erasure_of(row) for row in rows]

    async def ended_facts(self, group_id: str, before_ms: int, limit: int) -> list[str]:
        asked = {"group_id": group_id, "before_ms": before_ms, "limit": limit}
        rows = [*await self._run(_INVALID_FACTS, **asked), *await self._run(_EXPIRED_FACTS, **asked)]
        return list(dict.fromkeys(uuid for _ms, uuid in sorted(rows)))[:limit]

    async def removed(self, erasure_id: str, group_id: str, counts: Mapping[str, int]) -> None:
        async def note(tx: Tx) -> None:
            await note_erased(tx, group_id, Erased(erasure_id, counts))

        await self._transact(note)

    async def note_completed(self, parts: Sequence[Erasure], now_ms: int) -> None:
        """Nothing of these is left in the database."""
        await self._run(_COMPLETE, parts=list(map(_id_of, parts)), now_ms=now_ms)


def _id_of(part: Erasure) -> dict[str, Any]:
    return {"erasure_id": part.erasure_id, "group_id": part.group_id}
