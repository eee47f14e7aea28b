"""Whether a large group slows a small one down: the small one's searches alone, and beside the large one
while that is loaded (a search has begun it, nobody waits for it), rests, and is searched without a pause.

Part of bench.scale. On the embedded store two servers take turns, one whose store holds the small group
alone. A Neo4j holds one database: there the small group is alone before the large one comes and again after
it is gone. Minutes lie between, in which a machine changes its pace; so each time a server on an embedded
store, to which nothing happens, takes turns with the one on Neo4j, and what is compared is by how much that
one takes longer than this one: beside the large group, against the mean of before and after.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from bench.asking import ROOMY, search_facts, search_graph
from bench.knowledge import questions
from bench.loading import Loader
from bench.measuring import Clocked, flooded, interleaved, one_by_one, quantile, ratio, spread
from bench.neo4j_side import Database
from kgsvc.stores.embedded import EmbeddedStore
from kgsvc.stores.neo4j import Neo4jStore
from tests.support.client import Client
from tests.support.service import Service

SMALL, LARGE, SMALL_FACTS = "small", "large", 350
_QUERIES, _CALLS = 200, 1_000
_BLOCK = 10
_CALLERS = 8  # that warm up
_BUSY = 2  # searches of the large group in flight, all the time


async def take_turns(clients: list[Client], seconds: float) -> list[list[float]]:
    """Searches of the small group at several servers; milliseconds."""
    queries = list(itertools.islice(questions(SMALL_FACTS), _QUERIES))
    sides = []
    for client in clients:
        ask = search_facts(client, SMALL)
        await one_by_one(ask, iter(queries))(len(queries))
        sides.append((one_by_one(ask, itertools.cycle(queries)), Clocked(_CALLS, seconds)))
    await interleaved(sides, _BLOCK)
    return [clocked.times_ms for _, clocked in sides]


@asynccontextmanager
async def busy(client: Client, group: str, facts: int) -> AsyncIterator[None]:
    """Somebody searches the large group all the time."""
    ask, queries = search_facts(client, group), itertools.cycle(list(itertools.islice(questions(facts), 100)))

    async def caller() -> None:
        while True:
            await ask(next(queries))

    callers = [asyncio.create_task(caller()) for _ in range(_BUSY)]
    try:
        yield
    finally:
        for each in callers:
            each.cancel()
        await asyncio.gather(*callers, return_exceptions=True)


def compared(facts: int, **phases: Sequence[list[float]]) -> dict[str, Any]:
    """The small group alone and beside the large one, phase by phase."""
    row: dict[str, Any] = {"neighbour_facts": facts}
    for name, (alone, beside) in phases.items():
        row["alone" if name == "idle" else f"alone_while_{name}"] = spread(alone)
        row[name] = spread(beside)
        row[f"ratio_{name}"] = ratio(spread(beside)["p50_ms"], spread(alone)["p50_ms"])
    return row


async def embedded_neighbours(
    settings: dict[str, str], folder: Path, facts: int, seconds: float
) -> dict[str, Any]:
    """On two embedded stores."""
    for name, large in (("alone", 0), ("beside", facts)):
        store = await EmbeddedStore.open(folder / name)
        await store.migrate()
        await Loader(store, SMALL, episodes=True).to(SMALL_FACTS)
        await Loader(store, LARGE, episodes=True).to(large)
        await store.close()
    given = settings | ROOMY | {"store.kind": "embedded"}
    servers = [
        Service(given | {"store.data_dir": str(folder / name)}, folder, name) for name in ("alone", "beside")
    ]
    async with (
        servers[0],
        servers[1],
        Client(servers[0].address) as alone,
        Client(servers[1].address) as beside,
    ):
        await search_facts(beside, LARGE)("anything")
        loading = await take_turns([alone, beside], seconds)
        await search_graph(beside, LARGE)("anything")  # waits until it is loaded
        idle = await take_turns([alone, beside], seconds)
        async with busy(beside, LARGE, facts):
            searched = await take_turns([alone, beside], seconds)
    return {"store": "embedded"} | compared(facts, loading=loading, idle=idle, searched=searched)


async def neo4j_neighbours(
    database: Database, settings: dict[str, str], folder: Path, facts: int, seconds: float
) -> dict[str, Any]:
    """On an empty Neo4j, which is empty again afterwards."""
    given = settings | ROOMY | database.settings
    store = await Neo4jStore.connect(database.uri, "neo4j", database.password, deadline_s=120.0)
    async with _measure_of_time(settings, folder) as still:

        async def alone(name: str) -> list[list[float]]:
            await store.migrate()
            await Loader(store, SMALL, episodes=True).to(SMALL_FACTS)
            async with Service(given, folder, name) as server, Client(server.address) as client:
                await _warm(client, seconds)
                return await take_turns([client, still], seconds)

        before = await alone("before")
        await Loader(store, LARGE, episodes=True).to(facts)
        async with Service(given, folder, "beside") as server, Client(server.address) as client:
            await _warm(client, seconds)
            await search_facts(client, LARGE)("anything")
            loading = await take_turns([client, still], seconds)
            await search_graph(client, LARGE)("anything")  # waits until it is loaded
            idle = await take_turns([client, still], seconds)
            async with busy(client, LARGE, facts):
                searched = await take_turns([client, still], seconds)
        await database.wipe()
        after = await alone("after")
    await store.close()
    await database.wipe()
    return {"store": "neo4j", "neighbour_facts": facts} | corrected(before, loading, idle, searched, after)


def corrected(*phases: list[list[float]]) -> dict[str, Any]:
    """Of before, loading, idle, searched and after, each the times and those of the server that nothing
    happens to: p50, and its ratio to alone had the machine kept its pace."""
    names = ("before", "loading", "idle", "searched", "after")
    paces = {
        n: quantile(times, 0.5) / quantile(still, 0.5)
        for n, (times, still) in zip(names, phases, strict=True)
    }
    alone = (paces["before"] + paces["after"]) / 2
    row: dict[str, Any] = {"alone": spread([*phases[0][0], *phases[-1][0]])}
    for name, (times, _) in zip(names[1:-1], phases[1:-1], strict=True):
        row |= {name: spread(times), f"ratio_{name}": ratio(paces[name], alone)}
    return row | {"paces": paces}


@asynccontextmanager
async def _measure_of_time(settings: dict[str, str], folder: Path) -> AsyncIterator[Client]:
    """A server on an embedded store with the small group, which nothing happens to."""
    store = await EmbeddedStore.open(folder / "still")
    await store.migrate()
    await Loader(store, SMALL, episodes=True).to(SMALL_FACTS)
    await store.close()
    given = settings | ROOMY | {"store.kind": "embedded", "store.data_dir": str(folder / "still")}
    async with Service(given, folder, "still") as server, Client(server.address) as client:
        yield client


async def _warm(client: Client, seconds: float) -> None:
    """Searches that do not count: Neo4j compiles what it runs often."""
    await flooded([search_facts(client, SMALL)] * _CALLERS, questions(SMALL_FACTS, 12), seconds)
