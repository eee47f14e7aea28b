"""Writing states and stages of items: one statement, for save_transitions and for apply."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any, LiteralString

from kgsvc.domain.items import TERMINAL, ItemState, Step, Transition

# The group is locked by the caller's transaction. Rows of one item come in order; a row decides on what was
# stored before the first of them. `token` null: a caller's own write.
WRITE_TRANSITIONS: LiteralString = """
    CALL () {
        UNWIND $p.transitions AS row
        MATCH (i:KgItem {group_id: $p.group_id, epoch: $p.epoch, uuid: row.uuid})
            USING INDEX SEEK i:KgItem(group_id, epoch, uuid)
        WHERE i:KgPending AND ($p.token IS NULL OR i.started = $p.token)
        SET i.state = row.state, i.updated_ms = row.now_ms, i.next_ms = row.next_ms, i.reason = row.reason,
            i.suspect = null, i.step = coalesce(row.step, i.step),
            i.attempts = coalesce(row.attempts, i.attempts),
            i.extract_attempts = coalesce(row.extract, i.extract_attempts),
            i.embed_attempts = coalesce(row.embed, i.embed_attempts),
            i.upsert_attempts = coalesce(row.upsert, i.upsert_attempts)
        FOREACH (_ IN CASE WHEN row.calls IS NULL THEN [] ELSE [1] END |
            SET i.model_calls = coalesce(i.model_calls, 0) + row.calls,
                i.prompt_tokens = coalesce(i.prompt_tokens, 0) + row.prompt_tokens,
                i.completion_tokens = coalesce(i.completion_tokens, 0) + row.completion_tokens)
        FOREACH (_ IN CASE WHEN row.keep_stage THEN [] ELSE [1] END | SET i.stage = row.stage)
        FOREACH (_ IN CASE WHEN row.unmarks THEN [1] ELSE [] END | SET i.started = null)
        FOREACH (_ IN CASE WHEN row.ends THEN [1] ELSE [] END | REMOVE i:KgPending)
        FOREACH (_ IN CASE WHEN row.state = 'parked' THEN [1] ELSE [] END | SET i:KgParked)
    }
    CALL () {
        MATCH (a:KgActivity {shard: $p.shard})
        SET a.lock = 0
        SET a.count = a.count + 1
    }
    """

_UNMARKING = TERMINAL | {ItemState.ACCEPTED} | {step.failed for step in Step}


def transition_rows(transitions: Iterable[Transition], token: int | None) -> list[dict[str, Any]]:
    """Parameters; what comes after the end of an item within one call, or after the lease with this token
    gave it back, is passed over."""
    rows: list[dict[str, Any]] = []
    ended: set[str] = set()
    ending = TERMINAL if token is None else _UNMARKING
    for transition in transitions:
        if transition.uuid in ended:
            continue
        rows.append(_row(transition))
        if transition.state in ending:
            ended.add(transition.uuid)
    return rows


def _row(transition: Transition) -> dict[str, Any]:
    counted: dict[str, Any] = {}
    if transition.step is not None:
        step, attempts = transition.step.value, transition.attempts
        counted = {"step": step, "attempts": attempts, step: attempts}
    if transition.usage:
        counted |= asdict(transition.usage)
    return {
        "uuid": transition.uuid,
        "state": str(transition.state),
        "now_ms": transition.now_ms,
        "next_ms": transition.next_ms,
        "reason": transition.reason,
        "stage": transition.stage,
        "keep_stage": transition.keep_stage,
        "unmarks": transition.state in _UNMARKING,
        "ends": transition.state in TERMINAL,
        **counted,
    }
