"""IntakeStore.accept: new items, duplicates, conflicts, several batches, a full queue, races."""

import asyncio
import contextlib
from dataclasses import replace
from typing import TypeVar

from kgsvc.domain.errors import Conflict, Overloaded
from kgsvc.domain.model.items import AcceptBatch, Accepted, ItemState, ItemStatus
from tests.support.samples import MANY, NOW, Scratch, batch, present

_E = TypeVar("_E", bound=Exception)


async def test_new_items_are_accepted(g: Scratch) -> None:
    """New items answer with the batch's receipt, in order, in state ACCEPTED, none a duplicate."""
    call = batch(g.episode("e2", at=1, name="second"), g.episode("e1"))
    result = await g.answer(call)
    assert result.receipt_id == call.receipt_id
    assert [i.uuid for i in result.items] == ["e2", "e1"]
    assert [i.name for i in result.items] == ["second", None]
    for item in result.items:
        assert item == ItemStatus(g.id, item.uuid, ItemState.ACCEPTED, call.receipt_id, NOW, item.name)


async def test_everything_is_readable_at_once(g: Scratch) -> None:
    """Group, Episodic records, items and receipt are there when accept returned."""
    made = g.episode("e1", name="a name", source_description="notes")
    result = await g.accepted(made)
    assert await g.store.episode("e1", g.id) == [made]
    assert await g.store.recent_episodes(g.id, 5) == [made]
    assert g.id in await g.store.group_ids()
    assert g.id in await g.store.heads([g.id])
    assert [i.uuid for i in await g.items()] == ["e1"]
    assert [i.uuid for i in present(await g.store.receipt(result.receipt_id)).items] == ["e1"]


async def test_no_batches_no_results(g: Scratch) -> None:
    """One result a batch: none for none, one for each otherwise."""
    assert await g.store.accept([]) == []
    calls = [batch(g.episode(f"e{n}")) for n in range(3)]
    results = await g.store.accept(calls)
    assert [r.receipt_id for r in results if isinstance(r, Accepted)] == [c.receipt_id for c in calls]


async def test_known_items_are_duplicates(g: Scratch) -> None:
    """An item that exists is reported as a duplicate with its present state, beside new ones."""
    lease = await g.begun(g.episode("e1"))
    await g.move(lease, ItemState.COMPLETED, "e1")
    result = await g.accepted(g.episode("e1"), g.episode("e2"))
    shown = [(i.uuid, i.duplicate, i.state) for i in result.items]
    assert shown == [("e1", True, ItemState.COMPLETED), ("e2", False, ItemState.ACCEPTED)]
    assert [i.uuid for i in await g.items()] == ["e1", "e2"]
    assert len(await g.store.recent_episodes(g.id, 10)) == 2


async def test_parked_duplicates_say_so(g: Scratch) -> None:
    """Replaying a parked item answers PARKED with its reason and does not revive it."""
    await g.parked(g.episode("e1"), reason="no verb in it")
    (item,) = (await g.accepted(g.episode("e1"))).items
    assert (item.duplicate, item.state, item.reason) == (True, ItemState.PARKED, "no verb in it")
    assert [i.uuid for i in (await g.store.list_items(g.id, (ItemState.PARKED,), 5, None)).rows] == ["e1"]


async def test_other_content_is_a_conflict(g: Scratch) -> None:
    """The same uuid with other content is CONFLICT naming the item; nothing of the batch is stored."""
    await g.accepted(g.episode("e1"))
    call = batch(g.episode("e0"), g.episode("e1", body="something else"), idempotency_key="k")
    assert [v.field for v in (await _fails(g, call, Conflict)).violations] == ["items[1].uuid"]
    assert (await g.store.episode("e1", g.id))[0].body == "body of e1"
    assert (await g.answer(replace(call, items=call.items[:1], input_hash="another"))).items[0].uuid == "e0"


async def test_other_content_within_a_batch_is_a_conflict(g: Scratch) -> None:
    """Two items of a batch with one uuid and different content: CONFLICT naming the later one."""
    call = batch(g.episode("e1"), g.episode("e2"), g.episode("e1", body="something else"))
    assert [v.field for v in (await _fails(g, call, Conflict)).violations] == ["items[2].uuid"]
    assert await g.items() == ()


async def test_twins_in_a_batch_are_duplicates(g: Scratch) -> None:
    """Two items of one batch with the same uuid and content: the second is a duplicate."""
    call = batch(g.episode("e1"), g.episode("e1"), g.episode("e2"))
    result = await g.answer(call)
    shown = [(i.uuid, i.duplicate, i.state) for i in result.items]
    assert shown == [(u, d, ItemState.ACCEPTED) for u, d in [("e1", False), ("e1", True), ("e2", False)]]
    receipt = present(await g.store.receipt(call.receipt_id))
    assert [(i.uuid, i.duplicate) for i in receipt.items] == [s[:2] for s in shown]
    assert len(await g.store.recent_episodes(g.id, 5)) == 2


async def test_groups_are_independent(g: Scratch) -> None:
    """A uuid is unique within its group only."""
    await g.accepted(g.episode("e1"))
    assert (await g.accepted(g.sibling().episode("e1", body="something else"))).items[0].duplicate is False


async def test_a_refused_batch_leaves_its_neighbours(g: Scratch) -> None:
    """Of several batches in one call each is accepted or refused by itself."""
    await g.accepted(g.episode("e1"))
    calls = [
        batch(g.episode("e2")),
        batch(g.episode("e3"), g.episode("e1", body="something else")),
        batch(g.sibling().episode("e4")),
    ]
    results = await g.store.accept(calls)
    assert [type(r).__name__ for r in results] == ["Accepted", "Conflict", "Accepted"]
    assert [e.uuid for e in await g.store.recent_episodes(g.id, 9)] == ["e1", "e2"]
    assert [e.uuid for e in await g.store.recent_episodes(g.sibling().id, 9)] == ["e4"]


async def test_batches_see_those_before_them(g: Scratch) -> None:
    """Batches of one call are taken in order: a later one's repetition is a duplicate, or a conflict."""
    calls = [
        batch(g.episode("e1")),
        batch(g.episode("e1"), g.episode("e2")),
        batch(g.episode("e2", body="something else")),
    ]
    first, second, third = await g.store.accept(calls)
    assert isinstance(first, Accepted)
    assert isinstance(third, Conflict)
    assert isinstance(second, Accepted)
    assert [i.duplicate for i in second.items] == [True, False]
    assert second.receipt_id == calls[1].receipt_id


async def test_a_full_replay_returns_the_first_receipt(g: Scratch) -> None:
    """All items duplicates of one receipt with as many items: that receipt, whatever the order."""
    first = await g.accepted(g.episode("e1"), g.episode("e2"))
    again = batch(g.episode("e2"), g.episode("e1"))
    result = await g.answer(again)
    assert result.receipt_id == first.receipt_id
    assert [(i.uuid, i.duplicate) for i in result.items] == [("e2", True), ("e1", True)]
    assert await g.store.receipt(again.receipt_id) is None


async def test_other_duplicates_get_their_own_receipt(g: Scratch) -> None:
    """All duplicates, but fewer than the first receipt has, or of two receipts: recorded for the batch."""
    await g.accepted(g.episode("e1"), g.episode("e2"))
    await g.accepted(g.episode("e3"))
    for uuids in (["e1"], ["e2", "e3"], ["e1", "e2", "e3"]):
        call = batch(*[g.episode(uuid) for uuid in uuids])
        assert (await g.answer(call)).receipt_id == call.receipt_id
        receipt = present(await g.store.receipt(call.receipt_id))
        assert [i.uuid for i in receipt.items] == uuids
        assert all(i.duplicate for i in receipt.items)


async def test_a_full_queue_is_overloaded(g: Scratch) -> None:
    """No room among `queue_items` unfinished items: Overloaded with a delay, nothing stored."""
    call = batch(g.episode("e1"), queue_items=0)
    assert (await _fails(g, call, Overloaded)).retry_after_ms > 0
    await g.accepted(*[g.episode(f"e{n}") for n in range(2, 5)])
    await _fails(g, batch(g.episode("e5"), queue_items=1), Overloaded)
    assert (await g.answer(replace(call, queue_items=MANY))).receipt_id == call.receipt_id


async def test_accepting_takes_no_lease_and_no_revision(g: Scratch) -> None:
    """Accepting changes neither the graph's revision nor the lease."""
    await g.accepted(g.episode("e1"))
    before = await g.head()
    lease = await g.leased()
    await g.accepted(g.episode("e2"))
    assert await g.head() == before
    assert await g.store.renew([lease]) == [g.id]


async def test_racing_calls_accept_once(g: Scratch) -> None:
    """Concurrent calls with the same items: each item is new in exactly one of them."""
    made = g.episodes(4, step=1)
    results = await asyncio.gather(*(g.store.accept([batch(*made)]) for _ in range(6)))
    new: list[str] = []
    for (result,) in results:
        assert isinstance(result, Accepted)
        new += [i.uuid for i in result.items if not i.duplicate]
    assert sorted(new) == [e.uuid for e in made]
    assert await g.store.recent_episodes(g.id, 9) == made


async def test_a_cancelled_call_is_whole_or_not_at_all(g: Scratch) -> None:
    """Cancelling accept leaves all of a batch or nothing, and the store usable."""
    for n in range(6):
        made = [g.episode(f"e{n}-{k}") for k in range(3)]
        task = asyncio.create_task(g.store.accept([batch(*made)]))
        await asyncio.sleep(n * 0.0005)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        assert len({i.duplicate for i in (await g.accepted(*made, now_ms=NOW + 1)).items}) == 1


async def _fails(g: Scratch, call: AcceptBatch, kind: type[_E]) -> _E:
    """The error that one batch must be refused with; it leaves no new episode and no receipt."""
    before = await g.store.recent_episodes(g.id, MANY)
    (result,) = await g.store.accept([call])
    assert isinstance(result, kind)
    assert await g.store.recent_episodes(g.id, MANY) == before
    assert await g.store.receipt(call.receipt_id) is None
    return result


HOUR = 3_600_000


async def test_the_same_key_replays_the_first_answer(g: Scratch) -> None:
    """A known key answers with the first receipt and items, every one marked duplicate."""
    call = batch(g.episode("e1"), g.episode("e2"), idempotency_key="k")
    first = await g.answer(call)
    again = replace(call, receipt_id=f"{call.receipt_id}-again", now_ms=NOW + HOUR)
    second = await g.answer(again)
    assert second.receipt_id == first.receipt_id
    assert [(i.uuid, i.duplicate) for i in second.items] == [("e1", True), ("e2", True)]
    assert await g.store.receipt(again.receipt_id) is None


async def test_a_replay_of_a_mixed_answer_is_all_duplicates(g: Scratch) -> None:
    """The first answer had duplicates and new items: the replay has the same order, all duplicates."""
    await g.accepted(g.episode("e1"))
    call = batch(g.episode("e2"), g.episode("e1"), idempotency_key="k")
    first = await g.answer(call)
    assert [i.duplicate for i in first.items] == [False, True]
    second = await g.answer(replace(call, receipt_id="unused"))
    assert second.receipt_id == first.receipt_id
    assert [(i.uuid, i.duplicate) for i in second.items] == [("e2", True), ("e1", True)]


async def test_a_replay_shows_present_states(g: Scratch) -> None:
    """A replay tells what has become of the items meanwhile."""
    call = batch(g.episode("e1"), idempotency_key="k")
    await g.answer(call)
    lease = await g.working()
    await g.move(lease, ItemState.PARKED, "e1", reason="unreadable")
    item = (await g.answer(call)).items[0]
    assert (item.state, item.reason) == (ItemState.PARKED, "unreadable")


async def test_other_input_is_a_conflict(g: Scratch) -> None:
    """The same key with another input_hash is CONFLICT; nothing is stored."""
    await g.answer(batch(g.episode("e1"), idempotency_key="k"))
    await _fails(g, batch(g.episode("e2"), idempotency_key="k"), Conflict)


async def test_keys_belong_to_operation_and_group(g: Scratch) -> None:
    """The same key of another operation or another group is another key."""
    calls = [
        batch(g.episode("e1"), idempotency_key="k", operation="AddEpisodes"),
        batch(g.episode("e2"), idempotency_key="k", operation="AddMessages"),
        batch(g.sibling().episode("e3"), idempotency_key="k", operation="AddEpisodes"),
    ]
    results = await g.store.accept(calls)
    for call, result in zip(calls, results, strict=True):
        assert isinstance(result, Accepted)
        assert result.receipt_id == call.receipt_id
        assert result.items[0].duplicate is False


async def test_keys_lapse_after_the_window(g: Scratch) -> None:
    """After dedup_window_ms a key may be used for other input, and then stands for that."""
    first = batch(g.episode("e1"), idempotency_key="k", dedup_window_ms=HOUR)
    await g.answer(first)
    within = await g.answer(replace(first, receipt_id="unused", now_ms=NOW + HOUR - 1))
    assert within.receipt_id == first.receipt_id
    later = batch(g.episode("e2"), idempotency_key="k", dedup_window_ms=HOUR, now_ms=NOW + HOUR)
    result = await g.answer(later)
    assert result.receipt_id == later.receipt_id
    assert result.items[0].duplicate is False
    again = await g.answer(replace(later, receipt_id="unused", now_ms=later.now_ms + HOUR // 2))
    assert again.receipt_id == later.receipt_id
    earlier = replace(first, receipt_id="unused", now_ms=later.now_ms + 1)
    await _fails(g, earlier, Conflict)


async def test_a_replay_in_the_same_call_is_recognised(g: Scratch) -> None:
    """Two batches of one call with one key: the second is the replay of the first."""
    call = batch(g.episode("e1"), idempotency_key="k")
    first, second = await g.store.accept([call, replace(call, receipt_id=f"{call.receipt_id}-again")])
    assert isinstance(first, Accepted)
    assert isinstance(second, Accepted)
    assert second.receipt_id == first.receipt_id
    assert [first.items[0].duplicate, second.items[0].duplicate] == [False, True]
