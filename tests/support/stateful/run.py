"""One seed: a sequence of random operations, each followed by a comparison."""

import random
from collections.abc import Awaitable, Callable

from kgsvc.runtime import SystemClock
from kgsvc.search.engine import Engine
from kgsvc.search.settings import SearchSettings
from kgsvc.stores.protocol import Store
from tests.support.model_store import ModelStore
from tests.support.stateful import graph_operations as graph
from tests.support.stateful import queue_operations as queue
from tests.support.stateful.compare import compare_all, compare_cold, compare_group, compare_ranking
from tests.support.stateful.twins import Side, Twins
from tests.support.stateful.world import World

STEPS = 20
_RANK_EVERY = 4
_OPERATIONS: dict[Callable[[World], Awaitable[None]], int] = {
    queue.accept: 6,
    queue.claim: 2,
    queue.lapse: 1,
    queue.renew: 1,
    queue.release: 1,
    queue.start: 3,
    queue.transition: 3,
    queue.retry: 2,
    queue.delete_group: 1,
    graph.commit: 8,
    graph.assert_entity: 2,
    graph.delete_fact: 1,
    graph.delete_episode: 1,
    graph.remove_entity: 1,
    graph.rewrite: 3,
    graph.stale_write: 2,
}


def groups_of(seed: int, prefix: str) -> tuple[str, str]:
    """The groups of a seed."""
    return f"{prefix}-{seed}-a", f"{prefix}-{seed}-b"


async def run(seed: int, store: Store, prefix: str) -> None:
    """STEPS operations in the groups of the seed, which stay filled. AssertionError: the stores differ."""
    model = ModelStore()
    twins = Twins(Side(model), Side(store))
    world = World(random.Random(seed), model, twins, groups_of(seed, prefix))
    done: list[str] = []
    try:
        await _steps(world, done)
    except AssertionError as error:
        raise AssertionError(f"seed {seed}, after {', '.join(done)}: {error}") from error


async def _steps(world: World, done: list[str]) -> None:
    for side in (world.twins.model, world.twins.real):
        for group_id in world.groups:
            await side.begin_epoch(group_id)
    searches = [_search(world, side.store) for side in (world.twins.model, world.twins.real)]
    names, weights = list(_OPERATIONS), list(_OPERATIONS.values())
    operations = [queue.accept, queue.claim, *world.rng.choices(names, weights, k=STEPS - 2)]
    for n, operation in enumerate(operations):
        world.tick()
        done.append(operation.__name__)
        await operation(world)
        await compare_group(world, world.rng.choice(world.groups))
        if n % _RANK_EVERY == 0:
            await compare_ranking(world, searches[0], searches[1])
    await compare_all(world)
    await compare_ranking(world, searches[0], _search(world, world.twins.real.store))
    await compare_cold(world, searches[0], _cold(world, world.twins.real.store))
    for search in searches:
        await search.close()


def _search(world: World, store: Store) -> Engine:
    """A service with indexes of its own, which pages through changes a few facts at a time."""
    return Engine(store, world.embedder, SearchSettings(load_page=5), SystemClock())


def _cold(world: World, store: Store) -> Engine:
    """One that holds no indexes, however small."""
    return Engine(store, world.embedder, SearchSettings(index_bytes=0), SystemClock())
