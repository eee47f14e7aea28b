"""Writing transitions and checking leases: what queue and graph share inside a transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import apsw

from kgsvc.domain.errors import LeaseLost
from kgsvc.domain.model.items import TERMINAL, ItemState, Lease, Step, Transition
from kgsvc.domain.model.usage import Usage
from kgsvc.stores.embedded.groups import Group, find_group
from kgsvc.stores.embedded.rows import all_rows

_UNMARKING = TERMINAL | {ItemState.ACCEPTED} | {step.failed for step in Step}


def leased_group(db: apsw.Connection, lease: Lease) -> Group:
    """The group's record. LeaseLost if the lease is no longer held."""
    group = find_group(db, lease.group_id)
    if group is None or (group.token, group.owner_id, group.epoch) != (
        lease.token,
        lease.owner_id,
        lease.epoch,
    ):
        raise LeaseLost("another process owns the group now")
    return group


def write_transitions(
    db: apsw.Connection, gid: int, transitions: Sequence[Transition], token: int | None
) -> None:
    """Write states and stages of unfinished items in order; finished ones are passed over, and under a
    lease's token those that the lease has not started."""
    for transition in transitions:
        rows = all_rows(
            db,
            """
            SELECT id FROM items
            WHERE gid = ?1 AND uuid = ?2 AND next_ms IS NOT NULL AND (?3 IS NULL OR started = ?3)
            """,
            (gid, transition.uuid, token),
        )
        if rows:
            _write(db, rows[0][0], transition)


def write_spent(db: apsw.Connection, gid: int, spent: Mapping[str, Usage]) -> None:
    """Count model work for items, in whatever state they are."""
    db.executemany(
        """
        UPDATE items SET calls = calls + ?, prompt_tokens = prompt_tokens + ?,
            completion_tokens = completion_tokens + ? WHERE gid = ? AND uuid = ?
        """,
        [(u.calls, u.prompt_tokens, u.completion_tokens, gid, uuid) for uuid, u in spent.items()],
    )


def _write(db: apsw.Connection, row_id: int, to: Transition) -> None:
    db.execute(
        """
        UPDATE items SET state = ?2, updated_ms = ?3, next_ms = ?4, reason = ?5, step = coalesce(?6, step),
            extract_attempts = CASE ?6 WHEN 'extract' THEN ?7 ELSE extract_attempts END,
            embed_attempts = CASE ?6 WHEN 'embed' THEN ?7 ELSE embed_attempts END,
            upsert_attempts = CASE ?6 WHEN 'upsert' THEN ?7 ELSE upsert_attempts END,
            started = CASE WHEN ?8 THEN 0 ELSE started END, suspect = 0, calls = calls + ?9,
            prompt_tokens = prompt_tokens + ?10, completion_tokens = completion_tokens + ?11
        WHERE id = ?1
        """,
        (
            row_id,
            str(to.state),
            to.now_ms,
            None if to.state in TERMINAL else to.next_ms,
            to.reason,
            None if to.step is None else str(to.step),
            to.attempts,
            int(to.state in _UNMARKING),
            to.usage.calls,
            to.usage.prompt_tokens,
            to.usage.completion_tokens,
        ),
    )
    if to.keep_stage:
        return
    if to.stage is None:
        db.execute("DELETE FROM stages WHERE id = ?", (row_id,))
    else:
        db.execute(
            "INSERT INTO stages (id, data) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET data = excluded.data",
            (row_id, to.stage),
        )
