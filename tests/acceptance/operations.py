"""The operations that calls are refused and bounded by: what in a complete input of each is required."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from google.protobuf.message import Message

from tests.support import requests
from tests.support.contract import path, response_class

_STEP = re.compile(r"(\w+)(?:\[(\d+)\])?")


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation. Paths are as violations name them."""

    name: str
    required: tuple[str, ...] = ()
    enums: tuple[str, ...] = ()
    times: tuple[str, ...] = ()

    @property
    def path(self) -> str:
        """The full name of the method, as gRPC calls it."""
        return path(self.name)

    def request(self, group: str) -> Any:
        """A request with everything in it that an input can hold."""
        return requests.complete(self.name, group)

    @property
    def messages(self) -> Iterator[str]:
        """The paths of all messages in it, itself included."""
        return (where for where, _ in requests.messages_within(self.request("group")))

    @property
    def response(self) -> type[Message]:
        """What it answers with."""
        found: type[Message] = response_class(self.name)
        return found


def at(request: Any, path: str) -> tuple[Any, str]:
    """The message that holds the field at `path`, and the field's name."""
    *above, last = path.split(".")
    for step in above:
        name, index = _STEP.fullmatch(step).groups()  # type: ignore[union-attr]
        request = getattr(request, name)
        if index is not None:
            request = request[int(index)]
    return request, last


def without(request: Any, path: str) -> Any:
    """The request with the field at `path` left out."""
    message, field = at(request, path)
    message.ClearField(field)
    return request


def _below(path: str, *fields: str) -> tuple[str, ...]:
    return tuple(f"input.{path}{field}" for field in fields)


_MESSAGE = _below("messages[0].", "role_type", "content", "timestamp")
_ITEM = _below("items[0].", "source", "body", "reference_time")
_DOCUMENT = _below("documents[0].", "text", "reference_time")
_WHEN_SAID = ("input.messages[0].timestamp",)
_WHOSE = ("input.messages[0].role_type",)

OPERATIONS = {
    operation.name: operation
    for operation in (
        Operation("Healthcheck"),
        Operation("AddMessages", (*_below("", "group_id", "messages"), *_MESSAGE), _WHOSE, _WHEN_SAID),
        Operation("AddEpisodes", (*_below("", "group_id", "items"), *_ITEM), (_ITEM[0],), (_ITEM[2],)),
        Operation("AddDocuments", (*_below("", "group_id", "documents"), *_DOCUMENT), (), (_DOCUMENT[1],)),
        Operation("GetDocument", _below("", "group_id", "document_id")),
        Operation("ListDocuments", _below("", "group_id")),
        Operation("DeleteDocument", _below("", "group_id", "document_id")),
        Operation("AddEntityNode", _below("", "uuid", "group_id", "name")),
        Operation("SearchFacts", _below("", "group_ids", "query")),
        Operation(
            "SearchGraph",
            _below("", "group_ids", "query", "scopes[0].scope", "scopes[0].methods"),
            ("input.scopes[0].scope",),
        ),
        Operation("GetEntityEdge", _below("", "uuid")),
        Operation("GetEntityNode", _below("", "uuid")),
        Operation("GetRelation", _below("", "group_id", "node_uuid", "other_node_uuid")),
        Operation("GetFactHistory", _below("", "uuid")),
        Operation("MergeEntityNodes", _below("", "group_id", "keep_uuid", "merge_uuid")),
        Operation("UndoMerge", _below("", "group_id", "merge_id")),
        Operation("SplitEntityNode", _below("", "group_id", "uuid", "episode_uuids")),
        Operation("UndoSplit", _below("", "group_id", "split_id")),
        Operation("UpdateFact", _below("", "uuid", "fact")),
        Operation("RetractFact", _below("", "uuid", "reason")),
        Operation("GetEpisodes", _below("", "group_id", "last_n")),
        Operation("GetMemory", (*_below("", "group_id", "messages"), *_MESSAGE), _WHOSE, _WHEN_SAID),
        Operation("DeleteEntityEdge", _below("", "uuid")),
        Operation("DeleteEpisode", _below("", "uuid")),
        Operation("DeleteGroup", _below("", "group_id")),
        Operation("GetErasure", _below("", "erasure_id")),
        Operation("PutOntology", _below("", "group_id", "yaml")),
        Operation("GetOntology", _below("", "group_id")),
        Operation("ClearAll"),
        Operation("BuildCommunities", _below("", "group_ids")),
        Operation("GetCommunityBuild", _below("", "build_id", "group_id")),
        Operation("ListCommunities", _below("", "group_id")),
        Operation("ListGroups"),
        Operation("ListMerges", _below("", "group_id")),
        Operation("SetModes", _below("", "group_id", "paused")),
    )
}
