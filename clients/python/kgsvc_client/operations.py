"""What a client can do, once for the blocking client and for the one for asyncio.

An operation is a generator: it yields the steps that talk to the service, is sent what they answer, and
returns the result. It waits for nothing itself: who runs it does.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Generic, TypeAlias, TypeVar

from kgsvc_client import values
from kgsvc_client.connection import TRIES, Runtime
from kgsvc_client.errors import error
from kgsvc_client.items import Addable, Converter, Sent, timestamp
from kgsvc_client.v1 import documents_pb2, retrieval_pb2, types_pb2

T = TypeVar("T")
FOREVER = float("inf")
WAIT_S = 600.0
_WHOLE_BYTES = 3 * 1024 * 1024  # of a document that one call carries
_PART_BYTES = 1024 * 1024
_LOOK_S = 0.25


@dataclass(frozen=True, slots=True)
class Scope:
    """Where an operation takes place."""

    group_id: str
    timeout_s: float
    runtime: Runtime

    def now(self) -> datetime:
        """The time of day."""
        return datetime.fromtimestamp(self.runtime.now(), UTC)


@dataclass(slots=True)
class Call:
    """A step: a call, and what becomes of its answers. Each may be sent again after a failure that passes: it
    reads, or the service knows what it was sent before."""

    method: str
    input: Mapping[str, Any] = field(default_factory=dict)
    key: str | None = None  # its idempotency key
    timeout_s: float | None = None  # with all attempts; None: that of the client
    tries: float = TRIES
    take: Callable[[Any], None] | None = None  # gets each answer of a stream; None: the call has one answer
    parts: Callable[[], Iterator[Any]] | None = None  # the requests, if they are a stream
    once_begun: bool = False  # whether nothing is tried again after the first answer


@dataclass(frozen=True, slots=True)
class Pause:
    """A step: wait."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Load:
    """A step: the bytes of a file and when it was last changed."""

    path: Path


Steps: TypeAlias = "Generator[Call | Pause | Load, Any, T]"


@dataclass(frozen=True, slots=True)
class Pages(Generic[T]):
    """A listing, a page at a time."""

    method: str
    input: Mapping[str, Any]
    field: str  # of a page: its entries
    view: Callable[[Any], T]

    def call(self, token: str | None) -> Call:
        """The call for a page."""
        return Call(self.method, {**self.input, "page_token": token})

    def read(self, page: Any) -> tuple[Sequence[T], str]:
        """Its entries, and the token of the next page."""
        return [*map(self.view, getattr(page, self.field))], page.next_page_token


def add(
    scope: Scope,
    items: Addable | Iterable[Addable],
    *,
    time: datetime | None = None,
    key: str | None = None,
    wait: bool = False,
) -> Steps[values.Receipt]:
    """Add messages of a chat, or texts and notes: all or none, at most 256. A mapping is a message as the
    OpenAI API takes it; instructions and output of tools are not sent. `time` is that of the first that tells
    none, by default now. `key`: the same call again within a day changes nothing. With `wait`, returns once
    everything is in the graph or parked."""
    several = isinstance(items, Iterable) and not isinstance(items, str | Mapping)
    converter = Converter(time or scope.now())
    found = map(converter.sent, items if several else (items,))  # type: ignore[arg-type]
    sent: list[Sent] = [item for item in found if item is not None]
    if not sent:
        return values.Receipt()
    kinds = {type(item) for item in sent}
    if len(kinds) > 1:
        raise ValueError("messages and notes go in calls of their own, or in stream()")
    method, name = ("AddMessages", "messages") if kinds == {types_pb2.Message} else ("AddEpisodes", "items")
    call = Call(method, {"group_id": scope.group_id, name: sent}, key or scope.runtime.new_id())
    output = yield call
    receipt = values.Receipt(output.receipt_id, tuple(map(values.AcceptedItem, output.items)))
    if wait:
        yield from wait_for(scope, receipt)
    return receipt


def wait_for(
    scope: Scope,
    receipt: values.Receipt | values.AddedDocument | values.Report | str,
    *,
    timeout_s: float = WAIT_S,
) -> Steps[values.Outcome]:
    """Wait until all items of a receipt, a document or a report are in the graph, parked or deleted."""
    until = scope.runtime.monotonic() + timeout_s
    items: dict[str, values.Item] = {}

    def take(answer: Any) -> None:
        items.update((each.uuid, values.Item(each)) for each in answer.output.items)

    for each in [receipt] if isinstance(receipt, str) else receipt.receipts:
        left_s = until - scope.runtime.monotonic()
        yield Call("WatchReceipt", {"receipt_id": each}, timeout_s=left_s, tries=FOREVER, take=take)
    return values.Outcome(items)


def search(
    scope: Scope,
    query: str,
    *,
    limit: int | None = None,
    kind: str = "facts",
    as_of: datetime | None = None,
    known_as_of: datetime | None = None,
    relations: Sequence[str] = (),
    types: Sequence[str] = (),
    context_tokens: int | None = None,
) -> Steps[values.Found]:
    """Find what bears on a query: facts, or another `kind` (nodes, episodes, communities, chunks). `as_of`
    asks what was true then, `known_as_of` what was known then. `relations` (WORKS_AT) and `types` (Person)
    narrow it down. With `context_tokens`, also a text of it to put before a language model."""
    wanted = {
        "group_ids": [scope.group_id],
        "query": query,
        "filters": _times(as_of, known_as_of) | {"relation_names": relations, "entity_types": types},
        "max_results": limit,
        "include_context": True if context_tokens else None,
        "context_tokens": context_tokens,
    }
    if kind != "facts":  # which are searched best without naming them
        wanted["search_type"] = retrieval_pb2.SearchScope.Value(f"SEARCH_SCOPE_{kind.upper()}")
    return values.Found((yield Call("SearchGraph", wanted)))


def _times(as_of: datetime | None, known_as_of: datetime | None) -> dict[str, Any]:
    given = {"valid_as_of": as_of, "known_as_of": known_as_of}
    return {name: timestamp(time) for name, time in given.items() if time is not None}


def context(
    scope: Scope,
    query: str,
    *,
    tokens: int = 2_000,
    as_of: datetime | None = None,
    known_as_of: datetime | None = None,
) -> Steps[str]:
    """What is known that bears on a query, as a text to put before a language model."""
    found = yield from search(scope, query, as_of=as_of, known_as_of=known_as_of, context_tokens=tokens)
    return found.context or ""


def ask(
    scope: Scope,
    question: str,
    *,
    as_of: datetime | None = None,
    known_as_of: datetime | None = None,
    on_piece: Callable[[str], None] = lambda piece: None,
    timeout_s: float = 120.0,
) -> Steps[values.Answer]:
    """Answer a question in words, from the memory alone. `on_piece` gets the answer as it is written."""
    filters = _times(as_of, known_as_of)
    wanted = {"group_ids": [scope.group_id], "question": question, "filters": filters}
    results = [retrieval_pb2.AskResult()]

    def take(answer: Any) -> None:
        if answer.output.HasField("piece"):
            on_piece(answer.output.piece)
        else:
            results.append(answer.output.result)

    yield Call("Ask", wanted, timeout_s=timeout_s, take=take, once_begun=True)
    return values.Answer(results[-1])


def history(scope: Scope, fact: values.Fact | str) -> Steps[tuple[values.Fact, ...]]:
    """A fact with those that it replaced and that replaced it, in the order they were written."""
    uuid = fact if isinstance(fact, str) else fact.uuid
    output = yield Call("GetFactHistory", {"uuid": uuid, "group_id": scope.group_id})
    return tuple(map(values.Fact, output.facts))


def entity(scope: Scope, uuid: str, *, ended: bool = False) -> Steps[values.KnownEntity]:
    """An entity with its facts (those that ended too, if asked) and the latest episodes that name it."""
    wanted = {"uuid": uuid, "group_id": scope.group_id, "include_expired": ended or None}
    return values.KnownEntity((yield Call("GetEntityNode", wanted)))


def forget(
    scope: Scope,
    *,
    episode: str | None = None,
    document: str | None = None,
    fact: str | None = None,
    everything: bool = False,
) -> Steps[None]:
    """Delete for good: an episode or a document with all that it alone supports, a fact, or the whole group.
    Deleting what is not there is no error."""
    named: list[tuple[str, dict[str, Any]]] = []
    if episode is not None:
        named.append(("DeleteEpisode", {"uuid": episode, "cascade": True}))
    if document is not None:
        named.append(("DeleteDocument", {"document_id": document}))
    if fact is not None:
        named.append(("DeleteEntityEdge", {"uuid": fact}))
    if everything:
        named.append(("DeleteGroup", {}))
    if len(named) != 1:
        raise ValueError("name one of episode, document and fact, or everything=True")
    method, wanted = named[0]
    yield Call(method, {**wanted, "group_id": scope.group_id})


def add_document(
    scope: Scope,
    content: Path | str | bytes,
    *,
    id: str | None = None,
    title: str | None = None,
    source_url: str | None = None,
    author: str | None = None,
    path: str | None = None,
    time: datetime | None = None,
) -> Steps[values.AddedDocument]:
    """Add a document, or a new text of one: a file by its path, a text, or the bytes of a file called `path`.
    It is the same document by `id`, else by `source_url`, else by `path`. `time` is when the text was true:
    by default when the file was last changed, or now."""
    body: str | bytes
    if isinstance(content, Path):
        path = path or content.as_posix()
        body, changed = yield Load(content)
        time = time or datetime.fromtimestamp(changed, UTC)
    else:
        body = content
    item = documents_pb2.DocumentItem(
        document_id=id, title=title, source_url=source_url, author=author, path=path
    )
    item.reference_time.CopyFrom(timestamp(time or scope.now()))
    if len(body.encode() if isinstance(body, str) else body) > _WHOLE_BYTES:
        return (yield from _stream_document(scope, item, body))
    if isinstance(body, str):
        item.text = body
    else:
        item.data = body
    output = yield Call("AddDocuments", {"group_id": scope.group_id, "documents": [item]})
    return values.AddedDocument(output.documents[0])


def _stream_document(
    scope: Scope, item: documents_pb2.DocumentItem, content: str | bytes
) -> Steps[values.AddedDocument]:
    """One that is larger than a call may be."""
    if isinstance(content, str):
        item.text, content = "", content.encode()
    else:
        item.data = b""
    part = documents_pb2.StreamDocumentsRequest

    def parts() -> Iterator[documents_pb2.StreamDocumentsRequest]:
        yield part(group_id=scope.group_id, document=item)
        for at in range(0, len(content), _PART_BYTES):
            more = content[at : at + _PART_BYTES]
            yield part(more=more, last=at + _PART_BYTES >= len(content))

    answers: list[Any] = []
    yield Call("StreamDocuments", timeout_s=WAIT_S, take=answers.append, parts=parts)
    if answers[-1].HasField("error"):
        raise error(answers[-1].error.error_code, answers[-1].error.message, answers[-1].request_id)
    return values.AddedDocument(answers[-1].document)


def document(
    scope: Scope, id: str, *, wait: bool = False, timeout_s: float = WAIT_S
) -> Steps[values.Document]:
    """A document and how far it is. With `wait`, once all of it is read, or as much as can be, and what only
    former texts said is withdrawn."""
    until = scope.runtime.monotonic() + timeout_s
    while True:
        output = yield Call("GetDocument", {"group_id": scope.group_id, "document_id": id})
        found = values.Document(output.document)
        settled = found.state == "processed" and output.document.settled
        if not wait or settled or found.state == "failed":
            return found
        if scope.runtime.monotonic() > until:
            raise error("DEADLINE_EXCEEDED", f"{id} is not read after {timeout_s:g} s; the service works on")
        yield Pause(_LOOK_S)


def health(scope: Scope) -> Steps[values.Health]:
    """What the service runs on."""
    return values.Health((yield Call("Healthcheck")))


def documents(scope: Scope) -> Pages[values.Document]:
    """The documents of the group, by id."""
    return Pages("ListDocuments", {"group_id": scope.group_id}, "documents", values.Document)


def items(scope: Scope, *states: str) -> Pages[values.Item]:
    """What was added, in order; with `states` (accepted, parked, ...) those in one of them."""
    wanted = [types_pb2.ItemState.Value(f"ITEM_STATE_{state.upper()}") for state in states]
    return Pages("ListItems", {"group_id": scope.group_id, "states": wanted}, "items", values.Item)


def episodes(scope: Scope, last: int = 1_000, page_size: int = 100) -> Pages[values.Episode]:
    """The latest texts, the oldest of them first."""
    wanted = {"group_id": scope.group_id, "last_n": last, "page_size": page_size}
    return Pages("GetEpisodes", wanted, "episodes", values.Episode)


def groups(scope: Scope) -> Pages[values.Group]:
    """The groups that the caller may read."""
    return Pages("ListGroups", {}, "groups", values.Group)
