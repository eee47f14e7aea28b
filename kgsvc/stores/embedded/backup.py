"""The store's file as of one moment, copied while others work on it, and read back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import apsw

from kgsvc.domain.errors import StoreUnavailable
from kgsvc.stores.admission import check_schema
from kgsvc.stores.embedded.connection import FILE_NAME, unavailable
from kgsvc.stores.embedded.manifest import BackupRefused, owned
from kgsvc.stores.embedded.schema import SCHEMA_VERSION

_PAGES_A_STEP = 4_096  # 16 MiB, between two of which whoever waits is told
_PATIENCE_MS = 5_000
OnProgress = Callable[[int, int], None]  # pages copied, pages in all


@dataclass(frozen=True, slots=True)
class Held:
    """What a file of a store holds, without any of its contents."""

    schema: int
    rows: Mapping[str, int]  # of each table
    digest_key: int | None  # see Manifest


def copy_store(directory: Path, target: Path, on_progress: OnProgress) -> Held:
    """Copy the store as it is at one moment, also while processes write it, to a file that only its owner can
    read; what it held then. The copy is read back whole. Raises StoreUnavailable, BackupRefused, OSError."""
    source = directory / FILE_NAME
    if not source.is_file():
        raise StoreUnavailable(f"there is no {FILE_NAME} in {directory.absolute()}")
    owned(target).close()
    with opened(source) as live:
        live.execute("BEGIN")  # one snapshot, which neither writers nor checkpoints change
        held = held_in(live)
        check_schema("the embedded store", held.schema, SCHEMA_VERSION)
        _copy(live, target, on_progress)
    verify(target, held)
    return held


def _copy(live: apsw.Connection, target: Path, on_progress: OnProgress) -> None:
    with opened(target) as copy:
        with copy.backup("main", live, "main") as backup:
            while not backup.done:
                backup.step(_PAGES_A_STEP)
                on_progress(backup.page_count - backup.remaining, backup.page_count)
        # One file that is whole without a log beside it. Whoever opens it as a store begins a log again.
        copy.execute("PRAGMA journal_mode = DELETE")


def verify(path: Path, stated: Held) -> None:
    """Read all of a file that nobody writes. Raises BackupRefused if it is damaged or holds anything else."""
    try:
        with opened(path) as db:
            problems = [str(each) for (each,) in db.execute("PRAGMA integrity_check(1)")]
            found = held_in(db)
    except StoreUnavailable as error:
        raise BackupRefused(f"{path.name}: {error}") from error
    if problems != ["ok"]:
        raise BackupRefused(f"{path.name}: the database is damaged")
    if found.schema != stated.schema:
        raise BackupRefused(f"{path.name}: has schema {found.schema}, and not {stated.schema} as it should")
    tables = found.rows.keys() | stated.rows.keys()
    wrong = sorted(name for name in tables if found.rows.get(name) != stated.rows.get(name))
    if wrong:
        raise BackupRefused(f"{path.name}: {', '.join(wrong)} do not have as many rows as they should")


def begin_epochs(path: Path) -> None:
    """Let followers of groups and whoever remembers revisions begin anew: what they know of the time after
    the backup never happened. Raises StoreUnavailable."""
    with opened(path) as db:
        db.execute("UPDATE groups SET epoch = epoch + 1")


@contextmanager
def opened(path: Path) -> Iterator[apsw.Connection]:
    """A connection to a file that is there. Raises StoreUnavailable for what the engine raises."""
    try:
        with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)) as db:
            db.set_busy_timeout(_PATIENCE_MS)
            yield db
    except apsw.Error as error:
        raise unavailable(error) from error


def held_in(db: apsw.Connection) -> Held:
    """What is behind a connection. Raises apsw.Error."""
    named = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
    tables = [str(name) for (name,) in db.execute(named)]
    rows = {name: int(db.execute(f'SELECT count(*) FROM "{name}"').get) for name in tables}
    keyed = "SELECT value FROM versions WHERE name = 'digest_key'"
    found = [int(value) for (value,) in db.execute(keyed)] if "versions" in rows else []
    return Held(int(db.pragma("user_version")), rows, next(iter(found), None))
