"""Whether a large group slows a small one down: the small one's searches alone, and beside the large one.

Part of bench.scale. On the embedded store two servers take turns, one whose store holds the small group
alone. On Neo4j, where a server has one database, it is measured before the large group comes and after.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from bench.asking import ROOMY, search_facts
from bench.knowledge import questions
from bench.loading import Loader
from bench.measuring import Clocked, interleaved, one_by_one, ratio, spread
from kgsvc.stores.embedded import EmbeddedStore
from tests.support.client import Client
from tests.support.service import Service

SMALL, SMALL_FACTS = "small", 350
_CALLS = 200
_BLOCK = 10
_BUSY = 2  # searches of the large group in flight, all the time


async def take_turns(clients: list[Client], seconds: float) -> list[dict[str, float]]:
    """Searches of the small group at several servers."""
    queries = list(itertools.islice(questions(SMALL_FACTS), _CALLS))
    sides = []
    for client in clients:
        ask = search_facts(client, SMALL)
        await one_by_one(ask, iter(queries))(len(queries))
        sides.append((one_by_one(ask, itertools.cycle(queries)), Clocked(_CALLS, seconds)))
    await interleaved(sides, _BLOCK)
    return [spread(clocked.times_ms) for _, clocked in sides]


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


def compared(
    facts: int, idle: tuple[dict[str, float], ...], searched: tuple[dict[str, float], ...]
) -> dict[str, Any]:
    """The small group alone and beside the large one, while that rests and while it is searched."""
    return {
        "neighbour_facts": facts,
        "alone": idle[0],
        "idle": idle[1],
        "ratio_idle": ratio(idle[1]["p50_ms"], idle[0]["p50_ms"]),
        "alone_meanwhile": searched[0],
        "searched": searched[1],
        "ratio_searched": ratio(searched[1]["p50_ms"], searched[0]["p50_ms"]),
    }


async def embedded_neighbours(
    settings: dict[str, str], folder: Path, facts: int, seconds: float
) -> dict[str, Any]:
    """On two embedded stores."""
    for name, large in (("alone", 0), ("beside", facts)):
        store = await EmbeddedStore.open(folder / name)
        await store.migrate()
        await Loader(store, SMALL, episodes=True).to(SMALL_FACTS)
        await Loader(store, "large", episodes=True).to(large)
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
        await search_facts(beside, "large")("anything")
        idle = await take_turns([alone, beside], seconds)
        async with busy(beside, "large", facts):
            searched = await take_turns([alone, beside], seconds)
    return {"store": "embedded"} | compared(facts, tuple(idle), tuple(searched))


async def neighbours_on(
    settings: dict[str, str], folder: Path, facts: int, alone: dict[str, float], seconds: float
) -> dict[str, Any]:
    """On the store of `settings`, which holds both groups now; `alone` was measured before."""
    async with Service(settings | ROOMY, folder, "beside") as server, Client(server.address) as client:
        await search_facts(client, "large")("anything")
        (idle,) = await take_turns([client], seconds)
        async with busy(client, "large", facts):
            (searched,) = await take_turns([client], seconds)
    return {"store": settings["store.kind"]} | compared(facts, (alone, idle), (alone, searched))


async def small_alone(settings: dict[str, str], folder: Path, seconds: float) -> dict[str, float]:
    """The small group's searches on the store of `settings`, which holds nothing else."""
    async with Service(settings | ROOMY, folder, "alone") as server, Client(server.address) as client:
        (alone,) = await take_turns([client], seconds)
    return alone
