"""The rows of an export, as docs/export.schema.json publishes them: one JSON object a line.

Fields that are left out are at their defaults. Times are milliseconds since the epoch, UTC.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import (
    Field,
    StringConstraints,
    TypeAdapter,
    ValidationError,
    field_validator,
    model_validator,
)

from kgsvc.commands.transfer.shapes import (
    CLEAN,
    BeliefShape,
    ClosureShape,
    Count,
    EvidenceShape,
    FormerShape,
    Hash,
    Id,
    ItemShape,
    Json,
    ListedShape,
    MentionShape,
    Ms,
    Number,
    OptionalId,
    PlaceShape,
    RevisionShape,
    RewritingShape,
    Shape,
    Stamp,
    SummaryShape,
    Text,
    UndoShape,
    VectorShape,
    Weight,
    reason_of,
)
from kgsvc.domain.model.graph import FactKind, Polarity, RoleType, Source
from kgsvc.domain.text import normalise


class HeaderRow(Shape):
    """The first line: whose rows follow, and what their keys depend on."""

    row: Literal["header"]
    format: Literal["kgsvc-export"]
    version: Count
    group_id: Annotated[str, StringConstraints(min_length=1, max_length=1_024, pattern=CLEAN)]
    kgsvc: Annotated[str, StringConstraints(max_length=64)]
    normaliser: Count  # of the version by which names are compared
    digest_key: Number  # fingerprint of the key of digests and uuids; 0: none
    epoch: Count  # of the group as it was
    rev: Count
    last_ms: Ms  # system time of its last change
    exported_ms: Ms
    vectors: bool


class OntologyRow(Shape):
    """The group's own ontology."""

    row: Literal["ontology"]
    yaml: Text


class DocumentRow(Shape):
    """A document without its text, which its chunks hold."""

    row: Literal["document"]
    document_id: Id
    revisions: Annotated[tuple[RevisionShape, ...], Field(min_length=1)]
    current: Count
    title: Text | None = None
    source_url: Text | None = None
    author: Text | None = None
    metadata: Json = Field(default={})
    created_ms: Ms = 0
    updated_ms: Ms = 0
    chars: Count = 0
    chunks: Count = 0
    settled: bool = True
    places: tuple[PlaceShape, ...] = ()
    chunk_uuids: dict[Id, bool] = Field(default={})  # every chunk that it had; false: it speaks no longer
    former: tuple[FormerShape, ...] = ()

    @model_validator(mode="after")
    def _is_one(self) -> DocumentRow:
        if self.current not in {each.number for each in self.revisions}:
            raise ValueError("current names no revision")
        return self


class EntityRow(Shape):
    """An entity with all names that lead to it, in the form in which names are compared."""

    row: Literal["entity"]
    uuid: Id
    name: Text
    created_ms: Ms
    summary: Text = ""
    attributes: Json = Field(default={})
    labels: tuple[Text, ...] = ()
    source_episode_uuid: OptionalId = ""
    updated_ms: Ms = 0
    stamps: dict[str, Stamp] = Field(default={})
    summary_parts: tuple[SummaryShape, ...] = ()
    rewriting: RewritingShape | None = None
    names: tuple[Text, ...] = ()
    vector: VectorShape | None = None

    @field_validator("names")
    @classmethod
    def _comparable(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        if any(not name or normalise(name) != name for name in names):
            raise ValueError("holds a name that is not as names are compared")
        return names


class EpisodeRow(Shape):
    """An episode with its item, the facts that it states and the entities that it names."""

    row: Literal["episode"]
    uuid: Id
    body: Text
    source: Source
    reference_ms: Ms
    created_ms: Ms
    name: Text | None = None
    source_description: Text | None = None
    role_type: RoleType | None = None
    role: Text | None = None
    content_hash: Hash = ""
    item: ItemShape
    found: bool = False  # whether searches return it
    facts: tuple[Id, ...] = ()
    mentions: tuple[MentionShape, ...] = ()
    passages: VectorShape | None = None


class ReceiptRow(Shape):
    """The items of one call."""

    row: Literal["receipt"]
    receipt_id: Id
    created_ms: Ms
    items: tuple[ListedShape, ...]


class TombstoneRow(Shape):
    """A fact that was removed: a digest of its text; `reserved`: it went to another slot."""

    row: Literal["tombstone"]
    uuid: Id
    slot: Hash
    fact: Hash
    deleted_ms: Ms
    reserved: bool = False


class FactRow(Shape):
    """A fact on both time axes, with its statements, contradictions and former beliefs."""

    row: Literal["fact"]
    uuid: Id
    name: Text
    fact: Text
    source_uuid: Id
    target_uuid: Id
    source_name: Text
    target_name: Text
    created_ms: Ms
    reference_ms: Ms
    slot: Hash
    fact_key: Hash
    valid_ms: Ms | None = None
    invalid_ms: Ms | None = None
    expired_ms: Ms | None = None
    kind: FactKind = FactKind.STATE
    polarity: Polarity = Polarity.ASSERTS
    qualifiers: dict[str, Text] = Field(default={})
    keywords: tuple[Text, ...] = ()
    weight: Weight = 1.0
    episodes: tuple[Id, ...] = ()
    evidence: tuple[EvidenceShape, ...] = ()
    expired_by_fact: Id | None = None
    expired_by_episode: Id | None = None
    expired_reason: Text | None = None
    invalid_before_ms: Ms | None = None
    attributes: Json = Field(default={})
    closures: tuple[ClosureShape, ...] = ()
    updated_ms: Ms | None = None
    original_fact: Text | None = None
    update_reason: Text | None = None
    previous_uuid: Id | None = None
    retract_reason: Text | None = None
    asserted: bool = False
    beliefs: tuple[BeliefShape, ...] = ()
    vector: VectorShape | None = None


class MergeRow(Shape):
    """An entity that went into another, or was split off one, with what is needed to take that back."""

    row: Literal["merge"]
    merge_id: Id
    merged_uuid: Id
    kept_uuid: Id
    created_ms: Ms
    data: Text
    by_episode: OptionalId = ""

    @field_validator("data")
    @classmethod
    def _can_be_undone(cls, data: str) -> str:
        try:
            UndoShape.model_validate_json(data)
        except ValidationError as error:
            raise ValueError(f"is no record of a merge or split: {reason_of(error)}") from None
        return data


class EndRow(Shape):
    """The last line: how many rows of each kind came before, and the SHA-256 of all bytes before it."""

    row: Literal["end"]
    rows: dict[Annotated[str, StringConstraints(max_length=32)], Count]
    sha256: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]


Row = Annotated[
    HeaderRow
    | OntologyRow
    | DocumentRow
    | EntityRow
    | EpisodeRow
    | ReceiptRow
    | TombstoneRow
    | FactRow
    | MergeRow
    | EndRow,
    Field(discriminator="row"),
]
ROW: TypeAdapter[Any] = TypeAdapter(Row)


def schema() -> dict[str, Any]:
    """The JSON Schema of a line."""
    made = ROW.json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "A line of an export", **made}
