"""Throughput over many small groups beside that of one group: streams and unary calls.

    python -m bench.tenants [--neo4j "URI;PASSWORD" [--wipe]] [--groups 1500] [--each 4] [--unary 2000]
        [--delays 0 0.05 1] [--model-items 400]

For each store, with the offline extractor and with a scripted model that takes so many seconds a call: items
acknowledged and completed a second by one stream (one group; so many groups by turns) and by 16 unary callers
(one group; a group an item), and what an item costs: transactions (on the embedded store those that write,
which is an fsync each; on Neo4j all), calls of the store, and CPU of the service.

The database must be empty (--wipe empties it), and is emptied before each table: a server with another
embedder would embed anew what the table before has left.
"""

from __future__ import annotations

import argparse
import asyncio
import struct
import tempfile
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import LiteralString

from neo4j import AsyncGraphDatabase

from bench.corpus import chat
from bench.measuring import cpu_s, keep, machine, run, say
from bench.model_server import Model
from bench.neo4j_side import Database
from bench.planted import corpus
from bench.service import idle, metrics, to_message
from kgsvc.v1 import ingestion_pb2 as ing
from kgsvc.v1 import types_pb2 as typ
from tests.support.client import Client, message, stream_request
from tests.support.service import Service

_CALLERS = 16
_DONE_S = 1_800.0
_LOOK_S = 0.05
_CHANGES = slice(8, 12)  # of SQLite's WAL index: a number that grows with every transaction
_BEGUN: LiteralString = "SHOW TRANSACTIONS YIELD transactionId WHERE transactionId STARTS WITH 'neo4j-'"
Told = Sequence[tuple[str, typ.Message]]  # with the group of each
Send = Callable[[Client, Told], Awaitable[None]]
Transactions = Callable[[], Awaitable[int]]


@dataclass(frozen=True, slots=True)
class Figures:
    """Of one way to send."""

    acknowledged: float  # a second
    completed: float  # a second, from the first item sent
    transactions: float  # an item
    steps: float  # an item: calls of the store
    cpu_ms: float  # an item: of the service


async def by_stream(client: Client, told: Told) -> None:
    """All on one stream."""

    async def requests() -> AsyncIterator[ing.StreamEpisodesRequest]:
        for group, each in told:
            yield stream_request(group, each)

    async for acknowledgement in client.ingestion.StreamEpisodes(requests(), timeout=_DONE_S):
        assert acknowledgement.uuid, acknowledgement.error


async def by_calls(client: Client, told: Told) -> None:
    """One item a call."""
    waiting = list(reversed(told))

    async def caller() -> None:
        while waiting:
            group, each = waiting.pop()
            await client.add_messages(group, [each])

    await asyncio.gather(*(caller() for _ in range(_CALLERS)))


async def measured(
    service: Service, client: Client, transactions: Transactions, send: Send, told: Told
) -> Figures:
    """Send everything to an idle service and wait until it is completed."""
    await idle(client, service)
    before, written, used_s = metrics(service), await transactions(), cpu_s(service.pid)
    began = time.perf_counter()
    await send(client, told)
    acknowledged_s = time.perf_counter() - began
    async with asyncio.timeout(_DONE_S):
        while _grown(service, before, "ingestion_processed_total") < len(told):  # noqa: ASYNC110 - no signal
            await asyncio.sleep(_LOOK_S)
    completed_s = time.perf_counter() - began
    count = len(told)
    return Figures(
        count / acknowledged_s,
        count / completed_s,
        (await transactions() - written) / count,
        _grown(service, before, "kgsvc_store_round_trips_total") / count,
        (cpu_s(service.pid) - used_s) * 1_000 / count,
    )


def _grown(service: Service, before: dict[str, float], name: str) -> float:
    return metrics(service).get(name, 0.0) - before.get(name, 0.0)


def transactions_of(settings: dict[str, str], stack: AsyncExitStack) -> Transactions:
    """How many transactions have written to the store so far; on Neo4j those that have read, too."""
    if settings["store.kind"] == "embedded":
        folder = Path(settings["store.data_dir"])

        async def embedded() -> int:
            (index,) = await asyncio.to_thread(lambda: list(folder.glob("*-shm")))
            return int(struct.unpack("=I", index.read_bytes()[_CHANGES])[0])

        return embedded
    auth = ("neo4j", settings["store.neo4j_password"])
    driver = AsyncGraphDatabase.driver(settings["store.neo4j_uri"], auth=auth)
    stack.push_async_callback(driver.close)

    async def neo4j() -> int:
        records, _, _ = await driver.execute_query(_BEGUN, database_="neo4j")  # this one is among them
        return max(int(record[0].rpartition("-")[2]) for record in records)

    return neo4j


def spread_over(said: Sequence[typ.Message], groups: int) -> Told:
    """By turns to so many new groups."""
    made = uuid.uuid4()
    return [(f"tenants-{made}-{number % groups}", each) for number, each in enumerate(said)]


async def table(
    label: str, settings: dict[str, str], folder: Path, said: Sequence[typ.Message], groups: int, unary: int
) -> dict[str, Figures]:
    """Each way to send, to a server of its own."""
    unary = min(unary, len(said))
    ways: dict[str, tuple[Send, Told]] = {
        "one group, one stream": (by_stream, spread_over(said, 1)),
        f"{groups:,} groups by turns, one stream": (by_stream, spread_over(said, groups)),
        f"one group, {_CALLERS} callers": (by_calls, spread_over(said[:unary], 1)),
        f"{unary:,} groups, {_CALLERS} callers": (by_calls, spread_over(said[:unary], unary)),
    }
    found: dict[str, Figures] = {}
    async with AsyncExitStack() as stack:
        service = await stack.enter_async_context(Service(settings, folder))
        client = await stack.enter_async_context(Client(service.address))
        transactions = transactions_of(settings, stack)
        warm = said[:64]
        await measured(service, client, transactions, by_stream, spread_over(warm, 8))
        for name, (send, told) in ways.items():
            found[name] = await measured(service, client, transactions, send, told)
            say(f"{label}: {name}: {found[name]}")
    return found


def show(label: str, found: dict[str, Figures]) -> None:
    """One table in Markdown."""
    print(
        f"\n| {label} | acknowledged/s | completed/s | transactions an item | calls of the store | CPU ms |"
    )
    print("|---|---|---|---|---|---|")
    for name, each in found.items():
        print(
            f"| {name} | {each.acknowledged:,.0f} | {each.completed:,.0f} | {each.transactions:.2f}"
            f" | {each.steps:.1f} | {each.cpu_ms:.1f} |"
        )


async def measure(options: argparse.Namespace, folder: Path) -> None:
    stores: dict[str, dict[str, str]] = {}
    if not options.only_neo4j:
        stores["embedded"] = {"store.kind": "embedded"}
    results: dict[str, dict[str, Figures]] = {}
    planted = corpus(options.model_items, 7)
    async with AsyncExitStack() as stack:
        if options.neo4j:
            database = await stack.enter_async_context(Database(options.neo4j))
            await database.require_empty(options.wipe)
            stores["neo4j"] = database.settings
        model = await stack.enter_async_context(Model(options.model_items, 7)) if options.delays else None
        for store, of_store in stores.items():
            for delay in (None, *options.delays):
                label = store if delay is None else f"{store}, a model of {delay * 1_000:.0f} ms"
                if store == "neo4j":
                    await database.wipe()
                settings = of_store | {"server.metrics_listen": "127.0.0.1:0", "logging.level": "warning"}
                settings |= {"store.data_dir": str(folder / f"data-{len(results)}")}
                if delay is None or model is None:
                    said = list(map(to_message, chat(options.groups * options.each)))
                    groups, unary = options.groups, options.unary
                else:
                    await model.takes(delay)
                    settings |= model.settings
                    said = [message(line.content, line.at_ms, role=line.role) for line in planted.lines]
                    groups = unary = max(1, len(said) // options.each)
                results[label] = await table(label, settings, folder, said, groups, unary)
                show(label, results[label])
    rows = {label: {name: asdict(each) for name, each in found.items()} for label, found in results.items()}
    keep({"machine": machine(), "tenants": rows}, options.out)


def main() -> None:
    """The command line of this file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--neo4j", help="URI;PASSWORD of an idle, empty server")
    parser.add_argument("--wipe", action="store_true", help="remove what the database holds")
    parser.add_argument("--only-neo4j", action="store_true", help="not the embedded store")
    parser.add_argument("--groups", type=int, default=1_500, help="of the stream")
    parser.add_argument("--each", type=int, default=4, help="items of each")
    parser.add_argument("--unary", type=int, default=2_000, help="groups of the unary calls")
    parser.add_argument("--delays", type=float, nargs="*", default=[0, 0.05, 1], help="of the model, seconds")
    parser.add_argument("--model-items", type=int, default=400)
    parser.add_argument("--out", type=Path, help="also write the figures as JSON")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run(measure(options, Path(folder)))


if __name__ == "__main__":
    main()
