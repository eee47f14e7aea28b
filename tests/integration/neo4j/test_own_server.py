"""What needs a server of its own: making the schema, that of another version, crashes."""

import asyncio
from collections.abc import AsyncIterator
from typing import LiteralString

import pytest
from neo4j import AsyncDriver, AsyncGraphDatabase

from kgsvc.domain.errors import StoreUnavailable
from kgsvc.domain.model.items import Accepted
from kgsvc.stores.neo4j import Neo4jStore
from kgsvc.stores.neo4j.schema import SCHEMA_VERSION
from scripts.neo4j_server import Neo4jServer
from tests.integration.neo4j.support import rows, scans
from tests.support.samples import accepted, batch, episode, pair


async def _connect(server: Neo4jServer, patience_s: float = 5.0, deadline_s: float = 30.0) -> Neo4jStore:
    return await Neo4jStore.connect(
        server.uri, "neo4j", server.password, patience_s=patience_s, deadline_s=deadline_s
    )


@pytest.fixture
async def clients(own_neo4j: Neo4jServer) -> AsyncIterator[list[Neo4jStore]]:
    """Three clients of the server."""
    opened = [await _connect(own_neo4j) for _ in range(3)]
    yield opened
    for client in opened:
        await client.close()


@pytest.fixture
async def own_raw(own_neo4j: Neo4jServer) -> AsyncIterator[AsyncDriver]:
    """The bare driver of the server."""
    async with AsyncGraphDatabase.driver(
        own_neo4j.uri, auth=("neo4j", own_neo4j.password), notifications_min_severity="OFF"
    ) as driver:
        yield driver


async def test_who_make_the_schema_take_turns(clients: list[Neo4jStore]) -> None:
    """Three at once on an empty database: one schema, and all of them can work."""
    assert await asyncio.gather(*(client.migrate() for client in clients)) == [SCHEMA_VERSION] * 3
    assert {(await client.info()).schema_version for client in clients} == {SCHEMA_VERSION}
    for n, client in enumerate(clients):
        await accepted(client, episode("first", f"e{n}"))
    assert len(await clients[0].recent_episodes("first", 9)) == 3


async def test_an_empty_database_is_read_by_index_too(
    own_raw: AsyncDriver, clients: list[Neo4jStore]
) -> None:
    """Plans made before there is anything to count are kept for a while."""
    await clients[0].migrate()
    assert await scans(own_raw) == []


@pytest.mark.parametrize(
    ("version", "told"),
    [(SCHEMA_VERSION + 1, "upgrade kgsvc"), (20, "scripts/move_store.py"), (-1, "scripts/move_store.py")],
)
async def test_another_schema_is_refused(
    own_raw: AsyncDriver, clients: list[Neo4jStore], version: int, told: str
) -> None:
    client = clients[0]
    await client.migrate()
    change: LiteralString = "MATCH (s:KgSchema {name: 'kgsvc'}) SET s.version = $version"
    await rows(own_raw, change, version=version)
    try:
        with pytest.raises(StoreUnavailable, match=f"has schema {version}.*{told}"):
            await clients[1].migrate()
    finally:
        await rows(own_raw, change, version=SCHEMA_VERSION)
    assert await client.migrate() == SCHEMA_VERSION


async def test_acknowledged_items_survive_a_kill(own_neo4j: Neo4jServer) -> None:
    """kill -9 in the middle of accepting: what was acknowledged is there, whole, and the client goes on."""
    store = await _connect(own_neo4j, patience_s=1.0)
    await store.migrate()
    acknowledged: list[str] = []
    enough = asyncio.Event()

    async def send() -> None:
        for n in range(100_000):
            made = [episode("crash", f"{n}-{k}") for k in range(8)]
            (result,) = await store.accept([batch(*made)])
            assert isinstance(result, Accepted)
            acknowledged.extend(e.uuid for e in made)
            if n == 20:
                enough.set()

    sender = asyncio.create_task(send())
    async with asyncio.timeout(60):
        await enough.wait()
    await asyncio.to_thread(own_neo4j.stop, kill=True)
    with pytest.raises(StoreUnavailable):
        await sender
    with pytest.raises(StoreUnavailable):
        await store.activity()
    await asyncio.to_thread(own_neo4j.start)
    there = {e.uuid for e in await store.recent_episodes("crash", 100_000)}
    assert there >= set(acknowledged)
    assert {item.uuid for item in (await store.list_items("crash", (), 100_000, None)).rows} == there
    assert len(there) % 8 == 0
    assert (await store.activity()).depth.unfinished >= len(there)
    await accepted(store, episode("crash", "after"))
    await store.close()


async def test_calls_ride_over_a_restart(own_neo4j: Neo4jServer) -> None:
    """With patience enough a call made while the server restarts is answered."""
    store = await _connect(own_neo4j, patience_s=150.0, deadline_s=150.0)
    await store.migrate()
    ada, _bob = await pair(store, "restart")
    await asyncio.to_thread(own_neo4j.stop)
    waiting = asyncio.create_task(store.entity(ada.uuid, "restart"))
    await asyncio.to_thread(own_neo4j.start)
    assert await waiting == [ada]
    await store.close()
