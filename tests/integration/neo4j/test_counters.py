"""Locks of the counters that quotas share among groups: taken in one order, before the activity's."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, LiteralString

import pytest
from neo4j import AsyncDriver, AsyncTransaction

from kgsvc.domain.limits import Allowance, Counted
from kgsvc.domain.model.graph import Usage
from kgsvc.domain.model.items import ItemState, Lease, NewItem, Transition
from kgsvc.stores.neo4j import Neo4jStore
from tests.integration.neo4j.support import until_blocked
from tests.support.samples import NOW, answer, batch, delta, episode, guard, working

_COUNTER: LiteralString = "MATCH (q:KgQuota {subject: $subject}) SET q.lock = 0"
_ACTIVITY: LiteralString = "MATCH (a:KgActivity) SET a.lock = 0"


@pytest.fixture
def tokens(group: str) -> list[Allowance]:
    """Counters of two subjects, in their order."""
    counted = Counted.MODEL_TOKENS
    return [Allowance(f"{group}/{name}", counted, 1_000, f"quotas.{counted}") for name in ("a", "b")]


async def _working(store: Neo4jStore, group: str, *allowances: Allowance) -> Lease:
    """A lease of a group whose item is started, and counted with these allowances."""
    made = episode(group, "e1")
    call = replace(batch(made, allowances=allowances), items=(NewItem(made, tokens=10),))
    await answer(store, call)
    return await working(store, group)


@asynccontextmanager
async def _holding(raw: AsyncDriver, subject: str) -> AsyncIterator[AsyncTransaction]:
    async with raw.session(database="neo4j") as session, await session.begin_transaction() as tx:
        await (await tx.run(_COUNTER, subject=subject)).consume()
        yield tx


async def _behind_the_first(
    raw: AsyncDriver, tokens: list[Allowance], *writes: Coroutine[Any, Any, object]
) -> None:
    """Run the writes while the first counter is locked, and lock all that they need besides: they must hold
    none of it yet."""
    async with _holding(raw, tokens[0].subject) as tx:
        late = [asyncio.create_task(write) for write in writes]
        await until_blocked(raw)
        await (await tx.run(_COUNTER, subject=tokens[1].subject)).consume()
        await (await tx.run(_ACTIVITY)).consume()
        await tx.commit()
    await asyncio.gather(*late)


async def _used(store: Neo4jStore, tokens: list[Allowance]) -> list[int]:
    return list((await store.used([each.counter(NOW) for each in tokens])).values())


async def test_commits_of_several_groups_lock_their_counters_in_one_order(
    store: Neo4jStore, raw: AsyncDriver, group: str, tokens: list[Allowance]
) -> None:
    """Whatever the order of the groups: the one that comes first uses the counter that is locked last."""
    groups = [f"{group}-{number}" for number in range(4)]
    leases = [await _working(store, each, tokens[n < 2]) for n, each in enumerate(groups)]
    done = Transition("e1", ItemState.COMPLETED, NOW + 1, usage=Usage(1, 2, 1))
    writes = []
    for lease in leases:
        change = delta(lease.group_id, transitions=(done,), requires_items=("e1",))
        writes.append(store.apply(change, await guard(store, lease.group_id, lease.token)))
    await _behind_the_first(raw, tokens, *writes)
    assert await _used(store, tokens) == [6, 6]
    for each in groups:
        await store.delete_group(each, 0)


async def test_saved_states_lock_their_counters_in_one_order(
    store: Neo4jStore, raw: AsyncDriver, group: str, tokens: list[Allowance]
) -> None:
    lease = await _working(store, group, *tokens[::-1])
    done = Transition("e1", ItemState.PARKED, NOW + 1, usage=Usage(1, 2, 1))
    await _behind_the_first(raw, tokens, store.save_transitions(lease, [done]))
    assert await _used(store, tokens) == [3, 3]


async def test_removals_lock_their_counters_in_one_order(
    store: Neo4jStore, raw: AsyncDriver, group: str, tokens: list[Allowance]
) -> None:
    """Of an episode, and of a group."""
    lease = await _working(store, group, *tokens[::-1])
    await store.release(lease)
    removal = delta(group, remove_episodes=("e1",))
    await _behind_the_first(raw, tokens, store.apply(removal, await guard(store, group)))
    assert await _used(store, tokens) == [0, 0]
    made = episode(group, "e2")
    again = replace(batch(made, allowances=tuple(tokens[::-1])), items=(NewItem(made, tokens=10),))
    await answer(store, again)
    await _behind_the_first(raw, tokens, store.delete_group(group, NOW + 9))
    assert await _used(store, tokens) == [0, 0]
