"""The part of bench.beside_graphiti that measures throughput: 16 searches in flight, in turns.

kgsvc is asked by 16 clients of one process, each on a connection of its own: a port that several processes
share is dealt out by connections. First one process answers (`serve`), then two on one port
(`serve --role api --processes 2`; ingestion is the first one's). Every client has asked before the clock
starts, so each process has the group in memory; requests are bytes by then, answers are parsed. Graphiti is
asked by the process that holds it. A round of all comes before those that count.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from bench.asking import facts_bytes, search_facts_bytes
from bench.beside_sides import Sides
from bench.knowledge import questions
from bench.measuring import cpu_s, family, flooded, ratio, say
from tests.support.client import Client

AT_ONCE = 16
_ROUNDS = 3
_SECONDS = 5.0  # of kgsvc's searches in each round
_READY = 3_000  # requests, more than kgsvc answers in that time
_THEIRS = 2 * AT_ONCE  # Graphiti's searches in each round
_BEFORE = 3  # searches of each client before the clock starts

Asks = Sequence[Callable[[bytes], Awaitable[object]]]


@dataclass(slots=True)
class Answered:
    """Searches of one side, and what they took."""

    searches: int = 0
    seconds: float = 0.0
    client_s: float = 0.0
    neo4j_s: float = 0.0
    servers_s: dict[int, float] = field(default_factory=dict)  # by process; none where the client searches

    @property
    def figures(self) -> dict[str, float]:
        """As results show it; CPU in milliseconds a search, and the busiest server process's part of it."""
        each_ms = 1_000 / self.searches
        servers_s = sum(self.servers_s.values())
        return {
            "searches": self.searches,
            "searches_per_s": self.searches / self.seconds,
            "client_cpu_ms": self.client_s * each_ms,
            "server_cpu_ms": servers_s * each_ms,
            "neo4j_cpu_ms": self.neo4j_s * each_ms,
            "busiest": ratio(max(self.servers_s.values()), servers_s) if self.servers_s else 1.0,
        }


class Flood:
    """Throughput of all, at a group of so many facts."""

    def __init__(self, sides: Sides, group: str, facts: int) -> None:
        self._sides = sides
        self._group = group
        self._facts = facts
        self._theirs = questions(facts, 5)
        self._ours = (facts_bytes(group, query) for query in questions(facts, 6))

    async def measured(self) -> dict[str, Any]:
        """Searches a second and CPU a search of Graphiti, of one process of kgsvc, and of two."""
        pair = self._sides.pair
        async with (
            pair,
            self._connected(self._sides.warm.address) as one,
            self._connected(pair.address) as two,
        ):
            await self._round(one, two)
            rounds = [await self._round(one, two) for _ in range(_ROUNDS)]
        row: dict[str, Any] = {"facts": self._facts}
        for name, side in zip(("graphiti", "kgsvc", "kgsvc_2"), zip(*rounds, strict=True), strict=True):
            row[name] = _together(side).figures
        for name in ("kgsvc", "kgsvc_2"):
            row[f"ratio_{name}"] = ratio(row[name]["searches_per_s"], row["graphiti"]["searches_per_s"])
        return row

    async def _round(self, one: Asks, two: Asks) -> tuple[Answered, ...]:
        """In turns."""
        found = (
            await self._graphiti(),
            await self._kgsvc(one, self._sides.warm_pid),
            await self._kgsvc(two, self._sides.pair.pid),
        )
        say(f"{AT_ONCE} in flight: {' '.join(f'{each.searches / each.seconds:.1f}/s' for each in found)}")
        return found

    @asynccontextmanager
    async def _connected(self, address: str) -> AsyncIterator[Asks]:
        """Clients whose processes know the group."""
        clients = [Client(address) for _ in range(AT_ONCE)]
        asks = [search_facts_bytes(client) for client in clients]
        try:
            for ask in asks * _BEFORE:
                await ask(next(self._ours))
            yield asks
        finally:
            for client in clients:
                await client.channel.close()

    async def _graphiti(self) -> Answered:
        queries = list(itertools.islice(self._theirs, _THEIRS))
        before = await self._sides.database.cpu_s()
        answer = await self._sides.graphiti.flood(self._group, queries, AT_ONCE)
        neo4j_s = await self._sides.database.cpu_s() - before
        return Answered(len(queries), answer["seconds"], answer["cpu_s"], neo4j_s)

    async def _kgsvc(self, asks: Asks, server: int) -> Answered:
        requests = list(itertools.islice(self._ours, _READY))
        neo4j_s = await self._sides.database.cpu_s()
        servers_s = {pid: cpu_s(pid) for pid in family(server)}
        client_s = cpu_s(os.getpid())
        answered, seconds = await flooded(asks, iter(requests), _SECONDS)
        client_s = cpu_s(os.getpid()) - client_s
        servers_s = {pid: cpu_s(pid) - before for pid, before in servers_s.items()}
        neo4j_s = await self._sides.database.cpu_s() - neo4j_s
        return Answered(answered, seconds, client_s, neo4j_s, servers_s)


def _together(rounds: Sequence[Answered]) -> Answered:
    """The sum of a side's rounds."""
    whole = Answered()
    for each in rounds:
        whole.searches += each.searches
        whole.seconds += each.seconds
        whole.client_s += each.client_s
        whole.neo4j_s += each.neo4j_s
        for pid, used_s in each.servers_s.items():
            whole.servers_s[pid] = whole.servers_s.get(pid, 0.0) + used_s
    return whole
