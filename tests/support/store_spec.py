"""The stores that black-box tests run on: an embedded folder of the test's own, and the Neo4js.

A Neo4j database is shared by all tests: isolation is a group id of the test's own (fixture `group`). Which
tests run on which stores is decided in which_stores.py.
"""

import re
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from kgsvc.stores.embedded import EmbeddedStore
from kgsvc.stores.neo4j import Neo4jStore
from kgsvc.stores.protocol import GroupDump, Store
from tests.support.neo4j_fixture import Address, Servers, named_servers
from tests.support.which_stores import EMBEDDED


@dataclass(frozen=True, slots=True)
class StoreSpec:
    """Where a server under test keeps its graph."""

    label: str
    data_dir: Path | None = None
    neo4j: Address | None = None

    @property
    def settings(self) -> dict[str, str]:
        """The store's part of a server's settings, by configuration key."""
        if self.neo4j is None:
            return {"store.kind": "embedded", "store.data_dir": str(self.data_dir)}
        return {
            "store.kind": "neo4j",
            "store.neo4j_uri": self.neo4j.uri,
            "store.neo4j_user": self.neo4j.user,
            "store.neo4j_password": self.neo4j.password,
        }


def spec_of(request: pytest.FixtureRequest, folder: Path) -> StoreSpec:
    """The store that a fixture's param names; an embedded one lives in `folder`."""
    label: str = request.param
    if label == EMBEDDED:  # without asking for servers: none is started for embedded tests alone
        return StoreSpec(label, data_dir=folder / "data")
    servers: Servers = request.getfixturevalue("neo4j_servers")
    return StoreSpec(label, neo4j=servers(label))


@pytest.fixture
def store_spec(request: pytest.FixtureRequest, tmp_path: Path) -> StoreSpec:
    """Each store of the suite in turn."""
    return spec_of(request, tmp_path)


@pytest.fixture
def embedded_spec(tmp_path: Path) -> StoreSpec:
    """The embedded store alone."""
    return StoreSpec(EMBEDDED, data_dir=tmp_path / "data")


@pytest.fixture
def group(request: pytest.FixtureRequest) -> str:
    """A group id that no other test uses, naming the test for people who look into the database."""
    test = re.sub(r"\W+", "-", request.node.name)[:80]
    return f"{test}-{uuid.uuid4().hex[:12]}"


@pytest.fixture(autouse=True)  # where a conftest imports it
async def nothing_left_behind(request: pytest.FixtureRequest) -> AsyncIterator[None]:
    """Delete what the test's groups hold: a server works on every group of its database, so that what a test
    leaves unfinished would reach the next."""
    yield
    spec: StoreSpec | None = request.node.funcargs.get("store_spec")
    if spec is None or spec.neo4j is None:
        return
    own: str = request.node.funcargs["group"]
    async with opened(spec) as store:
        for group_id in await store.group_ids():
            if group_id.startswith(own):
                await store.delete_group(group_id, now_ms=0)


@asynccontextmanager
async def opened(spec: StoreSpec) -> AsyncIterator[Store]:
    """The store itself, to look into it while or after servers worked on it. It must have been migrated."""
    store: Store
    if spec.neo4j is None:
        assert spec.data_dir is not None
        store = await EmbeddedStore.open(spec.data_dir)
    else:
        store = await Neo4jStore.connect(spec.neo4j.uri, spec.neo4j.user, spec.neo4j.password)
    try:
        yield store
    finally:
        await store.close()


async def emptied(spec: StoreSpec) -> None:
    """Delete what earlier tests left in a store made for tests: a server works on all of its groups."""
    if spec.label in named_servers():
        return  # what it holds may be wanted
    async with opened(spec) as store:
        await store.migrate()
        for group_id in await store.group_ids():
            await store.delete_group(group_id, 0)


async def dumped(spec: StoreSpec, group_id: str) -> GroupDump:
    """The whole graph of a group, read from the store directly."""
    async with opened(spec) as store:
        return await store.dump(group_id)
