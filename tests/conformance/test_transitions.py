"""QueueStore.save_transitions: what it writes, what it passes over, fencing."""

from dataclasses import replace

import pytest

from kgsvc.domain.errors import LeaseLost
from kgsvc.domain.model.graph import FREE, Usage
from kgsvc.domain.model.items import ItemState, ItemWarning, QueuedItem, Step, Transition
from tests.support.samples import HUGE, MANY, NOW, Scratch, present


async def test_states_are_written_together(g: Scratch) -> None:
    """One call writes different transitions of several items, in order for one item."""
    lease = await g.begun(*g.episodes(3))
    moves = [
        Transition("e0", ItemState.EXTRACTED, NOW + 1, stage=b"one"),
        Transition("e1", ItemState.UPSERT_FAILED, NOW + 2, step=Step.UPSERT, attempts=1, reason="busy"),
        Transition("e2", ItemState.EXTRACTED, NOW + 3, stage=b"two"),
        Transition("e2", ItemState.EMBEDDED, NOW + 4, stage=b"three"),
    ]
    await g.store.save_transitions(lease, moves)
    rows = {row.uuid: row for row in await g.items()}
    shown = [(rows[f"e{n}"].state, rows[f"e{n}"].updated_ms) for n in range(3)]
    wanted = [
        (ItemState.EXTRACTED, NOW + 1),
        (ItemState.UPSERT_FAILED, NOW + 2),
        (ItemState.EMBEDDED, NOW + 4),
    ]
    assert shown == wanted
    assert (rows["e1"].step, rows["e1"].attempts, rows["e1"].reason) == (Step.UPSERT, 1, "busy")
    assert (await _item(g, "e2")).stage == b"three"


async def test_stages_are_kept_or_cleared(g: Scratch) -> None:
    """keep_stage leaves the stored stage; without it a None clears it, bytes replace it."""
    lease = await g.begun(g.episode("e1"))
    steps: list[tuple[dict[str, object], bytes | None]] = [
        ({"stage": b"first"}, b"first"),
        ({"stage": b"second"}, b"second"),
        ({"stage": b"ignored", "keep_stage": True}, b"second"),
        ({"keep_stage": True}, b"second"),
        ({"stage": b""}, b""),
        ({}, None),
        ({"keep_stage": True}, None),
    ]
    for n, (fields, wanted) in enumerate(steps):
        await g.move(lease, ItemState.EXTRACTED, "e1", now_ms=NOW + n, **fields)
        (item,) = await g.due(lease)
        assert item.stage == wanted


async def test_attempts_are_counted_by_step(g: Scratch) -> None:
    """Each step's attempts are kept apart."""
    lease = await g.queued(g.episode("e1"))
    for step, attempts in ((Step.EXTRACT, 1), (Step.EXTRACT, 2), (Step.EMBED, 1), (Step.UPSERT, 4)):
        await g.started(lease)
        await g.move(lease, step.failed, "e1", step=step, attempts=attempts, reason="x")
    (item,) = await g.due(lease)
    assert dict(item.attempts) == {"extract": 2, "embed": 1, "upsert": 4}
    (row,) = await g.items()
    assert (row.step, row.attempts) == (Step.UPSERT, 4)


async def test_spent_model_work_adds_up(g: Scratch) -> None:
    """Each transition's usage is added to the item's, also by apply; a retry keeps it, a deletion ends it."""
    call = await g.accepted(g.episode("e1"), g.episode("e2"))
    lease = await g.working()
    both = [
        Transition("e1", ItemState.EXTRACTED, NOW + 1, stage=b"x", usage=Usage(2, 1_000, 50)),
        Transition("e1", ItemState.EMBEDDED, NOW + 1, stage=b"y", usage=Usage(0, 7)),
        Transition("e2", ItemState.PARKED, NOW + 1, reason="unreadable", usage=Usage(1, 10**9, 10**9)),
    ]
    await g.store.save_transitions(lease, both)
    done = (Transition("e1", ItemState.COMPLETED, NOW + 2, usage=Usage(1, 3, 3)),)
    change = g.delta(transitions=done, requires_items=("e1",), bumps_rev=False)
    await g.store.apply(change, await g.guard(lease.token))
    await g.store.retry_items(g.id, ("e2",), NOW + 3)
    spent = {"e1": Usage(3, 1_010, 53), "e2": Usage(1, 10**9, 10**9)}
    shown = present(await g.store.receipt(call.receipt_id))
    assert {item.uuid: item.usage for item in shown.items} == spent
    assert shown.usage == Usage(4, 10**9 + 1_010, 10**9 + 53)
    assert {row.uuid: row.usage for row in await g.items()} == spent
    await g.write(remove_episodes=("e1",))
    assert (await g.accepted(g.episode("e1"))).items[0].usage == FREE


async def test_warnings_stay_until_others_come(g: Scratch) -> None:
    """A transition without warnings leaves those that are there; an empty list takes them away."""
    call = await g.accepted(g.episode("e1"))
    lease = await g.working()
    two = (
        ItemWarning("edges[3].source_ref", "unknown_ref", dropped=True),
        ItemWarning("nodes[0].ref", "é𝒳'"),
    )
    given: tuple[tuple[ItemWarning, ...] | None, ...] = (None, two, None, (), None, two[:1], None)
    shown: tuple[ItemWarning, ...] = ()
    for n, warnings in enumerate(given):
        shown = shown if warnings is None else warnings
        await g.move(lease, ItemState.EXTRACTED, "e1", now_ms=NOW + n, warnings=warnings)
        (row,) = await g.items()
        assert row.warnings == shown
    await g.move(lease, ItemState.PARKED, "e1", reason="unreadable")
    await g.store.retry_items(g.id, ("e1",), NOW + 9)
    (item,) = present(await g.store.receipt(call.receipt_id)).items
    assert item.warnings == two[:1]


async def test_finished_and_unknown_items_are_passed_over(g: Scratch) -> None:
    """Terminal, deleted and unknown items stay as they are; the others of the call are written."""
    lease = await g.begun(*g.episodes(4))
    await g.move(lease, ItemState.COMPLETED, "e0")
    await g.move(lease, ItemState.PARKED, "e1", reason="unreadable")
    await g.write(remove_episodes=("e2",))
    await g.move(lease, ItemState.EXTRACTED, "e0", "e1", "e2", "e3", "nobody", stage=b"x", now_ms=NOW + 9)
    rows = await g.items()
    wanted = [("e0", ItemState.COMPLETED), ("e1", ItemState.PARKED), ("e3", ItemState.EXTRACTED)]
    assert [(r.uuid, r.state) for r in rows] == wanted
    assert rows[1].reason == "unreadable"
    assert await g.store.episode("e2", g.id) == []


async def test_only_started_items_move(g: Scratch) -> None:
    """Items that this lease has not started, or gave back by a failure, are passed over."""
    lease = await g.queued(g.episode("e1"), g.episode("e2"))
    await g.move(lease, ItemState.COMPLETED, "e1", "e2")
    await g.started(lease)
    moves = [
        Transition("e1", ItemState.EXTRACT_FAILED, NOW + 2, step=Step.EXTRACT, attempts=1, reason="x"),
        Transition("e1", ItemState.COMPLETED, NOW + 3),
    ]
    await g.store.save_transitions(lease, moves)
    await g.move(lease, ItemState.COMPLETED, "e1", "e2", now_ms=NOW + 4)
    found = [(row.uuid, row.state, row.updated_ms) for row in await g.items()]
    assert found == [("e1", ItemState.EXTRACT_FAILED, NOW + 2), ("e2", ItemState.COMPLETED, NOW + 4)]


async def test_failures_park_and_revive(g: Scratch) -> None:
    """PARKED is left only by retry_items; ACCEPTED by a transition gives the item back."""
    lease = await g.begun(g.episode("e1"))
    await g.move(lease, ItemState.EXTRACTED, "e1", stage=b"x")
    await g.move(lease, ItemState.ACCEPTED, "e1")
    item = await _item(g, "e1")
    assert (item.state, item.stage) == (ItemState.ACCEPTED, None)
    assert item.suspect is False


async def test_a_stale_lease_writes_nothing(g: Scratch) -> None:
    """LeaseLost after the group was claimed by another, or released; no item changed."""
    lost = await g.begun(g.episode("e1"), g.episode("e2"))
    held = await g.leased("worker-b")
    before = await g.items()
    moves = [Transition(uuid, ItemState.COMPLETED, NOW + 9) for uuid in ("e1", "e2")]
    with pytest.raises(LeaseLost):
        await g.store.save_transitions(lost, moves)
    assert await g.items() == before
    await g.started(held)
    await g.store.save_transitions(held, moves[:1])
    await g.store.release(held)
    before = await g.items()
    with pytest.raises(LeaseLost):
        await g.store.save_transitions(held, moves)
    assert await g.items() == before


async def test_transitions_leave_the_revision(g: Scratch) -> None:
    """Only the graph's changes bump rev."""
    await g.accepted(g.episode("e1"))
    before = await g.head()
    lease = await g.working()
    await g.move(lease, ItemState.PARKED, "e1", reason="unreadable")
    await g.store.retry_items(g.id, None, NOW)
    assert (await g.head()).rev == before.rev


async def test_work_is_counted_for_items_in_any_state(g: Scratch) -> None:
    """Beside a change of the graph or alone; nothing else of the items changes."""
    lease = await g.begun(*g.episodes(3))
    await g.move(lease, ItemState.COMPLETED, "e0")
    await g.store.release(lease)
    before = await g.items()
    spent = {"e0": Usage(1, 20, 3), "e1": Usage(0, 5, 0), "nobody": Usage(1, 1, 1)}
    for _ in range(2):
        await g.write(spent=spent, bumps_rev=False)
    wanted = {"e0": Usage(2, 40, 6), "e1": Usage(0, 10, 0)}
    after = tuple(replace(row, usage=row.usage + wanted.get(row.uuid, FREE)) for row in before)
    assert await g.items() == after


async def _item(g: Scratch, uuid: str) -> QueuedItem:
    """The item as the next owner, after a lapse, would receive it."""
    lease = await g.leased("reader")
    seen: list[str] = []
    while True:
        items = await g.store.start_items(lease, NOW + 10**6, MANY, HUGE, ())
        for item in items:
            if item.episode.uuid == uuid:
                return item
        await g.move(lease, ItemState.COMPLETED, *[i.episode.uuid for i in items])
        seen += [i.episode.uuid for i in items]
        if not items:
            pytest.fail(f"{uuid} is not among {seen}")
