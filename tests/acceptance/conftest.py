"""Servers of the acceptance tests: a process for each store (shared.py), which modules share.

Tests keep to groups of their own. A module chooses settings by a global SETTINGS and what the scripted model
says by a global SCRIPT (default: saying.py). Which modules run on which stores: support/which_stores.py.
"""

from collections.abc import AsyncIterator, Generator, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio

from tests.acceptance.saying import reads_bodies
from tests.acceptance.shared import SharedServer
from tests.support.client import Client
from tests.support.neo4j_fixture import Address, named_servers, own_server
from tests.support.scripted_openai import ScriptedOpenAI
from tests.support.service import Service
from tests.support.store_spec import StoreSpec, emptied, spec_of

HERE = Path(__file__).parent
# They look through all that a store keeps, or delete it: less while nobody else has used the store.
FIRST = ("test_clear_all.py", "test_erasure.py")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All tests here share a loop, on which the model answers; modules of equal settings come together."""
    ours = [item for item in items if HERE in item.path.parents]
    for item in filter(pytest_asyncio.is_async_test, ours):
        item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)
    places = [place for place, item in enumerate(items) if HERE in item.path.parents]
    for place, moved in zip(places, sorted(ours, key=_settings), strict=True):
        items[place] = moved


def _settings(item: pytest.Item) -> tuple[bool, str]:
    module = item.getparent(pytest.Module)
    return item.path.name not in FIRST, str(getattr(module and module.obj, "SETTINGS", {}))


@pytest.fixture(scope="package")
def spec(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> StoreSpec:
    """Each store of a module in turn."""
    return spec_of(request, tmp_path_factory.mktemp("store"))


@pytest_asyncio.fixture(scope="package", loop_scope="session")
async def model_server() -> AsyncIterator[ScriptedOpenAI]:
    """The model server of all services."""
    async with ScriptedOpenAI(reads_bodies) as server:
        yield server


@pytest.fixture(scope="module")
def model(request: pytest.FixtureRequest, model_server: ScriptedOpenAI) -> Iterator[ScriptedOpenAI]:
    """The model as the module scripts it."""
    model_server.plan.script = getattr(request.module, "SCRIPT", reads_bodies)
    yield model_server
    model_server.plan.script = reads_bodies


@pytest_asyncio.fixture(scope="package", loop_scope="session")
async def shared(
    spec: StoreSpec, model_server: ScriptedOpenAI, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[SharedServer]:
    """The server of the store, not yet started."""
    server = SharedServer(spec, model_server, lambda: tmp_path_factory.mktemp("service"))
    yield server
    await server.stop()


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def service(
    request: pytest.FixtureRequest, shared: SharedServer, model: ScriptedOpenAI
) -> AsyncIterator[Service]:
    """The module's server."""
    yield await shared.serving(getattr(request.module, "SETTINGS", {}))
    model.heal()
    await shared.settle()


@pytest_asyncio.fixture(loop_scope="session")
async def client(service: Service) -> AsyncIterator[Client]:
    """A connection to the module's server."""
    async with Client(service.address) as connected:
        yield connected


@pytest.fixture
def patient_model(model: ScriptedOpenAI) -> Iterator[ScriptedOpenAI]:
    """The model of a test that breaks it: as before afterwards."""
    yield model
    model.heal()


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def alone(spec: StoreSpec, shared: SharedServer) -> StoreSpec:
    """The store while no server works on it, for modules that start their own."""
    await shared.stop()
    return spec


@pytest_asyncio.fixture(loop_scope="session")
async def own_store_spec(spec: StoreSpec, shared: SharedServer, tmp_path: Path) -> AsyncIterator[StoreSpec]:
    """A store that is empty and used by this test alone."""
    if spec.neo4j is None:
        yield replace(spec, data_dir=tmp_path / "data")
    elif spec.label in named_servers():  # what it holds may be wanted
        with own_server(spec.label, tmp_path / "neo4j") as server:
            yield replace(spec, neo4j=Address(server.uri, server.password))
    else:
        await shared.stop()
        await emptied(spec)
        yield spec


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Function) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A failed test says what its server printed."""
    report = yield
    running = item.funcargs.get("service")
    if report.failed and isinstance(running, Service):
        report.sections.append(("Server", running.said()))
    return report
