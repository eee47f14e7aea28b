"""QueueStore.start_items: order, limits, what comes with an item, fencing."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from kgsvc.domain.errors import LeaseLost
from kgsvc.domain.model.items import CRASH, ItemState, Lease, QueuedItem, Step
from kgsvc.stores.conformance.expectations import equal, expect, present, refused
from kgsvc.stores.conformance.samples import HUGE, MANY, NOW, Scratch


async def items_come_by_reference_time_and_uuid(g: Scratch) -> None:
    """Order is (reference_ms, uuid), uuids by code point, whatever the order of acceptance."""
    wanted = [("z", -5), ("B", 0), ("a", 0), ("b", 0), ("c", 7), ("0", 9)]
    await g.accepted(*[g.episode(uuid, at=at) for uuid, at in reversed(wanted)])
    found = await g.started(await g.leased())
    equal(found, [uuid for uuid, _ in wanted], "start_items: order")


async def limit_and_exclude_hold(g: Scratch) -> None:
    """At most `limit`, none of those excluded."""
    lease = await g.queued(*g.episodes(6, step=1))
    first = await g.store.start_items(lease, NOW, 2, HUGE, ())
    equal([i.episode.uuid for i in first], ["e0", "e1"], "start_items: limit 2")
    second = await g.store.start_items(lease, NOW, 3, HUGE, ("e0", "e1"))
    equal([i.episode.uuid for i in second], ["e2", "e3", "e4"], "start_items: limit 3 without the first two")
    everything = [f"e{n}" for n in range(6)]
    equal(await g.store.start_items(lease, NOW, 9, HUGE, everything), [], "start_items: all excluded")


async def bytes_are_bounded(g: Scratch) -> None:
    """Bodies add up to about max_bytes, but one item comes however large."""
    lease = await g.queued(*g.episodes(6, step=1, body="é" * 500))
    few = await g.store.start_items(lease, NOW, MANY, 2_500, ())
    expect(len(few) in {2, 3}, f"start_items: {len(few)} bodies of 1,000 bytes for max_bytes 2,500")
    equal([i.episode.uuid for i in few], [f"e{n}" for n in range(len(few))], "start_items: the first ones")
    one = await g.store.start_items(lease, NOW, MANY, 1, [i.episode.uuid for i in few])
    equal(len(one), 1, "start_items: items for max_bytes 1")


async def items_come_whole(g: Scratch) -> None:
    """Episode, state, acceptance, attempts by step and the stored stage come with the item."""
    made = g.episode("e1", name="a name", body="x" * 5_000, role="Ada", source_description="chat")
    lease = await g.queued(made, now_ms=NOW - 50)
    (item,) = await g.due(lease)
    new = QueuedItem(made, ItemState.ACCEPTED, NOW - 50, {})
    equal(replace(item, ontology=0), new, "start_items: a new item")
    stage = bytes(range(256)) * 40
    await g.move(lease, ItemState.EXTRACTED, "e1", stage=stage)
    await g.move(lease, ItemState.EMBED_FAILED, "e1", step=Step.EMBED, attempts=3, keep_stage=True)
    (item,) = await g.due(lease)
    failed = QueuedItem(made, ItemState.EMBED_FAILED, NOW - 50, {"embed": 3}, stage)
    equal(replace(item, ontology=0), failed, "start_items: a failed item with attempts and stage")


async def terminal_items_never_come(g: Scratch) -> None:
    """COMPLETED and PARKED items are not started."""
    lease = await g.begun(*g.episodes(3))
    await g.move(lease, ItemState.COMPLETED, "e0")
    await g.move(lease, ItemState.PARKED, "e1", reason="unreadable")
    equal(await g.started(lease, NOW + 10**9), ["e2"], "start_items: one completed, one parked")


async def a_lost_lease_starts_nothing(g: Scratch) -> None:
    """LeaseLost for a token that is no longer current; nothing is marked as started."""
    lost = await g.queued(g.episode("e1"))
    await g.leased("worker-b")
    await refused(LeaseLost, g.due(lost), "start_items: a lost lease")
    lease = await g.leased("worker-c")
    (item,) = await g.due(lease)
    equal(item.suspect, False, "start_items: a lost lease had marked the item as started")


async def arrivals_are_found(g: Scratch) -> None:
    """Items accepted while the group is leased come with the next call, in their place by time."""
    lease = await g.queued(g.episode("e5", at=5))
    equal(await g.started(lease), ["e5"], "start_items: the first item")
    await g.accepted(g.episode("e1", at=1), g.episode("e9", at=9))
    items = await g.store.start_items(lease, NOW, MANY, HUGE, ("e5",))
    equal([i.episode.uuid for i in items], ["e1", "e9"], "start_items: arrivals")


async def a_group_with_work_is_ready(g: Scratch) -> None:
    """A group with a due unfinished item is ready and free; not after its last item ended."""
    equal(await g.work(), None, "ready_groups: a group without items")
    await g.accepted(g.episode("e1"))
    seen = present(await g.work(), "ready_groups: a group with an accepted item")
    equal(seen.owner_id, None, "ready_groups: owner of a group that nobody leases")
    lease = await g.leased()
    held = present(await g.work(), "ready_groups: a leased group with unfinished items")
    shown = (held.owner_id, held.owner_token, held.served_ms)
    equal(shown, ("worker-a", lease.token, NOW), "ready_groups: owner, token and time of the claim")
    await g.started(lease)
    await g.move(lease, ItemState.COMPLETED, "e1")
    equal(await g.work(NOW + 10**9), None, "ready_groups: after the last item ended")


async def groups_wait_for_next_ms(g: Scratch) -> None:
    """An item is due at its next_ms and not before; next_due_ms tells when."""
    lease = await g.begun(g.episode("e1"), g.episode("e2"))
    await g.move(lease, ItemState.COMPLETED, "e2")
    await g.move(lease, ItemState.EXTRACT_FAILED, "e1", next_ms=NOW + 1_000, reason="timeout")
    await g.store.release(lease)
    equal(await g.work(NOW + 999), None, "ready_groups: before next_ms")
    expect(await g.work(NOW + 1_000) is not None, "ready_groups: at next_ms")
    due = present(await g.store.next_due_ms(), "next_due_ms: with an unfinished item")
    expect(due <= NOW + 1_000, f"next_due_ms: {due} is later than the item's next_ms")
    lease = await g.leased(now_ms=NOW + 1_000)
    equal(await g.started(lease, NOW + 999), [], "start_items: before next_ms")
    equal(await g.started(lease, NOW + 1_000), ["e1"], "start_items: at next_ms")


async def least_recently_served_come_first(g: Scratch) -> None:
    """Groups are ordered by when they were last leased, whatever the size of their backlog; limit holds."""
    groups = first, second, third = g, g.sibling(), g.sibling(3)

    async def order() -> list[str]:
        ids = {each.id for each in groups}
        ready = await g.store.ready_groups(NOW + 200, MANY)
        return [seen.group_id for seen in ready if seen.group_id in ids]

    for n, each in enumerate(groups):
        await each.accepted(*each.episodes(1 + 5 * n))
    for served, each in enumerate([second, third, first]):
        await g.store.release(await each.leased(now_ms=NOW + 10 * served))
    equal(await order(), [second.id, third.id, first.id], "ready_groups: order")
    await g.store.release(await second.leased(now_ms=NOW + 100))
    equal(await order(), [third.id, first.id, second.id], "ready_groups: order, one served")
    for limit in (1, 2):
        found = len(await g.store.ready_groups(NOW + 200, limit))
        equal(found, limit, f"ready_groups: groups found for limit {limit} with three ready")


async def tokens_grow(g: Scratch) -> None:
    """Every claim makes the token one more, also after a release and for another owner."""
    await g.accepted(g.episode("e1"))
    seen = present(await g.work(), "ready_groups: a group with work")
    token = seen.owner_token
    for owner_id in ("worker-a", "worker-b", "worker-b"):
        lease = await g.leased(owner_id)
        equal((lease.group_id, lease.owner_id), (g.id, owner_id), "claim: whose lease it is")
        equal(lease.token, token + 1, "claim: the token after one more claim")
        equal(lease.epoch, (await g.head()).epoch, "claim: the lease carries the group's epoch")
        token = lease.token
        await g.store.release(lease)


async def one_claim_of_the_same_sight_wins(g: Scratch) -> None:
    """Two claims of the same `seen`, one after the other or at once: one lease, the other None."""
    await g.accepted(g.episode("e1"))
    seen = present(await g.work(), "ready_groups: a group with work")
    first = present(await g.store.claim(seen, "worker-a", NOW), "claim: of the group as seen")
    equal(await g.store.claim(seen, "worker-b", NOW), None, "claim: when somebody was faster")
    equal(await g.store.claim(seen, "worker-a", NOW), None, "claim: by the owner, with the old sight")
    equal(await g.store.renew([first]), [g.id], "renew: the winner keeps its lease")
    for n in range(5):
        seen = present(await g.work(), "ready_groups: a group with work")
        owners = [f"worker-{n}-{k}" for k in range(4)]
        claims = await asyncio.gather(*(g.store.claim(seen, owner, NOW) for owner in owners))
        won = [lease for lease in claims if lease is not None]
        equal(len(won), 1, "claim: winners of four claims at once")
        current = present(await g.work(), "ready_groups: after the race")
        equal((current.owner_id, current.owner_token), (won[0].owner_id, won[0].token), "claim: the record")


async def a_renewal_outdates_what_was_seen(g: Scratch) -> None:
    """renew moves the counter, so that a claim of what was seen before comes too late."""
    lease = await g.queued(g.episode("e1"))
    seen = present(await g.work(), "ready_groups: a leased group")
    equal(await g.store.renew([lease]), [g.id], "renew: a held lease")
    moved = present(await g.work(), "ready_groups: a renewed group")
    expect(moved.renewals != seen.renewals, "renew: the renewal counter stands still")
    equal(await g.store.claim(seen, "worker-b", NOW), None, "claim: after a renewal")
    expect(await g.store.claim(moved, "worker-b", NOW) is not None, "claim: of a lapsed lease as it is now")


async def renew_tells_what_is_still_held(g: Scratch) -> None:
    """Only leases still held are renewed and named; a lost one moves no counter."""
    other = g.sibling().id
    lost, held = await g.queued(g.episode("e1")), await g.queued(g.sibling().episode("e1"))
    taken = await g.leased("worker-b")
    before = present(await g.work(), "ready_groups: a leased group")
    equal(await g.store.renew([lost, held]), [other], "renew: one lost, one held")
    equal(await g.work(), before, "renew: a lost lease changes nothing")
    equal(sorted(await g.store.renew([taken, held])), sorted([g.id, other]), "renew: both held")
    equal(await g.store.renew([]), [], "renew: no leases")
    await g.store.release(taken)
    equal(await g.store.renew([taken]), [], "renew: after release")


async def release_frees_the_group(g: Scratch) -> None:
    """After release the group is free, its started items are unmarked and no suspects."""
    lease = await g.begun(g.episode("e1"), g.episode("e2", at=1))
    await g.store.release(lease)
    seen = present(await g.work(), "ready_groups: a released group")
    equal(seen.owner_id, None, "ready_groups: owner of a released group")
    await refused(LeaseLost, g.due(lease), "start_items: after release")
    again = present(await g.store.claim(seen, "worker-b", NOW), "claim: of a released group")
    equal(await _begun(g, again), [("e1", False, 0), ("e2", False, 0)], "start_items: after a release")


async def releasing_a_lost_lease_does_nothing(g: Scratch) -> None:
    """release of a lease that is no longer held leaves the new owner's lease and items alone."""
    lost = await g.queued(g.episode("e1"))
    held = await g.working("worker-b")
    await g.store.release(lost)
    equal(await g.store.renew([held]), [g.id], "release: of a lost lease")
    await g.leased("worker-c")
    seen = present(await g.work(), "ready_groups: a leased group")
    final = present(await g.store.claim(seen, "worker-d", NOW), "claim: of a lapsed lease")
    (item,) = await g.due(final)
    expect(item.suspect, "release: of a lost lease unmarked the new owner's started item")


async def a_lapse_makes_started_items_suspect(g: Scratch) -> None:
    """Claiming a group that had an owner makes its started items suspect, the others not."""
    dead = await g.queued(*g.episodes(4, step=1))
    items = await g.store.start_items(dead, NOW, 2, HUGE, ())
    equal([i.suspect for i in items], [False, False], "start_items: suspect, when nobody died")
    lease = await g.leased("worker-b")
    for uuid in ("e0", "e1"):
        equal(await _begun(g, lease), [(uuid, True, 1)], "start_items: suspects one by one")
        await g.move(lease, ItemState.COMPLETED, uuid)
    equal(await _begun(g, lease), [("e2", False, 0), ("e3", False, 0)], "start_items: after the suspects")


async def suspects_come_only_alone(g: Scratch) -> None:
    """While something is excluded, that is in work, no suspect is given out."""
    dead = await g.queued(*g.episodes(3, step=1))
    await g.store.start_items(dead, NOW, 1, HUGE, ())
    lease = await g.leased("worker-b")
    for excluded in (("e1",), ("e1", "e2"), ("e0",)):
        items = await g.store.start_items(lease, NOW, MANY, HUGE, excluded)
        expect(not any(i.suspect for i in items), f"start_items: a suspect beside excluded {excluded}")
    equal(await _begun(g, lease), [("e0", True, 1)], "start_items: nothing excluded, a suspect due")


async def finished_failures_are_no_suspects(g: Scratch) -> None:
    """A failure unmarks `started`: the item is not blamed for a later crash of its process."""
    dead = await g.begun(g.episode("e1"))
    await g.move(dead, ItemState.EXTRACT_FAILED, "e1", next_ms=NOW, reason="timeout")
    lease = await g.leased("worker-b")
    equal(await _begun(g, lease), [("e1", False, 0)], "start_items: failed before the crash")


async def a_transition_clears_the_suspicion(g: Scratch) -> None:
    """A suspect that failed alone without a crash is no suspect any more and holds nobody up."""
    await g.accepted(*g.episodes(3, step=1))
    await g.store.start_items(await g.leased(), NOW, 1, HUGE, ())
    lease = await g.leased("worker-b")
    equal(await _begun(g, lease), [("e0", True, 1)], "start_items: a suspect alone")
    await g.move(lease, ItemState.EXTRACT_FAILED, "e0", next_ms=NOW + 5_000, reason="timeout")
    equal(await g.started(lease), ["e1", "e2"], "start_items: the suspect waits for its next_ms")
    wanted = [("e0", False, 1), ("e1", False, 0), ("e2", False, 0)]
    equal(await _begun(g, lease, NOW + 5_000), wanted, "start_items: the crash still counts")


async def crashes_are_counted_when_begun_alone(g: Scratch) -> None:
    """Each time a suspect is given out alone its crash count grows by one; nobody else's does."""
    await g.accepted(g.episode("e0"), g.episode("e1", at=1))
    items = await _begun(g, await g.leased())
    equal(items, [("e0", False, 0), ("e1", False, 0)], "start_items: crashes before any lapse")
    for n in range(1, 4):
        lease = await g.leased(f"worker-{n}")
        equal(await _begun(g, lease), [("e0", True, n)], f"start_items: after {n} lapses")
    await g.move(lease, ItemState.PARKED, "e0", reason="it kills its process")
    equal(await _begun(g, lease), [("e1", True, 1)], "start_items: the neighbour of a poisonous item")


async def release_takes_back_a_counted_crash(g: Scratch) -> None:
    """A suspect that was begun and given back by release counts as before: no process died of it."""
    await g.accepted(g.episode("e1"))
    await g.started(await g.leased())
    for worker in ("worker-b", "worker-c"):
        lease = await g.leased(worker)
        equal(await _begun(g, lease), [("e1", True, 1)], f"start_items: for {worker}")
        await g.store.release(lease)


async def _begun(g: Scratch, lease: Lease, now_ms: int = NOW) -> list[tuple[str, bool, int]]:
    """Uuid, suspicion and counted crashes of the items that the lease is given now."""
    given = await g.store.start_items(lease, now_ms, MANY, HUGE, ())
    return [(item.episode.uuid, item.suspect, item.attempts.get(CRASH, 0)) for item in given]
