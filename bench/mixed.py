"""Searches beside ingestion: two writers and two readers over fifty groups, by one process and by two.

    python -m bench.mixed [--neo4j "URI;PASSWORD"] [--rate 130] [--seconds 300] [--processes 1 2]
        [--index-mib 512]

The writers send so many items a second together, one item a call; the readers search without a pause, as they
do before it begins ("idle"). Shown: latency of SearchFacts in the first and in the last third, milliseconds
from an item's acknowledgement to its completion, how many items were left at the end, and the memory of all
processes at the end of each tenth of the time (a page that several share is counted once).
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import re
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from bench.asking import search_facts
from bench.corpus import Line, chat, questions
from bench.flooded import completed_ms
from bench.measuring import family, keep, machine, run, say, spread
from bench.service import to_message, unfinished
from tests.support.client import Client
from tests.support.service import Service

_GROUPS = 50
_WRITERS = 2
_READERS = 2
_IDLE_S = 5.0
_WATCHED = 10  # one of so many
_EACH = 20  # items of a group before it begins
_TENTHS = 10
_PSS = re.compile(r"^Pss: +(\d+) kB", re.MULTILINE)
Figures = dict[str, float]


def memory_mib(pid: int) -> float:
    """Of a process and its children (Linux: proportional set size)."""
    texts = [Path(f"/proc/{each}/smaps_rollup").read_text() for each in family(pid)]
    return sum(int(kib) for text in texts for kib in _PSS.findall(text)) / 1024


async def remembered(pid: int, seconds: float) -> list[float]:
    """MiB at the end of each tenth of the time."""
    found: list[float] = []
    for _ in range(_TENTHS):
        await asyncio.sleep(seconds / _TENTHS)
        found.append(memory_mib(pid))
    return found


async def searching(client: Client, ends_s: float) -> list[float]:
    """One search after the other, of each group by turns; what each took, in milliseconds."""
    took: list[float] = []
    asked = itertools.cycle(questions(100))
    asks = itertools.cycle([search_facts(client, _group(number)) for number in range(_GROUPS)])
    while (began := time.perf_counter()) < ends_s:
        await next(asks)(next(asked))
        took.append((time.perf_counter() - began) * 1_000)
    return took


async def writing(client: Client, told: Iterator[Line], a_second: float, ends_s: float) -> list[float]:
    """One item a call, at a rate; how long those that are watched took until they were completed."""
    watched: list[asyncio.Task[float]] = []
    began = time.perf_counter()
    for number in itertools.count():
        await asyncio.sleep(max(0.0, began + number / a_second - time.perf_counter()))
        if time.perf_counter() >= ends_s:
            return await asyncio.gather(*watched)
        group, each = _group(number), next(told)
        if number % _WATCHED == 0:
            watched.append(asyncio.create_task(completed_ms(client, group, each)))
        else:
            await client.add_messages(group, [to_message(each)])
    raise AssertionError


def _group(number: int) -> str:
    return f"mixed-{number % _GROUPS}"


async def mixed(settings: dict[str, str], folder: Path, rate: float, seconds: float) -> Figures:
    """One layout."""
    lines = iter(chat(_GROUPS * _EACH + int(2 * rate * seconds)))
    async with Service(settings, folder) as service:
        clients = [Client(service.address) for _ in range(_WRITERS + _READERS)]
        for client in clients:
            await client.__aenter__()
        try:
            for number in range(_GROUPS):
                first = list(map(to_message, itertools.islice(lines, _EACH)))
                await clients[0].stream_episodes(_group(number), first)
            while any([await unfinished(clients[0], _group(n)) for n in range(_GROUPS)]):  # noqa: ASYNC110
                await asyncio.sleep(0.2)
            idle = await _together(clients[_WRITERS:], time.perf_counter() + _IDLE_S)
            ends_s = time.perf_counter() + seconds
            writes = [
                asyncio.create_task(writing(client, lines, rate / _WRITERS, ends_s))
                for client in clients[:_WRITERS]
            ]
            memory = asyncio.create_task(remembered(service.pid, seconds))
            loaded = await _together(clients[_WRITERS:], ends_s)
            left = sum([await unfinished(clients[0], _group(n)) for n in range(_GROUPS)])
            visible = [each for write in writes for each in await write]
            used_mib = await memory
        finally:
            for client in clients:
                await client.__aexit__(None, None, None)
    third = len(loaded) // 3
    return {
        **_named("idle", idle),
        **_named("first third", loaded[:third]),
        **_named("last third", loaded[-third:]),
        **_named("completed", visible),
        "left": left,
        **{f"MiB after {tenth}/{_TENTHS}": mib for tenth, mib in enumerate(used_mib, 1)},
    }


async def _together(readers: list[Client], ends_s: float) -> list[float]:
    """In about the order of time."""
    found = await asyncio.gather(*(searching(client, ends_s) for client in readers))
    return [each for turn in itertools.zip_longest(*found) for each in turn if each is not None]


def _named(name: str, times_ms: list[float]) -> Figures:
    return {f"{name} {key}": value for key, value in spread(times_ms).items()}


async def measure(options: argparse.Namespace, folder: Path) -> None:
    stores: dict[str, dict[str, str]] = {"embedded": {"store.kind": "embedded"}}
    if options.neo4j:
        uri, _, password = options.neo4j.partition(";")
        stores["neo4j"] = {"store.kind": "neo4j", "store.neo4j_uri": uri, "store.neo4j_password": password}
    found: dict[str, Figures] = {}
    for store, of_store in stores.items():
        for count in options.processes:
            label = f"{store}, {count} processes"
            settings = of_store | {
                "server.processes": str(count),
                "store.data_dir": str(folder / f"{store}-{count}"),
                "logging.level": "warning",
                "retrieval.index_bytes": str(options.index_mib * 1024 * 1024),
            }
            found[label] = await mixed(settings, folder, options.rate, options.seconds)
            say(f"{label}: " + ", ".join(f"{name} {value:.1f}" for name, value in found[label].items()))
    keep({"machine": machine(), "mixed": found}, options.out)


def main() -> None:
    """The command line of this file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--neo4j", help="URI;PASSWORD of an idle server")
    parser.add_argument("--rate", type=float, default=130, help="items a second, of both writers")
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--index-mib", type=int, default=512, help="retrieval.index_bytes")
    parser.add_argument("--out", type=Path, help="also write the figures as JSON")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run(measure(options, Path(folder)))


if __name__ == "__main__":
    main()
