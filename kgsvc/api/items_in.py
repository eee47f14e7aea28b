"""Messages and episodes of a request as the values that ingestion accepts."""

from __future__ import annotations

import json

from kgsvc.api.checks import Check
from kgsvc.commands.intake import ItemInput, message_body
from kgsvc.domain.model.graph import RoleType, Source, is_source_url, source_url_of, with_source_url
from kgsvc.domain.model.items import ItemState
from kgsvc.v1 import types_pb2

SOURCES = {
    types_pb2.SOURCE_TEXT: Source.TEXT,
    types_pb2.SOURCE_JSON: Source.JSON,
    types_pb2.SOURCE_MESSAGE: Source.MESSAGE,
}
ROLE_TYPES = {
    types_pb2.ROLE_TYPE_USER: RoleType.USER,
    types_pb2.ROLE_TYPE_ASSISTANT: RoleType.ASSISTANT,
    types_pb2.ROLE_TYPE_SYSTEM: RoleType.SYSTEM,
}
STATES = {
    types_pb2.ITEM_STATE_ACCEPTED: ItemState.ACCEPTED,
    types_pb2.ITEM_STATE_EXTRACTED: ItemState.EXTRACTED,
    types_pb2.ITEM_STATE_EMBEDDED: ItemState.EMBEDDED,
    types_pb2.ITEM_STATE_UPSERTED: ItemState.UPSERTED,
    types_pb2.ITEM_STATE_COMPLETED: ItemState.COMPLETED,
    types_pb2.ITEM_STATE_EXTRACT_FAILED: ItemState.EXTRACT_FAILED,
    types_pb2.ITEM_STATE_EMBED_FAILED: ItemState.EMBED_FAILED,
    types_pb2.ITEM_STATE_UPSERT_FAILED: ItemState.UPSERT_FAILED,
    types_pb2.ITEM_STATE_PARKED: ItemState.PARKED,
    types_pb2.ITEM_STATE_DELETED: ItemState.DELETED,
}


def message_item(check: Check, path: str, message: types_pb2.Message) -> ItemInput:
    """A message as the item it becomes."""
    role_type = check.enum(f"{path}role_type", message.role_type, ROLE_TYPES, RoleType.USER)
    role = check.optional_text(message, path, "role", check.limits.role) or None
    check.body(f"{path}content", message.content, around=message_body(role_type, role, ""))
    return ItemInput(
        uuid=check.optional_identifier(message, path, "uuid", check.limits.uuid),
        name=_name(check, path, message),
        source=Source.MESSAGE,
        body=message_body(role_type, role, message.content),
        reference_ms=check.time(message, path, "timestamp"),
        source_description=_description(check, path, message),
        previous=_previous(check, path, message),
        role_type=role_type,
        role=role,
    )


def episode_item(check: Check, path: str, item: types_pb2.EpisodeItem) -> ItemInput:
    """An episode as an item."""
    source = check.enum(f"{path}source", item.source, SOURCES, Source.TEXT)
    body = check.body(f"{path}body", item.body)
    if source is Source.JSON and body and not _is_json(body):
        check.invalid(f"{path}body", "is not one JSON value")
    return ItemInput(
        uuid=check.optional_identifier(item, path, "uuid", check.limits.uuid),
        name=_name(check, path, item),
        source=source,
        body=body,
        reference_ms=check.time(item, path, "reference_time"),
        source_description=_description(check, path, item),
        previous=_previous(check, path, item),
    )


def _name(check: Check, path: str, item: types_pb2.Message | types_pb2.EpisodeItem) -> str | None:
    return check.name(f"{path}name", item.name) if item.HasField("name") else None


def _previous(check: Check, path: str, item: types_pb2.Message | types_pb2.EpisodeItem) -> tuple[str, ...]:
    where, limits = f"{path}previous_episode_uuids", check.limits
    return check.identifiers(where, item.previous_episode_uuids, limits.previous_episodes, limits.uuid)


def _description(check: Check, path: str, item: types_pb2.Message | types_pb2.EpisodeItem) -> str | None:
    """The description with the address of the original in it (spec 000)."""
    limit = check.limits.source_description
    description = check.optional_text(item, path, "source_description", limit) or None
    if not item.HasField("source_url"):
        return description
    where, url = f"{path}source_url", item.source_url
    if not is_source_url(url):
        check.invalid(where, "must be an http or https address without blanks and commas")
        return description
    whole = with_source_url(description, url)
    if source_url_of(whole) != url:
        check.invalid(where, "is not the address that source_description carries already")
    if description is None or len(description) <= limit:  # else that is said already
        check.text(where, whole or "", limit)
    return whole


def _is_json(body: str) -> bool:
    try:
        json.loads(body, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return False
    return True


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")
