"""GraphStore.apply: removal with tombstones, renames, vectors."""

from __future__ import annotations

import struct
from dataclasses import replace

from kgsvc.stores.conformance.expect import equal, expect
from kgsvc.stores.conformance.samples import (
    NOW,
    accepted,
    entity,
    episode,
    fact,
    head,
    pair,
    tombstone,
    write,
)
from kgsvc.stores.protocol import Store
from kgsvc.stores.search_protocol import IndexedFact


def floats(*values: float) -> bytes:
    """float32 little-endian, as vectors are stored."""
    return struct.pack(f"<{len(values)}f", *values)


async def removed_facts_leave_tombstones(store: Store, group_id: str) -> None:
    """remove_facts deletes the fact everywhere and leaves its tombstone in slots()."""
    ada, bob = await pair(store, group_id)
    gone, kept = fact("f1", ada, bob), fact("f2", ada, bob)
    await write(store, group_id, facts=(gone, kept))
    await write(store, group_id, remove_facts=(tombstone(gone),))
    equal(await store.fact("f1", group_id), [], "fact: removed")
    equal((await store.dump(group_id)).facts, (kept,), "dump: facts")
    view = await store.slots(group_id, [gone.slot])
    equal((list(view.facts), list(view.tombstones)), ([kept], [tombstone(gone)]), "slots: after removal")


async def a_tombstone_needs_no_fact(store: Store, group_id: str) -> None:
    """Removing a fact that is not there leaves the tombstone; removing twice keeps the later one."""
    ada, bob = await pair(store, group_id)
    never = fact("f1", ada, bob)
    await write(store, group_id, remove_facts=(tombstone(never, NOW + 1),))
    found = list((await store.slots(group_id, [never.slot])).tombstones)
    equal(found, [tombstone(never, NOW + 1)], "slots: tombstone of a fact that was not there")
    await write(store, group_id, remove_facts=(tombstone(never, NOW + 2),))
    found = list((await store.slots(group_id, [never.slot])).tombstones)
    equal(found, [tombstone(never, NOW + 2)], "slots: tombstone of a fact removed again")


async def a_removed_fact_may_be_stated_anew(store: Store, group_id: str) -> None:
    """A fact written after its removal is there again, in reads and in changes."""
    ada, bob = await pair(store, group_id)
    made = fact("f1", ada, bob)
    await write(store, group_id, facts=(made,))
    before = await head(store, group_id)
    await write(store, group_id, remove_facts=(tombstone(made),))
    anew = replace(made, created_ms=NOW + 9)
    await write(store, group_id, facts=(anew,))
    equal(await store.fact("f1", group_id), [anew], "fact: stated anew")
    found = await store.changes(group_id, before.rev, 99)
    equal([f.fact for f in found.facts], [anew], "changes: stated anew")
    expect("f1" not in found.removed, "changes: a fact stated anew is named as removed")


async def renaming_changes_display_names(store: Store, group_id: str) -> None:
    """Facts of a renamed entity show the new name at either end, expired ones too, and count as changed."""
    ada, bob = await pair(store, group_id)
    eve = entity(group_id, "n-eve", "Eve")
    facts = (
        fact("f1", ada, bob),
        fact("f2", bob, ada, expired_ms=NOW, expired_reason="retracted"),
        fact("f3", ada, ada),
        fact("f4", bob, eve),
    )
    await write(store, group_id, entities=(eve,), facts=facts)
    before = await head(store, group_id)
    renamed = replace(ada, name="Countess")
    after = await write(store, group_id, entities=(renamed,))
    ends = [(f.source_name, f.target_name) for f in (await store.dump(group_id)).facts]
    wanted = [("Countess", "Bob"), ("Bob", "Countess"), ("Countess", "Countess"), ("Bob", "Eve")]
    equal(ends, wanted, "dump: display names after a rename")
    (shown,) = await store.fact("f1", group_id)
    equal(replace(shown, source_name="Ada"), facts[0], "fact: nothing but the display name changed")
    found = await store.changes(group_id, before.rev, 99)
    equal(sorted(f.fact.uuid for f in found.facts), ["f1", "f2", "f3"], "changes: facts of a renamed entity")
    equal(found.head, after, "changes: head after a rename")
    (slot,) = (await store.slots(group_id, [facts[1].slot])).facts
    equal(slot.target_name, "Countess", "slots: display name after a rename")


async def replacing_without_renaming_changes_no_fact(store: Store, group_id: str) -> None:
    """An entity replaced under the same name leaves its facts unchanged."""
    ada, bob = await pair(store, group_id)
    await write(store, group_id, facts=(fact("f1", ada, bob),))
    before = await head(store, group_id)
    await write(store, group_id, entities=(replace(ada, summary="new", attributes={"x": 1}),))
    equal((await store.changes(group_id, before.rev, 99)).facts, (), "changes: nothing but a summary changed")


async def a_rename_and_a_new_fact_in_one_delta(store: Store, group_id: str) -> None:
    """A rename together with written facts: old and new facts show the new name."""
    ada, bob = await pair(store, group_id)
    await write(store, group_id, facts=(fact("f1", ada, bob),))
    renamed = replace(ada, name="Countess")
    await write(store, group_id, entities=(renamed,), facts=(fact("f2", renamed, bob),))
    names = [f.source_name for f in (await store.dump(group_id)).facts]
    equal(names, ["Countess", "Countess"], "dump: display names")


async def vectors_come_with_changes(store: Store, group_id: str) -> None:
    """A fact's vector and its space come with changes(); facts without one have None."""
    ada, bob = await pair(store, group_id)
    await accepted(store, episode(group_id, "e1"))
    before = await head(store, group_id)
    made = (fact("f1", ada, bob), fact("f2", ada, bob))
    vector = floats(0.25, -1.5, 3e-9)
    vectors = {"f1": vector, ada.uuid: floats(1.0, 0.0, 0.0)}
    await write(store, group_id, facts=made, vectors=vectors, space="hash-v1-3")
    found = {f.fact.uuid: f for f in (await store.changes(group_id, before.rev, 99)).facts}
    equal(found["f1"], IndexedFact(made[0], "hash-v1-3", vector), "changes: a fact with a vector")
    equal((found["f2"].fact, found["f2"].vector), (made[1], None), "changes: a fact without one")


async def vectors_stay_and_are_replaced(store: Store, group_id: str) -> None:
    """A fact replaced without a vector keeps its own; a given one, also an empty one, replaces it."""
    ada, bob = await pair(store, group_id)
    made = fact("f1", ada, bob)
    await write(store, group_id, facts=(made,), vectors={"f1": floats(1, 2)}, space="one")
    await write(store, group_id, facts=(replace(made, episodes=("e1",)),))
    (found,) = (await store.changes(group_id, 0, 99)).facts
    equal(
        (found.space, found.vector), ("one", floats(1, 2)), "changes: vector of a fact replaced without one"
    )
    await write(store, group_id, facts=(made,), vectors={"f1": floats(3, 4, 5)}, space="two")
    (found,) = (await store.changes(group_id, 0, 99)).facts
    equal((found.space, found.vector), ("two", floats(3, 4, 5)), "changes: a replaced vector")
    await write(store, group_id, facts=(made,), vectors={"f1": b""})
    (found,) = (await store.changes(group_id, 0, 99)).facts
    equal((found.space, found.vector or b""), ("", b""), "changes: a vector emptied")


async def vectors_go_with_their_fact(store: Store, group_id: str) -> None:
    """A fact stated anew after its removal has no vector of its former life."""
    ada, bob = await pair(store, group_id)
    made = fact("f1", ada, bob)
    await write(store, group_id, facts=(made,), vectors={"f1": floats(1, 2)}, space="one")
    await write(store, group_id, remove_facts=(tombstone(made),))
    await write(store, group_id, facts=(made,))
    (found,) = (await store.changes(group_id, 0, 99)).facts
    equal(found.vector, None, "changes: vector of a fact stated anew")
