"""The stores that tests run in this process, by label: opened, migrated, closed with the session."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
import pytest_asyncio

from kgsvc.stores.embedded import EmbeddedStore
from kgsvc.stores.protocol import Store
from tests.support.embedded_counts import check_counts
from tests.support.model_store import ModelStore
from tests.support.neo4j_fixture import NEO4J_LABELS, Servers

REAL = ("embedded", *NEO4J_LABELS)
EVERY = ("model", *REAL)
ON_REAL = pytest.mark.parametrize("any_store", REAL, indirect=True)  # what the model does not keep


@pytest_asyncio.fixture(scope="session", loop_scope="session", params=EVERY)
async def any_store(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Store]:
    """A store, shared by the session: tests keep to groups of their own.

    Tests that use it run on the session's loop: `pytest.mark.asyncio(loop_scope="session")`. The param, also
    by indirect parametrisation, is one of EVERY.
    """
    async with AsyncExitStack() as stack:
        directory = tmp_path_factory.mktemp("store")
        opened = await _open(request, directory)
        stack.push_async_callback(opened.close)
        await opened.migrate()
        yield opened
    if request.param == "embedded":
        check_counts(directory)


async def _open(request: pytest.FixtureRequest, directory: Path) -> Store:
    label: str = request.param
    if label == "model":
        return ModelStore()
    if label == "embedded":
        return await EmbeddedStore.open(directory)
    from kgsvc.stores.neo4j import Neo4jStore

    servers: Servers = request.getfixturevalue("neo4j_servers")
    address = servers(label)
    return await Neo4jStore.connect(address.uri, address.user, address.password)
