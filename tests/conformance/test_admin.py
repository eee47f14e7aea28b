"""AdminStore: delete_group, group_ids, migrate, info. ErasureStore: erasures are written down, carried
out and completed, and their receipts stay."""

from dataclasses import replace

import pytest

from kgsvc.domain.errors import LeaseLost
from kgsvc.domain.model.delta import Erased, Guard
from kgsvc.domain.model.erasures import GROUP_COUNTS, Erasure, ErasureKind
from kgsvc.domain.model.items import ItemState, Transition
from kgsvc.stores.protocol import Anchor, GroupDump, GroupSize
from kgsvc.stores.search_protocol import PROOFS
from tests.support.samples import HUGE, MANY, NOW, Scratch, batch, episode, fact, present, tombstone

LATER = NOW + 100


async def test_a_deleted_group_reads_as_empty(g: Scratch) -> None:
    """Every read of the group is empty, the epoch is greater, and it is no longer listed."""
    slot, key = await _fill(g)
    before = await g.head()
    await g.store.delete_group(g.id, LATER)
    after = await g.head()
    assert after.epoch > before.epoch
    assert await g.store.dump(g.id) == GroupDump(after, (), (), {}, (), (), {})
    assert await g.items() == ()
    assert await g.store.recent_episodes(g.id, 9) == []
    for uuid in ("e1", "n-ada", "f1"):
        episodes, entities = await g.store.episode(uuid, None), await g.store.entity(uuid, None)
        groups = {e.group_id for e in episodes} | {n.group_id for n in entities}
        groups |= {f.group_id for f in await g.store.fact(uuid, None)}
        ours = [await lookup(uuid, g.id) for lookup in (g.store.episode, g.store.entity, g.store.fact)]
        assert ours == [[], [], []]
        assert g.id not in groups
    names = await g.store.names(g.id, [key], ["n-ada"])
    assert (dict(names.by_key), dict(names.by_uuid)) == ({}, {})
    slots = await g.store.slots(g.id, [slot])
    assert (tuple(slots.facts), tuple(slots.tombstones)) == ((), ())
    assert await g.store.previous_episodes(g.id, [Anchor("x", NOW + 99)], 9, 9) == {"x": ()}
    assert g.id not in await g.store.group_ids()


async def test_unfinished_items_end_parked(g: Scratch) -> None:
    """The receipt shows unfinished items DELETED (group_deleted); all of it is terminal; nothing is due."""
    result = await g.accepted(*g.episodes(4))
    lease = await g.working()
    await g.move(lease, ItemState.COMPLETED, "e0")
    await g.move(lease, ItemState.EXTRACTED, "e1", stage=b"x")
    await g.move(lease, ItemState.PARKED, "e2", reason="unreadable")
    await g.store.delete_group(g.id, LATER)
    receipt = present(await g.store.receipt(result.receipt_id))
    assert [i.uuid for i in receipt.items] == ["e0", "e1", "e2", "e3"]
    assert receipt.done
    for item in (receipt.items[1], receipt.items[3]):
        assert (item.state, item.reason) == (ItemState.DELETED, "group_deleted")
    assert await g.work(NOW + 10**10) is None
    assert await g.store.retry_items(g.id, None, LATER) == []


async def test_a_stale_lease_is_lost(g: Scratch) -> None:
    """A lease from before the deletion starts, saves and writes nothing, also after new items came."""
    lease = await g.begun(g.episode("e1"))
    old = await g.guard(lease.token)
    await g.store.delete_group(g.id, LATER)
    ada = g.entity("n-ada", "Ada")
    done = [Transition("e1", ItemState.COMPLETED, LATER)]
    for _ in ("deleted", "filled anew"):
        with pytest.raises(LeaseLost):
            await g.store.start_items(lease, LATER, MANY, HUGE, ())
        with pytest.raises(LeaseLost):
            await g.store.save_transitions(lease, done)
        change = g.delta(entities=(ada,))
        with pytest.raises(LeaseLost):
            await g.store.apply(change, old)
        fresh_rev = replace(old, rev=(await g.head()).rev)
        with pytest.raises(LeaseLost):
            await g.store.apply(change, fresh_rev)
        assert (await g.store.dump(g.id)).entities == ()
        await g.accepted(g.episode("e1"))
    (row,) = await g.items()
    assert row.state == ItemState.ACCEPTED
    assert await g.store.renew([lease]) == []
    anew = await g.leased("worker-b")
    await g.store.release(lease)
    assert await g.store.renew([lease, anew]) == [g.id]
    assert await g.started(anew) == ["e1"]


async def test_a_callers_late_write_is_refused(g: Scratch) -> None:
    """A caller's own write (no token) planned before the deletion is LeaseLost."""
    await g.pair()
    old = await g.guard()
    await g.store.delete_group(g.id, LATER)
    now = await g.head()
    change = g.delta(entities=(g.entity("n-eve", "Eve"),))
    for late in (old, Guard(rev=now.rev, epoch=old.epoch)):
        with pytest.raises(LeaseLost):
            await g.store.apply(change, late)
    assert (await g.store.dump(g.id)).entities == ()


async def test_the_group_can_be_filled_anew(g: Scratch) -> None:
    """The same uuids, names, facts and idempotency keys are new in the new epoch, and worked on as usual."""
    call = batch(g.episode("e1"), idempotency_key="k")
    first = await g.answer(call)
    await _fill(g)
    await g.store.delete_group(g.id, LATER)
    again = batch(g.episode("e1", body="other content"), idempotency_key="k")
    result = await g.answer(again)
    assert result.receipt_id == again.receipt_id
    assert result.items[0].duplicate is False
    assert present(await g.store.receipt(first.receipt_id)).done
    lease = await g.leased()
    assert await g.started(lease) == ["e1"]
    assert lease.epoch == (await g.head()).epoch
    ada = g.entity("n-ada", "Ada")
    made = fact("f1", ada, ada)
    change = g.delta(entities=(ada,), facts=(made,), mentions=(g.mention("e1", ada.uuid),))
    await g.store.apply(change, await g.guard(lease.token))
    dump = await g.store.dump(g.id)
    assert (dump.entities, dump.facts, dump.mentions) == ((ada,), (made,), (("e1", ada.uuid),))
    assert g.id in await g.store.group_ids()


async def test_other_groups_are_untouched(g: Scratch) -> None:
    """Deleting a group changes nothing of another, also with the same uuids and a longer name."""
    other = g.sibling()
    await _fill(g)
    await _fill(other)
    lease = await other.leased()
    before = (await g.store.dump(other.id), await other.items())
    await g.store.delete_group(g.id, LATER)
    assert (await g.store.dump(other.id), await other.items()) == before
    assert await g.store.renew([lease]) == [other.id]


async def test_an_empty_group_is_forgotten_and_no_other(g: Scratch) -> None:
    """The record of a deleted group goes when asked, and the group can be filled anew; a group
    with content stays."""
    await _fill(g)
    await g.store.forget_group(g.id)
    assert "n-ada" in {each.uuid for each in (await g.store.dump(g.id)).entities}
    await g.store.delete_group(g.id, LATER)
    assert list(await g.store.heads([g.id])) == [g.id]
    for group_id in (g.id, g.sibling(3).id):
        await g.store.forget_group(group_id)
        assert await g.store.heads([group_id]) == {}
    await g.pair()
    assert (await g.head()).epoch == 0
    assert g.id in await g.store.group_ids()


async def test_deleting_twice_or_nothing_is_fine(g: Scratch) -> None:
    """An unknown group, an empty one and one deleted before are fine."""
    await g.store.delete_group(g.sibling(3).id, LATER)
    await g.accepted(g.episode("e1"))
    for _ in range(2):
        await g.store.delete_group(g.id, LATER)
    assert (await g.store.dump(g.id)).episodes == ()


async def test_big_groups_are_deleted_whole(g: Scratch) -> None:
    """Nothing is left of a group larger than one batch of the deletion."""
    for n in range(5):
        await g.accepted(*[g.episode(f"e{n}-{k}") for k in range(250)])
    ada, bob = await g.pair()
    await g.write(facts=tuple(fact(f"f{n}", ada, bob) for n in range(1_200)))
    await g.store.delete_group(g.id, LATER)
    dump = await g.store.dump(g.id)
    assert (dump.episodes, dump.entities, dump.facts) == ((), (), ())
    assert await g.items() == ()


async def test_group_ids_are_sorted(g: Scratch) -> None:
    """Every group with content, sorted; one without is absent."""
    groups = [g.sibling(3).id, g.id, g.sibling().id]
    for name in groups:
        await g.accepted(episode(name, "e1"))
    found = await g.store.group_ids()
    assert found == sorted(found)
    assert [g for g in found if g in groups] == sorted(groups)


async def test_the_busiest_groups_come_first(g: Scratch) -> None:
    """By the number of changes; no more than were asked for, and none that was never changed."""
    groups = [g, g.sibling(3), g.sibling()]
    for times, each in enumerate(groups):
        await each.accepted(each.episode("e1"))
        for _ in range(times):
            await each.write()
    found = await g.store.busiest_groups(100_000)
    assert [each for each in found if each.startswith(g.id)] == [groups[2].id, groups[1].id]
    assert await g.store.busiest_groups(2) == found[:2]


async def test_migrate_may_run_again(g: Scratch) -> None:
    """Migrating an up-to-date store returns its version and harms nothing; info names engine and version."""
    await _fill(g)
    before = await g.store.dump(g.id)
    version = await g.store.migrate()
    assert await g.store.migrate() == version
    assert await g.store.keyed(7) == await g.store.keyed(8)
    info = await g.store.info()
    assert info.schema_version == version
    assert info.kind
    assert info.version
    assert await g.store.dump(g.id) == before


async def _fill(g: Scratch) -> tuple[str, str]:
    """Everything a group can hold; returns a slot with fact and tombstone, and a name key."""
    await g.accepted(g.episode("e1"), g.episode("e2", at=1))
    ada, bob = g.entity("n-ada", "Ada"), g.entity("n-bob", "Bob")
    kept, gone = fact("f1", ada, bob, episodes=("e1",)), fact("f2", ada, bob)
    await g.write(
        entities=(ada, bob),
        facts=(kept, gone),
        mentions=(g.mention("e1", ada.uuid), g.mention("e2", bob.uuid)),
        episode_edges={"e1": ("f1",)},
        vectors={"f1": b"\0\0\x80\x3f", ada.uuid: b"\0\0\x80\x3f"},
        space="space",
    )
    await g.write(remove_facts=(tombstone(gone),))
    return kept.slot, "ada"


def _asked(g: Scratch, name: str, kind: ErasureKind = ErasureKind.GROUP, uuid: str = "") -> Erasure:
    return Erasure(f"{g.id}/{name}", g.id, kind, NOW, uuid)


async def _free(g: Scratch, name: str) -> str:
    """A name under which nothing was erased yet: receipts stay, and checks may run again."""
    count = 0
    while await g.store.erasure(f"{g.id}/{name}{count}"):
        count += 1
    return f"{name}{count}"


async def _one(g: Scratch, erasure: Erasure) -> Erasure:
    (part,) = await g.store.erasure(erasure.erasure_id)
    return part


async def _found(g: Scratch, open_limit: int, since_ms: int | None = None) -> list[str]:
    """Erasures of the group of this test among those that are open or were asked for since then."""
    return [e.erasure_id for e in await g.store.erasures(open_limit, since_ms) if e.group_id == g.id]


async def test_an_erasure_is_open_until_it_is_completed(g: Scratch) -> None:
    """It is found by its id and among the open ones; written down again it stays as it is."""
    name = await _free(g, "open")
    erasure, other = _asked(g, name), _asked(g.sibling(2), name)
    await g.store.begin_erasures([erasure, other])
    assert [part.group_id for part in await g.store.erasure(erasure.erasure_id)] == [g.id]
    waiting = [part for part in await g.store.erasures(MANY) if part.group_id == g.id]
    assert erasure.erasure_id in {part.erasure_id for part in waiting}
    await g.store.removed(erasure.erasure_id, g.id, {"episodes": 2})
    await g.store.removed(erasure.erasure_id, g.id, {"episodes": 9})
    await g.store.begin_erasures([erasure])
    assert (await _one(g, erasure)).removed == {"episodes": 2}
    assert await _found(g, 0, NOW) == [erasure.erasure_id]
    assert await _found(g, 0, NOW + 1) == []
    assert await _found(g, MANY, NOW) == [erasure.erasure_id]
    assert await g.store.free_erased(NOW + 5) > 0
    done = await _one(g, erasure)
    assert (done.completed_ms, done.uuid) == (NOW + 5, "")
    assert await _found(g, MANY) == []
    assert await _found(g, 0, NOW) == [erasure.erasure_id]
    await g.store.free_erased(NOW + 9)
    assert (await _one(g, erasure)).completed_ms == NOW + 5
    assert await g.store.erasure(f"{g.id}/unknown") == []
    await g.store.removed(other.erasure_id, other.group_id, {})
    await g.store.free_erased(NOW + 9)


async def test_deleting_a_group_counts_what_goes(g: Scratch) -> None:
    """Its part tells every kind of rows; of a group that is gone already nothing."""
    await g.accepted(*g.episodes(3))
    first, again = _asked(g, await _free(g, "group")), _asked(g, await _free(g, "again"))
    await g.store.begin_erasures([first, again])
    await g.store.delete_group(g.id, NOW + 1, first.erasure_id)
    removed = (await _one(g, first)).removed or {}
    assert sorted(removed) == sorted(GROUP_COUNTS)
    assert (removed["episodes"], removed["items"]) == (3, 3)
    await g.store.delete_group(g.id, NOW + 2, again.erasure_id)
    once_more = (await _one(g, again)).removed
    assert once_more is not None
    assert not any(once_more.values())
    await g.store.free_erased(NOW + 3)


async def test_facts_that_ended_are_found_by_their_end(g: Scratch) -> None:
    """The longest ago first, without those that still hold or end later; of this group alone."""
    ada, bob = await g.pair()
    ends = (NOW - 5, None, NOW, NOW - 9)
    await g.write(facts=tuple(fact(f"f{n}", ada, bob, invalid_ms=end) for n, end in enumerate(ends)))
    assert await g.store.ended_facts(g.id, NOW, 10) == ["f3", "f0"]
    assert await g.store.ended_facts(g.id, NOW + 1, 1) == ["f3"]
    assert await g.store.ended_facts(g.sibling(2).id, NOW + 1, 10) == []


async def test_facts_that_were_replaced_have_ended(g: Scratch) -> None:
    """What comes first counts: the end of its validity, or that it was replaced or withdrawn."""
    ada, bob = await g.pair()
    ends = ((None, NOW - 4), (NOW - 1, NOW - 5), (NOW - 3, NOW), (None, None), (NOW, NOW + 1))
    await g.write(
        facts=tuple(
            fact(f"f{n}", ada, bob, invalid_ms=invalid_ms, expired_ms=expired_ms)
            for n, (invalid_ms, expired_ms) in enumerate(ends)
        )
    )
    assert await g.store.ended_facts(g.id, NOW, 10) == ["f1", "f0", "f2"]
    assert await g.store.ended_facts(g.id, NOW, 2) == ["f1", "f0"]


async def test_what_an_erasure_removes_bit_by_bit_adds_up(g: Scratch) -> None:
    """Changes that say that the erasure goes on are counted with the last; none is counted twice."""
    await g.accepted(*g.episodes(2))
    erasure = _asked(g, await _free(g, "bits"), ErasureKind.RETENTION, "1:")
    await g.store.begin_erasures([erasure])
    for n in range(2):
        erased = Erased(erasure.erasure_id, {"episodes": 1, "facts": n}, over=False)
        await g.write(remove_episodes=(f"e{n}",), erased=erased)
        part = await _one(g, erasure)
        assert (part.removed, part.uuid) == (None, "1:")
    for _repeated in range(2):
        await g.store.removed(erasure.erasure_id, g.id, {"documents": 1})
        assert (await _one(g, erasure)).removed == {"episodes": 2, "facts": 1, "documents": 1}
    await g.store.free_erased(NOW + 3)


async def test_a_change_notes_what_it_erases(g: Scratch) -> None:
    """`apply` notes the counts with the change, and forgets the uuid."""
    await g.accepted(*g.episodes(1))
    erasure = _asked(g, await _free(g, "change"), ErasureKind.EPISODE, "e0")
    await g.store.begin_erasures([erasure])
    assert (await _one(g, erasure)).uuid == "e0"
    await g.write(remove_episodes=("e0",), erased=Erased(erasure.erasure_id, {"episodes": 1}))
    part = await _one(g, erasure)
    assert (part.removed, part.uuid) == ({"episodes": 1}, "")
    await g.store.free_erased(NOW + 3)


async def test_proofs_last_until_an_erasure(g: Scratch) -> None:
    """A proof is noted for the group as it is, and known until something is erased or many came after it."""
    ada, bob = await g.pair()
    before = await g.head()
    await g.write(facts=(fact("f1", ada, bob),))
    now = await g.head()
    assert not await g.store.note_proof(before, "old")
    assert not await g.store.note_proof(replace(now, epoch=now.epoch + 1), "other")
    assert await g.store.note_proof(now, "one")
    assert await g.store.proven(g.id, "one")
    for wrong in ("old", "other", "never"):
        assert not await g.store.proven(g.id, wrong)
    assert not await g.store.proven(g.sibling(2).id, "one")
    await g.write(facts=(fact("f2", ada, bob),))
    assert await g.store.proven(g.id, "one")
    latest = await g.head()
    for number in range(PROOFS):
        await g.store.note_proof(latest, f"later{number}")
    assert not await g.store.proven(g.id, "one")
    assert await g.store.proven(g.id, "later0")
    erasure = _asked(g, await _free(g, "proofs"), ErasureKind.EPISODE, "e1")
    await g.store.begin_erasures([erasure])
    assert await g.store.proven(g.id, "later0")
    await g.store.removed(erasure.erasure_id, g.id, {"facts": 1})
    assert not await g.store.proven(g.id, "later0")
    await g.store.free_erased(NOW + 3)


async def test_sizes_tell_what_waits_and_what_is_parked(g: Scratch) -> None:
    """Of groups within a range of names; what was finished, or went with DeleteGroup, is neither."""

    async def size(group: Scratch) -> list[GroupSize]:
        return await g.store.group_sizes(group.id, f"{group.id}\0", 9)

    lease = await g.begun(*g.episodes(3))
    other = g.sibling()
    await other.accepted(other.episode("e0"))
    (first,) = await size(g)
    assert (first.group_id, first.episodes, first.waiting, first.parked) == (g.id, 3, 3, 0)
    await g.move(lease, ItemState.PARKED, "e1", reason="unreadable")
    await g.move(lease, ItemState.COMPLETED, "e2")
    (second,) = await size(g)
    assert (second.episodes, second.waiting, second.parked) == (3, 1, 1)
    await g.store.retry_items(g.id, ("e1",), NOW + 3)
    assert [(each.waiting, each.parked) for each in await size(g)] == [(2, 0)]
    await g.store.delete_group(g.id, NOW + 9)
    assert await size(g) == []
    await g.accepted(g.episode("e9"))
    assert [(each.waiting, each.parked) for each in await size(g)] == [(1, 0)]
    assert [(each.waiting, each.parked) for each in await size(other)] == [(1, 0)]
