"""Two services on a cluster whose leader changes ten times: no call fails, and a token shows its write.

The cluster is a script in front of one Neo4j (tests/support/bolt_cluster.py). Followers have nothing but what
bookmarks make them fetch; each call goes to the service that did not answer the one before.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from kgsvc.stores.consistency import TOKEN
from tests.support.bolt_cluster import BoltCluster, bolt_cluster
from tests.support.client import CALL_S, Client, completed, episode, granted
from tests.support.contract import path, request_of, response_class
from tests.support.neo4j_fixture import NEO4J_LABELS, Servers
from tests.support.service import Service
from tests.support.store_spec import StoreSpec, opened

GROUPS = 250
CALLERS = 10
CHANGES = 10
AT_MS = 1_717_000_000_000


@pytest.fixture
async def newest(neo4j_servers: Servers, group: str) -> AsyncIterator[StoreSpec]:
    """The newest Neo4j, without the test's groups afterwards."""
    found = StoreSpec(NEO4J_LABELS[0], neo4j=neo4j_servers(NEO4J_LABELS[0]))
    yield found
    async with opened(found) as store:
        for group_id in await store.group_ids():
            if group_id.startswith(group):
                await store.delete_group(group_id, 0)


class Caller:
    """Somebody whose calls go to one service after the other, with the token of the call before."""

    def __init__(self, clients: list[Client]) -> None:
        self._clients = cycle(clients)
        self.token = ""
        self.calls = 0

    async def ask(self, name: str, /, idempotency_key: str | None = None, **given: Any) -> Any:
        """The output of a call, made once."""
        request = request_of(name, **given)
        if idempotency_key is not None:
            request.idempotency_key = idempotency_key
        method: Any = next(self._clients).channel.unary_unary(
            path(name),
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=response_class(name).FromString,
        )
        call = method(request, timeout=CALL_S, metadata=[(TOKEN, self.token)] if self.token else None)
        answer = granted(await call)
        self.token = dict(await call.trailing_metadata())[TOKEN]
        self.calls += 1
        return answer.output


async def four_calls(caller: Caller, group_id: str) -> str:
    """A write of each kind, and a read of what it wrote; the receipt."""
    said = episode("Ada works at Globex.", AT_MS, uuid="e1")
    accepted = await caller.ask("AddEpisodes", group_id=group_id, items=[said])
    read = await caller.ask("GetEpisodes", group_id=group_id, last_n=1)
    assert [each.uuid for each in read.episodes] == ["e1"]
    await caller.ask("AddEntityNode", f"key of {group_id}", group_id=group_id, uuid="n1", name="Bolt")
    node = await caller.ask("GetEntityNode", group_id=group_id, uuid="n1")
    assert node.node.name == "Bolt"
    receipt: str = accepted.receipt_id
    return receipt


@pytest.fixture
async def cluster(newest: StoreSpec, group: str) -> AsyncIterator[BoltCluster]:
    assert newest.neo4j is not None
    async with bolt_cluster(newest.neo4j.uri, rf"{group}-\d+") as made:
        yield made


@pytest.fixture
async def clients(newest: StoreSpec, cluster: BoltCluster, tmp_path: Path) -> AsyncIterator[list[Client]]:
    """Of two services, each with callers and workers."""
    assert newest.neo4j is not None
    routed = replace(newest, neo4j=replace(newest.neo4j, uri=cluster.uri))
    async with AsyncExitStack() as stack:
        services = [
            await stack.enter_async_context(Service(routed.settings, tmp_path, name))
            for name in ("one", "two")
        ]
        yield [await stack.enter_async_context(Client(service.address)) for service in services]


@pytest.mark.slow
@pytest.mark.timeout(900)
async def test_a_thousand_calls_while_the_leader_changes_ten_times(
    clients: list[Client], cluster: BoltCluster, group: str
) -> None:
    left = iter(range(GROUPS))
    receipts: list[str] = []

    async def calls(caller: Caller) -> None:
        for number in left:
            receipts.append(await four_calls(caller, f"{group}-{number}"))
            if len(receipts) % (GROUPS // CHANGES) == 0:
                cluster.elect((cluster.leader + 1) % 3, cut=cluster.terms % 2 == 0)

    callers = [Caller(clients[n % 2 :] + clients[: n % 2]) for n in range(CALLERS)]
    await asyncio.gather(*map(calls, callers))
    assert sum(caller.calls for caller in callers) == 4 * GROUPS
    assert cluster.terms == CHANGES
    assert cluster.asked["refused"] > 0
    for receipt in receipts:
        completed(await clients[0].wait_receipt(receipt))
