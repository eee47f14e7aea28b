"""IntakeStore.list_items and retry_items."""

import asyncio
from collections.abc import Awaitable, Callable, Collection

import pytest

from kgsvc.domain.errors import InvalidArgument
from kgsvc.domain.model.items import ItemState, ItemStatus, Step, Transition
from kgsvc.stores.intake_protocol import QueueDepth
from tests.support.samples import HUGE, MANY, NOW, Scratch, present


async def _listed(g: Scratch, states: Collection[ItemState] = (), limit: int = 100) -> list[ItemStatus]:
    """All rows of a listing, page by page."""
    rows: list[ItemStatus] = []
    token: str | None = None
    for _ in range(100):
        page = await g.store.list_items(g.id, states, limit, token)
        assert len(page.rows) <= limit
        rows += page.rows
        token = page.next_token
        if token is None:
            return rows
    pytest.fail(f"no end after 100 pages, {len(rows)} rows")


async def test_items_come_in_order_of_acceptance(g: Scratch) -> None:
    """By acceptance, within a call by its order, never by uuid or time; pages join without gap."""
    first = [g.episode(uuid, at=-n) for n, uuid in enumerate(["m", "z", "a"])]
    second = [g.episode(uuid, at=50 - n) for n, uuid in enumerate(["k", "y", "b", "x"])]
    await g.accepted(*first)
    await g.accepted(*second)
    for limit in (1, 2, 3, 7, 100):
        assert [r.uuid for r in await _listed(g, limit=limit)] == list("mzakybx")


async def test_states_filter(g: Scratch) -> None:
    """Only items in the asked states; no states: all; other groups' never."""
    await g.accepted(g.sibling().episode("other"))
    lease = await g.begun(*g.episodes(6))
    await g.move(lease, ItemState.COMPLETED, "e1", "e4")
    await g.move(lease, ItemState.PARKED, "e2", reason="unreadable", step=Step.EXTRACT, attempts=5)
    for limit in (1, 2, 50):
        both = await _listed(g, (ItemState.COMPLETED, ItemState.PARKED), limit)
        assert [r.uuid for r in both] == ["e1", "e2", "e4"]
    assert [r.uuid for r in await _listed(g, (ItemState.ACCEPTED,))] == ["e0", "e3", "e5"]
    assert await _listed(g, (ItemState.EMBED_FAILED,)) == []
    (row,) = await _listed(g, (ItemState.PARKED,))
    assert (row.reason, row.step, row.attempts) == ("unreadable", Step.EXTRACT, 5)
    assert row.group_id == g.id
    assert len(await _listed(g)) == 6


async def test_paging_is_steady_while_items_arrive(g: Scratch) -> None:
    """Items accepted between two pages come at the end; none is skipped or repeated."""
    await g.accepted(*g.episodes(4))
    page = await g.store.list_items(g.id, (), 3, None)
    await g.accepted(g.episode("a0"))
    rest = await g.store.list_items(g.id, (), 10, page.next_token)
    assert [r.uuid for r in (*page.rows, *rest.rows)] == ["e0", "e1", "e2", "e3", "a0"]


async def test_bad_tokens_are_invalid(g: Scratch) -> None:
    """A token that no listing gave out is InvalidArgument."""
    await g.accepted(g.episode("e1"))
    for token in ("nonsense", "-1x", "ƒ∆", "9" * 400):
        with pytest.raises(InvalidArgument):
            await g.store.list_items(g.id, (), 5, token)


async def test_unknown_groups_list_nothing(g: Scratch) -> None:
    """A group that was never written to has no items."""
    page = await g.store.list_items(g.sibling(3).id, (), 5, None)
    assert (page.rows, page.next_token) == ((), None)


async def test_retry_makes_parked_items_accepted(g: Scratch) -> None:
    """Parked items become ACCEPTED with no attempts, suspicion, reason or stage, and are due at once."""
    await g.begun(g.episode("e1"))
    lease = await g.working("worker-b")
    await g.move(lease, ItemState.EXTRACTED, "e1", stage=b"costly")
    failing = {"step": Step.EMBED, "attempts": 5, "reason": "unreadable", "next_ms": NOW + 10**9}
    await g.move(lease, ItemState.PARKED, "e1", keep_stage=True, **failing)
    assert await g.store.retry_items(g.id, ("e1",), NOW + 5) == ["e1"]
    (row,) = await _listed(g)
    assert (row.state, row.attempts, row.reason) == (ItemState.ACCEPTED, 0, None)
    (item,) = await g.store.start_items(lease, NOW + 6, MANY, HUGE, ())
    found = (item.episode.uuid, item.state, item.stage, item.suspect, item.attempts)
    assert found == ("e1", ItemState.ACCEPTED, None, False, {})


async def test_retry_leaves_others_alone(g: Scratch) -> None:
    """Items that are not parked, unknown or of another group are left alone; None means all parked ones."""
    await g.parked(g.episode("p1"), g.episode("p2"), g.episode("p3"))
    await g.parked(g.sibling().episode("p1"))
    await g.accepted(g.episode("e1"))
    assert await g.store.retry_items(g.id, ("p2", "e1", "nobody"), NOW + 5) == ["p2"]
    assert sorted(await g.store.retry_items(g.id, None, NOW + 5)) == ["p1", "p3"]
    assert await g.store.retry_items(g.id, None, NOW + 5) == []
    assert await g.store.retry_items(g.id, (), NOW + 5) == []
    (other,) = await _listed(g.sibling())
    assert other.state == ItemState.PARKED


async def test_retry_makes_the_group_ready(g: Scratch) -> None:
    """A group with nothing but parked items has no work, and has after the retry."""
    await g.parked(g.episode("e1"))
    assert await g.work(NOW + 10**9) is None
    await g.store.retry_items(g.id, None, NOW + 5)
    assert await g.work(NOW + 5) is not None


async def test_deleted_episodes_leave_the_listing(g: Scratch) -> None:
    """An item goes with its episode and cannot be retried."""
    await g.parked(g.episode("e1"), g.episode("e2"))
    await g.write(remove_episodes=("e1",))
    assert [r.uuid for r in await _listed(g)] == ["e2"]
    assert await g.store.retry_items(g.id, ("e1",), NOW) == []


async def test_unknown_receipts_are_none(g: Scratch) -> None:
    """A receipt that was never given out is None."""
    assert await g.store.receipt(f"{g.id}-never-given-out") is None


async def test_a_receipt_shows_present_states(g: Scratch) -> None:
    """Items in the order of the call with state, failures and reason as they are now."""
    made = [g.episode(uuid, name=f"name of {uuid}") for uuid in ("e3", "e1", "e2")]
    result = await g.accepted(*made, now_ms=NOW)
    lease = await g.working()
    await g.move(lease, ItemState.COMPLETED, "e1", now_ms=NOW + 7)
    await g.move(
        lease, ItemState.EXTRACT_FAILED, "e2", step=Step.EXTRACT, attempts=2, reason="timeout",
        next_ms=NOW + 9_000, now_ms=NOW + 8,
    )  # fmt: skip
    receipt = present(await g.store.receipt(result.receipt_id))
    assert (receipt.group_id, receipt.created_ms) == (g.id, NOW)
    assert [i.uuid for i in receipt.items] == ["e3", "e1", "e2"]
    states = [ItemState.ACCEPTED, ItemState.COMPLETED, ItemState.EXTRACT_FAILED]
    assert [i.state for i in receipt.items] == states
    last = receipt.items[2]
    assert (last.step, last.attempts, last.reason) == (Step.EXTRACT, 2, "timeout")
    assert [i.updated_ms for i in receipt.items[1:]] == [NOW + 7, NOW + 8]
    assert receipt.items[0].name == "name of e3"
    assert not receipt.done


async def test_deleted_items_show_deleted(g: Scratch) -> None:
    """An item gone with its episode shows DELETED; its neighbours are as they were."""
    result = await g.accepted(g.episode("e1"), g.episode("e2"))
    await g.write(remove_episodes=("e1",))
    receipt = present(await g.store.receipt(result.receipt_id))
    shown = [(i.uuid, i.state) for i in receipt.items]
    assert shown == [("e1", ItemState.DELETED), ("e2", ItemState.ACCEPTED)]


async def test_an_item_sent_again_leaves_the_old_receipt(g: Scratch) -> None:
    """A deleted item is ingested anew under the new receipt; the old one keeps showing DELETED."""
    first = await g.accepted(g.episode("e1"))
    await g.write(remove_episodes=("e1",))
    second = await g.accepted(g.episode("e1", body="it may even differ"))
    assert second.items[0].duplicate is False
    assert second.receipt_id != first.receipt_id
    old = present(await g.store.receipt(first.receipt_id))
    new = present(await g.store.receipt(second.receipt_id))
    assert old.items[0].state == ItemState.DELETED
    assert new.items[0].state == ItemState.ACCEPTED
    assert (await g.store.episode("e1", g.id))[0].body == "it may even differ"
    assert await g.started(await g.leased()) == ["e1"]


async def test_activity_differs_after_every_change(g: Scratch) -> None:
    """activity() differs after accept, a transition (alone or in a delta), retry and both deletions; as work
    after those that bring some."""

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
    changes_alone = {"save_transitions", "apply with transitions", "remove_episodes"}
    for name, step in steps.items():
        before = await g.store.activity()
        await step()
        after = await g.store.activity()
        assert after.changes != before.changes, name
        assert after.work != before.work or name in changes_alone, name


async def test_depth_counts_what_waits(g: Scratch) -> None:
    """activity() comes to count unfinished and parked items and the oldest acceptance, within seconds."""
    before = (await g.store.activity()).depth
    await g.parked(g.episode("e1"))
    await g.accepted(g.episode("e2"), now_ms=NOW - 5_000)
    await g.accepted(g.episode("e3"))

    def counted(found: QueueDepth) -> bool:
        oldest = found.oldest_accepted_ms
        return found.unfinished >= 2 and found.parked >= 1 and oldest is not None and oldest <= NOW - 5_000

    for _ in range(150):
        found = (await g.store.activity()).depth
        if counted(found):
            return
        await asyncio.sleep(0.1)
    pytest.fail(f"{found} with two unfinished and one parked more than in {before}")
