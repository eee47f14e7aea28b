"""What a tenant that calls more often than it may costs its neighbour: the quiet one's searches alone, beside
a neighbour at its rate, and beside one at ten times its rate.

    python -m bench.noisy_tenant [--processes 1 2] [--rate 20] [--calls 600] [--facts 1000]

One server of the embedded store with a token for each tenant. The noisy client is a process of its own at
the lowest priority: in life it is another machine. The phases take turns, three times.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from pathlib import Path

import grpc

from bench.knowledge import questions
from bench.loading import Loader
from bench.measuring import run, spread
from kgsvc.stores.embedded import EmbeddedStore
from kgsvc.v1 import retrieval_pb2 as ret
from kgsvc.v1 import retrieval_pb2_grpc
from tests.support.service import Service

TENANTS = ("quiet", "noisy")
PHASES = {"alone": 0, "at its rate": 1, "at ten times its rate": 10}
_ROUNDS = 3
_PAUSE_S = 0.055  # between two searches of the quiet tenant, which stays below its limit


def token_of(tenant: str, file: Path) -> str:
    """A new one, for the tenant's groups."""
    command = [sys.executable, "-m", "kgsvc", "token", "create", "--write", f"{tenant}/", "--name", tenant]
    return subprocess.run(
        [*command, "--file", str(file)], capture_output=True, check=True, text=True
    ).stdout.split()[-1]


async def search(
    stub: retrieval_pb2_grpc.RetrievalServiceAsyncStub, tenant: str, token: str, query: str
) -> None:
    """Raises grpc.aio.AioRpcError."""
    given = ret.SearchFactsInput(group_ids=[f"{tenant}/one"], query=query, max_facts=10)
    request = ret.SearchFactsRequest(input=given)
    await stub.SearchFacts(request, timeout=30, metadata=[("authorization", f"Bearer {token}")])


async def noise(address: str, token: str, a_second: float) -> None:
    """Search so often until killed; refusals are what is wanted."""
    running: set[asyncio.Task[None]] = set()
    async with grpc.aio.insecure_channel(address) as channel:
        stub = retrieval_pb2_grpc.RetrievalServiceStub(channel)
        began = time.monotonic()
        for number in itertools.count():
            await asyncio.sleep(max(0.0, began + number / a_second - time.monotonic()))
            task = asyncio.create_task(_ignored(search(stub, "noisy", token, "Who works where?")))
            running.add(task)
            task.add_done_callback(running.discard)


async def _ignored(call: Awaitable[None]) -> None:
    with contextlib.suppress(grpc.aio.AioRpcError):
        await call


@contextmanager
def neighbour(address: str, token: str, a_second: float) -> Iterator[None]:
    """The noisy tenant's client, if it calls at all."""
    if not a_second:
        yield
        return
    command = [
        "nice",
        "-n",
        "19",
        sys.executable,
        "-m",
        "bench.noisy_tenant",
        "--noise",
        address,
        token,
        str(a_second),
    ]
    with subprocess.Popen(command) as child:
        try:
            time.sleep(2.0)
            yield
        finally:
            child.kill()


async def measured(address: str, tokens: dict[str, str], calls: int, queries: list[str]) -> list[float]:
    """What each of so many searches of the quiet tenant took, in milliseconds."""
    times_ms = []
    async with grpc.aio.insecure_channel(address) as channel:
        stub = retrieval_pb2_grpc.RetrievalServiceStub(channel)
        for query in itertools.islice(itertools.cycle(queries), calls):
            began = time.perf_counter()
            await search(stub, "quiet", tokens["quiet"], query)
            times_ms.append((time.perf_counter() - began) * 1_000)
            await asyncio.sleep(_PAUSE_S)
    return times_ms


async def beside(processes: int, options: argparse.Namespace, folder: Path) -> None:
    """Print a line for each phase."""
    store = await EmbeddedStore.open(folder / "data")
    await store.migrate()
    for tenant in TENANTS:
        await Loader(store, f"{tenant}/one", episodes=True).to(options.facts)
    await store.close()
    access = folder / "access.toml"
    tokens = {tenant: token_of(tenant, access) for tenant in TENANTS}
    settings = {
        "store.data_dir": str(folder / "data"),
        "access.file": str(access),
        "quotas.token_calls_a_second": str(options.rate),
        "server.processes": str(processes),
        "server.role": "api",
        "logging.level": "warning",
    }
    queries = list(itertools.islice(questions(options.facts), 50))
    times: dict[str, list[float]] = {name: [] for name in PHASES}
    async with Service(settings, folder, "server") as server:
        await measured(server.address, tokens, 100, queries)
        for _ in range(_ROUNDS):
            for name, factor in PHASES.items():
                with neighbour(server.address, tokens["noisy"], factor * options.rate):
                    times[name] += await measured(server.address, tokens, options.calls // _ROUNDS, queries)
    least = spread(times["at its rate"])["p99_ms"]
    for name, each in times.items():
        figures = spread(each)
        print(
            f"processes {processes}, {name}: p50 {figures['p50_ms']:.1f}, p99 {figures['p99_ms']:.1f} ms,"
            f" {figures['p99_ms'] / least:.2f} times that beside a neighbour at its rate"
        )


async def measure(options: argparse.Namespace) -> None:
    for processes in options.processes:
        with tempfile.TemporaryDirectory() as folder:
            await beside(processes, options, Path(folder))


def main() -> None:
    """The command line of this file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rate", type=int, default=20, help="calls a second that a token may make")
    parser.add_argument("--calls", type=int, default=600, help="searches of the quiet tenant in each phase")
    parser.add_argument("--facts", type=int, default=1_000, help="of each tenant")
    parser.add_argument("--noise", nargs=3, metavar=("ADDRESS", "TOKEN", "RATE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.noise:
        address, token, a_second = options.noise
        asyncio.run(noise(address, token, float(a_second)))
    run(measure(options))


if __name__ == "__main__":
    main()
