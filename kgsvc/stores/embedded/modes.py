"""Modes of the service and pauses of groups (ModeStore)."""

from __future__ import annotations

import apsw

from kgsvc.domain.model.modes import ModeChange, ServiceModes
from kgsvc.stores.embedded.counts import note_activity
from kgsvc.stores.embedded.rows import all_rows, first_value, make_group, one_value
from kgsvc.stores.embedded.writer import EmbeddedBase, reading, writing


def read_modes(db: apsw.Connection) -> ServiceModes:
    """The modes that are on."""
    since: dict[str, int] = dict(all_rows(db, "SELECT name, since_ms FROM modes"))
    paused = int(one_value(db, "SELECT count(*) FROM paused_groups"))
    return ServiceModes(since.get("read_only"), since.get("model_off"), paused)


def _set_modes(db: apsw.Connection, change: ModeChange, now_ms: int) -> ServiceModes:
    for name, on in (("read_only", change.read_only), ("model_off", change.model_off)):
        if on:
            db.execute("INSERT INTO modes VALUES (?, ?) ON CONFLICT (name) DO NOTHING", (name, now_ms))
        elif on is not None:
            db.execute("DELETE FROM modes WHERE name = ?", (name,))
    note_activity(db)
    return read_modes(db)


def _pause_group(db: apsw.Connection, group_id: str, paused: bool, now_ms: int) -> ServiceModes:
    if paused:
        make_group(db, group_id)
        sql = "INSERT INTO paused_groups VALUES (?, ?) ON CONFLICT (group_id) DO NOTHING"
        db.execute(sql, (group_id, now_ms))
    else:
        db.execute("DELETE FROM paused_groups WHERE group_id = ?", (group_id,))
    note_activity(db)
    return read_modes(db)


def paused_since(db: apsw.Connection, group_id: str) -> int | None:
    """Since when the group is paused; None: it is not."""
    since_ms = first_value(db, "SELECT since_ms FROM paused_groups WHERE group_id = ?", (group_id,))
    return None if since_ms is None else int(since_ms)


class EmbeddedModes(EmbeddedBase):
    """ModeStore."""

    set_modes = writing(_set_modes)
    pause_group = writing(_pause_group)
    paused_since = reading(paused_since)
