"""Moving a group through a running service, for whoever cannot open its store: what `--server` does."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import grpc
import grpc.aio

from kgsvc.cli.client import MIB, CallRefused, Service, accepted, connect, retryable
from kgsvc.cli.options import Failure
from kgsvc.commands.transfer.checking import lines_of, row_of_line
from kgsvc.commands.transfer.rows import HeaderRow
from kgsvc.config import Client
from kgsvc.v1.envelope_pb2 import STATUS_OK
from kgsvc.v1.transfer_pb2 import (
    ExportGroupInput,
    ExportGroupOutput,
    ExportGroupRequest,
    ImportGroupRequest,
    ImportGroupResponse,
)

_PIECE_BYTES = MIB
_NOTED_BYTES = 8 * MIB  # of an export between two notes of how far it is
_TAIL_BYTES = 4096  # of a file, its last row among them, which holds a hash of all the others
_PAUSE_S = 1.0
T = TypeVar("T")
Tell = Callable[[str], None]  # how far it is


async def fetch(client: Client, group: str, path: Path, with_vectors: bool, tell: Tell) -> Counter[str]:
    """Have the service export a group to `path`, which appears when it is whole; how many rows of each kind.
    A stream that breaks is gone on with, by the next run too. Raises Failure, OSError."""
    file = await asyncio.to_thread(_ExportFile.opened, path)
    try:
        async with connect(client) as service:

            async def run() -> Mapping[str, int]:
                return await _fetch(service, group, file, with_vectors, tell)

            rows = await _untiring(service, run, lambda: file.offset)
        await asyncio.to_thread(file.end)
    finally:
        await asyncio.to_thread(file.close)
    return Counter(rows)


async def _fetch(
    service: Service, group: str, file: _ExportFile, with_vectors: bool, tell: Tell
) -> Mapping[str, int]:
    wanted = ExportGroupInput(group_id=group, without_vectors=not with_vectors, cursor=file.cursor or None)
    call: Any = service.admin.ExportGroup(ExportGroupRequest(input=wanted), metadata=service.metadata)
    try:
        async for answer in call:
            output: ExportGroupOutput = accepted(answer).output
            await asyncio.to_thread(file.add, output)
            tell(f"{output.offset / MIB:,.0f} MiB")
            if output.last:
                return dict(output.rows)
    except CallRefused as error:
        if error.code in {"CONFLICT", "NOT_FOUND", "INVALID_ARGUMENT"}:
            await asyncio.to_thread(file.forget)
            if file.resumed:  # what an earlier run began is of another moment
                file.resumed = False
                return await _fetch(service, group, file, with_vectors, tell)
        raise
    raise Failure("the service ended the export too early: run it again")


@dataclass(slots=True)
class _ExportFile:
    """The file that grows beside the one it will be, and a note of how far it is. All methods block."""

    path: Path
    part: Path
    note: Path
    file: BinaryIO
    offset: int = 0
    cursor: str = ""
    resumed: bool = False
    _noted: int = field(default=0)

    @classmethod
    def opened(cls, path: Path) -> _ExportFile:
        """For its owner only; where an earlier run left off. Raises OSError."""
        part, note = path.with_name(f"{path.name}.partial"), path.with_name(f"{path.name}.cursor")
        number = os.open(part, os.O_RDWR | os.O_CREAT, 0o600)
        made = cls(path, part, note, os.fdopen(number, "r+b"))
        made._resume()
        return made

    def _resume(self) -> None:
        try:
            match json.loads(self.note.read_bytes()):
                case {"offset": int(offset), "cursor": str(cursor)} if 0 < offset <= self._size():
                    self.offset, self.cursor, self.resumed = offset, cursor, True
        except (FileNotFoundError, ValueError):
            pass  # it begins anew
        self.file.truncate(self.offset)
        self.file.seek(self.offset)

    def _size(self) -> int:
        return os.fstat(self.file.fileno()).st_size

    def add(self, output: ExportGroupOutput) -> None:
        """The next piece. Raises Failure, OSError."""
        if self.offset + len(output.data) != output.offset:
            raise Failure("the service sent a piece of the file that does not fit")
        self.file.write(output.data)
        self.offset, self.cursor = output.offset, output.cursor
        if self.offset - self._noted >= _NOTED_BYTES:
            self._write_note()

    def _write_note(self) -> None:
        self.file.flush()
        os.fsync(self.file.fileno())
        fresh = self.note.with_name(f"{self.note.name}.new")
        fresh.write_text(json.dumps({"offset": self.offset, "cursor": self.cursor}))
        fresh.replace(self.note)
        self._noted = self.offset

    def forget(self) -> None:
        """Begin anew."""
        self.file.seek(0)
        self.file.truncate()
        self.offset, self.cursor, self._noted = 0, "", 0
        self.note.unlink(missing_ok=True)

    def end(self) -> None:
        """It is whole: give it its name."""
        self.file.flush()
        os.fsync(self.file.fileno())
        self.part.rename(self.path)
        self.note.unlink(missing_ok=True)

    def close(self) -> None:
        """Note how far it is, if it is not whole."""
        if self.part.exists():
            if self.offset:
                self._write_note()
            else:
                self.part.unlink()
        self.file.close()


async def send(client: Client, path: Path, tell: Tell) -> tuple[str, Counter[str]]:
    """Have the service import a file: the group, and how many rows of each kind it was made of. A stream that
    breaks is gone on with, by the next run too. Raises Failure, FileRefused, OSError."""
    group, upload_id = await asyncio.to_thread(_named, path)
    sending = _Sending(path, group, upload_id, tell)
    async with connect(client) as service:

        async def run() -> Mapping[str, int]:
            return await sending.run(service)

        rows = await _untiring(service, run, lambda: sending.far)
    return group, Counter(rows)


def _named(path: Path) -> tuple[str, str]:
    """The group that a file holds, and a name for the file. Raises FileRefused, OSError."""
    for number, line in lines_of(path, hashlib.sha256()):
        row = row_of_line(number, line)
        if not isinstance(row, HeaderRow):
            break
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _TAIL_BYTES))
            return row.group_id, hashlib.sha256(b"%d\n" % size + file.read()).hexdigest()
    raise Failure(f"{path} is no export: its first line says of no group")


@dataclass(slots=True)
class _Sending:
    """A file on its way to a service."""

    path: Path
    group: str
    upload_id: str
    tell: Tell
    far: int = 0  # bytes and lines that the service has taken

    async def run(self, service: Service) -> Mapping[str, int]:
        """One stream. Raises CallRefused, AioRpcError, OSError."""
        begin: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        call: Any = service.admin.ImportGroup(self._parts(begin), metadata=service.metadata)
        try:
            async for answer in call:
                told: ImportGroupResponse = accepted(answer)
                if not begin.done():
                    begin.set_result(told.received_bytes)
                self._note(told)
                if told.status == STATUS_OK:
                    return dict(told.rows)
        finally:
            begin.cancel()
        raise Failure("the service ended the import too early: run it again")

    def _note(self, told: ImportGroupResponse) -> None:
        self.far = max(self.far, told.received_bytes + told.checked_lines + told.written_lines)
        if told.written_lines:
            self.tell(f"{told.written_lines:,} rows written")
        elif told.checked_lines:
            self.tell(f"{told.checked_lines:,} rows checked")
        else:
            self.tell(f"{told.received_bytes / MIB:,.0f} MiB sent")

    async def _parts(self, begin: asyncio.Future[int]) -> AsyncIterator[ImportGroupRequest]:
        yield ImportGroupRequest(group_id=self.group, upload_id=self.upload_id)
        offset = await begin
        with await asyncio.to_thread(self.path.open, "rb") as file:
            file.seek(offset)
            while data := await asyncio.to_thread(file.read, _PIECE_BYTES):
                yield ImportGroupRequest(offset=offset, data=data)
                offset += len(data)
        yield ImportGroupRequest(offset=offset, last=True)


async def _untiring(service: Service, run: Callable[[], Awaitable[T]], far: Callable[[], int]) -> T:
    """What `run` returns, again and again while its streams break, unless nothing moves for as long as a call
    may take. Raises Failure."""
    loop = asyncio.get_running_loop()
    come, give_up = far(), loop.time() + service.timeout_s
    while True:
        try:
            return await run()
        except grpc.aio.AioRpcError as error:
            if far() > come:
                come, give_up = far(), loop.time() + service.timeout_s
            late = error.code() is grpc.StatusCode.DEADLINE_EXCEEDED
            if not (late or retryable(error)) or loop.time() > give_up:
                raise service.failure(error) from error
            await asyncio.sleep(_PAUSE_S)
