"""Opening the database file: pragmas, patience with other processes, the views that rows are read by."""

from __future__ import annotations

import time
from pathlib import Path

import apsw

from kgsvc.stores.embedded.views import VIEWS

FILE_NAME = "kgsvc.db"
_STEP_S = 0.001  # the stock busy timeout sleeps up to 100 ms a step and stalls for seconds


class BusyHandler:
    """Waits in small steps for a lock that another process holds, until `patience_s` have passed."""

    def __init__(self, patience_s: float) -> None:
        self.patience_s = patience_s
        self._until = 0.0

    def __call__(self, tries: int) -> bool:
        """Whether the engine shall try again; `tries` is 0 at the beginning of each wait."""
        now = time.monotonic()
        if tries == 0:
            self._until = now + self.patience_s
        if now >= self._until:
            return False
        time.sleep(_STEP_S)
        return True


def open_writer(directory: Path, busy: BusyHandler) -> apsw.Connection:
    """The connection that writes; creates directory and file. Raises apsw.Error, OSError."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    db = apsw.Connection(str(directory / FILE_NAME), statementcachesize=300)
    try:
        db.set_busy_handler(busy)
        db.execute("PRAGMA page_size = 8192")  # effective only before the file has content
        _enter_wal(db, busy)
        db.execute("PRAGMA synchronous = FULL; PRAGMA cache_size = -65536; PRAGMA temp_store = MEMORY")
        db.execute(VIEWS)
    except BaseException:
        db.close()
        raise
    return db


def open_reader(directory: Path, busy: BusyHandler) -> apsw.Connection:
    """A connection that cannot write. The file must exist. Raises apsw.Error."""
    flags = apsw.SQLITE_OPEN_READONLY
    db = apsw.Connection(str(directory / FILE_NAME), flags=flags, statementcachesize=300)
    try:
        db.set_busy_handler(busy)
        db.execute("PRAGMA cache_size = -32768; PRAGMA temp_store = MEMORY")
        db.execute(VIEWS)
    except BaseException:
        db.close()
        raise
    return db


def _enter_wal(db: apsw.Connection, busy: BusyHandler) -> None:
    """Switching to WAL takes an exclusive lock that the engine does not always wait for by itself."""
    until = time.monotonic() + busy.patience_s
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
            return
        except apsw.BusyError:
            if time.monotonic() >= until:
                raise
            time.sleep(_STEP_S)
