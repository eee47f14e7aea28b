"""Leases, the items behind them and the episodes before them (QueueStore)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import apsw

from kgsvc.domain.model.graph import TOLD, Episode, Usage
from kgsvc.domain.model.items import (
    TERMINAL,
    Claimed,
    GroupWork,
    ItemState,
    Lease,
    QueuedItem,
    Transition,
)
from kgsvc.stores.embedded.counts import count_items, settle_tokens
from kgsvc.stores.embedded.modes import paused_since
from kgsvc.stores.embedded.rows import (
    GroupRow,
    Row,
    all_rows,
    column,
    episode_of,
    first_row,
    group_of,
    ids_of,
    json_ids,
    json_list,
    leased_group,
    one_value,
    strings,
)
from kgsvc.stores.embedded.writer import EmbeddedBase, reading, reading_together, writing
from kgsvc.stores.protocol import Anchor
from kgsvc.stores.records import attempts_of, warnings_text


def previous_episodes(
    db: apsw.Connection, group_id: str, anchors: Sequence[Anchor], limit: int, max_chars: int
) -> dict[str, tuple[Episode, ...]]:
    """The latest episodes before each anchor, or those that it names."""
    group = group_of(db, group_id)
    before = {
        anchor.uuid: _ids_named(db, group.gid, anchor)
        if anchor.named
        else _ids_before(db, group.gid, anchor, limit)
        for anchor in anchors
    }
    wanted = {row_id for ids in before.values() for row_id in ids}
    rows = all_rows(
        db,
        "SELECT id, * FROM live_episodes WHERE id IN (SELECT value FROM json_each(?))",
        (json_ids(wanted),),
    )
    episodes = {row_id: episode_of(episode, max_chars) for row_id, *episode in rows}
    return {uuid: tuple(episodes[row_id] for row_id in ids) for uuid, ids in before.items()}


# Of one source: so it is found in the index.
_BEFORE = """
    SELECT reference_ms, uuid, id FROM episodes
    WHERE gid = ? AND source = ? AND (reference_ms, uuid) < (?, ?)
    ORDER BY reference_ms DESC, uuid DESC LIMIT ?
    """


def _ids_before(db: apsw.Connection, gid: int, anchor: Anchor, limit: int) -> list[int]:
    rows = [
        row
        for source in TOLD
        for row in all_rows(db, _BEFORE, (gid, str(source), anchor.reference_ms, anchor.uuid, limit))
    ]
    return [row_id for _, _, row_id in sorted(rows)[-limit:]]


def _ids_named(db: apsw.Connection, gid: int, anchor: Anchor) -> list[int]:
    sql = """
        SELECT id FROM episodes
        WHERE gid = ? AND uuid IN (SELECT value FROM json_each(?)) AND uuid <> ? ORDER BY reference_ms, uuid
        """
    return column(db, sql, (gid, json_list(anchor.named), anchor.uuid))


def _relations(db: apsw.Connection, group_id: str, latest: int, limit: int) -> list[str]:
    sql = """
        WITH used AS (SELECT name FROM facts WHERE gid = ? ORDER BY rev DESC, uuid DESC LIMIT ?)
        SELECT name FROM used GROUP BY name ORDER BY count(*) DESC, name LIMIT ?
        """
    return column(db, sql, (group_of(db, group_id).gid, latest, limit))


def _ready_groups(db: apsw.Connection, now_ms: int, limit: int) -> list[GroupWork]:
    sql = """
        WITH ready AS (
            SELECT *, row_number() OVER (PARTITION BY owner_id IS NULL ORDER BY served_ms, group_id) AS place
            FROM open_groups WHERE due_ms <= ?
        )
        SELECT group_id, token, owner_id, renewals, served_ms FROM ready WHERE place <= ?
        ORDER BY owner_id IS NULL, place
        """
    rows = all_rows(db, sql, (now_ms, limit))
    return [GroupWork(*row) for row in rows]


def _next_due_ms(db: apsw.Connection, after_ms: int) -> int | None:
    due_ms: int | None = one_value(db, "SELECT min(due_ms) FROM open_groups WHERE due_ms > ?", (after_ms,))
    return due_ms


def _claim(db: apsw.Connection, seen: GroupWork, owner_id: str, now_ms: int) -> Lease | None:
    sql = """
        UPDATE groups SET token = token + 1, owner_id = ?, served_ms = ?
        WHERE group_id = ? AND token = ? AND owner_id IS ? AND renewals = ?
            AND NOT EXISTS (SELECT 1 FROM paused_groups p WHERE p.group_id = groups.group_id)
        RETURNING gid, token, epoch
        """
    row = first_row(
        db, sql, (owner_id, now_ms, seen.group_id, seen.owner_token, seen.owner_id, seen.renewals)
    )
    if row is None:
        return None
    gid, token, epoch = row
    if seen.owner_id == owner_id:
        _unmark(db, gid)
    elif seen.owner_id is not None:
        db.execute("UPDATE items SET started = 0, suspect = 1 WHERE gid = ? AND started > 0", (gid,))
    return Lease(seen.group_id, owner_id, token, epoch)


def _begin(
    db: apsw.Connection, seen: Sequence[GroupWork], owner_id: str, now_ms: int, limit: int, max_bytes: int
) -> list[Claimed | None]:
    taken: list[Claimed | None] = []
    for each in seen:
        lease = _claim(db, each, owner_id, now_ms)
        items: list[QueuedItem] = []
        more = False
        if lease is not None and not _one_suspect(db, (group := leased_group(db, lease)).gid, now_ms):
            ids, more = _due(db, group.gid, now_ms, limit, max_bytes // len(seen), ())
            items = _started_items(db, lease, group, ids)
        taken.append(None if lease is None else Claimed(lease, tuple(items), more))
    return taken


def _renew(db: apsw.Connection, leases: Sequence[Lease]) -> list[str]:
    sql = """
        UPDATE groups SET renewals = renewals + 1
        WHERE group_id = ? AND owner_id = ? AND token = ? AND epoch = ? RETURNING group_id
        """
    held: list[str] = []
    for lease in leases:
        held += column(db, sql, (lease.group_id, lease.owner_id, lease.token, lease.epoch))
    return held


def _release(db: apsw.Connection, lease: Lease) -> None:
    sql = """
        UPDATE groups SET owner_id = NULL
        WHERE group_id = ? AND owner_id = ? AND token = ? AND epoch = ? RETURNING gid
        """
    for (gid,) in all_rows(db, sql, (lease.group_id, lease.owner_id, lease.token, lease.epoch)):
        _unmark(db, gid)


def release_group(db: apsw.Connection, gid: int) -> None:
    """For the one who holds its lease."""
    db.execute("UPDATE groups SET owner_id = NULL WHERE gid = ?", (gid,))
    _unmark(db, gid)


def _unmark(db: apsw.Connection, gid: int) -> None:
    sql = """
        UPDATE items SET started = 0, crash_attempts = crash_attempts - suspect
        WHERE gid = ? AND started > 0
        """
    db.execute(sql, (gid,))


def _start_items(
    db: apsw.Connection, lease: Lease, now_ms: int, limit: int, max_bytes: int, exclude: Collection[str]
) -> list[QueuedItem]:
    group = leased_group(db, lease)
    if paused_since(db, lease.group_id) is not None:
        return []
    gid = group.gid
    ids = [] if exclude else _one_suspect(db, gid, now_ms)
    if ids:  # a crash from here on is this item's own
        db.execute("UPDATE items SET crash_attempts = crash_attempts + 1 WHERE id = ?", (ids[0],))
    else:
        ids, _more = _due(db, gid, now_ms, limit, max_bytes, exclude)
    return _started_items(db, lease, group, ids)


def _started_items(db: apsw.Connection, lease: Lease, group: GroupRow, ids: list[int]) -> list[QueuedItem]:
    db.executemany("UPDATE items SET started = ? WHERE id = ?", [(lease.token, row_id) for row_id in ids])
    return [replace(item, ontology=group.ontology) for item in _queued(db, ids)] if ids else []


def _one_suspect(db: apsw.Connection, gid: int, now_ms: int) -> list[int]:
    sql = """
        SELECT id FROM items INDEXED BY items_suspect WHERE gid = ? AND suspect = 1 AND next_ms <= ?
        ORDER BY reference_ms, uuid LIMIT 1
        """
    return column(db, sql, (gid, now_ms))


def _due(
    db: apsw.Connection, gid: int, now_ms: int, limit: int, max_bytes: int, exclude: Collection[str]
) -> tuple[list[int], bool]:
    """At most `limit` and about `max_bytes`; whether some of the `limit` went beyond these."""
    sql = """
        SELECT id, bytes FROM items INDEXED BY items_work
        WHERE gid = ? AND next_ms <= ? AND suspect = 0 AND uuid NOT IN (SELECT value FROM json_each(?))
        ORDER BY reference_ms, uuid LIMIT ?
        """
    rows = all_rows(db, sql, (gid, now_ms, json_list(exclude), limit))
    taken: list[int] = []
    total = 0
    for row_id, size in rows:
        total += size
        if taken and total > max_bytes:
            break
        taken.append(row_id)
    return taken, len(taken) < len(rows)


def _queued(db: apsw.Connection, ids: list[int]) -> list[QueuedItem]:
    sql = """
        SELECT i.id, i.state, i.accepted_ms, s.data, i.suspect, i.previous, i.request_id, i.trace,
               i.extract_attempts, i.embed_attempts, i.upsert_attempts, i.crash_attempts, e.*
        FROM json_each(?) wanted JOIN live_episodes e ON e.id = wanted.value JOIN items i ON i.id = e.id
        LEFT JOIN stages s ON s.id = i.id
        ORDER BY i.reference_ms, i.uuid
        """
    rows = all_rows(db, sql, (json_ids(ids),))
    return [_queued_item(row) for row in rows]


def _queued_item(row: Row) -> QueuedItem:
    row_id, state, accepted_ms, stage, suspect, previous, request_id, trace, *more = row
    extract, embed, upsert, crash, *episode = more
    return QueuedItem(
        episode_of(episode),
        ItemState(state),
        accepted_ms,
        attempts_of((extract, embed, upsert, crash)),
        stage,
        suspect=bool(suspect),
        previous=strings(previous),
        sequence=int(row_id),
        request_id=request_id,
        trace=trace,
    )


def _save_transitions(db: apsw.Connection, lease: Lease, transitions: Sequence[Transition]) -> None:
    write_transitions(db, leased_group(db, lease).gid, transitions, lease.token)


def write_transitions(
    db: apsw.Connection, gid: int, transitions: Sequence[Transition], token: int | None
) -> None:
    """Write states and stages of unfinished items in order; finished ones are passed over, and under a
    lease's token those that the lease has not started."""
    written: dict[int, ItemState] = {}
    for transition in transitions:
        row_id = _write_transition(db, gid, transition, token)
        if row_id is not None:
            written[row_id] = transition.state
    if written:
        states = list(written.values())
        count_items(db, -len([s for s in states if s in TERMINAL]), states.count(ItemState.PARKED))
        settle_tokens(db, written)


def write_spent(db: apsw.Connection, gid: int, spent: Mapping[str, Usage]) -> None:
    """Count model work for items, in whatever state they are."""
    sql = """
        UPDATE items SET calls = calls + ?, prompt_tokens = prompt_tokens + ?,
            completion_tokens = completion_tokens + ? WHERE gid = ? AND uuid = ?
        """
    db.executemany(
        sql, [(u.calls, u.prompt_tokens, u.completion_tokens, gid, uuid) for uuid, u in spent.items()]
    )
    settle_tokens(db, ids_of(db, "items", gid, spent).values() if spent else ())


def _write_transition(db: apsw.Connection, gid: int, to: Transition, token: int | None) -> int | None:
    """The id of the item; None: it is passed over."""
    sql = """
        UPDATE items SET state = ?4, updated_ms = ?5, next_ms = ?6, reason = ?7, step = coalesce(?8, step),
            extract_attempts = CASE ?8 WHEN 'extract' THEN ?9 ELSE extract_attempts END,
            embed_attempts = CASE ?8 WHEN 'embed' THEN ?9 ELSE embed_attempts END,
            upsert_attempts = CASE ?8 WHEN 'upsert' THEN ?9 ELSE upsert_attempts END,
            started = CASE WHEN ?10 THEN 0 ELSE started END, suspect = 0, calls = calls + ?11,
            prompt_tokens = prompt_tokens + ?12, completion_tokens = completion_tokens + ?13,
            warnings = coalesce(?14, warnings)
        WHERE gid = ?1 AND uuid = ?2 AND next_ms IS NOT NULL AND (?3 IS NULL OR started = ?3)
        RETURNING id
        """
    found = first_row(
        db,
        sql,
        (
            gid,
            to.uuid,
            token,
            str(to.state),
            to.now_ms,
            None if to.state in TERMINAL else to.next_ms,
            to.reason,
            None if to.step is None else str(to.step),
            to.attempts,
            int(to.unmarks),
            to.usage.calls,
            to.usage.prompt_tokens,
            to.usage.completion_tokens,
            None if to.warnings is None else warnings_text(to.warnings),
        ),
    )
    if found is None:
        return None
    (row_id,) = found
    if to.keep_stage:
        return int(row_id)
    if to.stage is None:
        db.execute("DELETE FROM stages WHERE id = ?", (row_id,))
    else:
        db.execute(
            "INSERT INTO stages (id, data) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET data = excluded.data",
            (row_id, to.stage),
        )
    return int(row_id)


class EmbeddedQueue(EmbeddedBase):
    """QueueStore."""

    ready_groups = reading(_ready_groups)
    next_due_ms = reading(_next_due_ms)
    begin = writing(_begin)
    renew = writing(_renew)
    release = writing(_release)
    save_transitions = writing(_save_transitions)
    previous_episodes = reading_together(previous_episodes)
    relations = reading_together(_relations)
    start_items = writing(_start_items)
