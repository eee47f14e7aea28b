"""Indexes that follow a store through many changes answer as ones just loaded."""

import random
from dataclasses import replace

import pytest

from kgsvc.domain.model.delta import FactTombstone, GraphDelta, Guard
from kgsvc.domain.model.graph import Entity, Fact
from kgsvc.search.settings import SearchSettings
from tests.support.model_store import ModelStore
from tests.unit.search.feed import NOW, SPACE, Embedder, Stopped, engine, fact, vector

GROUPS = ("g", "h")
NODES = ("ann", "bob", "cleo", "dora")
WORDS = ("tea", "coffee", "likes", "hates", "the", "猫が", "東京")
QUERIES = ("tea", "who likes coffee", "ann", "猫", "東京 tea", "Renamed", "?")
SETTINGS = SearchSettings(load_page=3)


class World:
    """Seeded changes of a model store, as ingestion and callers make them."""

    def __init__(self, seed: int) -> None:
        self.store = ModelStore()
        self.random = random.Random(seed)
        self.uuids: dict[str, set[str]] = {group: set() for group in GROUPS}

    async def step(self) -> None:
        """One change of one group."""
        group = self.random.choice(GROUPS)
        act = self.random.choices((self._write, self._remove, self._rename, self._delete), (8, 2, 1, 1))[0]
        await act(group)

    async def _write(self, group: str) -> None:
        facts = {f"f{self.random.randrange(30)}" for _ in range(self.random.randrange(1, 6))}
        self.uuids[group] |= facts
        rows = tuple(self._fact(uuid, group) for uuid in sorted(facts))
        vectors = {row.uuid: self._vector() for row in rows if self.random.random() < 0.7}
        await self._apply(GraphDelta(group, NOW, facts=rows, vectors=vectors, space=SPACE))

    async def _remove(self, group: str) -> None:
        if self.uuids[group]:
            uuid = self.random.choice(sorted(self.uuids[group]))
            self.uuids[group].discard(uuid)
            await self._apply(GraphDelta(group, NOW, remove_facts=(FactTombstone(uuid, "", "", NOW),)))

    async def _rename(self, group: str) -> None:
        node = self.random.choice(NODES)
        for name in (node, f"Renamed {node}"):
            await self._apply(GraphDelta(group, NOW, entities=(Entity(node, group, name, NOW),)))

    async def _delete(self, group: str) -> None:
        self.uuids[group].clear()
        await self.store.delete_group(group, NOW)

    async def _apply(self, delta: GraphDelta) -> None:
        head = (await self.store.heads([delta.group_id])).get(delta.group_id)
        guard = Guard(0, 0) if head is None else Guard(head.rev, head.epoch)
        await self.store.apply(delta, guard)

    def _fact(self, uuid: str, group: str) -> Fact:
        pick = self.random.choice
        text = " ".join(self.random.choices(WORDS, k=self.random.randrange(5)))
        made = fact(uuid, text, group, pick(NODES), pick(NODES))
        return replace(made, expired_ms=pick((None, None, NOW)), invalid_ms=pick((None, None, NOW, NOW + 1)))

    def _vector(self) -> bytes:
        return vector(*(self.random.randrange(-3, 4) for _ in range(3)), 1)


@pytest.mark.parametrize("seed", range(8))
async def test_following_is_as_good_as_loading(seed: int) -> None:
    world = World(seed)
    embedder = Embedder({query: world._vector() for query in QUERIES})
    settings = replace(SETTINGS, index_bytes=world.random.choice((1, 10**9)))
    followed = engine(world.store, embedder, settings, Stopped())
    for _ in range(40):
        await world.step()
        query, center = world.random.choice(QUERIES), world.random.choice((None, *NODES))
        groups = world.random.choice((["g"], ["h"], ["g", "h"]))
        fresh = engine(world.store, embedder, SETTINGS, Stopped())
        for max_facts in (3, 100):
            hits = await followed.facts(groups, query, max_facts, center)
            assert hits == await fresh.facts(groups, query, max_facts, center)
