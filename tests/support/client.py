"""A typed client for tests: the generated stubs, and short words for what tests do again and again.

Helpers assert that the call was not refused; tests about refusals use the stubs (`ingestion`, `retrieval`,
`admin`). Every call has a deadline.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import grpc
from google.protobuf.timestamp_pb2 import Timestamp
from grpc_health.v1 import health_pb2_grpc

from kgsvc.v1 import admin_pb2, admin_pb2_grpc, envelope_pb2, ingestion_pb2_grpc, retrieval_pb2_grpc
from kgsvc.v1 import ingestion_pb2 as ing
from kgsvc.v1 import retrieval_pb2 as ret
from kgsvc.v1 import types_pb2 as typ
from tests.support.contract import path, request_of, response_class
from tests.support.witness import INTERCEPTORS, WITNESS

if TYPE_CHECKING:
    from kgsvc.v1.admin_pb2_grpc import AdminServiceAsyncStub
    from kgsvc.v1.ingestion_pb2_grpc import IngestionServiceAsyncStub
    from kgsvc.v1.retrieval_pb2_grpc import RetrievalServiceAsyncStub

CALL_S = 120.0
DONE_S = 120.0  # for work to be finished
# No proxy, no shared sockets between tests, and no waiting after a server was restarted.
_OPTIONS = [("grpc.enable_http_proxy", 0), ("grpc.use_local_subchannel_pool", 1)]


class _Enveloped(Protocol):
    @property
    def status(self) -> envelope_pb2.Status.ValueType: ...
    @property
    def error(self) -> envelope_pb2.Error: ...


T = TypeVar("T", bound=_Enveloped)


def granted(response: T) -> T:
    """`response`, which must not be an error."""
    assert response.status != envelope_pb2.STATUS_ERROR, f"refused: {response.error}"
    return response


def status_lost(error: grpc.aio.AioRpcError) -> bool:
    """Whether gRPC's own client lost how the server had ended a stream, since it was still sending
    (grpc/grpc#36066)."""
    return error.code() is grpc.StatusCode.INTERNAL and error.details() == "Internal error from Core"


def timestamp(ms: int) -> Timestamp:
    """Milliseconds since the epoch as the contract's time."""
    made = Timestamp()
    made.FromMilliseconds(ms)
    return made


def episode(
    body: str,
    at_ms: int,
    uuid: str | None = None,
    source: typ.Source.ValueType = typ.SOURCE_TEXT,
    name: str | None = None,
) -> typ.EpisodeItem:
    """An episode to send."""
    return typ.EpisodeItem(uuid=uuid, name=name, source=source, body=body, reference_time=timestamp(at_ms))


def message(
    content: str,
    at_ms: int,
    role: str | None = None,
    uuid: str | None = None,
    role_type: typ.RoleType.ValueType = typ.ROLE_TYPE_USER,
) -> typ.Message:
    """A message to send."""
    return typ.Message(uuid=uuid, role_type=role_type, role=role, content=content, timestamp=timestamp(at_ms))


class Client:
    """Stubs on one channel. An async context manager."""

    ingestion: IngestionServiceAsyncStub
    retrieval: RetrievalServiceAsyncStub
    admin: AdminServiceAsyncStub

    def __init__(self, address: str, credentials: grpc.ChannelCredentials | None = None) -> None:
        self.address = address
        self.channel = (
            grpc.aio.insecure_channel(address, options=_OPTIONS, interceptors=INTERCEPTORS)
            if credentials is None
            else grpc.aio.secure_channel(address, credentials, options=_OPTIONS, interceptors=INTERCEPTORS)
        )
        self.ingestion = ingestion_pb2_grpc.IngestionServiceStub(self.channel)
        self.retrieval = retrieval_pb2_grpc.RetrievalServiceStub(self.channel)
        self.admin = admin_pb2_grpc.AdminServiceStub(self.channel)
        self.health = health_pb2_grpc.HealthStub(self.channel)

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.channel.close()

    async def answer(
        self, name: str, /, idempotency_key: str | None = None, metadata: Any = None, **given: Any
    ) -> Any:
        """The response of a unary RPC to this input, an error or not."""
        request = request_of(name, **given)
        if idempotency_key is not None:
            request.idempotency_key = idempotency_key
        call: Any = self.channel.unary_unary(
            path(name),
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=response_class(name).FromString,
        )
        return await call(request, timeout=CALL_S, metadata=metadata)

    async def ask(self, name: str, /, idempotency_key: str | None = None, **given: Any) -> Any:
        """The output of a unary RPC for this input."""
        return granted(await self.answer(name, idempotency_key, **given)).output

    async def pages(self, name: str, /, **given: Any) -> AsyncIterator[Any]:
        """The output of a listing, page by page."""
        token: str | None = None
        while token != "":
            page = await self.ask(name, page_token=token, **given)
            yield page
            token = page.next_page_token

    async def add_episodes(
        self, group: str, items: Iterable[typ.EpisodeItem], idempotency_key: str | None = None
    ) -> ing.AddEpisodesOutput:
        """AddEpisodes."""
        output: ing.AddEpisodesOutput = await self.ask(
            "AddEpisodes", idempotency_key, group_id=group, items=items
        )
        return output

    async def add_messages(
        self, group: str, messages: Iterable[typ.Message], idempotency_key: str | None = None
    ) -> ing.AddMessagesOutput:
        """AddMessages."""
        output: ing.AddMessagesOutput = await self.ask(
            "AddMessages", idempotency_key, group_id=group, messages=messages
        )
        return output

    async def stream_episodes(
        self, group: str, items: Iterable[typ.EpisodeItem | typ.Message]
    ) -> list[ing.StreamEpisodesResponse]:
        """StreamEpisodes: all `items`, and an acknowledgement for each, in order."""
        return await self.stream(*(stream_request(group, item) for item in items))

    async def stream(
        self, *requests: ing.StreamEpisodesRequest, metadata: Any = None
    ) -> list[ing.StreamEpisodesResponse]:
        """StreamEpisodes: all requests, and an acknowledgement for each, in order."""
        if WITNESS is not None:
            for request in requests:
                WITNESS.sent(request)
        call = self.ingestion.StreamEpisodes(_each(requests), timeout=DONE_S, metadata=metadata)
        return [acknowledgement async for acknowledgement in call]

    async def watch(
        self, receipt_id: str, timeout_s: float = DONE_S
    ) -> AsyncIterator[ing.WatchReceiptOutput]:
        """The messages of WatchReceipt until all items are terminal."""
        request = ing.WatchReceiptRequest(input=ing.WatchReceiptInput(receipt_id=receipt_id))
        async for response in self.ingestion.WatchReceipt(request, timeout=timeout_s):
            yield granted(response).output

    async def wait_receipt(self, receipt_id: str, timeout_s: float = DONE_S) -> dict[str, typ.ReceiptItem]:
        """The items by uuid, once all are terminal."""
        items: dict[str, typ.ReceiptItem] = {}
        done = False
        async for output in self.watch(receipt_id, timeout_s):
            items |= {item.uuid: item for item in output.items}
            done = output.done
        assert done, "the watch ended before the items did"
        return items

    async def ingest(
        self, group: str, items: Sequence[typ.EpisodeItem], timeout_s: float = DONE_S
    ) -> dict[str, typ.ReceiptItem]:
        """AddEpisodes, then wait until all are COMPLETED."""
        accepted = await self.add_episodes(group, items)
        return completed(await self.wait_receipt(accepted.receipt_id, timeout_s))

    async def say(
        self, group: str, messages: Sequence[typ.Message], timeout_s: float = DONE_S
    ) -> dict[str, typ.ReceiptItem]:
        """AddMessages, then wait until all are COMPLETED."""
        accepted = await self.add_messages(group, messages)
        return completed(await self.wait_receipt(accepted.receipt_id, timeout_s))

    async def receipt(self, receipt_id: str) -> typ.Receipt:
        """GetReceipt."""
        output: typ.Receipt = await self.ask("GetReceipt", receipt_id=receipt_id)
        return output

    async def list_items(self, group: str, *states: typ.ItemState.ValueType) -> list[typ.ListedItem]:
        """ListItems, every page."""
        pages = self.pages("ListItems", group_id=group, states=states, page_size=500)
        return [item async for page in pages for item in page.items]

    async def retry(self, group: str, uuids: Sequence[str] = ()) -> list[str]:
        """RetryItems: these, or every parked item of the group."""
        output = await self.ask("RetryItems", group_id=group, uuids=uuids, all_parked=not uuids)
        return list(output.uuids)

    async def search(
        self, groups: str | Sequence[str], query: str, max_facts: int | None = None, center: str | None = None
    ) -> list[typ.FactResult]:
        """SearchFacts."""
        names = [groups] if isinstance(groups, str) else groups
        wanted: dict[str, Any] = {
            "group_ids": names,
            "query": query,
            "max_facts": max_facts,
            "center_node_uuid": center,
        }
        return list((await self.ask("SearchFacts", **wanted)).facts)

    async def memory(
        self, group: str, messages: Iterable[typ.MemoryMessage], max_facts: int | None = None
    ) -> list[typ.FactResult]:
        """GetMemory."""
        output = await self.ask("GetMemory", group_id=group, messages=messages, max_facts=max_facts)
        return list(output.facts)

    async def delete_group(self, group: str) -> admin_pb2.DeleteGroupOutput:
        """DeleteGroup."""
        output: admin_pb2.DeleteGroupOutput = await self.ask("DeleteGroup", group_id=group)
        return output

    async def get_edge(self, group: str, uuid: str) -> typ.FactResult:
        """GetEntityEdge: a fact, expired or not."""
        output: typ.FactResult = await self.ask("GetEntityEdge", uuid=uuid, group_id=group)
        return output

    async def update_fact(
        self, group: str, uuid: str, fact: str, idempotency_key: str | None = None, **wanted: Any
    ) -> admin_pb2.UpdateFactOutput:
        """UpdateFact."""
        output: admin_pb2.UpdateFactOutput = await self.ask(
            "UpdateFact", idempotency_key, uuid=uuid, group_id=group, fact=fact, **wanted
        )
        return output

    async def fact_history(self, group: str, uuid: str) -> list[typ.FactResult]:
        """GetFactHistory."""
        return list((await self.ask("GetFactHistory", uuid=uuid, group_id=group)).facts)

    async def get_entity(self, group: str, uuid: str, **wanted: Any) -> ret.GetEntityNodeOutput:
        """GetEntityNode."""
        output: ret.GetEntityNodeOutput = await self.ask("GetEntityNode", uuid=uuid, group_id=group, **wanted)
        return output

    async def entity_of(self, group: str, name: str) -> str:
        """The uuid of the entity of this name, found by a fact of it."""
        found = await self.search(group, name, max_facts=100)
        ends = {each.source_name: each.source_node_uuid for each in found}
        return (ends | {each.target_name: each.target_node_uuid for each in found})[name]

    async def get_episodes(self, group: str, last_n: int = 1_000) -> list[typ.Episode]:
        """GetEpisodes, every page."""
        pages = self.pages("GetEpisodes", group_id=group, last_n=last_n)
        return [episode async for page in pages for episode in page.episodes]


def stream_request(
    group: str, item: typ.EpisodeItem | typ.Message, client_ref: str = ""
) -> ing.StreamEpisodesRequest:
    """One message of StreamEpisodes."""
    if isinstance(item, typ.Message):
        return ing.StreamEpisodesRequest(group_id=group, client_ref=client_ref, message=item)
    return ing.StreamEpisodesRequest(group_id=group, client_ref=client_ref, episode=item)


def completed(items: Mapping[str, typ.ReceiptItem]) -> dict[str, typ.ReceiptItem]:
    """`items`, which must all be COMPLETED."""
    other = {u: i.reason or typ.ItemState.Name(i.state) for u, i in items.items() if not is_completed(i)}
    assert not other, f"not completed: {other}"
    return dict(items)


def is_completed(item: typ.ReceiptItem | typ.ListedItem) -> bool:
    """Whether nothing is left to do for it, successfully."""
    return item.state == typ.ITEM_STATE_COMPLETED


async def _each(requests: Iterable[ing.StreamEpisodesRequest]) -> AsyncIterator[ing.StreamEpisodesRequest]:
    for request in requests:
        yield request
