"""What followers of quiet groups cost: CPU of a server with 100 followers beside the same server without any.

    python -m bench.following [--neo4j URI;PASSWORD] [--followers 100] [--rounds 4] [--seconds 15]

Each follower has a group of its own with two facts, and has been told everything; nothing is written to these
groups. In turns without followers and with them, at rest, then while another group is written to.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median

from kgsvc_client import aio

from bench.measuring import cpu_s, family, run, say
from bench.service import finished, stores
from tests.support.client import Client, message
from tests.support.service import Service

_TOLD = ("Ada works at Acme.", "Ada lives in Berlin.")
_AT_MS = 1_760_000_000_000
_CURRENT_S = 60.0
_SETTLE_S = 1.0
_WRITES_A_SECOND = 20
Others = Callable[[float], Awaitable[object]]


@asynccontextmanager
async def following(client: aio.Client, groups: list[str]) -> AsyncIterator[None]:
    """A follower of each group, all of which have been told what there is."""
    current = [asyncio.Event() for _ in groups]

    async def follow(group: str, told: asyncio.Event) -> None:
        async for changes in client.group(group).follow():
            if changes.current:
                told.set()

    tasks = [asyncio.create_task(follow(*each)) for each in zip(groups, current, strict=True)]
    try:
        async with asyncio.timeout(_CURRENT_S):
            await asyncio.gather(*(each.wait() for each in current))
        await asyncio.sleep(_SETTLE_S)
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(_SETTLE_S)


def busy(client: Client) -> Others:
    """Messages to another group, so many a second."""

    async def write(seconds: float) -> None:
        began = time.perf_counter()
        for number in range(int(_WRITES_A_SECOND * seconds)):
            await asyncio.sleep(max(0.0, began + number / _WRITES_A_SECOND - time.perf_counter()))
            told = message(f"Bob met Person {number} of {began}.", _AT_MS + number, role="Bob")
            await client.add_messages("busy", [told])
        await asyncio.sleep(max(0.0, began + seconds - time.perf_counter()))

    return write


async def share(service: Service, others: Others, seconds: float) -> float:
    """Of a core, in per cent, that the server uses meanwhile."""
    pids, began = family(service.pid), time.perf_counter()
    before = sum(map(cpu_s, pids))
    await others(seconds)
    return (sum(map(cpu_s, pids)) - before) / (time.perf_counter() - began) * 100


async def measured(settings: dict[str, str], folder: Path, options: argparse.Namespace) -> None:
    """Print a line for rest and one for writes to another group."""
    async with (
        Service(settings, folder) as service,
        Client(service.address) as client,
        aio.Client(service.address) as follower,
    ):
        groups = [f"quiet-{number}" for number in range(options.followers)]
        for group in groups:
            told = [message(text, _AT_MS + n, role="Ada") for n, text in enumerate(_TOLD)]
            await client.add_messages(group, told)
        for group in groups:
            await finished(client, group)
        for label, others in (("at rest", asyncio.sleep), ("beside writes", busy(client))):
            pairs = []
            for _ in range(options.rounds):
                alone = await share(service, others, options.seconds)
                async with following(follower, groups):
                    pairs.append((alone, await share(service, others, options.seconds)))
                say(f"{label}: {pairs[-1][0]:.2f} % of a core, with followers {pairs[-1][1]:.2f} %")
            more = median(with_them - alone for alone, with_them in pairs)
            found = [median(each) for each in zip(*pairs, strict=True)]
            print(f"| {settings['store.kind']}, {label} | {found[0]:.2f} | {found[1]:.2f} | {more:+.2f} |")


async def measure(options: argparse.Namespace, folder: Path) -> None:
    print("| % of a core | without followers | with | more |\n|---|---|---|---|")
    for settings in stores(options, folder).values():
        await measured(settings | {"logging.level": "warning"}, folder, options)


def main() -> None:
    """The command line of this file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--neo4j", action="append", default=[], help="URI;PASSWORD of an idle server")
    parser.add_argument("--followers", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=15.0, help="of a measurement")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run(measure(options, Path(folder)))


if __name__ == "__main__":
    main()
