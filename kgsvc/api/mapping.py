"""Domain values ↔ protobuf messages, as far as several nouns share them."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import Any, TypeVar

from google.protobuf import struct_pb2
from google.protobuf.timestamp_pb2 import Timestamp

from kgsvc.api.checks import RequestCheck
from kgsvc.commands.facts import CitedFact
from kgsvc.commands.groups import ListedGroup
from kgsvc.domain.facts.summary import summary_facts
from kgsvc.domain.model.communities import Community
from kgsvc.domain.model.graph import (
    EARLIEST_MS,
    Citation,
    Entity,
    Episode,
    Fact,
    RoleType,
    Source,
    Usage,
    source_url_of,
)
from kgsvc.domain.model.items import ItemState, ItemStatus, ItemWarning
from kgsvc.domain.model.modes import ServiceModes
from kgsvc.domain.text import has_invisible
from kgsvc.v1 import admin_pb2, types_pb2

M = TypeVar("M", bound=Enum)
_EMBEDDING = "embedding"  # the attribute in which Graphiti keeps a vector
_EXACT = 2**53  # whole numbers below are the same as integers
_PROTO_BYTES_A_JSON_BYTE = 8  # a Struct larger than this times the limit is over it in JSON too


def enum_table(numbers: Any, prefix: str, members: type[M]) -> dict[Any, M]:
    """The domain's values by the numbers of a protobuf enum, whose names are theirs behind a prefix."""
    return {numbers.Value(f"{prefix}{member.name}"): member for member in members}


def enum_numbers(numbers: Any, prefix: str, members: type[M]) -> dict[M, Any]:
    """The inverse of `enum_table`."""
    return {member: number for number, member in enum_table(numbers, prefix, members).items()}


SOURCES = enum_table(types_pb2.Source, "SOURCE_", Source)
ROLE_TYPES = enum_table(types_pb2.RoleType, "ROLE_TYPE_", RoleType)
STATES = enum_table(types_pb2.ItemState, "ITEM_STATE_", ItemState)
SOURCE_NUMBERS = enum_numbers(types_pb2.Source, "SOURCE_", Source)
STATE_NUMBERS = enum_numbers(types_pb2.ItemState, "ITEM_STATE_", ItemState)


def timestamp(ms: int) -> Timestamp:
    """A time in milliseconds as a Timestamp."""
    return Timestamp(seconds=ms // 1_000, nanos=ms % 1_000 * 1_000_000)


def optional_timestamp(ms: int | None) -> Timestamp | None:
    """The same for a time that may be absent."""
    return None if ms is None else timestamp(ms)


def fact_result(
    fact: Fact, score: float | None = None, citations: Iterable[Citation] = ()
) -> types_pb2.FactResult:
    """A fact, with its score if it is a search result, with its sources if it was asked for by uuid."""
    return types_pb2.FactResult(
        uuid=fact.uuid,
        name=fact.name,
        fact=fact.fact,
        valid_at=optional_timestamp(fact.valid_ms),
        invalid_at=optional_timestamp(fact.invalid_ms),
        created_at=timestamp(fact.created_ms),
        expired_at=optional_timestamp(fact.expired_ms),
        group_id=fact.group_id,
        source_node_uuid=fact.source_uuid,
        target_node_uuid=fact.target_uuid,
        source_name=fact.source_name,
        target_name=fact.target_name,
        episodes=fact.episodes,
        reference_time=timestamp(fact.reference_ms)
        if fact.episodes and fact.reference_ms != EARLIEST_MS
        else None,
        score=score,
        citations=map(citation_info, citations),
        updated_at=optional_timestamp(fact.updated_ms),
        original_fact=fact.original_fact,
        update_reason=fact.update_reason,
        previous_uuid=fact.previous_uuid,
        attributes=attributes_out(fact.attributes),
        expired_reason=fact.expired_reason,
        expired_by_fact=fact.expired_by_fact,
        expired_by_episode=fact.expired_by_episode,
        retract_reason=fact.retract_reason,
    )


def cited_fact(value: CitedFact) -> types_pb2.FactResult:
    """A fact with its sources."""
    return fact_result(value.fact, citations=value.citations)


def citation_info(value: Citation) -> types_pb2.CitationInfo:
    """A source; one without a name is named by its uuid."""
    return types_pb2.CitationInfo(
        episode_uuid=value.episode_uuid,
        episode_name=value.name or value.episode_uuid,
        source=SOURCE_NUMBERS[value.source],
        source_description=value.source_description or "",
        created_at=timestamp(value.created_ms),
        source_url=value.source_url,
    )


def episode(value: Episode, edges: Sequence[str] = ()) -> types_pb2.Episode:
    """An episode, with the facts that it states."""
    return types_pb2.Episode(
        uuid=value.uuid,
        group_id=value.group_id,
        name=value.name,
        body=value.body,
        source=SOURCE_NUMBERS[value.source],
        reference_time=timestamp(value.reference_ms),
        created_at=timestamp(value.created_ms),
        source_description=value.source_description,
        source_url=source_url_of(value.source_description),
        entity_edges=edges,
    )


def entity_node(value: Entity, aliases: Iterable[str] = ()) -> types_pb2.EntityNode:
    """An entity; an empty summary is absent."""
    return types_pb2.EntityNode(
        uuid=value.uuid,
        group_id=value.group_id,
        name=value.name,
        summary=value.summary or None,
        attributes=attributes_out(value.attributes),
        created_at=timestamp(value.created_ms),
        labels=value.labels,
        updated_at=timestamp(value.updated_ms or value.created_ms),
        summary_facts=summary_facts(value),
        aliases=aliases,
    )


def accepted_item(item: ItemStatus) -> types_pb2.AcceptedItem:
    """An item as the call that added it left it."""
    return types_pb2.AcceptedItem(uuid=item.uuid, duplicate=item.duplicate, state=STATE_NUMBERS[item.state])


def warnings(values: Iterable[ItemWarning]) -> list[types_pb2.ItemWarning]:
    """What was put right or left out in a model's answer."""
    return [types_pb2.ItemWarning(path=v.path, kind=v.kind, dropped=v.dropped) for v in values]


def community(value: Community) -> types_pb2.Community:
    """A community."""
    return types_pb2.Community(
        uuid=value.uuid,
        group_id=value.group_id,
        name=value.name,
        summary=value.summary,
        member_count=value.member_count,
        member_uuids=value.member_uuids,
        created_at=timestamp(value.created_ms),
    )


def attributes_in(check: RequestCheck, path: str, struct: struct_pb2.Struct) -> dict[str, Any]:
    """The values of a Struct, as JSON could hold them; whole numbers become integers."""
    limit = check.limits.attributes_bytes
    if struct.ByteSize() > limit * _PROTO_BYTES_A_JSON_BYTE:
        check.over(path, f"is larger than {limit} bytes as JSON")
        return {}
    values = _struct(check, path, struct)
    size = len(json.dumps(values, ensure_ascii=False, separators=(",", ":")).encode())
    if size > limit:
        check.over(path, f"has {size} bytes as JSON, at most {limit} are allowed")
    return values


def attributes_out(values: Mapping[str, Any]) -> struct_pb2.Struct | None:
    """The values as a Struct, without `embedding`; None for none."""
    shown = {key: value for key, value in values.items() if key != _EMBEDDING}
    if not shown:
        return None
    struct = struct_pb2.Struct()
    struct.update(shown)
    return struct


def _struct(check: RequestCheck, path: str, struct: struct_pb2.Struct) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for key, value in struct.fields.items():
        where = f"{path}[{key[:64]!r}]"
        if "\0" in key:
            check.invalid(where, "has NUL in its name")
        if has_invisible(key):
            check.invalid(where, "has invisible characters in its name, such as zero-width spaces")
        values[key] = _value(check, where, value)
    return values


def _value(check: RequestCheck, path: str, value: struct_pb2.Value) -> Any:
    kind = value.WhichOneof("kind")
    match kind:
        case "number_value":
            return _number(check, path, value.number_value)
        case "string_value":
            if "\0" in value.string_value:
                check.invalid(path, "must not contain NUL")
            return value.string_value
        case "bool_value":
            return value.bool_value
        case "struct_value":
            return _struct(check, path, value.struct_value)
        case "list_value":
            return [_value(check, f"{path}[{i}]", v) for i, v in enumerate(value.list_value.values)]
    if kind is None:
        check.invalid(path, "has no value")
    elif value.null_value != struct_pb2.NULL_VALUE:
        check.invalid(path, f"has no null value {value.null_value}")
    return None


def _number(check: RequestCheck, path: str, number: float) -> float | int:
    if not math.isfinite(number):
        check.invalid(path, "must be a finite number")
        return 0
    return int(number) if number.is_integer() and abs(number) < _EXACT else number


def deleted(what: str, existed: bool) -> str:
    """The sentence that answers a delete."""
    return f"the {what} is deleted" if existed else f"there was no {what} with this uuid"


def modes(now: ServiceModes) -> admin_pb2.ServiceModes:
    """The modes of the service that are on."""
    return admin_pb2.ServiceModes(
        read_only_since=optional_timestamp(now.read_only_ms),
        model_off_since=optional_timestamp(now.model_off_ms),
    )


def group_summary(listed: ListedGroup) -> admin_pb2.GroupSummary:
    """How much a group holds."""
    size, anew = listed.size, listed.reembedding
    return admin_pb2.GroupSummary(
        group_id=size.group_id,
        episodes=size.episodes,
        entities=size.entities,
        facts=size.facts,
        changed_at=optional_timestamp(size.changed_ms or None),
        waiting=size.waiting,
        parked=size.parked,
        paused_since=optional_timestamp(size.paused_ms),
        space=listed.space,
        reembedding=None
        if anew is None
        else admin_pb2.Reembedding(space=anew.space, embedded=anew.embedded, share=anew.share),
    )


def usage(spent: Usage) -> types_pb2.ModelUsage | None:
    """What models cost; None where none was asked."""
    if not spent:
        return None
    return types_pb2.ModelUsage(
        calls=spent.calls, prompt_tokens=spent.prompt_tokens, completion_tokens=spent.completion_tokens
    )
