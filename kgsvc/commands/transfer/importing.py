"""Writing what was checked to a store, page by page, out of sight until all is there."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path

from kgsvc.commands.transfer.checking import PARTS, CheckedFile, check, lines_of, row_of_line
from kgsvc.commands.transfer.content import PAGE, Hash, TransferError
from kgsvc.commands.transfer.exporting import OnRows
from kgsvc.commands.transfer.mapping import moved_of
from kgsvc.domain.errors import Conflict
from kgsvc.domain.limits import Limits
from kgsvc.domain.model.moving import ImportEnd, ImportPage, ImportStart, Moved, RowKind
from kgsvc.runtime import Clock
from kgsvc.stores.transfer_protocol import TransferStore

_PAGE_BYTES = 4 * 1024 * 1024


async def import_file(
    store: TransferStore, path: Path, limits: Limits, clock: Clock, on_rows: OnRows
) -> CheckedFile:
    """Make the group of the file, unless there is one with content. Nothing is written unless all of the file
    is right, and nothing is seen until all is written. An interrupted run is gone on with. Raises
    TransferError, StoreUnavailable, OSError."""
    checked = await asyncio.to_thread(check, path, limits)
    try:
        async with aclosing(written(store, path, checked, clock)) as pages:
            async for lines in pages:
                on_rows(lines)
    except Conflict as error:
        raise TransferError(f"{checked.header.group_id}: {error.message}") from error
    return checked


async def written(
    store: TransferStore, path: Path, checked: CheckedFile, clock: Clock, keepers: tuple[str, ...] = ()
) -> AsyncGenerator[int, None]:
    """Write a file that was checked, from where an interrupted run came to: page by page how many of its
    lines are written. At the end the group is in sight. `keepers`: for whose quotas its bodies are counted.
    Raises Conflict (it has content, or another import of it is under way), TransferError (the file changed
    since), StoreUnavailable, OSError."""
    group_id = checked.header.group_id
    start = ImportStart(group_id, checked.sha256, checked.counts["episode"], clock.now_ms())
    done = await store.begin_import(start)
    sums = hashlib.sha256()
    pages = _pages(path, checked, done, sums, keepers)
    while (page := await asyncio.to_thread(next, pages, None)) is not None:
        await store.write_import(page)
        yield page.upto
    if sums.hexdigest() != checked.sha256:
        raise TransferError("the file changed while it was read; nothing of it is in sight")
    end = ImportEnd(group_id, checked.sha256, checked.header.last_ms, checked.ontology, clock.now_ms())
    await store.end_import(end)


@dataclass(slots=True)
class _Gathered:
    """Rows of one kind."""

    part: str
    rows: list[Moved]
    ranks: dict[str, int]
    size: int = 0

    @property
    def full(self) -> bool:
        """Whether they are a page."""
        return len(self.rows) >= PAGE[RowKind(self.part)] or self.size >= _PAGE_BYTES


def _pages(
    path: Path, checked: CheckedFile, done: int, sums: Hash, keepers: tuple[str, ...]
) -> Iterator[ImportPage]:
    """What is behind line `done`. Raises FileRefused, OSError."""
    group_id, after, upto = checked.header.group_id, done, done
    gathered: _Gathered | None = None
    for number, line in lines_of(path, sums):
        if number <= done:
            continue
        row = row_of_line(number, line)
        if row.row not in PARTS:
            continue
        if gathered is not None and (gathered.full or gathered.part != row.row):
            yield _page(checked, after, upto, gathered, keepers)
            after, gathered = upto, None
        gathered = gathered or _Gathered(row.row, [], {})
        gathered.rows.append(moved_of(row, group_id))
        gathered.size += len(line)
        if row.row == RowKind.EPISODE:
            gathered.ranks[row.uuid] = int(checked.ranks[number - checked.first_episode])
        upto = number
    if gathered is not None:
        yield _page(checked, after, upto, gathered, keepers)


def _page(
    checked: CheckedFile, after: int, upto: int, gathered: _Gathered, keepers: tuple[str, ...]
) -> ImportPage:
    group_id, import_id = checked.header.group_id, checked.sha256
    return ImportPage(group_id, import_id, after, upto, tuple(gathered.rows), gathered.ranks, keepers)
