"""The RPCs on documents: AddDocuments, GetDocument, ListDocuments, DeleteDocument; streams.py has
StreamDocuments."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import IO

from kgsvc.api import mapping
from kgsvc.api.calls import current_call
from kgsvc.api.checks import RequestCheck
from kgsvc.api.envelope import Operation, Reply, Rpcs, Unary
from kgsvc.commands import documents
from kgsvc.commands.core import Core
from kgsvc.commands.document_intake import Added, Arrival, DocumentInput, DocumentIntake
from kgsvc.commands.documents import DocumentView, PlacedChunk
from kgsvc.documents.cutting import Uncut
from kgsvc.documents.reading.formats import Unreadable
from kgsvc.documents.reading.reader import Reader, size_of
from kgsvc.documents.textfile import TextFile
from kgsvc.domain.errors import InvalidArgument, Violation
from kgsvc.domain.model.documents import DocumentState, Revision
from kgsvc.runtime import REQUEST_BYTES, offload
from kgsvc.v1 import documents_pb2, envelope_pb2

_ID_CHARS = 1_024
_REF_CHARS = 256
_REVISIONS = 2**31 - 1  # of a document, at most
ARRIVALS = mapping.enum_numbers(documents_pb2.DocumentArrival, "DOCUMENT_ARRIVAL_", Arrival)
STATES = mapping.enum_numbers(documents_pb2.DocumentState, "DOCUMENT_STATE_", DocumentState)
Content = str | TextFile | bytes | IO[bytes]  # a text, or the content of a file


@dataclass(frozen=True, slots=True)
class Sent:
    """A document as it was sent: its text, or the content of a file."""

    about: DocumentInput  # without its text
    where: str  # the path of its content in the request
    content: Content
    name: str
    media_type: str


class DocumentRpcs:
    """The RPCs on documents."""

    def __init__(self, core: Core, intake: DocumentIntake, reader: Reader) -> None:
        self._core = core
        self._intake = intake
        self._reader = reader
        self.rpcs: Rpcs = {
            "AddDocuments": Unary(self._add_documents),
            "GetDocument": Unary(self._get_document),
            "ListDocuments": Unary(self._list_documents),
            "DeleteDocument": Unary(self._delete_document),
        }

    def _add_documents(self, sent: documents_pb2.AddDocumentsInput, check: RequestCheck) -> Operation:
        group_id = check.writable_group_id("input.group_id", sent.group_id)
        bounded = enumerate(check.bounded("input.documents", sent.documents))
        items = [document_item(check, f"input.documents[{i}].", item) for i, item in bounded]
        check.names((item.about.document_id for item in items), _ID_CHARS)

        async def run() -> Reply:
            with ExitStack() as texts:
                read = [await self._read(item, texts) for item in items]
                await self._intake.claim(group_id, read, check.idempotency_key)
                added = [
                    await self._add(group_id, item, each) for item, each in zip(items, read, strict=True)
                ]
            current_call.get().wrote(each.document.document_id for each in added)
            new = sum(each.new_chunks for each in added)
            count = f"{len(added)} {'document' if len(added) == 1 else 'documents'}"
            output = documents_pb2.AddDocumentsOutput(
                message=f"{count} accepted, {new} chunks to read", documents=map(_added, added)
            )
            return Reply(output, envelope_pb2.STATUS_ACCEPTED)

        return run

    async def take(self, group_id: str, sent: Sent) -> documents_pb2.AddedDocument:
        """Store a streamed document. Raises OperationError."""
        with ExitStack() as texts:
            return _added(await self._add(group_id, sent, await self._read(sent, texts)))

    async def _read(self, sent: Sent, texts: ExitStack) -> DocumentInput:
        """The document with its text, which `texts` closes. Raises InvalidArgument, naming the file and why
        it cannot be read."""
        text, about = sent.content, sent.about
        if not isinstance(text, str | TextFile):
            try:
                read = await self._reader.read(text, sent.name, sent.media_type)
            except Unreadable as error:
                raise _refused(sent, str(error)) from error
            text = read.text.replace("\0", "�")
            about = replace(about, pages=read.pages, title=about.title or read.title)
        if isinstance(text, str):
            text = await offload(len(text) / REQUEST_BYTES, TextFile.of, text)
        texts.callback(text.close)
        return replace(about, text=text)

    async def _add(self, group_id: str, sent: Sent, read: DocumentInput) -> Added:
        try:
            return await self._intake.add(group_id, read)
        except Uncut as error:
            raise _refused(sent, f"{sent.name}: {error}") from error

    def _get_document(self, sent: documents_pb2.GetDocumentInput, check: RequestCheck) -> Operation:
        group_id = check.group_id("input.group_id", sent.group_id)
        document_id = check.identifier("input.document_id", sent.document_id, _ID_CHARS)
        size, token = check.page_size(sent), check.page_token(sent)
        include = sent.include_chunks
        revision = check.optional_number(sent, "input.", "revision", None, _REVISIONS)

        async def run() -> Reply:
            view = await documents.get_document(self._core, group_id, document_id)
            readable = await documents.readable_revisions(self._core, view.document)
            output = documents_pb2.GetDocumentOutput(document=_document(view))
            output.revisions.extend(_revision(each, readable) for each in view.document.revisions)
            if include:
                page = await documents.chunk_page(self._core, view, size, token, revision)
                output.chunks.extend(chunk(document_id, each) for each in page.chunks)
                output.next_page_token = page.next_token or ""
            return Reply(output)

        return run

    def _list_documents(self, sent: documents_pb2.ListDocumentsInput, check: RequestCheck) -> Operation:
        group_id = check.group_id("input.group_id", sent.group_id)
        size, token = check.page_size(sent), check.page_token(sent)

        async def run() -> Reply:
            views, more = await documents.list_documents(self._core, group_id, size, token)
            rows = map(_document, views)
            return Reply(documents_pb2.ListDocumentsOutput(documents=rows, next_page_token=more or ""))

        return run

    def _delete_document(self, sent: documents_pb2.DeleteDocumentInput, check: RequestCheck) -> Operation:
        group_id = check.group_id("input.group_id", sent.group_id)
        document_id = check.identifier("input.document_id", sent.document_id, _ID_CHARS)
        check.names([document_id], _ID_CHARS)

        async def run() -> Reply:
            erasure_id = await documents.delete_document(self._core, group_id, document_id)
            existed = erasure_id is not None
            message = "the document is deleted" if existed else "there was no document with this id"
            return Reply(
                documents_pb2.DeleteDocumentOutput(message=message, success=True, erasure_id=erasure_id or "")
            )

        return run


def document_item(
    check: RequestCheck, path: str, item: documents_pb2.DocumentItem, streamed: Content | None = None
) -> Sent:
    """A document as it was sent, with what was streamed of it, checked but for what only reading a file
    shows."""
    name = check.optional_identifier(item, path, "path", _ID_CHARS)
    kind = item.WhichOneof("content") or "text"
    content: Content = getattr(item, kind) if streamed is None else streamed
    chars = _checked(check, f"{path}{kind}", content)
    about = DocumentInput(
        reference_ms=check.time(item, path, "reference_time"),
        document_id=check.optional_identifier(item, path, "document_id", _ID_CHARS),
        path=name,
        source_url=_source_url(check, path, item),
        title=check.optional_text(item, path, "title", check.limits.name) or None,
        author=check.optional_text(item, path, "author", check.limits.name) or None,
        metadata=mapping.attributes_in(check, f"{path}metadata", item.metadata),
        pages=_pages(check, path, item.page_starts, chars),
        request_id=check.request_id,
    )
    media_type = check.optional_text(item, path, "media_type", _REF_CHARS) or ""
    return Sent(about, f"{path}{kind}", content, name or "the document", media_type)


def _checked(check: RequestCheck, where: str, content: Content) -> int | None:
    """The length of a text in characters; None of the content of a file."""
    if isinstance(content, str):
        size, blank, nul = len(content), not content.strip(), "\0" in content
    elif isinstance(content, TextFile):
        size, blank, nul = content.chars, content.is_blank, content.has_nul
    else:
        size, blank, nul = size_of(content), False, False
    if not size:
        check.invalid(where, "is required")
    elif blank:
        check.invalid(where, "must not be blank")
    elif nul:
        check.invalid(where, "must not contain NUL")
    return size if isinstance(content, str | TextFile) else None


def _refused(sent: Sent, why: str) -> InvalidArgument:
    return InvalidArgument.of([Violation(sent.where.removeprefix("input."), why)])


def _pages(check: RequestCheck, path: str, starts: Sequence[int], chars: int | None) -> tuple[int, ...]:
    pages = tuple(starts)
    in_order = all(before <= behind for before, behind in pairwise((0, *pages, chars or 0)))
    if pages and (pages[0] or not in_order or chars is None):
        check.invalid(f"{path}page_starts", "must begin at 0 and go on within the text, which must be given")
    return pages


def _source_url(check: RequestCheck, path: str, item: documents_pb2.DocumentItem) -> str | None:
    url = check.optional_identifier(item, path, "source_url", _ID_CHARS)
    if url is not None:
        check.source_url(f"{path}source_url", url)
    return url


def _added(value: Added) -> documents_pb2.AddedDocument:
    return documents_pb2.AddedDocument(
        document_id=value.document.document_id,
        revision=value.document.current,
        arrival=ARRIVALS[value.arrival],
        chunks=value.document.chunks,
        new_chunks=value.new_chunks,
        receipt_ids=value.receipt_ids,
    )


def _document(view: DocumentView) -> documents_pb2.Document:
    value, progress = view.document, view.progress
    return documents_pb2.Document(
        document_id=value.document_id,
        group_id=value.group_id,
        title=value.title,
        source_url=value.source_url,
        author=value.author,
        metadata=mapping.attributes_out(value.metadata),
        revision=value.current,
        reference_time=mapping.timestamp(value.revision.reference_ms),
        created_at=mapping.timestamp(value.created_ms),
        updated_at=mapping.timestamp(value.updated_ms),
        state=STATES[progress.state],
        reason=progress.reason,
        chars=value.chars,
        chunks=value.chunks,
        chunks_in_graph=progress.in_graph,
        chunks_parked=progress.parked,
        settled=value.settled,
    )


def _revision(value: Revision, readable: Collection[int]) -> documents_pb2.DocumentRevision:
    return documents_pb2.DocumentRevision(
        revision=value.number,
        reference_time=mapping.timestamp(value.reference_ms),
        created_at=mapping.timestamp(value.created_ms),
        readable=value.number in readable,
    )


def chunk(document_id: str, value: PlacedChunk) -> documents_pb2.DocumentChunk:
    """A chunk where it stands."""
    place = value.place
    return documents_pb2.DocumentChunk(
        chunk_id=place.chunk_uuid,
        full_doc_id=document_id,
        chunk_order_index=value.order,
        tokens=place.tokens,
        content=value.content,
        start=place.start,
        end=place.end,
        own_start=place.own_start,
        page=place.page,
        headings=place.headings,
        last_page=place.last_page,
    )
