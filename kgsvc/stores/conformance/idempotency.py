"""IntakeStore.accept with an idempotency key: replay, conflict, scope, window."""

from __future__ import annotations

from dataclasses import replace

from kgsvc.domain.errors import Conflict
from kgsvc.domain.items import Accepted, ItemState
from kgsvc.stores.conformance.expect import ConformanceError, equal, expect
from kgsvc.stores.conformance.samples import NOW, accepted, answer, batch, episode, leased, move, started
from kgsvc.stores.protocol import Store

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
