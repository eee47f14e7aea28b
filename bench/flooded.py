"""How long a single item of a group takes beside a group that floods the queue.

    python -m bench.flooded [--neo4j "URI;PASSWORD"] [--flood 20000] [--others 200] [--seconds 20]
        [--delays 0.05]

For each store, with the offline extractor and with a scripted model that takes so many seconds a call: first
what one group alone has completed a second; then a group sends its flood, and once that waits, the others
together send 40 % of that rate, one item a call. Shown: milliseconds from an item's acknowledgement to its
completion, of every fifth, and how much of the flood was left at the end.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
import uuid
from collections.abc import Sequence
from pathlib import Path

from bench.corpus import Line, chat
from bench.measuring import keep, machine, run, say, spread
from bench.model_server import Model
from bench.planted import corpus
from bench.service import end_to_end, idle, metrics, stream, to_message
from tests.support.client import Client
from tests.support.service import Service

_SHARE = 0.4
_WATCHED = 5  # one of so many
_ALONE = 600  # items that tell the rate of one group
_SECOND_MS = 1_000
_BASE = {"server.processes": "0", "server.metrics_listen": "127.0.0.1:0", "logging.level": "warning"}
Figures = dict[str, float]


async def completed_ms(client: Client, group: str, told: Line) -> float:
    """Of one item, from its acknowledgement."""
    accepted = await client.add_messages(group, [to_message(told)])
    began = time.perf_counter()
    await client.wait_receipt(accepted.receipt_id)
    return (time.perf_counter() - began) * 1_000


async def beside(
    client: Client, told: Sequence[Line], groups: int, a_second: float, seconds: float
) -> list[float]:
    """Send so many items a second to these groups by turns; how long those that are watched took."""
    made = uuid.uuid4()
    watched: list[asyncio.Task[float]] = []
    sent: set[asyncio.Task[object]] = set()
    began = time.perf_counter()
    for number in range(int(a_second * seconds)):
        await asyncio.sleep(max(0.0, began + number / a_second - time.perf_counter()))
        group, each = f"{made}-{number % groups}", told[number % len(told)]
        if number % _WATCHED == 0:
            watched.append(asyncio.create_task(completed_ms(client, group, each)))
        else:
            task: asyncio.Task[object] = asyncio.create_task(client.add_messages(group, [to_message(each)]))
            sent.add(task)
            task.add_done_callback(sent.discard)
    await asyncio.gather(*sent)
    return await asyncio.gather(*watched)


async def measured(
    settings: dict[str, str], folder: Path, told: Sequence[Line], options: argparse.Namespace
) -> Figures:
    """On a server of its own."""
    name = str(uuid.uuid4())
    async with Service(_BASE | settings, folder, name) as service, Client(service.address) as client:
        await end_to_end(client, f"warm-{name}", told[:64])
        rate = await end_to_end(client, f"alone-{name}", told[:_ALONE])
        await idle(client, service)
        await stream(client, f"flood-{name}", told[: options.flood])
        say(f"{rate:.0f} a second alone; the flood waits")
        times = await beside(client, told, options.others, _SHARE * rate, options.seconds)
        left = metrics(service).get("kgsvc_queue_unfinished_items", 0.0)
    return {"alone_a_second": rate, "left": left, **spread(times)}


def lines_of_model(count: int, flood: int) -> list[Line]:
    """So many that the scripted model can read: its own over and over, each time a little later."""
    lines = corpus(count, 7).lines
    return [
        Line(line.role, line.content, line.at_ms + number // len(lines) * _SECOND_MS)
        for number in range(flood)
        for line in (lines[number % len(lines)],)
    ]


async def measure(options: argparse.Namespace, folder: Path) -> None:
    stores = {} if options.only_neo4j else {"embedded": {"store.kind": "embedded"}}
    if options.neo4j:
        uri, _, password = options.neo4j.partition(";")
        stores["neo4j"] = {
            "store.kind": "neo4j",
            "store.neo4j_uri": uri,
            "store.neo4j_password": password,
        }
    results: dict[str, Figures] = {}
    for store, settings in stores.items():
        if not options.only_model:
            told = chat(options.flood)
            results[store] = await measured(settings, folder, told, options)
            say(f"{store}: {results[store]}")
        for delay in options.delays:
            label = f"{store}, a model of {delay * 1_000:.0f} ms"
            async with Model(_ALONE, 7) as model:
                await model.takes(delay)
                told = lines_of_model(_ALONE, options.flood)
                results[label] = await measured(settings | model.settings, folder, told, options)
            say(f"{label}: {results[label]}")
    print("| | one group alone, items/s | p50 ms | p95 ms | p99 ms | items | left of the flood |")
    print("|---|---|---|---|---|---|---|")
    for label, each in results.items():
        print(
            f"| {label} | {each['alone_a_second']:.0f} | {each['p50_ms']:.0f} | {each['p95_ms']:.0f}"
            f" | {each['p99_ms']:.0f} | {each['calls']:.0f} | {each['left']:,.0f} |"
        )
    keep({"machine": machine(), "flooded": results}, options.out)


def main() -> None:
    """The command line of this file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--neo4j", help="URI;PASSWORD of an idle server")
    parser.add_argument("--only-neo4j", action="store_true", help="not the embedded store")
    parser.add_argument("--only-model", action="store_true", help="not the offline extractor")
    parser.add_argument("--flood", type=int, default=20_000, help="items of the one group")
    parser.add_argument("--others", type=int, default=200, help="groups beside it")
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--delays", type=float, nargs="*", default=[0.05], help="of the model, seconds")
    parser.add_argument("--out", type=Path, help="also write the figures as JSON")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run(measure(options, Path(folder)))


if __name__ == "__main__":
    main()
