"""AddDocuments: a document becomes chunks, and a chunk an episode that never changes.

Sent again with another text it is compared with the one before: chunks that are still there keep their facts
and cost nothing, and once the new ones are in the graph what the others alone stated is withdrawn
(documents.py).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import islice
from typing import Any

from kgsvc.commands.core import Core, until_applied
from kgsvc.commands.documents import chunk_texts, statuses_of
from kgsvc.commands.items import ItemAcceptor, ItemInput
from kgsvc.documents.cutting import CutChunk, Cutters, FormerChunk
from kgsvc.documents.textfile import TextFile
from kgsvc.domain.errors import Overloaded, RevisionChanged
from kgsvc.domain.model.delta import GraphDelta
from kgsvc.domain.model.documents import REVISIONS_KEPT, Document, Place, Revision
from kgsvc.domain.model.graph import Source, with_source_url
from kgsvc.domain.model.keys import digest, mint
from kgsvc.runtime import REQUEST_BYTES, offload

OPERATION = "AddDocuments"
_TRIES = 5  # calls with the same document that may come first
_ITEMS = 128  # chunks of one commit
_RETRY_AFTER_MS = 500


@dataclass(frozen=True, slots=True)
class DocumentInput:
    """A document as the caller sent it: validated, and read as text. Whoever made the text closes it."""

    reference_ms: int
    text: TextFile = field(default_factory=TextFile)
    document_id: str | None = None
    path: str | None = None
    source_url: str | None = None
    title: str | None = None
    author: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    pages: tuple[int, ...] = ()  # offsets at which they begin
    request_id: str = ""

    @property
    def identity(self) -> str:
        """The id of the document: what the caller calls it, else its address, path or text."""
        return self.document_id or self.source_url or self.path or f"sha:{self.text.content_hash}"


class Arrival(StrEnum):
    """What a document that was sent came to."""

    NEW = "new"
    REVISED = "revised"
    UNCHANGED = (
        "unchanged"  # its text is that of the present revision, or of a former one that came again late
    )
    OUTDATED = "outdated"  # a later text is known: noted as a revision, not read


@dataclass(frozen=True, slots=True)
class Added:
    """What became of a document that was sent."""

    document: Document
    arrival: Arrival
    new_chunks: int  # that are to be read
    receipt_ids: tuple[str, ...]  # of those


class DocumentIntake:
    """Takes documents."""

    def __init__(self, core: Core, acceptor: ItemAcceptor, cutters: Cutters) -> None:
        self._core = core
        self._acceptor = acceptor
        self._cutters = cutters

    async def claim(self, group_id: str, sent: Sequence[DocumentInput], key: str | None) -> None:
        """Record that an idempotency key stands for these documents. Raises Conflict (it stands for others),
        StoreUnavailable."""
        if key is not None:
            values = [[each.identity, each.text.content_hash, each.reference_ms] for each in sent]
            await _claim(self._core, group_id, key, digest(OPERATION, values))

    async def add(self, group_id: str, sent: DocumentInput) -> Added:
        """Take a document; it is durable on return. May be repeated: what is there already costs nothing.

        Raises Uncut, Overloaded, ReadOnly, StoreUnavailable. After these but Uncut some chunks may be stored,
        and sending it again goes on.
        """
        self._core.modes.require_writable()
        for _ in range(_TRIES):
            try:
                return await self._add(group_id, sent)
            except RevisionChanged:
                continue
        raise Overloaded("other revisions of the document came first each time", _RETRY_AFTER_MS)

    async def _add(self, group_id: str, sent: DocumentInput) -> Added:
        known = await self._core.store.document(group_id, sent.identity)
        if known is None:
            return await self._revise(group_id, sent, None, ())
        if sent.text.content_hash == known.revision.content_hash:
            return await self._resumed(known, sent)
        if sent.reference_ms < known.revision.reference_ms:
            return await self._outdated(known, sent)
        places = await self._core.store.places(group_id, known.document_id)
        return await self._revise(group_id, sent, known, places)

    async def _revise(
        self, group_id: str, sent: DocumentInput, known: Document | None, before: Sequence[Place]
    ) -> Added:
        """Make this the present text. Raises RevisionChanged."""
        number = 1 if known is None else known.latest + 1
        former = None if known is None else self._former(group_id, before)
        chunks = await self._cutters.cut(sent.text, sent.pages, (sent.identity, number), former)
        document = self._document(group_id, sent, known, len(chunks))
        places = [_place(group_id, chunk) for chunk in chunks]
        await self._core.store.put_document(document, places, 0 if known is None else known.latest)
        new = _first_places(places, {chunk.kept for chunk in chunks if chunk.kept is not None})
        receipts = await self._accept(document, sent, places, new)
        return Added(document, Arrival.NEW if known is None else Arrival.REVISED, len(new), receipts)

    async def _former(self, group_id: str, places: Sequence[Place]) -> AsyncIterator[FormerChunk]:
        """The chunks of the present text, of which few are in memory at a time."""
        for at in range(0, len(places), _ITEMS):
            part = places[at : at + _ITEMS]
            texts = await chunk_texts(self._core, group_id, [place.chunk_uuid for place in part])
            for place in part:
                if (text := texts.get(place.chunk_uuid)) is not None:
                    yield FormerChunk(place.chunk_uuid, text, place.own_start - place.start, place.tokens)

    def _document(self, group_id: str, sent: DocumentInput, known: Document | None, chunks: int) -> Document:
        now_ms = self._core.clock.now_ms()
        number = 1 if known is None else known.latest + 1
        made = Revision(number, sent.text.content_hash, sent.reference_ms, now_ms)
        former = () if known is None else known.revisions
        return Document(
            group_id=group_id,
            document_id=sent.identity,
            revisions=(*former, made)[-REVISIONS_KEPT:],
            current=number,
            title=sent.title,
            source_url=sent.source_url,
            author=sent.author,
            metadata=sent.metadata,
            created_ms=now_ms if known is None else known.created_ms,
            updated_ms=now_ms,
            chars=sent.text.chars,
            chunks=chunks,
            settled=known is None,
        )

    async def _outdated(self, known: Document, sent: DocumentInput) -> Added:
        """A text of an earlier time: it is noted, and the present one stays. Raises RevisionChanged."""
        if any(each.content_hash == sent.text.content_hash for each in known.revisions):
            return Added(known, Arrival.UNCHANGED, 0, ())
        now_ms = self._core.clock.now_ms()
        made = Revision(known.latest + 1, sent.text.content_hash, sent.reference_ms, now_ms)
        others = [each for each in known.revisions if each.number != known.current][-REVISIONS_KEPT + 2 :]
        former = sorted([*others, known.revision], key=lambda each: each.number)
        noted = replace(known, revisions=(*former, made))
        await self._core.store.put_document(noted, None, known.latest)
        return Added(noted, Arrival.OUTDATED, 0, ())

    async def _resumed(self, known: Document, sent: DocumentInput) -> Added:
        """The same text again. What a call that was interrupted left out is accepted now."""
        places = await self._core.store.places(known.group_id, known.document_id)
        there = {each.uuid for each in await statuses_of(self._core, known.group_id, places)}
        missing = _first_places(places, there)
        if not missing:
            return Added(known, Arrival.UNCHANGED, 0, ())
        sent = replace(sent, reference_ms=known.revision.reference_ms)
        receipts = await self._accept(known, sent, places, missing)
        return Added(known, Arrival.NEW if known.latest == 1 else Arrival.REVISED, len(missing), receipts)

    async def _accept(
        self, document: Document, sent: DocumentInput, places: Sequence[Place], new: Sequence[int]
    ) -> tuple[str, ...]:
        """Accept the chunks at these places as items; the ids of their receipts."""
        receipts: list[str] = []
        bodies = sent.text.slices((places[at].start, places[at].end) for at in new)
        for part in _parts(new, places, self._core.limits.payload_bytes // 4):
            texts = await offload(sent.text.size / REQUEST_BYTES, list, islice(bodies, len(part)))
            items = [
                self._item(document, sent, places, at, text) for at, text in zip(part, texts, strict=True)
            ]
            accepted = await self._acceptor.accept(OPERATION, document.group_id, items)
            receipts.append(accepted.receipt_id)
        return tuple(receipts)

    def _item(
        self, document: Document, sent: DocumentInput, places: Sequence[Place], at: int, body: str
    ) -> ItemInput:
        place = places[at]
        # The chunk before is its context. The first has none, which its own uuid stands for.
        before = places[at - 1 if at else at].chunk_uuid
        return ItemInput(
            body=body,
            source=Source.DOCUMENT,
            reference_ms=sent.reference_ms,
            uuid=place.chunk_uuid,
            name=document.title,
            source_description=_description(document, place, self._core.limits.source_description),
            previous=(before,),
            request_id=sent.request_id,
        )


@until_applied
async def _claim(core: Core, group_id: str, key: str, input_hash: str) -> None:
    head = (await core.store.names(group_id, ())).head
    claim = core.claim(OPERATION, key, input_hash)
    await core.apply(GraphDelta(group_id, core.system_ms(head), bumps_rev=False, claim=claim), head)


def _place(group_id: str, chunk: CutChunk) -> Place:
    """Where a chunk stands. One that went with a revision and comes back with a later one has another uuid:
    what the first stated was withdrawn."""
    uuid = chunk.kept or mint("chunk", group_id, chunk.key)
    at = (chunk.start, chunk.end, chunk.own_start)
    return Place(uuid, *at, chunk.tokens, chunk.page, chunk.headings, chunk.last_page)


def _first_places(places: Sequence[Place], but: set[str]) -> list[int]:
    """Where each chunk but these stands first: equal texts are one chunk."""
    first: dict[str, int] = {}
    for at, place in enumerate(places):
        if place.chunk_uuid not in but:
            first.setdefault(place.chunk_uuid, at)
    return list(first.values())


def _parts(new: Sequence[int], places: Sequence[Place], most_chars: int) -> Iterator[list[int]]:
    """Runs of chunks that one commit takes."""
    part: list[int] = []
    chars = 0
    for at in new:
        size = places[at].end - places[at].start
        if part and (len(part) == _ITEMS or chars + size > most_chars):
            yield part
            part, chars = [], 0
        part.append(at)
        chars += size
    if part:
        yield part


def _description(document: Document, place: Place, limit: int) -> str:
    """What a reader of the chunk is told beside it: title and headings, and the address."""
    told = " › ".join(filter(None, (document.title, *place.headings))) or document.document_id
    whole = with_source_url(told, document.source_url) or ""
    return whole if len(whole) <= limit else told[:limit]
