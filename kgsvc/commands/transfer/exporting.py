"""Writing a group to a file, page by page. A file that was begun is gone on with."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from pydantic import ValidationError

from kgsvc.commands.transfer.content import (
    ExportingStore,
    GroupChanged,
    Hash,
    TransferError,
    header_of,
    pages_of,
    state_of,
)
from kgsvc.commands.transfer.mapping import GroupRow, line_of, row_of
from kgsvc.commands.transfer.rows import ROW, EndRow, HeaderRow, OntologyRow
from kgsvc.domain.model.moving import Moved, RowKind

OnRows = Callable[[int], None]  # how many rows are written


async def export(
    store: ExportingStore,
    group_id: str,
    path: Path,
    header: Mapping[str, object],
    with_vectors: bool,
    on_rows: OnRows,
) -> Counter[str]:
    """Write the group to `path`, which appears when all is in it; how many rows of each kind. What an
    interrupted run left beside it (`.partial`) is gone on with, unless the group changed since. Raises
    TransferError (there is no such group, or it changed meanwhile), StoreUnavailable, OSError."""
    before = await state_of(store, group_id)
    first = header_of(group_id, before, header, with_vectors)
    writing = _Writing(path.with_name(f"{path.name}.partial"), first)
    await asyncio.to_thread(writing.begin)
    try:
        await _write(store, group_id, writing, on_rows)
        if await state_of(store, group_id) != before:
            await asyncio.to_thread(writing.path.unlink)
            raise GroupChanged(group_id)
        await asyncio.to_thread(writing.end, path)
    finally:
        await asyncio.to_thread(writing.close)
    return writing.counts


async def _write(store: ExportingStore, group_id: str, writing: _Writing, on_rows: OnRows) -> None:
    if not writing.place.part and not writing.counts["ontology"]:
        yaml = await store.ontology(group_id)
        if yaml is not None:
            await asyncio.to_thread(writing.add, [OntologyRow(row="ontology", yaml=yaml)])
    async with aclosing(pages_of(store, group_id, writing.place.part, writing.place.key)) as pages:
        async for _, page in pages:
            await asyncio.to_thread(writing.add_page, page)
            on_rows(writing.counts.total())


@dataclass(slots=True)
class _ExportPlace:
    """How far a file goes: the kind and key of its last row."""

    part: str = ""
    key: str = ""


_BEGINNING = b'{"row":"header"'  # of every file
# By which rows are in order, unless by uuid.
KEYS = {RowKind.DOCUMENT: "document_id", RowKind.RECEIPT: "receipt_id", RowKind.MERGE: "merge_id"}


@dataclass(slots=True)
class _Writing:
    """The file that grows. All of its methods block."""

    path: Path
    header: HeaderRow
    counts: Counter[str] = field(default_factory=Counter)
    place: _ExportPlace = field(default_factory=_ExportPlace)
    _sums: Hash = field(default_factory=hashlib.sha256)
    _file: BinaryIO | None = None

    def begin(self) -> None:
        """Open it, for its owner only, and stand behind the last whole line of what is there. Raises
        TransferError, OSError."""
        number = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600)
        self._file = os.fdopen(number, "r+b")
        if self._file.read(len(_BEGINNING)) not in (b"", _BEGINNING):
            self._file.close()
            raise TransferError(f"{self.path} is no export that was begun: remove it")
        self._file.seek(0)
        self._resume(self._file)

    def close(self) -> None:
        """Release the file."""
        if self._file is not None:
            self._file.close()

    def add_page(self, page: Sequence[Moved]) -> None:
        """Write rows, so that they are there if the process dies."""
        self.add([row_of(moved, self.header.vectors) for moved in page])
        self.place.key = page[-1].key

    def add(self, rows: Sequence[GroupRow | OntologyRow]) -> None:
        """Write rows."""
        assert self._file is not None
        for row in rows:
            line = line_of(row)
            self._file.write(line)
            self._sums.update(line)
            self.counts[row.row] += 1
        self._file.flush()
        if rows[-1].row != "ontology":
            self.place.part = rows[-1].row

    def end(self, path: Path) -> None:
        """Write the last line, for good, and give the file its name."""
        assert self._file is not None
        end = EndRow(row="end", rows=dict(self.counts), sha256=self._sums.hexdigest())
        self._file.write(line_of(end))
        self._file.flush()
        os.fsync(self._file.fileno())
        self.path.rename(path)
        _sync(path.parent)

    def _resume(self, file: BinaryIO) -> None:
        """Read what is there, if it is of the same moment of the same group; else begin anew."""
        whole = 0
        for line in file:
            row = _row(line)
            if row is None or (whole == 0 and not self._is_ours(row)) or isinstance(row, EndRow):
                break
            whole += len(line)
            self._sums.update(line)
            if not isinstance(row, HeaderRow):
                self.counts[row.row] += 1
                if not isinstance(row, OntologyRow):
                    part = RowKind(row.row)
                    self.place.part, self.place.key = part, getattr(row, KEYS.get(part, "uuid"))
        file.seek(whole)
        file.truncate()
        if whole == 0:
            line = line_of(self.header)
            file.write(line)
            self._sums.update(line)

    def _is_ours(self, row: object) -> bool:
        if not isinstance(row, HeaderRow):
            return False
        return row.model_copy(update={"exported_ms": self.header.exported_ms}) == self.header


def _row(line: bytes) -> Any:
    """None: it is not whole."""
    if not line.endswith(b"\n"):
        return None
    try:
        return ROW.validate_json(line)
    except ValidationError:
        return None


def _sync(folder: Path) -> None:
    number = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
