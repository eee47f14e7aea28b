"""IntakeStore.remove_receipts. Each test has years of its own: receipts of all groups are looked at."""

from collections.abc import Collection
from typing import Any

from kgsvc.domain.limits import DAY_MS
from kgsvc.domain.model.items import Accepted, ItemState
from tests.support.samples import NOW, Scratch, answer, batch, present

YEAR = 365 * DAY_MS


async def removed(g: Scratch, since_ms: int, before_ms: int, limit: int = 2) -> None:
    """Go through what is older, page by page."""
    place: str | None = ""
    for _ in range(10_000):
        if place is None:
            return
        place = await g.store.remove_receipts(before_ms, place, limit)
    raise AssertionError("no end after 10,000 pages")


async def kept(g: Scratch, answers: Collection[Accepted]) -> list[bool]:
    """Which receipts are there."""
    return [await g.store.receipt(each.receipt_id) is not None for each in answers]


async def test_old_receipts_whose_items_have_ended_go(g: Scratch) -> None:
    """Not those of unfinished or parked items, and not younger ones; the pages do not matter."""
    then = NOW - 30 * YEAR
    answers = [
        await g.accepted(*[g.episode(f"a{n}{k}") for k in range(3)], now_ms=then + n) for n in range(7)
    ]
    lease = await g.working()
    ended = [f"a{n}{k}" for n in (0, 1, 3, 4, 6) for k in range(3)]
    await g.move(lease, ItemState.COMPLETED, *ended, "a20", "a21", "a50", "a51", now_ms=NOW)
    await g.move(lease, ItemState.PARKED, "a22", reason="unreadable")
    await removed(g, then, then + 6)
    assert await kept(g, answers) == [False, False, True, False, False, True, True]
    await g.store.release(lease)
    await g.store.retry_items(g.id, ["a22"], NOW)
    await g.move(await g.working(), ItemState.COMPLETED, "a22", "a52")
    await removed(g, then, then + 6, limit=100)
    assert await kept(g, answers) == [False] * 6 + [True]


async def test_items_stay_without_a_receipt(g: Scratch) -> None:
    """They are listed, are duplicates of what is sent again, and then have the receipt of that call."""
    then = NOW - 33 * YEAR
    first = await g.accepted(g.episode("e1"), g.episode("e2"), now_ms=then)
    await g.move(await g.working(), ItemState.COMPLETED, "e1", "e2")
    await removed(g, then, then + 1)
    page = await g.store.list_items(g.id, (), 10, None)
    assert [(each.uuid, each.receipt_id) for each in page.rows] == [("e1", ""), ("e2", "")]
    again = await g.accepted(g.episode("e1"), g.episode("e2"), now_ms=then + 2)
    assert again.receipt_id != first.receipt_id
    assert [(each.duplicate, each.state) for each in again.items] == [(True, ItemState.COMPLETED)] * 2
    receipt = present(await g.store.receipt(again.receipt_id))
    assert [(each.uuid, each.state) for each in receipt.items] == [
        ("e1", ItemState.COMPLETED),
        ("e2", ItemState.COMPLETED),
    ]


async def test_no_receipt_goes_that_a_key_stands_for(g: Scratch) -> None:
    """A receipt is given again only as long as it outlives the key of the call that gets it."""
    then = NOW - 36 * YEAR
    windows: dict[str, Any] = {"dedup_window_ms": DAY_MS, "receipt_window_ms": 3 * DAY_MS}
    made = g.episode("e1")
    first = await answer(g.store, batch(made, now_ms=then, **windows))
    await g.move(await g.working(), ItemState.COMPLETED, "e1")
    keyed = [
        await answer(g.store, batch(made, now_ms=then + after, idempotency_key=key, **windows))
        for key, after in (("in time", 2 * DAY_MS), ("late", 2 * DAY_MS + 1))
    ]
    assert [each.receipt_id == first.receipt_id for each in keyed] == [True, False]
    await removed(g, then, then + 1)
    replayed = [
        await answer(g.store, batch(made, now_ms=then + after, idempotency_key=key, **windows))
        for key, after in (("late", 3 * DAY_MS), ("in time", 3 * DAY_MS))
    ]
    assert replayed[0].receipt_id == keyed[1].receipt_id
    assert await kept(g, replayed) == [True, True], "the key of the first had lapsed"


async def test_receipts_of_deleted_groups_go(g: Scratch) -> None:
    """With what was left of their items for them alone."""
    then = NOW - 39 * YEAR
    answers = [await g.accepted(g.episode(f"e{n}"), now_ms=then + n) for n in range(3)]
    await g.move(await g.working(), ItemState.COMPLETED, "e1")
    await g.store.delete_group(g.id, NOW)
    receipt = present(await g.store.receipt(answers[0].receipt_id))
    assert [(each.state, each.reason) for each in receipt.items] == [(ItemState.DELETED, "group_deleted")]
    await g.store.free_erased(NOW)
    await removed(g, then, then + 3)
    assert await kept(g, answers) == [False] * 3
    again = await g.accepted(g.episode("e0", body="may differ"), now_ms=then + 9)
    assert [each.duplicate for each in again.items] == [False]
