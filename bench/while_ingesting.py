"""How searches fare while ingestion runs at full speed. Part of bench.scale; the embedded store.

A group of 10,000 facts is searched while a backlog of messages for another group is worked on, by one
process that does both, by a server of searches beside a worker, and by one server of two processes.
"""

from __future__ import annotations

import itertools
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from bench.asking import ROOMY, search_facts, search_graph
from bench.corpus import chat
from bench.knowledge import questions
from bench.loading import Loader
from bench.measuring import Clocked, interleaved, one_by_one, ratio, spread
from bench.service import to_message, unfinished
from kgsvc.models.embedding import HashingEmbedder
from kgsvc.stores.embedded import EmbeddedStore
from tests.support.client import Client
from tests.support.service import Service

GROUP = "searched"
_CALLS = 150
_BLOCK = 5
_LAYOUTS: dict[str, list[dict[str, str]]] = {
    "one process": [{"server.role": "all"}],
    "api and worker": [{"server.role": "api"}, {"server.role": "worker"}],
    "2 processes": [{"server.role": "all", "server.processes": "2"}],
}


async def while_ingesting(folder: Path, facts: int, backlog: int, seconds: float) -> list[dict[str, Any]]:
    """p50 without and with ingestion, for each way to run the service."""
    data = folder / "ingesting"
    store = await EmbeddedStore.open(data)
    await store.migrate()
    await Loader(store, GROUP, embedder=HashingEmbedder(), episodes=True).to(facts)
    await store.close()
    given = ROOMY | {"store.kind": "embedded", "store.data_dir": str(data)}
    found = []
    for number, (layout, roles) in enumerate(_LAYOUTS.items()):
        async with AsyncExitStack() as stack:
            servers = [Service(given | role, folder, f"{number}-{n}") for n, role in enumerate(roles)]
            for server in servers:
                await server.start()
                stack.push_async_callback(server.terminate)
            client = await stack.enter_async_context(Client(servers[0].address))
            found.append(
                {"layout": layout} | await _measured(client, f"busy-{number}", facts, backlog, seconds)
            )
    return found


async def _measured(client: Client, busy: str, facts: int, backlog: int, seconds: float) -> dict[str, Any]:
    queries = list(itertools.islice(questions(facts), _CALLS))
    quiet = await _both(client, queries, seconds)
    await client.stream_episodes(busy, list(map(to_message, chat(backlog))))
    loaded = await _both(client, queries, seconds)
    row: dict[str, Any] = {"backlog_left": await unfinished(client, busy)}
    for name in quiet:
        row[name] = {"quiet": quiet[name], "ingesting": loaded[name]}
        row[name]["ratio"] = ratio(loaded[name]["p50_ms"], quiet[name]["p50_ms"])
    return row


async def _both(client: Client, queries: list[str], seconds: float) -> dict[str, dict[str, float]]:
    asks = {"search_facts": search_facts(client, GROUP), "search_graph": search_graph(client, GROUP)}
    for ask in asks.values():
        await ask(queries[0])
    budgets = {name: Clocked(_CALLS, seconds) for name in asks}
    sides = [(one_by_one(ask, itertools.cycle(queries)), budgets[name]) for name, ask in asks.items()]
    await interleaved(sides, _BLOCK)
    return {name: spread(clocked.times_ms) for name, clocked in budgets.items()}
