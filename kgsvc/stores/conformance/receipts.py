"""IntakeStore.list_items and retry_items."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection

from kgsvc.domain.errors import InvalidArgument
from kgsvc.domain.model.items import ItemState, ItemStatus, Step, Transition
from kgsvc.stores.conformance.expectations import ConformanceError, equal, expect, present, refused
from kgsvc.stores.conformance.samples import HUGE, MANY, NOW, Scratch
from kgsvc.stores.intake_protocol import QueueDepth


async def _listed(g: Scratch, states: Collection[ItemState] = (), limit: int = 100) -> list[ItemStatus]:
    """All rows of a listing, page by page."""
    rows: list[ItemStatus] = []
    token: str | None = None
    for _ in range(100):
        page = await g.store.list_items(g.id, states, limit, token)
        expect(len(page.rows) <= limit, f"list_items: {len(page.rows)} rows for limit {limit}")
        rows += page.rows
        token = page.next_token
        if token is None:
            return rows
    raise ConformanceError(f"list_items: no end after 100 pages, {len(rows)} rows")


async def items_come_in_order_of_acceptance(g: Scratch) -> None:
    """By acceptance, within a call by its order, never by uuid or time; pages join without gap."""
    first = [g.episode(uuid, at=-n) for n, uuid in enumerate(["m", "z", "a"])]
    second = [g.episode(uuid, at=50 - n) for n, uuid in enumerate(["k", "y", "b", "x"])]
    await g.accepted(*first)
    await g.accepted(*second)
    for limit in (1, 2, 3, 7, 100):
        rows = await _listed(g, limit=limit)
        equal([r.uuid for r in rows], list("mzakybx"), f"list_items: pages of {limit}")


async def states_filter(g: Scratch) -> None:
    """Only items in the asked states; no states: all; other groups' never."""
    await g.accepted(g.sibling().episode("other"))
    lease = await g.begun(*g.episodes(6))
    await g.move(lease, ItemState.COMPLETED, "e1", "e4")
    await g.move(lease, ItemState.PARKED, "e2", reason="unreadable", step=Step.EXTRACT, attempts=5)
    for limit in (1, 2, 50):
        both = await _listed(g, (ItemState.COMPLETED, ItemState.PARKED), limit)
        equal([r.uuid for r in both], ["e1", "e2", "e4"], f"list_items: two states, pages of {limit}")
    waiting = await _listed(g, (ItemState.ACCEPTED,))
    equal([r.uuid for r in waiting], ["e0", "e3", "e5"], "list_items: one state")
    equal(await _listed(g, (ItemState.EMBED_FAILED,)), [], "list_items: a state nobody is in")
    (row,) = await _listed(g, (ItemState.PARKED,))
    equal((row.reason, row.step, row.attempts), ("unreadable", Step.EXTRACT, 5), "list_items: failures")
    equal(row.group_id, g.id, "list_items: group_id")
    equal(len(await _listed(g)), 6, "list_items: no states are all states")


async def paging_is_steady_while_items_arrive(g: Scratch) -> None:
    """Items accepted between two pages come at the end; none is skipped or repeated."""
    await g.accepted(*g.episodes(4))
    page = await g.store.list_items(g.id, (), 3, None)
    await g.accepted(g.episode("a0"))
    rest = await g.store.list_items(g.id, (), 10, page.next_token)
    seen = [r.uuid for r in (*page.rows, *rest.rows)]
    equal(seen, ["e0", "e1", "e2", "e3", "a0"], "list_items: an arrival between pages")


async def bad_tokens_are_invalid(g: Scratch) -> None:
    """A token that no listing gave out is InvalidArgument."""
    await g.accepted(g.episode("e1"))
    for token in ("nonsense", "-1x", "ƒ∆", "9" * 400):
        what = f"list_items: token {token[:20]!r}"
        await refused(InvalidArgument, g.store.list_items(g.id, (), 5, token), what)


async def unknown_groups_list_nothing(g: Scratch) -> None:
    """A group that was never written to has no items."""
    page = await g.store.list_items(g.sibling(3).id, (), 5, None)
    equal((page.rows, page.next_token), ((), None), "list_items: unknown group")


async def retry_makes_parked_items_accepted(g: Scratch) -> None:
    """Parked items become ACCEPTED with no attempts, suspicion, reason or stage, and are due at once."""
    await g.begun(g.episode("e1"))
    lease = await g.working("worker-b")
    await g.move(lease, ItemState.EXTRACTED, "e1", stage=b"costly")
    failing = {"step": Step.EMBED, "attempts": 5, "reason": "unreadable", "next_ms": NOW + 10**9}
    await g.move(lease, ItemState.PARKED, "e1", keep_stage=True, **failing)
    equal(await g.store.retry_items(g.id, ("e1",), NOW + 5), ["e1"], "retry_items: a parked item")
    (row,) = await _listed(g)
    shown = (row.state, row.attempts, row.reason)
    equal(shown, (ItemState.ACCEPTED, 0, None), "retry_items: state, attempts and reason")
    (item,) = await g.store.start_items(lease, NOW + 6, MANY, HUGE, ())
    found = (item.episode.uuid, item.state, item.stage, item.suspect, item.attempts)
    equal(found, ("e1", ItemState.ACCEPTED, None, False, {}), "start_items: a retried item is due, as new")


async def retry_leaves_others_alone(g: Scratch) -> None:
    """Items that are not parked, unknown or of another group are left alone; None means all parked ones."""
    await g.parked(g.episode("p1"), g.episode("p2"), g.episode("p3"))
    await g.parked(g.sibling().episode("p1"))
    await g.accepted(g.episode("e1"))
    revived = await g.store.retry_items(g.id, ("p2", "e1", "nobody"), NOW + 5)
    equal(revived, ["p2"], "retry_items: a parked, an accepted and an unknown uuid")
    equal(sorted(await g.store.retry_items(g.id, None, NOW + 5)), ["p1", "p3"], "retry_items: all")
    equal(await g.store.retry_items(g.id, None, NOW + 5), [], "retry_items: nothing parked any more")
    equal(await g.store.retry_items(g.id, (), NOW + 5), [], "retry_items: no uuids")
    (other,) = await _listed(g.sibling())
    equal(other.state, ItemState.PARKED, "retry_items: another group's item of the same uuid")


async def retry_makes_the_group_ready(g: Scratch) -> None:
    """A group with nothing but parked items has no work, and has after the retry."""
    await g.parked(g.episode("e1"))
    equal(await g.work(NOW + 10**9), None, "ready_groups: only a parked item")
    await g.store.retry_items(g.id, None, NOW + 5)
    expect(await g.work(NOW + 5) is not None, "ready_groups: a retried item")


async def deleted_episodes_leave_the_listing(g: Scratch) -> None:
    """An item goes with its episode and cannot be retried."""
    await g.parked(g.episode("e1"), g.episode("e2"))
    await g.write(remove_episodes=("e1",))
    equal([r.uuid for r in await _listed(g)], ["e2"], "list_items: after remove_episodes")
    equal(await g.store.retry_items(g.id, ("e1",), NOW), [], "retry_items: a deleted item")


async def unknown_receipts_are_none(g: Scratch) -> None:
    """A receipt that was never given out is None."""
    equal(await g.store.receipt(f"{g.id}-never-given-out"), None, "receipt: unknown id")


async def a_receipt_shows_present_states(g: Scratch) -> None:
    """Items in the order of the call with state, failures and reason as they are now."""
    made = [g.episode(uuid, name=f"name of {uuid}") for uuid in ("e3", "e1", "e2")]
    result = await g.accepted(*made, now_ms=NOW)
    lease = await g.working()
    await g.move(lease, ItemState.COMPLETED, "e1", now_ms=NOW + 7)
    await g.move(
        lease, ItemState.EXTRACT_FAILED, "e2", step=Step.EXTRACT, attempts=2, reason="timeout",
        next_ms=NOW + 9_000, now_ms=NOW + 8,
    )  # fmt: skip
    receipt = present(await g.store.receipt(result.receipt_id), "receipt: of an accepted call")
    equal((receipt.group_id, receipt.created_ms), (g.id, NOW), "receipt: group_id, created_ms")
    equal([i.uuid for i in receipt.items], ["e3", "e1", "e2"], "receipt: order of the call")
    states = [ItemState.ACCEPTED, ItemState.COMPLETED, ItemState.EXTRACT_FAILED]
    equal([i.state for i in receipt.items], states, "receipt: present states")
    last = receipt.items[2]
    equal((last.step, last.attempts, last.reason), (Step.EXTRACT, 2, "timeout"), "receipt: failures")
    equal([i.updated_ms for i in receipt.items[1:]], [NOW + 7, NOW + 8], "receipt: updated_ms")
    equal(receipt.items[0].name, "name of e3", "receipt: name")
    expect(not receipt.done, "receipt: done while two items are unfinished")


async def deleted_items_show_deleted(g: Scratch) -> None:
    """An item gone with its episode shows DELETED; its neighbours are as they were."""
    result = await g.accepted(g.episode("e1"), g.episode("e2"))
    await g.write(remove_episodes=("e1",))
    receipt = present(await g.store.receipt(result.receipt_id), "receipt: after an episode's deletion")
    shown = [(i.uuid, i.state) for i in receipt.items]
    equal(shown, [("e1", ItemState.DELETED), ("e2", ItemState.ACCEPTED)], "receipt: states after a deletion")


async def an_item_sent_again_leaves_the_old_receipt(g: Scratch) -> None:
    """A deleted item is ingested anew under the new receipt; the old one keeps showing DELETED."""
    first = await g.accepted(g.episode("e1"))
    await g.write(remove_episodes=("e1",))
    second = await g.accepted(g.episode("e1", body="it may even differ"))
    equal(second.items[0].duplicate, False, "accept: an item whose episode was deleted")
    expect(second.receipt_id != first.receipt_id, "accept: a new receipt after the deletion")
    old = present(await g.store.receipt(first.receipt_id), "receipt: the old one")
    new = present(await g.store.receipt(second.receipt_id), "receipt: the new one")
    equal(old.items[0].state, ItemState.DELETED, "receipt: the old one's state")
    equal(new.items[0].state, ItemState.ACCEPTED, "receipt: the new one's state")
    equal((await g.store.episode("e1", g.id))[0].body, "it may even differ", "episode: sent again")
    equal(await g.started(await g.leased()), ["e1"], "start_items: an item sent again")


async def activity_differs_after_every_change(g: Scratch) -> None:
    """activity() differs after accept, a transition (alone or in a delta), retry and both deletions."""

    async def transition() -> None:
        lease = await g.working()
        await g.move(lease, ItemState.PARKED, "e2", reason="unreadable")
        await g.store.release(lease)

    async def completion() -> None:
        done = (Transition("e1", ItemState.COMPLETED, NOW + 2),)
        change = g.delta(transitions=done, requires_items=("e1",), bumps_rev=False)
        await g.store.apply(change, await g.guard())

    steps: dict[str, Callable[[], Awaitable[object]]] = {
        "accept": lambda: g.accepted(g.episode("e1"), g.episode("e2")),
        "save_transitions": transition,
        "apply with transitions": completion,
        "retry_items": lambda: g.store.retry_items(g.id, ("e2",), NOW + 3),
        "remove_episodes": lambda: g.write(remove_episodes=("e2",)),
        "accept again": lambda: g.accepted(g.episode("e3")),
        "delete_group": lambda: g.store.delete_group(g.id, NOW + 4),
    }
    for name, step in steps.items():
        before = await g.store.activity()
        await step()
        expect(await g.store.activity() != before, f"activity: the same before and after {name}")


async def depth_counts_what_waits(g: Scratch) -> None:
    """depth() comes to count unfinished and parked items and the oldest acceptance, within seconds."""
    before = await g.store.depth()
    await g.parked(g.episode("e1"))
    await g.accepted(g.episode("e2"), now_ms=NOW - 5_000)
    await g.accepted(g.episode("e3"))

    def counted(found: QueueDepth) -> bool:
        oldest = found.oldest_accepted_ms
        return found.unfinished >= 2 and found.parked >= 1 and oldest is not None and oldest <= NOW - 5_000

    for _ in range(150):
        found = await g.store.depth()
        if counted(found):
            return
        await asyncio.sleep(0.1)
    raise ConformanceError(f"depth: {found} with two unfinished and one parked more than in {before}")
