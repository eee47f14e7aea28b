"""Files of imports that arrive in pieces: each is gathered in a folder before any of it is read.

A file whose call broke stays for a day under the name that the caller gave it, and is gone on with.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import fcntl
import hashlib
import os
import uuid
from collections.abc import Awaitable, Callable, Collection
from pathlib import Path
from typing import BinaryIO

from kgsvc.domain.errors import InvalidArgument, LimitExceeded, Overloaded, Violation
from kgsvc.domain.limits import DAY_MS, Limits

_SUFFIX = ".jsonl"
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
_BUSY_MS = 1_000
_FULL_MS = 60_000


async def _nothing() -> None:
    """No erasures are followed."""


class Uploads:
    """The folder. Processes share it. What is no coroutine blocks."""

    def __init__(
        self,
        folder: Path,
        most_bytes: int = Limits().import_bytes,
        settled: Callable[[], Awaitable[object]] = _nothing,
    ) -> None:
        """`folder`: made when it is needed. `most_bytes`: of all files together. `settled`: awaited before a
        file is opened, drops what was erased until then; a later `drop` would take the file for a part of
        that. Raises StoreUnavailable."""
        self._folder = folder
        self._most_bytes = most_bytes
        self.settled = settled

    def open(self, group_id: str, upload_id: str | None, now_ms: int) -> ReceivedFile:
        """The file that this call adds to; None: a new one, which nobody goes on with. Raises Overloaded
        (another call adds to it), OSError."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._sweep(now_ms)
        name = uuid.uuid4().hex if upload_id is None else _hash(upload_id)
        path = self._folder / f"{_hash(group_id)}-{name}{_SUFFIX}"
        return ReceivedFile(_locked(path), path, self._most_bytes, kept=upload_id is not None)

    async def drop(self, group_ids: Collection[str]) -> None:
        """Remove what broken calls left of these groups."""
        await asyncio.to_thread(self._drop, group_ids)

    def _drop(self, group_ids: Collection[str]) -> None:
        for group_id in group_ids:
            for path in self._folder.glob(f"{_hash(group_id)}-*{_SUFFIX}"):
                _remove_unless_locked(path)

    def _sweep(self, now_ms: int) -> None:
        """Remove what nobody went on with for a day."""
        for path in self._folder.glob(f"*{_SUFFIX}"):
            with contextlib.suppress(FileNotFoundError):
                if path.stat().st_mtime * 1_000 < now_ms - DAY_MS:
                    _remove_unless_locked(path)


class ReceivedFile:
    """A file that grows, locked. All methods block."""

    def __init__(self, file: BinaryIO, path: Path, most_bytes: int, *, kept: bool) -> None:
        self.path = path
        self.size = self.durable = os.fstat(file.fileno()).st_size
        self._file = file
        self._most_bytes = most_bytes
        self._kept = kept
        os.fsync(file.fileno())

    def add(self, offset: int, data: bytes) -> None:
        """Bytes that stand at `offset` of the file; those that are there already are skipped. Raises
        InvalidArgument (there is a gap before them), LimitExceeded, Overloaded (no room on the disk)."""
        if offset > self.size:
            problem = f"is {offset}, and {self.size} bytes of the file are here"
            raise InvalidArgument(f"offset: {problem}", [Violation("offset", problem)])
        more = data[self.size - offset :]
        if self.size + len(more) > self._most_bytes:
            problem = f"the file has more than {self._most_bytes} bytes"
            raise LimitExceeded(problem, [Violation("data", problem)])
        try:
            self._file.write(more)
        except OSError as error:
            raise _refusal(error) from error
        self.size += len(more)

    def sync(self) -> None:
        """Make it durable. Raises Overloaded (no room on the disk, or other imports have it)."""
        try:
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise _refusal(error) from error
        self.durable = self.size
        held = 0
        for path in self.path.parent.glob(f"*{_SUFFIX}"):
            with contextlib.suppress(FileNotFoundError):
                held += path.stat().st_size
        if held > self._most_bytes:
            raise Overloaded("the files of other imports leave no room at the moment", _FULL_MS)

    def forget(self) -> None:
        """Remove it: the import is over, or the file is refused."""
        self.path.unlink(missing_ok=True)

    def close(self) -> None:
        """Let others add to it; one that nobody can name goes."""
        if not self._kept:
            self.forget()
        with contextlib.suppress(OSError):  # of what was not durable and cannot become so
            self._file.close()


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _locked(path: Path) -> BinaryIO:
    """The file, to add to, as the only one who does. Raises Overloaded, OSError."""
    while True:
        number = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
        file = os.fdopen(number, "ab")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.utime(number)
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(path.stat(), os.fstat(number)):
                    return file
        except BlockingIOError:
            file.close()
            raise Overloaded("another call sends this file", _BUSY_MS) from None
        file.close()  # somebody removed it before it was locked


def _remove_unless_locked(path: Path) -> None:
    with contextlib.suppress(FileNotFoundError), path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        path.unlink()


def _refusal(error: OSError) -> Exception:
    """How an error of the disk is told."""
    if error.errno in _FULL:
        return Overloaded("the disk has no room for the file at the moment", _FULL_MS)
    return error
