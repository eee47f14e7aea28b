"""GetDocument, ListDocuments, DeleteDocument, and what follows from a document's new text.

Once its new chunks are in the graph, what former ones alone stated is withdrawn, and searches find their text
no longer. Nothing is removed: `known_as_of` still tells it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from kgsvc.commands.cascades import erase_part
from kgsvc.commands.core import Core, page_token, parts_of, until_applied, wrong_token
from kgsvc.domain.errors import NotFound, ServiceError, Violation
from kgsvc.domain.facts.amendments import Without, withdrawn
from kgsvc.domain.model.delta import Erased, GraphDelta
from kgsvc.domain.model.documents import Document, Place, Progress
from kgsvc.domain.model.erasures import Erasure, ErasureKind
from kgsvc.domain.model.items import ItemState, ItemStatus
from kgsvc.pipeline.summaries import summarised
from kgsvc.stores.intake_protocol import Unsettled
from kgsvc.stores.protocol import Anchor

log = logging.getLogger(__name__)

_LOOK_S = 1.0
_AT_ONCE = 100  # documents that are looked at in one step
_CHUNKS_A_SECOND = 500  # that are looked at again and again while they are read
_START = ("", "")  # of the documents that are not settled
_READ = 256  # chunks that are read at once
_IN_GRAPH = frozenset({ItemState.UPSERTED, ItemState.COMPLETED})


@dataclass(frozen=True, slots=True)
class DocumentView:
    """A document, and how far it is."""

    document: Document
    progress: Progress


@dataclass(frozen=True, slots=True)
class PlacedChunk:
    """A chunk where it stands in the text."""

    order: int  # from 0
    place: Place
    content: str


@dataclass(frozen=True, slots=True)
class ChunkPage:
    """Some chunks in the order of the text, and the token of the next page (None: these were the last)."""

    chunks: tuple[PlacedChunk, ...]
    next_token: str | None


async def get_document(core: Core, group_id: str, document_id: str) -> DocumentView:
    """A document. Raises NotFound, StoreUnavailable."""
    document = await core.store.document(group_id, document_id)
    if document is None:
        raise NotFound("there is no such document", [Violation("document_id", "names no document")])
    return await _view(core, document)


async def list_documents(
    core: Core, group_id: str, page_size: int, token: str | None
) -> tuple[list[DocumentView], str | None]:
    """A page of the group's documents by id, and the token of the next. Raises InvalidArgument (not a token
    of this listing), StoreUnavailable."""
    after = _after(token)
    found = await core.store.documents(group_id, page_size + 1, after)
    views = [await _view(core, document) for document in found[:page_size]]
    more = len(found) > page_size
    return views, page_token("documents", found[page_size - 1].document_id) if more else None


async def readable_revisions(core: Core, document: Document) -> set[int]:
    """The numbers of those texts of a document that can still be read. Raises StoreUnavailable."""
    return {document.current, *await core.store.former_texts(document.group_id, document.document_id)}


async def chunk_page(
    core: Core, view: DocumentView, page_size: int, token: str | None, revision: int | None = None
) -> ChunkPage:
    """Chunks of the document's present text, or of that of a revision; at least one a page and no more than
    an answer holds. Raises InvalidArgument (not a token of this listing, or of another revision), NotFound
    (the revision cannot be read), StoreUnavailable."""
    document = view.document
    number = document.current if revision is None else revision
    places = await _places(core, document, number)
    first = _from(token, number)
    asked = places[first : first + page_size]
    texts = await chunk_texts(core, document.group_id, [place.chunk_uuid for place in asked])
    taken: list[PlacedChunk] = []
    size = 0
    for order, place in enumerate(asked, first):
        content = texts.get(place.chunk_uuid, "")
        size += len(content.encode())
        if taken and size > core.limits.response_bytes // 2:
            break
        taken.append(PlacedChunk(order, place, content))
    end = first + len(taken)
    more = end < len(places)
    return ChunkPage(tuple(taken), page_token("chunks", number, end) if more else None)


async def _places(core: Core, document: Document, number: int) -> tuple[Place, ...]:
    former = None if number == document.current else number
    places = await core.store.places(document.group_id, document.document_id, former)
    if not places and former is not None:
        problem = "names no text of the document that can still be read"
        raise NotFound("there is no such revision", [Violation("revision", problem)])
    return places


async def delete_document(core: Core, group_id: str, document_id: str) -> str | None:
    """Remove a document with everything that only it supports; the id of the erasure, None where there was
    no such document. Raises Overloaded, StoreUnavailable: it is carried on all the same."""
    if await core.store.document(group_id, document_id) is None:
        return None
    now_ms = core.clock.now_ms()
    erasure = Erasure(core.new_id(), group_id, ErasureKind.DOCUMENT, now_ms, document_id)
    await core.begin_erasures([erasure])
    await erase_document(core, erasure)
    core.activity.poke()
    return erasure.erasure_id


async def erase_document(core: Core, erasure: Erasure) -> None:
    """Carry out the erasure of a document. May be repeated; what was sent anew since then stays."""
    await erase_chunks_of(core, erasure, erasure.uuid)
    await core.store.removed(erasure.erasure_id, erasure.group_id, {})


async def erase_chunks_of(core: Core, erasure: Erasure, document_id: str) -> None:
    """Carry out the part of an erasure that is one document. May be repeated."""
    store, group_id = core.store, erasure.group_id
    document = await store.document(group_id, document_id)
    for chunk_uuid in await store.chunks(group_id, document_id, active=False):
        await erase_part(core, erasure, chunk_uuid)
    if document is not None and document.updated_ms <= erasure.asked_ms:
        erased = Erased(erasure.erasure_id, {"documents": 1}, over=False)
        await store.remove_document(group_id, document_id, document.latest, erased)


async def chunk_texts(core: Core, group_id: str, chunk_uuids: Sequence[str]) -> dict[str, str]:
    """The texts of those of these chunks that are there."""
    texts: dict[str, str] = {}
    uuids = tuple(dict.fromkeys(chunk_uuids))
    for first in range(0, len(uuids), _READ):
        anchor = Anchor(uuid="", reference_ms=0, named=uuids[first : first + _READ])
        read = await core.store.previous_episodes(group_id, [anchor], _READ, core.limits.body_bytes)
        texts.update((episode.uuid, episode.body) for episode in read[""])
    return texts


async def statuses_of(core: Core, group_id: str, places: Sequence[Place]) -> list[ItemStatus]:
    """The states of the chunks at these places, each once."""
    uuids = list(dict.fromkeys(place.chunk_uuid for place in places))
    return await core.store.item_statuses(group_id, uuids)


async def _view(core: Core, document: Document) -> DocumentView:
    places = await core.store.places(document.group_id, document.document_id)
    statuses = await statuses_of(core, document.group_id, places)
    parked = [each for each in statuses if each.state is ItemState.PARKED]
    progress = Progress(
        total=len({place.chunk_uuid for place in places}),
        in_graph=sum(each.state in _IN_GRAPH for each in statuses),
        parked=len(parked),
        begun=sum(each.state is not ItemState.ACCEPTED for each in statuses),
        reason=parked[0].reason if parked else None,
    )
    return DocumentView(document, progress)


def _after(token: str | None) -> str:
    if token is None:
        return ""
    match parts_of(token):
        case ["documents", str(after)]:
            return after
    raise wrong_token()


def _from(token: str | None, revision: int) -> int:
    if token is None:
        return 0
    match parts_of(token):
        case ["chunks", int(number), int(first)] if first > 0:
            if number == revision:
                return first
            raise wrong_token("is of another revision of the document; begin again")
    raise wrong_token()


class Revisions:
    """The documents of the store whose former texts still speak, as one process settles them. Several may."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._after: Unsettled = _START
        self._waits: dict[Unsettled, float] = {}  # until when not to look again

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            await self._core.modes.writable()
            try:
                if self._core.activity.open.documents:
                    await self.step()
            except ServiceError as error:
                log.warning("revisions of documents cannot go on: %s", type(error).__name__)
            await asyncio.sleep(_LOOK_S)

    async def step(self) -> None:
        """Look at the next documents. Raises Overloaded, StoreUnavailable."""
        now = asyncio.get_running_loop().time()
        self._waits = {key: until for key, until in self._waits.items() if until > now}
        found = await self._core.store.unsettled_documents(_AT_ONCE, self._after)
        self._after = found[-1] if len(found) == _AT_ONCE else _START
        for key in found:
            if key not in self._waits:
                chunks = await settle_document(self._core, *key)
                if chunks:
                    self._waits[key] = now + chunks / _CHUNKS_A_SECOND


async def settle_document(core: Core, group_id: str, document_id: str) -> int:
    """Withdraw what only former texts state, if every chunk of the present one is in the graph and the former
    ones are done. How many chunks were looked at in vain; 0: it is settled. May be repeated and
    interrupted."""
    store = core.store
    document = await store.document(group_id, document_id)
    if document is None or document.settled:
        return 0
    places = await store.places(group_id, document_id)
    present = {place.chunk_uuid for place in places}
    former = [uuid for uuid in await store.chunks(group_id, document_id, active=True) if uuid not in present]
    statuses = await statuses_of(core, group_id, places)
    waiting = await store.item_statuses(group_id, former)
    if len(statuses) < len(present) or not all(each.state in _IN_GRAPH for each in statuses):
        return len(present)
    if not all(each.terminal for each in waiting):
        return len(former)
    for uuid in former:
        await _withdraw(core, group_id, uuid, present)
        await store.retire_chunk(group_id, document_id, uuid)
    await store.settle_document(group_id, document_id, document.latest)
    return 0


@until_applied
async def _withdraw(core: Core, group_id: str, chunk_uuid: str, present: Collection[str]) -> None:
    store = core.store
    head = (await store.names(group_id, ())).head
    system_ms = core.system_ms(head)
    traces = await store.traces(group_id, chunk_uuid)
    without = Without((), (), 0)
    if traces.slots:
        view = await store.slots(group_id, traces.slots)
        without = withdrawn(view, chunk_uuid, present, system_ms)
    delta = GraphDelta(
        group_id,
        system_ms,
        facts=without.facts,
        vectors=await core.vectors(group_id, without.reworded),
        space=core.space,
        hide_episodes=(chunk_uuid,),
    )
    await core.apply(await summarised(store, delta, {}), head)
