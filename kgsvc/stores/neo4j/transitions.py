"""Transitions of items as they are written: the clause and its rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any, LiteralString

from kgsvc.domain.model.items import Transition
from kgsvc.stores.records import warnings_text

# Part of save_transitions and of the write of a delta, which lock the group. Rows of one item come in order;
# whether they count depends on what was stored before the first of them. Without a `token` (a caller's own
# write) an item need not have been started.
WRITE_TRANSITIONS: LiteralString = """
    CALL () {
        UNWIND $p.transitions AS row
        <SEEK i:KgItem row.uuid>
        WHERE i:KgPending AND ($p.token IS NULL OR i.started = $p.token)
        SET i.state = row.state, i.updated_ms = row.now_ms, i.next_ms = row.next_ms, i.reason = row.reason,
            i.suspect = null, i.step = coalesce(row.step, i.step),
            i.warnings = coalesce(row.warnings, i.warnings),
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
        <COUNT_CHANGE>
    }
    """


def transition_rows(transitions: Iterable[Transition], token: int | None) -> list[dict[str, Any]]:
    """Parameters of WRITE_TRANSITIONS. Of one item, what follows its end is left out, and so is what follows
    a transition with which the lease gives it back."""
    rows: list[dict[str, Any]] = []
    ended: set[str] = set()
    for transition in transitions:
        if transition.uuid in ended:
            continue
        rows.append(_row(transition))
        if transition.ends or (transition.unmarks and token is not None):
            ended.add(transition.uuid)
    return rows


def _row(transition: Transition) -> dict[str, Any]:
    counted: dict[str, Any] = {}
    if transition.step is not None:
        step, attempts = transition.step.value, transition.attempts
        counted = {"step": step, "attempts": attempts, step: attempts}
    if transition.warnings is not None:
        counted["warnings"] = warnings_text(transition.warnings)
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
        "unmarks": transition.unmarks,
        "ends": transition.ends,
        **counted,
    }
