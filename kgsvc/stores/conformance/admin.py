"""AdminStore: delete_group, group_ids, migrate, info. ErasureStore: erasures are written down, carried
out and completed, and their receipts stay."""

from __future__ import annotations

from dataclasses import replace

from kgsvc.domain.errors import LeaseLost
from kgsvc.domain.model.delta import Erased, Guard
from kgsvc.domain.model.erasures import GROUP_COUNTS, Erasure, ErasureKind
from kgsvc.domain.model.items import ItemState, Transition
from kgsvc.stores.conformance.expectations import equal, expect, present, refused
from kgsvc.stores.conformance.samples import HUGE, MANY, NOW, Scratch, batch, episode, fact, tombstone
from kgsvc.stores.protocol import Anchor, GroupDump
from kgsvc.stores.search_protocol import PROOFS

LATER = NOW + 100


async def a_deleted_group_reads_as_empty(g: Scratch) -> None:
    """Every read of the group is empty, the epoch is greater, and it is no longer listed."""
    slot, key = await _fill(g)
    before = await g.head()
    await g.store.delete_group(g.id, LATER)
    after = await g.head()
    expect(after.epoch > before.epoch, f"delete_group: epoch {after.epoch} after {before.epoch}")
    dump = await g.store.dump(g.id)
    equal(dump, GroupDump(after, (), (), {}, (), (), {}), "dump: of a deleted group")
    equal(await g.items(), (), "list_items: of a deleted group")
    equal(await g.store.recent_episodes(g.id, 9), [], "recent_episodes: of a deleted group")
    for uuid in ("e1", "n-ada", "f1"):
        episodes, entities = await g.store.episode(uuid, None), await g.store.entity(uuid, None)
        groups = {e.group_id for e in episodes} | {n.group_id for n in entities}
        groups |= {f.group_id for f in await g.store.fact(uuid, None)}
        ours = [await lookup(uuid, g.id) for lookup in (g.store.episode, g.store.entity, g.store.fact)]
        equal(ours, [[], [], []], f"by uuid in the group: {uuid} of a deleted group")
        expect(g.id not in groups, f"by uuid: {uuid} of a deleted group is found")
    names = await g.store.names(g.id, [key], ["n-ada"])
    equal((dict(names.by_key), dict(names.by_uuid)), ({}, {}), "names: of a deleted group")
    slots = await g.store.slots(g.id, [slot])
    equal((tuple(slots.facts), tuple(slots.tombstones)), ((), ()), "slots: of a deleted group")
    anchors = [Anchor("x", NOW + 99)]
    previous = await g.store.previous_episodes(g.id, anchors, 9, 9)
    equal(previous, {"x": ()}, "previous_episodes: of a deleted group")
    expect(g.id not in await g.store.group_ids(), "group_ids: names a deleted group")


async def unfinished_items_end_parked(g: Scratch) -> None:
    """The receipt shows unfinished items DELETED (group_deleted); all of it is terminal; nothing is due."""
    result = await g.accepted(*g.episodes(4))
    lease = await g.working()
    await g.move(lease, ItemState.COMPLETED, "e0")
    await g.move(lease, ItemState.EXTRACTED, "e1", stage=b"x")
    await g.move(lease, ItemState.PARKED, "e2", reason="unreadable")
    await g.store.delete_group(g.id, LATER)
    receipt = present(await g.store.receipt(result.receipt_id), "receipt: after delete_group")
    equal([i.uuid for i in receipt.items], ["e0", "e1", "e2", "e3"], "receipt: items after delete_group")
    expect(receipt.done, f"receipt: {[i.state for i in receipt.items]} after delete_group")
    for item in (receipt.items[1], receipt.items[3]):
        found = (item.state, item.reason)
        equal(found, (ItemState.DELETED, "group_deleted"), f"receipt: unfinished item {item.uuid}")
    equal(await g.work(NOW + 10**10), None, "ready_groups: a deleted group")
    equal(await g.store.retry_items(g.id, None, LATER), [], "retry_items: items of a deleted group")


async def a_stale_lease_is_lost(g: Scratch) -> None:
    """A lease from before the deletion starts, saves and writes nothing, also after new items came."""
    lease = await g.begun(g.episode("e1"))
    old = await g.guard(lease.token)
    await g.store.delete_group(g.id, LATER)
    ada = g.entity("n-ada", "Ada")
    done = [Transition("e1", ItemState.COMPLETED, LATER)]
    for round_ in ("deleted", "filled anew"):
        what = f"a lease from before, the group {round_}"
        await refused(LeaseLost, g.store.start_items(lease, LATER, MANY, HUGE, ()), f"start_items: {what}")
        await refused(LeaseLost, g.store.save_transitions(lease, done), f"save_transitions: {what}")
        change = g.delta(entities=(ada,))
        await refused(LeaseLost, g.store.apply(change, old), f"apply: {what}")
        fresh_rev = replace(old, rev=(await g.head()).rev)
        await refused(LeaseLost, g.store.apply(change, fresh_rev), f"apply at the present rev: {what}")
        equal((await g.store.dump(g.id)).entities, (), f"dump: {what}")
        await g.accepted(g.episode("e1"))
    (row,) = await g.items()
    equal(row.state, ItemState.ACCEPTED, "list_items: an item of the new epoch")
    equal(await g.store.renew([lease]), [], "renew: a lease from before")
    anew = await g.leased("worker-b")
    await g.store.release(lease)
    equal(await g.store.renew([lease, anew]), [g.id], "renew: after a late release of the old lease")
    equal(await g.started(anew), ["e1"], "start_items: with the lease of the new epoch")


async def a_callers_late_write_is_refused(g: Scratch) -> None:
    """A caller's own write (no token) planned before the deletion is LeaseLost."""
    await g.pair()
    old = await g.guard()
    await g.store.delete_group(g.id, LATER)
    now = await g.head()
    change = g.delta(entities=(g.entity("n-eve", "Eve"),))
    for late in (old, Guard(rev=now.rev, epoch=old.epoch)):
        await refused(LeaseLost, g.store.apply(change, late), "apply: planned before delete_group")
    equal((await g.store.dump(g.id)).entities, (), "dump: after a late write")


async def the_group_can_be_filled_anew(g: Scratch) -> None:
    """The same uuids, names, facts and idempotency keys are new in the new epoch, and worked on as usual."""
    call = batch(g.episode("e1"), idempotency_key="k")
    first = await g.answer(call)
    await _fill(g)
    await g.store.delete_group(g.id, LATER)
    again = batch(g.episode("e1", body="other content"), idempotency_key="k")
    result = await g.answer(again)
    equal(result.receipt_id, again.receipt_id, "accept: the key of a deleted group")
    equal(result.items[0].duplicate, False, "accept: a uuid of a deleted group")
    old = present(await g.store.receipt(first.receipt_id), "receipt: of the deleted group")
    expect(old.done, "receipt: the old one follows the new item")
    lease = await g.leased()
    equal(await g.started(lease), ["e1"], "start_items: in the new epoch")
    equal(lease.epoch, (await g.head()).epoch, "claim: epoch of the lease")
    ada = g.entity("n-ada", "Ada")
    made = fact("f1", ada, ada)
    change = g.delta(entities=(ada,), facts=(made,), mentions=(g.mention("e1", ada.uuid),))
    await g.store.apply(change, await g.guard(lease.token))
    dump = await g.store.dump(g.id)
    shown = (dump.entities, dump.facts, dump.mentions)
    equal(shown, ((ada,), (made,), (("e1", ada.uuid),)), "dump: filled anew")
    expect(g.id in await g.store.group_ids(), "group_ids: a group filled anew")


async def other_groups_are_untouched(g: Scratch) -> None:
    """Deleting a group changes nothing of another, also with the same uuids and a longer name."""
    other = g.sibling()
    await _fill(g)
    await _fill(other)
    lease = await other.leased()
    before = (await g.store.dump(other.id), await other.items())
    await g.store.delete_group(g.id, LATER)
    equal((await g.store.dump(other.id), await other.items()), before, "another group after delete_group")
    equal(await g.store.renew([lease]), [other.id], "renew: another group's lease")


async def deleting_twice_or_nothing_is_fine(g: Scratch) -> None:
    """An unknown group, an empty one and one deleted before are fine."""
    await g.store.delete_group(g.sibling(3).id, LATER)
    await g.accepted(g.episode("e1"))
    for _ in range(2):
        await g.store.delete_group(g.id, LATER)
    equal((await g.store.dump(g.id)).episodes, (), "dump: after two deletions")


async def big_groups_are_deleted_whole(g: Scratch) -> None:
    """Nothing is left of a group larger than one batch of the deletion."""
    for n in range(5):
        await g.accepted(*[g.episode(f"e{n}-{k}") for k in range(250)])
    ada, bob = await g.pair()
    await g.write(facts=tuple(fact(f"f{n}", ada, bob) for n in range(1_200)))
    await g.store.delete_group(g.id, LATER)
    dump = await g.store.dump(g.id)
    equal((dump.episodes, dump.entities, dump.facts), ((), (), ()), "dump: of a big deleted group")
    equal(await g.items(), (), "list_items: of a big deleted group")


async def group_ids_are_sorted(g: Scratch) -> None:
    """Every group with content, sorted; one without is absent."""
    groups = [g.sibling(3).id, g.id, g.sibling().id]
    for name in groups:
        await g.accepted(episode(name, "e1"))
    found = await g.store.group_ids()
    equal(found, sorted(found), "group_ids: order")
    equal([g for g in found if g in groups], sorted(groups), "group_ids: groups with content")


async def migrate_may_run_again(g: Scratch) -> None:
    """Migrating an up-to-date store returns its version and harms nothing; info names engine and version."""
    await _fill(g)
    before = await g.store.dump(g.id)
    version = await g.store.migrate()
    equal(await g.store.migrate(), version, "migrate: run again")
    equal(await g.store.keyed(7), await g.store.keyed(8), "keyed: a store with groups keeps what it has")
    info = await g.store.info()
    equal(info.schema_version, version, "info: schema_version")
    expect(bool(info.kind and info.version), f"info: {info}")
    equal(await g.store.dump(g.id), before, "dump: after migrate")


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


async def an_erasure_is_open_until_it_is_completed(g: Scratch) -> None:
    """It is found by its id and among the open ones; written down again it stays as it is."""
    name = await _free(g, "open")
    erasure, other = _asked(g, name), _asked(g.sibling(2), name)
    await g.store.begin_erasures([erasure, other])
    parts = await g.store.erasure(erasure.erasure_id)
    equal([part.group_id for part in parts], [g.id], "erasure: its parts")
    waiting = [part for part in await g.store.open_erasures(MANY) if part.group_id == g.id]
    expect(erasure.erasure_id in {part.erasure_id for part in waiting}, "open_erasures: what is written down")
    await g.store.removed(erasure.erasure_id, g.id, {"episodes": 2})
    await g.store.removed(erasure.erasure_id, g.id, {"episodes": 9})
    await g.store.begin_erasures([erasure])
    equal((await _one(g, erasure)).removed, {"episodes": 2}, "removed: the first counts stay")
    since = {part.erasure_id for part in await g.store.erasures_since(NOW)}
    expect(erasure.erasure_id in since, "erasures_since: what was removed")
    expect(await g.store.free_erased(NOW + 5) > 0, "free_erased: how many")
    done = await _one(g, erasure)
    equal((done.completed_ms, done.uuid), (NOW + 5, ""), "erasure: completed")
    await g.store.free_erased(NOW + 9)
    equal((await _one(g, erasure)).completed_ms, NOW + 5, "free_erased: completed once")
    equal(await g.store.erasure(f"{g.id}/unknown"), [], "erasure: unknown")
    await g.store.removed(other.erasure_id, other.group_id, {})
    await g.store.free_erased(NOW + 9)


async def deleting_a_group_counts_what_goes(g: Scratch) -> None:
    """Its part tells every kind of rows; of a group that is gone already nothing."""
    await g.accepted(*g.episodes(3))
    first, again = _asked(g, await _free(g, "group")), _asked(g, await _free(g, "again"))
    await g.store.begin_erasures([first, again])
    await g.store.delete_group(g.id, NOW + 1, first.erasure_id)
    removed = (await _one(g, first)).removed or {}
    equal(sorted(removed), sorted(GROUP_COUNTS), "delete_group: kinds that are counted")
    equal((removed["episodes"], removed["items"]), (3, 3), "delete_group: episodes and items")
    await g.store.delete_group(g.id, NOW + 2, again.erasure_id)
    once_more = (await _one(g, again)).removed
    expect(once_more is not None and not any(once_more.values()), f"delete_group again: {once_more}")
    await g.store.free_erased(NOW + 3)


async def facts_that_ended_are_found_by_their_end(g: Scratch) -> None:
    """The longest ago first, without those that still hold or end later; of this group alone."""
    ada, bob = await g.pair()
    ends = (NOW - 5, None, NOW, NOW - 9)
    await g.write(facts=tuple(fact(f"f{n}", ada, bob, invalid_ms=end) for n, end in enumerate(ends)))
    equal(await g.store.ended_facts(g.id, NOW, 10), ["f3", "f0"], "ended_facts: before a time")
    equal(await g.store.ended_facts(g.id, NOW + 1, 1), ["f3"], "ended_facts: at most")
    equal(await g.store.ended_facts(g.sibling(2).id, NOW + 1, 10), [], "ended_facts: of another group")


async def facts_that_were_replaced_have_ended(g: Scratch) -> None:
    """What comes first counts: the end of its validity, or that it was replaced or withdrawn."""
    ada, bob = await g.pair()
    ends = ((None, NOW - 4), (NOW - 1, NOW - 5), (NOW - 3, NOW), (None, None), (NOW, NOW + 1))
    await g.write(
        facts=tuple(
            fact(f"f{n}", ada, bob, invalid_ms=invalid_ms, expired_ms=expired_ms)
            for n, (invalid_ms, expired_ms) in enumerate(ends)
        )
    )
    equal(await g.store.ended_facts(g.id, NOW, 10), ["f1", "f0", "f2"], "ended_facts: replaced")
    equal(await g.store.ended_facts(g.id, NOW, 2), ["f1", "f0"], "ended_facts: replaced, at most")


async def what_an_erasure_removes_bit_by_bit_adds_up(g: Scratch) -> None:
    """Changes that say that the erasure goes on are counted with the last; none is counted twice."""
    await g.accepted(*g.episodes(2))
    erasure = _asked(g, await _free(g, "bits"), ErasureKind.RETENTION, "1:")
    await g.store.begin_erasures([erasure])
    for n in range(2):
        erased = Erased(erasure.erasure_id, {"episodes": 1, "facts": n}, over=False)
        await g.write(remove_episodes=(f"e{n}",), erased=erased)
        part = await _one(g, erasure)
        equal((part.removed, part.uuid), (None, "1:"), "apply: an erasure that goes on")
    for _repeated in range(2):
        await g.store.removed(erasure.erasure_id, g.id, {"documents": 1})
        removed = (await _one(g, erasure)).removed
        equal(removed, {"episodes": 2, "facts": 1, "documents": 1}, "removed: all counts")
    await g.store.free_erased(NOW + 3)


async def a_change_notes_what_it_erases(g: Scratch) -> None:
    """`apply` notes the counts with the change, and forgets the uuid."""
    await g.accepted(*g.episodes(1))
    erasure = _asked(g, await _free(g, "change"), ErasureKind.EPISODE, "e0")
    await g.store.begin_erasures([erasure])
    equal((await _one(g, erasure)).uuid, "e0", "erasure: what is to go")
    await g.write(remove_episodes=("e0",), erased=Erased(erasure.erasure_id, {"episodes": 1}))
    part = await _one(g, erasure)
    equal((part.removed, part.uuid), ({"episodes": 1}, ""), "apply: erased")
    await g.store.free_erased(NOW + 3)


async def proofs_last_until_an_erasure(g: Scratch) -> None:
    """A proof is noted for the group as it is, and known until something is erased or many came after it."""
    ada, bob = await g.pair()
    before = await g.head()
    await g.write(facts=(fact("f1", ada, bob),))
    now = await g.head()
    expect(not await g.store.note_proof(before, "old"), "note_proof: of a revision before")
    other = replace(now, epoch=now.epoch + 1)
    expect(not await g.store.note_proof(other, "other"), "note_proof: of another epoch")
    expect(await g.store.note_proof(now, "one"), "note_proof: of what is there")
    expect(await g.store.proven(g.id, "one"), "proven: what was noted")
    for wrong in ("old", "other", "never"):
        expect(not await g.store.proven(g.id, wrong), f"proven: {wrong}")
    expect(not await g.store.proven(g.sibling(2).id, "one"), "proven: of another group")
    await g.write(facts=(fact("f2", ada, bob),))
    expect(await g.store.proven(g.id, "one"), "proven: after more was written")
    latest = await g.head()
    for number in range(PROOFS):
        await g.store.note_proof(latest, f"later{number}")
    expect(not await g.store.proven(g.id, "one"), "proven: after many more")
    expect(await g.store.proven(g.id, "later0"), "proven: the oldest that is kept")
    erasure = _asked(g, await _free(g, "proofs"), ErasureKind.EPISODE, "e1")
    await g.store.begin_erasures([erasure])
    expect(await g.store.proven(g.id, "later0"), "proven: nothing was removed yet")
    await g.store.removed(erasure.erasure_id, g.id, {"facts": 1})
    expect(not await g.store.proven(g.id, "later0"), "proven: after an erasure")
    await g.store.free_erased(NOW + 3)
