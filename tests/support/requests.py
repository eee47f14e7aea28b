"""For every method a complete request that is right, and ways to spoil it."""

from collections.abc import Iterator
from typing import Any

from google.protobuf.message import Message

from kgsvc.v1 import retrieval_pb2 as ret
from kgsvc.v1 import types_pb2 as typ
from tests.support.client import timestamp
from tests.support.contract import request_of

UNKNOWN_NUMBER = 2047
UNKNOWN_FIELD = b"\xf8\x7f\x01"  # number 2047, a varint
_AT, _LATER = timestamp(1_704_067_200_000), timestamp(1_709_251_200_000)
_SAID = {"role_type": typ.ROLE_TYPE_USER, "role": "Ann", "content": "hi", "timestamp": _AT}
_MESSAGE = {**_SAID, "uuid": "message-1", "name": "hello", "source_description": "a chat"}
_ITEM = {
    "uuid": "episode-1",
    "name": "note",
    "source": typ.SOURCE_TEXT,
    "body": "Nothing in particular.",
    "reference_time": _AT,
    "source_description": "a notebook",
}
_DOCUMENT = {
    "document_id": "book",
    "title": "Handbook",
    "source_url": "https://docs.example/book",
    "author": "Ann",
    "path": "book.md",
    "reference_time": _AT,
    "text": "Nothing in particular.",
    "media_type": "text/markdown",
}
_SPAN = {"since": _AT, "until": _LATER}
_HOW = {
    "scope": ret.SEARCH_SCOPE_FACTS,
    "methods": [ret.SEARCH_METHOD_BM25, ret.SEARCH_METHOD_COSINE, ret.SEARCH_METHOD_BFS],
    "max_depth": 2,
}
_FILTERS = {
    "relation_names": ["KNOWS"],
    **dict.fromkeys(("valid_at", "invalid_at", "created_at", "expired_at"), _SPAN),
    **dict.fromkeys(("valid_as_of", "known_as_of"), _LATER),
    "holding_now": True,
}
_ATTRIBUTES = {"age": 30, "tags": ["a", {"deep": True}]}
_GRAPH = {"scopes": [_HOW], "filters": _FILTERS, "max_results": 5, "min_score": 0.5, "include_scores": True}


def inputs(group: str) -> dict[str, dict[str, Any]]:
    """By method an input with everything in it that an input can hold; what it names is not there."""
    here, among = {"group_id": group}, {"group_ids": [group]}
    named = {"uuid": "nobody", **here}
    return {
        "AddMessages": {**here, "messages": [_MESSAGE]},
        "AddEpisodes": {**here, "items": [_ITEM]},
        "AddDocuments": {**here, "documents": [_DOCUMENT | {"metadata": _ATTRIBUTES}]},
        "GetDocument": {**here, "document_id": "never", "include_chunks": True, "page_size": 5},
        "ListDocuments": {**here, "page_size": 5},
        "DeleteDocument": {**here, "document_id": "never"},
        "AddEntityNode": {
            **here, "uuid": "node-1", "name": "Ann", "summary": "somebody", "attributes": _ATTRIBUTES,
        },
        "GetReceipt": {"receipt_id": "r"},
        "WatchReceipt": {"receipt_id": "r"},
        "WatchGroup": {**here, "cursor": "WzAsMF0="},
        "ListItems": {**here, "states": [typ.ITEM_STATE_PARKED], "page_size": 5},
        "RetryItems": {**here, "uuids": ["u"]},
        "SearchFacts": {**among, "query": "anything", "max_facts": 5},
        "SearchGraph": {**among, "query": "anything", **_GRAPH},
        "Ask": {
            **among, "question": "anything", "filters": _FILTERS, "max_results": 5, "max_tokens": 100,
            "only_need_context": True, "include_provenance": True,
        },
        "GetMemory": {**here, "messages": [_SAID], "max_facts": 5},
        "GetEntityEdge": named,
        "GetEntityNode": {**named, "max_facts": 5, "max_episodes": 5, "include_expired": True},
        "GetRelation": {
            **here,
            "node_uuid": "nobody",
            "other_node_uuid": "else",
            "include_ended": True,
            "valid_as_of": _AT,
            "known_as_of": _AT,
        },
        "GetFactHistory": named,
        "GetEpisodes": {**here, "last_n": 5, "page_size": 5},
        "UpdateFact": {
            **named, "fact": "Ann likes tea", "reason": "she said so", "attributes": {"since": 2020},
            "source_node_uuid": "node-1", "target_node_uuid": "node-2",
        },
        "RetractFact": {**named, "reason": "another Ann was meant"},
        "MergeEntityNodes": {**here, "keep_uuid": "nobody", "merge_uuid": "nobody-else"},
        "UndoMerge": {**here, "merge_id": "never"},
        "SplitEntityNode": {**named, "episode_uuids": ["nobody"], "name": "Ann"},
        "UndoSplit": {**here, "split_id": "never"},
        "DeleteEntityEdge": named,
        "DeleteEpisode": named,
        "DeleteGroup": here,
        "ClearAll": {},
        "GetErasure": {"erasure_id": "never-there"},
        "Healthcheck": {},
        "PutOntology": {**here, "yaml": "entity_types: [{name: Task, description: work}]"},
        "GetOntology": here,
        "BuildCommunities": among,
        "GetCommunityBuild": {**here, "build_id": "nobody"},
        "ListCommunities": {**here, "page_size": 5},
        "ListGroups": {"page_size": 5},
        "ExportGroup": {**here, "without_vectors": True, "cursor": "WyJleHBvcnQiLDEsImFiIiw1XQ=="},
        "ListMerges": {**here, "uuid": "nobody", "page_size": 5},
        "SetModes": {**here, "paused": False},
    }  # fmt: skip


METHODS = inputs("g").keys()


def complete(name: str, group: str) -> Any:
    """The request of a method with that input."""
    return request_of(name, **inputs(group)[name])


def with_unknown_field(request: Any, path: str) -> Any:
    """The request with a field that nobody knows in the message at `path`, one of `messages_within`."""
    dict(messages_within(request))[path].MergeFromString(UNKNOWN_FIELD)
    return request


def messages_within(message: Message, path: str = "") -> Iterator[tuple[str, Any]]:
    """A message and every message that is set in it, each with the path before its fields."""
    yield path, message
    for field, value in message.ListFields():
        where = f"{path}{field.name}"
        if field.message_type is None:
            continue
        if field.message_type.GetOptions().map_entry:
            for key in sorted(value):
                yield from messages_within(value[key], f"{where}[{key!r}].value.")
        elif field.is_repeated:
            for index, inner in enumerate(value):
                yield from messages_within(inner, f"{where}[{index}].")
        else:
            yield from messages_within(value, f"{where}.")
