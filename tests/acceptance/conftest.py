"""Servers of the acceptance tests: a process for each module and store.

The queue lives in the store and any server on it takes any item, so a module's server is the only one with
workers while its tests run. Modules choose settings by a global SETTINGS; without one the model is scripted
(see saying.py).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Generator, Iterator, Mapping

import pytest
import pytest_asyncio

from tests.acceptance.saying import DIMENSION, reads_bodies
from tests.support.client import Client
from tests.support.scripted_openai import ScriptedOpenAI
from tests.support.service import Service
from tests.support.store_spec import EMBEDDED, STORE_LABELS, StoreSpec, spec_of

OFFLINE = {"models.extractor": "offline", "models.embedder": "offline"}
_SOON = {  # what was begun is taken up soon by the next server, what failed is tried soon
    "queue.lease_s": "1",
    "queue.poll_s": "0.05",
    "queue.backoff_base_ms": "10",
    "queue.backoff_cap_ms": "20",
}


def scripted(model: ScriptedOpenAI) -> dict[str, str]:
    """Settings of a server that asks the scripted model and is not patient with it."""
    return {
        "models.extractor": "openai",
        "models.embedder": "openai",
        "openai.base_url": model.base_url,
        "openai.attempts": "1",
        "embedding.dimension": str(DIMENSION),
        **_SOON,
    }


@pytest.fixture(scope="module", params=STORE_LABELS)
def spec(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> StoreSpec:
    """Each store in turn, for all tests of a module."""
    folder = tmp_path_factory.mktemp("store")
    if request.param == EMBEDDED:  # without asking for servers: none is started for embedded tests alone
        return StoreSpec(EMBEDDED, data_dir=folder / "data")
    return spec_of(request.param, folder, request.getfixturevalue("neo4j_servers"))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def model() -> AsyncIterator[ScriptedOpenAI]:
    """The model server of the module's services."""
    async with ScriptedOpenAI(reads_bodies) as server:
        yield server


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def service(
    request: pytest.FixtureRequest,
    spec: StoreSpec,
    model: ScriptedOpenAI,
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[Service]:
    """The module's server."""
    chosen: Mapping[str, str] = getattr(request.module, "SETTINGS", {})
    settings = scripted(model) | dict(chosen) | spec.settings
    async with Service(settings, tmp_path_factory.mktemp("service")) as running:
        yield running


@pytest_asyncio.fixture(loop_scope="module")
async def client(service: Service) -> AsyncIterator[Client]:
    """A connection to the module's server."""
    async with Client(service.address) as connected:
        yield connected


@pytest.fixture
def patient_model(model: ScriptedOpenAI) -> Iterator[ScriptedOpenAI]:
    """The model of a test that breaks it: as before afterwards."""
    yield model
    model.heal()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Function,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A failed test says what its server printed."""
    report = yield
    running = item.funcargs.get("service")
    if report.failed and isinstance(running, Service):
        report.sections.append(("Server", running.said()))
    return report
