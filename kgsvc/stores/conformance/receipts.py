"""IntakeStore.list_items and retry_items."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection

from kgsvc.domain.errors import InvalidArgument
from kgsvc.domain.model.items import ItemState, ItemStatus, Step, Transition
from kgsvc.stores.conformance.samples import (
    HUGE,
    MANY,
    NOW,
    ConformanceError,
    accepted,
    delta,
    episode,
    equal,
    expect,
    guard,
    leased,
    move,
    parked,
    present,
    refused,
    started,
    work,
    write,
)
from kgsvc.stores.protocol import QueueDepth, Store


async def _listed(
    store: Store, group_id: str, states: Collection[ItemState] = (), limit: int = 100
) -> list[ItemStatus]:
    """All rows of a listing, page by page."""
    rows: list[ItemStatus] = []
    token: str | None = None
    for _ in range(100):
        page = await store.list_items(group_id, states, limit, token)
        expect(len(page.rows) <= limit, f"list_items: {len(page.rows)} rows for limit {limit}")
        rows += page.rows
        token = page.next_token
        if token is None:
            return rows
    raise ConformanceError(f"list_items: no end after 100 pages, {len(rows)} rows")


async def items_come_in_order_of_acceptance(store: Store, group_id: str) -> None:
    """By acceptance, within a call by its order, never by uuid or time; pages join without gap."""
    first = [episode(group_id, uuid, at=-n) for n, uuid in enumerate(["m", "z", "a"])]
    second = [episode(group_id, uuid, at=50 - n) for n, uuid in enumerate(["k", "y", "b", "x"])]
    await accepted(store, *first)
    await accepted(store, *second)
    for limit in (1, 2, 3, 7, 100):
        rows = await _listed(store, group_id, limit=limit)
        equal([r.uuid for r in rows], list("mzakybx"), f"list_items: pages of {limit}")


async def states_filter(store: Store, group_id: str) -> None:
    """Only items in the asked states; no states: all; other groups' never."""
    await accepted(store, *[episode(group_id, f"e{n}") for n in range(6)])
    await accepted(store, episode(f"{group_id}-2", "other"))
    lease = await leased(store, group_id)
    await started(store, lease)
    await move(store, lease, ItemState.COMPLETED, "e1", "e4")
    await move(store, lease, ItemState.PARKED, "e2", reason="unreadable", step=Step.EXTRACT, attempts=5)
    for limit in (1, 2, 50):
        both = await _listed(store, group_id, (ItemState.COMPLETED, ItemState.PARKED), limit)
        equal([r.uuid for r in both], ["e1", "e2", "e4"], f"list_items: two states, pages of {limit}")
    waiting = await _listed(store, group_id, (ItemState.ACCEPTED,))
    equal([r.uuid for r in waiting], ["e0", "e3", "e5"], "list_items: one state")
    equal(await _listed(store, group_id, (ItemState.EMBED_FAILED,)), [], "list_items: a state nobody is in")
    (row,) = await _listed(store, group_id, (ItemState.PARKED,))
    equal((row.reason, row.step, row.attempts), ("unreadable", Step.EXTRACT, 5), "list_items: failures")
    equal(row.group_id, group_id, "list_items: group_id")
    equal(len(await _listed(store, group_id)), 6, "list_items: no states are all states")


async def paging_is_steady_while_items_arrive(store: Store, group_id: str) -> None:
    """Items accepted between two pages come at the end; none is skipped or repeated."""
    await accepted(store, *[episode(group_id, f"e{n}") for n in range(4)])
    page = await store.list_items(group_id, (), 3, None)
    await accepted(store, episode(group_id, "a0"))
    rest = await store.list_items(group_id, (), 10, page.next_token)
    seen = [r.uuid for r in (*page.rows, *rest.rows)]
    equal(seen, ["e0", "e1", "e2", "e3", "a0"], "list_items: an arrival between pages")


async def bad_tokens_are_invalid(store: Store, group_id: str) -> None:
    """A token that no listing gave out is InvalidArgument."""
    await accepted(store, episode(group_id, "e1"))
    for token in ("nonsense", "-1x", "ƒ∆", "9" * 400):
        what = f"list_items: token {token[:20]!r}"
        await refused(InvalidArgument, store.list_items(group_id, (), 5, token), what)


async def unknown_groups_list_nothing(store: Store, group_id: str) -> None:
    """A group that was never written to has no items."""
    page = await store.list_items(f"{group_id}-3", (), 5, None)
    equal((page.rows, page.next_token), ((), None), "list_items: unknown group")


async def retry_makes_parked_items_accepted(store: Store, group_id: str) -> None:
    """Parked items become ACCEPTED with no attempts, suspicion, reason or stage, and are due at once."""
    await accepted(store, episode(group_id, "e1"))
    dead = await leased(store, group_id)
    await started(store, dead)
    lease = await leased(store, group_id, "worker-b")
    await started(store, lease)
    await move(store, lease, ItemState.EXTRACTED, "e1", stage=b"costly")
    failing = {"step": Step.EMBED, "attempts": 5, "reason": "unreadable", "next_ms": NOW + 10**9}
    await move(store, lease, ItemState.PARKED, "e1", keep_stage=True, **failing)
    equal(await store.retry_items(group_id, ("e1",), NOW + 5), ["e1"], "retry_items: a parked item")
    (row,) = await _listed(store, group_id)
    equal(row.state, ItemState.ACCEPTED, "retry_items: state")
    equal((row.attempts, row.reason), (0, None), "retry_items: attempts and reason")
    items = await store.start_items(lease, NOW + 6, MANY, HUGE, ())
    equal([i.episode.uuid for i in items], ["e1"], "start_items: a retried item is due at once")
    found = (items[0].state, items[0].stage, items[0].suspect)
    equal(
        found, (ItemState.ACCEPTED, None, False), "start_items: state, stage and suspicion of a retried item"
    )
    equal(sum(items[0].attempts.values()), 0, "start_items: attempts of a retried item")


async def retry_leaves_others_alone(store: Store, group_id: str) -> None:
    """Items that are not parked, unknown or of another group are left alone; None means all parked ones."""
    await parked(store, episode(group_id, "p1"), episode(group_id, "p2"), episode(group_id, "p3"))
    await parked(store, episode(f"{group_id}-2", "p1"))
    await accepted(store, episode(group_id, "e1"))
    revived = await store.retry_items(group_id, ("p2", "e1", "nobody"), NOW + 5)
    equal(revived, ["p2"], "retry_items: a parked, an accepted and an unknown uuid")
    equal(sorted(await store.retry_items(group_id, None, NOW + 5)), ["p1", "p3"], "retry_items: all")
    equal(await store.retry_items(group_id, None, NOW + 5), [], "retry_items: nothing parked any more")
    equal(await store.retry_items(group_id, (), NOW + 5), [], "retry_items: no uuids")
    (other,) = await _listed(store, f"{group_id}-2")
    equal(other.state, ItemState.PARKED, "retry_items: another group's item of the same uuid")


async def retry_makes_the_group_ready(store: Store, group_id: str) -> None:
    """A group with nothing but parked items has no work, and has after the retry."""
    await parked(store, episode(group_id, "e1"))
    equal(await work(store, group_id, NOW + 10**9), None, "ready_groups: only a parked item")
    await store.retry_items(group_id, None, NOW + 5)
    expect(await work(store, group_id, NOW + 5) is not None, "ready_groups: a retried item")


async def deleted_episodes_leave_the_listing(store: Store, group_id: str) -> None:
    """An item goes with its episode and cannot be retried."""
    await parked(store, episode(group_id, "e1"), episode(group_id, "e2"))
    await write(store, group_id, remove_episodes=("e1",))
    equal([r.uuid for r in await _listed(store, group_id)], ["e2"], "list_items: after remove_episodes")
    equal(await store.retry_items(group_id, ("e1",), NOW), [], "retry_items: a deleted item")


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
