"""An export as a stream of bytes, for callers who cannot open the store. A stream that broke is gone on with.

The last row holds a hash of all bytes before it, which nobody can begin in the middle: who goes on has the
rows read again from the first, and is sent those that are missing.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field

from kgsvc.commands.core import page_token, parts_of
from kgsvc.commands.transfer.content import (
    ExportingStore,
    ExportState,
    GroupChanged,
    Hash,
    header_of,
    lines_of_page,
    pages_of,
    state_of,
)
from kgsvc.commands.transfer.mapping import line_of
from kgsvc.commands.transfer.rows import EndRow, HeaderRow, OntologyRow
from kgsvc.domain.errors import InvalidArgument, Violation

_DIGEST_CHARS = 32
_LATEST_MS = 2**47  # later than any clock


@dataclass(frozen=True, slots=True)
class ExportPiece:
    """The next bytes of an export."""

    data: bytes
    offset: int  # how many bytes there are up to its end
    cursor: str  # goes on behind it
    rows: Mapping[str, int] | None = None  # of each kind; of the last piece alone


@dataclass(frozen=True, slots=True)
class ExportBegun:
    """Where a cursor stands: when the export began, of what, and how many bytes of it are there."""

    exported_ms: int
    digest: str
    offset: int


def begun_of(cursor: str) -> ExportBegun:
    """Raises InvalidArgument."""
    match parts_of(cursor):
        case ["export", int(exported_ms), str(digest), int(offset)] if (
            0 <= exported_ms < _LATEST_MS and offset >= 0
        ):
            return ExportBegun(exported_ms, digest, offset)
    raise _no_cursor()


def _no_cursor() -> InvalidArgument:
    problem = "is not a cursor of this operation"
    return InvalidArgument(f"cursor: {problem}", [Violation("cursor", problem)])


@dataclass(frozen=True, slots=True)
class ExportAsked:
    """What a caller wants: a group, read by which version of the service and when, and where to go on."""

    group_id: str
    with_vectors: bool
    version: str
    now_ms: int
    begun: ExportBegun | None = None


async def stream_export(
    store: ExportingStore, asked: ExportAsked, most_bytes: int
) -> AsyncGenerator[ExportPiece, None]:
    """The group as `export` writes it, in pieces of at most so many bytes. Raises NoSuchGroup, GroupChanged
    (also: since the export that is gone on with began), InvalidArgument, StoreUnavailable."""
    group_id, begun = asked.group_id, asked.begun
    before = await state_of(store, group_id)
    exported_ms = asked.now_ms if begun is None else begun.exported_ms
    origin = {"kgsvc": asked.version, "exported_ms": exported_ms}
    header = header_of(group_id, before, origin, asked.with_vectors)
    growing = _Growing(exported_ms, _digest(header, before), most_bytes)
    if begun is not None:
        if begun.digest != growing.digest:
            raise GroupChanged(group_id)
        growing.skip = begun.offset
    for piece in growing.add(line_of(header)):
        yield piece
    yaml = await store.ontology(group_id)
    if yaml is not None:
        growing.counts["ontology"] += 1
        for piece in growing.add(line_of(OntologyRow(row="ontology", yaml=yaml))):
            yield piece
    async with aclosing(pages_of(store, group_id)) as pages:
        async for kind, page in pages:
            growing.counts[kind.value] += len(page)
            lines = await asyncio.to_thread(lines_of_page, page, asked.with_vectors)
            for piece in growing.add(lines):
                yield piece
    if await state_of(store, group_id) != before:
        raise GroupChanged(group_id)
    for piece in growing.end():
        yield piece


def _digest(header: HeaderRow, state: ExportState) -> str:
    """Of all that makes the export what it is."""
    text = f"{header.model_dump_json()}{state}"
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGEST_CHARS]


@dataclass(slots=True)
class _Growing:
    """How far an export is."""

    exported_ms: int
    digest: str
    most_bytes: int
    skip: int = 0  # bytes that the caller has
    counts: Counter[str] = field(default_factory=Counter)
    _offset: int = 0
    _sums: Hash = field(default_factory=hashlib.sha256)

    def add(self, lines: bytes) -> Iterator[ExportPiece]:
        """What of these the caller lacks."""
        self._sums.update(lines)
        start = max(0, self.skip - self._offset)
        before, self._offset = self._offset, self._offset + len(lines)
        for at in range(start, len(lines), self.most_bytes):
            data = lines[at : at + self.most_bytes]
            yield self._piece(data, before + at + len(data))

    def end(self) -> Iterator[ExportPiece]:
        """The last row. The last piece says how many there are; it may be empty. Raises InvalidArgument."""
        end = EndRow(row="end", rows=dict(self.counts), sha256=self._sums.hexdigest())
        yield from self.add(line_of(end))
        if self.skip > self._offset:
            raise _no_cursor()
        last = self._piece(b"", self._offset)
        yield ExportPiece(last.data, last.offset, last.cursor, dict(self.counts))

    def _piece(self, data: bytes, offset: int) -> ExportPiece:
        return ExportPiece(data, offset, page_token("export", self.exported_ms, self.digest, offset))
