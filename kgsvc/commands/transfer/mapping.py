"""Between rows of an export and what stores move."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from kgsvc.commands.transfer import rows, shapes
from kgsvc.domain.model.beliefs import Belief
from kgsvc.domain.model.delta import FactTombstone, MergeRecord
from kgsvc.domain.model.documents import Document, Place, Revision
from kgsvc.domain.model.graph import (
    Closure,
    Entity,
    Episode,
    Evidence,
    Fact,
    Mention,
    Rewriting,
    SummaryPart,
    Usage,
)
from kgsvc.domain.model.items import ItemWarning
from kgsvc.domain.model.moving import (
    Listed,
    Moved,
    MovedDocument,
    MovedEntity,
    MovedEpisode,
    MovedFact,
    MovedItem,
    MovedMerge,
    MovedReceipt,
    MovedTombstone,
    Vectors,
)

S = TypeVar("S", bound=shapes.Shape)
T = TypeVar("T")
GroupRow = (
    rows.DocumentRow
    | rows.EntityRow
    | rows.EpisodeRow
    | rows.ReceiptRow
    | rows.TombstoneRow
    | rows.FactRow
    | rows.MergeRow
)


def line_of(row: shapes.Shape) -> bytes:
    """A row as it stands in a file, with its line break."""
    return row.model_dump_json(exclude_defaults=True).encode() + b"\n"


def row_of(moved: Moved, with_vectors: bool) -> GroupRow:
    """A row of a file."""
    return _ROWS[type(moved)](moved, with_vectors)


def moved_of(row: GroupRow, group_id: str) -> Moved:
    """What a store writes of a row that was checked."""
    return _MOVED[type(row)](row, group_id)


def _as_shape(kind: type[S], value: object, **more: Any) -> S:
    """The fields of a shape that `value` has, and these."""
    names = kind.model_fields.keys() - more.keys()
    return kind.model_construct(
        **{name: getattr(value, name) for name in names if hasattr(value, name)}, **more
    )


def _as_value(kind: type[T], shape: shapes.Shape, **more: Any) -> T:
    """A value with the fields of a shape that it has too, and these."""
    names = kind.__dataclass_fields__.keys() - more.keys()  # type: ignore[attr-defined]
    fields = {name: getattr(shape, name) for name in names & type(shape).model_fields.keys()}
    return kind(**fields, **more)


def _vector(vectors: Vectors | None, with_vectors: bool) -> shapes.VectorShape | None:
    if vectors is None or not vectors.data or not with_vectors:
        return None
    data = base64.b64encode(vectors.data).decode()
    return shapes.VectorShape.model_construct(space=vectors.space, data=data)


def _vectors(shape: shapes.VectorShape | None) -> Vectors | None:
    return None if shape is None else Vectors(shape.space, base64.b64decode(shape.data))


def _document_row(moved: MovedDocument, _with_vectors: bool) -> rows.DocumentRow:
    known = moved.document
    return _as_shape(
        rows.DocumentRow,
        known,
        row="document",
        metadata=dict(known.metadata),
        revisions=tuple(_as_shape(shapes.RevisionShape, each) for each in known.revisions),
        places=_places(moved.places),
        chunk_uuids=dict(moved.chunks),
        former=tuple(
            shapes.FormerShape.model_construct(revision=number, places=_places(places))
            for number, places in moved.former.items()
        ),
    )


def _document(row: rows.DocumentRow, group_id: str) -> MovedDocument:
    revisions = tuple(_as_value(Revision, each) for each in row.revisions)
    document = _as_value(Document, row, group_id=group_id, revisions=revisions)
    former = {each.revision: _own_places(each.places) for each in row.former}
    return MovedDocument(document, _own_places(row.places), row.chunk_uuids, former)


def _places(places: Iterable[Place]) -> tuple[shapes.PlaceShape, ...]:
    return tuple(_as_shape(shapes.PlaceShape, each) for each in places)


def _own_places(places: Iterable[shapes.PlaceShape]) -> tuple[Place, ...]:
    return tuple(_as_value(Place, each) for each in places)


def _entity_row(moved: MovedEntity, with_vectors: bool) -> rows.EntityRow:
    known = moved.entity
    return _as_shape(
        rows.EntityRow,
        known,
        row="entity",
        attributes=dict(known.attributes),
        stamps=dict(known.stamps),
        summary_parts=tuple(_as_shape(shapes.SummaryShape, each) for each in known.summary_parts),
        rewriting=known.rewriting and _as_shape(shapes.RewritingShape, known.rewriting),
        names=moved.names,
        vector=_vector(moved.vector, with_vectors),
    )


def _entity(row: rows.EntityRow, group_id: str) -> MovedEntity:
    parts = tuple(_as_value(SummaryPart, each) for each in row.summary_parts)
    rewriting = row.rewriting and _as_value(Rewriting, row.rewriting)
    entity = _as_value(Entity, row, group_id=group_id, summary_parts=parts, rewriting=rewriting)
    return MovedEntity(entity, row.names, _vectors(row.vector))


def _episode_row(moved: MovedEpisode, with_vectors: bool) -> rows.EpisodeRow:
    item = moved.item
    return _as_shape(
        rows.EpisodeRow,
        moved.episode,
        row="episode",
        item=_as_shape(
            shapes.ItemShape,
            item,
            attempts=dict(item.attempts),
            usage=_as_shape(shapes.UsageShape, item.usage),
            warnings=tuple(_as_shape(shapes.WarningShape, each) for each in item.warnings),
        ),
        found=moved.found,
        facts=moved.facts,
        mentions=tuple(_as_shape(shapes.MentionShape, each) for each in moved.mentions),
        passages=_vector(moved.passages, with_vectors),
    )


def _episode(row: rows.EpisodeRow, group_id: str) -> MovedEpisode:
    item = _as_value(
        MovedItem,
        row.item,
        usage=_as_value(Usage, row.item.usage),
        warnings=tuple(_as_value(ItemWarning, each) for each in row.item.warnings),
    )
    mentions = tuple(
        _as_value(Mention, each, group_id=group_id, episode_uuid=row.uuid) for each in row.mentions
    )
    episode = _as_value(Episode, row, group_id=group_id)
    return MovedEpisode(episode, item, row.found, row.facts, mentions, _vectors(row.passages))


def _receipt_row(moved: MovedReceipt, _with_vectors: bool) -> rows.ReceiptRow:
    items = tuple(_as_shape(shapes.ListedShape, each) for each in moved.items)
    return _as_shape(rows.ReceiptRow, moved, row="receipt", items=items)


def _receipt(row: rows.ReceiptRow, _group_id: str) -> MovedReceipt:
    return MovedReceipt(row.receipt_id, row.created_ms, tuple(_as_value(Listed, each) for each in row.items))


def _tombstone_row(moved: MovedTombstone, _with_vectors: bool) -> rows.TombstoneRow:
    return _as_shape(rows.TombstoneRow, moved.tombstone, row="tombstone", reserved=moved.reserved)


def _tombstone(row: rows.TombstoneRow, _group_id: str) -> MovedTombstone:
    return MovedTombstone(_as_value(FactTombstone, row), row.reserved)


def _fact_row(moved: MovedFact, with_vectors: bool) -> rows.FactRow:
    known = moved.fact
    return _as_shape(
        rows.FactRow,
        known,
        row="fact",
        qualifiers=dict(known.qualifiers),
        attributes=dict(known.attributes),
        evidence=tuple(_as_shape(shapes.EvidenceShape, each) for each in known.evidence),
        closures=tuple(_as_shape(shapes.ClosureShape, each) for each in known.closures),
        beliefs=tuple(_as_shape(shapes.BeliefShape, each) for each in known.beliefs),
        vector=_vector(moved.vector, with_vectors),
    )


def _fact(row: rows.FactRow, group_id: str) -> MovedFact:
    fact = _as_value(
        Fact,
        row,
        group_id=group_id,
        evidence=tuple(_as_value(Evidence, each) for each in row.evidence),
        closures=tuple(_as_value(Closure, each) for each in row.closures),
        beliefs=tuple(_as_value(Belief, each) for each in row.beliefs),
    )
    return MovedFact(fact, _vectors(row.vector))


def _merge_row(moved: MovedMerge, _with_vectors: bool) -> rows.MergeRow:
    return _as_shape(rows.MergeRow, moved.record, row="merge")


def _merge(row: rows.MergeRow, group_id: str) -> MovedMerge:
    return MovedMerge(_as_value(MergeRecord, row, group_id=group_id))


_ROWS: Mapping[type[Moved], Callable[[Any, bool], GroupRow]] = {
    MovedDocument: _document_row,
    MovedEntity: _entity_row,
    MovedEpisode: _episode_row,
    MovedReceipt: _receipt_row,
    MovedTombstone: _tombstone_row,
    MovedFact: _fact_row,
    MovedMerge: _merge_row,
}
_MOVED: Mapping[type[GroupRow], Callable[[Any, str], Moved]] = {
    rows.DocumentRow: _document,
    rows.EntityRow: _entity,
    rows.EpisodeRow: _episode,
    rows.ReceiptRow: _receipt,
    rows.TombstoneRow: _tombstone,
    rows.FactRow: _fact,
    rows.MergeRow: _merge,
}
