"""StreamEpisodes (design §2): one item a message, one acknowledgement an item after its durable commit."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace

from kgsvc.api.accepting import Accepting
from kgsvc.api.answers import STATE_NUMBERS
from kgsvc.api.calls import Call, current_call
from kgsvc.api.checks import Check
from kgsvc.api.errors import Failure, ShuttingDown, failure_of, to_proto
from kgsvc.api.inbox import Inbox, Incoming
from kgsvc.api.items_in import episode_item, message_item
from kgsvc.api.strict import unknown_fields
from kgsvc.api.unary import parse
from kgsvc.commands.intake import Acknowledged, Intake, ItemInput
from kgsvc.domain.errors import InvalidArgument, OperationError, Violation
from kgsvc.domain.limits import Limits
from kgsvc.domain.model.items import ItemState
from kgsvc.observability.metrics import Metrics
from kgsvc.offload import REQUEST_BYTES, offload
from kgsvc.v1 import envelope_pb2, ingestion_pb2

_RUN = 64  # items accepted in one batch
_REF_CHARS = 256
_HELD_BYTES = 256  # what is held of a message beside its own bytes, and again for each of its violations
_GROUPS_NAMED = 8  # in the log line of a stream
Response = ingestion_pb2.StreamEpisodesResponse


class Streaming:
    """Serves ingestion streams."""

    def __init__(
        self,
        intake: Intake,
        accepting: Accepting,
        metrics: Metrics,
        limits: Limits,
        new_id: Callable[[], str],
        stopping: asyncio.Event,
    ) -> None:
        self._intake = intake
        self._accepting = accepting
        self._counters = {
            name: metrics.stream_items.labels(name) for name in ("stored", "duplicate", "refused")
        }
        self._limits = limits
        self._new_id = new_id
        self._stopping = stopping

    async def episodes(self, requests: AsyncIterator[bytes], _context: object) -> AsyncIterator[Response]:
        """Acknowledgements in the order of the items; refused items do not end the stream.

        Raises MalformedRequest, Overloaded, StoreUnavailable, ShuttingDown: what was acknowledged is stored
        then, and the rest may be sent again.
        """
        call = current_call.get()
        call.items = call.refused_items = 0
        inbox = Inbox(requests, self._read, self._limits.stream_inflight_bytes, self._stopping)
        try:
            while run := await inbox.run(_RUN):
                for incoming, response in zip(run, await self._settle(run), strict=True):
                    self._note(call, incoming, response)
                    yield response
                    inbox.acknowledged(incoming)
            if self._stopping.is_set():
                raise ShuttingDown
        finally:
            await inbox.close()
        call.status = "OK"

    async def _settle(self, run: Sequence[Incoming]) -> list[Response]:
        """The acknowledgements of a run: sound items of one group, or one refused message."""
        items = [incoming.item for incoming in run if isinstance(incoming.item, ItemInput)]
        if not items:
            return [
                _refused(one, failure_of(one.item)) for one in run if isinstance(one.item, OperationError)
            ]
        results = await self._intake.accept_run(run[0].group_id, items)
        self._accepting.stored([result.item for result in results if isinstance(result, Acknowledged)])
        return [
            _stored(incoming, result)
            if isinstance(result, Acknowledged)
            else _refused(incoming, failure_of(result))
            for incoming, result in zip(run, results, strict=True)
        ]

    def _note(self, call: Call, incoming: Incoming, response: Response) -> None:
        call.items = (call.items or 0) + 1
        if response.status == envelope_pb2.STATUS_ERROR:
            call.refused_items = (call.refused_items or 0) + 1
            outcome = "refused"
        else:
            outcome = "duplicate" if response.duplicate else "stored"
            if incoming.group_id not in call.group_ids and len(call.group_ids) < _GROUPS_NAMED:
                call.group_ids = (*call.group_ids, incoming.group_id)
        self._counters[outcome].inc()

    async def _read(self, sequence: int, raw: bytes) -> Incoming:
        return await offload(len(raw) / REQUEST_BYTES, self._incoming, sequence, raw)

    def _incoming(self, sequence: int, raw: bytes) -> Incoming:
        request = parse(ingestion_pb2.StreamEpisodesRequest, raw)
        check = Check(self._limits)
        request_id = check.optional_identifier(request, "", "request_id", self._limits.uuid)
        if request_id is None or check.error() is not None:
            request_id = self._new_id()
        check.text("client_ref", request.client_ref, _REF_CHARS)
        check.extend(unknown_fields(request, raw))
        group_id = check.fed_group_id("group_id", request.group_id)
        item = _item(request, check, len(raw))
        wrong = len(item.violations) if isinstance(item, OperationError) else 0
        return Incoming(
            sequence=sequence,
            size=len(raw) + _HELD_BYTES * (1 + wrong),
            request_id=request_id,
            client_ref=request.client_ref[:_REF_CHARS],
            group_id=group_id,
            kind=request.WhichOneof("item") or "item",
            item=item,
        )


def _item(
    request: ingestion_pb2.StreamEpisodesRequest, check: Check, size: int
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


def _stored(incoming: Incoming, result: Acknowledged) -> Response:
    parked = result.item.duplicate and result.item.state is ItemState.PARKED
    response = Response(
        client_ref=incoming.client_ref,
        sequence=incoming.sequence,
        status=envelope_pb2.STATUS_PARKED if parked else envelope_pb2.STATUS_ACCEPTED,
        uuid=result.item.uuid,
        duplicate=result.item.duplicate,
        state=STATE_NUMBERS[result.item.state],
        receipt_id=result.receipt_id,
        request_id=incoming.request_id,
    )
    if parked:
        says = "the item was parked earlier; RetryItems starts it again"
        response.error.CopyFrom(to_proto(Failure("PARKED", says)))
    return response


def _refused(incoming: Incoming, failure: Failure) -> Response:
    """In band, always; fields are named as in the stream's message."""
    found = (replace(v, field=v.field.replace("items[0]", incoming.kind)) for v in failure.violations)
    return Response(
        client_ref=incoming.client_ref,
        sequence=incoming.sequence,
        status=envelope_pb2.STATUS_ERROR,
        error=to_proto(replace(failure, violations=tuple(found))),
        request_id=incoming.request_id,
    )
