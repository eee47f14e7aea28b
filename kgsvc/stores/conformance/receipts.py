"""IntakeStore.receipt, depth and activity: what became of accepted items."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from kgsvc.domain.items import ItemState, Step, Transition
from kgsvc.stores.conformance.expect import ConformanceError, equal, expect, present
from kgsvc.stores.conformance.samples import (
    NOW,
    accepted,
    delta,
    episode,
    guard,
    leased,
    move,
    parked,
    started,
    write,
)
from kgsvc.stores.protocol import QueueDepth, Store


async def unknown_receipts_are_none(store: Store, group_id: str) -> None:
    """A receipt that was never given out is None."""
    equal(await store.receipt(f"{group_id}-never-given-out"), None, "receipt: unknown id")


async def a_receipt_shows_present_states(store: Store, group_id: str) -> None:
    """Items in the order of the call with state, failures and reason as they are now."""
    made = [episode(group_id, uuid, name=f"name of {uuid}") for uuid in ("e3", "e1", "e2")]
    result = await accepted(store, *made, now_ms=NOW)
    lease = await leased(store, group_id)
    await started(store, lease)
    await move(store, lease, ItemState.COMPLETED, "e1", now_ms=NOW + 7)
    await move(
        store, lease, ItemState.EXTRACT_FAILED, "e2", step=Step.EXTRACT, attempts=2, reason="timeout",
        next_ms=NOW + 9_000, now_ms=NOW + 8,
    )  # fmt: skip
    receipt = present(await store.receipt(result.receipt_id), "receipt: of an accepted call")
    equal(receipt.group_id, group_id, "receipt: group_id")
    equal(receipt.created_ms, NOW, "receipt: created_ms")
    equal([i.uuid for i in receipt.items], ["e3", "e1", "e2"], "receipt: order of the call")
    states = [ItemState.ACCEPTED, ItemState.COMPLETED, ItemState.EXTRACT_FAILED]
    equal([i.state for i in receipt.items], states, "receipt: present states")
    last = receipt.items[2]
    equal((last.step, last.attempts, last.reason), (Step.EXTRACT, 2, "timeout"), "receipt: failures")
    equal([i.updated_ms for i in receipt.items[1:]], [NOW + 7, NOW + 8], "receipt: updated_ms")
    equal(receipt.items[0].name, "name of e3", "receipt: name")
    expect(not receipt.done, "receipt: done while two items are unfinished")


async def deleted_items_show_deleted(store: Store, group_id: str) -> None:
    """An item gone with its episode shows DELETED; its neighbours are as they were."""
    result = await accepted(store, episode(group_id, "e1"), episode(group_id, "e2"))
    await write(store, group_id, remove_episodes=("e1",))
    receipt = present(await store.receipt(result.receipt_id), "receipt: after an episode's deletion")
    shown = [(i.uuid, i.state) for i in receipt.items]
    equal(shown, [("e1", ItemState.DELETED), ("e2", ItemState.ACCEPTED)], "receipt: states after a deletion")


async def an_item_sent_again_leaves_the_old_receipt(store: Store, group_id: str) -> None:
    """A deleted item is ingested anew under the new receipt; the old one keeps showing DELETED."""
    first = await accepted(store, episode(group_id, "e1"))
    await write(store, group_id, remove_episodes=("e1",))
    second = await accepted(store, episode(group_id, "e1", body="it may even differ"))
    equal(second.items[0].duplicate, False, "accept: an item whose episode was deleted")
    expect(second.receipt_id != first.receipt_id, "accept: a new receipt after the deletion")
    old = present(await store.receipt(first.receipt_id), "receipt: the old one")
    new = present(await store.receipt(second.receipt_id), "receipt: the new one")
    equal(old.items[0].state, ItemState.DELETED, "receipt: the old one's state")
    equal(new.items[0].state, ItemState.ACCEPTED, "receipt: the new one's state")
    equal((await store.episode("e1", group_id))[0].body, "it may even differ", "episode: sent again")
    equal(await started(store, await leased(store, group_id)), ["e1"], "start_items: an item sent again")


async def activity_differs_after_every_change(store: Store, group_id: str) -> None:
    """activity() differs after accept, a transition (alone or in a delta), retry and both deletions."""

    async def transition() -> None:
        lease = await leased(store, group_id)
        await started(store, lease)
        await move(store, lease, ItemState.PARKED, "e2", reason="unreadable")
        await store.release(lease)

    async def completion() -> None:
        done = (Transition("e1", ItemState.COMPLETED, NOW + 2),)
        change = delta(group_id, transitions=done, requires_items=("e1",), bumps_rev=False)
        await store.apply(change, await guard(store, group_id))

    steps: dict[str, Callable[[], Awaitable[object]]] = {
        "accept": lambda: accepted(store, episode(group_id, "e1"), episode(group_id, "e2")),
        "save_transitions": transition,
        "apply with transitions": completion,
        "retry_items": lambda: store.retry_items(group_id, ("e2",), NOW + 3),
        "remove_episodes": lambda: write(store, group_id, remove_episodes=("e2",)),
        "accept again": lambda: accepted(store, episode(group_id, "e3")),
        "delete_group": lambda: store.delete_group(group_id, NOW + 4),
    }
    for name, step in steps.items():
        before = await store.activity()
        await step()
        expect(await store.activity() != before, f"activity: the same before and after {name}")


async def depth_counts_what_waits(store: Store, group_id: str) -> None:
    """depth() comes to count unfinished and parked items and the oldest acceptance, within seconds."""
    before = await store.depth()
    await parked(store, episode(group_id, "e1"))
    await accepted(store, episode(group_id, "e2"), now_ms=NOW - 5_000)
    await accepted(store, episode(group_id, "e3"))

    def counted(found: QueueDepth) -> bool:
        oldest = found.oldest_accepted_ms
        return found.unfinished >= 2 and found.parked >= 1 and oldest is not None and oldest <= NOW - 5_000

    for _ in range(150):
        found = await store.depth()
        if counted(found):
            return
        await asyncio.sleep(0.1)
    raise ConformanceError(f"depth: {found} with two unfinished and one parked more than in {before}")
