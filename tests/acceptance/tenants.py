"""Tenants that make calls at random, and a memory of whose each id is and of who was told it."""

import hashlib
import json
import random
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import grpc
from google.protobuf import text_format
from google.protobuf.message import Message

from kgsvc.v1 import types_pb2 as typ
from kgsvc.v1.documents_pb2 import DocumentItem, StreamDocumentsRequest
from kgsvc.v1.ingestion_pb2 import StreamEpisodesRequest
from kgsvc.v1.transfer_pb2 import ImportGroupRequest
from kgsvc.v1.types_pb2 import FactResult
from tests.support.client import (
    CALL_S,
    Client,
    episode,
    message,
    status_lost,
    stream_request,
    timestamp,
)
from tests.support.contract import METHODS, path, request_of, response_class

TENANTS = ("ant", "bee", "cow")
GROUPS = tuple(f"{tenant}/{part}" for tenant in TENANTS for part in ("one", "two"))
JAN = 1_704_067_200_000
UUID = re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")
MINE = re.compile(r"\b(ant|bee|cow)(?=[-/~])")  # in every uuid, name, group and request_id of a tenant
_WORD = re.compile(r"[\w-]+")
_ID_FIELD = re.compile(r"(?:^|_)(?:uuids?|ids?|episodes|entity_edges)$|^expired_by_")
_NO_IDS = frozenset({"request_id", "group_id", "group_ids"})
# In exports: episodes that the caller itself had named as the context of an item, whosever.
_NAMED_BEFORE = re.compile(r'\\"previous\\":\[[^\]]*\]')
_KEYS = 40  # idempotency keys, which tenants share


def words(text: str) -> frozenset[str]:
    """What may be an id in a text: everything between blanks and signs, and every uuid within that."""
    return frozenset((*_WORD.findall(text), *UUID.findall(text)))


def ids_in(answer: Message) -> Iterator[tuple[str, str]]:
    """The ids that an answer names, each with the message and the field that hold it."""
    kind = answer.DESCRIPTOR.name
    for descriptor, value in answer.ListFields():
        name = descriptor.name
        values: Iterable[Any] = value if descriptor.is_repeated else [value]
        if descriptor.message_type is not None:
            if not descriptor.message_type.GetOptions().map_entry and not name.endswith("error"):
                for each in values:
                    if isinstance(each, Message):
                        yield from ids_in(each)
        elif _ID_FIELD.search(name) and name not in _NO_IDS and descriptor.type == descriptor.TYPE_STRING:
            yield from ((f"{kind}.{name}", each) for each in values if each)
        elif descriptor.type == descriptor.TYPE_STRING:
            yield from ((f"{kind}.{name}", found) for each in values for found in UUID.findall(each))


@dataclass(frozen=True, slots=True)
class Told:
    """What a tenant was told by one call, and what it had said."""

    tenant: str
    operation: str
    answered: bool  # not refused
    asked: frozenset[str]
    told: frozenset[str]


@dataclass(slots=True)
class Memory:
    """Of all tenants."""

    rng: random.Random
    owners: dict[str, set[str]] = field(default_factory=dict)  # by id; more than one: somebody was told
    by_field: dict[str, list[str]] = field(default_factory=dict)  # ids, whosever
    tokens: list[str] = field(default_factory=list)  # of pages, and cursors, whosever
    facts: list[FactResult] = field(default_factory=list)  # whosever
    told: list[Told] = field(default_factory=list)
    exported: dict[str, bytes] = field(default_factory=dict)  # by tenant, the last group it was given whole
    twins: int = 0  # calls that were repeated with an id that there never was

    def learn(self, tenant: str, asked: frozenset[str], answer: Message) -> None:
        """Ids that a tenant is told and did not name are its own from now on, and those that it chose."""
        for name, found in ids_in(answer):
            assert _WORD.fullmatch(found), f"{found!r} would not be found in a text"
            self.by_field.setdefault(name, []).append(found)
            if found not in asked or found.startswith(f"{tenant}-"):
                self.owners.setdefault(found, set()).add(tenant)
        output = getattr(answer, "output", None)
        self.facts.extend(each for each in getattr(output, "facts", ()) if isinstance(each, FactResult))
        token = getattr(output, "next_page_token", "") or getattr(output, "cursor", "")
        if token:
            self.tokens.append(token)

    def some(self, *names: str, of: str = "") -> str:
        """One of the ids that were named lately in one of these fields (Message.field, or any message's), of
        one tenant or whosever."""
        found = [name for name in self.by_field if name in names or name.partition(".")[2] in names]
        lately = self.by_field.get(self.rng.choice(found), [])[-100:] if found else []
        fitting = [each for each in lately if not of or of in self.owners.get(each, ())]
        return self.rng.choice(fitting[-20:] or ["none"])

    def of_others(self, tenant: str, said: Iterable[str]) -> set[str]:
        """The ids among these words that are another's."""
        return {each for each in said if self.owners.get(each, {tenant}) != {tenant}}


class Tenant:
    """Makes calls with one credential, about things of everybody, and looks at what it is told."""

    def __init__(self, name: str, client: Client, memory: Memory) -> None:
        self.name = name
        self._client = client
        self._memory = memory
        self._rng = memory.rng
        self._calls = 0
        self.refused = self.answered = 0

    async def acts(self, name: str) -> None:
        """Call a method and check the answer."""
        given = Wishes(self.name, self._memory).of(name)
        requests = given if isinstance(given, list) else [self._request(name, given)]
        asked = words(" ".join(map(str, requests)))
        told = await self._told(name, requests, asked)
        others = set(MINE.findall(told)) - {self.name} - set(MINE.findall(" ".join(map(str, requests))))
        assert not others, f"{self.name} was told of {others} by {name}: {told}"
        await self._same_if_absent(name, requests, told)

    def _request(self, name: str, given: dict[str, Any]) -> Any:
        request = request_of(name, **given)
        self._calls += 1
        request.request_id = f"{self.name}~{self._calls}"
        if self._rng.random() < 0.1:
            request.idempotency_key = f"key{self._rng.randrange(_KEYS)}"
        return request

    async def _same_if_absent(self, name: str, requests: list[Any], told: str) -> None:
        """What is another's is as if it were not there: an id that there never was gets the same answer."""
        request = requests[0]
        others = self._memory.of_others(self.name, words(str(request)))
        if METHODS[name].client_streaming or not others:
            return
        if request.idempotency_key:  # it names the first outcome
            return
        absent = {
            each: f"none-{number}-{'x' * len(each)}"[: max(8, len(each))]
            for number, each in enumerate(sorted(others))
        }
        text = _WORD.sub(lambda found: absent.get(found[0], found[0]), str(request))
        twin = text_format.Parse(text, type(request)())
        again = await self._told(name, [twin], words(text))
        for each, stood_in in absent.items():
            again = again.replace(stood_in, each)
        self._memory.twins += 1
        if not name.startswith("Add"):  # what is stored is another receipt each time
            assert again == told, f"{self.name} can tell by {name} that something of another is there"

    async def _told(self, name: str, requests: list[Any], asked: frozenset[str]) -> str:
        answers, failure = await self._answers(name, requests)
        for each in answers:
            self._memory.learn(self.name, asked, each)
        if name == "ExportGroup" and answers and answers[-1].output.last:
            data = b"".join(each.output.data for each in answers)
            if len(data) == answers[-1].output.offset:  # not the rest of a former export
                self._memory.exported[self.name] = data
        answered = failure is None and all(each.error.error_code == "" for each in answers)
        self.answered += answered
        if failure is None:
            pass
        elif failure.code() is grpc.StatusCode.PERMISSION_DENIED:
            self.refused += 1
        else:
            raise failure
        error = (
            "" if failure is None else f"{failure.code()} {failure.details()} {failure.trailing_metadata()}"
        )
        told = _NAMED_BEFORE.sub("", f"{' '.join(map(str, answers))} {error}")
        self._memory.told.append(Told(self.name, name, answered, asked, words(told)))
        return told

    async def _answers(self, name: str, requests: list[Any]) -> tuple[list[Any], grpc.aio.AioRpcError | None]:
        """Everything that a call answers, and the error with which it ended, once that is told."""
        answers, failure = await self._called(name, requests)
        while failure is not None and status_lost(failure):
            more, failure = await self._called(name, requests)
            answers += more
        return answers, failure

    async def _called(self, name: str, requests: list[Any]) -> tuple[list[Any], grpc.aio.AioRpcError | None]:
        method, channel = METHODS[name], self._client.channel
        kinds: Any = {
            (False, False): channel.unary_unary,
            (False, True): channel.unary_stream,
            (True, True): channel.stream_stream,
        }
        make = kinds[method.client_streaming, method.server_streaming]
        call = make(path(name), lambda sent: sent.SerializeToString(), response_class(name).FromString)
        running = call(iter(requests) if method.client_streaming else requests[0], timeout=CALL_S)
        answers: list[Any] = []
        try:
            if not method.server_streaming:
                answers.append(await running)
            else:
                async for answer in running:
                    answers.append(answer)
                    if name == "WatchGroup" and answer.output.current:  # else it has no end
                        running.cancel()
                        break
        except grpc.aio.AioRpcError as error:
            return answers, error
        return answers, None


def _as_group(group: str, data: bytes) -> bytes:
    """An export as if it were of another group."""
    header, *rows, end = data.splitlines(keepends=True)
    header = json.dumps(json.loads(header) | {"group_id": group}).encode() + b"\n"
    digest = hashlib.sha256(b"".join((header, *rows))).hexdigest()
    return b"".join((header, *rows, json.dumps(json.loads(end) | {"sha256": digest}).encode(), b"\n"))


class Wishes:
    """What a tenant asks for: of its own groups and of others', with ids of everybody."""

    def __init__(self, tenant: str, memory: Memory) -> None:
        rng = self._rng = memory.rng
        self._memory = memory
        self._tenant = tenant
        self._group = self._some_group()
        self._word = f"{self._group.partition('/')[0]}-{rng.randrange(8)}"
        self._spoken = f"{tenant}-{rng.randrange(8)}"  # texts are only written by their owner, or refused
        self._entity = self._some("EntityNode.uuid")
        known = [self._some(each) for each in ("uuid", "EntityNode.uuid", "FactResult.uuid", "Episode.uuid")]
        self._uuid = rng.choice([self._word, f"{self._word}-n", *known])
        self._body = f"{self._spoken} works at {tenant}-firm."

    def _some_group(self) -> str:
        whose = self._rng.choice((self._tenant, self._tenant, *TENANTS))
        return f"{whose}/{self._rng.choice(('one', 'two'))}"

    def _some(self, *names: str) -> str:
        """An id, more often than not its own."""
        return self._memory.some(*names, of=self._rng.choice(("", self._tenant)))

    def of(self, name: str) -> Any:
        """The input of a method; of a stream its messages."""
        if name == "StreamEpisodes":
            return [self._streamed_episode() for _ in range(self._rng.randint(1, 4))]
        if name == "StreamDocuments":
            return [self._streamed_document() for _ in range(self._rng.randint(1, 2))]
        if name == "ImportGroup":
            return [self._import()]
        return {**self._writes(), **self._reads(), **self._changes()}[name]

    def _previous(self) -> list[str]:
        return [self._uuid] if self._rng.random() < 0.3 else []

    def _streamed_episode(self) -> StreamEpisodesRequest:
        spoken = f"{self._tenant}-{self._rng.randrange(8)}"
        item = episode(f"{spoken} met {self._tenant}-friend.", JAN, uuid=f"{spoken}-s")
        item.previous_episode_uuids.extend(self._previous())
        return stream_request(self._some_group(), item)

    def _streamed_document(self) -> StreamDocumentsRequest:
        group = self._group if self._rng.random() < 0.8 else self._some_group()
        return StreamDocumentsRequest(group_id=group, document=self._document("-t"), last=True)

    def _import(self) -> ImportGroupRequest:
        """What cannot be read, anywhere, or what the tenant was given, into a new group of its own."""
        given = self._memory.exported.get(self._tenant)
        if given is None or self._rng.random() < 0.5:
            return ImportGroupRequest(group_id=self._some_group(), data=b'{"row": "none"}\n', last=True)
        copy = f"{self._tenant}/copy{self._rng.randrange(1_000_000)}"
        return ImportGroupRequest(group_id=copy, data=_as_group(copy, given), last=True)

    def _document(self, end: str) -> DocumentItem:
        spoken = f"{self._tenant}-{self._rng.randrange(8)}"
        return DocumentItem(document_id=f"{spoken}{end}", text=self._body, reference_time=timestamp(JAN))

    def _named(self) -> dict[str, Any]:
        return {"uuid": self._uuid} | ({"group_id": self._group} if self._rng.random() < 0.5 else {})

    def _page(self) -> dict[str, Any]:
        token = [self._rng.choice(self._memory.tokens[-20:])] if self._memory.tokens else []
        return {"page_size": 2} | ({"page_token": token[0]} if token and self._rng.random() < 0.3 else {})

    def _either(self) -> dict[str, Any]:
        return {"uuid": self._entity} if self._rng.random() < 0.5 else {}

    def _modes(self) -> dict[str, Any]:
        mine = {"group_id": self._group, "paused": False}
        return mine if self._rng.random() < 0.7 else {"read_only": True, "model_off": True}

    def _cursor(self) -> dict[str, Any]:
        tokens = self._memory.tokens[-20:] if self._rng.random() < 0.3 else []
        return {"cursor": self._rng.choice(tokens)} if tokens else {}

    def _center(self) -> dict[str, Any]:
        return {"center_node_uuid": self._uuid} if self._rng.random() < 0.4 else {}

    def _split(self) -> dict[str, Any]:
        """Takes one end of a fact apart; the fact is anybody's, more often than not its own."""
        own = [each for each in self._memory.facts[-200:] if each.group_id.startswith(f"{self._tenant}/")]
        chosen = own if own and self._rng.random() < 0.7 else self._memory.facts[-50:]
        if not chosen:
            return {"group_id": self._group, "uuid": self._uuid, "fact_uuids": ["none"]}
        fact = self._rng.choice(chosen)
        whose = self._rng.choice((fact.source_node_uuid, fact.target_node_uuid))
        group = fact.group_id if self._rng.random() < 0.8 else self._group
        return {"group_id": group, "uuid": whose, "fact_uuids": [fact.uuid]}

    def _writes(self) -> dict[str, dict[str, Any]]:
        group, spoken = self._group, self._spoken
        said = message(self._body, JAN, uuid=spoken)
        item = episode(self._body, JAN, uuid=f"{spoken}-e")
        item.previous_episode_uuids.extend(self._previous())
        return {
            "AddMessages": {"group_id": group, "messages": [said]},
            "AddEpisodes": {"group_id": group, "items": [item]},
            "AddDocuments": {"group_id": group, "documents": [self._document("-d")]},
            "AddEntityNode": {"group_id": group, "uuid": f"{spoken}-n", "name": f"{spoken}-name"},
            "PutOntology": {"group_id": group, "yaml": "entity_types: [{name: Task, description: work}]"},
            "BuildCommunities": {"group_ids": [group]},
        }

    def _reads(self) -> dict[str, dict[str, Any]]:
        group, some = self._group, self._some
        receipt = some("receipt_id", "receipt_ids")
        document = self._rng.choice([f"{self._word}-d", some("document_id", "full_doc_id")])
        asked = typ.MemoryMessage(role_type=typ.ROLE_TYPE_USER, content=self._body, timestamp=timestamp(JAN))
        named = self._named()
        return {
            "Healthcheck": {},
            "GetDocument": {"group_id": group, "document_id": document, "include_chunks": True},
            "ListDocuments": {"group_id": group, **self._page()},
            "GetReceipt": {"receipt_id": receipt},
            "WatchReceipt": {"receipt_id": receipt},
            "ListItems": {"group_id": group, **self._page()},
            "SearchFacts": {
                "group_ids": [f"{self._tenant}/one", group], "query": "works firm", **self._center(),
            },
            "SearchGraph": {
                "group_ids": [group], "query": "works firm", "include_provenance": True, **self._center(),
            },
            "GetMemory": {"group_id": group, "messages": [asked], "include_provenance": True},
            "Ask": {
                "group_ids": [group],
                "question": "works firm",
                "only_need_context": True,
                "include_provenance": True,
                **self._center(),
            },
            "GetEntityEdge": named,
            "GetEntityNode": named,
            "GetRelation": {"group_id": group, "node_uuid": self._uuid, "other_node_uuid": self._entity},
            "GetFactHistory": named,
            "GetEpisodes": {"group_id": group, "last_n": 5, **self._page()},
            "GetErasure": {"erasure_id": some("erasure_id")},
            "GetOntology": {"group_id": group},
            "GetCommunityBuild": {"group_id": group, "build_id": some("build_id")},
            "ListCommunities": {"group_id": group, **self._page()},
            "ListGroups": self._page(),
            "ListMerges": {"group_id": group, **self._either(), **self._page()},
            "WatchGroup": {"group_id": group, **self._cursor()},
            "ExportGroup": {"group_id": group, **self._cursor()},
        }  # fmt: skip

    def _changes(self) -> dict[str, dict[str, Any]]:
        group, some, named = self._group, self._some, self._named()
        cascade = {"cascade": self._rng.random() < 0.5}
        retried = {"uuids": [self._uuid]} if self._rng.random() < 0.5 else {"all_parked": True}
        return {
            "RetryItems": {"group_id": group, **retried},
            "UpdateFact": {**named, "fact": f"{self._spoken} left {self._tenant}-firm"},
            "RetractFact": {**named, "reason": f"{self._spoken} was another"},
            "MergeEntityNodes": {"group_id": group, "keep_uuid": self._uuid, "merge_uuid": self._entity},
            "UndoMerge": {"group_id": group, "merge_id": some("merge_id")},
            "SplitEntityNode": self._split(),
            "UndoSplit": {"group_id": group, "split_id": some("split_id")},
            "DeleteEntityEdge": named,
            "DeleteEpisode": {**named, **cascade},
            "DeleteDocument": {"group_id": group, "document_id": f"{self._word}-d"},
            "DeleteGroup": {"group_id": group},
            "ClearAll": {},
            "SetModes": self._modes(),
        }  # fmt: skip
