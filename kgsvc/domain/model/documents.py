"""Documents: what is known of one, and where its chunks stand in its present text.

A chunk is an episode that never changes. Where it stands belongs to the revision of the document: a word that
is inserted before it moves it and changes nothing of what was read from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

REVISIONS_KEPT = 100  # former ones that a document remembers, by their digests


@dataclass(frozen=True, slots=True)
class Place:
    """Where a chunk stands in a text. Offsets are characters, half-open; the order is that of the list."""

    chunk_uuid: str
    start: int
    end: int
    own_start: int  # what is before it, the chunk before has too (the overlap)
    tokens: int
    page: int | None = None  # on which it begins, from 1; None where the format has no pages
    headings: tuple[str, ...] = ()  # above it, the outermost first
    last_page: int | None = None  # on which it ends

    def row(self) -> list[Any]:
        """As stores keep it."""
        at = [self.chunk_uuid, self.start, self.end, self.own_start, self.tokens]
        return [*at, self.page, list(self.headings), self.last_page]

    @staticmethod
    def of(row: list[Any]) -> Place:
        """From what `row` made."""
        uuid, start, end, own_start, tokens, page, headings, last_page = row
        return Place(uuid, start, end, own_start, tokens, page, tuple(headings), last_page)


@dataclass(frozen=True, slots=True)
class Revision:
    """One text of a document."""

    number: int  # in order of arrival, from 1
    content_hash: str
    reference_ms: int
    created_ms: int  # when it was accepted


@dataclass(frozen=True, slots=True)
class Document:
    """A document of a group, without its text, which its chunks hold.

    `current` is the number of the revision that counts; one that arrived late, with an older reference time,
    has a greater number and does not count.
    """

    group_id: str
    document_id: str
    revisions: tuple[Revision, ...]  # the latest `REVISIONS_KEPT`, in order of arrival
    current: int
    title: str | None = None
    source_url: str | None = None
    author: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    created_ms: int = 0
    updated_ms: int = 0  # when a revision last became current
    chars: int = 0
    chunks: int = 0  # places in the text
    settled: bool = True  # False: chunks of former revisions may still speak

    @property
    def latest(self) -> int:
        """The number of the revision that arrived last."""
        return self.revisions[-1].number

    @property
    def revision(self) -> Revision:
        """The one that counts."""
        return next(each for each in self.revisions if each.number == self.current)


class DocumentState(StrEnum):
    """How far the chunks of a document's present text are."""

    PENDING = "pending"  # none was begun
    PROCESSING = "processing"
    PROCESSED = "processed"  # all are in the graph
    FAILED = "failed"  # all are done, and some are parked


@dataclass(frozen=True, slots=True)
class Progress:
    """Chunks of a document's present text, each counted once however often it stands there."""

    total: int
    in_graph: int
    parked: int
    begun: int  # beyond ACCEPTED, the others included
    reason: str | None = None  # why the first parked one is

    @property
    def state(self) -> DocumentState:
        """See DocumentState."""
        if self.in_graph == self.total:
            return DocumentState.PROCESSED
        if self.in_graph + self.parked == self.total:
            return DocumentState.FAILED
        return DocumentState.PROCESSING if self.begun else DocumentState.PENDING
