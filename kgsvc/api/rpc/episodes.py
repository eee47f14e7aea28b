"""The RPCs on episodes: AddMessages, AddEpisodes, GetEpisodes, DeleteEpisode. StreamEpisodes is in
streams.py."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from kgsvc.api import mapping
from kgsvc.api.calls import current_call
from kgsvc.api.checks import RequestCheck
from kgsvc.api.envelope import Operation, Reply, Rpcs, Unary
from kgsvc.api.errors import CallFailure, summary
from kgsvc.commands import episodes
from kgsvc.commands.cascades import cascade_episode
from kgsvc.commands.core import Core
from kgsvc.commands.items import ItemAcceptor, ItemInput, message_body
from kgsvc.domain.errors import Conflict
from kgsvc.domain.model.graph import RoleType, Source, with_source_url
from kgsvc.domain.model.items import Accepted, ItemState
from kgsvc.v1 import admin_pb2, envelope_pb2, ingestion_pb2, retrieval_pb2, types_pb2


class EpisodeRpcs:
    """The RPCs on episodes; messages become episodes."""

    def __init__(self, core: Core, acceptor: ItemAcceptor) -> None:
        self._core = core
        self._acceptor = acceptor
        self.rpcs: Rpcs = {
            "AddMessages": Unary(self._add_messages),
            "AddEpisodes": Unary(self._add_episodes),
            "GetEpisodes": Unary(self._get_episodes),
            "DeleteEpisode": Unary(self._delete_episode),
        }

    def _add_messages(self, sent: ingestion_pb2.AddMessagesInput, check: RequestCheck) -> Operation:
        group_id = check.writable_group_id("input.group_id", sent.group_id)
        bounded = enumerate(check.bounded("input.messages", sent.messages))
        items = [message_item(check, f"input.messages[{i}].", message) for i, message in bounded]
        check.names((item.uuid for item in items), check.limits.uuid)

        async def run() -> Reply:
            key = check.idempotency_key
            try:
                accepted = await self._acceptor.accept("AddMessages", group_id, items, key)
            except Conflict as conflict:
                raise _of_messages(conflict) from None
            return _accepted(ingestion_pb2.AddMessagesOutput(), "message", accepted)

        return run

    def _add_episodes(self, sent: ingestion_pb2.AddEpisodesInput, check: RequestCheck) -> Operation:
        group_id = check.writable_group_id("input.group_id", sent.group_id)
        bounded = enumerate(check.bounded("input.items", sent.items))
        items = [episode_item(check, f"input.items[{i}].", episode) for i, episode in bounded]
        check.names((item.uuid for item in items), check.limits.uuid)

        async def run() -> Reply:
            key = check.idempotency_key
            accepted = await self._acceptor.accept("AddEpisodes", group_id, items, key)
            return _accepted(ingestion_pb2.AddEpisodesOutput(), "episode", accepted)

        return run

    def _get_episodes(self, sent: retrieval_pb2.GetEpisodesInput, check: RequestCheck) -> Operation:
        group_id = check.group_id("input.group_id", sent.group_id)
        last_n, bound = sent.last_n, check.limits.last_n_bound
        if sent.HasField("last_n"):
            check.number("input.last_n", last_n, bound)
        else:
            check.invalid("input.last_n", "is required")
        size = check.optional_number(sent, "input.", "page_size", None, bound)
        token = check.page_token(sent)

        async def run() -> Reply:
            page = await episodes.get_episodes(self._core, group_id, last_n, size, token)
            rows = [mapping.episode(each, page.edges.get(each.uuid, ())) for each in page.episodes]
            return Reply(
                retrieval_pb2.GetEpisodesOutput(episodes=rows, next_page_token=page.next_token or "")
            )

        return run

    def _delete_episode(self, sent: admin_pb2.DeleteEpisodeInput, check: RequestCheck) -> Operation:
        uuid, group_id = check.named(sent)
        cascade = sent.cascade

        async def run() -> Reply:
            output = admin_pb2.DeleteEpisodeOutput(success=True)
            if not cascade:
                existed = await episodes.delete_episode(self._core, uuid, group_id)
            else:
                done = await cascade_episode(self._core, uuid, group_id)
                existed = done is not None
                if done is not None:
                    output.facts_removed, output.facts_restored = done.facts_removed, done.facts_restored
                    output.entities_removed = done.entities_removed
                    output.erasure_id = done.erasure_id
            output.message = mapping.deleted("episode", existed)
            return Reply(output)

        return run


def message_item(check: RequestCheck, path: str, message: types_pb2.Message) -> ItemInput:
    """A message as the item it becomes."""
    role_type = check.enum(f"{path}role_type", message.role_type, mapping.ROLE_TYPES, RoleType.USER)
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
        request_id=check.request_id,
        role_type=role_type,
        role=role,
    )


def episode_item(check: RequestCheck, path: str, item: types_pb2.EpisodeItem) -> ItemInput:
    """An episode as an item."""
    source = check.enum(f"{path}source", item.source, mapping.SOURCES, Source.TEXT)
    if source is Source.DOCUMENT:
        check.invalid(f"{path}source", "is made by AddDocuments, which takes whole documents")
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
        request_id=check.request_id,
    )


def _name(check: RequestCheck, path: str, item: types_pb2.Message | types_pb2.EpisodeItem) -> str | None:
    if not item.HasField("name") or not check.filled(f"{path}name", item.name):
        return None
    return check.name(f"{path}name", item.name)


def _previous(
    check: RequestCheck, path: str, item: types_pb2.Message | types_pb2.EpisodeItem
) -> tuple[str, ...]:
    where, limits = f"{path}previous_episode_uuids", check.limits
    return check.identifiers(where, item.previous_episode_uuids, limits.previous_episodes, limits.uuid)


def _description(
    check: RequestCheck, path: str, item: types_pb2.Message | types_pb2.EpisodeItem
) -> str | None:
    """The description, which holds the address of the original too, behind any that it held."""
    limit = check.limits.source_description
    description = check.optional_text(item, path, "source_description", limit) or None
    if not item.HasField("source_url"):
        return description
    where, url = f"{path}source_url", item.source_url
    if not check.source_url(where, url):
        return description
    whole = with_source_url(description, url)
    if description is None or len(description) <= limit:  # else that violation is named already
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


def _accepted(output: Any, noun: str, accepted: Accepted) -> Reply:
    """ACCEPTED, or PARKED when the call repeats items that are parked (docs/contract.md)."""
    count = len(accepted.items)
    output.message = f"{count} {noun}{'' if count == 1 else 's'} accepted"
    output.receipt_id, output.accepted = accepted.receipt_id, count
    output.items.extend(map(mapping.accepted_item, accepted.items))
    current_call.get().wrote(item.uuid for item in accepted.items)
    parked = [item.uuid for item in accepted.items if item.duplicate and item.state is ItemState.PARKED]
    if not parked:
        return Reply(output, envelope_pb2.STATUS_ACCEPTED)
    message = f"{len(parked)} of {count} items were parked earlier; RetryItems starts them again"
    failure = CallFailure("PARKED", message, details={"uuids": parked})
    return Reply(output, envelope_pb2.STATUS_PARKED, failure)


def _of_messages(conflict: Conflict) -> Conflict:
    """The conflict with the field names of AddMessages, whose items are called messages."""
    violations = [
        replace(v, field=f"messages{v.field.removeprefix('items')}") if v.field.startswith("items[") else v
        for v in conflict.violations
    ]
    return Conflict(summary(violations) if violations else conflict.message, violations)
