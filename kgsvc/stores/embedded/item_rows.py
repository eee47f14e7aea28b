"""Rows of items by the names of their columns, and what can be asked of an item."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, LiteralString, NamedTuple

import apsw

from kgsvc.domain.model.items import ItemStatus
from kgsvc.stores import records


class ItemRow(NamedTuple):
    """A row of `live_items`, and of `all_items`, where the group of what was deleted is None."""

    id: int
    gid: int
    group_id: str | None
    uuid: str
    state: str
    receipt_id: str
    updated_ms: int
    name: str | None
    attempts: int
    step: str | None
    reason: str | None
    content_hash: str
    rid: int
    next_ms: int | None
    deleted_ms: int | None
    calls: int
    prompt_tokens: int
    completion_tokens: int
    warnings: str


def read_items(db: apsw.Connection, rest: LiteralString, values: Sequence[Any]) -> list[ItemRow]:
    """Items by what follows FROM."""
    return list(map(ItemRow._make, db.execute("SELECT * FROM live_items " + rest, values)))


def status_of(item: ItemRow) -> ItemStatus:
    """What can be asked of an item."""
    known = (item.group_id, item.uuid, item.state, item.receipt_id, item.updated_ms, item.name)
    stopped = (item.attempts, item.step, item.reason)
    spent = (item.calls, item.prompt_tokens, item.completion_tokens)
    return records.status_of((*known, *stopped), spent, item.warnings)
