"""What every benchmark counts with: quantiles, ratios, recall, and what a process has used."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import signal
import sys
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")
Ask = Callable[[str], Awaitable[object]]
Block = Callable[[int], Awaitable[Sequence[float]]]  # so many calls; what each took, in milliseconds
_TICK = os.sysconf("SC_CLK_TCK")
_MIB = 1024 * 1024
_BEGAN = time.perf_counter()


def quantile(values: Sequence[float], share: float) -> float:
    """The smallest value that `share` of the values do not exceed. ValueError: no values."""
    if not values:
        raise ValueError("a quantile of nothing")
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def spread(times_ms: Sequence[float]) -> dict[str, float]:
    """How long calls took: p50, p95, p99 in milliseconds, and how many they were."""
    shares = {"p50_ms": 0.5, "p95_ms": 0.95, "p99_ms": 0.99}
    return {name: quantile(times_ms, share) for name, share in shares.items()} | {"calls": len(times_ms)}


def ratio(more: float, less: float) -> float:
    """How many times `less` goes into `more`; infinite where `less` is 0."""
    return more / less if less else float("inf")


@dataclass(slots=True)
class Clocked:
    """Times of calls with a budget: `calls` of them, none begun after `seconds`, but `least` in any case."""

    calls: int
    seconds: float
    least: int = 3
    times_ms: list[float] = field(default_factory=list)

    @property
    def spent(self) -> bool:
        """Whether the budget is used up."""
        done = len(self.times_ms)
        return done >= self.calls or (done >= self.least and sum(self.times_ms) >= self.seconds * 1_000)


async def interleaved(sides: Sequence[tuple[Block, Clocked]], block: int) -> None:
    """Blocks of calls of each side in turn, until every budget is used up."""
    while not all(clocked.spent for _, clocked in sides):
        for run, clocked in sides:
            if not clocked.spent:
                clocked.times_ms.extend(await run(min(block, clocked.calls - len(clocked.times_ms))))


def one_by_one(
    call: Ask, queries: Iterator[str], before: Callable[[], Awaitable[object]] | None = None
) -> Block:
    """Calls one after the other; what is done `before` each is not counted."""

    async def run(count: int) -> list[float]:
        times_ms = []
        for query in itertools.islice(queries, count):
            if before is not None:
                await before()
            began = time.perf_counter()
            await call(query)
            times_ms.append((time.perf_counter() - began) * 1_000)
        return times_ms

    return run


async def flooded(
    calls: Sequence[Callable[[T], Awaitable[object]]], inputs: Iterator[T], seconds: float
) -> tuple[int, float]:
    """Each call is made again and again, all at once, until `inputs` or `seconds` are used up; how many
    were answered, and the seconds until the last answer."""
    answered = 0
    began = time.perf_counter()

    async def caller(call: Callable[[T], Awaitable[object]]) -> None:
        nonlocal answered
        while time.perf_counter() - began < seconds:
            given = next(inputs, None)
            if given is None:
                break
            await call(given)
            answered += 1

    await asyncio.gather(*map(caller, calls))
    return answered, time.perf_counter() - began


def cpu_s(pid: int) -> float:
    """Seconds of CPU that a process has used, in user and system mode (Linux)."""
    after_name = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(after_name[11]) + int(after_name[12])) / _TICK


def family(pid: int) -> list[int]:
    """A process and those that it and they have started (Linux)."""
    found = [pid]
    for each in found:
        for task in Path(f"/proc/{each}/task").iterdir():
            found += map(int, (task / "children").read_text().split())
    return found


def resident_mib(pid: int) -> float:
    """Memory of a process that is in RAM now (Linux)."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / _MIB


def folder_mib(folder: Path) -> float:
    """Size of all files below a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / _MIB


def say(text: str) -> None:
    """Progress, with the seconds since the start."""
    print(f"{time.perf_counter() - _BEGAN:6.0f} s  {text}", file=sys.stderr, flush=True)


def run(main: Coroutine[Any, Any, None]) -> None:
    """A benchmark that ends its processes also when it is told to end."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    asyncio.run(main)


def keep(results: object, path: Path | None) -> None:
    """Write results as JSON, where they are asked for."""
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(results, indent=1) + "\n")


def machine() -> dict[str, int]:
    """What results were measured on."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {"cores": os.cpu_count() or 0, "memory_gib": round(memory / 1024**3)}
