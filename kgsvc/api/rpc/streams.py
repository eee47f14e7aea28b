"""The RPCs StreamEpisodes and StreamDocuments: one answer an item, after its durable commit.

StreamEpisodes has one item a message. It is read no faster than its items are stored, so that flow control
slows the client down. A document of StreamDocuments comes in parts, which are gathered in a file: none is in
memory whole.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from tempfile import TemporaryFile

from kgsvc.access.scopes import current_caller
from kgsvc.api.calls import Call, current_call
from kgsvc.api.checks import RequestCheck, parse, unknown_fields
from kgsvc.api.envelope import BidiStream, Rpcs
from kgsvc.api.errors import CallFailure, ShuttingDown, failure_of, to_proto
from kgsvc.api.mapping import STATE_NUMBERS
from kgsvc.api.rpc.documents import DocumentRpcs, Sent, document_item
from kgsvc.api.rpc.episodes import episode_item, message_item
from kgsvc.commands.core import Core
from kgsvc.commands.items import Acknowledged, ItemAcceptor, ItemInput
from kgsvc.documents.textfile import TextFile
from kgsvc.domain.errors import InvalidArgument, KgError, OperationError, Overloaded, Violation
from kgsvc.domain.limits import MIB
from kgsvc.domain.model.items import ItemState
from kgsvc.runtime import REQUEST_BYTES, offload
from kgsvc.v1 import documents_pb2, envelope_pb2, ingestion_pb2

_REF_CHARS = 256
_HELD_BYTES = 256  # of memory for a message besides its own bytes, and again for each of its violations
_GROUPS_NAMED = 8  # in the log line of a stream
_STREAMED_BYTES = 64 * MIB  # of one document
_GATHERED_BYTES = 512 * MIB  # of all documents that are gathered at a time
_RETRY_AFTER_MS = 5_000
Response = ingestion_pb2.StreamEpisodesResponse
Part = documents_pb2.StreamDocumentsRequest
DocumentResponse = documents_pb2.StreamDocumentsResponse


class StreamRpcs:
    """The RPCs that take items and documents as a stream."""

    def __init__(
        self, core: Core, acceptor: ItemAcceptor, documents: DocumentRpcs, stopping: asyncio.Event
    ) -> None:
        self._core = core
        self._acceptor = acceptor
        self._documents = documents
        self._stopping = stopping
        self._turns = asyncio.Semaphore(2)  # documents whose text is in memory
        self._gathered_bytes = 0
        streamed = core.metrics.stream_items
        self._streamed = {outcome: streamed.labels(outcome) for outcome in ("stored", "duplicate", "refused")}
        self.rpcs: Rpcs = {
            "StreamEpisodes": BidiStream(self._stream_episodes),
            "StreamDocuments": BidiStream(self._stream_documents),
        }

    async def _stream_episodes(
        self, requests: AsyncIterator[bytes], _context: object
    ) -> AsyncIterator[Response]:
        """Acknowledgements in the order of the items; refused items do not end the stream.

        Raises MalformedRequest, PermissionDenied, Overloaded, StoreUnavailable, ShuttingDown: what was
        acknowledged until then is stored, and the rest may be sent again.
        """
        call = current_call.get()
        call.items = call.refused_items = 0
        inbox = _Inbox(requests, self._core, self._stopping)
        try:
            while batch := await inbox.next_batch(self._acceptor.items_a_commit):
                results = await self._accept(batch)
                _audit(call, batch, results)
                for streamed, result in zip(batch, results, strict=True):
                    if not isinstance(result, (Acknowledged, OperationError)):
                        raise result
                    response = _answer(streamed, result)
                    response.consistency_token = self._core.store.consistency_token()
                    self._note(call, streamed, response)
                    yield response
                    inbox.acknowledged(streamed)
            if self._stopping.is_set():
                raise ShuttingDown
        finally:
            await inbox.close()
        call.status = "OK"

    async def _accept(self, batch: Sequence[StreamedItem]) -> list[Acknowledged | KgError]:
        """What became of each."""
        valid = [(each.group_id, each.item) for each in batch if isinstance(each.item, ItemInput)]
        stored = iter(await self._acceptor.accept_each(valid) if valid else ())
        return [next(stored) if isinstance(each.item, ItemInput) else each.item for each in batch]

    def _note(self, call: Call, streamed: StreamedItem, response: Response) -> None:
        call.items = (call.items or 0) + 1
        if response.status == envelope_pb2.STATUS_ERROR:
            call.refused_items = (call.refused_items or 0) + 1
            outcome = "refused"
        else:
            outcome = "duplicate" if response.duplicate else "stored"
            if streamed.group_id not in call.group_ids and len(call.group_ids) < _GROUPS_NAMED:
                call.group_ids = (*call.group_ids, streamed.group_id)
        self._streamed[outcome].inc()

    async def _stream_documents(
        self, requests: AsyncIterator[bytes], _context: object
    ) -> AsyncIterator[DocumentResponse]:
        """Answers in the order of the documents; one that is refused does not end the stream.

        Raises MalformedRequest, PermissionDenied, Overloaded, StoreUnavailable, ShuttingDown: what was
        answered until then is stored, and the rest may be sent again.
        """
        call = current_call.get()
        call.items = call.refused_items = 0
        sequence = 0
        gathering: _Gathering | None = None
        try:
            async for raw in requests:
                if self._stopping.is_set():
                    raise ShuttingDown
                part = parse(Part, raw)
                if gathering is None:
                    gathering = _Gathering(self._core, part)
                    call.group_ids = tuple(dict.fromkeys((*call.group_ids, gathering.group_id)))
                self._gathered_bytes += gathering.grows_by(part)
                if self._gathered_bytes > _GATHERED_BYTES:
                    raise Overloaded("too many documents arrive at the same time", _RETRY_AFTER_MS)
                await asyncio.to_thread(gathering.add, part, raw)
                if part.last:
                    response = await self._finished(gathering, sequence)
                    if response.HasField("document"):
                        call.stored(gathering.group_id, [response.document.document_id])
                    self._gathered_bytes -= gathering.close()
                    gathering, sequence = None, sequence + 1
                    call.items += 1
                    call.refused_items += response.status == envelope_pb2.STATUS_ERROR
                    yield response
        finally:
            if gathering is not None:
                self._gathered_bytes -= gathering.close()
        call.status = "OK"

    async def _finished(self, gathering: _Gathering, sequence: int) -> DocumentResponse:
        response = DocumentResponse(
            client_ref=gathering.client_ref, sequence=sequence, request_id=gathering.check.request_id
        )
        try:
            async with self._turns:
                sent = await asyncio.to_thread(gathering.document)
                response.document.CopyFrom(await self._documents.take(gathering.group_id, sent))
        except OperationError as error:
            response.status = envelope_pb2.STATUS_ERROR
            response.error.CopyFrom(to_proto(failure_of(error)))
        else:
            response.status = envelope_pb2.STATUS_ACCEPTED
            response.consistency_token = self._core.store.consistency_token()
        return response


@dataclass(frozen=True, slots=True)
class StreamedItem:
    """One message of the stream: an item, or what is wrong with it."""

    sequence: int
    size: int
    request_id: str
    client_ref: str
    group_id: str
    kind: str  # episode | message: the field that holds the item
    item: ItemInput | OperationError


class _Inbox:
    """Messages that were read and are not acknowledged yet, bounded in bytes.

    At the bound reading pauses; a message larger than the bound passes alone.
    """

    def __init__(self, requests: AsyncIterator[bytes], core: Core, stopping: asyncio.Event) -> None:
        self._requests = requests
        self._core = core
        self._stopping = stopping
        self._waiting: deque[StreamedItem] = deque()
        self._bytes = 0
        self._arrived = asyncio.Event()
        self._freed = asyncio.Event()
        self._reader = asyncio.create_task(self._read())
        self._stopper = asyncio.create_task(self._stop())

    async def next_batch(self, limit: int) -> list[StreamedItem]:
        """The next messages that wait, at most so many, of whatever groups.

        Waits only for the first. Empty when the client has closed its side or the process stops. Raises
        MalformedRequest for a message that cannot be parsed and PermissionDenied for one of a group that the
        caller may not write, after everything read before it was returned.
        """
        while not self._waiting:
            if self._reader.done():
                if not self._reader.cancelled():
                    self._reader.result()
                return []
            self._arrived.clear()
            await self._arrived.wait()
        return [self._waiting.popleft() for _ in range(min(limit, len(self._waiting)))]

    def acknowledged(self, streamed: StreamedItem) -> None:
        """Free its bytes for the next message."""
        self._bytes -= streamed.size
        self._freed.set()

    async def close(self) -> None:
        """Stop reading."""
        self._stopper.cancel()
        self._reader.cancel()
        await asyncio.gather(self._stopper, self._reader, return_exceptions=True)

    async def _stop(self) -> None:
        await self._stopping.wait()
        self._reader.cancel()

    async def _read(self) -> None:
        sequence = 0
        try:
            async for raw in self._requests:
                streamed = await offload(len(raw) / REQUEST_BYTES, _streamed, self._core, sequence, raw)
                sequence += 1
                self._bytes += streamed.size
                self._waiting.append(streamed)
                self._arrived.set()
                while self._bytes >= self._core.limits.stream_inflight_bytes:
                    self._freed.clear()
                    await self._freed.wait()
        finally:
            self._arrived.set()


def _audit(call: Call, batch: Sequence[StreamedItem], results: Sequence[Acknowledged | KgError]) -> None:
    stored: dict[str, list[str]] = {}
    for streamed, result in zip(batch, results, strict=True):
        if isinstance(result, Acknowledged):
            stored.setdefault(streamed.group_id, []).append(result.item.uuid)
    for group_id, uuids in stored.items():
        call.stored(group_id, uuids)


def _streamed(core: Core, sequence: int, raw: bytes) -> StreamedItem:
    request = parse(ingestion_pb2.StreamEpisodesRequest, raw)
    check = RequestCheck(core.limits)
    request_id = check.optional_identifier(request, "", "request_id", core.limits.uuid)
    if request_id is None or check.error() is not None:
        request_id = core.new_id()
    check.request_id = request_id
    check.text("client_ref", request.client_ref, _REF_CHARS)
    check.extend(unknown_fields(request))
    group_id = check.writable_group_id("group_id", request.group_id)
    current_caller.get().require(check.groups)
    item = _item(request, check, len(raw))
    wrong = len(item.violations) if isinstance(item, OperationError) else 0
    return StreamedItem(
        sequence=sequence,
        size=len(raw) + _HELD_BYTES * (1 + wrong),
        request_id=request_id,
        client_ref=request.client_ref[:_REF_CHARS],
        group_id=group_id,
        kind=request.WhichOneof("item") or "item",
        item=item,
    )


def _item(
    request: ingestion_pb2.StreamEpisodesRequest, check: RequestCheck, size: int
) -> ItemInput | OperationError:
    """The item, or everything that is wrong with its message."""
    limit = check.limits.payload_bytes
    if size > limit:
        check.over("", f"the message has {size} bytes, at most {limit} are allowed")
    item = None
    match request.WhichOneof("item"):
        case "episode":
            item = episode_item(check, "episode.", request.episode)
        case "message":
            item = message_item(check, "message.", request.message)
        case _:
            check.invalid("item", "is required, an episode or a message")
    refusal = check.error()
    if item is None or refusal is not None:
        return refusal or InvalidArgument("there is no item", [Violation("item", "is required")])
    return item


def _answer(streamed: StreamedItem, result: Acknowledged | OperationError) -> Response:
    """The acknowledgement; errors are always in band, with fields named as in the stream's message."""
    response = Response(
        client_ref=streamed.client_ref, sequence=streamed.sequence, request_id=streamed.request_id
    )
    if isinstance(result, OperationError):
        failure = failure_of(result)
        named = (replace(v, field=v.field.replace("items[0]", streamed.kind)) for v in failure.violations)
        response.status = envelope_pb2.STATUS_ERROR
        response.error.CopyFrom(to_proto(replace(failure, violations=tuple(named))))
        return response
    item, response.receipt_id = result.item, result.receipt_id
    response.uuid, response.duplicate, response.state = item.uuid, item.duplicate, STATE_NUMBERS[item.state]
    response.status = envelope_pb2.STATUS_ACCEPTED
    if item.duplicate and item.state is ItemState.PARKED:
        message = "the item was parked earlier; RetryItems starts it again"
        response.status = envelope_pb2.STATUS_PARKED
        response.error.CopyFrom(to_proto(CallFailure("PARKED", message)))
    return response


class _Gathering:
    """The parts of a streamed document that arrived."""

    def __init__(self, core: Core, first: Part) -> None:
        self.check = RequestCheck(core.limits)
        request_id = self.check.optional_identifier(first, "", "request_id", core.limits.uuid)
        self.check.request_id = request_id or core.new_id()
        self.check.text("client_ref", first.client_ref, _REF_CHARS)
        self.client_ref = first.client_ref[:_REF_CHARS]
        self.group_id = self.check.writable_group_id("group_id", first.group_id)
        current_caller.get().require(self.check.groups)
        self._about = documents_pb2.DocumentItem()
        self._is_text = True
        if first.HasField("document"):
            self._about.CopyFrom(first.document)
            self._is_text = self._about.WhichOneof("content") != "data"
        else:
            self.check.invalid("document", "is required in the first part of a document")
        self._is_utf8 = True
        self._content = TextFile() if self._is_text else TemporaryFile()  # noqa: SIM115 - closed by `close`
        self._size = self._reckoned = 0
        self._parts = 0

    def grows_by(self, part: Part) -> int:
        """How many bytes to reckon for a part before it is taken in."""
        size = part.ByteSize()
        self._reckoned += size
        return size

    def add(self, part: Part, raw: bytes) -> None:
        """Take in a part. What is wrong with it is said with the answer."""
        self._parts += 1
        if len(self.check.violations) < _REF_CHARS:
            self.check.extend(unknown_fields(part))
        if self._parts > 1 and part.HasField("document"):
            self.check.invalid("document", "began again before the last part")
        begun = part.document.text.encode() if self._is_text else part.document.data
        for piece in (begun, part.more):
            self._size += len(piece)
            if self._size <= _STREAMED_BYTES:
                self._take(piece)

    def _take(self, piece: bytes) -> None:
        try:
            if self._is_utf8:
                self._content.write(piece)
        except UnicodeDecodeError:
            self._is_utf8 = False

    def document(self) -> Sent:
        """The whole. Raises InvalidArgument, LimitExceeded."""
        if self._size > _STREAMED_BYTES:
            self.check.over(
                "more", f"the document has {self._size} bytes, at most {_STREAMED_BYTES} are allowed"
            )
            self.check.finish()
        if isinstance(self._content, TextFile):
            try:
                self._content.end()
            except UnicodeDecodeError:
                self._is_utf8 = False
        if not self._is_utf8:
            self.check.invalid("more", "is not UTF-8")
        sent = document_item(self.check, "document.", self._about, self._content)
        self.check.finish()
        return sent

    def close(self) -> int:
        """Forget the content; how many bytes were reckoned for it."""
        self._content.close()
        return self._reckoned
