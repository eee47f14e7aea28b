"""What calls answer, as plain types: times are aware datetimes, states are lower-case words.

A view reads a field of the answer when it is asked for it; `raw` is the message of the contract, with the
rest.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from operator import attrgetter
from typing import Any

from google.protobuf.json_format import MessageToDict

from kgsvc_client.v1 import documents_pb2, envelope_pb2, ingestion_pb2, retrieval_pb2, types_pb2


class _Field(property):
    """One field of a view: of the message itself, or of one in it, as in `node.uuid`."""

    def __init__(
        self, read: Callable[[Any], Any] | None, name: str | None = None, optional: bool = False
    ) -> None:
        self._shown = read, name, optional

    def __set_name__(self, owner: type, name: str) -> None:
        read, path, optional = self._shown
        parent, _, field = f"raw.{path or name}".rpartition(".")
        message, value = attrgetter(parent), attrgetter(field)

        def get(view: View) -> Any:
            found = message(view)
            if optional and not found.HasField(field):
                return None
            return value(found) if read is None else read(value(found))

        super().__init__(get if read is not None or optional else attrgetter(f"{parent}.{field}"))


class View:
    """Shows a message of the contract."""

    __slots__ = ("raw",)

    def __init__(self, raw: Any) -> None:
        self.raw = raw

    def as_dict(self) -> dict[str, Any]:
        """Every field of the view."""
        names = [name for name, kind in vars(type(self)).items() if isinstance(kind, _Field)]
        return {name: getattr(self, name) for name in names}

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.raw == other.raw

    def __hash__(self) -> int:
        return hash((type(self), self.raw.SerializeToString(deterministic=True)))

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value!r}" for name, value in self.as_dict().items() if value is not None)
        return f"{type(self).__name__}({shown})"


def utc(stamp: Any) -> datetime:
    """A time of the contract."""
    return stamp.ToDatetime(tzinfo=UTC)  # type: ignore[no-any-return]


_plain: Any = partial(_Field, None)
_maybe: Any = partial(_Field, None, optional=True)
_time: Any = partial(_Field, utc, optional=True)
_object: Any = partial(_Field, MessageToDict, optional=True)
_one: Any = _Field


def _tuple(of: Callable[[Any], Any] = lambda value: value, name: str | None = None) -> Any:
    return _Field(lambda values: tuple(map(of, values)), name)


def _hits(of: Callable[[Any], Any], part: str, name: str | None = None) -> Any:
    return _Field(lambda hits: tuple(map(of, map(attrgetter(part), hits))), name)


def _word(enum: Any, name: str | None = None) -> Any:
    """A value of an enum without the prefix that all have."""
    names = {number: word for word, number in enum.items()}
    prefix = names[0].removesuffix("UNSPECIFIED")
    words = {number: word.removeprefix(prefix).lower() for number, word in names.items()}
    return _Field(lambda number: words.get(number, str(number)), name)


class Fact(View):
    """Something that is, or was, true of two things."""

    uuid: str = _plain()
    text: str = _plain("fact")
    relation: str = _plain("name")
    source: str = _plain("source_name")
    target: str = _plain("target_name")
    source_uuid: str = _plain("source_node_uuid")
    target_uuid: str = _plain("target_node_uuid")
    valid_at: datetime | None = _time()  # since when it is true; None: not known
    invalid_at: datetime | None = _time()  # since when no longer; None: still true as far as known
    created_at: datetime = _time()  # since when the service believes it
    expired_at: datetime | None = _time()  # since when no longer
    expired_reason: str | None = _maybe()
    episodes: tuple[str, ...] = _tuple()  # that state it
    attributes: dict[str, Any] | None = _object()


class Episode(View):
    """A text as it was added."""

    uuid: str = _plain()
    name: str | None = _maybe()
    body: str = _plain()
    kind: str = _word(types_pb2.Source, "source")
    reference_time: datetime = _time()
    created_at: datetime = _time()
    source_description: str | None = _maybe()
    source_url: str | None = _maybe()


class Entity(View):
    """A thing that facts are about."""

    uuid: str = _plain()
    name: str = _plain()
    summary: str | None = _maybe()
    labels: tuple[str, ...] = _tuple()
    aliases: tuple[str, ...] = _tuple()
    attributes: dict[str, Any] | None = _object()
    created_at: datetime = _time()


class KnownEntity(View):
    """An entity with what is known about it."""

    uuid: str = _plain("node.uuid")
    name: str = _plain("node.name")
    type: str = _plain()
    summary: str | None = _maybe("node.summary")
    facts: tuple[Fact, ...] = _tuple(Fact)
    episodes: tuple[Episode, ...] = _tuple(Episode)  # the latest that name it


class Chunk(View):
    """A part of a document."""

    uuid: str = _plain("chunk_id")
    document_id: str = _plain("full_doc_id")
    title: str | None = _maybe()
    text: str = _plain("content")
    headings: tuple[str, ...] = _tuple()
    page: int | None = _maybe()


class Found(View):
    """What a search found, the best first."""

    facts: tuple[Fact, ...] = _hits(Fact, "fact")
    entities: tuple[Entity, ...] = _hits(Entity, "node", "nodes")
    episodes: tuple[Episode, ...] = _hits(Episode, "episode")
    chunks: tuple[Chunk, ...] = _hits(Chunk, "chunk")
    context: str | None = _maybe()


class WatchedEpisode(View):
    """An episode with the entities that it names."""

    uuid: str = _plain("episode.uuid")
    episode: Episode = _one(Episode)
    entities: tuple[str, ...] = _tuple(name="entity_uuids")


class Changes(View):
    """What changed in a group, in one step: what is there now, and what is gone."""

    rev: int = _plain()  # of the graph: everything up to it has been told
    cursor: str = _plain()  # where to go on, once this is dealt with
    reset: bool = _plain()  # forget what was told before: all that there is follows
    current: bool = _plain()  # there was nothing more when this was sent
    entities: tuple[Entity, ...] = _tuple(Entity)
    facts: tuple[Fact, ...] = _tuple(Fact)
    episodes: tuple[WatchedEpisode, ...] = _tuple(WatchedEpisode)
    removed_entities: tuple[str, ...] = _tuple()
    removed_facts: tuple[str, ...] = _tuple()
    removed_episodes: tuple[str, ...] = _tuple()


class Citation(View):
    """What a claim of an answer rests on."""

    number: int = _plain()
    kind: str = _word(retrieval_pb2.CitationKind)
    uuid: str = _plain()
    text: str = _plain()


class Answer(View):
    """An answer in words."""

    text: str | None = _maybe("answer")
    known: bool | None = _maybe()  # False: the memory does not hold the answer
    citations: tuple[Citation, ...] = _tuple(Citation)
    sources: tuple[str, ...] = _tuple(name="source_texts")


class Item(View):
    """Something on its way into the graph."""

    uuid: str = _plain()
    name: str | None = _maybe()
    state: str = _word(types_pb2.ItemState)
    attempts: int = _plain()
    reason: str | None = _maybe()
    updated_at: datetime = _time()


class Document(View):
    """A document and how far it is."""

    id: str = _plain("document_id")
    title: str | None = _maybe()
    state: str = _word(documents_pb2.DocumentState)
    reason: str | None = _maybe()
    revision: int = _plain()
    reference_time: datetime = _time()
    chunks: int = _plain()
    chunks_in_graph: int = _plain()


class AddedDocument(View):
    """What became of a document that was sent."""

    id: str = _plain("document_id")
    arrival: str = _word(documents_pb2.DocumentArrival)  # new, revised, unchanged or outdated
    revision: int = _plain()
    new_chunks: int = _plain()
    receipts: tuple[str, ...] = _tuple(name="receipt_ids")


class Health(View):
    """What runs there."""

    status: str = _plain()
    version: str = _plain()
    contract_revision: int = _plain()
    store: str = _plain()


class Group(View):
    """How much a group holds."""

    id: str = _plain("group_id")
    episodes: int = _plain()
    entities: int = _plain()
    facts: int = _plain()
    changed_at: datetime | None = _time()


class AcceptedItem(View):
    """One of the items that were added."""

    uuid: str = _plain()
    duplicate: bool = _plain()  # it was there before
    state: str = _word(types_pb2.ItemState)


@dataclass(frozen=True, slots=True)
class Receipt:
    """What a call added, to be waited for. Without items: there was nothing to send."""

    id: str = ""
    items: tuple[AcceptedItem, ...] = ()

    @property
    def receipts(self) -> tuple[str, ...]:
        """Its id, as `wait` wants it."""
        return (self.id,) if self.id else ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of items that were waited for, by uuid."""

    items: Mapping[str, Item]

    @property
    def parked(self) -> Sequence[Item]:
        """Those that could not be read; each says why."""
        return [item for item in self.items.values() if item.state == "parked"]


@dataclass(frozen=True, slots=True)
class Refusal:
    """An item of a stream that the service does not take: the number it had, from 0, and why."""

    index: int
    code: str
    message: str


@dataclass(slots=True)
class Report:
    """What became of the items of a stream."""

    stored: int = 0
    duplicates: int = 0  # they were there before
    refused: list[Refusal] = field(default_factory=list)
    receipts: list[str] = field(default_factory=list)  # one for each batch that the service stored

    def count(self, index: int, answer: ingestion_pb2.StreamEpisodesResponse, sent_before: bool) -> None:
        """An item was answered. One that was `sent_before` on a stream that broke may be a duplicate of
        itself."""
        if answer.status == envelope_pb2.STATUS_ERROR:
            self.refused.append(Refusal(index, answer.error.error_code, answer.error.message))
        elif answer.duplicate and not sent_before:
            self.duplicates += 1
        else:
            self.stored += 1
        if answer.receipt_id and answer.receipt_id not in self.receipts[-1:]:
            self.receipts.append(answer.receipt_id)
