"""GraphStore.apply: removal with tombstones, renames, vectors."""

from __future__ import annotations

import struct
from dataclasses import replace

from kgsvc.domain.model.graph import Closure, Rewriting, SummaryPart
from kgsvc.domain.model.items import ItemState, Transition
from kgsvc.stores.conformance.samples import (
    NOW,
    accepted,
    entity,
    episode,
    equal,
    expect,
    fact,
    head,
    leased,
    mention,
    move,
    pair,
    started,
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


async def entities_are_inserted_and_replaced(store: Store, group_id: str) -> None:
    """Rows are whole: a replaced entity has nothing of the old row; what is not written stays."""
    first = entity(
        group_id, "n1", "Ada", summary="old", attributes={"a": 1}, labels=("Person",),
        source_episode_uuid="e1", updated_ms=NOW, stamps={"a": "1/e1"},
        summary_parts=(SummaryPart(NOW, "f1", "“old”."), SummaryPart(NOW + 1, "episode:e1", "\n")),
        rewriting=Rewriting("“In short”.", (("f1", "d1"), ("f2", "d2")), 3),
    )  # fmt: skip
    bob = entity(group_id, "n2", "Bob")
    await write(store, group_id, entities=(first, bob))
    equal(await store.entity("n1", group_id), [first], "entity: as written")
    second = entity(group_id, "n1", "Ada", summary="", attributes={"b": 2}, updated_ms=NOW + 5)
    await write(store, group_id, entities=(second,))
    equal(await store.entity("n1", group_id), [second], "entity: replaced whole")
    equal((await store.dump(group_id)).entities, (second, bob), "dump: entities, sorted by uuid")


async def facts_are_inserted_and_replaced(store: Store, group_id: str) -> None:
    """A replaced fact is the new row whole, found by fact, slots and dump alike; once."""
    ada, bob = await pair(store, group_id)
    first = fact("f1", ada, bob, keywords=("old",), weight=0.5, episodes=("e1",), valid_ms=NOW - 5)
    other = fact("f0", bob, ada)
    await write(store, group_id, facts=(first, other))
    second = replace(
        first, keywords=(), weight=2.5, episodes=("e1", "e2"), expired_ms=NOW + 9, invalid_ms=NOW + 3,
        expired_by_fact="f0", expired_by_episode="e2", expired_reason="superseded", invalid_before_ms=None,
        closures=(Closure(NOW + 3, NOW + 2, "f0", "e2"), Closure(NOW + 4, NOW, "f9", "e3")),
        updated_ms=NOW + 9, original_fact="“before”", update_reason="", previous_uuid="f-1", asserted=True,
    )  # fmt: skip
    await write(store, group_id, facts=(second,))
    equal(await store.fact("f1", group_id), [second], "fact: replaced whole")
    equal(list((await store.slots(group_id, [first.slot])).facts), [second], "slots: replaced whole")
    equal((await store.dump(group_id)).facts, (other, second), "dump: facts, sorted by uuid")


async def a_fact_may_move_to_another_slot(store: Store, group_id: str) -> None:
    """A row replaced under the same uuid is found under its new conflict key only."""
    ada, bob = await pair(store, group_id)
    first = fact("f1", ada, bob)
    await write(store, group_id, facts=(first,))
    moved = fact("f1", bob, ada, name="LIKES")
    await write(store, group_id, facts=(moved,))
    equal(tuple((await store.slots(group_id, [first.slot])).facts), (), "slots: the slot it left")
    equal(list((await store.slots(group_id, [moved.slot])).facts), [moved], "slots: the slot it moved to")
    equal((await store.dump(group_id)).facts, (moved,), "dump: a fact with new ends")


async def names_are_put_and_stay(store: Store, group_id: str) -> None:
    """names are added to those that are there: old ones stay as aliases."""
    ada = entity(group_id, "n1", "Ada")
    await write(store, group_id, entities=(ada,))
    renamed = replace(ada, name="Countess")
    await write(store, group_id, entities=(renamed,), names={"countess": "n1", "lady": "n1"})
    dump = await store.dump(group_id)
    equal(dict(dump.names), {"ada": "n1", "countess": "n1", "lady": "n1"}, "dump: names")
    view = await store.names(group_id, ["ada", "countess", "lady"])
    equal(
        {k: e.name for k, e in view.by_key.items()}, dict.fromkeys(dump.names, "Countess"), "names: aliases"
    )


async def mentions_are_idempotent(store: Store, group_id: str) -> None:
    """A pair (episode, entity) is there once, however often it is written."""
    ada, bob = await pair(store, group_id)
    await accepted(store, episode(group_id, "e1"), episode(group_id, "e2"))
    twice = (mention(group_id, "e1", ada.uuid), mention(group_id, "e1", ada.uuid))
    await write(store, group_id, mentions=twice)
    await write(
        store, group_id, mentions=(mention(group_id, "e1", ada.uuid), mention(group_id, "e2", bob.uuid))
    )
    await write(store, group_id, mentions=(mention(group_id, "e1", bob.uuid),))
    wanted = (("e1", ada.uuid), ("e1", bob.uuid), ("e2", bob.uuid))
    equal((await store.dump(group_id)).mentions, wanted, "dump: mentions, sorted")


async def episode_edges_are_set(store: Store, group_id: str) -> None:
    """An episode's list of facts is replaced whole, in order; the others' stay."""
    ada, bob = await pair(store, group_id)
    await accepted(store, episode(group_id, "e1"), episode(group_id, "e2"))
    made = (fact("f1", ada, bob), fact("f2", ada, bob))
    await write(store, group_id, facts=made, episode_edges={"e1": ("f2", "f1"), "e2": ("f1",)})
    await write(store, group_id, episode_edges={"e2": ("f2",)})
    edges = (await store.dump(group_id)).episode_edges
    equal({k: tuple(v) for k, v in edges.items() if v}, {"e1": ("f2", "f1"), "e2": ("f2",)}, "dump: edges")


async def a_delta_may_say_everything_at_once(store: Store, group_id: str) -> None:
    """New entities, facts between them, mentions, edges and transitions in one delta, as a plan writes it."""
    await accepted(store, episode(group_id, "e1"))
    lease = await leased(store, group_id)
    await started(store, lease)
    ada, bob = entity(group_id, "n1", "Ada"), entity(group_id, "n2", "Bob")
    loop, edge = fact("f0", ada, ada), fact("f1", ada, bob, episodes=("e1",))
    await write(
        store,
        group_id,
        entities=(ada, bob),
        facts=(edge, loop),
        mentions=(mention(group_id, "e1", "n1"), mention(group_id, "e1", "n2")),
        episode_edges={"e1": ("f1", "f0")},
        transitions=(Transition("e1", ItemState.UPSERTED, NOW + 4),),
        requires_items=("e1",),
    )
    dump = await store.dump(group_id)
    equal((dump.entities, dump.facts), ((ada, bob), (loop, edge)), "dump: entities and facts")
    equal([e.uuid for e in dump.episodes], ["e1"], "dump: episodes")
    equal(dump.mentions, (("e1", "n1"), ("e1", "n2")), "dump: mentions")
    (row,) = (await store.list_items(group_id, (), 5, None)).rows
    equal((row.state, row.updated_ms), (ItemState.UPSERTED, NOW + 4), "apply: transitions")


async def removed_episodes_take_their_traces(store: Store, group_id: str) -> None:
    """remove_episodes takes episode, MENTIONS, edges and item; facts keep naming it; unknown: fine."""
    ada, bob = await pair(store, group_id)
    await accepted(store, episode(group_id, "e1"), episode(group_id, "e2"))
    stated = fact("f1", ada, bob, episodes=("e1", "e2"))
    await write(
        store,
        group_id,
        facts=(stated,),
        mentions=(mention(group_id, "e1", ada.uuid), mention(group_id, "e2", bob.uuid)),
        episode_edges={"e1": ("f1",), "e2": ("f1",)},
    )
    await write(store, group_id, remove_episodes=("e1", "nobody"))
    dump = await store.dump(group_id)
    equal([e.uuid for e in dump.episodes], ["e2"], "dump: episodes")
    equal(dump.mentions, (("e2", bob.uuid),), "dump: mentions")
    equal([k for k, v in dump.episode_edges.items() if v], ["e2"], "dump: episode_edges")
    equal(dump.facts, (stated,), "dump: facts keep naming the episode")
    equal(await store.episode("e1", group_id), [], "episode: removed")
    equal(
        [i.uuid for i in (await store.list_items(group_id, (), 5, None)).rows], ["e2"], "list_items: removed"
    )


async def removed_episodes_cancel_work(store: Store, group_id: str) -> None:
    """An item in work whose episode is removed is never given out again; late results are passed over."""
    await accepted(store, episode(group_id, "e1"), episode(group_id, "e2", at=1))
    lease = await leased(store, group_id)
    await started(store, lease)
    await write(store, group_id, remove_episodes=("e1",))
    await move(store, lease, ItemState.EXTRACTED, "e1", "e2", stage=b"x")
    equal(await started(store, lease), ["e2"], "start_items: after remove_episodes")
    await write(store, group_id, remove_episodes=("e2",))
    equal(await started(store, lease), [], "start_items: everything removed")


async def transitions_of_a_delta_pass_over_finished_items(store: Store, group_id: str) -> None:
    """Items not required and already terminal keep their state; failures in a delta unmark started."""
    await accepted(store, *[episode(group_id, f"e{n}", at=n) for n in range(3)])
    lease = await leased(store, group_id)
    await started(store, lease)
    await move(store, lease, ItemState.PARKED, "e0", reason="unreadable")
    moves = (
        Transition("e0", ItemState.COMPLETED, NOW + 3),
        Transition("e1", ItemState.COMPLETED, NOW + 3),
        Transition("e2", ItemState.UPSERT_FAILED, NOW + 3, reason="busy"),
    )
    await write(store, group_id, transitions=moves, requires_items=("e1", "e2"))
    rows = (await store.list_items(group_id, (), 5, None)).rows
    wanted = [ItemState.PARKED, ItemState.COMPLETED, ItemState.UPSERT_FAILED]
    equal([r.state for r in rows], wanted, "apply: transitions")
    later = await leased(store, group_id, "worker-b")
    (item,) = await store.start_items(later, NOW + 9, 5, 10**6, ())
    equal((item.episode.uuid, item.suspect), ("e2", False), "apply: a failure unmarks started")
