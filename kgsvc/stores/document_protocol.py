"""What documents ask of a store; part of stores/protocol.py and under its general promises.

The record of a document and its chunks are written one after the other: first the record with the places of
its chunks, then the chunks are accepted as items. Whoever is interrupted in between sends the document again.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

from kgsvc.domain.model.delta import Erased
from kgsvc.domain.model.documents import Document, Place
from kgsvc.domain.model.items import ItemStatus

Unsettled = tuple[str, str]  # group_id and document_id


class DocumentStore(Protocol):
    """Documents of a group's present epoch. Those of unknown groups are none."""

    async def document(self, group_id: str, document_id: str) -> Document | None:
        """The document's record."""

    async def documents(self, group_id: str, limit: int, after: str) -> list[Document]:
        """The first `limit` documents behind the id `after` ("": from the beginning), by document_id in the
        order of code points."""

    async def places(self, group_id: str, document_id: str) -> tuple[Place, ...]:
        """Where the chunks of the present text stand, in its order; none of an unknown document."""

    async def put_document(self, document: Document, places: Sequence[Place] | None, expected: int) -> None:
        """Write the record, and unless None the places, whose chunks become active. `expected`: the number
        of the latest revision that was read, 0 where there was no document. RevisionChanged: it is another
        one now. Creates the group's record if needed."""

    async def chunks(self, group_id: str, document_id: str, active: bool) -> list[str]:
        """The uuids of every chunk that the document had, sorted; `active`: without those that retired."""

    async def retire_chunk(self, group_id: str, document_id: str, chunk_uuid: str) -> None:
        """The chunk speaks no longer for the document."""

    async def settle_document(self, group_id: str, document_id: str, latest: int) -> None:
        """Note that only chunks of the present text speak, if its latest revision has this number."""

    async def unsettled_documents(self, limit: int, after: Unsettled) -> list[Unsettled]:
        """The first `limit` documents behind this one (group and id; empty: from the beginning) with chunks
        of former revisions that may still speak, in order."""

    async def documents_of(self, group_id: str, chunk_uuids: Collection[str]) -> dict[str, str]:
        """The document ids of those of these episodes that are chunks."""

    async def remove_document(
        self, group_id: str, document_id: str, latest: int, erased: Erased | None = None
    ) -> bool:
        """Remove the record and what is known of its chunks, if its latest revision has this number, and note
        that for the erasure; whether it was removed."""

    async def item_statuses(self, group_id: str, uuids: Collection[str]) -> list[ItemStatus]:
        """The present states of those of these items that there are."""
