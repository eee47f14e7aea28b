"""Graphiti in a process of its own, told what to do by lines of JSON, so that its CPU can be counted.

    {"do": "ingest", "group": ..., "first": 0, "count": 5}         episodes of the planted corpus, one by one
    {"do": "search", "group": ..., "queries": [...]}               one after the other
    {"do": "flood", "group": ..., "queries": [...], "at_once": 16}  with so many in flight

Answers a line of JSON each: `seconds`, the `times_ms` of the calls, the seconds of CPU of this process, how
many facts were `found`. Ends with its standard input.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import resource
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from types import TracebackType
from typing import Any

from tests.support.service import environment
from tests.support.spawning import REPOSITORY

Answer = dict[str, Any]
_RESULTS = 10


class GraphitiProcess:
    """That process, as an async context manager."""

    def __init__(
        self, uri: str, password: str, base_url: str, embedder: str, episodes: int, seed: int
    ) -> None:
        given = {"uri": uri, "base-url": base_url, "embedder": embedder, "episodes": episodes, "seed": seed}
        self._options = [part for name, value in given.items() for part in (f"--{name}", str(value))]
        self._password = password
        self._process: asyncio.subprocess.Process | None = None

    async def ingest(self, group: str, first: int, count: int) -> Answer:
        """See above."""
        return await self._ask(do="ingest", group=group, first=first, count=count)

    async def search(self, group: str, queries: Sequence[str]) -> Answer:
        """See above."""
        return await self._ask(do="search", group=group, queries=queries)

    async def flood(self, group: str, queries: Sequence[str], at_once: int) -> Answer:
        """See above."""
        return await self._ask(do="flood", group=group, queries=queries, at_once=at_once)

    async def _ask(self, **order: Any) -> Answer:
        assert self._process is not None
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(order).encode() + b"\n")
        line = await self._process.stdout.readline()
        if not line:
            raise RuntimeError("Graphiti's process ended; see what it printed")
        answer: Answer = json.loads(line)
        return answer

    async def __aenter__(self) -> GraphitiProcess:
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "bench.graphiti_process",
            *self._options,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=REPOSITORY,
            env=environment({}) | {"NEO4J_PASSWORD": self._password},
            limit=16 * 1024 * 1024,
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None and self._process.returncode is None:
            assert self._process.stdin is not None
            self._process.stdin.close()
            await self._process.wait()


Call = Callable[[Any], Awaitable[int]]  # one search or episode; how many facts came of it


async def measured(call: Call, inputs: Sequence[Any], at_once: int = 1) -> Answer:
    """All calls, so many in flight."""
    waiting = list(reversed(inputs))
    times_ms: list[float] = []
    found = 0

    async def caller() -> None:
        nonlocal found
        while waiting:
            began = time.perf_counter()
            found += await call(waiting.pop())
            times_ms.append((time.perf_counter() - began) * 1_000)

    began, before = time.perf_counter(), _cpu_s()
    await asyncio.gather(*(caller() for _ in range(at_once)))
    seconds = time.perf_counter() - began
    return {"seconds": seconds, "times_ms": times_ms, "cpu_s": _cpu_s() - before, "found": found}


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


async def serve(uri: str, password: str, base_url: str, embedder: str, episodes: int, seed: int) -> None:
    """Do what the lines of standard input ask."""
    from graphiti_core.nodes import EpisodeType

    from bench.graphiti_side import graphiti_on
    from bench.planted import corpus

    logging.getLogger("graphiti_core").setLevel(logging.CRITICAL)  # complains of indexes that are there
    lines = corpus(episodes, seed).lines
    graphiti = graphiti_on(uri, password, base_url, embedder)
    await graphiti.build_indices_and_constraints()

    async def obey(order: Answer) -> Answer:
        group = order["group"]

        async def search(query: str) -> int:
            return len(await graphiti.search(query, group_ids=[group], num_results=_RESULTS))

        async def ingest(number: int) -> int:
            line = lines[number]
            added = await graphiti.add_episode(
                f"message {number}", line.body, "chat", line.at, EpisodeType.message, group
            )
            return len(added.edges)

        if order["do"] == "ingest":
            return await measured(ingest, range(order["first"], order["first"] + order["count"]))
        return await measured(search, order["queries"], order.get("at_once", 1))

    try:
        while line := await asyncio.to_thread(sys.stdin.readline):
            print(json.dumps(await obey(json.loads(line))), flush=True)
    finally:
        await graphiti.close()  # type: ignore[no-untyped-call]


def main() -> None:
    """The command line of this file; the password is in NEO4J_PASSWORD."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--uri", required=True)
    parser.add_argument("--base-url", required=True, help="of the model server")
    parser.add_argument("--embedder", choices=["offline", "http"], required=True)
    parser.add_argument("--episodes", type=int, required=True)
    parser.add_argument("--seed", type=int, required=True)
    options = parser.parse_args()
    password = os.environ["NEO4J_PASSWORD"]
    asyncio.run(
        serve(options.uri, password, options.base_url, options.embedder, options.episodes, options.seed)
    )


if __name__ == "__main__":
    main()
