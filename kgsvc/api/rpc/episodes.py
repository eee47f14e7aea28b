"""The RPCs on episodes: AddMessages, AddEpisodes, StreamEpisodes, GetEpisodes, DeleteEpisode.

A stream (design §2) has one item a message and one acknowledgement an item, after its durable commit. It is
read no faster than its items are stored, so that flow control slows the client down.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kgsvc.access.scopes import current_caller
from kgsvc.api import mapping
from kgsvc.api.calls import Call, current_call
from kgsvc.api.checks import RequestCheck, parse, unknown_fields
from kgsvc.api.envelope import BidiStream, Operation, Reply, Rpcs, Unary
from kgsvc.api.errors import CallFailure, ShuttingDown, failure_of, summary, to_proto
from kgsvc.api.mapping import STATE_NUMBERS
from kgsvc.commands import episodes
from kgsvc.commands.cascades import cascade_episode
from kgsvc.commands.core import Core
from kgsvc.commands.items import Acknowledged, ItemAcceptor, ItemInput, message_body
from kgsvc.domain.errors import Conflict, InvalidArgument, OperationError, Violation
from kgsvc.domain.model.graph import RoleType, Source, is_source_url, with_source_url
from kgsvc.domain.model.items import Accepted, ItemState
from kgsvc.runtime import REQUEST_BYTES, offload
from kgsvc.v1 import admin_pb2, envelope_pb2, ingestion_pb2, retrieval_pb2, types_pb2

_ITEMS_A_BATCH = 64
_REF_CHARS = 256
_HELD_BYTES = 256  # of memory for a message besides its own bytes, and again for each of its violations
_GROUPS_NAMED = 8  # in the log line of a stream
Response = ingestion_pb2.StreamEpisodesResponse


class EpisodeRpcs:
    """The RPCs on episodes; messages become episodes."""

    def __init__(self, core: Core, acceptor: ItemAcceptor, stopping: asyncio.Event) -> None:
        self._core = core
        self._acceptor = acceptor
        self._stopping = stopping
        streamed = core.metrics.stream_items
        self._streamed = {outcome: streamed.labels(outcome) for outcome in ("stored", "duplicate", "refused")}
        self.rpcs: Rpcs = {
            "AddMessages": Unary(self._add_messages),
            "AddEpisodes": Unary(self._add_episodes),
            "StreamEpisodes": BidiStream(self._stream_episodes),
            "GetEpisodes": Unary(self._get_episodes),
            "DeleteEpisode": Unary(self._delete_episode),
        }

    def _add_messages(self, sent: ingestion_pb2.AddMessagesInput, check: RequestCheck) -> Operation:
        group_id = check.writable_group_id("input.group_id", sent.group_id)
        bounded = enumerate(check.bounded("input.messages", sent.messages))
        items = [message_item(check, f"input.messages[{i}].", message) for i, message in bounded]

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

    async def _stream_episodes(
        self, requests: AsyncIterator[bytes], _context: object
    ) -> AsyncIterator[Response]:
        """Acknowledgements in the order of the items; refused items do not end the stream.

        Raises MalformedRequest, PermissionDenied, Overloaded, StoreUnavailable, ShuttingDown: what was
        acknowledged until then is stored, and the rest may be sent again.
        """
        call = current_call.get()
        call.items = call.refused_items = 0
        inbox = _Inbox(requests, self._core, self._stopping)
        try:
            while batch := await inbox.next_batch():
                for streamed, response in zip(batch, await self._accept(batch), strict=True):
                    self._note(call, streamed, response)
                    yield response
                    inbox.acknowledged(streamed)
            if self._stopping.is_set():
                raise ShuttingDown
        finally:
            await inbox.close()
        call.status = "OK"

    async def _accept(self, batch: Sequence[StreamedItem]) -> list[Response]:
        """The acknowledgements of a batch: valid items of one group, or one invalid message."""
        items = [streamed.item for streamed in batch if isinstance(streamed.item, ItemInput)]
        if not items:
            return [_answer(one, one.item) for one in batch if isinstance(one.item, OperationError)]
        results = await self._acceptor.accept_each(batch[0].group_id, items)
        return [_answer(streamed, result) for streamed, result in zip(batch, results, strict=True)]

    def _note(self, call: Call, streamed: StreamedItem, response: Response) -> None:
        call.items = (call.items or 0) + 1
        if response.status == envelope_pb2.STATUS_ERROR:
            call.refused_items = (call.refused_items or 0) + 1
            outcome = "refused"
        else:
            outcome = "duplicate" if response.duplicate else "stored"
            if streamed.group_id not in call.group_ids and len(call.group_ids) < _GROUPS_NAMED:
                call.group_ids = (*call.group_ids, streamed.group_id)
        self._streamed[outcome].inc()


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
    """The description, which holds the address of the original too (spec 000), behind any that it held."""
    limit = check.limits.source_description
    description = check.optional_text(item, path, "source_description", limit) or None
    if not item.HasField("source_url"):
        return description
    where, url = f"{path}source_url", item.source_url
    if not is_source_url(url):
        check.invalid(where, "must be an http or https address without blanks and without a comma at its end")
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
    """ACCEPTED, or PARKED when the call repeats items that are parked (design §2)."""
    count = len(accepted.items)
    output.message = f"{count} {noun}{'' if count == 1 else 's'} accepted"
    output.receipt_id, output.accepted = accepted.receipt_id, count
    output.items.extend(map(mapping.accepted_item, accepted.items))
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


@dataclass(frozen=True, slots=True)
class StreamedItem:
    """One message of the stream: an item, or what is wrong with it."""

    sequence: int
    size: int
    request_id: str
    client_ref: str
    group_id: str
    kind: str  # episode | message: the field that holds the item
    item: ItemInput | OperationError


class _Inbox:
    """Messages that were read and are not acknowledged yet, bounded in bytes.

    At the bound reading pauses; a message larger than the bound passes alone.
    """

    def __init__(self, requests: AsyncIterator[bytes], core: Core, stopping: asyncio.Event) -> None:
        self._requests = requests
        self._core = core
        self._stopping = stopping
        self._waiting: deque[StreamedItem] = deque()
        self._bytes = 0
        self._arrived = asyncio.Event()
        self._freed = asyncio.Event()
        self._reader = asyncio.create_task(self._read())
        self._stopper = asyncio.create_task(self._stop())

    async def next_batch(self) -> list[StreamedItem]:
        """The next messages that wait: some valid ones of one group, or one invalid one.

        Waits only for the first. Empty when the client has closed its side or the process stops. Raises
        MalformedRequest for a message that cannot be parsed and PermissionDenied for one of a group that the
        caller may not write, after everything read before it was returned.
        """
        while not self._waiting:
            if self._reader.done():
                if not self._reader.cancelled():
                    self._reader.result()
                return []
            self._arrived.clear()
            await self._arrived.wait()
        first = self._waiting.popleft()
        taken = [first]
        while len(taken) < _ITEMS_A_BATCH and self._waiting and _together(first, self._waiting[0]):
            taken.append(self._waiting.popleft())
        return taken

    def acknowledged(self, streamed: StreamedItem) -> None:
        """Free its bytes for the next message."""
        self._bytes -= streamed.size
        self._freed.set()

    async def close(self) -> None:
        """Stop reading."""
        self._stopper.cancel()
        self._reader.cancel()
        await asyncio.gather(self._stopper, self._reader, return_exceptions=True)

    async def _stop(self) -> None:
        await self._stopping.wait()
        self._reader.cancel()

    async def _read(self) -> None:
        sequence = 0
        try:
            async for raw in self._requests:
                streamed = await offload(len(raw) / REQUEST_BYTES, _streamed, self._core, sequence, raw)
                sequence += 1
                self._bytes += streamed.size
                self._waiting.append(streamed)
                self._arrived.set()
                while self._bytes >= self._core.limits.stream_inflight_bytes:
                    self._freed.clear()
                    await self._freed.wait()
        finally:
            self._arrived.set()


def _together(first: StreamedItem, other: StreamedItem) -> bool:
    valid = isinstance(first.item, ItemInput) and isinstance(other.item, ItemInput)
    return valid and first.group_id == other.group_id


def _streamed(core: Core, sequence: int, raw: bytes) -> StreamedItem:
    request = parse(ingestion_pb2.StreamEpisodesRequest, raw)
    check = RequestCheck(core.limits)
    request_id = check.optional_identifier(request, "", "request_id", core.limits.uuid)
    if request_id is None or check.error() is not None:
        request_id = core.new_id()
    check.request_id = request_id
    check.text("client_ref", request.client_ref, _REF_CHARS)
    check.extend(unknown_fields(request, raw))
    group_id = check.writable_group_id("group_id", request.group_id)
    current_caller.get().require(check.groups)
    item = _item(request, check, len(raw))
    wrong = len(item.violations) if isinstance(item, OperationError) else 0
    return StreamedItem(
        sequence=sequence,
        size=len(raw) + _HELD_BYTES * (1 + wrong),
        request_id=request_id,
        client_ref=request.client_ref[:_REF_CHARS],
        group_id=group_id,
        kind=request.WhichOneof("item") or "item",
        item=item,
    )


def _item(
    request: ingestion_pb2.StreamEpisodesRequest, check: RequestCheck, size: int
) -> ItemInput | OperationError:
    """The item, or everything that is wrong with its message."""
    limit = check.limits.payload_bytes
    if size > limit:
        check.over("", f"the message has {size} bytes, at most {limit} are allowed")
    item = None
    match request.WhichOneof("item"):
        case "episode":
            item = episode_item(check, "episode.", request.episode)
        case "message":
            item = message_item(check, "message.", request.message)
        case _:
            check.invalid("item", "is required, an episode or a message")
    refusal = check.error()
    if item is None or refusal is not None:
        return refusal or InvalidArgument("there is no item", [Violation("item", "is required")])
    return item


def _answer(streamed: StreamedItem, result: Acknowledged | OperationError) -> Response:
    """The acknowledgement; errors are always in band, with fields named as in the stream's message."""
    response = Response(
        client_ref=streamed.client_ref, sequence=streamed.sequence, request_id=streamed.request_id
    )
    if isinstance(result, OperationError):
        failure = failure_of(result)
        named = (replace(v, field=v.field.replace("items[0]", streamed.kind)) for v in failure.violations)
        response.status = envelope_pb2.STATUS_ERROR
        response.error.CopyFrom(to_proto(replace(failure, violations=tuple(named))))
        return response
    item, response.receipt_id = result.item, result.receipt_id
    response.uuid, response.duplicate, response.state = item.uuid, item.duplicate, STATE_NUMBERS[item.state]
    response.status = envelope_pb2.STATUS_ACCEPTED
    if item.duplicate and item.state is ItemState.PARKED:
        message = "the item was parked earlier; RetryItems starts it again"
        response.status = envelope_pb2.STATUS_PARKED
        response.error.CopyFrom(to_proto(CallFailure("PARKED", message)))
    return response
