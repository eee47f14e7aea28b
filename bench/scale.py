"""How searches, memory and loading grow with a group: one group at each size, on one store or on both.

    python -m bench.scale [--embedded 1000 10000 100000] [--neo4j "URI;PASSWORD"]
        [--neo4j-facts 1000 10000 50000] [--parts sizes neighbours ingestion] [--out FILE]

Facts come with their episodes, entities and vectors (384 numbers), written straight into the store, the same
at every run. Everything is asked through gRPC at a server in a process of its own, warm, one call after the
other, each question a second time, so that its vector is known: how long a model embeds is not kgsvc's. The
other parts: bench/neighbours.py, bench/while_ingesting.py. Sizes to 1,000,000 work.
"""

from __future__ import annotations

import argparse
import itertools
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.asking import ROOMY, in_memory, search_facts, search_graph
from bench.knowledge import questions
from bench.loading import Loader
from bench.measuring import (
    Ask,
    Clocked,
    folder_mib,
    interleaved,
    keep,
    machine,
    one_by_one,
    resident_mib,
    run,
    say,
    spread,
)
from bench.model_server import Model
from bench.neighbours import SMALL_FACTS, embedded_neighbours, neo4j_neighbours
from bench.neo4j_side import Database
from bench.vocabulary import DIMENSION, SPACE
from bench.while_ingesting import while_ingesting
from kgsvc.search.index.cache import IndexCache
from kgsvc.search.index.group import WHOLE
from kgsvc.search.settings import SearchSettings
from kgsvc.stores.embedded import EmbeddedStore
from kgsvc.stores.neo4j import Neo4jStore
from kgsvc.stores.protocol import Store
from tests.support.client import Client
from tests.support.service import Service

GROUP = "large"
PARTS = ("sizes", "neighbours", "ingestion")
_CALLS = 100
_BLOCK = 5
_MIB = 1024 * 1024
_ACCOUNTED = 200_000  # facts up to which the index is loaded here too, to ask it for its size


async def at_size(
    store: Store, settings: dict[str, str], folder: Path, facts: int, seconds: float
) -> dict[str, Any]:
    """A fresh server and a group of so many facts."""
    queries = list(itertools.islice(questions(facts), _CALLS))
    async with Service(settings | ROOMY, folder, f"size-{facts}") as server, Client(server.address) as client:
        started_mib = resident_mib(server.pid)
        asks = {"search_facts": search_facts(client, GROUP), "search_graph": search_graph(client, GROUP)}
        row: dict[str, Any] = {"store": settings["store.kind"], "facts": facts}
        for name, ask in asks.items():
            row[f"first_{name}_s"] = await _first(ask, queries[0])
        began = time.perf_counter()
        await in_memory(client, GROUP, queries[0])
        row["in_memory_s"] = time.perf_counter() - began
        budgets = {name: Clocked(_CALLS, seconds) for name in asks}
        for ask in asks.values():
            await one_by_one(ask, iter(queries))(len(queries))
        sides = [(one_by_one(ask, itertools.cycle(queries)), budgets[name]) for name, ask in asks.items()]
        await interleaved(sides, _BLOCK)
        row |= {name: spread(clocked.times_ms) for name, clocked in budgets.items()}
        row["server_mib"] = resident_mib(server.pid)
        row["server_mib_before"] = started_mib
    if facts <= _ACCOUNTED:
        row["index_mib"] = await _accounted(store) / _MIB
    return row


async def _first(ask: Ask, query: str) -> float:
    began = time.perf_counter()
    await ask(query)
    return time.perf_counter() - began


async def _accounted(store: Store) -> int:
    """The bytes that both indexes of the group are counted with."""
    cache = IndexCache(store, SearchSettings(search_timeout_s=600.0), SPACE, DIMENSION)
    head = (await store.heads([GROUP]))[GROUP]
    await cache.use([head], len, parts=WHOLE)
    nbytes = cache.nbytes
    await cache.close()
    return nbytes


async def growing(
    store: Store, settings: dict[str, str], folder: Path, sizes: list[int], seconds: float
) -> list[dict[str, Any]]:
    """One group from size to size."""
    loader = Loader(store, GROUP, episodes=True)
    rows = []
    for facts in sizes:
        say(f"{settings['store.kind']}: loading {facts} facts ...")
        rate = await loader.to(facts)
        row = await at_size(store, settings, folder, facts, seconds)
        row["written_facts_per_s"] = rate
        if settings["store.kind"] == "embedded":
            row["disk_mib"] = folder_mib(Path(settings["store.data_dir"]))
        rows.append(row)
    return rows


async def on_embedded(
    settings: dict[str, str], folder: Path, options: argparse.Namespace, results: dict[str, Any]
) -> None:
    """Every part that was asked for."""
    if "sizes" in options.parts:
        store = await EmbeddedStore.open(folder / "sizes")
        await store.migrate()
        given = settings | {"store.kind": "embedded", "store.data_dir": str(folder / "sizes")}
        results["sizes"] += await growing(store, given, folder, options.embedded, options.seconds)
        await store.close()
    if "neighbours" in options.parts:
        say("embedded: a small group beside a large one ...")
        row = await embedded_neighbours(settings, folder, options.neighbour, options.seconds)
        results["neighbours"].append(row)
    if "ingestion" in options.parts:
        say("embedded: searches while ingestion runs ...")
        results["while_ingesting"] = await while_ingesting(
            folder, options.searched, options.backlog, options.seconds
        )


async def on_neo4j(
    settings: dict[str, str], folder: Path, options: argparse.Namespace, results: dict[str, Any]
) -> None:
    """The sizes, and a small group before the large one came, beside it, and after."""
    async with Database(options.neo4j) as database:
        await database.require_empty(options.wipe)
        if "sizes" in options.parts:
            given = settings | database.settings
            store = await Neo4jStore.connect(database.uri, "neo4j", database.password, deadline_s=120.0)
            await store.migrate()
            results["sizes"] += await growing(store, given, folder, options.neo4j_facts, options.seconds)
            await store.close()
            await database.wipe()
        if "neighbours" in options.parts:
            say("neo4j: a small group beside a large one ...")
            row = await neo4j_neighbours(database, settings, folder, options.neighbour, options.seconds)
            results["neighbours"].append(row)


async def measure(options: argparse.Namespace, results: dict[str, Any]) -> None:
    """Everything; results are there as far as it came."""
    with tempfile.TemporaryDirectory(dir=options.scratch) as made:
        async with Model(episodes=1, seed=7) as model:
            if options.embedded:
                await on_embedded(model.embedding, Path(made), options, results)
            if options.neo4j:
                await on_neo4j(model.embedding, Path(made), options, results)


def tables(results: dict[str, Any]) -> str:
    """In Markdown."""
    parts = {"sizes": _sizes, "neighbours": _neighbours, "while_ingesting": _while_ingesting}
    return "\n".join(line for name, part in parts.items() if results[name] for line in part(results))


def _sizes(results: dict[str, Any]) -> Iterator[str]:
    yield (
        "| store | facts | written/s | first search s | in memory s | SearchFacts p50 / p99 ms"
        " | SearchGraph p50 / p99 ms | server MiB | index MiB | disk MiB |"
        f"\n|{'---|' * 10}"
    )
    for row in results["sizes"]:
        facts, graph = row["search_facts"], row["search_graph"]
        yield (
            f"| {row['store']} | {row['facts']:,} | {row['written_facts_per_s']:,.0f}"
            f" | {row['first_search_facts_s']:.2f} | {row['in_memory_s']:.1f}"
            f" | {facts['p50_ms']:.1f} / {facts['p99_ms']:.1f}"
            f" | {graph['p50_ms']:.1f} / {graph['p99_ms']:.1f} | {row['server_mib']:,.0f}"
            f" | {_optional(row, 'index_mib')} | {_optional(row, 'disk_mib')} |"
        )


def _optional(row: dict[str, Any], name: str) -> str:
    return f"{row[name]:,.0f}" if name in row else ""


def _neighbours(results: dict[str, Any]) -> Iterator[str]:
    yield (
        f"\n| store | beside {SMALL_FACTS} facts | p50 alone | neighbour loaded | ratio | idle | ratio"
        " | searched | ratio |\n|---|---|---|---|---|---|---|---|---|"
    )
    for row in results["neighbours"]:
        phases = " | ".join(
            f"{row[name]['p50_ms']:.2f} | {row[f'ratio_{name}']:.2f}"
            for name in ("loading", "idle", "searched")
        )
        yield f"| {row['store']} | {row['neighbour_facts']:,} | {row['alone']['p50_ms']:.2f} | {phases} |"


def _while_ingesting(results: dict[str, Any]) -> Iterator[str]:
    yield (
        "\n| the service as | search | p50 ms quiet | ingesting | ratio | backlog left |\n"
        "|---|---|---|---|---|---|"
    )
    for row in results["while_ingesting"]:
        for name in ("search_facts", "search_graph"):
            each = row[name]
            yield (
                f"| {row['layout']} | {name} | {each['quiet']['p50_ms']:.1f}"
                f" | {each['ingesting']['p50_ms']:.1f} | {each['ratio']:.2f} | {row['backlog_left']} |"
            )


def main() -> None:
    """The command line of this file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument(
        "--embedded", type=int, nargs="*", default=[1_000, 10_000, 100_000], help="none: not on it"
    )
    parser.add_argument("--neo4j", metavar="URI;PASSWORD", help="an idle server")
    parser.add_argument("--neo4j-facts", type=int, nargs="+", default=[1_000, 10_000, 50_000])
    parser.add_argument("--wipe", action="store_true", help="remove what the database holds")
    parser.add_argument("--parts", choices=PARTS, nargs="+", default=list(PARTS))
    parser.add_argument("--neighbour", type=int, default=50_000, help="facts of the large neighbour")
    parser.add_argument("--searched", type=int, default=10_000, help="facts searched while ingestion runs")
    parser.add_argument("--backlog", type=int, default=6_000, help="messages to work on meanwhile")
    parser.add_argument("--seconds", type=float, default=6.0, help="for searches of one kind at each size")
    parser.add_argument("--scratch", type=Path, help="where the embedded stores are made")
    parser.add_argument("--out", type=Path, help="also write the figures as JSON")
    options = parser.parse_args()
    options.embedded.sort()
    options.neo4j_facts.sort()
    results: dict[str, Any] = {"machine": machine(), "sizes": [], "neighbours": [], "while_ingesting": []}
    try:
        run(measure(options, results))
    finally:
        print(tables(results))
        keep(results, options.out)


if __name__ == "__main__":
    main()
