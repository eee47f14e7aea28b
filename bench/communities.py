"""How long a group's communities take to build, and whether a second build finds the same.

    python -m bench.communities [--entities 10000] [--facts 50000] [--seed 1]

Makes a graph of planted circles in an embedded store of its own, four facts of five within a circle, and
builds its communities twice as a worker does. `event loop` is the longest time for which a server in the same
process would not have answered.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from kgsvc.communities.builder import CommunityBuilder, CommunitySettings, Describer
from kgsvc.communities.detection import Louvain
from kgsvc.domain.model.communities import BuildRequest, Community
from kgsvc.domain.model.delta import GraphDelta, Guard
from kgsvc.domain.model.graph import Entity, Fact, FactKind
from kgsvc.domain.model.keys import digest, fact_key, mint, name_key, slot_of
from kgsvc.models.embedding import CachingEmbedder, HashingEmbedder
from kgsvc.runtime import Clock, SystemClock
from kgsvc.stores.embedded import EmbeddedStore

GROUP = "bench"
_AT_MS = 1_700_000_000_000
_CIRCLE = 50  # entities
_WITHIN = 0.8  # share of facts that stay in their circle
_WRITTEN_AT_ONCE = 1_000
_TICK_S = 0.005


def entities(count: int) -> list[Entity]:
    """People with distinct names."""
    names = (f"Person {n}" for n in range(count))
    return [Entity(mint("entity", GROUP, name), GROUP, name, _AT_MS) for name in names]


def facts(people: list[Entity], count: int, rng: random.Random) -> Iterator[Fact]:
    """Who knows whom, mostly within circles."""
    for n in range(count):
        source = rng.randrange(len(people))
        first = source // _CIRCLE * _CIRCLE
        circle = range(first, min(first + _CIRCLE, len(people)))
        target = source
        while target == source:
            target = rng.choice(circle) if rng.random() < _WITHIN else rng.randrange(len(people))
        yield _fact(n, people[source], people[target])


def _fact(number: int, source: Entity, target: Entity) -> Fact:
    text = f"{source.name} told {target.name} about matter {number}."
    slot = slot_of(FactKind.STATE, source.uuid, f"TOLD_{number}", target.uuid, {})
    return Fact(
        uuid=mint("fact", GROUP, digest(number)),
        group_id=GROUP,
        name="TOLD",
        fact=text,
        source_uuid=source.uuid,
        target_uuid=target.uuid,
        source_name=source.name,
        target_name=target.name,
        created_ms=_AT_MS,
        reference_ms=_AT_MS,
        slot=slot,
        fact_key=fact_key(slot, target.uuid, _AT_MS, text),
    )


async def fill(store: EmbeddedStore, people: list[Entity], told: list[Fact]) -> None:
    """Write the graph."""
    guard = Guard(0, 0)
    for start in range(0, len(people), _WRITTEN_AT_ONCE):
        some = tuple(people[start : start + _WRITTEN_AT_ONCE])
        names = {name_key(person.name): person.uuid for person in some}
        head = await store.apply(GraphDelta(GROUP, _AT_MS, entities=some, names=names), guard)
        guard = Guard(head.rev, head.epoch)
    for start in range(0, len(told), _WRITTEN_AT_ONCE):
        delta = GraphDelta(GROUP, _AT_MS, facts=tuple(told[start : start + _WRITTEN_AT_ONCE]))
        head = await store.apply(delta, guard)
        guard = Guard(head.rev, head.epoch)


async def build(store: EmbeddedStore, builder: CommunityBuilder, clock: Clock, name: str) -> None:
    """One build from its request to its end."""
    await store.request_builds([BuildRequest(GROUP, name, clock.now_ms())])
    (work,) = await store.open_builds(clock.now_ms(), 1)
    lease = await store.claim_build(work, "bench", clock.now_ms())
    if lease is None:
        raise RuntimeError("somebody else builds in the bench's own store")
    await builder.build(lease)


async def listed(store: EmbeddedStore) -> list[Community]:
    """Every community."""
    found: list[Community] = []
    more = True
    while more:
        page = await store.communities(GROUP, 100, found[-1].uuid if found else "", None)
        found.extend(page.rows)
        more = page.more
    return found


def comparable(communities: list[Community]) -> list[tuple[tuple[str, ...], str, str]]:
    """What two builds of one graph have in common."""
    return sorted((c.member_uuids, c.name, c.summary) for c in communities)


class Pauses:
    """The longest pause of the event loop while it runs."""

    longest_s = 0.0

    async def watch(self) -> None:
        """Until cancelled."""
        while True:
            before = time.perf_counter()
            await asyncio.sleep(_TICK_S)
            self.longest_s = max(self.longest_s, time.perf_counter() - before - _TICK_S)


async def run(folder: Path, entity_count: int, fact_count: int, seed: int) -> bool:
    """Fill, build twice, print; whether both builds are equal."""
    clock = SystemClock()
    store = await EmbeddedStore.open(folder)
    await store.migrate()
    try:
        people = entities(entity_count)
        await fill(store, people, list(facts(people, fact_count, random.Random(seed))))
        print(f"{entity_count} entities, {fact_count} facts")
        settings = CommunitySettings()
        describer = Describer(store, CachingEmbedder(HashingEmbedder()), None)
        builder = CommunityBuilder(store, Louvain(settings.detection_s), describer, settings, clock)
        results = []
        for name in ("first", "second"):
            pauses = Pauses()
            watching = asyncio.create_task(pauses.watch())
            started = time.perf_counter()
            await build(store, builder, clock, name)
            took_s = time.perf_counter() - started
            watching.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await watching
            results.append(comparable(await listed(store)))
            pause = f"event loop at most {pauses.longest_s * 1_000:.0f} ms"
            print(f"{name} build: {took_s:.1f} s, {len(results[-1])} communities, {pause}")
        print("equal" if results[0] == results[1] else "NOT EQUAL")
        return results[0] == results[1]
    finally:
        await store.close()


def main() -> None:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--entities", type=int, default=10_000)
    parser.add_argument("--facts", type=int, default=50_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    sys.setswitchinterval(0.001)  # as the server does
    with tempfile.TemporaryDirectory() as folder:
        equal = asyncio.run(run(Path(folder), given.entities, given.facts, given.seed))
    sys.exit(0 if equal else 1)


if __name__ == "__main__":
    main()
