"""Arrays in files: written whole or not at all; large ones are mapped into memory, others are read.

A file begins with eight bytes that say what it is, the length of its head, and the head: JSON that names the
arrays and holds what the writer noted beside them. What is mapped is private: changes stay in memory.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import hashlib
import json
import math
import mmap
import os
import shutil
import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from kgsvc.search.index.arrays import SHOWN, Arrays, Live, room_for

_MAGIC = b"kgsvcidx"
_ALIGN = 64
_HEAD_BYTES = 16 * 1024 * 1024
_READ_BYTES = 64 * 1024 * 1024  # arrays up to this size are read: large pages make searching them faster
_WRITING = ".writing-"
_PRIVATE = 0o700


@dataclass(frozen=True, slots=True)
class Stored:
    """A file as it was read: what was noted, and the arrays."""

    notes: Mapping[str, Any]
    arrays: Arrays


class ArrayFiles:
    """Files in a directory that only this user may read: a folder a group. Bounded in bytes: those used
    longest ago go first. All methods but `drop_all` block; several processes may use one directory."""

    def __init__(self, directory: Path, most_bytes: int) -> None:
        self._directory = directory
        self._most_bytes = most_bytes

    def open(self) -> None:
        """Make the directory, and remove what processes that are gone had begun to write; and everything, if
        others could write into it. Raises OSError: also where it is another user's."""
        self._directory.mkdir(mode=_PRIVATE, parents=True, exist_ok=True)
        state = self._directory.stat()
        if state.st_uid != os.geteuid():
            raise PermissionError("it must belong to the user that runs the service")
        if state.st_mode & 0o077:
            self._directory.chmod(_PRIVATE)
        if state.st_mode & 0o022:
            for path in self.files():
                path.unlink(missing_ok=True)
        for begun in self._directory.glob(f"*/{_WRITING}*"):
            _remove_unless_written(begun)

    def folder(self, group_id: str) -> Path:
        """Where a group's files are."""
        return self._directory / hashlib.sha256(group_id.encode("utf-8", "surrogatepass")).hexdigest()[:32]

    def files(self) -> list[Path]:
        """All that are whole."""
        return [path for path in self._directory.glob("*/*") if not path.name.startswith(_WRITING)]

    def nbytes(self, paths: Iterable[Path]) -> int:
        """What files take; those that are not there take nothing."""
        total = 0
        for path in paths:
            with contextlib.suppress(FileNotFoundError):
                total += path.stat().st_blocks * 512
        return total

    def drop(self, group_id: str) -> None:
        """Remove a group's files, also those that are being written."""
        shutil.rmtree(self.folder(group_id), ignore_errors=True)

    async def drop_all(self, group_ids: Collection[str]) -> None:
        """`drop` in a thread."""
        for group_id in group_ids:
            await asyncio.to_thread(self.drop, group_id)

    def read(self, path: Path) -> Stored | None:
        """What a file holds; None: there is none, or it is none of ours or cut off."""
        try:
            with path.open("rb") as file:
                head = _head(file)
                if head is None:
                    return None
                mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
        except (OSError, ValueError):
            return None
        with contextlib.suppress(OSError):
            os.utime(path)  # for who looks for what was used longest ago
        return Stored(head["notes"], _mapped(mapped, head["arrays"]))

    def notes(self, path: Path) -> Mapping[str, Any] | None:
        """What was noted in a file, as `read`."""
        try:
            with path.open("rb") as file:
                head = _head(file)
        except (OSError, ValueError):
            return None
        return None if head is None else head["notes"]

    def writing(self, path: Path, notes: Mapping[str, Any], arrays: Mapping[str, Any]) -> Writing | None:
        """Begin a file; None: it would be too large. Raises OSError."""
        specs, size = _specs(notes, arrays)
        if size > self._most_bytes:
            return None
        self._make_room(size, path)
        path.parent.mkdir(mode=_PRIVATE, exist_ok=True)
        return Writing(path, specs)

    def _make_room(self, size: int, path: Path) -> None:
        """Remove other files, those used longest ago first, until the bound holds."""
        others: list[tuple[float, int, Path]] = []
        for each in self.files():
            with contextlib.suppress(FileNotFoundError):
                state = each.stat()
                others.append((state.st_mtime, state.st_blocks * 512, each))
        total = sum(held for _, held, _ in others)
        for _, held, each in sorted(others):
            if total + size <= self._most_bytes:
                return
            if each != path:
                each.unlink(missing_ok=True)
                total -= held


class Writing:
    """A file that is being written beside the one it will replace."""

    def __init__(self, path: Path, head: bytes) -> None:
        self._path = path
        self._begun = path.with_name(f"{_WRITING}{os.getpid()}-{time.monotonic_ns()}")
        self._file = self._begun.open("xb")
        fcntl.flock(self._file, fcntl.LOCK_EX)  # nobody takes it for left behind
        self._file.write(head)

    def write(self, data: NDArray[Any]) -> None:
        """Go on with the next rows of an array."""
        self._file.write(np.ascontiguousarray(data).data.cast("B") if data.size else b"")

    def end(self, empty_bytes: int = 0) -> None:
        """An array has been written but for its empty rows. What follows is aligned."""
        place = self._file.tell() + empty_bytes
        self._file.seek(place + -place % _ALIGN)

    def commit(self) -> None:
        """Put it in its place. Raises OSError: the file was removed meanwhile, or the disk is full."""
        self._file.truncate()
        self._file.flush()
        os.fsync(self._file.fileno())
        self._begun.replace(self._path)
        self._file.close()

    def abandon(self) -> None:
        """Remove what was written."""
        self._begun.unlink(missing_ok=True)
        self._file.close()


def _remove_unless_written(begun: Path) -> None:
    with contextlib.suppress(FileNotFoundError), begun.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return
        begun.unlink()


def _specs(notes: Mapping[str, Any], arrays: Mapping[str, Any]) -> tuple[bytes, int]:
    """The head of a file, aligned, and the size of the file."""
    specs, place = [], 0
    for name, array in arrays.items():
        shape = list(file_shape(array))
        dtype = (array.column.data if isinstance(array, Live) else array).dtype
        specs.append([name, dtype.str, shape, place])
        size = math.prod(shape) * dtype.itemsize
        place += size + -size % _ALIGN
    head = json.dumps({"notes": notes, "arrays": specs, "bytes": place}).encode()
    whole = _MAGIC + len(head).to_bytes(8, "little") + head
    whole += b"\0" * (-len(whole) % _ALIGN)
    return whole, len(whole) + place


def file_shape(array: NDArray[Any] | Live) -> tuple[int, ...]:
    """Of an array in a file: columns that live get room to grow in."""
    if isinstance(array, Live):
        return (room_for(room_for(array.rows)), *array.column.data.shape[1:])
    return array.shape


def row_bytes(live: Live) -> int:
    """Of a row of a column."""
    data = live.column.data
    return data.itemsize * math.prod(data.shape[1:])


def _head(file: IO[bytes]) -> Any:
    begin = file.read(len(_MAGIC) + 8)
    length = int.from_bytes(begin[len(_MAGIC) :], "little")
    if begin[: len(_MAGIC)] != _MAGIC or length > _HEAD_BYTES:
        return None
    head = json.loads(file.read(length))
    place = len(begin) + length
    head["arrays"] = [
        [name, dtype, shape, at + place + -place % _ALIGN] for name, dtype, shape, at in head["arrays"]
    ]
    return head if os.fstat(file.fileno()).st_size >= place + -place % _ALIGN + head["bytes"] else None


def _mapped(mapped: mmap.mmap, specs: list[Any]) -> dict[str, NDArray[Any]]:
    arrays = {}
    for name, dtype, shape, place in specs:
        count = math.prod(shape)
        flat = np.frombuffer(mapped, dtype, count, place) if count else np.empty(0, dtype)
        if flat.nbytes <= _READ_BYTES and not name.endswith(SHOWN):
            flat = flat.copy()
        arrays[name] = flat.reshape(shape)
    return arrays
