"""ExportGroup and ImportGroup: a group as the file of `kgsvc export`, for who cannot open the store."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, cast

from kgsvc.access.scopes import current_caller
from kgsvc.api.calls import current_call
from kgsvc.api.checks import RequestCheck, parse, unknown_fields
from kgsvc.api.envelope import BidiStream, Outputs, Rpcs, ServerStream
from kgsvc.api.errors import failure_of, to_proto
from kgsvc.api.rpc.lasting import Lasting
from kgsvc.commands.core import Core
from kgsvc.commands.transfer.checking import CheckedFile
from kgsvc.commands.transfer.receiving import Receiver
from kgsvc.commands.transfer.streaming import ExportAsked, ExportPiece, begun_of, stream_export
from kgsvc.commands.transfer.uploads import ReceivedFile, Uploads
from kgsvc.domain.errors import OperationError
from kgsvc.domain.limits import MIB
from kgsvc.stores.protocol import WholeStore
from kgsvc.v1 import envelope_pb2, transfer_pb2

_CURSOR_CHARS = 256
_PIECE_BYTES = MIB
_LAST_S = 1.0  # in which a client whose import is refused may go on sending
_SYNCED_BYTES = 8 * MIB  # of an import between two answers
Part = transfer_pb2.ImportGroupRequest
Answer = transfer_pb2.ImportGroupResponse


@dataclass(frozen=True, slots=True)
class TransferSettings:
    """By which version of the service exports are made, and how many seconds a call may last."""

    version: str
    longest_s: float


class TransferRpcs:
    """The RPCs that move groups."""

    def __init__(
        self, core: Core, uploads: Uploads, settings: TransferSettings, stopping: asyncio.Event
    ) -> None:
        self._core = core
        self._store = cast(WholeStore, core.store)  # as every store is that is configured
        self._settings = settings
        self._stopping = stopping
        self._receiver = Receiver(core, self._store, uploads)
        self.rpcs: Rpcs = {
            "ExportGroup": ServerStream(self._export_group),
            "ImportGroup": BidiStream(self._import_group),
        }

    def _lasting(self) -> Lasting:
        return Lasting(self._core.clock, self._stopping, self._settings.longest_s)

    def _export_group(self, sent: transfer_pb2.ExportGroupInput, check: RequestCheck) -> Outputs:
        """The stream may end with ShuttingDown, StoreUnavailable and, after the longest time, TimeoutError;
        the cursor of its last message leads on."""
        group_id = check.group_id("input.group_id", sent.group_id)
        cursor = check.optional_identifier(sent, "input.", "cursor", _CURSOR_CHARS)
        return lambda: self._exported(group_id, not sent.without_vectors, cursor)

    async def _exported(
        self, group_id: str, with_vectors: bool, cursor: str | None
    ) -> AsyncGenerator[transfer_pb2.ExportGroupOutput, None]:
        begun = None if cursor is None else begun_of(cursor)
        asked = ExportAsked(group_id, with_vectors, self._settings.version, self._core.clock.now_ms(), begun)
        most = min(_PIECE_BYTES, self._core.limits.response_bytes // 2)
        sent, lasting = self._core.metrics.transferred.labels("export"), self._lasting()
        async with aclosing(stream_export(self._store, asked, most)) as pieces:
            while (piece := await lasting.unless_over(anext(pieces, None))) is not None:
                sent.inc(len(piece.data))
                yield _output(piece)

    async def _import_group(
        self, requests: AsyncIterator[bytes], _context: object
    ) -> AsyncGenerator[Answer, None]:
        """Answers how far it is, and in the end what became of it.

        Raises MalformedRequest, PermissionDenied, Overloaded, QuotaExceeded, StoreUnavailable, ShuttingDown,
        TimeoutError: what was answered as received until then need not be sent again.
        """
        call = current_call.get()
        requests = aiter(requests)
        try:
            async with aclosing(self._imported(requests)) as answers:
                async for answer in answers:
                    call.status = envelope_pb2.Status.Name(answer.status).removeprefix("STATUS_")
                    answer.request_id = call.request_id
                    yield answer
        except OperationError as error:
            if call.native_errors:
                await _taken_in(requests)
                raise
            failure = failure_of(error)
            call.refuse(failure.error_code)
            refused = Answer(request_id=call.request_id, status=envelope_pb2.STATUS_ERROR)
            refused.error.CopyFrom(to_proto(failure))
            yield refused
            await _taken_in(requests)

    async def _imported(self, requests: AsyncIterator[bytes]) -> AsyncGenerator[Answer, None]:
        lasting = self._lasting()
        first = self._parsed(await lasting.unless_over(anext(requests, b"")))
        group_id, upload_id = self._opening(first)
        whole = False
        async with self._receiver.opened(group_id, upload_id) as upload:
            async with aclosing(self._received(upload, first, requests, lasting)) as answers:
                async for answer in answers:
                    whole = answer.whole
                    yield answer.told
            if whole:
                async with aclosing(self._written(group_id, upload, lasting)) as progress:
                    async for told in progress:
                        yield told

    def _opening(self, first: Part) -> tuple[str, str | None]:
        """The group and the name of the upload. Raises PermissionDenied, OperationError."""
        call, check = current_call.get(), RequestCheck(self._core.limits)
        request_id = check.optional_identifier(first, "", "request_id", self._core.limits.uuid)
        if request_id is not None and check.error() is None:
            call.request_id = request_id
        check.request_id = call.request_id
        upload_id = check.optional_identifier(first, "", "upload_id", self._core.limits.uuid)
        group_id = check.writable_group_id("group_id", first.group_id)
        call.group_ids = tuple(check.groups)
        current_caller.get().require(check.groups)
        check.finish()
        return group_id, upload_id

    def _parsed(self, raw: bytes) -> Part:
        """Raises MalformedRequest, OperationError."""
        part, check, most = parse(Part, raw), RequestCheck(self._core.limits), self._core.limits.payload_bytes
        if len(raw) > most:
            check.over("", f"the message has {len(raw)} bytes, at most {most} are allowed")
        check.extend(unknown_fields(part))
        if part.offset < 0:
            check.invalid("offset", "must not be negative")
        check.finish()
        return part

    async def _received(
        self, upload: ReceivedFile, part: Part, requests: AsyncIterator[bytes], lasting: Lasting
    ) -> AsyncGenerator[_Received, None]:
        """Take in all parts; the last answer says whether the file is whole."""
        place = 0
        taken = self._core.metrics.transferred.labels("import")
        yield _Received(_received(upload))
        while True:
            lasting.expect_more()
            place = part.offset if part.HasField("offset") else place
            await asyncio.to_thread(upload.add, place, part.data)
            place += len(part.data)
            taken.inc(len(part.data))
            if part.last or upload.size - upload.durable >= _SYNCED_BYTES:
                await asyncio.to_thread(upload.sync)
                yield _Received(_received(upload), part.last)
            if part.last:
                return
            raw = await lasting.unless_over(anext(requests, None))
            if raw is None:
                break
            part = self._parsed(raw)
        await asyncio.to_thread(upload.sync)
        yield _Received(_received(upload))

    async def _written(
        self, group_id: str, upload: ReceivedFile, lasting: Lasting
    ) -> AsyncGenerator[Answer, None]:
        """Check the file that is whole, then write it."""
        async with self._turn(lasting), aclosing(self._receiver.imported(group_id, upload)) as progress:
            async for far in progress:
                lasting.expect_more()
                answer = _received(upload)
                answer.checked_lines, answer.written_lines = far.checked_lines, far.written_lines
                if far.done is not None:
                    answer.status = envelope_pb2.STATUS_OK
                    answer.rows.update(_rows(far.done))
                yield answer

    @asynccontextmanager
    async def _turn(self, lasting: Lasting) -> AsyncIterator[None]:
        """One import after another is checked and written."""
        await lasting.unless_over(self._receiver.turn.acquire())
        try:
            yield
        finally:
            self._receiver.turn.release()


@dataclass(frozen=True, slots=True)
class _Received:
    """How much of a file there is."""

    told: Answer
    whole: bool = False


async def _taken_in(requests: AsyncIterator[bytes]) -> None:
    """Take what is on its way: a client that cannot send it any more may not see why its call has ended."""
    with suppress(TimeoutError):
        async with asyncio.timeout(_LAST_S):
            while await anext(requests, None) is not None:
                pass


def _received(upload: ReceivedFile) -> Answer:
    return Answer(status=envelope_pb2.STATUS_ACCEPTED, received_bytes=upload.durable)


def _rows(checked: CheckedFile) -> dict[str, int]:
    return dict(checked.counts)


def _output(piece: ExportPiece) -> Any:
    output = transfer_pb2.ExportGroupOutput(data=piece.data, offset=piece.offset, cursor=piece.cursor)
    if piece.rows is not None:
        output.last = True
        output.rows.update(piece.rows)
    return output
