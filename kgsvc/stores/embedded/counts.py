"""Numbers that change with rows: how many items are unfinished and parked, that something has changed, and
what calls and their items use of quotas.

An item holds bytes of its text, and model tokens: first what is set aside for it, then what was spent.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import apsw

from kgsvc.domain.limits import Allowance, Counter
from kgsvc.domain.model.items import AcceptBatch, NewItem
from kgsvc.stores.admission import holding_of, spending_of
from kgsvc.stores.embedded.rows import Row, all_rows, first_value, json_ids

_DAYS_KEPT = 2  # processes' clocks may differ


def note_activity(db: apsw.Connection) -> None:
    """Something has changed that processes look for."""
    db.execute("UPDATE totals SET activity = activity + 1 WHERE id = 1")


def count_items(db: apsw.Connection, unfinished: int, parked: int) -> None:
    """Items have changed: so many more are unfinished and parked, or fewer."""
    sql = """
        UPDATE totals SET activity = activity + 1, unfinished = unfinished + ?, parked = parked + ?
        WHERE id = 1
        """
    db.execute(sql, (unfinished, parked))


def read_used(db: apsw.Connection, counters: Collection[Counter]) -> dict[Counter, int]:
    """What is counted; counters that never were are absent."""
    sql = "SELECT used FROM quotas WHERE subject = ? AND counted = ? AND day = ?"
    found = {counter: first_value(db, sql, counter) for counter in counters}
    return {counter: used for counter, used in found.items() if used is not None}


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


def settle_tokens(db: apsw.Connection, items: Iterable[int]) -> None:
    """These items have cost something or ended: they hold what they spent, and until they end not less than
    was set aside."""
    sql = """
        SELECT q.id, q.subject, q.counted, q.day, q.held, max(
            i.prompt_tokens + i.completion_tokens, CASE WHEN i.next_ms IS NULL THEN 0 ELSE q.held END)
        FROM quota_items q JOIN items i ON i.id = q.id
        WHERE q.counted = 'model_tokens' AND q.id IN (SELECT value FROM json_each(?))
        """
    _hold(db, all_rows(db, sql, (json_ids(items),)))


def release(db: apsw.Connection, items: Iterable[int]) -> None:
    """These items are about to go: what they spent stays counted, and nothing else."""
    ids = json_ids(items)
    sql = """
        SELECT q.id, q.subject, q.counted, q.day, q.held,
            CASE q.counted WHEN 'bytes' THEN 0 ELSE i.prompt_tokens + i.completion_tokens END
        FROM quota_items q JOIN items i ON i.id = q.id WHERE q.id IN (SELECT value FROM json_each(?))
        """
    _hold(db, all_rows(db, sql, (ids,)))
    db.execute("DELETE FROM quota_items WHERE id IN (SELECT value FROM json_each(?))", (ids,))


def _hold(db: apsw.Connection, rows: Iterable[Row]) -> None:
    """Rows of items and counters, with what they held and hold from now on."""
    changed = [(row_id, *counter, held, now) for row_id, *counter, held, now in rows if held != now]
    db.executemany(
        "UPDATE quota_items SET held = ? WHERE id = ? AND subject = ? AND counted = ?",
        [(now, row_id, subject, counted) for row_id, subject, counted, _day, _held, now in changed],
    )
    db.executemany(
        "UPDATE quotas SET used = used + ? WHERE subject = ? AND counted = ? AND day = ?",
        [(now - held, *counter) for _id, *counter, held, now in changed],
    )
