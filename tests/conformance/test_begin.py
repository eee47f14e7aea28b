"""QueueStore.begin: many groups claimed in one transaction that starts their items, each for itself; and a
commit that gives the lease up."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest

from kgsvc.domain.errors import LeaseLost, RevisionChanged
from kgsvc.domain.model.items import CRASH, Claimed, GroupWork, ItemState, Transition
from tests.support.samples import HUGE, MANY, NOW, Scratch, claim, present


async def _seen(*groups: Scratch) -> list[GroupWork]:
    return [present(await each.work()) for each in groups]


async def _begin(g: Scratch, seen: Sequence[GroupWork], owner: str = "worker-a") -> list[Claimed | None]:
    return await g.store.begin(seen, owner, NOW, MANY, HUGE)


def _uuids(claimed: Claimed | None) -> list[str]:
    return [item.episode.uuid for item in present(claimed).items]


def _done(*uuids: str) -> tuple[Transition, ...]:
    return tuple(Transition(uuid, ItemState.COMPLETED, NOW + 1) for uuid in uuids)


async def test_each_group_is_claimed_and_its_items_are_started(g: Scratch) -> None:
    """As `claim` and `start_items` would, in the order asked for."""
    groups = g.sibling(3), g, g.sibling()
    for n, each in enumerate(groups, 1):
        await each.accepted(*each.episodes(n, step=1))
    seen = await _seen(*groups)
    found = await _begin(g, seen)
    assert [len(_uuids(each)) for each in found] == [1, 2, 3]
    for each, sight, claimed in zip(groups, seen, found, strict=True):
        lease = present(claimed).lease
        assert (lease.group_id, lease.owner_id, lease.token) == (each.id, "worker-a", sight.owner_token + 1)
        assert present(await each.work()).owner_id == "worker-a"
        items = present(claimed).items
        assert [item.episode for item in items] == each.episodes(len(items), step=1)
        change = each.delta(transitions=_done(*_uuids(claimed)), requires_items=tuple(_uuids(claimed)))
        await g.store.apply(change, await each.guard(lease.token))


async def test_a_group_that_somebody_took_is_left_out_alone(g: Scratch) -> None:
    """None for it; the others are claimed."""
    groups = g, g.sibling(), g.sibling(3)
    for each in groups:
        await each.accepted(each.episode("e1"))
    seen = await _seen(*groups)
    other = present(await claim(g.store, seen[1], "worker-b"))
    found = await _begin(g, seen)
    assert [each is None for each in found] == [False, True, False]
    assert await g.store.renew([other]) == [groups[1].id]
    assert await groups[1].started(other) == ["e1"]


async def test_claims_at_once_give_each_group_one_owner(g: Scratch) -> None:
    """However the sights are ordered."""
    groups = g, g.sibling(), g.sibling(3)
    for each in groups:
        await each.accepted(each.episode("e1"))
    for n in range(4):
        seen = await _seen(*groups)
        sights = (seen, seen[::-1], seen[1:], seen[:2])
        claims = await asyncio.gather(*(_begin(g, some, f"w-{n}-{k}") for k, some in enumerate(sights)))
        won = [each.lease for claimed in claims for each in claimed if each is not None]
        assert sorted(lease.group_id for lease in won) == sorted(each.id for each in groups)
        assert sorted(await g.store.renew(won)) == sorted(each.id for each in groups)


async def test_limits_hold_for_each_group(g: Scratch) -> None:
    """At most `limit` items, its share of the bytes or one item; with a limit of 0 the lease alone. That the
    bytes left some out is told."""
    groups = g, g.sibling()
    for each in groups:
        await each.accepted(*each.episodes(6, step=1, body="x" * 1_000))
    found = await g.store.begin(await _seen(*groups), "worker-a", NOW, 2, HUGE)
    assert [_uuids(each) for each in found] == [["e0", "e1"]] * 2
    assert not any(present(each).more for each in found)
    for max_bytes, count in ((6_500, 3), (2, 1), (HUGE, 6)):
        found = await g.store.begin(await _fresh(groups), "worker-a", NOW, MANY, max_bytes)
        assert [len(_uuids(each)) for each in found] == [count] * 2
        assert [present(each).more for each in found] == [count < 6] * 2
    found = await g.store.begin(await _fresh(groups), "worker-a", NOW, 0, 0)
    assert [_uuids(each) for each in found] == [[], []]
    assert not any(present(each).more for each in found)
    assert await g.started(present(found[0]).lease) == [f"e{n}" for n in range(6)]


async def _fresh(groups: Sequence[Scratch]) -> list[GroupWork]:
    """Their sights once their leases were given back."""
    for each in groups:
        await each.store.release(await each.leased())
    for each in groups:
        lease = await each.leased()
        while items := await each.store.start_items(lease, NOW, MANY, HUGE, ()):
            if not items[0].suspect:
                break
            await each.move(lease, ItemState.ACCEPTED, items[0].episode.uuid)
        await each.store.release(lease)
    return await _seen(*groups)


async def test_after_a_crash_suspects_are_left_to_begin_alone(g: Scratch) -> None:
    """A lapsed group comes without items while a suspect of it is due; other groups come with theirs."""
    other = g.sibling()
    dead = await g.queued(*g.episodes(3, step=1))
    await g.store.start_items(dead, NOW, 1, HUGE, ())
    await other.accepted(other.episode("e1"))
    found = await _begin(g, await _seen(g, other), "worker-b")
    assert [_uuids(each) for each in found] == [[], ["e1"]]
    lease = present(found[0]).lease
    (suspect,) = await g.due(lease)
    assert (suspect.episode.uuid, suspect.suspect, suspect.attempts[CRASH]) == ("e0", True, 1)
    await g.move(lease, ItemState.COMPLETED, "e0")
    await g.store.release(lease)
    (again,) = await _begin(g, await _seen(g))
    assert _uuids(again) == ["e1", "e2"]


async def test_what_was_started_by_a_claim_is_suspect_after_a_crash(g: Scratch) -> None:
    """Whoever takes a lapsed group over finds its items so, and the old owner writes nothing more."""
    await g.accepted(*g.episodes(2, step=1))
    (dead,) = await _begin(g, await _seen(g))
    (taken,) = await _begin(g, await _seen(g), "worker-b")
    assert _uuids(taken) == []
    (suspect,) = await g.due(present(taken).lease)
    assert suspect.suspect
    late = g.delta(transitions=_done("e0", "e1"), requires_items=("e0", "e1"))
    with pytest.raises(LeaseLost):
        await g.store.apply(late, replace(await g.guard(present(dead).lease.token), releases=True))
    assert {item.state for item in await g.items()} == {ItemState.ACCEPTED}


async def test_a_claim_whose_answer_was_lost_makes_no_suspects(g: Scratch) -> None:
    """The same owner claims again, and its items are started by the new lease."""
    await g.accepted(*g.episodes(2, step=1))
    (lost,) = await _begin(g, await _seen(g))
    (again,) = await _begin(g, await _seen(g))
    assert [(item.episode.uuid, item.suspect) for item in present(again).items] == [
        ("e0", False),
        ("e1", False),
    ]
    assert present(again).lease.token == present(lost).lease.token + 1


async def test_a_commit_can_give_the_lease_up(g: Scratch) -> None:
    """The group is free with it, as after `release`: for the next, not for its old owner."""
    await g.accepted(*g.episodes(3, step=1))
    (claimed,) = await g.store.begin(await _seen(g), "worker-a", NOW, 2, HUGE)
    lease = present(claimed).lease
    change = g.delta(transitions=_done("e0"), requires_items=("e0",))
    await g.store.apply(change, replace(await g.guard(lease.token), releases=True))
    assert present(await g.work()).owner_id is None
    assert await g.store.renew([lease]) == []
    with pytest.raises(LeaseLost):
        await g.store.apply(g.delta(), await g.guard(lease.token))
    (again,) = await _begin(g, await _seen(g), "worker-b")
    assert [(item.episode.uuid, item.suspect) for item in present(again).items] == [
        ("e1", False),
        ("e2", False),
    ]


async def test_a_refused_commit_gives_nothing_up(g: Scratch) -> None:
    """The lease is held on, with what it has started."""
    await g.accepted(*g.episodes(2, step=1))
    (claimed,) = await _begin(g, await _seen(g))
    lease = present(claimed).lease
    stale = replace(await g.guard(lease.token), rev=77, releases=True)
    with pytest.raises(RevisionChanged):
        await g.store.apply(g.delta(transitions=_done("e0")), stale)
    assert await g.store.renew([lease]) == [g.id]
    await g.store.apply(g.delta(transitions=_done("e0"), requires_items=("e0",)), await g.guard(lease.token))
