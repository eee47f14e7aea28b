"""For every unary RPC a request that is right, and ways to spoil it."""

from collections.abc import Iterator
from typing import Any

import grpc
import grpc.aio
from google.protobuf.message import Message

from kgsvc.v1 import admin_pb2, ingestion_pb2, retrieval_pb2, types_pb2
from tests.support.client import episode, message, timestamp
from tests.support.contract import path, request_of, response_class

_MEMORY = types_pb2.MemoryMessage(
    role_type=types_pb2.ROLE_TYPE_USER, role="Ann", content="tea?", timestamp=timestamp(5_000)
)


def _entity() -> ingestion_pb2.AddEntityNodeInput:
    entity = ingestion_pb2.AddEntityNodeInput(uuid="e", group_id="g", name="Ann", summary="a person")
    entity.attributes.update({"age": 30, "tags": ["a", {"deep": True}]})
    return entity


def _graph_search() -> retrieval_pb2.SearchGraphInput:
    pb = retrieval_pb2
    methods = [pb.SEARCH_METHOD_BM25, pb.SEARCH_METHOD_COSINE, pb.SEARCH_METHOD_BFS]
    how = pb.ScopeSearch(scope=pb.SEARCH_SCOPE_FACTS, methods=methods, max_depth=2)
    span = pb.TimeSpan(since=timestamp(1_000), until=timestamp(5_000))
    filters = pb.SearchFilters(relation_names=["KNOWS"], created_at=span, known_as_of=timestamp(5_000))
    return pb.SearchGraphInput(group_ids=["g"], query="tea", scopes=[how], filters=filters, min_score=0.5)


def inputs() -> dict[str, Message]:
    """A full and valid input by method name."""
    item = episode("tea", 1_000, uuid="u", name="n")
    item.source_description = "notes"
    said = message("hi", 1_000, role="Ann", uuid="m")
    ing, ret, adm = ingestion_pb2, retrieval_pb2, admin_pb2
    return {
        "AddMessages": ing.AddMessagesInput(group_id="g", messages=[said]),
        "AddEpisodes": ing.AddEpisodesInput(group_id="g", items=[item]),
        "AddEntityNode": _entity(),
        "GetReceipt": ing.GetReceiptInput(receipt_id="r"),
        "WatchReceipt": ing.WatchReceiptInput(receipt_id="r"),
        "ListItems": ing.ListItemsInput(group_id="g", states=[types_pb2.ITEM_STATE_PARKED], page_size=5),
        "RetryItems": ing.RetryItemsInput(group_id="g", uuids=["u"]),
        "SearchGraph": _graph_search(),
        "SearchFacts": ret.SearchFactsInput(group_ids=["g"], query="tea", max_facts=3),
        "GetMemory": ret.GetMemoryInput(group_id="g", messages=[_MEMORY]),
        "GetEntityEdge": ret.GetEntityEdgeInput(uuid="f", group_id="g"),
        "GetEpisodes": ret.GetEpisodesInput(group_id="g", last_n=5),
        "GetEntityNode": ret.GetEntityNodeInput(uuid="n", group_id="g", max_facts=5, max_episodes=5),
        "GetFactHistory": ret.GetFactHistoryInput(uuid="f", group_id="g"),
        "UpdateFact": adm.UpdateFactInput(uuid="f", group_id="g", fact="Ann drinks tea", reason="asked her"),
        "MergeEntityNodes": adm.MergeEntityNodesInput(group_id="g", keep_uuid="n", merge_uuid="m"),
        "UndoMerge": adm.UndoMergeInput(group_id="g", merge_id="m"),
        "Healthcheck": adm.HealthcheckInput(),
        "DeleteEntityEdge": adm.DeleteEntityEdgeInput(uuid="f"),
        "DeleteEpisode": adm.DeleteEpisodeInput(uuid="u"),
        "DeleteGroup": adm.DeleteGroupInput(group_id="g"),
        "ClearAll": adm.ClearAllInput(),
    }


METHODS = inputs().keys()


def request(name: str, change: Any = None) -> Any:
    """A valid request of a method, `change`d by a function of its input."""
    made = request_of(name)
    made.input.CopyFrom(inputs()[name])
    if change is not None:
        change(made.input)
    return made


async def call(
    channel: grpc.aio.Channel, name: str, raw: bytes, metadata: Any = None, timeout_s: float = 20
) -> Any:
    """The response to the bytes of a request; of a response stream, the first message."""
    deserialise = response_class(name).FromString
    if name == "WatchReceipt":
        stream: Any = channel.unary_stream(path(name), response_deserializer=deserialise)
        return await anext(aiter(stream(raw, metadata=metadata, timeout=timeout_s)))
    unary: Any = channel.unary_unary(path(name), response_deserializer=deserialise)
    return await unary(raw, metadata=metadata, timeout=timeout_s)


def messages_within(root: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every message inside a request that is set, with its path."""
    for field, value in root.ListFields():
        where = f"{path}{field.name}"
        if field.message_type is None:
            continue
        if field.message_type.GetOptions().map_entry:
            for key in sorted(value):
                yield from _itself_and_within(value[key], f"{where}[{key!r}].value.")
        elif field.is_repeated:
            for index, inner in enumerate(value):
                yield from _itself_and_within(inner, f"{where}[{index}].")
        else:
            yield from _itself_and_within(value, f"{where}.")


def _itself_and_within(message: Any, path: str) -> Iterator[tuple[str, Any]]:
    yield path, message
    yield from messages_within(message, path)
