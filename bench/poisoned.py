"""Ingestion into many groups, two of which hold an item that the model cannot cope with.

    python -m bench.poisoned [--neo4j "URI;PASSWORD" [--wipe]] [--groups 500] [--each 2] [--delay 0.05]

A scripted model takes so many seconds a call. It says nonsense of one item and refuses another: both are
tried five times and parked. Shown, by turns without and with these: the other items completed a second.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
import uuid
from contextlib import AsyncExitStack
from pathlib import Path

from bench.measuring import keep, machine, run, say
from bench.neo4j_side import Database
from bench.service import idle, metrics
from tests.faults.conversations import employed
from tests.support.client import Client, episode, stream_request
from tests.support.model_process import ModelProcess
from tests.support.service import Service

_AT_MS = 1_717_000_000_000
_PEOPLE = ("Alice", "Bruno", "Carla", "Dmitri", "Elena")
_POISON = ("Babble", "Refusal")
_ROUNDS = 2
_DONE_S = 900.0
_LOOK_S = 0.05
_DONE = "ingestion_processed_total"


async def rate(service: Service, client: Client, groups: int, each: int, poison: tuple[str, ...]) -> float:
    """Of the items that can be read, from the first one sent to the last one completed; the first groups
    begin with the poison."""
    await idle(client, service)
    made, before = uuid.uuid4(), metrics(service).get(_DONE, 0.0)
    about = [
        poison[number] if turn == 0 and number < len(poison) else _PEOPLE[(number + turn) % len(_PEOPLE)]
        for turn in range(each)
        for number in range(groups)
    ]
    sent = [
        stream_request(f"{made}-{place % groups}", episode(f"A note about {name}.", _AT_MS + place // groups))
        for place, name in enumerate(about)
    ]
    readable = len(sent) - len(poison)
    began = time.perf_counter()
    assert len(await client.stream(*sent)) == len(sent)
    async with asyncio.timeout(_DONE_S):
        while metrics(service).get(_DONE, 0.0) - before < readable:  # noqa: ASYNC110 - no signal
            await asyncio.sleep(_LOOK_S)
    return readable / (time.perf_counter() - began)


async def measured(settings: dict[str, str], folder: Path, groups: int, each: int) -> dict[str, list[float]]:
    """On one store."""
    found: dict[str, list[float]] = {"without": [], "with": []}
    async with Service(settings, folder) as service, Client(service.address) as client:
        await rate(service, client, 8, each, ())  # warm
        for _ in range(_ROUNDS):
            found["without"].append(await rate(service, client, groups, each, ()))
            found["with"].append(await rate(service, client, groups, each, _POISON))
    return found


async def measure(options: argparse.Namespace, folder: Path) -> None:
    base = {"server.metrics_listen": "127.0.0.1:0", "logging.level": "error"}
    async with AsyncExitStack() as stack:
        model = await stack.enter_async_context(ModelProcess())
        await model.steer(table={name: employed(name) for name in _PEOPLE}, chat_latency_s=options.delay)
        await model.fault("says", value="no JSON", match="Babble", times=None)
        await model.fault("status", code=400, match="Refusal", times=None)
        stores = {"embedded": {"store.kind": "embedded", "store.data_dir": str(folder / "data")}}
        if options.neo4j:
            database = await stack.enter_async_context(Database(options.neo4j))
            await database.require_empty(options.wipe)
            stores["neo4j"] = database.settings
        results: dict[str, dict[str, list[float]]] = {}
        for store, settings in stores.items():
            own = base | model.settings | settings
            results[store] = await measured(own, folder, options.groups, options.each)
            say(f"{store}: {results[store]}")
    keep({"machine": machine(), "poisoned": results}, options.out)


def main() -> None:
    """The command line of this file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--neo4j", help="URI;PASSWORD of an idle, empty server")
    parser.add_argument("--wipe", action="store_true", help="remove what the database holds")
    parser.add_argument("--groups", type=int, default=500)
    parser.add_argument("--each", type=int, default=2, help="items of each")
    parser.add_argument("--delay", type=float, default=0.05, help="of the model, seconds")
    parser.add_argument("--out", type=Path, help="also write the figures as JSON")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run(measure(options, Path(folder)))


if __name__ == "__main__":
    main()
