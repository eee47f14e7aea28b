"""kgsvc and Graphiti side by side: searches and ingestion on one Neo4j, one corpus, one scripted model.

    python -m bench.beside_graphiti --neo4j "URI;PASSWORD" [--facts 1000 10000 50000] [--parts ingest search]
        [--out FILE]

The database must be empty (--wipe empties it): Graphiti's plans suffer from what other groups hold. Both
programs search the same rows; they take turns, so that whatever else the machine does meets both. kgsvc is
asked through gRPC at a server process, Graphiti is a library and runs in a process of its own. Both embed in
their own process by hashed words (256 numbers), or with --embedder http by a model server (384 numbers): the
openai client that both use takes milliseconds a query. "Cold" is a kgsvc that may keep nothing in memory.

What is warm, and how: before the first searches --seconds of each side, in turns, which do not count, so
that Neo4j has planned and compiled the statements of both; before those of a size ten of kgsvc and five of
Graphiti, of which the first loads the group; ingestion and throughput: bench/beside_ingest.py,
bench/beside_flood.py. Neo4j should be one as it runs in production (scripts.neo4j_server: --lasting).
About ten minutes on two cores.
"""

from __future__ import annotations

import argparse
import itertools
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from bench.beside_flood import AT_ONCE, Flood
from bench.beside_ingest import ROUNDS, Ingestion, lines_needed
from bench.beside_sides import Sides, running
from bench.knowledge import questions
from bench.loading import Embeds, Loader
from bench.measuring import (
    Clocked,
    interleaved,
    keep,
    machine,
    one_by_one,
    ratio,
    run,
    say,
    spread,
)
from bench.neo4j_side import Database
from bench.vocabulary import WordEmbedder
from kgsvc.models.embedding import HashingEmbedder
from kgsvc.stores.neo4j import Neo4jStore

GROUP, TINY = "large", "tiny"
EMBEDDERS: dict[str, Embeds] = {"offline": HashingEmbedder(), "http": WordEmbedder()}
_RESULTS = 10
_BLOCK = 5
_WARMING = 10_000  # calls: the seconds end it
_CPU = ("client_cpu_ms", "server_cpu_ms", "neo4j_cpu_ms")
_FLOODED = 10_000  # facts at which throughput is measured


class Searches:
    """Searches of one group, as large as it is at the time."""

    def __init__(self, sides: Sides, seconds: float) -> None:
        self._sides = sides
        self._seconds = seconds

    async def at(self, facts: int) -> dict[str, Any]:
        """p50 and p95 of both, warm and cold, in turns."""
        graphiti, warm, cold = (
            Clocked(40, self._seconds),
            Clocked(200, self._seconds),
            Clocked(40, self._seconds),
        )
        asked = [questions(facts, seed) for seed in (1, 2, 3)]
        await self._wake(facts)
        found = await self._taking_turns(asked, graphiti, warm, cold)
        row: dict[str, Any] = {
            "facts": facts,
            "graphiti": spread(graphiti.times_ms) | {"facts_found": found},
            "kgsvc": spread(warm.times_ms),
            "kgsvc_cold": spread(cold.times_ms),
        }
        for name in ("kgsvc", "kgsvc_cold"):
            row[f"ratio_{name}"] = ratio(row["graphiti"]["p50_ms"], row[name]["p50_ms"])
        return row

    async def warm_up(self, facts: int) -> None:
        """Searches of each side, in turns, that do not count."""
        await self._wake(facts)
        spare = [Clocked(_WARMING, self._seconds) for _ in range(3)]
        await self._taking_turns([questions(facts, seed) for seed in (5, 6, 7)], *spare)

    async def _wake(self, facts: int) -> None:
        """What is not measured: plans are made, the group is loaded."""
        queries = list(itertools.islice(questions(facts, 4), 10))
        await self._sides.graphiti.search(GROUP, queries[:5])
        for query in queries:
            await self._sides.warm.search(GROUP, query, _RESULTS)
        await self._sides.cold.search(GROUP, queries[0], _RESULTS)

    async def _taking_turns(
        self, asked: Sequence[Iterator[str]], graphiti: Clocked, warm: Clocked, cold: Clocked
    ) -> float:
        """Fills the three; how many facts Graphiti found, on average."""
        found = 0

        async def of_graphiti(count: int) -> list[float]:
            nonlocal found
            answer = await self._sides.graphiti.search(GROUP, list(itertools.islice(asked[0], count)))
            found += answer["found"]
            times: list[float] = answer["times_ms"]
            return times

        async def at_warm(query: str) -> None:
            assert await self._sides.warm.search(GROUP, query, _RESULTS), "nothing found"

        async def at_cold(query: str) -> None:
            assert await self._sides.cold.search(GROUP, query, _RESULTS), "nothing found"

        async def displace() -> None:
            await self._sides.cold.search(TINY, "anything", 1)

        await interleaved(
            [
                (of_graphiti, graphiti),
                (one_by_one(at_warm, asked[1]), warm),
                (one_by_one(at_cold, asked[2], displace), cold),
            ],
            _BLOCK,
        )
        return found / len(graphiti.times_ms)


async def searching(sides: Sides, options: argparse.Namespace, results: dict[str, Any]) -> None:
    """One group that grows from size to size."""
    store = await Neo4jStore.connect(sides.database.uri, "neo4j", sides.database.password)
    try:
        embedder = EMBEDDERS[options.embedder]
        await Loader(store, TINY, embedder=embedder).to(1)
        loader = Loader(store, GROUP, embedder=embedder)
        searches = Searches(sides, options.seconds)
        for facts in options.facts:
            say(f"loading {facts} facts ...")
            await loader.to(facts)
            await sides.database.embed_for_graphiti(GROUP, embedder)
            if not results["search"]:
                say("searching, to be warm ...")
                await searches.warm_up(facts)
            say(f"searching {facts} facts ...")
            results["search"].append(await searches.at(facts))
            if facts == options.flood:
                results["throughput"] = await Flood(sides, GROUP, facts).measured()
    finally:
        await store.close()


async def measure(options: argparse.Namespace, results: dict[str, Any]) -> None:
    """Everything; results are there as far as it came."""
    async with Database(options.neo4j) as database:
        await database.require_empty(options.wipe)
        if "ingest" in options.parts:
            with tempfile.TemporaryDirectory() as made:
                async with running(
                    database, Path(made), options.embedder, options.corpus, options.seed
                ) as sides:
                    say("ingesting, to be warm ...")
                    await Ingestion(sides, options).warm_up()
                    for latency_ms in options.latencies:
                        say(f"ingesting, a call of the model takes {latency_ms} ms ...")
                        results["ingest"].append(await Ingestion(sides, options).at(latency_ms))
            await database.wipe()
        if "search" in options.parts:
            with tempfile.TemporaryDirectory() as made:
                async with running(
                    database, Path(made), options.embedder, options.corpus, options.seed
                ) as sides:
                    await searching(sides, options, results)
                    if "ingest" in options.parts:
                        say("ingesting into the large group ...")
                        results["ingest_large"] = await Ingestion(sides, options).into_large(
                            GROUP, max(options.facts), EMBEDDERS[options.embedder]
                        )


def table(results: dict[str, Any]) -> str:
    """What a reader wants to know, in Markdown."""
    rows = ["| what | Graphiti | kgsvc | ratio |", "|---|---|---|---|"]
    rows += [row for each in results["search"] for row in _search_rows(each)]
    if flood := results["throughput"]:
        rows += _flood_rows(flood)
    rows += [row for each in results["ingest"] for row in _ingest_rows(each)]
    if large := results["ingest_large"]:
        theirs, ours = large["graphiti"], large["kgsvc"]
        rows.append(
            f"| ms an episode into {large['facts']:,} facts / into none"
            f" | {theirs['large_ms']:.0f} / {theirs['empty_ms']:.0f}"
            f" | {ours['large_ms']:.1f} / {ours['empty_ms']:.1f}"
            f" | by {theirs['ratio']:.2f} and {ours['ratio']:.2f} |"
        )
    return "\n".join(rows)


def _search_rows(each: dict[str, Any]) -> Iterator[str]:
    theirs = each["graphiti"]
    for name, how in (("kgsvc", "warm"), ("kgsvc_cold", "cold")):
        ours = each[name]
        yield (
            f"| search p50 / p95 ms, {each['facts']:,} facts, {how}"
            f" | {theirs['p50_ms']:.1f} / {theirs['p95_ms']:.1f}"
            f" | {ours['p50_ms']:.1f} / {ours['p95_ms']:.1f} | {each[f'ratio_{name}']:.1f} |"
        )


def _flood_rows(flood: dict[str, Any]) -> Iterator[str]:
    theirs = flood["graphiti"]
    for name, by in (("kgsvc", "one process"), ("kgsvc_2", "two processes")):
        ours = flood[name]
        yield (
            f"| searches/s, {AT_ONCE} in flight, {flood['facts']:,} facts, {by}"
            f" | {theirs['searches_per_s']:.1f} | {ours['searches_per_s']:.0f}"
            f" | {flood[f'ratio_{name}']:.1f} |"
        )
        yield (
            f"| CPU ms a search then: client / server / Neo4j | {_flood_cpu(theirs)} | {_flood_cpu(ours)}"
            f" | {ratio(_flood_cpu_ms(theirs), _flood_cpu_ms(ours)):.1f} |"
        )


def _flood_cpu(side: dict[str, float]) -> str:
    return " / ".join(f"{side[name]:.1f}" for name in _CPU)


def _flood_cpu_ms(side: dict[str, float]) -> float:
    return sum(side[name] for name in _CPU)


def _ingest_rows(each: dict[str, Any]) -> Iterator[str]:
    theirs, ours = each["graphiti"], each["kgsvc"]
    shown = {
        "episodes_per_s": "episodes/s",
        "client_cpu_ms": "client CPU ms an episode (kgsvc: its server too)",
        "neo4j_cpu_ms": "Neo4j CPU ms an episode",
    }
    for name, what in shown.items():
        better = (ours, theirs) if name == "episodes_per_s" else (theirs, ours)
        share = ratio(better[0][name], better[1][name])
        at = f"model at {each['latency_ms']} ms"
        yield f"| {what}, {at} | {theirs[name]:.1f} | {ours[name]:.1f} | {share:.1f} |"


def main() -> None:
    """The command line of this file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--neo4j", required=True, metavar="URI;PASSWORD", help="an idle server")
    parser.add_argument("--wipe", action="store_true", help="remove what the database holds")
    parser.add_argument("--parts", choices=["ingest", "search"], nargs="+", default=["ingest", "search"])
    parser.add_argument("--facts", type=int, nargs="+", default=[1_000, 10_000, 50_000], help="ascending")
    parser.add_argument("--flood", type=int, default=_FLOODED, help="facts at which throughput is measured")
    parser.add_argument("--seconds", type=float, default=12.0, help="for searches of each side at each size")
    parser.add_argument("--episodes", type=int, default=24, help="that Graphiti ingests, each time")
    parser.add_argument("--stream", type=int, default=480, help="that kgsvc ingests, each time")
    parser.add_argument("--warm-up", type=float, default=25.0, help="seconds that each ingests before")
    parser.add_argument("--latencies", type=int, nargs="+", default=[0, 50], help="of the model, ms")
    parser.add_argument("--embedder", choices=list(EMBEDDERS), default="offline")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--out", type=Path, help="also write the figures as JSON")
    options = parser.parse_args()
    if min(options.episodes, options.stream) < ROUNDS:
        parser.error(f"--episodes and --stream: at least {ROUNDS}, one a round")
    options.facts.sort()
    options.corpus = lines_needed(options)
    results: dict[str, Any] = {"machine": machine(), "embedder": options.embedder, "search": [], "ingest": []}
    results |= {"throughput": None, "ingest_large": None}
    try:
        run(measure(options, results))
    finally:
        print(table(results))
        keep(results, options.out)


if __name__ == "__main__":
    main()
