"""A real server of this process on a free port, over a real embedded store, and a client of it."""

import asyncio
import itertools
import random
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from kgsvc.api.rpc.health import ServiceInfo
from kgsvc.api.server import KgServer, Served, ServerSettings
from kgsvc.commands.core import Core
from kgsvc.commands.transfer.uploads import Uploads
from kgsvc.domain.limits import Limits
from kgsvc.domain.model.items import ItemState, Step, Transition
from kgsvc.jobs.activity import ActivityWatch
from kgsvc.observability.metrics import Metrics
from kgsvc.runtime import SystemClock
from kgsvc.search.engine import Engine
from kgsvc.search.settings import SearchSettings
from kgsvc.stores.embedded import EmbeddedStore
from kgsvc.stores.protocol import Store
from tests.support.client import Client
from tests.support.samples import claim

# Small, so that tests can exceed them.
LIMITS = Limits(
    payload_bytes=64 * 1024,
    items_per_call=4,
    name=20,
    role=20,
    query=200,
    summary=40,
    source_description=40,
    body_bytes=8 * 1024,
    attributes_bytes=512,
    stream_inflight_bytes=32 * 1024,
)


@dataclass
class Stack:
    """A running server with everything it was built from."""

    client: Client
    store: Store
    server: KgServer
    core: Core
    served: Served


Serve = Callable[..., AbstractAsyncContextManager[Stack]]


@pytest.fixture
def serve(tmp_path: Path) -> Serve:
    """Start a server; keywords replace parts of its Core and Served, `wrap` replaces the store."""

    @asynccontextmanager
    async def start(wrap: Callable[[Store], Any] | None = None, **parts: Any) -> AsyncIterator[Stack]:
        opened = await EmbeddedStore.open(tmp_path)
        await opened.migrate()
        store: Store = opened if wrap is None else wrap(opened)
        stack = _build(store, {"uploads": Uploads(tmp_path / "uploads"), **parts})
        polling = asyncio.create_task(stack.core.activity.run())
        stack.client = Client(f"127.0.0.1:{stack.server.listen('127.0.0.1:0')}")
        await stack.server.start()
        try:
            yield stack
        finally:
            await stack.client.channel.close()
            await stack.server.stop()
            polling.cancel()
            await asyncio.gather(polling, return_exceptions=True)
            await opened.close()

    return start


def _build(store: Store, parts: Mapping[str, Any]) -> Stack:
    clock, rng, ids = SystemClock(), random.Random(1), itertools.count()
    search = Engine(store, None, SearchSettings(), clock)
    core = Core(
        store=store,
        clock=clock,
        rng=rng,
        limits=LIMITS,
        metrics=Metrics(),
        activity=ActivityWatch(store, 0.01, rng),
        new_id=lambda: f"id-{next(ids)}",
    )
    served = Served(
        search=search,
        info=ServiceInfo("1.2.3", "offline", ""),
        settings=ServerSettings(grace_s=1.0),
    )
    core = replace(core, **{name: part for name, part in parts.items() if hasattr(core, name)})
    served = replace(served, **{name: part for name, part in parts.items() if hasattr(served, name)})
    return Stack(None, store, KgServer(core, served), core, served)  # type: ignore[arg-type]


@pytest.fixture
async def stack(serve: Serve) -> AsyncIterator[Stack]:
    """A server with small limits."""
    async with serve() as started:
        yield started


@pytest.fixture
def client(stack: Stack) -> Client:
    """A client of `stack`."""
    return stack.client


class Wrapped:
    """A store of which some methods are replaced: `Wrapped(store, accept=other_accept)`."""

    def __init__(self, store: Store, **replaced: Callable[..., Any]) -> None:
        self._store = store
        self.__dict__.update(replaced)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


async def finish(store: Store, group_id: str, state: ItemState, reason: str | None = None) -> list[str]:
    """Bring every unfinished item of a group into `state`, as a worker would; their uuids."""
    now_ms = SystemClock().now_ms()
    work = next(w for w in await store.ready_groups(now_ms, 100) if w.group_id == group_id)
    lease = await claim(store, work, "test", now_ms)
    assert lease is not None
    uuids: list[str] = []
    while items := await store.start_items(lease, now_ms, 100, 2**20, uuids):
        found = [item.episode.uuid for item in items]
        await store.save_transitions(
            lease, [Transition(uuid, state, now_ms, Step.EXTRACT, 5, reason) for uuid in found]
        )
        uuids += found
    await store.release(lease)
    return uuids
