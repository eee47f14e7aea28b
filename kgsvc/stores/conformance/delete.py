"""AdminStore: delete_group, group_ids, migrate, info."""

from __future__ import annotations

from dataclasses import replace

from kgsvc.domain.errors import LeaseLost
from kgsvc.domain.model.delta import Guard
from kgsvc.domain.model.graph import Source
from kgsvc.domain.model.items import ItemState, Transition
from kgsvc.stores.conformance.samples import (
    HUGE,
    MANY,
    NOW,
    accepted,
    answer,
    batch,
    delta,
    entity,
    episode,
    equal,
    expect,
    fact,
    guard,
    head,
    leased,
    mention,
    move,
    pair,
    present,
    refused,
    started,
    tombstone,
    work,
    write,
)
from kgsvc.stores.protocol import Anchor, Store

LATER = NOW + 100


async def a_deleted_group_reads_as_empty(store: Store, group_id: str) -> None:
    """Every read of the group is empty, the epoch is greater, and it is no longer listed."""
    slot, key = await _fill(store, group_id)
    before = await head(store, group_id)
    await store.delete_group(group_id, LATER)
    after = await head(store, group_id)
    expect(after.epoch > before.epoch, f"delete_group: epoch {after.epoch} after {before.epoch}")
    dump = await store.dump(group_id)
    parts = (
        dump.episodes,
        dump.entities,
        dict(dump.names),
        dump.facts,
        dump.mentions,
        dict(dump.episode_edges),
    )
    equal(parts, ((), (), {}, (), (), {}), "dump: of a deleted group")
    equal(dump.head, after, "dump: head of a deleted group")
    equal((await store.list_items(group_id, (), 9, None)).rows, (), "list_items: of a deleted group")
    equal(await store.recent_episodes(group_id, 9), [], "recent_episodes: of a deleted group")
    for uuid in ("e1", "n-ada", "f1"):
        episodes, entities = await store.episode(uuid, None), await store.entity(uuid, None)
        groups = {e.group_id for e in episodes} | {n.group_id for n in entities}
        groups |= {f.group_id for f in await store.fact(uuid, None)}
        ours = [await lookup(uuid, group_id) for lookup in (store.episode, store.entity, store.fact)]
        equal(ours, [[], [], []], f"by uuid in the group: {uuid} of a deleted group")
        expect(group_id not in groups, f"by uuid: {uuid} of a deleted group is found")
    names = await store.names(group_id, [key], ["n-ada"])
    equal((dict(names.by_key), dict(names.by_uuid)), ({}, {}), "names: of a deleted group")
    slots = await store.slots(group_id, [slot])
    equal((tuple(slots.facts), tuple(slots.tombstones)), ((), ()), "slots: of a deleted group")
    anchors = [Anchor("x", Source.TEXT, NOW + 99)]
    previous = await store.previous_episodes(group_id, anchors, 9, 9)
    equal(previous, {"x": ()}, "previous_episodes: of a deleted group")
    expect(group_id not in await store.group_ids(), "group_ids: names a deleted group")


async def unfinished_items_end_parked(store: Store, group_id: str) -> None:
    """The receipt shows unfinished items PARKED (group_deleted); all of it is terminal; nothing is due."""
    result = await accepted(store, *[episode(group_id, f"e{n}") for n in range(4)])
    lease = await leased(store, group_id)
    await started(store, lease)
    await move(store, lease, ItemState.COMPLETED, "e0")
    await move(store, lease, ItemState.EXTRACTED, "e1", stage=b"x")
    await move(store, lease, ItemState.PARKED, "e2", reason="unreadable")
    await store.delete_group(group_id, LATER)
    receipt = present(await store.receipt(result.receipt_id), "receipt: after delete_group")
    equal([i.uuid for i in receipt.items], ["e0", "e1", "e2", "e3"], "receipt: items after delete_group")
    expect(receipt.done, f"receipt: {[i.state for i in receipt.items]} after delete_group")
    for item in (receipt.items[1], receipt.items[3]):
        found = (item.state, item.reason)
        equal(found, (ItemState.PARKED, "group_deleted"), f"receipt: unfinished item {item.uuid}")
    equal(await work(store, group_id, NOW + 10**10), None, "ready_groups: a deleted group")
    equal(await store.retry_items(group_id, None, LATER), [], "retry_items: items of a deleted group")


async def a_stale_lease_is_lost(store: Store, group_id: str) -> None:
    """A lease from before the deletion starts, saves and writes nothing, also after new items came."""
    await accepted(store, episode(group_id, "e1"))
    lease = await leased(store, group_id)
    await started(store, lease)
    old = await guard(store, group_id, lease.token)
    await store.delete_group(group_id, LATER)
    ada = entity(group_id, "n-ada", "Ada")
    done = [Transition("e1", ItemState.COMPLETED, LATER)]
    for round_ in ("deleted", "filled anew"):
        what = f"a lease from before, the group {round_}"
        await refused(LeaseLost, store.start_items(lease, LATER, MANY, HUGE, ()), f"start_items: {what}")
        await refused(LeaseLost, store.save_transitions(lease, done), f"save_transitions: {what}")
        change = delta(group_id, entities=(ada,))
        await refused(LeaseLost, store.apply(change, old), f"apply: {what}")
        fresh_rev = replace(old, rev=(await head(store, group_id)).rev)
        await refused(LeaseLost, store.apply(change, fresh_rev), f"apply at the present rev: {what}")
        equal((await store.dump(group_id)).entities, (), f"dump: {what}")
        await accepted(store, episode(group_id, "e1"))
    (row,) = (await store.list_items(group_id, (), 9, None)).rows
    equal(row.state, ItemState.ACCEPTED, "list_items: an item of the new epoch")
    equal(await store.renew([lease]), [], "renew: a lease from before")
    anew = await leased(store, group_id, "worker-b")
    await store.release(lease)
    equal(await store.renew([lease, anew]), [group_id], "renew: after a late release of the old lease")
    equal(await started(store, anew), ["e1"], "start_items: with the lease of the new epoch")


async def a_callers_late_write_is_refused(store: Store, group_id: str) -> None:
    """A caller's own write (no token) planned before the deletion is LeaseLost."""
    await pair(store, group_id)
    old = await guard(store, group_id)
    await store.delete_group(group_id, LATER)
    now = await head(store, group_id)
    change = delta(group_id, entities=(entity(group_id, "n-eve", "Eve"),))
    for late in (old, Guard(rev=now.rev, epoch=old.epoch)):
        await refused(LeaseLost, store.apply(change, late), "apply: planned before delete_group")
    equal((await store.dump(group_id)).entities, (), "dump: after a late write")


async def the_group_can_be_filled_anew(store: Store, group_id: str) -> None:
    """The same uuids, names, facts and idempotency keys are new in the new epoch, and worked on as usual."""
    call = batch(episode(group_id, "e1"), idempotency_key="k")
    first = await answer(store, call)
    await _fill(store, group_id)
    await store.delete_group(group_id, LATER)
    again = batch(episode(group_id, "e1", body="other content"), idempotency_key="k")
    result = await answer(store, again)
    equal(result.receipt_id, again.receipt_id, "accept: the key of a deleted group")
    equal(result.items[0].duplicate, False, "accept: a uuid of a deleted group")
    old = present(await store.receipt(first.receipt_id), "receipt: of the deleted group")
    expect(old.done, "receipt: the old one follows the new item")
    lease = await leased(store, group_id)
    equal(await started(store, lease), ["e1"], "start_items: in the new epoch")
    equal(lease.epoch, (await head(store, group_id)).epoch, "claim: epoch of the lease")
    ada = entity(group_id, "n-ada", "Ada")
    made = fact("f1", ada, ada)
    change = delta(group_id, entities=(ada,), facts=(made,), mentions=(mention(group_id, "e1", ada.uuid),))
    await store.apply(change, await guard(store, group_id, lease.token))
    dump = await store.dump(group_id)
    equal(
        (dump.entities, dump.facts, dump.mentions),
        ((ada,), (made,), (("e1", ada.uuid),)),
        "dump: filled anew",
    )
    expect(group_id in await store.group_ids(), "group_ids: a group filled anew")


async def other_groups_are_untouched(store: Store, group_id: str) -> None:
    """Deleting a group changes nothing of another, also with the same uuids and a longer name."""
    other = f"{group_id}-2"
    await _fill(store, group_id)
    await _fill(store, other)
    lease = await leased(store, other)
    before = (await store.dump(other), await store.list_items(other, (), 9, None))
    await store.delete_group(group_id, LATER)
    after = (await store.dump(other), await store.list_items(other, (), 9, None))
    equal(after, before, "another group after delete_group")
    equal(await store.renew([lease]), [other], "renew: another group's lease")


async def deleting_twice_or_nothing_is_fine(store: Store, group_id: str) -> None:
    """An unknown group, an empty one and one deleted before are fine."""
    await store.delete_group(f"{group_id}-3", LATER)
    await accepted(store, episode(group_id, "e1"))
    for _ in range(2):
        await store.delete_group(group_id, LATER)
    equal((await store.dump(group_id)).episodes, (), "dump: after two deletions")


async def big_groups_are_deleted_whole(store: Store, group_id: str) -> None:
    """Nothing is left of a group larger than one batch of the deletion."""
    for n in range(5):
        await accepted(store, *[episode(group_id, f"e{n}-{k}") for k in range(250)])
    ada, bob = await pair(store, group_id)
    await write(store, group_id, facts=tuple(fact(f"f{n}", ada, bob) for n in range(1_200)))
    await store.delete_group(group_id, LATER)
    dump = await store.dump(group_id)
    equal((dump.episodes, dump.entities, dump.facts), ((), (), ()), "dump: of a big deleted group")
    equal((await store.list_items(group_id, (), 9, None)).rows, (), "list_items: of a big deleted group")


async def group_ids_are_sorted(store: Store, group_id: str) -> None:
    """Every group with content, sorted; one without is absent."""
    groups = [f"{group_id}-3", group_id, f"{group_id}-2"]
    for name in groups:
        await accepted(store, episode(name, "e1"))
    found = await store.group_ids()
    equal(found, sorted(found), "group_ids: order")
    equal([g for g in found if g in groups], sorted(groups), "group_ids: groups with content")


async def migrate_may_run_again(store: Store, group_id: str) -> None:
    """Migrating an up-to-date store returns its version and harms nothing; info names engine and version."""
    await _fill(store, group_id)
    before = await store.dump(group_id)
    version = await store.migrate()
    equal(await store.migrate(), version, "migrate: run again")
    info = await store.info()
    equal(info.schema_version, version, "info: schema_version")
    expect(bool(info.kind and info.version), f"info: {info}")
    equal(await store.dump(group_id), before, "dump: after migrate")


async def _fill(store: Store, group_id: str) -> tuple[str, str]:
    """Everything a group can hold; returns a slot with fact and tombstone, and a name key."""
    await accepted(store, episode(group_id, "e1"), episode(group_id, "e2", at=1))
    ada, bob = entity(group_id, "n-ada", "Ada"), entity(group_id, "n-bob", "Bob")
    kept, gone = fact("f1", ada, bob, episodes=("e1",)), fact("f2", ada, bob)
    await write(
        store,
        group_id,
        entities=(ada, bob),
        facts=(kept, gone),
        mentions=(mention(group_id, "e1", ada.uuid), mention(group_id, "e2", bob.uuid)),
        episode_edges={"e1": ("f1",)},
        vectors={"f1": b"\0\0\x80\x3f", ada.uuid: b"\0\0\x80\x3f"},
        space="space",
    )
    await write(store, group_id, remove_facts=(tombstone(gone),))
    return kept.slot, "ada"
