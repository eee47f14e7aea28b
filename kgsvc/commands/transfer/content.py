"""What an export holds, page by page, whether it goes into a file or to a caller."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from kgsvc.commands.transfer.mapping import line_of, row_of
from kgsvc.commands.transfer.rows import HeaderRow
from kgsvc.commands.transfer.shapes import FORMAT, FORMAT_VERSION
from kgsvc.domain.errors import Conflict, KgError, NotFound, Violation
from kgsvc.domain.model.delta import GroupHead
from kgsvc.domain.model.keys import fingerprint
from kgsvc.domain.model.moving import Moved, RowKind
from kgsvc.domain.text import NORMALISER_VERSION
from kgsvc.stores.protocol import AdminStore, GroupSize
from kgsvc.stores.search_protocol import SearchStore
from kgsvc.stores.transfer_protocol import TransferStore

# Rows of a page: together some MiB at most, if bodies and records are as large as they may be.
PAGE: Mapping[RowKind, int] = {
    RowKind.DOCUMENT: 8,
    RowKind.ENTITY: 250,
    RowKind.EPISODE: 50,
    RowKind.RECEIPT: 200,
    RowKind.TOMBSTONE: 500,
    RowKind.FACT: 250,
    RowKind.MERGE: 20,
}


class Hash(Protocol):
    """Of hashlib."""

    def update(self, data: bytes, /) -> None:
        """The next bytes."""

    def hexdigest(self) -> str:
        """Of all so far."""


class TransferError(KgError):
    """A group cannot be exported or imported; the text says why."""


class NoSuchGroup(TransferError, NotFound):
    """There is nothing to export."""

    def __init__(self, group_id: str) -> None:
        super().__init__(f"there is no group {group_id}", [Violation("group_id", "names no group")])


class GroupChanged(TransferError, Conflict):
    """What was exported so far is not of the same moment as the rest would be."""

    def __init__(self, group_id: str) -> None:
        problem = "changed while it was exported: try again when nothing is written to it"
        super().__init__(f"{group_id} {problem}", [Violation("group_id", problem)])


class ExportingStore(TransferStore, SearchStore, AdminStore, Protocol):
    """What an export asks of a store."""


@dataclass(frozen=True, slots=True)
class ExportState:
    """By what a change of the group is noticed."""

    head: GroupHead
    size: GroupSize


async def state_of(store: ExportingStore, group_id: str) -> ExportState:
    """How the group is now. Raises NoSuchGroup, StoreUnavailable."""
    sizes = await store.group_sizes(group_id, f"{group_id}\0", 1)
    heads = await store.heads([group_id])
    if not sizes:
        raise NoSuchGroup(group_id)
    return ExportState(heads[group_id], sizes[0])


def header_of(
    group_id: str, state: ExportState, header: Mapping[str, object], with_vectors: bool
) -> HeaderRow:
    """The first row of an export; `header` says by which version of the service and when."""
    return HeaderRow.model_validate(
        {
            "row": "header",
            "format": FORMAT,
            "version": FORMAT_VERSION,
            "group_id": group_id,
            "normaliser": NORMALISER_VERSION,
            "digest_key": fingerprint(),
            "epoch": state.head.epoch,
            "rev": state.head.rev,
            "last_ms": state.head.last_ms,
            "vectors": with_vectors,
            **header,
        }
    )


async def pages_of(
    store: TransferStore, group_id: str, part: str = "", after: str = ""
) -> AsyncGenerator[tuple[RowKind, Sequence[Moved]], None]:
    """The rows of a group in the order of exports with their kind, all or those behind the row of kind `part`
    with the key `after`. Raises StoreUnavailable."""
    parts = list(RowKind)
    begun = parts.index(RowKind(part)) if part else 0
    for kind in parts[begun:]:
        key = after if kind == part else ""
        while page := await store.moving(group_id, kind, key, PAGE[kind]):
            yield kind, page
            key = page[-1].key


def lines_of_page(page: Sequence[Moved], with_vectors: bool) -> bytes:
    """Rows as they stand in an export."""
    return b"".join(line_of(row_of(moved, with_vectors)) for moved in page)
