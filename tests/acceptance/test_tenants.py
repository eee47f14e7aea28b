"""Three tenants with tokens of their own, at random: nobody is told anything of another's."""

import random
import re
from collections.abc import AsyncIterator
from typing import Any

import grpc
import pytest
import pytest_asyncio

from kgsvc.v1 import types_pb2 as typ
from kgsvc.v1.documents_pb2 import DocumentItem
from tests.acceptance.access import HOUR_MS, Guarded, guarded
from tests.support.client import CALL_S, Client, episode, message, timestamp
from tests.support.contract import METHODS, path, request_of, response_class

TENANTS = ("ant", "bee", "cow")
JAN = 1_704_067_200_000
_MINE = re.compile(r"\b(ant|bee|cow)(?=[-/])")  # in every uuid, name and group of a tenant


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Guarded]:
    async with guarded(tmp_path_factory.mktemp("tenants"), mutual=False) as made:
        for tenant in TENANTS:
            await made.add(tenant, {f"{tenant}/": "admin"}, HOUR_MS)
            await made.taken_over(tenant)
        yield made


class Tenant:
    """Makes calls with one credential, about things of everybody, and looks at what it is told."""

    def __init__(self, name: str, client: Client, rng: random.Random, known: dict[str, list[str]]) -> None:
        self.name = name
        self._client = client
        self._rng = rng
        self._known = known  # by kind: ids that the service made, of whichever tenant
        self.refused = self.answered = 0

    async def acts(self, name: str) -> None:
        """Call a method and check the answer."""
        given = self._given(name)
        told = await self._told(name, request_of(name, **given))
        others = set(_MINE.findall(told)) - {self.name}
        assert not others, f"{self.name} was told of {others} by {name}: {told}"

    async def _told(self, name: str, request: Any) -> str:
        stub = self._client.channel.unary_stream if METHODS[name].server_streaming else None
        make: Any = stub or self._client.channel.unary_unary
        call = make(path(name), lambda sent: sent.SerializeToString(), response_class(name).FromString)
        try:
            if stub is None:
                answers = [await call(request, timeout=CALL_S)]
            else:
                running = call(request, timeout=CALL_S)
                answers = [await running.read()]
                running.cancel()
        except grpc.aio.AioRpcError as error:
            if error.code() is not grpc.StatusCode.PERMISSION_DENIED:
                raise
            self.refused += 1
            return f"{error.details()} {error.trailing_metadata()}"
        self.answered += answers[0].error.error_code == ""
        self._remember(answers[0])
        return str(answers)

    def _remember(self, answer: Any) -> None:
        text = str(answer.output)
        for kind in (
            "receipt_id",
            "source_node_uuid",
            "uuid",
            "merge_id",
            "split_id",
            "build_id",
            "erasure_id",
        ):
            self._known.setdefault(kind, []).extend(re.findall(rf'\b{kind}: "([^"]+)"', text)[:3])

    def _given(self, name: str) -> dict[str, Any]:
        rng = self._rng
        whose = rng.choice((self.name, self.name, *TENANTS))
        group = f"{whose}/{rng.choice(('one', 'two'))}"
        word = f"{whose}-{rng.randrange(8)}"
        spoken = f"{self.name}-{rng.randrange(8)}"  # texts are only written by their owner, or refused
        named = {"uuid": rng.choice([word, *self._known.get("uuid", [])[-50:]])}
        if rng.random() < 0.5:
            named["group_id"] = group
        body = f"{spoken} works at {self.name}-firm."
        receipt = rng.choice(self._known.get("receipt_id", [])[-50:] or ["none"])
        asked = typ.MemoryMessage(role_type=typ.ROLE_TYPE_USER, content=body, timestamp=timestamp(JAN))
        told = DocumentItem(document_id=f"{spoken}-d", text=body, reference_time=timestamp(JAN))
        everything: dict[str, dict[str, Any]] = {
            "Healthcheck": {},
            "AddMessages": {"group_id": group, "messages": [message(body, JAN, uuid=spoken)]},
            "AddEpisodes": {"group_id": group, "items": [episode(body, JAN, uuid=f"{spoken}-e")]},
            "AddDocuments": {"group_id": group, "documents": [told]},
            "GetDocument": {"group_id": group, "document_id": f"{word}-d", "include_chunks": True},
            "ListDocuments": {"group_id": group},
            "DeleteDocument": {"group_id": group, "document_id": f"{word}-d"},
            "AddEntityNode": {"group_id": group, "uuid": f"{spoken}-n", "name": f"{spoken}-name"},
            "GetReceipt": {"receipt_id": receipt},
            "WatchReceipt": {"receipt_id": receipt},
            "ListItems": {"group_id": group},
            "RetryItems": {"group_id": group, "all_parked": True},
            "SearchFacts": {"group_ids": [f"{self.name}/one", group], "query": "works firm"},
            "SearchGraph": {"group_ids": [group], "query": "works firm", "include_provenance": True},
            "GetMemory": {"group_id": group, "messages": [asked], "include_provenance": True},
            "Ask": {
                "group_ids": [group],
                "question": "works firm",
                "only_need_context": True,
                "include_provenance": True,
            },
            "GetEntityEdge": named,
            "GetEntityNode": named,
            "GetRelation": {"group_id": group, "node_uuid": named["uuid"], "other_node_uuid": word},
            "GetFactHistory": named,
            "GetEpisodes": {"group_id": group, "last_n": 5},
            "UpdateFact": {**named, "fact": f"{spoken} left {self.name}-firm"},
            "MergeEntityNodes": {"group_id": group, "keep_uuid": named["uuid"], "merge_uuid": word},
            "UndoMerge": {"group_id": group, "merge_id": rng.choice(self._known.get("merge_id") or ["m"])},
            "SplitEntityNode": {"group_id": group, "uuid": named["uuid"], "episode_uuids": [f"{spoken}-e"]},
            "UndoSplit": {"group_id": group, "split_id": rng.choice(self._known.get("split_id") or ["s"])},
            "DeleteEntityEdge": named,
            "DeleteEpisode": named,
            "DeleteGroup": {"group_id": group},
            "ClearAll": {},
            "GetErasure": {"erasure_id": rng.choice(self._known.get("erasure_id") or ["x"])},
            "PutOntology": {"group_id": group, "yaml": "entity_types: [{name: Task, description: work}]"},
            "GetOntology": {"group_id": group},
            "BuildCommunities": {"group_ids": [group]},
            "GetCommunityBuild": {"group_id": group, "build_id": named["uuid"]},
            "ListCommunities": {"group_id": group},
        }
        return everything[name]


@pytest.mark.parametrize(
    "operations", [600, pytest.param(5_000, marks=[pytest.mark.slow, pytest.mark.timeout(900)])]
)
async def test_tenants_are_told_nothing_of_each_other(operations: int, server: Guarded) -> None:
    rng, known = random.Random(operations), dict[str, list[str]]()
    clients = {name: server.client(name) for name in TENANTS}
    tenants = [Tenant(name, client, rng, known) for name, client in clients.items()]
    methods = sorted(METHODS.keys() - {"StreamEpisodes", "StreamDocuments"})
    # What destroys is rare, so that there is something to be found.
    weights = [1 if name in {"DeleteGroup", "DeleteEpisode", "DeleteDocument"} else 8 for name in methods]
    for number in range(operations):
        name = rng.choices(methods, weights)[0]
        await tenants[number % 3].acts(name)
    for client in clients.values():
        await client.channel.close()
    assert min(each.refused for each in tenants) > operations / 60
    assert min(each.answered for each in tenants) > operations / 12
