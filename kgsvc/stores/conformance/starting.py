"""QueueStore.start_items: order, limits, what comes with an item, fencing."""

from __future__ import annotations

from kgsvc.domain.errors import LeaseLost
from kgsvc.domain.items import ItemState, Step
from kgsvc.stores.conformance.expect import equal, expect, refused
from kgsvc.stores.conformance.samples import HUGE, MANY, NOW, accepted, episode, leased, move, started
from kgsvc.stores.protocol import Store


async def items_come_by_reference_time_and_uuid(store: Store, group_id: str) -> None:
    """Order is (reference_ms, uuid), uuids by code point, whatever the order of acceptance."""
    wanted = [("z", -5), ("B", 0), ("a", 0), ("b", 0), ("c", 7), ("0", 9)]
    await accepted(store, *[episode(group_id, uuid, at=at) for uuid, at in reversed(wanted)])
    found = await started(store, await leased(store, group_id))
    equal(found, [uuid for uuid, _ in wanted], "start_items: order")


async def limit_and_exclude_hold(store: Store, group_id: str) -> None:
    """At most `limit`, none of those excluded."""
    await accepted(store, *[episode(group_id, f"e{n}", at=n) for n in range(6)])
    lease = await leased(store, group_id)
    first = await store.start_items(lease, NOW, 2, HUGE, ())
    equal([i.episode.uuid for i in first], ["e0", "e1"], "start_items: limit 2")
    second = await store.start_items(lease, NOW, 3, HUGE, ("e0", "e1"))
    equal([i.episode.uuid for i in second], ["e2", "e3", "e4"], "start_items: limit 3 without the first two")
    everything = [f"e{n}" for n in range(6)]
    equal(await store.start_items(lease, NOW, 9, HUGE, everything), [], "start_items: all excluded")


async def bytes_are_bounded(store: Store, group_id: str) -> None:
    """Bodies add up to about max_bytes, but one item comes however large."""
    await accepted(store, *[episode(group_id, f"e{n}", at=n, body="é" * 500) for n in range(6)])
    lease = await leased(store, group_id)
    few = await store.start_items(lease, NOW, MANY, 2_500, ())
    expect(len(few) in {2, 3}, f"start_items: {len(few)} bodies of 1,000 bytes for max_bytes 2,500")
    equal([i.episode.uuid for i in few], [f"e{n}" for n in range(len(few))], "start_items: the first ones")
    one = await store.start_items(lease, NOW, MANY, 1, [i.episode.uuid for i in few])
    equal(len(one), 1, "start_items: items for max_bytes 1")


async def items_come_whole(store: Store, group_id: str) -> None:
    """Episode, state, acceptance, attempts by step and the stored stage come with the item."""
    made = episode(group_id, "e1", name="a name", body="x" * 5_000, role="Ada", source_description="chat")
    await accepted(store, made, now_ms=NOW - 50)
    lease = await leased(store, group_id)
    (item,) = await store.start_items(lease, NOW, MANY, HUGE, ())
    equal(item.episode, made, "start_items: the episode as accepted")
    equal((item.state, item.accepted_ms), (ItemState.ACCEPTED, NOW - 50), "start_items: state, accepted_ms")
    equal((item.stage, item.suspect), (None, False), "start_items: stage and suspicion of a new item")
    equal(sum(item.attempts.values()), 0, "start_items: attempts of a new item")
    stage = bytes(range(256)) * 40
    await move(store, lease, ItemState.EXTRACTED, "e1", stage=stage)
    await move(store, lease, ItemState.EMBED_FAILED, "e1", step=Step.EMBED, attempts=3, keep_stage=True)
    (item,) = await store.start_items(lease, NOW, MANY, HUGE, ())
    equal(item.state, ItemState.EMBED_FAILED, "start_items: state of a failed item")
    equal(item.stage, stage, "start_items: the stored stage")
    equal(item.attempts.get("embed"), 3, "start_items: attempts of the step that failed")
    equal(item.attempts.get("extract", 0), 0, "start_items: attempts of another step")
    equal(item.accepted_ms, NOW - 50, "start_items: accepted_ms after transitions")


async def terminal_items_never_come(store: Store, group_id: str) -> None:
    """COMPLETED and PARKED items are not started."""
    await accepted(store, *[episode(group_id, f"e{n}") for n in range(3)])
    lease = await leased(store, group_id)
    await started(store, lease)
    await move(store, lease, ItemState.COMPLETED, "e0")
    await move(store, lease, ItemState.PARKED, "e1", reason="unreadable")
    equal(await started(store, lease, NOW + 10**9), ["e2"], "start_items: one completed, one parked")


async def a_lost_lease_starts_nothing(store: Store, group_id: str) -> None:
    """LeaseLost for a token that is no longer current; nothing is marked as started."""
    await accepted(store, episode(group_id, "e1"))
    lost = await leased(store, group_id)
    await leased(store, group_id, "worker-b")
    await refused(LeaseLost, store.start_items(lost, NOW, MANY, HUGE, ()), "start_items: a lost lease")
    lease = await leased(store, group_id, "worker-c")
    (item,) = await store.start_items(lease, NOW, MANY, HUGE, ())
    equal(item.suspect, False, "start_items: a lost lease had marked the item as started")


async def arrivals_are_found(store: Store, group_id: str) -> None:
    """Items accepted while the group is leased come with the next call, in their place by time."""
    await accepted(store, episode(group_id, "e5", at=5))
    lease = await leased(store, group_id)
    equal(await started(store, lease), ["e5"], "start_items: the first item")
    await accepted(store, episode(group_id, "e1", at=1), episode(group_id, "e9", at=9))
    items = await store.start_items(lease, NOW, MANY, HUGE, ("e5",))
    equal([i.episode.uuid for i in items], ["e1", "e9"], "start_items: arrivals")
