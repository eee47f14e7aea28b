"""The twelve operations of spec 004 §4: a complete input of each, and what in it is required."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message

from kgsvc.v1 import retrieval_pb2 as ret
from kgsvc.v1 import types_pb2 as typ
from tests.acceptance.saying import JAN, MAR
from tests.support.client import timestamp
from tests.support.contract import path, request_of, response_class

UNKNOWN_NUMBER = 2047
_UNKNOWN_FIELD = b"\xf8\x7f\x01"  # number 2047, a varint
_STEP = re.compile(r"(\w+)(?:\[(\d+)\])?")


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation. Paths are as violations name them; `fill` completes the input for a group."""

    name: str
    fill: Callable[[Any, str], None]
    required: tuple[str, ...] = ()
    enums: tuple[str, ...] = ()
    times: tuple[str, ...] = ()

    @property
    def path(self) -> str:
        """The full name of the method, as gRPC calls it."""
        return path(self.name)

    def request(self, group: str) -> Any:
        """A request with everything in it that an input can hold."""
        made = request_of(self.name)
        self.fill(made.input, group)
        return made

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


def with_unknown_field(request: Any, path: str) -> Any:
    """The request with a field nobody knows in the message at `path` ("": the request itself)."""
    message = at(request, f"{path}.x" if path else "x")[0]
    message.MergeFromString(_UNKNOWN_FIELD)
    return request


def messages_in(request: Message, path: str = "") -> Iterator[str]:
    """The paths of all messages in a request, itself included; not into the values of maps."""
    yield path
    for field, value in request.ListFields():
        if not isinstance(field, FieldDescriptor) or field.message_type is None or _is_map(field):
            continue
        below = f"{path}.{field.name}" if path else field.name
        parts = [(f"{below}[{i}]", each) for i, each in enumerate(value)] if field.is_repeated else None
        for where, message in parts or [(below, value)]:
            yield from messages_in(message, where)


def _is_map(field: FieldDescriptor) -> bool:
    entry: Descriptor | None = field.message_type
    return entry is not None and bool(entry.GetOptions().map_entry)


def _nothing(_given: Any, _group: str) -> None:
    """An input without fields."""


def _messages(given: Any, group: str) -> None:
    given.group_id = group
    given.messages.add(
        uuid="message-1",
        name="hello",
        role_type=typ.ROLE_TYPE_USER,
        role="Ann",
        content="Good morning.",
        timestamp=timestamp(JAN),
        source_description="a chat",
    )


def _episodes(given: Any, group: str) -> None:
    given.group_id = group
    given.items.add(
        uuid="episode-1",
        name="note",
        source=typ.SOURCE_TEXT,
        body="Nothing in particular.",
        reference_time=timestamp(JAN),
        source_description="a notebook",
    )


def _ontology(given: Any, group: str) -> None:
    given.group_id = group
    given.yaml = "entity_types: [{name: Task, description: work}]"


def _entity(given: Any, group: str) -> None:
    given.uuid, given.group_id, given.name, given.summary = "node-1", group, "Ann", "somebody"
    given.attributes.update({"city": "Oslo", "tags": ["a"], "more": {"deep": 1}})


def _search(given: Any, group: str) -> None:
    given.group_ids.append(group)
    given.query, given.max_facts = "anything", 5


def _search_graph(given: Any, group: str) -> None:
    given.group_ids.append(group)
    given.query, given.max_results, given.min_score, given.include_scores = "anything", 5, 0.0, True
    given.scopes.add(
        scope=ret.SEARCH_SCOPE_FACTS,
        methods=[ret.SEARCH_METHOD_BM25, ret.SEARCH_METHOD_COSINE, ret.SEARCH_METHOD_BFS],
        reranker=ret.RERANKER_WEIGHTED_SUM,
        max_depth=2,
        weights=[1, 2, 0.5],
    )
    filters = given.filters
    filters.relation_names.append("KNOWS")
    for span in (filters.valid_at, filters.invalid_at, filters.created_at, filters.expired_at):
        span.since.CopyFrom(timestamp(JAN))
        span.until.CopyFrom(timestamp(MAR))
    filters.valid_as_of.CopyFrom(timestamp(JAN))
    filters.known_as_of.CopyFrom(timestamp(JAN))


def _named(given: Any, group: str) -> None:
    given.uuid, given.group_id = "nobody", group


def _entity_node(given: Any, group: str) -> None:
    _named(given, group)
    given.max_facts, given.max_episodes, given.include_expired = 5, 5, True


def _updated_fact(given: Any, group: str) -> None:
    _named(given, group)
    given.fact, given.reason = "Ann likes tea", "she said so"
    given.source_node_uuid, given.target_node_uuid = "node-1", "node-2"
    given.attributes.update({"since": 2020})


def _merge(given: Any, group: str) -> None:
    given.group_id, given.keep_uuid, given.merge_uuid = group, "nobody", "nobody-else"


def _undo(given: Any, group: str) -> None:
    given.group_id, given.merge_id = group, "never"


def _last(given: Any, group: str) -> None:
    given.group_id, given.last_n, given.page_size = group, 5, 5


def _memory(given: Any, group: str) -> None:
    given.group_id, given.max_facts = group, 5
    given.messages.add(role_type=typ.ROLE_TYPE_USER, role="Ann", content="hi", timestamp=timestamp(JAN))


def _group(given: Any, group: str) -> None:
    given.group_id = group


def _groups(given: Any, group: str) -> None:
    given.group_ids.append(group)


def _build(given: Any, group: str) -> None:
    given.build_id, given.group_id = "nobody", group


def _communities(given: Any, group: str) -> None:
    given.group_id, given.page_size = group, 5


def _below(path: str, *fields: str) -> tuple[str, ...]:
    return tuple(f"input.{path}{field}" for field in fields)


_MESSAGE = _below("messages[0].", "role_type", "content", "timestamp")
_ITEM = _below("items[0].", "source", "body", "reference_time")
_WHEN_SAID = ("input.messages[0].timestamp",)
_WHOSE = ("input.messages[0].role_type",)

OPERATIONS = {
    operation.name: operation
    for operation in (
        Operation("Healthcheck", _nothing),
        Operation(
            "AddMessages", _messages, (*_below("", "group_id", "messages"), *_MESSAGE), _WHOSE, _WHEN_SAID
        ),
        Operation(
            "AddEpisodes", _episodes, (*_below("", "group_id", "items"), *_ITEM), (_ITEM[0],), (_ITEM[2],)
        ),
        Operation("AddEntityNode", _entity, _below("", "uuid", "group_id", "name")),
        Operation("SearchFacts", _search, _below("", "group_ids", "query")),
        Operation(
            "SearchGraph",
            _search_graph,
            _below("", "group_ids", "query", "scopes[0].scope", "scopes[0].methods"),
            ("input.scopes[0].scope",),
        ),
        Operation("GetEntityEdge", _named, _below("", "uuid")),
        Operation("GetEntityNode", _entity_node, _below("", "uuid")),
        Operation("GetFactHistory", _named, _below("", "uuid")),
        Operation("MergeEntityNodes", _merge, _below("", "group_id", "keep_uuid", "merge_uuid")),
        Operation("UndoMerge", _undo, _below("", "group_id", "merge_id")),
        Operation("UpdateFact", _updated_fact, _below("", "uuid", "fact")),
        Operation("GetEpisodes", _last, _below("", "group_id", "last_n")),
        Operation("GetMemory", _memory, (*_below("", "group_id", "messages"), *_MESSAGE), _WHOSE, _WHEN_SAID),
        Operation("DeleteEntityEdge", _named, _below("", "uuid")),
        Operation("DeleteEpisode", _named, _below("", "uuid")),
        Operation("DeleteGroup", _group, _below("", "group_id")),
        Operation("PutOntology", _ontology, _below("", "group_id", "yaml")),
        Operation("GetOntology", _group, _below("", "group_id")),
        Operation("ClearAll", _nothing),
        Operation("BuildCommunities", _groups, _below("", "group_ids")),
        Operation("GetCommunityBuild", _build, _below("", "build_id", "group_id")),
        Operation("ListCommunities", _communities, _below("", "group_id")),
    )
}
