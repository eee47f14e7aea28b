"""IntakeStore.accept: new items, duplicates, conflicts, several batches, a full queue, races."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import replace
from typing import TypeVar

from kgsvc.domain.errors import Conflict, Overloaded
from kgsvc.domain.model.items import AcceptBatch, Accepted, ItemState
from kgsvc.stores.conformance.samples import (
    MANY,
    NOW,
    ConformanceError,
    accepted,
    answer,
    batch,
    episode,
    equal,
    expect,
    head,
    leased,
    move,
    parked,
    present,
    started,
)
from kgsvc.stores.protocol import Store

_E = TypeVar("_E", bound=Exception)


async def new_items_are_accepted(store: Store, group_id: str) -> None:
    """New items answer with the batch's receipt, in order, in state ACCEPTED, none a duplicate."""
    call = batch(episode(group_id, "e2", at=1, name="second"), episode(group_id, "e1"))
    result = await answer(store, call)
    equal(result.receipt_id, call.receipt_id, "accept: receipt_id of new items")
    equal([i.uuid for i in result.items], ["e2", "e1"], "accept: order of the items")
    equal([i.name for i in result.items], ["second", None], "accept: names of the items")
    for item in result.items:
        equal(item.state, ItemState.ACCEPTED, "accept: state of a new item")
        equal(item.duplicate, False, "accept: duplicate of a new item")
        equal(item.group_id, group_id, "accept: group_id of an item")
        equal(item.receipt_id, call.receipt_id, "accept: receipt_id of a new item")
        equal((item.attempts, item.step, item.reason), (0, None, None), "accept: failures of a new item")


async def everything_is_readable_at_once(store: Store, group_id: str) -> None:
    """Group, Episodic records, items and receipt are there when accept returned."""
    made = episode(group_id, "e1", name="a name", source_description="notes")
    result = await accepted(store, made)
    equal(await store.episode("e1", group_id), [made], "episode: as accepted")
    equal(await store.recent_episodes(group_id, 5), [made], "recent_episodes: as accepted")
    expect(group_id in await store.group_ids(), "group_ids: the group is created by accept")
    expect(group_id in await store.heads([group_id]), "heads: the group is created by accept")
    page = await store.list_items(group_id, (), 5, None)
    equal([i.uuid for i in page.rows], ["e1"], "list_items: the new item")
    receipt = present(await store.receipt(result.receipt_id), "receipt: of an accepted call")
    equal([i.uuid for i in receipt.items], ["e1"], "receipt: its items")


async def no_batches_no_results(store: Store, group_id: str) -> None:
    """One result a batch: none for none, one for each otherwise."""
    equal(await store.accept([]), [], "accept: no batches")
    calls = [batch(episode(group_id, f"e{n}")) for n in range(3)]
    results = await store.accept(calls)
    got = [r.receipt_id for r in results if isinstance(r, Accepted)]
    equal(got, [c.receipt_id for c in calls], "accept: one result a batch, in order")


async def known_items_are_duplicates(store: Store, group_id: str) -> None:
    """An item that exists is reported as a duplicate with its present state, beside new ones."""
    await accepted(store, episode(group_id, "e1"))
    lease = await leased(store, group_id)
    await started(store, lease)
    await move(store, lease, ItemState.COMPLETED, "e1")
    result = await accepted(store, episode(group_id, "e1"), episode(group_id, "e2"))
    shown = [(i.uuid, i.duplicate, i.state) for i in result.items]
    wanted = [("e1", True, ItemState.COMPLETED), ("e2", False, ItemState.ACCEPTED)]
    equal(shown, wanted, "accept: a known item beside a new one")
    page = await store.list_items(group_id, (), 10, None)
    equal([i.uuid for i in page.rows], ["e1", "e2"], "list_items: duplicates are not stored again")
    equal(len(await store.recent_episodes(group_id, 10)), 2, "recent_episodes: none stored twice")


async def parked_duplicates_say_so(store: Store, group_id: str) -> None:
    """Replaying a parked item answers PARKED with its reason and does not revive it."""
    await parked(store, episode(group_id, "e1"), reason="no verb in it")
    result = await accepted(store, episode(group_id, "e1"))
    item = result.items[0]
    equal((item.duplicate, item.state), (True, ItemState.PARKED), "accept: replay of a parked item")
    equal(item.reason, "no verb in it", "accept: reason of a parked duplicate")
    page = await store.list_items(group_id, (ItemState.PARKED,), 5, None)
    equal([i.uuid for i in page.rows], ["e1"], "list_items: a replay leaves the item parked")


async def other_content_is_a_conflict(store: Store, group_id: str) -> None:
    """The same uuid with other content is CONFLICT naming the item; nothing of the batch is stored."""
    await accepted(store, episode(group_id, "e1"))
    call = batch(episode(group_id, "e0"), episode(group_id, "e1", body="something else"), idempotency_key="k")
    error = await _fails(store, call, Conflict)
    named = [v.field for v in error.violations]
    equal(named, ["items[1].uuid"], "accept: violations of the conflict")
    equal(await store.episode("e0", group_id), [], "accept: an episode of a refused batch")
    equal(await store.receipt(call.receipt_id), None, "accept: the receipt of a refused batch")
    kept = (await store.episode("e1", group_id))[0]
    equal(kept.body, "body of e1", "accept: the content after a conflict")
    retried = replace(call, items=call.items[:1], input_hash="another")
    equal((await answer(store, retried)).items[0].uuid, "e0", "accept: the key of a refused batch is free")


async def other_content_within_a_batch_is_a_conflict(store: Store, group_id: str) -> None:
    """Two items of a batch with one uuid and different content: CONFLICT naming the later one."""
    call = batch(
        episode(group_id, "e1"), episode(group_id, "e2"), episode(group_id, "e1", body="something else")
    )
    error = await _fails(store, call, Conflict)
    equal([v.field for v in error.violations], ["items[2].uuid"], "accept: violations of the conflict")
    equal(await store.recent_episodes(group_id, 5), [], "accept: episodes of a refused batch")
    equal((await store.list_items(group_id, (), 5, None)).rows, (), "accept: items of a refused batch")


async def twins_in_a_batch_are_duplicates(store: Store, group_id: str) -> None:
    """Two items of one batch with the same uuid and content: the second is a duplicate."""
    call = batch(episode(group_id, "e1"), episode(group_id, "e1"), episode(group_id, "e2"))
    result = await answer(store, call)
    shown = [(i.uuid, i.duplicate, i.state) for i in result.items]
    wanted = [(u, d, ItemState.ACCEPTED) for u, d in [("e1", False), ("e1", True), ("e2", False)]]
    equal(shown, wanted, "accept: twins in a batch")
    receipt = present(await store.receipt(call.receipt_id), "receipt: of a batch with twins")
    equal([(i.uuid, i.duplicate) for i in receipt.items], [s[:2] for s in shown], "receipt: twins in a batch")
    equal(len(await store.recent_episodes(group_id, 5)), 2, "recent_episodes: twins are stored once")


async def groups_are_independent(store: Store, group_id: str) -> None:
    """A uuid is unique within its group only."""
    other = f"{group_id}-2"
    await accepted(store, episode(group_id, "e1"))
    result = await accepted(store, episode(other, "e1", body="something else"))
    equal(result.items[0].duplicate, False, "accept: the same uuid in another group")


async def a_refused_batch_leaves_its_neighbours(store: Store, group_id: str) -> None:
    """Of several batches in one call each is accepted or refused by itself."""
    await accepted(store, episode(group_id, "e1"))
    calls = [
        batch(episode(group_id, "e2")),
        batch(episode(group_id, "e3"), episode(group_id, "e1", body="something else")),
        batch(episode(f"{group_id}-2", "e4")),
    ]
    results = await store.accept(calls)
    kinds = [type(r).__name__ for r in results]
    equal(kinds, ["Accepted", "Conflict", "Accepted"], "accept: a conflict between two good batches")
    equal([e.uuid for e in await store.recent_episodes(group_id, 9)], ["e1", "e2"], "accept: the good batch")
    equal(
        [e.uuid for e in await store.recent_episodes(f"{group_id}-2", 9)], ["e4"], "accept: the other group"
    )


async def batches_see_those_before_them(store: Store, group_id: str) -> None:
    """Batches of one call are taken in order: a later one's repetition is a duplicate, or a conflict."""
    calls = [
        batch(episode(group_id, "e1")),
        batch(episode(group_id, "e1"), episode(group_id, "e2")),
        batch(episode(group_id, "e2", body="something else")),
    ]
    first, second, third = await store.accept(calls)
    expect(isinstance(first, Accepted), f"accept: first batch, got {first!r}")
    expect(isinstance(third, Conflict), f"accept: conflict with an earlier batch of the call, got {third!r}")
    if not isinstance(second, Accepted):
        raise ConformanceError(f"accept: second batch, got {second!r}")
    equal([i.duplicate for i in second.items], [True, False], "accept: duplicates of an earlier batch")
    equal(second.receipt_id, calls[1].receipt_id, "accept: receipt of a batch with a new item")


async def a_full_replay_returns_the_first_receipt(store: Store, group_id: str) -> None:
    """All items duplicates of one receipt with as many items: that receipt, whatever the order."""
    first = await accepted(store, episode(group_id, "e1"), episode(group_id, "e2"))
    again = batch(episode(group_id, "e2"), episode(group_id, "e1"))
    result = await answer(store, again)
    equal(result.receipt_id, first.receipt_id, "accept: receipt of a full replay")
    equal([(i.uuid, i.duplicate) for i in result.items], [("e2", True), ("e1", True)], "accept: full replay")
    equal(await store.receipt(again.receipt_id), None, "receipt: the replay's own id is not used")


async def other_duplicates_get_their_own_receipt(store: Store, group_id: str) -> None:
    """All duplicates, but fewer than the first receipt has, or of two receipts: recorded for the batch."""
    await accepted(store, episode(group_id, "e1"), episode(group_id, "e2"))
    await accepted(store, episode(group_id, "e3"))
    for uuids in (["e1"], ["e2", "e3"], ["e1", "e2", "e3"]):
        call = batch(*[episode(group_id, uuid) for uuid in uuids])
        result = await answer(store, call)
        equal(result.receipt_id, call.receipt_id, f"accept: receipt of the duplicates {uuids}")
        receipt = present(await store.receipt(call.receipt_id), f"receipt: of the duplicates {uuids}")
        equal([i.uuid for i in receipt.items], uuids, "receipt: items that were all duplicates")
        expect(all(i.duplicate for i in receipt.items), "receipt: duplicate is kept within the receipt")


async def a_full_queue_is_overloaded(store: Store, group_id: str) -> None:
    """No room among `queue_items` unfinished items: Overloaded with a delay, nothing stored."""
    call = batch(episode(group_id, "e1"), queue_items=0)
    error = await _fails(store, call, Overloaded)
    expect(error.retry_after_ms > 0, f"accept: retry_after_ms of Overloaded is {error.retry_after_ms}")
    equal(await store.episode("e1", group_id), [], "accept: an episode refused by a full queue")
    equal(await store.receipt(call.receipt_id), None, "accept: the receipt of an overloaded batch")
    await accepted(store, *[episode(group_id, f"e{n}") for n in range(2, 5)])
    await _fails(store, batch(episode(group_id, "e5"), queue_items=1), Overloaded)
    equal((await answer(store, replace(call, queue_items=MANY))).receipt_id, call.receipt_id, "accept: later")


async def accepting_takes_no_lease_and_no_revision(store: Store, group_id: str) -> None:
    """Accepting changes neither the graph's revision nor the lease."""
    await accepted(store, episode(group_id, "e1"))
    before = await head(store, group_id)
    lease = await leased(store, group_id)
    await accepted(store, episode(group_id, "e2"))
    equal(await head(store, group_id), before, "heads: unchanged by accept")
    equal(await store.renew([lease]), [group_id], "renew: the lease survives accept")


async def racing_calls_accept_once(store: Store, group_id: str) -> None:
    """Concurrent calls with the same items: each item is new in exactly one of them."""
    made = [episode(group_id, f"e{n}", at=n) for n in range(4)]
    results = await asyncio.gather(*(store.accept([batch(*made)]) for _ in range(6)))
    new: list[str] = []
    for (result,) in results:
        if not isinstance(result, Accepted):
            raise ConformanceError(f"accept: a racing replay got {result!r}")
        new += [i.uuid for i in result.items if not i.duplicate]
    equal(sorted(new), [e.uuid for e in made], "accept: items that were new in racing calls")
    equal(await store.recent_episodes(group_id, 9), made, "recent_episodes: after racing calls")


async def a_cancelled_call_is_whole_or_not_at_all(store: Store, group_id: str) -> None:
    """Cancelling accept leaves all of a batch or nothing, and the store usable."""
    for n in range(6):
        made = [episode(group_id, f"e{n}-{k}") for k in range(3)]
        task = asyncio.create_task(store.accept([batch(*made)]))
        await asyncio.sleep(n * 0.0005)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        result = await accepted(store, *made, now_ms=NOW + 1)
        duplicates = {i.duplicate for i in result.items}
        equal(len(duplicates), 1, "accept: kinds of items after a cancelled call (new, or duplicates)")


async def _fails(store: Store, call: AcceptBatch, kind: type[_E]) -> _E:
    (result,) = await store.accept([call])
    if not isinstance(result, kind):
        raise ConformanceError(f"accept: wanted {kind.__name__}, got {result!r}")
    return result


HOUR = 3_600_000


async def the_same_key_replays_the_first_answer(store: Store, group_id: str) -> None:
    """A known key answers with the first receipt and items, every one marked duplicate."""
    call = batch(episode(group_id, "e1"), episode(group_id, "e2"), idempotency_key="k")
    first = await answer(store, call)
    again = replace(call, receipt_id=f"{call.receipt_id}-again", now_ms=NOW + HOUR)
    second = await answer(store, again)
    equal(second.receipt_id, first.receipt_id, "accept: receipt of a replay by key")
    shown = [(i.uuid, i.duplicate) for i in second.items]
    equal(shown, [("e1", True), ("e2", True)], "accept: items of a replay by key")
    equal(await store.receipt(again.receipt_id), None, "receipt: the replay's own id is not used")


async def a_replay_of_a_mixed_answer_is_all_duplicates(store: Store, group_id: str) -> None:
    """The first answer had duplicates and new items: the replay has the same order, all duplicates."""
    await accepted(store, episode(group_id, "e1"))
    call = batch(episode(group_id, "e2"), episode(group_id, "e1"), idempotency_key="k")
    first = await answer(store, call)
    equal([i.duplicate for i in first.items], [False, True], "accept: the first answer")
    second = await answer(store, replace(call, receipt_id="unused"))
    equal(second.receipt_id, first.receipt_id, "accept: receipt of a replay by key")
    equal([(i.uuid, i.duplicate) for i in second.items], [("e2", True), ("e1", True)], "accept: replay")


async def a_replay_shows_present_states(store: Store, group_id: str) -> None:
    """A replay tells what has become of the items meanwhile."""
    call = batch(episode(group_id, "e1"), idempotency_key="k")
    await answer(store, call)
    lease = await leased(store, group_id)
    await started(store, lease)
    await move(store, lease, ItemState.PARKED, "e1", reason="unreadable")
    item = (await answer(store, call)).items[0]
    equal((item.state, item.reason), (ItemState.PARKED, "unreadable"), "accept: replay of a parked item")


async def other_input_is_a_conflict(store: Store, group_id: str) -> None:
    """The same key with another input_hash is CONFLICT; nothing is stored."""
    await answer(store, batch(episode(group_id, "e1"), idempotency_key="k"))
    other = batch(episode(group_id, "e2"), idempotency_key="k")
    (result,) = await store.accept([other])
    expect(isinstance(result, Conflict), f"accept: wanted Conflict for other input, got {result!r}")
    equal(await store.episode("e2", group_id), [], "accept: an episode of a refused batch")
    equal(await store.receipt(other.receipt_id), None, "accept: the receipt of a refused batch")


async def keys_belong_to_operation_and_group(store: Store, group_id: str) -> None:
    """The same key of another operation or another group is another key."""
    calls = [
        batch(episode(group_id, "e1"), idempotency_key="k", operation="AddEpisodes"),
        batch(episode(group_id, "e2"), idempotency_key="k", operation="AddMessages"),
        batch(episode(f"{group_id}-2", "e3"), idempotency_key="k", operation="AddEpisodes"),
    ]
    results = await store.accept(calls)
    for call, result in zip(calls, results, strict=True):
        if not isinstance(result, Accepted):
            raise ConformanceError(f"accept: a key of its own scope got {result!r}")
        equal(result.receipt_id, call.receipt_id, "accept: a key of its own scope")
        equal(result.items[0].duplicate, False, "accept: a key of its own scope")


async def keys_lapse_after_the_window(store: Store, group_id: str) -> None:
    """After dedup_window_ms a key may be used for other input, and then stands for that."""
    first = batch(episode(group_id, "e1"), idempotency_key="k", dedup_window_ms=HOUR)
    await answer(store, first)
    within = await answer(store, replace(first, receipt_id="unused", now_ms=NOW + HOUR - 1))
    equal(within.receipt_id, first.receipt_id, "accept: a key in the last moment of its window")
    later = batch(episode(group_id, "e2"), idempotency_key="k", dedup_window_ms=HOUR, now_ms=NOW + HOUR)
    result = await answer(store, later)
    equal(result.receipt_id, later.receipt_id, "accept: a lapsed key with other input")
    equal(result.items[0].duplicate, False, "accept: an item under a lapsed key")
    again = await answer(store, replace(later, receipt_id="unused", now_ms=later.now_ms + HOUR // 2))
    equal(again.receipt_id, later.receipt_id, "accept: the key now stands for the later input")
    (refused,) = await store.accept([replace(first, now_ms=later.now_ms + 1)])
    expect(isinstance(refused, Conflict), f"accept: the earlier input under the renewed key: {refused!r}")


async def a_replay_in_the_same_call_is_recognised(store: Store, group_id: str) -> None:
    """Two batches of one call with one key: the second is the replay of the first."""
    call = batch(episode(group_id, "e1"), idempotency_key="k")
    first, second = await store.accept([call, replace(call, receipt_id=f"{call.receipt_id}-again")])
    if not isinstance(first, Accepted) or not isinstance(second, Accepted):
        raise ConformanceError(f"accept: a replay within one call got {first!r}, {second!r}")
    equal(second.receipt_id, first.receipt_id, "accept: receipt of a replay within one call")
    equal([first.items[0].duplicate, second.items[0].duplicate], [False, True], "accept: the same")
