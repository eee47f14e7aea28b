"""Every row of an embedded store into a new one with the present schema."""

from __future__ import annotations

import asyncio
import os
import shutil
from contextlib import closing
from pathlib import Path

import apsw

from kgsvc.stores.embedded import EmbeddedStore
from kgsvc.stores.embedded.connection import FILE_NAME
from scripts.moving import RefusedError

FORMER = 28  # the schema that is read: the last one before 0.1
# Whose vectors a group has: those of most of its facts.
_SPACES = """
    UPDATE new.groups SET space = coalesce((
        SELECT v.space FROM new.facts f JOIN new.fact_vectors v ON v.id = f.id
        WHERE f.gid = groups.gid GROUP BY v.space ORDER BY count(*) DESC LIMIT 1
    ), '')
    """


def move(source: Path, target: Path) -> dict[str, int]:
    """How many rows went into each table. The target appears when it is whole; what an attempt before left
    unfinished beside it is removed. Raises RefusedError, apsw.Error, OSError."""
    if not (source / FILE_NAME).is_file():
        raise RefusedError(f"there is no {FILE_NAME} in {source}")
    if target.exists() and any(target.iterdir()):
        raise RefusedError(f"{target} is not empty")
    partial = target.with_name(target.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    try:
        counts = _filled(partial, source)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    partial.rename(target)
    _sync(target.parent)
    return counts


def _filled(directory: Path, source: Path) -> dict[str, int]:
    asyncio.run(_make(directory))
    with closing(apsw.Connection(str(source / FILE_NAME), flags=apsw.SQLITE_OPEN_READWRITE)) as db:
        db.execute("PRAGMA locking_mode = EXCLUSIVE")  # nobody else may have it open from now on
        _check(db)
        db.execute("ATTACH ? AS new", (str(directory / FILE_NAME),))
        db.execute("BEGIN")
        counts = _copy(db)
        db.execute("INSERT INTO new.fills (gid, next_ms) SELECT gid, 0 FROM new.groups")
        db.execute(_SPACES)
        db.execute("COMMIT")
        return counts


async def _make(directory: Path) -> None:
    store = await EmbeddedStore.open(directory)
    await store.migrate()
    await store.close()


def _check(db: apsw.Connection) -> None:
    try:
        version = db.pragma("user_version")
    except apsw.BusyError:
        raise RefusedError("a process has the store open: stop the service first") from None
    if version != FORMER:
        raise RefusedError(f"the store has schema {version}, this script reads schema {FORMER} alone")


def _copy(db: apsw.Connection) -> dict[str, int]:
    tables = _tables(db, "new")
    if lost := _tables(db, "main") - tables:
        raise RefusedError(f"the present schema has no {', '.join(sorted(lost))}")
    return {table: _copy_table(db, table) for table in sorted(tables)}


def _tables(db: apsw.Connection, schema: str) -> set[str]:
    named = f"SELECT name FROM {schema}.sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
    return {str(name) for (name,) in db.execute(named)}


def _copy_table(db: apsw.Connection, table: str) -> int:
    former, own = _columns(db, "main", table), _columns(db, "new", table)
    if not former:
        return 0  # a table that came later
    if lost := set(former) - set(own):
        raise RefusedError(f"the present schema has no {', '.join(sorted(lost))} in {table}")
    columns = ", ".join(former)
    db.execute(f"DELETE FROM new.{table}")  # what a new store begins with
    db.execute(f"INSERT INTO new.{table} ({columns}) SELECT {columns} FROM main.{table}")
    rows = [f"SELECT {columns} FROM {schema}.{table}" for schema in ("main", "new")]
    for one, other in (rows, reversed(rows)):
        if db.execute(f"{one} EXCEPT {other} LIMIT 1").fetchall():
            raise RefusedError(f"the rows of {table} did not arrive as they were")
    count: int = db.execute(f"SELECT count(*) FROM new.{table}").get
    return count


def _columns(db: apsw.Connection, schema: str, table: str) -> list[str]:
    return [str(name) for (name,) in db.execute(f"SELECT name FROM pragma_table_info('{table}', '{schema}')")]


def _sync(directory: Path) -> None:
    number = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
