"""Documents and their chunks (DocumentStore)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import LiteralString

from kgsvc.domain.errors import RevisionChanged
from kgsvc.domain.model.delta import Erased
from kgsvc.domain.model.documents import Document, Place
from kgsvc.domain.model.items import ItemStatus
from kgsvc.stores.intake_protocol import Unsettled
from kgsvc.stores.neo4j.base import Base, Tx
from kgsvc.stores.neo4j.erasures import note_erased
from kgsvc.stores.neo4j.rows import first_value, status_of, status_rows
from kgsvc.stores.records import document_of, document_text, places_of, places_text

_DOCUMENT: LiteralString = "<DOCUMENT_OF_GROUP> RETURN d.data, d.open"
_PLACES: LiteralString = "<DOCUMENT_OF_GROUP> RETURN coalesce(d.places, '')"
_FORMER_PLACES: LiteralString = "<FORMER_TEXTS> AND f.revision = $p.revision RETURN f.places"
_FORMER_TEXTS: LiteralString = (
    "<FORMER_TEXTS> AND f.revision IS NOT NULL RETURN f.revision ORDER BY f.revision"
)
_KEEP_FORMER: LiteralString = """
    MATCH (d:KgDocument {group_id: $p.group_id, epoch: $p.epoch, document_id: $p.document_id})
    MERGE (f:KgFormerText {
        group_id: $p.group_id, epoch: $p.epoch, document_id: $p.document_id, revision: $p.revision
    })
    SET f.places = coalesce(d.places, '')
    """
_FORGET_FORMER: LiteralString = "<FORMER_TEXTS> AND f.revision < $p.revision DELETE f"
_DOCUMENTS: LiteralString = """
    <GROUP>
    MATCH (d:KgDocument) USING INDEX SEEK d:KgDocument(group_id, epoch, document_id)
    WHERE d.group_id = $p.group_id AND d.epoch = epoch AND d.document_id > $p.after
    RETURN d.data, d.open ORDER BY d.group_id, d.epoch, d.document_id LIMIT $p.limit
    """
_LOCK: LiteralString = """
    <NEW_GROUP>
    SET g.lock = 0
    WITH g
    OPTIONAL MATCH (d:KgDocument {group_id: $p.group_id, epoch: g.epoch, document_id: $p.document_id})
    RETURN g.epoch, coalesce(d.latest, 0), d.data
    """
_PUT: LiteralString = """
    MERGE (d:KgDocument {group_id: $p.group_id, epoch: $p.epoch, document_id: $p.document_id})
    SET d.latest = $p.latest, d.data = $p.data, d.open = $p.open, d.places = coalesce($p.places, d.places)
    WITH d
    UNWIND $p.chunks AS uuid
    MERGE (c:KgChunk {group_id: $p.group_id, epoch: $p.epoch, uuid: uuid})
    SET c.document_id = $p.document_id, c.active = true
    """
_CHUNKS: LiteralString = "<CHUNKS_OF_DOCUMENT> AND (c.active OR NOT $p.active) RETURN c.uuid ORDER BY c.uuid"
_RETIRE: LiteralString = "<CHUNKS_OF_DOCUMENT> AND c.uuid = $p.uuid SET c.active = false"
_SETTLE: LiteralString = "<DOCUMENT_OF_GROUP> WHERE d.latest = $p.latest SET d.open = null"
_UNSETTLED: LiteralString = """
    MATCH (d:KgDocument) USING INDEX SEEK d:KgDocument(open) WHERE d.open = true
    MATCH (g:KgGroup {group_id: d.group_id})
    WHERE g.epoch = d.epoch AND [d.group_id, d.document_id] > $p.after
    RETURN d.group_id, d.document_id ORDER BY d.group_id, d.document_id LIMIT $p.limit
    """
_DOCUMENTS_OF: LiteralString = """
    <GROUP>
    UNWIND $p.uuids AS uuid
    MATCH (c:KgChunk {group_id: $p.group_id, epoch: epoch, uuid: uuid})
        USING INDEX SEEK c:KgChunk(group_id, epoch, uuid)
    RETURN c.uuid, c.document_id
    """
_REMOVE: LiteralString = "<DOCUMENT_OF_GROUP> WHERE d.latest = $p.latest DELETE d RETURN count(*)"
_REMOVE_CHUNKS: LiteralString = "<CHUNKS_OF_DOCUMENT> DELETE c"
_REMOVE_FORMER: LiteralString = "<FORMER_TEXTS> AND f.revision IS NOT NULL DELETE f"
_STATUSES: LiteralString = """
    <GROUP>
    UNWIND $p.uuids AS uuid
    <SEEK i:KgItem uuid IN epoch>
    RETURN <STATUS>
    """


class Documents(Base):
    """DocumentStore."""

    async def document(self, group_id: str, document_id: str) -> Document | None:
        rows = await self._run(_DOCUMENT, group_id=group_id, document_id=document_id)
        return next((document_of(group_id, *row) for row in rows), None)

    async def documents(self, group_id: str, limit: int, after: str) -> list[Document]:
        rows = await self._run(_DOCUMENTS, group_id=group_id, limit=limit, after=after)
        return [document_of(group_id, *row) for row in rows]

    async def places(self, group_id: str, document_id: str, revision: int | None = None) -> tuple[Place, ...]:
        query = _PLACES if revision is None else _FORMER_PLACES
        rows = await self._run(query, group_id=group_id, document_id=document_id, revision=revision)
        return places_of(first_value(rows) or "")

    async def former_texts(self, group_id: str, document_id: str) -> list[int]:
        rows = await self._run(_FORMER_TEXTS, group_id=group_id, document_id=document_id)
        return [number for (number,) in rows]

    async def put_document(self, document: Document, places: Sequence[Place] | None, expected: int) -> None:
        key = {"group_id": document.group_id, "document_id": document.document_id}
        written = {
            "latest": document.latest,
            "data": document_text(document),
            "open": None if document.settled else True,
            "places": None if places is None else places_text(places),
            "chunks": sorted({place.chunk_uuid for place in places or ()}),
        }

        async def put(tx: Tx) -> None:
            ((epoch, latest, before),) = await tx.run(_LOCK, **key)
            if latest != expected:
                raise RevisionChanged("another revision of the document arrived")
            if places is not None and before is not None:
                former = document_of(document.group_id, before, None).current
                await tx.run(_KEEP_FORMER, **key, epoch=epoch, revision=former)
            oldest, *_ = document.revisions
            await tx.run(_FORGET_FORMER, **key, revision=oldest.number)
            await tx.run(_PUT, **key, **written, epoch=epoch)

        await self._transact(put)

    async def chunks(self, group_id: str, document_id: str, active: bool) -> list[str]:
        rows = await self._run(_CHUNKS, group_id=group_id, document_id=document_id, active=active)
        return [uuid for (uuid,) in rows]

    async def retire_chunk(self, group_id: str, document_id: str, chunk_uuid: str) -> None:
        await self._run(_RETIRE, group_id=group_id, document_id=document_id, uuid=chunk_uuid)

    async def settle_document(self, group_id: str, document_id: str, latest: int) -> None:
        await self._run(_SETTLE, group_id=group_id, document_id=document_id, latest=latest)

    async def unsettled_documents(self, limit: int, after: Unsettled) -> list[Unsettled]:
        rows = await self._run(_UNSETTLED, limit=limit, after=list(after))
        return [(group_id, document_id) for group_id, document_id in rows]

    async def documents_of(self, group_id: str, chunk_uuids: Collection[str]) -> dict[str, str]:
        rows = await self._run(_DOCUMENTS_OF, group_id=group_id, uuids=list(chunk_uuids))
        return dict(rows)

    async def remove_document(
        self, group_id: str, document_id: str, latest: int, erased: Erased | None = None
    ) -> bool:
        key = {"group_id": group_id, "document_id": document_id}

        async def remove(tx: Tx) -> bool:
            rows = await tx.run(_REMOVE, **key, latest=latest)
            if not first_value(rows):
                return False
            await tx.run(_REMOVE_CHUNKS, **key)
            await tx.run(_REMOVE_FORMER, **key)
            if erased is not None:
                await note_erased(tx, group_id, erased)
            return True

        return await self._transact(remove)

    async def item_statuses(self, group_id: str, uuids: Collection[str]) -> list[ItemStatus]:
        rows = await self._run(_STATUSES, group_id=group_id, uuids=list(uuids))
        return list(map(status_of, status_rows(rows)))
