"""What a graph costs in model calls, and what it is worth: kgsvc and Graphiti on one planted corpus.

    python -m bench.model_cost --neo4j "URI;PASSWORD" [--episodes 100] [--seed 7] [--out FILE]

One run, one Neo4j (idle; each program has a group of its own), one scripted model that reads without a
mistake (bench/perfect_reader.py), one embedder (hashed words). Graphiti takes the episodes one by one; kgsvc
takes them from one stream, and in another group one by one, each awaited: its dearest case. Graphiti speaks
through its client for OpenAI-compatible servers, without entity types, each episode with its last ten before.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import uuid
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from neo4j import AsyncGraphDatabase

from bench.graphiti_side import graphiti_ingests
from bench.perfect_reader import Call, PerfectReader
from bench.planted import Corpus, Line, corpus
from bench.planted_check import Finding, compare
from kgsvc.v1 import types_pb2 as typ
from tests.support.client import Client, is_completed, message
from tests.support.scripted_openai import ScriptedOpenAI
from tests.support.service import Service

GRAPHITI, STREAM, SINGLE = "Graphiti, one by one", "kgsvc, one stream", "kgsvc, one by one"
Costs = dict[str, dict[str, dict[str, float]]]
_DONE_S = 900.0
_LOOK_S = 0.1
_SHOWN = 5  # surprises


async def kgsvc_ingests(client: Client, group: str, lines: Sequence[Line], streaming: bool) -> None:
    """All lines, until they are completed. Raises AssertionError where one is not."""
    said = [message(line.content, line.at_ms, role=line.role) for line in lines]
    if not streaming:
        for each in said:
            await client.say(group, [each])
        return
    await client.stream_episodes(group, said)
    unfinished = [state for state in typ.ItemState.values() if 0 < state < typ.ITEM_STATE_COMPLETED]
    async with asyncio.timeout(_DONE_S):
        while await client.list_items(group, *unfinished):  # noqa: ASYNC110 - no signal
            await asyncio.sleep(_LOOK_S)
    done = [item for item in await client.list_items(group) if is_completed(item)]
    assert len(done) == len(lines), "some items are not completed"


async def measure(
    uri: str, password: str, planted: Corpus, reader: PerfectReader, folder: Path
) -> dict[str, Finding]:
    """What the graph of each run holds; the reader has noted its calls."""
    groups = {phase: f"cost-{uuid.uuid4()}" for phase in (GRAPHITI, STREAM, SINGLE)}
    settings = {
        "store.kind": "neo4j",
        "store.neo4j_uri": uri,
        "store.neo4j_password": password,
        "models.extractor": "openai",
    }
    async with (
        ScriptedOpenAI(reader) as model,
        AsyncGraphDatabase.driver(uri, auth=("neo4j", password)) as driver,
    ):
        settings["openai.base_url"] = model.base_url
        reader.phase = GRAPHITI
        print(f"{GRAPHITI} ...", file=sys.stderr)
        await graphiti_ingests(uri, password, model.base_url, groups[GRAPHITI], planted.lines)
        async with Service(settings, folder) as service, Client(service.address) as client:
            for phase in (STREAM, SINGLE):
                reader.phase = phase
                print(f"{phase} ...", file=sys.stderr)
                await kgsvc_ingests(client, groups[phase], planted.lines, phase is STREAM)
        return {phase: await compare(driver, group, planted) for phase, group in groups.items()}


def costs(calls: Sequence[Call], episodes: int) -> dict[str, dict[str, dict[str, float]]]:
    """By run and kind of call ("all": together): calls, and tokens, an episode."""
    found: dict[str, dict[str, dict[str, float]]] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(float))
    )
    for call in calls:
        for kind in ("all", call.kind):
            entry = found[call.phase][kind]
            entry["calls"] += 1 / episodes
            entry["prompt"] += call.prompt / episodes
            entry["completion"] += call.completion / episodes
            entry["schema"] += call.schema / episodes
    return found


def tables(spent: Costs, graphs: dict[str, Finding]) -> str:
    """Both comparisons in Markdown."""
    lines = [
        "| run | kind of call | calls an episode | prompt tokens | completion tokens | schema tokens |",
        "|---|---|---|---|---|---|",
    ]
    for phase, kinds in spent.items():
        for kind, entry in kinds.items():
            shown = f"**{kind}**" if kind == "all" else kind
            lines.append(
                f"| {phase} | {shown} | {entry['calls']:.2f} | {entry['prompt']:,.0f}"
                f" | {entry['completion']:,.0f} | {entry['schema']:,.0f} |"
            )
    lines += ["", "| the graph | " + " | ".join(graphs) + " |", "|---|" + "---|" * len(graphs)]
    for name in next(iter(graphs.values())).counts:
        lines.append(f"| {name} | " + " | ".join(f"{each.counts[name]:,}" for each in graphs.values()) + " |")
    return "\n".join(lines)


def main() -> None:
    """The command line of this file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--neo4j", required=True, help="URI;PASSWORD of an idle server")
    parser.add_argument("--episodes", type=int, default=100)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--out", type=Path, help="JSON: the figures, and what is wrong in each graph")
    options = parser.parse_args()
    uri, _, password = options.neo4j.partition(";")
    planted = corpus(options.episodes, options.seed)
    reader = PerfectReader(planted)
    try:
        with tempfile.TemporaryDirectory() as folder:
            graphs = asyncio.run(measure(uri, password, planted, reader, Path(folder)))
    finally:
        for surprise in reader.surprises[:_SHOWN]:
            print(f"not understood: {surprise}", file=sys.stderr)
    spent = costs(reader.calls, options.episodes)
    print(tables(spent, graphs))
    if options.out:
        found = {phase: asdict(graph) for phase, graph in graphs.items()}
        options.out.write_text(json.dumps({"costs": spent, "graphs": found}, indent=1) + "\n")
    sys.exit(1 if reader.surprises else 0)


if __name__ == "__main__":
    main()
