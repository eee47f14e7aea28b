"""The part of bench.beside_graphiti that ingests: the planted corpus, block by block in turns.

Graphiti takes one episode after the other, as its users do; kgsvc takes a stream, of which it makes batches.

What is measured is a service that runs, not one that starts. Before the first figure both ingest for
--warm-up seconds each, in turns, into groups and from lines that are not used again: Neo4j has planned and
compiled the statements of both, the processes have imported and connected what they need. It is Neo4j that
needs so long: its compiler works on what ran some thousand times. Then come three rounds in turns for each
latency of the model, into one group for each program. The parts into a large group begin with new servers of
kgsvc: the first stream into each group does not count.
"""

from __future__ import annotations

import argparse
import os
import time
from dataclasses import dataclass
from typing import Any

from bench.beside_sides import Sides
from bench.loading import Embeds
from bench.measuring import cpu_s, ratio, say
from bench.planted import Line, corpus
from kgsvc.v1 import types_pb2 as typ
from tests.support.client import completed, message

ROUNDS = 3
_DONE_S = 300.0
_PATIENCE_S = 45.0  # for Graphiti and the large group


@dataclass(slots=True)
class Used:
    """What some episodes took."""

    episodes: int = 0
    seconds: float = 0.0
    client_s: float = 0.0
    neo4j_s: float = 0.0

    def add(self, other: Used) -> None:
        """Count more."""
        self.episodes += other.episodes
        self.seconds += other.seconds
        self.client_s += other.client_s
        self.neo4j_s += other.neo4j_s

    @property
    def each_ms(self) -> float:
        """An episode, in milliseconds."""
        return self.seconds / self.episodes * 1_000

    @property
    def figures(self) -> dict[str, float]:
        """As results show it."""
        return {
            "episodes": self.episodes,
            "episodes_per_s": self.episodes / self.seconds,
            "client_cpu_ms": self.client_s / self.episodes * 1_000,
            "neo4j_cpu_ms": self.neo4j_s / self.episodes * 1_000,
        }


def lines_needed(options: argparse.Namespace) -> int:
    """Of the corpus: what is measured, and behind it what warms up."""
    longest = _longest(options)
    return longest + _a_round(longest)


class Ingestion:
    """Both sides' episodes."""

    def __init__(self, sides: Sides, options: argparse.Namespace) -> None:
        self._sides = sides
        self._options = options
        self._lines = corpus(options.corpus, options.seed).lines

    async def at(self, latency_ms: int) -> dict[str, Any]:
        """Into a group of each, with calls of chat that take so long."""
        await self._sides.model.takes(latency_ms / 1_000)
        theirs, ours = Used(), Used()
        for number in range(ROUNDS):
            one = await self._graphiti(f"graphiti-{latency_ms}", *_part(self._options.episodes, number))
            other = await self._kgsvc(f"kgsvc-{latency_ms}", *_part(self._options.stream, number))
            theirs.add(one)
            ours.add(other)
            _tell(one, other)
        await self._sides.model.takes(0.0)
        row: dict[str, Any] = {
            "latency_ms": latency_ms,
            "graphiti": theirs.figures,
            "kgsvc": ours.figures,
        }
        row["ratio"] = ratio(row["kgsvc"]["episodes_per_s"], row["graphiti"]["episodes_per_s"])
        row["cpu_share"] = ratio(row["kgsvc"]["client_cpu_ms"], row["graphiti"]["client_cpu_ms"])
        return row

    async def warm_up(self) -> None:
        """Episodes of both that do not count, for so many seconds of each."""
        theirs, ours = Used(), Used()
        first, number = _longest(self._options), 0
        while min(theirs.seconds, ours.seconds) < self._options.warm_up:
            if theirs.seconds <= ours.seconds:
                count = _a_round(self._options.episodes)
                theirs.add(await self._graphiti(f"graphiti-warm-up-{number}", first, count))
            else:
                count = _a_round(self._options.stream)
                ours.add(await self._kgsvc(f"kgsvc-warm-up-{number}", first, count))
            number += 1
        say(f"warm after {theirs.episodes} episodes of Graphiti and {ours.episodes} of kgsvc")

    async def into_large(self, group: str, facts: int, embedder: Embeds) -> dict[str, Any]:
        """Into a group with so many facts, and into an empty one; the first part that kgsvc takes into each
        does not count. It comes first, then the group's rows become such as Graphiti writes."""
        ours = await self._kgsvc_large(group)
        await self._sides.database.embed_for_graphiti(group, embedder)
        await self._sides.database.hand_to_graphiti(group)
        theirs = await self._graphiti_large(group)
        return {"facts": facts, "graphiti": theirs, "kgsvc": ours}

    async def _kgsvc_large(self, group: str) -> dict[str, float]:
        large, empty = Used(), Used()
        for number in range(ROUNDS + 1):
            part = _part(self._options.stream, number, ROUNDS + 1)
            into_large = await self._kgsvc(group, *part)
            into_empty = await self._kgsvc("kgsvc-empty", *part)
            if number > 0:
                large.add(into_large)
                empty.add(into_empty)
        return _beside(large, empty)

    async def _graphiti_large(self, group: str) -> dict[str, float]:
        large, empty = Used(), Used()
        for number in range(self._options.episodes):
            if large.episodes > 1 and large.seconds + empty.seconds > _PATIENCE_S:
                break
            large.add(await self._graphiti(group, number, 1))
            empty.add(await self._graphiti("graphiti-empty", number, 1))
        return _beside(large, empty)

    async def _graphiti(self, group: str, first: int, count: int) -> Used:
        before = await self._sides.database.cpu_s()
        answer = await self._sides.graphiti.ingest(group, first, count)
        neo4j_s = await self._sides.database.cpu_s() - before
        return Used(count, answer["seconds"], answer["cpu_s"], neo4j_s)

    async def _kgsvc(self, group: str, first: int, count: int) -> Used:
        said = list(map(_message, self._lines[first : first + count]))
        pids = (os.getpid(), self._sides.warm_pid)
        neo4j_s, client_s = await self._sides.database.cpu_s(), sum(map(cpu_s, pids))
        began = time.perf_counter()
        acknowledged = await self._sides.warm.stream_episodes(group, said)
        for receipt_id in {each.receipt_id for each in acknowledged}:
            completed(await self._sides.warm.wait_receipt(receipt_id, _DONE_S))
        seconds, client_s = time.perf_counter() - began, sum(map(cpu_s, pids)) - client_s
        return Used(count, seconds, client_s, await self._sides.database.cpu_s() - neo4j_s)


def _message(line: Line) -> typ.Message:
    return message(line.content, line.at_ms, role=line.role)


def _part(count: int, number: int, rounds: int = ROUNDS) -> tuple[int, int]:
    """Where the part of a round begins and how long it is."""
    first = count * number // rounds
    return first, count * (number + 1) // rounds - first


def _longest(options: argparse.Namespace) -> int:
    return int(max(options.episodes, options.stream))


def _a_round(count: int) -> int:
    return count // ROUNDS


def _tell(theirs: Used, ours: Used) -> None:
    say(f"episodes a second: Graphiti {1_000 / theirs.each_ms:.1f}, kgsvc {1_000 / ours.each_ms:.1f}")


def _beside(large: Used, empty: Used) -> dict[str, float]:
    figures = {"large_ms": large.each_ms, "empty_ms": empty.each_ms, "episodes": large.episodes}
    return figures | {"ratio": ratio(large.each_ms, empty.each_ms)}
