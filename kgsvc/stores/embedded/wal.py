"""The write-ahead log: when what it holds is copied into the file (a checkpoint), and when it is cut off."""

from __future__ import annotations

import contextlib
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path

import apsw

from kgsvc.stores.embedded.connection import FILE_NAME, BusyHandler

_MIB = 1024 * 1024
_CHECKPOINT_BYTES = 16 * _MIB
# A large commit changes pages all over the file, and the next one many of the same: after a few of them each
# is copied into the file once, where a checkpoint after every commit would copy it every time.
_LARGE_COMMITS_A_CHECKPOINT = 4
_CHECKPOINTS_BESIDE = 2  # one after the other; then the log must begin anew, for which writing pauses
_LONG_BYTES = 256 * _MIB  # more than that: readers that never pause kept the log from being reused
_TRUNCATE_PATIENCE_S = 0.05


class Wal:
    """The log of the connection of a writer, who calls it between commits.

    A checkpoint runs in a thread and on a connection of its own: the next commits are appended meanwhile.
    The log begins anew at a commit before which all of it was copied. A failed checkpoint loses nothing: the
    log keeps everything, and the next one tries again.
    """

    def __init__(self, directory: Path, db: apsw.Connection, busy: BusyHandler) -> None:
        self._db = db
        self._beside_db = apsw.Connection(str(directory / FILE_NAME), flags=apsw.SQLITE_OPEN_READWRITE)
        self._busy = busy
        self._page_bytes: int = db.pragma("page_size")
        self._copied = 0  # bytes up to where the last checkpoint began
        self._largest = 0  # bytes of a commit since then
        self._beside = 0  # checkpoints since the log began anew
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="kgsvc-store-checkpoint")
        self._running: Future[None] | None = None
        self.nbytes = 0
        db.set_wal_hook(self._note)

    def after_commit(self) -> None:
        """Begin a checkpoint if it is due, or make one if the log has become long."""
        due = max(_CHECKPOINT_BYTES, min(_LARGE_COMMITS_A_CHECKPOINT * self._largest, _LONG_BYTES))
        if self.nbytes - self._copied < due:
            return
        if self._beside < _CHECKPOINTS_BESIDE and self.nbytes <= _LONG_BYTES:
            if self._running is not None and not self._running.done():
                return
            with contextlib.suppress(RuntimeError):  # no thread can be had now
                self._running = self._pool.submit(_checkpoint, self._beside_db)
            self._beside += 1
        elif self.nbytes > _LONG_BYTES:
            self.truncate()
        else:
            self._wait()
            with contextlib.suppress(apsw.Error):
                _checkpoint(self._db)
        self._copied, self._largest = self.nbytes, 0

    def truncate(self) -> None:
        """Copy all of it and cut it off, unless a reader holds it for longer than a moment."""
        self._wait()
        patience = self._busy.patience_s
        self._busy.patience_s = _TRUNCATE_PATIENCE_S
        with contextlib.suppress(apsw.Error):
            self._db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
            self.nbytes = self._copied = self._largest = self._beside = 0
        self._busy.patience_s = patience

    def close(self) -> None:
        """Truncate it, and release the thread."""
        self.truncate()
        self._pool.shutdown()
        self._beside_db.close()

    def _note(self, _db: apsw.Connection, _name: str, pages: int) -> int:
        written = pages * self._page_bytes
        if written <= self.nbytes:  # it began anew
            self.nbytes = self._copied = self._beside = 0
        self._largest = max(self._largest, written - self.nbytes)
        self.nbytes = written
        return apsw.SQLITE_OK

    def _wait(self) -> None:
        if self._running is not None:
            wait([self._running])


def _checkpoint(db: apsw.Connection) -> None:
    """As far as no reader needs what would be overwritten."""
    db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
