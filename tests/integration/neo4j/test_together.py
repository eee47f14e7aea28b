"""Changes of several groups share a transaction, and each is refused for itself."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest
from neo4j import AsyncDriver

from kgsvc.domain.errors import LeaseLost, RevisionChanged, StoreRefused
from kgsvc.domain.model.delta import GraphDelta, Guard
from kgsvc.domain.model.graph import Usage
from kgsvc.domain.model.items import ItemState, Lease, Transition
from kgsvc.domain.resolution.decisions import CandidateQuery
from kgsvc.stores.neo4j import Neo4jStore
from kgsvc.stores.protocol import Anchor
from tests.integration.neo4j.support import locked, rows, until_blocked
from tests.support.samples import NOW, accepted, delta, entity, episode, fact, guard, leased

TAKE_OVER = "MATCH (g:KgGroup {group_id: $g}) SET g.owner_token = g.owner_token + 1, g.owner_id = 'thief'"
Change = tuple[GraphDelta, Guard]


@pytest.fixture
async def leases(store: Neo4jStore, group: str) -> AsyncIterator[list[Lease]]:
    """Of a dozen groups with an item each, which are gone afterwards."""
    groups = [f"{group}-{number:02}" for number in range(12)]
    for each in groups:
        await accepted(store, episode(each, "e1"))
    yield [await leased(store, each) for each in groups]
    for each in groups:
        await store.delete_group(each, 0)


async def _change(store: Neo4jStore, lease: Lease) -> Change:
    ada, bob = entity(lease.group_id, "a", "Ada"), entity(lease.group_id, "b", "Bob")
    change = delta(lease.group_id, entities=(ada, bob), facts=(fact("f", ada, bob),))
    return change, await guard(store, lease.group_id, lease.token)


async def _written(store: Neo4jStore, lease: Lease) -> list[str]:
    return [each.uuid for each in (await store.dump(lease.group_id)).facts]


async def _begun(raw: AsyncDriver) -> int:
    """How many transactions the server has begun, this look included."""
    shown = await rows(raw, "SHOW TRANSACTIONS YIELD transactionId")
    return max(int(name.rpartition("-")[2]) for (name,) in shown if name.startswith("neo4j-"))


async def test_what_comes_at_once_shares_a_transaction(
    store: Neo4jStore, raw: AsyncDriver, leases: list[Lease]
) -> None:
    """Eleven groups take two at most, and the look at their number is one."""
    first, *changes = [await _change(store, lease) for lease in leases]
    await store.apply(*first)  # a new name of a property takes a transaction of the server's own
    before = await _begun(raw)
    await asyncio.gather(*(store.apply(*change) for change in changes))
    assert await _begun(raw) - before <= 3
    assert [await _written(store, lease) for lease in leases] == [["f"]] * 12


async def test_reads_that_come_at_once_share_a_round_trip(
    store: Neo4jStore, raw: AsyncDriver, leases: list[Lease]
) -> None:
    """Those of twelve groups take two at most; the look at their number is one."""
    first = leases[0].group_id
    reads: list[Callable[[str], Awaitable[object]]] = [
        lambda each: store.names(each, ["ada"], ["b"]),
        lambda each: store.slots(each, ["a slot"]),
        lambda each: store.candidates(each, CandidateQuery(tokens=["ada"], uuids=["b"])),
        lambda each: store.previous_episodes(each, [Anchor("later", NOW + 1)], 3, 100),
        lambda each: store.relations(each, 10, 10),
    ]
    for read in reads:
        await read(first)  # a plan that is made anew may take a transaction of the server's own
        before = await _begun(raw)
        await asyncio.gather(*(read(lease.group_id) for lease in leases))
        assert await _begun(raw) - before <= 3


async def _started(store: Neo4jStore, leases: list[Lease]) -> None:
    for lease in leases:
        await store.start_items(lease, NOW, 1, 1_000, ())


def _extracted(stage: Any = b"{}") -> list[Transition]:
    return [Transition("e1", ItemState.EXTRACTED, NOW, stage=stage, usage=Usage(1, 20, 3))]


async def test_what_models_answered_for_several_groups_is_saved_together(
    store: Neo4jStore, raw: AsyncDriver, leases: list[Lease]
) -> None:
    """Twelve saves take two transactions at most; the look at their number is one."""
    await _started(store, leases)
    await store.save_transitions(leases[0], _extracted())  # a plan may take a transaction of the server's own
    before = await _begun(raw)
    await asyncio.gather(*(store.save_transitions(lease, _extracted()) for lease in leases))
    assert await _begun(raw) - before <= 3
    for number, lease in enumerate(leases):
        (status,) = await store.item_statuses(lease.group_id, ["e1"])
        assert (status.state, status.usage.calls) == (ItemState.EXTRACTED, 2 if number == 0 else 1)


async def test_a_save_that_is_refused_leaves_the_others_alone(
    store: Neo4jStore, raw: AsyncDriver, leases: list[Lease]
) -> None:
    """By the lease of one and by the values of another."""
    await _started(store, leases)
    stages: list[Any] = [b"{}"] * 12
    stages[7] = {"a": "of a wrong type"}
    async with locked(raw, leases[2].group_id) as tx:
        await (await tx.run(TAKE_OVER, g=leases[2].group_id)).consume()
        saves = [
            asyncio.create_task(store.save_transitions(lease, _extracted(stage)))
            for lease, stage in zip(leases, stages, strict=True)
        ]
        await until_blocked(raw)
        await tx.commit()
    found = await asyncio.gather(*saves, return_exceptions=True)
    refused = {n: type(each) for n, each in enumerate(found) if isinstance(each, BaseException)}
    assert refused == {2: LeaseLost, 7: StoreRefused}
    for number, lease in enumerate(leases):
        (status,) = await store.item_statuses(lease.group_id, ["e1"])
        assert status.state is (ItemState.ACCEPTED if number in refused else ItemState.EXTRACTED)


async def test_what_is_refused_leaves_the_others_alone(store: Neo4jStore, leases: list[Lease]) -> None:
    """By whatever the refusal is: of the lease, of the revision, of the values."""
    changes = [await _change(store, lease) for lease in leases]
    await store.release(leases[3])
    changes[5] = changes[5][0], replace(changes[5][1], rev=9)
    slot: Any = {"a": "of a wrong type"}
    changes[7] = replace(changes[7][0], facts=(replace(changes[7][0].facts[0], slot=slot),)), changes[7][1]
    found = await asyncio.gather(*(store.apply(*change) for change in changes), return_exceptions=True)
    refused = {n: type(each) for n, each in enumerate(found) if isinstance(each, Exception)}
    assert refused == {3: LeaseLost, 5: RevisionChanged, 7: StoreRefused}
    for number, lease in enumerate(leases):
        assert await _written(store, lease) == ([] if number in refused else ["f"])


async def test_a_group_that_is_taken_over_drops_out_alone(
    store: Neo4jStore, raw: AsyncDriver, leases: list[Lease]
) -> None:
    """The common transaction waits for the lock of one; what it finds then holds."""
    changes = [await _change(store, lease) for lease in leases]
    async with locked(raw, leases[2].group_id) as tx:
        await (await tx.run(TAKE_OVER, g=leases[2].group_id)).consume()
        late = [asyncio.create_task(store.apply(*change)) for change in changes]
        await until_blocked(raw)
        await tx.commit()
    found = await asyncio.gather(*late, return_exceptions=True)
    assert [n for n, each in enumerate(found) if isinstance(each, LeaseLost)] == [2]
    assert [await _written(store, lease) for lease in leases] == [[] if n == 2 else ["f"] for n in range(12)]
