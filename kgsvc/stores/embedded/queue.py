"""Leases and the items behind them (QueueStore)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import apsw

from kgsvc.domain.model.graph import Episode
from kgsvc.domain.model.items import CRASH, GroupWork, ItemState, Lease, QueuedItem, Step, Transition
from kgsvc.stores.embedded.base import Base
from kgsvc.stores.embedded.episodes import previous_episodes
from kgsvc.stores.embedded.rows import Row, all_rows, episode_of, json_ids, json_list, one_row, strings
from kgsvc.stores.embedded.transitions import leased_group, write_transitions
from kgsvc.stores.protocol import Anchor

_ATTEMPTS = (Step.EXTRACT.value, Step.EMBED.value, Step.UPSERT.value, CRASH)


class Queue(Base):
    """QueueStore."""

    async def ready_groups(self, now_ms: int, limit: int) -> list[GroupWork]:
        """See QueueStore."""
        return await self._read(_ready_groups, now_ms, limit)

    async def next_due_ms(self) -> int | None:
        """See QueueStore."""
        return await self._read(_next_due_ms)

    async def claim(self, seen: GroupWork, owner_id: str, now_ms: int) -> Lease | None:
        """See QueueStore. Items of an older epoch were ended by delete_group."""
        return await self._write(_claim, seen, owner_id, now_ms)

    async def renew(self, leases: Sequence[Lease]) -> list[str]:
        """See QueueStore."""
        return await self._write(_renew, leases)

    async def release(self, lease: Lease) -> None:
        """See QueueStore."""
        await self._write(_release, lease)

    async def start_items(
        self, lease: Lease, now_ms: int, limit: int, max_bytes: int, exclude: Collection[str]
    ) -> list[QueuedItem]:
        """See QueueStore."""
        return await self._write(_start_items, lease, now_ms, (limit, max_bytes), exclude)

    async def save_transitions(self, lease: Lease, transitions: Sequence[Transition]) -> None:
        """See QueueStore."""
        await self._write(_save_transitions, lease, transitions)

    async def previous_episodes(
        self, group_id: str, anchors: Sequence[Anchor], limit: int, max_chars: int
    ) -> dict[str, tuple[Episode, ...]]:
        """See QueueStore."""
        return await self._read(previous_episodes, group_id, anchors, limit, max_chars)


def _ready_groups(db: apsw.Connection, now_ms: int, limit: int) -> list[GroupWork]:
    rows = all_rows(
        db,
        """
        SELECT group_id, token, owner_id, renewals, served_ms FROM open_groups WHERE due_ms <= ?
        ORDER BY served_ms, group_id LIMIT ?
        """,
        (now_ms, limit),
    )
    return [GroupWork(*row) for row in rows]


def _next_due_ms(db: apsw.Connection) -> int | None:
    due_ms: int | None = one_row(db, "SELECT min(due_ms) FROM open_groups")[0]
    return due_ms


def _claim(db: apsw.Connection, seen: GroupWork, owner_id: str, now_ms: int) -> Lease | None:
    rows = all_rows(
        db,
        """
        UPDATE groups SET token = token + 1, owner_id = ?, served_ms = ?
        WHERE group_id = ? AND token = ? AND owner_id IS ? AND renewals = ?
        RETURNING gid, token, epoch
        """,
        (owner_id, now_ms, seen.group_id, seen.owner_token, seen.owner_id, seen.renewals),
    )
    if not rows:
        return None
    gid, token, epoch = rows[0]
    if seen.owner_id is not None:
        db.execute("UPDATE items SET started = 0, suspect = 1 WHERE gid = ? AND started > 0", (gid,))
    return Lease(seen.group_id, owner_id, token, epoch)


def _renew(db: apsw.Connection, leases: Sequence[Lease]) -> list[str]:
    held: list[Row] = []
    for lease in leases:
        held += all_rows(
            db,
            """
            UPDATE groups SET renewals = renewals + 1
            WHERE group_id = ? AND owner_id = ? AND token = ? AND epoch = ? RETURNING group_id
            """,
            (lease.group_id, lease.owner_id, lease.token, lease.epoch),
        )
    return [row[0] for row in held]


def _release(db: apsw.Connection, lease: Lease) -> None:
    rows = all_rows(
        db,
        """
        UPDATE groups SET owner_id = NULL
        WHERE group_id = ? AND owner_id = ? AND token = ? AND epoch = ? RETURNING gid
        """,
        (lease.group_id, lease.owner_id, lease.token, lease.epoch),
    )
    if rows:
        db.execute(
            """
            UPDATE items SET started = 0, crash_attempts = crash_attempts - suspect
            WHERE gid = ? AND started > 0
            """,
            rows[0],
        )


def _start_items(
    db: apsw.Connection, lease: Lease, now_ms: int, room: tuple[int, int], exclude: Collection[str]
) -> list[QueuedItem]:
    group = leased_group(db, lease)
    gid = group.gid
    ids = [] if exclude else _one_suspect(db, gid, now_ms)
    if ids:  # a crash from here on is this item's own
        db.execute("UPDATE items SET crash_attempts = crash_attempts + 1 WHERE id = ?", (ids[0],))
    else:
        ids = _due(db, gid, now_ms, room, exclude)
    db.executemany("UPDATE items SET started = ? WHERE id = ?", [(lease.token, row_id) for row_id in ids])
    return [replace(item, ontology=group.ontology) for item in _queued(db, ids)] if ids else []


def _one_suspect(db: apsw.Connection, gid: int, now_ms: int) -> list[int]:
    rows = all_rows(
        db,
        """
        SELECT id FROM items INDEXED BY items_suspect WHERE gid = ? AND suspect = 1 AND next_ms <= ?
        ORDER BY reference_ms, uuid LIMIT 1
        """,
        (gid, now_ms),
    )
    return [row[0] for row in rows]


def _due(
    db: apsw.Connection, gid: int, now_ms: int, room: tuple[int, int], exclude: Collection[str]
) -> list[int]:
    limit, max_bytes = room
    rows = all_rows(
        db,
        """
        SELECT id, bytes FROM items INDEXED BY items_work
        WHERE gid = ? AND next_ms <= ? AND suspect = 0 AND uuid NOT IN (SELECT value FROM json_each(?))
        ORDER BY reference_ms, uuid LIMIT ?
        """,
        (gid, now_ms, json_list(exclude), limit),
    )
    taken: list[int] = []
    total = 0
    for row_id, size in rows:
        total += size
        if taken and total > max_bytes:
            break
        taken.append(row_id)
    return taken


def _queued(db: apsw.Connection, ids: list[int]) -> list[QueuedItem]:
    rows = all_rows(
        db,
        """
        SELECT e.*, i.state, i.accepted_ms, s.data, i.suspect, i.extract_attempts, i.embed_attempts,
               i.upsert_attempts, i.crash_attempts, i.previous
        FROM json_each(?) wanted JOIN live_episodes e ON e.id = wanted.value JOIN items i ON i.id = e.id
        LEFT JOIN stages s ON s.id = i.id
        ORDER BY i.reference_ms, i.uuid
        """,
        (json_ids(ids),),
    )
    return [_queued_item(row) for row in rows]


def _queued_item(row: Row) -> QueuedItem:
    state, accepted_ms, stage, suspect = row[13:17]
    counts = zip(_ATTEMPTS, row[17:21], strict=True)
    attempts = {name: count for name, count in counts if count}
    return QueuedItem(
        episode_of(row[:13]),
        ItemState(state),
        accepted_ms,
        attempts,
        stage,
        suspect=bool(suspect),
        previous=strings(row[21]),
    )


def _save_transitions(db: apsw.Connection, lease: Lease, transitions: Sequence[Transition]) -> None:
    write_transitions(db, leased_group(db, lease).gid, transitions, lease.token)
