"""What rows of an export are made of. Everything is checked as it is read: a file may come from anybody."""

from __future__ import annotations

import base64
import binascii
import math
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    StringConstraints,
    ValidationError,
    field_validator,
    model_validator,
)

from kgsvc.domain.model.items import ItemState, Step

FORMAT, FORMAT_VERSION = "kgsvc-export", 1
CLEAN = r"^[^\x00-\x1f\x7f]*$"
Id = Annotated[str, StringConstraints(min_length=1, max_length=256, pattern=CLEAN)]
OptionalId = Annotated[str, StringConstraints(max_length=256, pattern=CLEAN)]
Ms = Annotated[int, Field(ge=-(10**15), le=10**16)]
Count = Annotated[int, Field(ge=0, le=2**53)]
Number = Annotated[int, Field(ge=0, le=2**63 - 1)]
Weight = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Text = Annotated[str, StringConstraints(max_length=8 * 1024 * 1024)]
Stamp = Annotated[str, StringConstraints(max_length=512, pattern=r"^(\d{17}/|$)")]
Hash = Annotated[str, StringConstraints(max_length=128, pattern=r"^[0-9a-f]*$")]


def finite(value: JsonValue) -> bool:
    """Whether all numbers in it are: others are no JSON."""
    if isinstance(value, dict):
        return all(map(finite, value.values()))
    if isinstance(value, list):
        return all(map(finite, value))
    return not isinstance(value, float) or math.isfinite(value)


def _finite(values: dict[str, JsonValue]) -> dict[str, JsonValue]:
    if not finite(values):
        raise ValueError("holds a number that is not finite")
    return values


Json = Annotated[dict[str, JsonValue], AfterValidator(_finite)]


class Shape(BaseModel):
    """Nothing but its fields, of their own types."""

    model_config: ClassVar[ConfigDict] = ConfigDict(strict=True, extra="forbid", frozen=True)


class VectorShape(Shape):
    """One vector or several behind one another: float32, little-endian, in base64."""

    space: Annotated[str, StringConstraints(max_length=512)]
    data: Annotated[str, StringConstraints(max_length=16 * 1024 * 1024)]

    @field_validator("data")
    @classmethod
    def _of_numbers(cls, data: str) -> str:
        try:
            raw = base64.b64decode(data, validate=True)
        except (ValueError, binascii.Error):
            raise ValueError("is not base64") from None
        if not raw or len(raw) % 4 or not np.isfinite(np.frombuffer(raw, "<f4")).all():
            raise ValueError("is no list of finite float32 numbers")
        return data


class RevisionShape(Shape):
    """One text of a document."""

    number: Annotated[int, Field(ge=1, le=2**53)]
    content_hash: Hash
    reference_ms: Ms
    created_ms: Ms


class PlaceShape(Shape):
    """Where a chunk stands in the present text, in characters."""

    chunk_uuid: Id
    start: Count
    end: Count
    own_start: Count
    tokens: Count
    page: Count | None = None
    headings: tuple[Text, ...] = ()
    last_page: Count | None = None


class FormerShape(Shape):
    """Where the chunks of a former text stood."""

    revision: Annotated[int, Field(ge=1, le=2**53)]
    places: tuple[PlaceShape, ...]


class SummaryShape(Shape):
    """A sentence of a summary."""

    start_ms: Ms
    key: Text
    text: Text


class RewritingShape(Shape):
    """What a model made of a summary."""

    text: Text
    sources: tuple[tuple[Text, Text], ...]
    made_of: Count


class MentionShape(Shape):
    """That an episode names an entity: by which names, and as which types."""

    uuid: OptionalId
    entity_uuid: Id
    created_ms: Ms
    names: tuple[Text, ...] = ()
    types: tuple[Text, ...] = ()


class WarningShape(Shape):
    """A value of a model's answer that was not taken as it was."""

    path: Text
    kind: Text
    dropped: bool = False


class UsageShape(Shape):
    """What models were paid."""

    calls: Count = 0
    prompt_tokens: Count = 0
    completion_tokens: Count = 0


class ItemShape(Shape):
    """What became of the episode. One that is neither completed nor parked is ingested anew."""

    state: ItemState
    receipt_id: OptionalId
    accepted_ms: Ms
    updated_ms: Ms
    sequence: Number  # orders the episodes of the group by acceptance
    attempts: dict[Literal["extract", "embed", "upsert", "crash"], Count] = Field(default={})
    step: Step | None = None
    reason: Text | None = None
    usage: UsageShape = UsageShape()
    previous: tuple[Id, ...] = ()
    warnings: tuple[WarningShape, ...] = ()

    @field_validator("state")
    @classmethod
    def _kept(cls, state: ItemState) -> ItemState:
        if state is ItemState.DELETED:
            raise ValueError("is of no episode that there is")
        return state


class ListedShape(Shape):
    """An item of a receipt; not `there`: deleted, and maybe sent again since."""

    uuid: Id
    duplicate: bool = False
    there: bool = True


class EvidenceShape(Shape):
    """One episode's statement behind a fact."""

    start_ms: Ms
    reference_ms: Ms
    episode_uuid: Id
    stated_valid_ms: Ms | None = None
    stated_invalid_ms: Ms | None = None
    said: Text = ""
    says: Literal["", "ended", "lasts"] = ""
    accepted_ms: Ms = 0
    index: Count = 0
    sequence: Number = 0
    weight: Weight | None = None
    thinned: Count = 0
    thinned_weight: Weight = 0.0


class ClosureShape(Shape):
    """A finding from elsewhere that a fact ceased to hold."""

    at_ms: Ms
    reference_ms: Ms
    by_fact: OptionalId
    by_episode: OptionalId
    retracts: bool = False
    moves: bool = False


class BeliefShape(Shape):
    """What was believed of a fact before."""

    until_ms: Ms
    valid_ms: Ms | None
    reference_ms: Ms
    invalid_ms: Ms | None = None
    expired_ms: Ms | None = None
    expired_reason: Text | None = None
    fact: Text = ""


class ExpiryShape(Shape):
    """When a fact held before a merge or split, and what ended it."""

    valid_ms: Ms | None
    reference_ms: Ms
    invalid_ms: Ms | None
    expired_ms: Ms | None
    invalid_before_ms: Ms | None
    expired_reason: Text | None
    expired_by_fact: Id | None
    expired_by_episode: Id | None


class WordingShape(Shape):
    """The words of a fact before a merge or split, if it has others since."""

    fact: Text = ""
    keywords: tuple[Text, ...] = ()
    attributes: Json = Field(default={})

    @model_validator(mode="after")
    def _all_or_none(self) -> WordingShape:
        if len(self.model_fields_set) not in (0, 3):
            raise ValueError("has some of its fields only")
        return self


class GoneShape(Shape):
    """The entity that went, as it was."""

    uuid: Id
    group_id: Text
    name: Text
    created_ms: Ms
    summary: Text
    attributes: Json
    labels: tuple[Text, ...]
    source_episode_uuid: OptionalId
    updated_ms: Ms
    stamps: dict[str, Stamp]
    summary_parts: tuple[SummaryShape, ...]
    rewriting: RewritingShape | None


class ChangedShape(Shape):
    """How a merge or split changed a fact."""

    before: tuple[EvidenceShape, ...]
    after: tuple[EvidenceShape, ...]
    closures: tuple[ClosureShape, ...]
    closures_after: tuple[ClosureShape, ...] = ()
    expiry: ExpiryShape
    reason_after: Text | None
    wording: WordingShape = WordingShape()


class UndoShape(Shape):
    """What UndoMerge and UndoSplit read of a record's data."""

    split: Id = ""
    entity: GoneShape | None = None
    kept_name: Text = ""
    names: tuple[Text, ...] = ()
    episodes: tuple[Id, ...] = ()
    mentions: tuple[Id, ...] = ()
    said: dict[str, tuple[tuple[Text, ...], tuple[Text, ...]]] = Field(default={})
    kept_said: dict[str, tuple[tuple[Text, ...], tuple[Text, ...]]] = Field(default={})
    ends: dict[str, tuple[bool, bool]] = Field(default={})
    changed: dict[str, ChangedShape] = Field(default={})
    made: dict[str, tuple[EvidenceShape, ...]] = Field(default={})
    attributes: tuple[Text, ...] = ()
    labels: tuple[Text, ...] = ()
    facts: tuple[Id, ...] = ()
    copies: dict[str, Id] = Field(default={})
    keys: dict[str, str] = Field(default={})

    @model_validator(mode="after")
    def _whole(self) -> UndoShape:
        needed = _OF_SPLIT if self.split else _OF_MERGE
        if "made" in self.model_fields_set and not needed <= self.model_fields_set:
            raise ValueError(f"lacks {min(needed - self.model_fields_set)}")
        return self


_OF_MERGE = {"entity", "names", "episodes", "mentions", "ends", "changed", "made", "attributes", "labels"}
_OF_SPLIT = {"split", "facts", "copies", "keys", "ends", "changed", "made"}


def reason_of(error: ValidationError) -> str:
    """The first thing that is wrong, by its place; nothing of the content."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    if first["type"].startswith("union_tag"):
        return "row: is none of the kinds of rows"
    if first["type"] == "json_invalid":
        return "is no JSON object"
    place = ".".join(str(each) for each in first["loc"])
    return f"{place}: {first['msg'].removeprefix('Value error, ')}" if place else first["msg"]
