"""A worker that lost its group writes nothing, however late its statement comes to run."""

import asyncio

import pytest
from neo4j import AsyncDriver

from kgsvc.domain.errors import LeaseLost, RevisionChanged, StoreUnavailable
from kgsvc.domain.model.delta import Guard
from kgsvc.domain.model.items import ItemState, Lease, Transition
from kgsvc.stores.neo4j import Neo4jStore
from tests.integration.neo4j.support import locked, rows, until_blocked
from tests.support.neo4j_fixture import Address
from tests.support.samples import (
    HUGE,
    MANY,
    NOW,
    accepted,
    claim,
    delta,
    entity,
    episode,
    guard,
    leased,
    pair,
    started,
)

TAKE_OVER = "MATCH (g:KgGroup {group_id: $g}) SET g.owner_token = g.owner_token + 1, g.owner_id = 'thief'"


async def _working(store: Neo4jStore, group: str) -> Lease:
    await accepted(store, episode(group, "e1"))
    lease = await leased(store, group)
    await started(store, lease)
    return lease


@pytest.mark.parametrize("operation", ["apply", "save_transitions", "start_items"])
async def test_a_write_that_waited_out_a_takeover_is_refused(
    store: Neo4jStore, raw: AsyncDriver, group: str, operation: str
) -> None:
    """The check runs after the lock is held, not on what was read before."""
    lease = await _working(store, group)
    now = await guard(store, group, lease.token)
    change = delta(group, entities=(entity(group, "n1", "Ada"),))
    done = [Transition("e1", ItemState.COMPLETED, NOW)]
    calls = {
        "apply": lambda: store.apply(change, now),
        "save_transitions": lambda: store.save_transitions(lease, done),
        "start_items": lambda: store.start_items(lease, NOW, MANY, HUGE, ()),
    }
    async with locked(raw, group) as tx:
        await (await tx.run(TAKE_OVER, g=group)).consume()
        late = asyncio.create_task(calls[operation]())  # type: ignore[no-untyped-call]
        await until_blocked(raw)
        await tx.commit()
    with pytest.raises(LeaseLost):
        await late
    assert (await store.dump(group)).entities == ()
    assert [row.state for row in (await store.list_items(group, (), 9, None)).rows] == [ItemState.ACCEPTED]


async def test_a_plan_made_before_a_commit_under_way_is_refused(
    store: Neo4jStore, raw: AsyncDriver, group: str
) -> None:
    """`names` waits for a commit under way, so a plan never stands on half of one."""
    await pair(store, group)
    async with locked(raw, group) as tx:
        await (await tx.run("MATCH (g:KgGroup {group_id: $g}) SET g.rev = g.rev + 1", g=group)).consume()
        view = asyncio.create_task(store.names(group, ["ada"]))
        await until_blocked(raw)
        await tx.commit()
    head = (await view).head
    assert head == (await store.heads([group]))[group]
    change = delta(group, entities=(entity(group, "n9", "Eve"),))
    with pytest.raises(RevisionChanged):
        await store.apply(change, Guard(rev=head.rev - 1, epoch=head.epoch))
    await store.apply(change, Guard(rev=head.rev, epoch=head.epoch))


async def test_two_owners_never_hold_one_group(store: Neo4jStore, other: Neo4jStore, group: str) -> None:
    """Claims of one sight by two clients: one lease, and the loser's is None."""
    await accepted(store, episode(group, "e1"))
    for round_ in range(10):
        (seen,) = [g for g in await store.ready_groups(NOW, MANY) if g.group_id == group]
        claims = await asyncio.gather(
            *(claim(client, seen, f"{round_}-{n}") for n, client in enumerate((store, other) * 4))
        )
        assert len([lease for lease in claims if lease is not None]) == 1


async def test_accepting_does_not_wait_for_the_groups_lock(
    store: Neo4jStore, raw: AsyncDriver, group: str
) -> None:
    """A long commit of the graph holds up no acknowledgement."""
    await accepted(store, episode(group, "e1"))
    async with locked(raw, group):
        result = await accepted(store, episode(group, "e2"))
    assert [item.duplicate for item in result.items] == [False]


async def test_a_write_past_its_deadline_never_happens(
    store: Neo4jStore, raw: AsyncDriver, group: str, address: Address
) -> None:
    """StoreUnavailable in time, and the abandoned transaction is gone from the server."""
    await pair(store, group)
    hasty = await Neo4jStore.connect(address.uri, address.user, address.password, deadline_s=1.0)
    change = delta(group, entities=(entity(group, "n9", "Eve"),))
    now = await guard(store, group)
    async with locked(raw, group):
        with pytest.raises(StoreUnavailable):
            await hasty.apply(change, now)
    await hasty.close()
    found = await rows(raw, "MATCH (n:Entity {group_id: $g}) RETURN n.uuid ORDER BY n.uuid", g=group)
    assert found == [["n-ada"], ["n-bob"]]
    assert await guard(store, group) == now
