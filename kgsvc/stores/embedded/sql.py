"""Fetching rows whose column types are known from the schema."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import apsw

Row = tuple[Any, ...]


def all_rows(db: apsw.Connection, text: str, values: Sequence[Any] = ()) -> list[Row]:
    """Every row of a statement, which is finished afterwards."""
    return db.execute(text, values).fetchall()


def first_row(db: apsw.Connection, text: str, values: Sequence[Any] = ()) -> Row | None:
    """The first row of a statement, None if it has none."""
    rows = db.execute(text, values).fetchall()
    return rows[0] if rows else None


def one_row(db: apsw.Connection, text: str, values: Sequence[Any] = ()) -> Row:
    """The row of a statement that always has one."""
    return db.execute(text, values).fetchall()[0]
