"""`kgsvc documents`, and sending documents."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import click
import grpc.aio

from kgsvc.cli import options
from kgsvc.cli.client import Service, connect, retryable
from kgsvc.cli.groups import expect_group
from kgsvc.cli.options import Failure
from kgsvc.cli.show import as_dict, day, print_json, printable
from kgsvc.config import Client, Settings
from kgsvc.documents.reading.formats import DocumentText
from kgsvc.v1.documents_pb2 import (
    AddedDocument,
    Document,
    DocumentItem,
    DocumentState,
    GetDocumentInput,
    GetDocumentRequest,
    ListDocumentsInput,
    ListDocumentsRequest,
    StreamDocumentsRequest,
    StreamDocumentsResponse,
)
from kgsvc.v1.envelope_pb2 import STATUS_ERROR

_PART_BYTES = 1024 * 1024
_PAUSE_S = 1.0
_LOOK_S = 0.25


class DocumentRefused(Exception):
    """Why the service did not take a document."""


class DocumentSender:
    """Sends documents, one on a stream of its own, which is opened again where it breaks."""

    def __init__(self, service: Service, group_id: str) -> None:
        self._service = service
        self._group_id = group_id

    async def send(self, path: Path, read: DocumentText, time: datetime) -> AddedDocument:
        """Add the text of a file. Raises DocumentRefused, Failure (the call failed, or no service answered
        for too long)."""
        loop = asyncio.get_running_loop()
        give_up = loop.time() + self._service.timeout_s
        while True:
            try:
                answer = await self._exchange(path, read, time)
            except grpc.aio.AioRpcError as error:
                if not retryable(error) or loop.time() > give_up:
                    raise self._service.failure(error) from error
                await asyncio.sleep(_PAUSE_S)
                continue
            if answer.status == STATUS_ERROR:
                raise DocumentRefused(answer.error.message)
            return answer.document

    async def follow(
        self, documents: Sequence[AddedDocument], within_s: float, on_done: Callable[[int], None]
    ) -> dict[str, str]:
        """Wait until these documents are read, and what former texts said is withdrawn; those that cannot be
        read as a whole, each with the reason. `on_done` gets how many more chunks are in the graph. Raises
        Failure, also when it takes longer than `within_s`."""
        failed: dict[str, str] = {}
        try:
            async with asyncio.timeout(within_s):
                for added in documents:
                    document = await self._read(added.document_id, on_done)
                    if document.state == DocumentState.DOCUMENT_STATE_FAILED:
                        failed[added.document_id] = document.reason
        except TimeoutError as error:
            raise Failure(
                f"documents are not read after {within_s:g} s; the service works on (see `kgsvc documents`)"
            ) from error
        return failed

    async def _read(self, document_id: str, on_done: Callable[[int], None]) -> Document:
        wanted = GetDocumentInput(group_id=self._group_id, document_id=document_id)
        before = 0
        while True:
            answer = await self._service.call(
                self._service.retrieval.GetDocument, GetDocumentRequest(input=wanted)
            )
            document = answer.output.document
            on_done(document.chunks_in_graph - before)
            before = document.chunks_in_graph
            if document.state == DocumentState.DOCUMENT_STATE_FAILED:
                return document
            if document.settled and document.state == DocumentState.DOCUMENT_STATE_PROCESSED:
                return document
            await asyncio.sleep(_LOOK_S)

    async def _exchange(self, path: Path, read: DocumentText, time: datetime) -> StreamDocumentsResponse:
        item = DocumentItem(path=path.as_posix(), title=read.title, page_starts=read.pages, text="")
        item.reference_time.FromDatetime(time)

        async def parts() -> AsyncIterator[StreamDocumentsRequest]:
            yield StreamDocumentsRequest(group_id=self._group_id, document=item)
            for piece in _pieces(read.text):
                yield StreamDocumentsRequest(more=piece)
            yield StreamDocumentsRequest(last=True)

        call: Any = self._service.ingestion.StreamDocuments(parts(), metadata=self._service.metadata)
        async for answer in call:
            taken: StreamDocumentsResponse = answer
            return taken
        raise DocumentRefused("the service ended the stream too early")


def _pieces(text: str) -> Iterator[bytes]:
    raw = text.encode()
    return (raw[at : at + _PART_BYTES] for at in range(0, len(raw), _PART_BYTES))


@click.command("documents")
@options.group
@options.as_json
@options.client
def command(group: str, as_json: bool, settings: Settings) -> None:
    """List the documents of a group by id and how far they are; with --json, one object on each line."""
    options.run(_list(settings.client, group, as_json))


async def _list(client: Client, group: str, as_json: bool) -> None:
    count, token = 0, None
    async with connect(client) as service:
        while token != "":
            wanted = ListDocumentsInput(group_id=group, page_token=token)
            answer = await service.call(service.retrieval.ListDocuments, ListDocumentsRequest(input=wanted))
            for document in answer.output.documents:
                _print(document, as_json)
            count += len(answer.output.documents)
            token = answer.output.next_page_token
    if not count:
        await expect_group(client, group)
    if not as_json:
        click.echo(f"{count} documents", err=True)


def _print(document: Document, as_json: bool) -> None:
    if as_json:
        print_json(as_dict(document), indent=None)
        return
    state = DocumentState.Name(document.state).removeprefix("DOCUMENT_STATE_").lower()
    parts = [
        f"{document.document_id}  {state:<10}  {day(document.reference_time)}",
        document.title,
        f"revision {document.revision}",
        f"{document.chunks_in_graph} of {document.chunks} chunks in the graph",
        document.reason,
    ]
    click.echo(printable(" · ".join(part for part in parts if part)))
