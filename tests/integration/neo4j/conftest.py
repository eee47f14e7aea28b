"""Stores on each Neo4j in turn: two clients of the shared servers, or a server of a module's own."""

from collections.abc import AsyncIterator, Iterator

import pytest
from neo4j import AsyncDriver, AsyncGraphDatabase

from kgsvc.stores.neo4j import Neo4jStore
from scripts.neo4j_server import Neo4jServer
from tests.support.neo4j_fixture import NEO4J_LABELS, Address, Servers, own_server


@pytest.fixture(params=NEO4J_LABELS)
def address(request: pytest.FixtureRequest, neo4j_servers: Servers) -> Address:
    """A running server, shared with other tests."""
    return neo4j_servers(request.param)


async def _opened(address: Address) -> AsyncIterator[Neo4jStore]:
    opened = await Neo4jStore.connect(address.uri, address.user, address.password)
    await opened.migrate()
    yield opened
    await opened.close()


@pytest.fixture
async def store(address: Address, group: str) -> AsyncIterator[Neo4jStore]:
    """Connected and migrated; the test's group is emptied afterwards."""
    async for opened in _opened(address):
        yield opened
        await opened.delete_group(group, 0)


@pytest.fixture
async def other(address: Address, store: Neo4jStore) -> AsyncIterator[Neo4jStore]:
    """A second client, as another process has."""
    async for opened in _opened(address):
        yield opened


@pytest.fixture
async def raw(address: Address) -> AsyncIterator[AsyncDriver]:
    """The bare driver, to look behind the store and to stand in its way."""
    async with AsyncGraphDatabase.driver(
        address.uri, auth=(address.user, address.password), notifications_min_severity="OFF"
    ) as driver:
        yield driver


@pytest.fixture(scope="module", params=NEO4J_LABELS)
def own_neo4j(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Neo4jServer]:
    """A server that a module may stop, kill and start again."""
    with own_server(request.param, tmp_path_factory.mktemp("own-neo4j")) as server:
        yield server
