"""QueueStore.start_items: order, limits, what comes with an item, fencing."""

from __future__ import annotations

import asyncio

from kgsvc.domain.errors import LeaseLost
from kgsvc.domain.model.items import CRASH, ItemState, Step
from kgsvc.stores.conformance.samples import (
    HUGE,
    MANY,
    NOW,
    accepted,
    episode,
    equal,
    expect,
    leased,
    move,
    present,
    refused,
    started,
    work,
)
from kgsvc.stores.protocol import Store


async def items_come_by_reference_time_and_uuid(store: Store, group_id: str) -> None:
    """Order is (reference_ms, uuid), uuids by code point, whatever the order of acceptance."""
    wanted = [("z", -5), ("B", 0), ("a", 0), ("b", 0), ("c", 7), ("0", 9)]
    await accepted(store, *[episode(group_id, uuid, at=at) for uuid, at in reversed(wanted)])
    found = await started(store, await leased(store, group_id))
    equal(found, [uuid for uuid, _ in wanted], "start_items: order")


async def limit_and_exclude_hold(store: Store, group_id: str) -> None:
    """At most `limit`, none of those excluded."""
    await accepted(store, *[episode(group_id, f"e{n}", at=n) for n in range(6)])
    lease = await leased(store, group_id)
    first = await store.start_items(lease, NOW, 2, HUGE, ())
    equal([i.episode.uuid for i in first], ["e0", "e1"], "start_items: limit 2")
    second = await store.start_items(lease, NOW, 3, HUGE, ("e0", "e1"))
    equal([i.episode.uuid for i in second], ["e2", "e3", "e4"], "start_items: limit 3 without the first two")
    everything = [f"e{n}" for n in range(6)]
    equal(await store.start_items(lease, NOW, 9, HUGE, everything), [], "start_items: all excluded")


async def bytes_are_bounded(store: Store, group_id: str) -> None:
    """Bodies add up to about max_bytes, but one item comes however large."""
    await accepted(store, *[episode(group_id, f"e{n}", at=n, body="é" * 500) for n in range(6)])
    lease = await leased(store, group_id)
    few = await store.start_items(lease, NOW, MANY, 2_500, ())
    expect(len(few) in {2, 3}, f"start_items: {len(few)} bodies of 1,000 bytes for max_bytes 2,500")
    equal([i.episode.uuid for i in few], [f"e{n}" for n in range(len(few))], "start_items: the first ones")
    one = await store.start_items(lease, NOW, MANY, 1, [i.episode.uuid for i in few])
    equal(len(one), 1, "start_items: items for max_bytes 1")


async def items_come_whole(store: Store, group_id: str) -> None:
    """Episode, state, acceptance, attempts by step and the stored stage come with the item."""
    made = episode(group_id, "e1", name="a name", body="x" * 5_000, role="Ada", source_description="chat")
    await accepted(store, made, now_ms=NOW - 50)
    lease = await leased(store, group_id)
    (item,) = await store.start_items(lease, NOW, MANY, HUGE, ())
    equal(item.episode, made, "start_items: the episode as accepted")
    equal((item.state, item.accepted_ms), (ItemState.ACCEPTED, NOW - 50), "start_items: state, accepted_ms")
    equal((item.stage, item.suspect), (None, False), "start_items: stage and suspicion of a new item")
    equal(sum(item.attempts.values()), 0, "start_items: attempts of a new item")
    stage = bytes(range(256)) * 40
    await move(store, lease, ItemState.EXTRACTED, "e1", stage=stage)
    await move(store, lease, ItemState.EMBED_FAILED, "e1", step=Step.EMBED, attempts=3, keep_stage=True)
    (item,) = await store.start_items(lease, NOW, MANY, HUGE, ())
    equal(item.state, ItemState.EMBED_FAILED, "start_items: state of a failed item")
    equal(item.stage, stage, "start_items: the stored stage")
    equal(item.attempts.get("embed"), 3, "start_items: attempts of the step that failed")
    equal(item.attempts.get("extract", 0), 0, "start_items: attempts of another step")
    equal(item.accepted_ms, NOW - 50, "start_items: accepted_ms after transitions")


async def terminal_items_never_come(store: Store, group_id: str) -> None:
    """COMPLETED and PARKED items are not started."""
    await accepted(store, *[episode(group_id, f"e{n}") for n in range(3)])
    lease = await leased(store, group_id)
    await started(store, lease)
    await move(store, lease, ItemState.COMPLETED, "e0")
    await move(store, lease, ItemState.PARKED, "e1", reason="unreadable")
    equal(await started(store, lease, NOW + 10**9), ["e2"], "start_items: one completed, one parked")


async def a_lost_lease_starts_nothing(store: Store, group_id: str) -> None:
    """LeaseLost for a token that is no longer current; nothing is marked as started."""
    await accepted(store, episode(group_id, "e1"))
    lost = await leased(store, group_id)
    await leased(store, group_id, "worker-b")
    await refused(LeaseLost, store.start_items(lost, NOW, MANY, HUGE, ()), "start_items: a lost lease")
    lease = await leased(store, group_id, "worker-c")
    (item,) = await store.start_items(lease, NOW, MANY, HUGE, ())
    equal(item.suspect, False, "start_items: a lost lease had marked the item as started")


async def arrivals_are_found(store: Store, group_id: str) -> None:
    """Items accepted while the group is leased come with the next call, in their place by time."""
    await accepted(store, episode(group_id, "e5", at=5))
    lease = await leased(store, group_id)
    equal(await started(store, lease), ["e5"], "start_items: the first item")
    await accepted(store, episode(group_id, "e1", at=1), episode(group_id, "e9", at=9))
    items = await store.start_items(lease, NOW, MANY, HUGE, ("e5",))
    equal([i.episode.uuid for i in items], ["e1", "e9"], "start_items: arrivals")


async def a_group_with_work_is_ready(store: Store, group_id: str) -> None:
    """A group with a due unfinished item is ready and free; not after its last item ended."""
    equal(await work(store, group_id), None, "ready_groups: a group without items")
    await accepted(store, episode(group_id, "e1"))
    seen = present(await work(store, group_id), "ready_groups: a group with an accepted item")
    equal(seen.owner_id, None, "ready_groups: owner of a group that nobody leases")
    lease = await leased(store, group_id)
    held = present(await work(store, group_id), "ready_groups: a leased group with unfinished items")
    equal(held.owner_id, "worker-a", "ready_groups: owner_id")
    equal(held.owner_token, lease.token, "ready_groups: owner_token")
    equal(held.served_ms, NOW, "ready_groups: served_ms is the time of the claim")
    await started(store, lease)
    await move(store, lease, ItemState.COMPLETED, "e1")
    equal(await work(store, group_id, NOW + 10**9), None, "ready_groups: after the last item ended")


async def groups_wait_for_next_ms(store: Store, group_id: str) -> None:
    """An item is due at its next_ms and not before; next_due_ms tells when."""
    await accepted(store, episode(group_id, "e1"), episode(group_id, "e2"))
    lease = await leased(store, group_id)
    await started(store, lease)
    await move(store, lease, ItemState.COMPLETED, "e2")
    await move(store, lease, ItemState.EXTRACT_FAILED, "e1", next_ms=NOW + 1_000, reason="timeout")
    await store.release(lease)
    equal(await work(store, group_id, NOW + 999), None, "ready_groups: before next_ms")
    expect(await work(store, group_id, NOW + 1_000) is not None, "ready_groups: at next_ms")
    due = present(await store.next_due_ms(), "next_due_ms: with an unfinished item")
    expect(due <= NOW + 1_000, f"next_due_ms: {due} is later than the item's next_ms")
    lease = await leased(store, group_id, now_ms=NOW + 1_000)
    equal(await started(store, lease, NOW + 999), [], "start_items: before next_ms")
    equal(await started(store, lease, NOW + 1_000), ["e1"], "start_items: at next_ms")


async def least_recently_served_come_first(store: Store, group_id: str) -> None:
    """Groups are ordered by when they were last leased, whatever the size of their backlog; limit holds."""
    groups = [group_id, f"{group_id}-2", f"{group_id}-3"]
    for n, name in enumerate(groups):
        await accepted(store, *[episode(name, f"e{k}") for k in range(1 + 5 * n)])
    for served, name in enumerate([groups[1], groups[2], groups[0]]):
        await store.release(await leased(store, name, now_ms=NOW + 10 * served))
    equal(await _order(store, groups), [groups[1], groups[2], groups[0]], "ready_groups: order")
    await store.release(await leased(store, groups[1], now_ms=NOW + 100))
    equal(await _order(store, groups), [groups[2], groups[0], groups[1]], "ready_groups: order, one served")
    for limit in (1, 2):
        found = len(await store.ready_groups(NOW + 200, limit))
        equal(found, limit, f"ready_groups: groups found for limit {limit} with three ready")


async def _order(store: Store, groups: list[str]) -> list[str]:
    ready = await store.ready_groups(NOW + 200, MANY)
    return [seen.group_id for seen in ready if seen.group_id in groups]


async def tokens_grow(store: Store, group_id: str) -> None:
    """Every claim makes the token one more, also after a release and for another owner."""
    await accepted(store, episode(group_id, "e1"))
    seen = present(await work(store, group_id), "ready_groups: a group with work")
    token = seen.owner_token
    for owner_id in ("worker-a", "worker-b", "worker-b"):
        lease = await leased(store, group_id, owner_id)
        equal((lease.group_id, lease.owner_id), (group_id, owner_id), "claim: whose lease it is")
        equal(lease.token, token + 1, "claim: the token after one more claim")
        heads = await store.heads([group_id])
        equal(lease.epoch, heads[group_id].epoch, "claim: the lease carries the group's epoch")
        token = lease.token
        await store.release(lease)


async def one_claim_of_the_same_sight_wins(store: Store, group_id: str) -> None:
    """Two claims of the same `seen`, one after the other or at once: one lease, the other None."""
    await accepted(store, episode(group_id, "e1"))
    seen = present(await work(store, group_id), "ready_groups: a group with work")
    first = present(await store.claim(seen, "worker-a", NOW), "claim: of the group as seen")
    equal(await store.claim(seen, "worker-b", NOW), None, "claim: when somebody was faster")
    equal(await store.claim(seen, "worker-a", NOW), None, "claim: by the owner, with the old sight")
    equal(await store.renew([first]), [group_id], "renew: the winner keeps its lease")
    for n in range(5):
        seen = present(await work(store, group_id), "ready_groups: a group with work")
        owners = [f"worker-{n}-{k}" for k in range(4)]
        claims = await asyncio.gather(*(store.claim(seen, owner, NOW) for owner in owners))
        won = [lease for lease in claims if lease is not None]
        equal(len(won), 1, "claim: winners of four claims at once")
        current = present(await work(store, group_id), "ready_groups: after the race")
        equal((current.owner_id, current.owner_token), (won[0].owner_id, won[0].token), "claim: the record")


async def a_renewal_outdates_what_was_seen(store: Store, group_id: str) -> None:
    """renew moves the counter, so that a claim of what was seen before comes too late."""
    await accepted(store, episode(group_id, "e1"))
    lease = await leased(store, group_id)
    seen = present(await work(store, group_id), "ready_groups: a leased group")
    equal(await store.renew([lease]), [group_id], "renew: a held lease")
    moved = present(await work(store, group_id), "ready_groups: a renewed group")
    expect(moved.renewals != seen.renewals, "renew: the renewal counter stands still")
    equal(await store.claim(seen, "worker-b", NOW), None, "claim: after a renewal")
    expect(await store.claim(moved, "worker-b", NOW) is not None, "claim: of a lapsed lease as it is now")


async def renew_tells_what_is_still_held(store: Store, group_id: str) -> None:
    """Only leases still held are renewed and named; a lost one moves no counter."""
    other = f"{group_id}-2"
    await accepted(store, episode(group_id, "e1"))
    await accepted(store, episode(other, "e1"))
    lost, held = await leased(store, group_id), await leased(store, other)
    taken = await leased(store, group_id, "worker-b")
    before = present(await work(store, group_id), "ready_groups: a leased group")
    equal(await store.renew([lost, held]), [other], "renew: one lost, one held")
    equal(await work(store, group_id), before, "renew: a lost lease changes nothing")
    equal(sorted(await store.renew([taken, held])), sorted([group_id, other]), "renew: both held")
    equal(await store.renew([]), [], "renew: no leases")
    await store.release(taken)
    equal(await store.renew([taken]), [], "renew: after release")


async def release_frees_the_group(store: Store, group_id: str) -> None:
    """After release the group is free, its started items are unmarked and no suspects."""
    await accepted(store, episode(group_id, "e1"), episode(group_id, "e2", at=1))
    lease = await leased(store, group_id)
    await started(store, lease)
    await store.release(lease)
    seen = present(await work(store, group_id), "ready_groups: a released group")
    equal(seen.owner_id, None, "ready_groups: owner of a released group")
    await refused(LeaseLost, store.start_items(lease, NOW, MANY, HUGE, ()), "start_items: after release")
    again = present(await store.claim(seen, "worker-b", NOW), "claim: of a released group")
    items = await store.start_items(again, NOW, MANY, HUGE, ())
    shown = [(i.episode.uuid, i.suspect) for i in items]
    equal(shown, [("e1", False), ("e2", False)], "start_items: after a release")


async def releasing_a_lost_lease_does_nothing(store: Store, group_id: str) -> None:
    """release of a lease that is no longer held leaves the new owner's lease and items alone."""
    await accepted(store, episode(group_id, "e1"))
    lost = await leased(store, group_id)
    held = await leased(store, group_id, "worker-b")
    await started(store, held)
    await store.release(lost)
    equal(await store.renew([held]), [group_id], "release: of a lost lease")
    await leased(store, group_id, "worker-c")
    seen = present(await work(store, group_id), "ready_groups: a leased group")
    final = present(await store.claim(seen, "worker-d", NOW), "claim: of a lapsed lease")
    (item,) = await store.start_items(final, NOW, MANY, HUGE, ())
    expect(item.suspect, "release: of a lost lease unmarked the new owner's started item")


async def a_lapse_makes_started_items_suspect(store: Store, group_id: str) -> None:
    """Claiming a group that had an owner makes its started items suspect, the others not."""
    await accepted(store, *[episode(group_id, f"e{n}", at=n) for n in range(4)])
    dead = await leased(store, group_id)
    items = await store.start_items(dead, NOW, 2, HUGE, ())
    equal([i.suspect for i in items], [False, False], "start_items: suspect, when nobody died")
    lease = await leased(store, group_id, "worker-b")
    suspects: list[str] = []
    for _ in range(2):
        (item,) = await store.start_items(lease, NOW, MANY, HUGE, ())
        expect(item.suspect, f"start_items: {item.episode.uuid} was started by a process that died")
        suspects.append(item.episode.uuid)
        await move(store, lease, ItemState.COMPLETED, item.episode.uuid)
    equal(suspects, ["e0", "e1"], "start_items: suspects one by one")
    rest = await store.start_items(lease, NOW, MANY, HUGE, ())
    shown = [(i.episode.uuid, i.suspect) for i in rest]
    equal(shown, [("e2", False), ("e3", False)], "start_items: after the suspects")


async def suspects_come_only_alone(store: Store, group_id: str) -> None:
    """While something is excluded, that is in work, no suspect is given out."""
    await accepted(store, *[episode(group_id, f"e{n}", at=n) for n in range(3)])
    dead = await leased(store, group_id)
    await store.start_items(dead, NOW, 1, HUGE, ())
    lease = await leased(store, group_id, "worker-b")
    for excluded in (("e1",), ("e1", "e2"), ("e0",)):
        items = await store.start_items(lease, NOW, MANY, HUGE, excluded)
        expect(not any(i.suspect for i in items), f"start_items: a suspect beside excluded {excluded}")
    (alone,) = await store.start_items(lease, NOW, MANY, HUGE, ())
    equal((alone.episode.uuid, alone.suspect), ("e0", True), "start_items: nothing excluded, a suspect due")


async def finished_failures_are_no_suspects(store: Store, group_id: str) -> None:
    """A failure unmarks `started`: the item is not blamed for a later crash of its process."""
    await accepted(store, episode(group_id, "e1"))
    dead = await leased(store, group_id)
    await started(store, dead)
    await move(store, dead, ItemState.EXTRACT_FAILED, "e1", next_ms=NOW, reason="timeout")
    lease = await leased(store, group_id, "worker-b")
    (item,) = await store.start_items(lease, NOW, MANY, HUGE, ())
    equal((item.episode.uuid, item.suspect), ("e1", False), "start_items: failed before the crash")


async def a_transition_clears_the_suspicion(store: Store, group_id: str) -> None:
    """A suspect that failed alone without a crash is no suspect any more and holds nobody up."""
    await accepted(store, *[episode(group_id, f"e{n}", at=n) for n in range(3)])
    await store.start_items(await leased(store, group_id), NOW, 1, HUGE, ())
    lease = await leased(store, group_id, "worker-b")
    (suspect,) = await store.start_items(lease, NOW, MANY, HUGE, ())
    failure = {"next_ms": NOW + 5_000, "reason": "timeout"}
    await move(store, lease, ItemState.EXTRACT_FAILED, suspect.episode.uuid, **failure)
    equal(await started(store, lease), ["e1", "e2"], "start_items: the suspect waits for its next_ms")
    items = await store.start_items(lease, NOW + 5_000, MANY, HUGE, ())
    shown = [(i.episode.uuid, i.suspect) for i in items]
    equal(shown, [("e0", False), ("e1", False), ("e2", False)], "start_items: the suspicion is gone")
    equal(items[0].attempts.get(CRASH), 1, "start_items: the count of crashes stays")


async def crashes_are_counted_when_begun_alone(store: Store, group_id: str) -> None:
    """Each time a suspect is given out alone its crash count grows by one; nobody else's does."""
    await accepted(store, episode(group_id, "e0"), episode(group_id, "e1", at=1))
    items = await store.start_items(await leased(store, group_id), NOW, MANY, HUGE, ())
    equal([i.attempts.get(CRASH, 0) for i in items], [0, 0], "start_items: crashes before any lapse")
    for n in range(1, 4):
        lease = await leased(store, group_id, f"worker-{n}")
        (item,) = await store.start_items(lease, NOW, MANY, HUGE, ())
        found = (item.episode.uuid, item.suspect, item.attempts.get(CRASH))
        equal(found, ("e0", True, n), f"start_items: after {n} lapses")
    await move(store, lease, ItemState.PARKED, "e0", reason="it kills its process")
    (item,) = await store.start_items(lease, NOW, MANY, HUGE, ())
    found = (item.episode.uuid, item.suspect, item.attempts.get(CRASH))
    equal(found, ("e1", True, 1), "start_items: the neighbour of a poisonous item")


async def release_takes_back_a_counted_crash(store: Store, group_id: str) -> None:
    """A suspect that was begun and given back by release counts as before: no process died of it."""
    await accepted(store, episode(group_id, "e1"))
    await started(store, await leased(store, group_id))
    for worker in ("worker-b", "worker-c"):
        lease = await leased(store, group_id, worker)
        (item,) = await store.start_items(lease, NOW, MANY, HUGE, ())
        equal((item.suspect, item.attempts.get(CRASH)), (True, 1), f"start_items: for {worker}")
        await store.release(lease)
