"""IntakeStore.list_items and retry_items."""

from __future__ import annotations

from collections.abc import Collection

from kgsvc.domain.errors import InvalidArgument
from kgsvc.domain.items import ItemState, ItemStatus, Step
from kgsvc.stores.conformance.expect import ConformanceError, equal, expect, refused
from kgsvc.stores.conformance.samples import (
    HUGE,
    MANY,
    NOW,
    accepted,
    episode,
    leased,
    move,
    parked,
    started,
    work,
    write,
)
from kgsvc.stores.protocol import Store


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
