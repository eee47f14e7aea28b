"""Rows as records: what every store reads alike, and the texts as which both keep documents."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import astuple
from typing import Any

from kgsvc.domain.model.communities import BuildState, CommunityBuild
from kgsvc.domain.model.documents import Document, Place, Revision
from kgsvc.domain.model.erasures import Erasure, ErasureKind
from kgsvc.domain.model.fills import Reembedding
from kgsvc.domain.model.graph import FREE, Usage
from kgsvc.domain.model.items import CRASH, ItemState, ItemStatus, ItemWarning, Step
from kgsvc.domain.resolution.decisions import FROM_THE_FIRST, VectorPage, VectorsAfter

_PLAIN = (
    *("document_id", "current", "title", "source_url", "author"),
    *("created_ms", "updated_ms", "chars", "chunks"),
)
_ATTEMPTS = (Step.EXTRACT.value, Step.EMBED.value, Step.UPSERT.value, CRASH)
Row = Sequence[Any]


def document_text(document: Document) -> str:
    """The record as a JSON object."""
    values: dict[str, Any] = {name: getattr(document, name) for name in _PLAIN}
    values["metadata"] = dict(document.metadata)
    values["revisions"] = [astuple(each) for each in document.revisions]
    return json.dumps(values, ensure_ascii=False, separators=(",", ":"))


def document_of(group_id: str, text: str, is_open: int | bool | None) -> Document:
    """From what `document_text` made. `is_open`: it is not settled, which stores keep beside it."""
    values = json.loads(text)
    revisions = tuple(Revision(*each) for each in values.pop("revisions"))
    return Document(group_id=group_id, revisions=revisions, settled=not is_open, **values)


def places_text(places: Sequence[Place]) -> str:
    """As a JSON list."""
    return json.dumps([place.row() for place in places], ensure_ascii=False, separators=(",", ":"))


def places_of(text: str) -> tuple[Place, ...]:
    """From what `places_text` made; none for an empty text."""
    return tuple(Place.of(row) for row in json.loads(text)) if text else ()


def erasure_of(row: Row) -> Erasure:
    """From its id, group, kind, times and uuid; the counts are JSON."""
    erasure_id, group_id, kind, asked_ms, uuid, removed, completed_ms = row
    counts = None if removed is None else json.loads(removed)
    return Erasure(erasure_id, group_id, ErasureKind(kind), asked_ms, uuid, counts, completed_ms)


def build_of(row: Row) -> CommunityBuild:
    """From its id, group, state, times, progress and reason."""
    build_id, group_id, state, *more = row
    return CommunityBuild(build_id, group_id, BuildState(state), *more)


def status_of(known: Row, spent: Row, warnings: str) -> ItemStatus:
    """What can be asked of an item. `spent`: calls and tokens; `warnings`: a JSON list."""
    group_id, uuid, state, receipt_id, updated_ms, name, attempts, step, reason = known
    rest = (receipt_id, updated_ms, name, attempts, None if step is None else Step(step), reason)
    usage = Usage(*spent) if any(spent) else FREE
    warned = () if warnings == "[]" else tuple(ItemWarning(*each) for each in json.loads(warnings))
    return ItemStatus(group_id, uuid, ItemState(state), *rest, usage=usage, warnings=warned)


def warnings_text(warnings: Sequence[ItemWarning]) -> str:
    """As a JSON list."""
    return json.dumps([astuple(each) for each in warnings], ensure_ascii=False, separators=(",", ":"))


def attempts_of(counts: Row) -> dict[str, int]:
    """From the counts of extracting, embedding, upserting and crashes."""
    return {name: count for name, count in zip(_ATTEMPTS, counts, strict=True) if count}


def vector_page(after: VectorsAfter, epoch: int, rows: Sequence[Row]) -> VectorPage:
    """From rows of revision, uuid and vector."""
    place = after.place if after.epoch == epoch else FROM_THE_FIRST
    if rows:
        *_, (rev, last, _vector) = rows
        place = (rev, last)
    vectors = tuple((uuid, vector) for _rev, uuid, vector in rows)
    return VectorPage(epoch, place, vectors, more=len(rows) == after.limit)


def reembedding(row: Row) -> Reembedding:
    """From a row of the group, the space in use, the next one, how many rows were embedded, the group's
    revision and those up to which texts and facts were looked through."""
    group_id, former, space, embedded, rev, texts_rev, facts_rev = row
    share = min(1.0, (texts_rev + facts_rev) / (2 * max(rev, 1)))
    return Reembedding(group_id, former, space, embedded, share)
