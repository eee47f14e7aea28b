"""What comes in and goes: items with receipts and quotas, documents, erasures; part of stores/protocol.py and
under its general promises."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, Protocol, TypeVar

from kgsvc.domain.limits import Allowance, Counter
from kgsvc.domain.model.delta import Erased
from kgsvc.domain.model.documents import Document, Place
from kgsvc.domain.model.erasures import Erasure
from kgsvc.domain.model.items import AcceptBatch, Accepted, ItemState, ItemStatus, Receipt
from kgsvc.domain.model.modes import ServiceModes

T = TypeVar("T")
Unsettled = tuple[str, str]  # group_id and document_id


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """A page of a listing and where the next begins (None: it was the last)."""

    rows: tuple[T, ...]
    next_token: str | None = None


@dataclass(frozen=True, slots=True)
class QueueDepth:
    """How much is waiting, in all groups."""

    unfinished: int
    parked: int
    oldest_accepted_ms: int | None  # of an unfinished item


@dataclass(frozen=True, slots=True)
class OpenWork:
    """What is to be done besides items. Not known: there may be some of each."""

    documents: bool = True  # with chunks of former revisions that may still speak
    builds: bool = True  # of communities
    fills: bool = True
    erasures: bool = True
    erased_ms: int | None = None  # when the latest erasure was asked for, also of those that are over


class Activity(NamedTuple):
    """What whoever waits for changes has to know.

    The numbers differ after what they stand for has happened since, and may differ after more.
    """

    work: int  # there may be more to begin: accepted, retried, resumed, switched on, requested, deleted
    changes: int  # that, or items have changed state
    modes: ServiceModes = ServiceModes()
    depth: QueueDepth = QueueDepth(0, 0, None)
    open: OpenWork = OpenWork()


class IntakeStore(Protocol):
    """Accepting items and showing what became of them."""

    async def accept(self, batches: Sequence[AcceptBatch]) -> list[Accepted | Exception]:
        """Accept calls, each whole or not at all, all in one durable commit where possible.

        One result a batch, in order: Accepted, Conflict (a uuid is known with another content_hash, naming
        `items[i].uuid`; an idempotency key with another input_hash) or Overloaded (the queue is full).
        Creates the group, the episodes (readable at once), the items in state ACCEPTED and the receipt.
        An item that the group's epoch has already, or that the batch names twice, is a duplicate and is
        answered with its present state. A key that is known in its group and operation returns, within the
        window, the first answer with every item a duplicate. When all items are duplicates of one receipt
        that lists as many, and that receipt is still there when an answer given now lapses, it is returned;
        otherwise the batch gets its own. Takes no group lock.
        QuotaExceeded: new items go beyond one of the batch's allowances. Those that are accepted are counted
        in the same commit; duplicates are free.
        """

    async def used(self, counters: Collection[Counter]) -> dict[Counter, int]:
        """What is counted under these counters of quotas; those that never were are absent. Of an item its
        tokens count as set aside until it ends, or as spent if that is more; from then on as spent. Its
        bytes count until its episode is removed."""

    async def spend(
        self, allowances: Sequence[Allowance], tokens: int, now_ms: int, within: bool = True
    ) -> None:
        """Count tokens of models that no item stands for; fewer than 0 are given back. QuotaExceeded if they
        go beyond one of the allowances, and `within` asks for that: then nothing is counted."""

    async def receipt(self, receipt_id: str) -> Receipt | None:
        """A receipt with its items' present states; items gone with their episode show DELETED."""

    async def list_items(
        self, group_id: str, states: Collection[ItemState], limit: int, token: str | None
    ) -> Page[ItemStatus]:
        """Items of the group's epoch in order of acceptance; no states: all. InvalidArgument: bad token."""

    async def retry_items(self, group_id: str, uuids: Collection[str] | None, now_ms: int) -> list[str]:
        """Parked items (None: all of the group) become ACCEPTED with no attempts, suspicion, reason or
        stage; returns their uuids. Items that are not parked are left alone."""

    async def remove_receipts(self, before_ms: int, after: str, limit: int) -> str | None:
        """Look at the next receipts behind a place ("": from the oldest on), `limit` at most, and remove
        those made before this time of which no item is unfinished or parked, with the ends of deleted groups'
        items that only they showed. Their other items stay, and name no receipt. The place reached; None: no
        more are old enough."""

    async def activity(self) -> Activity:
        """One cheap read, for the one poller of a process (docs/ingestion.md)."""


class DocumentStore(Protocol):
    """Documents of a group's present epoch. Those of unknown groups are none.

    The record of a document and its chunks are written one after the other: first the record with the places
    of its chunks, then the chunks are accepted as items. Whoever is interrupted in between sends the document
    again.
    """

    async def document(self, group_id: str, document_id: str) -> Document | None:
        """The document's record."""

    async def documents(self, group_id: str, limit: int, after: str) -> list[Document]:
        """The first `limit` documents behind the id `after` ("": from the beginning), by document_id in the
        order of code points."""

    async def places(self, group_id: str, document_id: str, revision: int | None = None) -> tuple[Place, ...]:
        """Where the chunks of the present text stand, in its order, or those of the former text that had this
        number; none of an unknown document, nor of a text that is not kept."""

    async def former_texts(self, group_id: str, document_id: str) -> list[int]:
        """The numbers of the former texts whose places are kept, in order."""

    async def put_document(self, document: Document, places: Sequence[Place] | None, expected: int) -> None:
        """Write the record, and unless None the places, whose chunks become active; those of the text before
        are kept as long as the record names its revision. `expected`: the number of the latest revision that
        was read, 0 where there was no document. RevisionChanged: it is another one now. Creates the group's
        record if needed."""

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


class ErasureStore(Protocol):
    """Erasures and their receipts.

    An erasure is written down, then its rows are removed, then the store's files are freed of what the engine
    leaves behind rows. Each step may be repeated: whoever finds an erasure that is not over carries it on.
    """

    async def begin_erasures(self, erasures: Sequence[Erasure]) -> None:
        """Write them down, all in one transaction. One that is known is left as it is."""

    async def erasure(self, erasure_id: str) -> list[Erasure]:
        """Its parts by group_id; none if it is not known."""

    async def erasures(self, open_limit: int, since_ms: int | None = None) -> list[Erasure]:
        """The oldest parts that are not completed, so many of them; and all parts that were asked for at
        `since_ms` or later and whose rows are removed. By the time at which they were asked for."""

    async def ended_facts(self, group_id: str, before_ms: int, limit: int) -> list[str]:
        """Facts that had ceased to hold, or were replaced or withdrawn, before this time: whichever was
        first; the longest ago first."""

    async def removed(self, erasure_id: str, group_id: str, counts: Mapping[str, int]) -> None:
        """Note that the rows of a part are gone, if that was not noted; these counts are added to those of
        changes that said that the erasure goes on. `delete_group`, `apply` and `remove_document` note what
        they remove themselves, in the transaction that puts the rows out of sight."""

    async def free_erased(self, now_ms: int) -> int:
        """Remove what deleted groups still have, free the store's own files of what removed rows left in
        them, then note as completed the parts whose rows were removed before it began; how many.
        StoreUnavailable: other processes read on for too long; try again."""
