"""First figures of the whole service, through gRPC, a server in a process of its own.

    python -m bench.service [--neo4j URI;PASSWORD] [--scale SHARE] [--out FILE]

For each store: acknowledgements a second by unary calls and by stream, episodes a second end to end with the
offline extractor, time from acceptance to visibility, search latency at two sizes, and the store round trips
and model calls of an episode, which do not depend on the machine.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
import time
import urllib.request
import uuid
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from bench.corpus import Line, chat, questions
from bench.measuring import quantile
from kgsvc.v1 import ingestion_pb2 as ing
from kgsvc.v1 import types_pb2 as typ
from tests.support.client import Client, message, stream_request
from tests.support.service import Service

_UNARY_AT_ONCE = 16
_STREAMS = 4
_DONE_S = 900.0
_LOOK_S = 0.05
_UNFINISHED = (
    typ.ITEM_STATE_ACCEPTED,
    typ.ITEM_STATE_EXTRACTED,
    typ.ITEM_STATE_EMBEDDED,
    typ.ITEM_STATE_UPSERTED,
    typ.ITEM_STATE_EXTRACT_FAILED,
    typ.ITEM_STATE_EMBED_FAILED,
    typ.ITEM_STATE_UPSERT_FAILED,
)
Figures = dict[str, float]


def to_message(line: Line) -> typ.Message:
    """A line as the contract's message."""
    return message(line.content, line.at_ms, role=line.role)


async def unary_acks(client: Client, lines: Sequence[Line]) -> float:
    """Single-item AddMessages calls answered a second."""
    group = f"unary-{uuid.uuid4()}"
    waiting = list(lines)

    async def caller() -> None:
        while waiting:
            await client.add_messages(group, [to_message(waiting.pop())])

    began = time.perf_counter()
    await asyncio.gather(*(caller() for _ in range(_UNARY_AT_ONCE)))
    return len(lines) / (time.perf_counter() - began)


async def stream(client: Client, group: str, lines: Sequence[Line]) -> None:
    """Send `lines` on one stream and read every acknowledgement."""

    async def requests() -> AsyncIterator[ing.StreamEpisodesRequest]:
        for line in lines:
            yield stream_request(group, to_message(line))

    count = 0
    async for acknowledgement in client.ingestion.StreamEpisodes(requests(), timeout=_DONE_S):
        assert acknowledgement.uuid, acknowledgement.error
        count += 1
    assert count == len(lines)


async def stream_acks(client: Client, lines: Sequence[Line], streams: int) -> float:
    """Items acknowledged a second over so many streams, each to a group of its own."""
    parts = [lines[index::streams] for index in range(streams)]
    began = time.perf_counter()
    await asyncio.gather(*(stream(client, f"acks-{uuid.uuid4()}", part) for part in parts))
    return len(lines) / (time.perf_counter() - began)


async def idle(client: Client, service: Service) -> None:
    """Wait until nothing is unfinished."""
    deadline = time.perf_counter() + _DONE_S
    steady = 0
    while steady < 3:
        if time.perf_counter() > deadline:
            raise TimeoutError("items stay unfinished")
        steady = steady + 1 if metrics(service).get("kgsvc_queue_unfinished_items", 1.0) == 0 else 0
        await asyncio.sleep(0.6)


async def end_to_end(client: Client, group: str, lines: Sequence[Line]) -> float:
    """Episodes a second, from the first sent to the last completed."""
    began = time.perf_counter()
    await stream(client, group, lines)
    await finished(client, group)
    return len(lines) / (time.perf_counter() - began)


async def finished(client: Client, group: str) -> None:
    """Wait until nothing of the group is on its way. AssertionError: an item is parked."""
    while await unfinished(client, group):  # noqa: ASYNC110 - no signal
        await asyncio.sleep(_LOOK_S)
    assert not await client.list_items(group, typ.ITEM_STATE_PARKED), "some items are parked"


async def unfinished(client: Client, group: str) -> bool:
    """Whether something of the group is on its way."""
    given = ing.ListItemsInput(group_id=group, states=_UNFINISHED, page_size=1)
    request = ing.ListItemsRequest(input=given)
    return bool((await client.ingestion.ListItems(request, timeout=30)).output.items)


async def visible_ms(client: Client, group: str, lines: Sequence[Line]) -> float:
    """p95 of the milliseconds from an acknowledgement to the item's completion, one at a time."""
    times: list[float] = []
    for line in lines:
        accepted = await client.add_messages(group, [to_message(line)])
        began = time.perf_counter()
        await client.wait_receipt(accepted.receipt_id)
        times.append((time.perf_counter() - began) * 1_000)
    return quantile(times, 0.95)


async def search_ms(client: Client, group: str, asked: Sequence[str]) -> tuple[float, float]:
    """p50 and p99 of SearchFacts at the caller, warm, one at a time."""
    for query in asked[:20]:
        await client.search(group, query)
    times: list[float] = []
    for query in asked:
        began = time.perf_counter()
        await client.search(group, query)
        times.append((time.perf_counter() - began) * 1_000)
    return quantile(times, 0.5), quantile(times, 0.99)


def metrics(service: Service) -> Figures:
    """Sums of the server's metrics by name."""
    address = service.metrics_address
    found: Figures = {}
    with urllib.request.urlopen(f"http://{address}/metrics", timeout=10) as page:
        for line in page.read().decode().splitlines():
            if not line.startswith("#"):
                name, _, value = line.rpartition(" ")
                name = name.partition("{")[0]
                found[name] = found.get(name, 0.0) + float(value)
    return found


async def accepting_alone(settings: dict[str, str], folder: Path, lines: Sequence[Line]) -> float:
    """Acknowledgements a second by several streams where no worker shares the process."""
    alone = settings | {"server.role": "api", "store.data_dir": str(folder / "api")}
    async with Service(alone, folder, "api") as service, Client(service.address) as client:
        return await stream_acks(client, lines, _STREAMS)


async def measure(settings: dict[str, str], folder: Path, scale: float) -> Figures:
    """Every figure of one store."""
    figures: Figures = {}
    lines = chat(int(12_000 * scale))
    third = len(lines) // 6
    if settings["store.kind"] == "embedded":  # on a Neo4j its backlog would be worked on in what follows
        figures["stream acks/s, role api"] = await accepting_alone(settings, folder, lines[:third])
    async with Service(settings, folder) as service, Client(service.address) as client:
        figures["unary acks/s"] = await unary_acks(client, lines[:third])
        await idle(client, service)
        figures["stream acks/s, 1 stream"] = await stream_acks(client, lines[:third], 1)
        await idle(client, service)
        figures[f"stream acks/s, {_STREAMS} streams"] = await stream_acks(client, lines[:third], _STREAMS)
        await idle(client, service)
        before = metrics(service)
        group = f"bench-{uuid.uuid4()}"
        small = int(500 * scale)
        await end_to_end(client, group, lines[:small])
        figures["search p50 ms, small"], figures["search p99 ms, small"] = await search_ms(
            client, group, questions(200)
        )
        rest = lines[small : small + int(4_500 * scale)]
        figures["episodes/s end to end"] = await end_to_end(client, group, rest)
        after = metrics(service)
        count = small + len(rest)
        trips = after["kgsvc_store_round_trips_total"] - before["kgsvc_store_round_trips_total"]
        figures["store steps per episode"] = trips / count
        figures["model calls per episode"] = after.get("kgsvc_model_calls_total", 0.0) / count
        figures["search p50 ms, large"], figures["search p99 ms, large"] = await search_ms(
            client, group, questions(300)
        )
        figures["visible p95 ms"] = await visible_ms(client, group, lines[-int(100 * scale) :])
    return figures


def stores(options: argparse.Namespace, folder: Path) -> dict[str, dict[str, str]]:
    """Settings of each store to measure, by label."""
    found = {"embedded": {"store.kind": "embedded", "store.data_dir": str(folder / "data")}}
    for number, address in enumerate(options.neo4j):
        uri, _, password = address.partition(";")
        found[f"neo4j {number}" if number else "neo4j"] = {
            "store.kind": "neo4j",
            "store.neo4j_uri": uri,
            "store.neo4j_password": password,
        }
    return found


def main() -> None:
    """The command line of this file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--neo4j", action="append", default=[], help="URI;PASSWORD of an idle server")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the full corpus")
    parser.add_argument("--out", type=Path, help="also write the figures as JSON")
    options = parser.parse_args()
    results: dict[str, Figures] = {}
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        for label, settings in stores(options, folder).items():
            settings |= {"server.metrics_listen": "127.0.0.1:0"}
            results[label] = asyncio.run(measure(settings, folder, options.scale))
    labels = list(results)
    print("| figure | " + " | ".join(labels) + " |\n|---|" + "---|" * len(labels))
    for name in results[labels[0]]:
        print(f"| {name} | " + " | ".join(f"{results[label][name]:,.2f}" for label in labels) + " |")
    if options.out:
        options.out.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
