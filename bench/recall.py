"""Whether searches by vector find what is nearest: recall@20 against all cosines computed here.

    python -m bench.recall --model FOLDER [--facts 50000] [--neo4j "URI;PASSWORD"] [--cache FILE.npy]
        [--layouts one fifty expired] [--ways loaded cold] [--out FILE]

Facts with vectors of a real model, all in one group, dealt to fifty groups, or 95 % of them expired; what was
loaded before stays. Asked through SearchGraph by cosine alone. "Loaded" is a server that keeps groups in
memory, "cold" one that may keep none but the last. Embedding 50,000 facts takes minutes: --cache keeps them.
"""

from __future__ import annotations

import argparse
import itertools
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.knowledge import BLOCK, facts_of, questions
from bench.loading import Loader
from bench.measuring import keep, machine, run, say, spread
from bench.neo4j_side import Database
from kgsvc.domain.model.graph import Fact
from kgsvc.models.local import LocalEmbedder
from kgsvc.stores.embedded import EmbeddedStore
from kgsvc.stores.neo4j import Neo4jStore
from kgsvc.stores.protocol import Store
from kgsvc.v1 import retrieval_pb2 as ret
from tests.support.client import CALL_S, Client, granted
from tests.support.service import Service

K = 20
TINY = "tiny"
_GIB = 1024**3
_SLACK = 1e-6  # two facts as near as float32 can tell: either will do
_GROUPS = 50
_EXPIRED = 0.95
Floats = NDArray[np.float32]
WAYS = {"loaded": {"retrieval.index_bytes": str(4 * _GIB)}, "cold": {"retrieval.index_bytes": "1"}}
_COSINE = ret.ScopeSearch(
    scope=ret.SEARCH_SCOPE_FACTS, methods=[ret.SEARCH_METHOD_COSINE], reranker=ret.RERANKER_RRF
)


@dataclass(frozen=True, slots=True)
class Layout:
    """How the vectors are dealt: to groups of equal size, a share of the facts expired."""

    name: str
    groups: int = 1
    expired: float = 0.0

    def group(self, number: int) -> str:
        """A group's name."""
        return f"recall-{self.name}-{number}"


LAYOUTS = {
    each.name: each for each in (Layout("one"), Layout("fifty", _GROUPS), Layout("expired", expired=_EXPIRED))
}


@dataclass(frozen=True, slots=True)
class Truth:
    """The vectors of one group's facts that can be found, by uuid."""

    places: Mapping[str, int]
    vectors: Floats

    def recall(self, query: Floats, found: Sequence[str]) -> float:
        """The share of the K nearest that is among what was found; equally near ones count alike."""
        cosines = self.vectors @ query
        wanted = min(K, len(cosines))
        worst = np.partition(cosines, -wanted)[-wanted]
        near = [uuid for uuid in found[:K] if cosines[self.places[uuid]] >= worst - _SLACK]
        return len(near) / wanted


def truth_of(layout: Layout, number: int, facts: int, vectors: Floats) -> Truth:
    """What can be found in a group, and where it lies."""
    group, size = layout.group(number), facts // layout.groups
    blocks = (facts_of(group, block, layout.expired) for block in range(-(-size // BLOCK)))
    made = list(itertools.islice(itertools.chain.from_iterable(blocks), size))
    open_ = [place for place, fact in enumerate(made) if fact.expired_ms is None]
    own = vectors[number * size : (number + 1) * size]
    return Truth({made[place].uuid: row for row, place in enumerate(open_)}, own[open_])


async def load(store: Store, layout: Layout, facts: int, vectors: Floats, embedder: LocalEmbedder) -> None:
    """All groups of a layout."""
    size = facts // layout.groups
    for number in range(layout.groups):
        own = vectors[number * size : (number + 1) * size]

        def rows(first: int, some: Sequence[Fact], own: Floats = own) -> Floats:
            return own[first : first + len(some)]

        loader = Loader(store, layout.group(number), embedder=embedder, vectors=rows, expired=layout.expired)
        await loader.to(size)


async def ask(client: Client, group: str, query: str) -> list[str]:
    """The nearest facts' uuids, best first."""
    given = ret.SearchGraphInput(group_ids=[group], query=query, scopes=[_COSINE], max_results=K)
    answer = await client.retrieval.SearchGraph(ret.SearchGraphRequest(input=given), timeout=2 * CALL_S)
    return [hit.fact.uuid for hit in granted(answer).output.facts]


async def measured(
    client: Client,
    layout: Layout,
    truths: Sequence[Truth],
    queries: Sequence[str],
    rows: Floats,
    seconds: float,
) -> dict[str, Any]:
    """Mean recall and how long the calls took; no more begin after `seconds`."""
    recalls: list[float] = []
    times_ms: list[float] = []
    for number, (query, row) in enumerate(zip(queries, rows, strict=True)):
        if sum(times_ms) > seconds * 1_000 and len(recalls) >= 5:
            break
        await ask(client, TINY, "anything")
        place = number % layout.groups
        began = time.perf_counter()
        found = await ask(client, layout.group(place), query)
        times_ms.append((time.perf_counter() - began) * 1_000)
        recalls.append(truths[place].recall(row, found))
    return spread(times_ms) | {"recall": float(np.mean(recalls)), "worst": min(recalls)}


async def vectors_of(embedder: LocalEmbedder, facts: int, cache: Path | None) -> Floats:
    """Of the first facts' texts; from the cache where they are there."""
    kept = _kept(cache)
    if len(kept) >= facts:
        return kept[:facts]
    say("embedding ...")
    made = []
    for block in range(-(-facts // BLOCK)):
        rows, _ = await embedder.embed([fact.fact for fact in facts_of("any", block)])
        made.append(rows)
    vectors: Floats = np.concatenate(made)[:facts]
    if cache is not None:
        np.save(cache, vectors)
    return vectors


def _kept(cache: Path | None) -> Floats:
    if cache is None or not cache.exists():
        return np.zeros((0, 0), np.float32)
    kept: Floats = np.load(cache)
    return kept


async def measure_store(
    store: Store,
    settings: dict[str, str],
    embedder: LocalEmbedder,
    options: argparse.Namespace,
    folder: Path,
    found: list[dict[str, Any]],
) -> None:
    """Every layout, both ways."""
    vectors = await vectors_of(embedder, options.facts, options.cache)
    queries = list(itertools.islice(questions(options.facts, 21), options.queries))
    rows, _ = await embedder.embed(queries)
    await Loader(store, TINY, embedder=embedder).to(1)
    settings |= {"models.embedder": "local", "models.local_path": str(options.model), "server.role": "api"}
    for layout in (LAYOUTS[name] for name in options.layouts):
        say(f"{settings['store.kind']}: loading {layout.name} ...")
        await load(store, layout, options.facts, vectors, embedder)
        truths = [truth_of(layout, n, options.facts, vectors) for n in range(layout.groups)]
        for way in options.ways:
            say(f"searching, {way} ...")
            async with (
                Service(settings | WAYS[way], folder, way) as service,
                Client(service.address) as client,
            ):
                figures = await measured(client, layout, truths, queries, rows, options.seconds)
            found.append({"store": settings["store.kind"], "layout": layout.name, "way": way} | figures)


async def measure(options: argparse.Namespace, found: list[dict[str, Any]]) -> None:
    """Every store; what is found is there as far as it came."""
    embedder = LocalEmbedder(options.model)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        if not options.neo4j or options.embedded:
            embedded = await EmbeddedStore.open(folder / "data")
            await embedded.migrate()
            settings = {"store.kind": "embedded", "store.data_dir": str(folder / "data")}
            await measure_store(embedded, settings, embedder, options, folder, found)
            await embedded.close()
        if options.neo4j:
            async with Database(options.neo4j) as database:
                await database.require_empty(options.wipe)
                neo4j = await Neo4jStore.connect(database.uri, "neo4j", database.password)
                await neo4j.migrate()
                await measure_store(neo4j, database.settings, embedder, options, folder, found)
                await neo4j.close()
    await embedder.close()


def table(found: Sequence[Mapping[str, Any]]) -> str:
    """In Markdown."""
    lines = [
        f"| store | facts lie | way | recall@{K} | worst | p50 ms | searches |",
        "|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {each['store']} | {each['layout']} | {each['way']} | {each['recall']:.4f} | {each['worst']:.2f}"
        f" | {each['p50_ms']:.1f} | {each['calls']} |"
        for each in found
    ]
    return "\n".join(lines)


def main() -> None:
    """The command line of this file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--model", type=Path, required=True, help="folder of the model's files")
    parser.add_argument("--cache", type=Path, help="file for the facts' vectors")
    parser.add_argument("--facts", type=int, default=50_000)
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=30.0, help="for the searches of one row")
    parser.add_argument(
        "--neo4j", metavar="URI;PASSWORD", help="an idle server, instead of the embedded store"
    )
    parser.add_argument("--embedded", action="store_true", help="the embedded store too")
    parser.add_argument("--wipe", action="store_true", help="remove what the database holds")
    parser.add_argument("--layouts", choices=list(LAYOUTS), nargs="+", default=list(LAYOUTS))
    parser.add_argument("--ways", choices=list(WAYS), nargs="+", default=list(WAYS))
    parser.add_argument("--out", type=Path, help="also write the figures as JSON")
    options = parser.parse_args()
    results: dict[str, Any] = {"machine": machine(), "recall": []}
    try:
        run(measure(options, results["recall"]))
    finally:
        print(table(results["recall"]))
        keep(results, options.out)


if __name__ == "__main__":
    main()
