"""What a client can do, once for the blocking client and for the one for asyncio.

An operation is a call, or a generator: it yields the steps that talk to the service, is sent what they
answer, and returns the result. It waits for nothing itself: who runs it does.
"""

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Generic, NamedTuple, ParamSpec, TypeAlias

from kgsvc_client import values
from kgsvc_client.connection import FOREVER, WAIT_S, Call, Runtime, T
from kgsvc_client.errors import error
from kgsvc_client.items import Addable, Converter, zoned
from kgsvc_client.v1 import documents_pb2, retrieval_pb2

P = ParamSpec("P")
_WHOLE_BYTES = 3 * 1024 * 1024  # of a document that one call carries
_PART_BYTES = 1024 * 1024
_LOOK_S = 0.25


class Scope:
    """Where an operation takes place: a group, or the service."""

    def __init__(self, runtime: Runtime, group_id: str) -> None:
        self.runtime = runtime
        self.id = group_id

    def now(self) -> datetime:
        """The time of day."""
        return datetime.fromtimestamp(self.runtime.now(), UTC)


# A call, a file to `load`, or seconds to wait.
Steps: TypeAlias = Generator[Call[Any] | Path | float, Any, T]


class Pages(NamedTuple, Generic[T]):
    """A listing, a page at a time."""

    method: str
    input: Mapping[str, Any]
    field: str  # of a page: its entries
    view: Callable[[Any], T]


def load(path: Path) -> tuple[bytes, float]:
    """The bytes of a file, and when it was last changed."""
    return path.read_bytes(), path.stat().st_mtime


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
    sent = [item for item in found if item is not None]
    if not sent:
        return values.Receipt()
    kinds = {kind for kind, _ in sent}
    if len(kinds) > 1:
        raise ValueError("messages and notes go in calls of their own, or in stream()")
    method, name = ("AddMessages", "messages") if kinds == {"message"} else ("AddEpisodes", "items")
    wanted = {"group_id": scope.id, name: [fields for _, fields in sent]}
    output = yield Call(method, wanted, {"idempotency_key": key or scope.runtime.new_id()})
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
        wanted = {"receipt_id": each}
        yield Call("WatchReceipt", wanted, timeout_s=left_s, tries=FOREVER, streams=True, view=take)
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
) -> Call[values.Found]:
    """Find what bears on a query: facts, or another `kind` (nodes, episodes, communities, chunks). `as_of`
    asks what was true then, `known_as_of` what was known then. `relations` (WORKS_AT) and `types` (Person)
    narrow it down. With `context_tokens`, also a text of it to put before a language model."""
    named = {"relation_names": relations, "entity_types": types}
    wanted = {
        "group_ids": [scope.id],
        "query": query,
        "filters": _filters(valid_as_of=as_of, known_as_of=known_as_of, **named),
        "max_results": limit,
        "include_context": True if context_tokens else None,
        "context_tokens": context_tokens,
        # Facts are searched best without naming them.
        "search_type": None if kind == "facts" else f"SEARCH_SCOPE_{kind.upper()}",
    }
    return Call("SearchGraph", wanted, view=values.Found)


def _filters(**given: Any) -> dict[str, Any] | None:
    if not any(given.values()):
        return None
    return {name: zoned(each) if isinstance(each, datetime) else each for name, each in given.items()}


def context(
    scope: Scope,
    query: str,
    *,
    tokens: int = 2_000,
    as_of: datetime | None = None,
    known_as_of: datetime | None = None,
) -> Steps[str]:
    """What is known that bears on a query, as a text to put before a language model."""
    found = yield search(scope, query, as_of=as_of, known_as_of=known_as_of, context_tokens=tokens)
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
    filters = _filters(valid_as_of=as_of, known_as_of=known_as_of)
    wanted = {"group_ids": [scope.id], "question": question, "filters": filters}
    results = [retrieval_pb2.AskResult()]

    def take(answer: Any) -> None:
        if answer.output.HasField("piece"):
            on_piece(answer.output.piece)
        else:
            results.append(answer.output.result)

    yield Call("Ask", wanted, timeout_s=timeout_s, once_begun=True, streams=True, view=take)
    return values.Answer(results[-1])


def history(scope: Scope, fact: values.Fact | str) -> Call[tuple[values.Fact, ...]]:
    """A fact with those that it replaced and that replaced it, in the order they were written."""
    wanted = {"uuid": fact if isinstance(fact, str) else fact.uuid, "group_id": scope.id}
    return Call("GetFactHistory", wanted, view=lambda output: tuple(map(values.Fact, output.facts)))


def entity(scope: Scope, uuid: str, *, ended: bool = False) -> Call[values.KnownEntity]:
    """An entity with its facts (those that ended too, if asked) and the latest episodes that name it."""
    wanted = {"uuid": uuid, "group_id": scope.id, "include_expired": ended or None}
    return Call("GetEntityNode", wanted, view=values.KnownEntity)


def forget(
    scope: Scope,
    *,
    episode: str | None = None,
    document: str | None = None,
    fact: str | None = None,
    everything: bool = False,
) -> Call[None]:
    """Delete for good: an episode or a document with all that it alone supports, a fact, or the whole group.
    Deleting what is not there is no error."""
    targets: tuple[tuple[object, str, dict[str, Any]], ...] = (
        (episode, "DeleteEpisode", {"uuid": episode, "cascade": True}),
        (document, "DeleteDocument", {"document_id": document}),
        (fact, "DeleteEntityEdge", {"uuid": fact}),
        (everything or None, "DeleteGroup", {}),
    )
    named = [(method, {**of, "group_id": scope.id}) for it, method, of in targets if it is not None]
    if len(named) != 1:
        raise ValueError("name one of episode, document and fact, or everything=True")
    return Call(*named[0], view=lambda output: None)


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
        body, changed = yield content
        time = time or datetime.fromtimestamp(changed, UTC)
    else:
        body = content
    reference_time, form = zoned(time or scope.now()), "text" if isinstance(body, str) else "data"
    item: dict[str, Any] = {"document_id": id, "title": title, "source_url": source_url, "author": author}
    item |= {"path": path, "reference_time": reference_time, form: body}
    whole = body.encode() if isinstance(body, str) else body
    if len(whole) > _WHOLE_BYTES:
        return (yield from _stream_document(scope, item | {form: body[:0]}, whole))
    output = yield Call("AddDocuments", {"group_id": scope.id, "documents": [item]})
    return values.AddedDocument(output.documents[0])


def _stream_document(scope: Scope, item: dict[str, Any], content: bytes) -> Steps[values.AddedDocument]:
    """One that is larger than a call may be."""
    part = documents_pb2.StreamDocumentsRequest

    def parts() -> Iterator[documents_pb2.StreamDocumentsRequest]:
        yield part(group_id=scope.id, document=documents_pb2.DocumentItem(**item))
        for at in range(0, len(content), _PART_BYTES):
            more = content[at : at + _PART_BYTES]
            yield part(more=more, last=at + _PART_BYTES >= len(content))

    answers: list[Any] = []
    yield Call("StreamDocuments", timeout_s=WAIT_S, parts=parts, streams=True, view=answers.append)
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
        output = yield Call("GetDocument", {"group_id": scope.id, "document_id": id})
        found = values.Document(output.document)
        settled = found.state == "processed" and output.document.settled
        if not wait or settled or found.state == "failed":
            return found
        if scope.runtime.monotonic() > until:
            raise error("DEADLINE_EXCEEDED", f"{id} is not read after {timeout_s:g} s; the service works on")
        yield _LOOK_S


def follow(scope: Scope, cursor: str | None) -> Call[values.Changes]:
    """What is in the group, and then every change of it."""
    wanted = {"group_id": scope.id, "cursor": cursor}

    def take(answer: Any) -> values.Changes:
        wanted["cursor"] = answer.output.cursor  # where the next stream begins
        return values.Changes(answer.output)

    return Call("WatchGroup", wanted, timeout_s=WAIT_S, endless=True, view=take)


def health(scope: Scope) -> Call[values.Health]:
    """What the service runs on."""
    return Call("Healthcheck", view=values.Health)


def documents(scope: Scope) -> Pages[values.Document]:
    """The documents of the group, by id."""
    return Pages("ListDocuments", {"group_id": scope.id}, "documents", values.Document)


def items(scope: Scope, *states: str) -> Pages[values.Item]:
    """What was added, in order; with `states` (accepted, parked, ...) those in one of them."""
    wanted = [f"ITEM_STATE_{state.upper()}" for state in states]
    return Pages("ListItems", {"group_id": scope.id, "states": wanted}, "items", values.Item)


def episodes(scope: Scope, last: int = 1_000, page_size: int = 100) -> Pages[values.Episode]:
    """The latest texts, the oldest of them first."""
    wanted = {"group_id": scope.id, "last_n": last, "page_size": page_size}
    return Pages("GetEpisodes", wanted, "episodes", values.Episode)


def groups(scope: Scope) -> Pages[values.Group]:
    """The groups that the caller may read."""
    return Pages("ListGroups", {}, "groups", values.Group)
