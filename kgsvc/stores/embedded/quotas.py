"""The counters of quotas. Triggers (schema.py) settle them when items cost something, end or go."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import apsw

from kgsvc.domain.limits import Allowance, Counter
from kgsvc.domain.model.items import AcceptBatch, NewItem
from kgsvc.stores.embedded.rows import Row, first_row
from kgsvc.stores.quotas import holding_of, spending_of

_DAYS_KEPT = 2  # processes' clocks may differ


def read_used(db: apsw.Connection, counters: Collection[Counter]) -> dict[Counter, int]:
    """What is counted; counters that never were are absent."""
    sql = "SELECT used FROM quotas WHERE subject = ? AND counted = ? AND day = ?"
    found = {counter: first_row(db, sql, counter) for counter in counters}
    return {counter: row[0] for counter, row in found.items() if row is not None}


def spend(
    db: apsw.Connection, allowances: Sequence[Allowance], tokens: int, now_ms: int, within: bool = True
) -> None:
    """See IntakeStore."""
    used = read_used(db, [each.counter(now_ms) for each in allowances]) if within else None
    write_charges(db, spending_of(allowances, tokens, now_ms, used), ())


def held_rows(row_id: int, batch: AcceptBatch, item: NewItem) -> list[Row]:
    """For whom a new item is counted from now on."""
    holding, size = holding_of(batch), len(item.episode.body.encode())
    tokens = [(row_id, subject, "model_tokens", holding.day, item.tokens) for subject in holding.tokens]
    return tokens + [(row_id, subject, "bytes", 0, size) for subject in holding.bytes]


def write_charges(db: apsw.Connection, charges: Mapping[Counter, int], held: Sequence[Row]) -> None:
    """Count what was accepted, and forget the counters of days that are over."""
    sql = """
        INSERT INTO quotas (subject, counted, day, used) VALUES (?, ?, ?, ?)
        ON CONFLICT (subject, counted, day) DO UPDATE SET used = used + excluded.used
        """
    db.executemany(sql, [(*counter, amount) for counter, amount in charges.items()])
    over = [(subject, counted, day - _DAYS_KEPT) for subject, counted, day in charges if day]
    db.executemany("DELETE FROM quotas WHERE subject = ? AND counted = ? AND day <= ?", over)
    sql = "INSERT INTO quota_items (id, subject, counted, day, held) VALUES (?, ?, ?, ?, ?)"
    db.executemany(sql, held)
