"""What rubbish over HTTP costs somebody who searches beside: times alone, and beside a hostile client.

    python -m bench.hostile_http [--rounds 5] [--calls 300] [--pause 0.02] [--facts 1000] [--out FILE]

One server of the embedded store. The hostile client is a process of its own at the lowest priority, as
another machine would be: it sends the requests of the tests one after the other, with a pause between them,
and holds 100 connections that have begun a request and do not go on. The phases take turns.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx

from bench.knowledge import questions
from bench.loading import Loader
from bench.measuring import keep, ratio, run, spread
from kgsvc.stores.embedded import EmbeddedStore
from tests.support.contract import path
from tests.support.hostile_http import exchange, post, requests
from tests.support.service import Service

_GROUP = "quiet"
_SLOW = 100
_PAUSE_S = 0.01  # between two searches


async def attack(address: str, pause_s: float) -> None:
    """Send rubbish until killed."""
    host, _, port = address.rpartition(":")
    begun = [await asyncio.open_connection(host, int(port)) for _ in range(_SLOW)]
    for _, writer in begun:
        writer.write(post(b"{}")[:-1])
    for _, raw in itertools.cycle(requests(random.Random(35))):
        with suppress(ConnectionError, ValueError):
            await exchange(address, raw)
        await asyncio.sleep(pause_s)


@contextmanager
def attacker(address: str, pause_s: float) -> Iterator[None]:
    """A process that attacks."""
    attack = [sys.executable, "-m", "bench.hostile_http", "--attack", address, "--pause", str(pause_s)]
    with subprocess.Popen(["nice", "-n", "19", *attack]) as child:
        try:
            time.sleep(3.0)
            yield
        finally:
            child.kill()


async def measured(http: httpx.AsyncClient, calls: int, queries: list[str]) -> list[float]:
    """What each of so many searches took, in milliseconds."""
    times_ms = []
    for query in itertools.islice(itertools.cycle(queries), calls):
        body = {"input": {"groupIds": [_GROUP], "query": query}}
        began = time.perf_counter()
        (await http.post(path("SearchFacts"), json=body)).raise_for_status()
        times_ms.append((time.perf_counter() - began) * 1_000)
        await asyncio.sleep(_PAUSE_S)
    return times_ms


async def measure(options: argparse.Namespace) -> None:
    """Print the times of both phases and their ratio."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        store = await EmbeddedStore.open(folder / "data")
        await store.migrate()
        await Loader(store, _GROUP, episodes=True).to(options.facts)
        await store.close()
        settings = {
            "store.data_dir": str(folder / "data"),
            "server.http_listen": "127.0.0.1:0",
            "logging.level": "error",
        }
        queries = list(itertools.islice(questions(options.facts), 50))
        times: dict[str, list[float]] = {"alone": [], "beside": []}
        async with (
            Service(settings, folder) as server,
            httpx.AsyncClient(base_url=server.http_url, timeout=60, trust_env=False) as http,
        ):
            await measured(http, 200, queries)
            for _ in range(options.rounds):
                times["alone"] += await measured(http, options.calls, queries)
                with attacker(server.http_url.removeprefix("http://"), options.pause):
                    times["beside"] += await measured(http, options.calls, queries)
    figures = {name: spread(each) for name, each in times.items()}
    figures["ratio"] = {
        key: round(ratio(figures["beside"][key], figures["alone"][key]), 3) for key in ("p50_ms", "p99_ms")
    }
    print(json.dumps(figures, indent=1))
    keep(figures, options.out)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--calls", type=int, default=300)
    parser.add_argument("--pause", type=float, default=0.02, help="seconds between two hostile requests")
    parser.add_argument("--facts", type=int, default=1_000)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--attack", help=argparse.SUPPRESS)
    options = parser.parse_args()
    run(measure(options) if options.attack is None else attack(options.attack, options.pause))


if __name__ == "__main__":
    main()
