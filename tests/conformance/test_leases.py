"""QueueStore.start_items: order, limits, what comes with an item, fencing."""

import asyncio
from dataclasses import replace

import pytest

from kgsvc.domain.errors import LeaseLost
from kgsvc.domain.model.items import CRASH, ItemState, Lease, QueuedItem, Step
from tests.support.samples import HUGE, MANY, NOW, Scratch, claim, present


async def test_items_come_by_reference_time_and_uuid(g: Scratch) -> None:
    """Order is (reference_ms, uuid), uuids by code point, whatever the order of acceptance."""
    wanted = [("z", -5), ("B", 0), ("a", 0), ("b", 0), ("c", 7), ("0", 9)]
    await g.accepted(*[g.episode(uuid, at=at) for uuid, at in reversed(wanted)])
    assert await g.started(await g.leased()) == [uuid for uuid, _ in wanted]


async def test_limit_and_exclude_hold(g: Scratch) -> None:
    """At most `limit`, none of those excluded."""
    lease = await g.queued(*g.episodes(6, step=1))
    assert [i.episode.uuid for i in await g.store.start_items(lease, NOW, 2, HUGE, ())] == ["e0", "e1"]
    second = await g.store.start_items(lease, NOW, 3, HUGE, ("e0", "e1"))
    assert [i.episode.uuid for i in second] == ["e2", "e3", "e4"]
    assert await g.store.start_items(lease, NOW, 9, HUGE, [f"e{n}" for n in range(6)]) == []


async def test_bytes_are_bounded(g: Scratch) -> None:
    """Bodies add up to about max_bytes, but one item comes however large."""
    lease = await g.queued(*g.episodes(6, step=1, body="é" * 500))
    few = await g.store.start_items(lease, NOW, MANY, 2_500, ())
    assert len(few) in {2, 3}
    assert [i.episode.uuid for i in few] == [f"e{n}" for n in range(len(few))]
    assert len(await g.store.start_items(lease, NOW, MANY, 1, [i.episode.uuid for i in few])) == 1


async def test_items_come_whole(g: Scratch) -> None:
    """Episode, state, acceptance, attempts by step and the stored stage come with the item."""
    made = g.episode("e1", name="a name", body="x" * 5_000, role="Ada", source_description="chat")
    lease = await g.queued(made, now_ms=NOW - 50)
    (item,) = await g.due(lease)
    assert replace(item, ontology=0) == QueuedItem(made, ItemState.ACCEPTED, NOW - 50, {})
    stage = bytes(range(256)) * 40
    await g.move(lease, ItemState.EXTRACTED, "e1", stage=stage)
    await g.move(lease, ItemState.EMBED_FAILED, "e1", step=Step.EMBED, attempts=3, keep_stage=True)
    (item,) = await g.due(lease)
    failed = QueuedItem(made, ItemState.EMBED_FAILED, NOW - 50, {"embed": 3}, stage)
    assert replace(item, ontology=0) == failed


async def test_terminal_items_never_come(g: Scratch) -> None:
    """COMPLETED and PARKED items are not started."""
    lease = await g.begun(*g.episodes(3))
    await g.move(lease, ItemState.COMPLETED, "e0")
    await g.move(lease, ItemState.PARKED, "e1", reason="unreadable")
    assert await g.started(lease, NOW + 10**9) == ["e2"]


async def test_a_lost_lease_starts_nothing(g: Scratch) -> None:
    """LeaseLost for a token that is no longer current; nothing is marked as started."""
    lost = await g.queued(g.episode("e1"))
    await g.leased("worker-b")
    with pytest.raises(LeaseLost):
        await g.due(lost)
    lease = await g.leased("worker-c")
    (item,) = await g.due(lease)
    assert item.suspect is False


async def test_arrivals_are_found(g: Scratch) -> None:
    """Items accepted while the group is leased come with the next call, in their place by time."""
    lease = await g.queued(g.episode("e5", at=5))
    assert await g.started(lease) == ["e5"]
    await g.accepted(g.episode("e1", at=1), g.episode("e9", at=9))
    items = await g.store.start_items(lease, NOW, MANY, HUGE, ("e5",))
    assert [i.episode.uuid for i in items] == ["e1", "e9"]


async def test_a_group_with_work_is_ready(g: Scratch) -> None:
    """A group with a due unfinished item is ready and free; not after its last item ended."""
    assert await g.work() is None
    await g.accepted(g.episode("e1"))
    assert present(await g.work()).owner_id is None
    lease = await g.leased()
    held = present(await g.work())
    assert (held.owner_id, held.owner_token, held.served_ms) == ("worker-a", lease.token, NOW)
    await g.started(lease)
    await g.move(lease, ItemState.COMPLETED, "e1")
    assert await g.work(NOW + 10**9) is None


async def test_groups_wait_for_next_ms(g: Scratch) -> None:
    """An item is due at its next_ms and not before; next_due_ms tells when."""
    lease = await g.begun(g.episode("e1"), g.episode("e2"))
    await g.move(lease, ItemState.COMPLETED, "e2")
    await g.move(lease, ItemState.EXTRACT_FAILED, "e1", next_ms=NOW + 1_000, reason="timeout")
    await g.store.release(lease)
    assert await g.work(NOW + 999) is None
    assert await g.work(NOW + 1_000) is not None
    assert NOW + 999 < present(await g.store.next_due_ms(NOW + 999)) <= NOW + 1_000
    lease = await g.leased(now_ms=NOW + 1_000)
    assert await g.started(lease, NOW + 999) == []
    assert await g.started(lease, NOW + 1_000) == ["e1"]


async def test_least_recently_served_come_first(g: Scratch) -> None:
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
    assert await order() == [second.id, third.id, first.id]
    await g.store.release(await second.leased(now_ms=NOW + 100))
    assert await order() == [third.id, first.id, second.id]
    for limit in (1, 2):
        assert len(await g.store.ready_groups(NOW + 200, limit)) == limit


async def test_groups_with_an_owner_come_first(g: Scratch) -> None:
    """Their owners may have died, and what waits must not hide them; the limit holds for each kind."""
    held = [g, g.sibling()]
    waiting = [g.sibling(3), g.sibling(4)]
    for each in (*held, *waiting):
        await each.accepted(each.episode("e1"))
    for served, each in enumerate(held):
        await each.leased(now_ms=NOW + 10 * served)
    ready = [seen.group_id for seen in await g.store.ready_groups(NOW + 200, MANY)]
    assert [each for each in ready if each in {group.id for group in (*held, *waiting)}] == [
        *(each.id for each in held),
        *sorted(each.id for each in waiting),
    ]
    found = await g.store.ready_groups(NOW + 200, 1)
    assert sorted(work.owner_id is None for work in found) == [False, True]


async def test_tokens_grow(g: Scratch) -> None:
    """Every claim makes the token one more, also after a release and for another owner."""
    await g.accepted(g.episode("e1"))
    seen = present(await g.work())
    token = seen.owner_token
    for owner_id in ("worker-a", "worker-b", "worker-b"):
        lease = await g.leased(owner_id)
        assert (lease.group_id, lease.owner_id) == (g.id, owner_id)
        assert lease.token == token + 1
        assert lease.epoch == (await g.head()).epoch
        token = lease.token
        await g.store.release(lease)


async def test_one_claim_of_the_same_sight_wins(g: Scratch) -> None:
    """Two claims of the same `seen`, one after the other or at once: one lease, the other None."""
    await g.accepted(g.episode("e1"))
    seen = present(await g.work())
    first = present(await claim(g.store, seen, "worker-a"))
    assert await claim(g.store, seen, "worker-b") is None
    assert await claim(g.store, seen, "worker-a") is None
    assert await g.store.renew([first]) == [g.id]
    for n in range(5):
        seen = present(await g.work())
        owners = [f"worker-{n}-{k}" for k in range(4)]
        claims = await asyncio.gather(*(claim(g.store, seen, owner) for owner in owners))
        won = [lease for lease in claims if lease is not None]
        assert len(won) == 1
        current = present(await g.work())
        assert (current.owner_id, current.owner_token) == (won[0].owner_id, won[0].token)


async def test_a_renewal_outdates_what_was_seen(g: Scratch) -> None:
    """renew moves the counter, so that a claim of what was seen before comes too late."""
    lease = await g.queued(g.episode("e1"))
    seen = present(await g.work())
    assert await g.store.renew([lease]) == [g.id]
    moved = present(await g.work())
    assert moved.renewals != seen.renewals
    assert await claim(g.store, seen, "worker-b") is None
    assert await claim(g.store, moved, "worker-b") is not None


async def test_renew_tells_what_is_still_held(g: Scratch) -> None:
    """Only leases still held are renewed and named; a lost one moves no counter."""
    other = g.sibling().id
    lost, held = await g.queued(g.episode("e1")), await g.queued(g.sibling().episode("e1"))
    taken = await g.leased("worker-b")
    before = present(await g.work())
    assert await g.store.renew([lost, held]) == [other]
    assert await g.work() == before
    assert sorted(await g.store.renew([taken, held])) == sorted([g.id, other])
    assert await g.store.renew([]) == []
    await g.store.release(taken)
    assert await g.store.renew([taken]) == []


async def test_release_frees_the_group(g: Scratch) -> None:
    """After release the group is free, its started items are unmarked and no suspects."""
    lease = await g.begun(g.episode("e1"), g.episode("e2", at=1))
    await g.store.release(lease)
    seen = present(await g.work())
    assert seen.owner_id is None
    with pytest.raises(LeaseLost):
        await g.due(lease)
    again = present(await claim(g.store, seen, "worker-b"))
    assert await _begun(g, again) == [("e1", False, 0), ("e2", False, 0)]


async def test_releasing_a_lost_lease_does_nothing(g: Scratch) -> None:
    """release of a lease that is no longer held leaves the new owner's lease and items alone."""
    lost = await g.queued(g.episode("e1"))
    held = await g.working("worker-b")
    await g.store.release(lost)
    assert await g.store.renew([held]) == [g.id]
    await g.leased("worker-c")
    seen = present(await g.work())
    final = present(await claim(g.store, seen, "worker-d"))
    (item,) = await g.due(final)
    assert item.suspect


async def test_a_lapse_makes_started_items_suspect(g: Scratch) -> None:
    """Claiming a group that had an owner makes its started items suspect, the others not."""
    dead = await g.queued(*g.episodes(4, step=1))
    assert [i.suspect for i in await g.store.start_items(dead, NOW, 2, HUGE, ())] == [False, False]
    lease = await g.leased("worker-b")
    for uuid in ("e0", "e1"):
        assert await _begun(g, lease) == [(uuid, True, 1)]
        await g.move(lease, ItemState.COMPLETED, uuid)
    assert await _begun(g, lease) == [("e2", False, 0), ("e3", False, 0)]


async def test_an_owner_that_claims_its_own_group_again_suspects_nothing(g: Scratch) -> None:
    """It lives, and only did not hear of its lease: what that had started is as though it were given back."""
    await g.accepted(*g.episodes(2, step=1))
    dead = await g.leased()
    await g.store.start_items(dead, NOW, 1, HUGE, ())
    lost = await g.leased("worker-b")
    assert await _begun(g, lost) == [("e0", True, 1)]
    again = await g.leased("worker-b")
    assert again.token == lost.token + 1
    assert await _begun(g, again) == [("e0", True, 1)]
    await g.move(again, ItemState.COMPLETED, "e0")
    assert await g.started(again) == ["e1"]
    assert await _begun(g, await g.leased("worker-b")) == [("e1", False, 0)]
    with pytest.raises(LeaseLost):
        await g.move(again, ItemState.COMPLETED, "e1")


async def test_suspects_come_only_alone(g: Scratch) -> None:
    """While something is excluded, that is in work, no suspect is given out."""
    dead = await g.queued(*g.episodes(3, step=1))
    await g.store.start_items(dead, NOW, 1, HUGE, ())
    lease = await g.leased("worker-b")
    for excluded in (("e1",), ("e1", "e2"), ("e0",)):
        assert not any(i.suspect for i in await g.store.start_items(lease, NOW, MANY, HUGE, excluded))
    assert await _begun(g, lease) == [("e0", True, 1)]


async def test_finished_failures_are_no_suspects(g: Scratch) -> None:
    """A failure unmarks `started`: the item is not blamed for a later crash of its process."""
    dead = await g.begun(g.episode("e1"))
    await g.move(dead, ItemState.EXTRACT_FAILED, "e1", next_ms=NOW, reason="timeout")
    assert await _begun(g, await g.leased("worker-b")) == [("e1", False, 0)]


async def test_a_transition_clears_the_suspicion(g: Scratch) -> None:
    """A suspect that failed alone without a crash is no suspect any more and holds nobody up."""
    await g.accepted(*g.episodes(3, step=1))
    await g.store.start_items(await g.leased(), NOW, 1, HUGE, ())
    lease = await g.leased("worker-b")
    assert await _begun(g, lease) == [("e0", True, 1)]
    await g.move(lease, ItemState.EXTRACT_FAILED, "e0", next_ms=NOW + 5_000, reason="timeout")
    assert await g.started(lease) == ["e1", "e2"]
    assert await _begun(g, lease, NOW + 5_000) == [("e0", False, 1), ("e1", False, 0), ("e2", False, 0)]


async def test_crashes_are_counted_when_begun_alone(g: Scratch) -> None:
    """Each time a suspect is given out alone its crash count grows by one; nobody else's does."""
    await g.accepted(g.episode("e0"), g.episode("e1", at=1))
    assert await _begun(g, await g.leased()) == [("e0", False, 0), ("e1", False, 0)]
    for n in range(1, 4):
        lease = await g.leased(f"worker-{n}")
        assert await _begun(g, lease) == [("e0", True, n)]
    await g.move(lease, ItemState.PARKED, "e0", reason="it kills its process")
    assert await _begun(g, lease) == [("e1", True, 1)]


async def test_release_takes_back_a_counted_crash(g: Scratch) -> None:
    """A suspect that was begun and given back by release counts as before: no process died of it."""
    await g.accepted(g.episode("e1"))
    await g.started(await g.leased())
    for worker in ("worker-b", "worker-c"):
        lease = await g.leased(worker)
        assert await _begun(g, lease) == [("e1", True, 1)]
        await g.store.release(lease)


async def _begun(g: Scratch, lease: Lease, now_ms: int = NOW) -> list[tuple[str, bool, int]]:
    """Uuid, suspicion and counted crashes of the items that the lease is given now."""
    given = await g.store.start_items(lease, now_ms, MANY, HUGE, ())
    return [(item.episode.uuid, item.suspect, item.attempts.get(CRASH, 0)) for item in given]
