"""What the queue does does not grow with a group's backlog: counted in the engine's steps, not in time."""

from collections.abc import Callable

import apsw
import pytest

from kgsvc.domain.model.items import GroupWork, Lease
from kgsvc.stores.embedded import EmbeddedStore, queue, receipts
from tests.support.samples import HUGE, NOW, accepted, episode, leased

Work = Callable[[apsw.Connection], object]
LEASE = Lease("g", "worker-a", 1, 0)
SEEN = GroupWork("g", 1, "worker-a", 0, NOW)

WORKS: dict[str, Work] = {
    "ready_groups": lambda db: queue._ready_groups(db, NOW, 9),
    "next_due_ms": lambda db: queue._next_due_ms(db, NOW),
    "claim": lambda db: queue._claim(db, SEEN, "worker-b", NOW),
    "renew": lambda db: queue._renew(db, [LEASE]),
    "start_items": lambda db: queue._start_items(db, LEASE, NOW, 4, HUGE, ()),
    "start_items beside others": lambda db: queue._start_items(db, LEASE, NOW, 4, HUGE, ("e0000",)),
    "release": lambda db: queue._release(db, LEASE),
    "retry_items": lambda db: receipts._retry_items(db, "g", None, NOW),
    "list_items": lambda db: receipts._list_items(db, "g", (), 4, None),
    "depth": receipts._depth,
    "activity": receipts._activity,
}


def steps(db: apsw.Connection, work: Work) -> int:
    """How many steps the engine takes for `work`, which is undone."""
    count = 0

    def step() -> bool:
        nonlocal count
        count += 1
        return False

    for handler in (None, step):  # the first run also reads the schema
        db.set_progress_handler(handler, 1)
        db.execute("BEGIN IMMEDIATE")
        work(db)
        db.execute("ROLLBACK")
    db.set_progress_handler(None)
    return count


@pytest.mark.parametrize("work", WORKS)
async def test_work_does_not_grow_with_the_backlog(
    store: EmbeddedStore, beside: apsw.Connection, work: str
) -> None:
    async def backlog(begin: int, end: int) -> None:
        await accepted(store, *[episode("g", f"e{n:04}", at=n) for n in range(begin, end)])

    await backlog(0, 6)
    await leased(store, "g")
    few = steps(beside, WORKS[work])
    await backlog(6, 1_000)
    assert steps(beside, WORKS[work]) == few
