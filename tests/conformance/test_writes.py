"""GraphStore.apply: removal with tombstones, renames, vectors."""

import struct
from dataclasses import replace

from kgsvc.domain.model.graph import Closure, Rewriting, SummaryPart
from kgsvc.domain.model.items import ItemState, Transition
from kgsvc.stores.search_protocol import IndexedFact
from tests.support.samples import NOW, Scratch, fact, tombstone


def floats(*values: float) -> bytes:
    """float32 little-endian, as vectors are stored."""
    return struct.pack(f"<{len(values)}f", *values)


async def test_removed_facts_leave_tombstones(g: Scratch) -> None:
    """remove_facts deletes the fact everywhere and leaves its tombstone in slots()."""
    ada, bob = await g.pair()
    gone, kept = fact("f1", ada, bob), fact("f2", ada, bob)
    await g.write(facts=(gone, kept))
    await g.write(remove_facts=(tombstone(gone),))
    assert await g.store.fact("f1", g.id) == []
    assert (await g.store.dump(g.id)).facts == (kept,)
    view = await g.store.slots(g.id, [gone.slot])
    assert (list(view.facts), list(view.tombstones)) == ([kept], [tombstone(gone)])


async def test_a_tombstone_needs_no_fact(g: Scratch) -> None:
    """Removing a fact that is not there leaves the tombstone; removing twice keeps the later one."""
    ada, bob = await g.pair()
    never = fact("f1", ada, bob)
    await g.write(remove_facts=(tombstone(never, NOW + 1),))
    assert list((await g.store.slots(g.id, [never.slot])).tombstones) == [tombstone(never, NOW + 1)]
    await g.write(remove_facts=(tombstone(never, NOW + 2),))
    assert list((await g.store.slots(g.id, [never.slot])).tombstones) == [tombstone(never, NOW + 2)]


async def test_a_removed_fact_may_be_stated_anew(g: Scratch) -> None:
    """A fact written after its removal is there again, in reads and in changes."""
    ada, bob = await g.pair()
    made = fact("f1", ada, bob)
    await g.write(facts=(made,))
    before = await g.head()
    await g.write(remove_facts=(tombstone(made),))
    anew = replace(made, created_ms=NOW + 9)
    await g.write(facts=(anew,))
    assert await g.store.fact("f1", g.id) == [anew]
    found = await g.store.changes(g.id, before.rev, 99)
    assert [f.fact for f in found.facts] == [anew]
    assert "f1" not in found.removed


async def test_renaming_changes_display_names(g: Scratch) -> None:
    """Facts of a renamed entity show the new name at either end, expired ones too, and count as changed."""
    ada, bob = await g.pair()
    eve = g.entity("n-eve", "Eve")
    facts = (
        fact("f1", ada, bob),
        fact("f2", bob, ada, expired_ms=NOW, expired_reason="retracted"),
        fact("f3", ada, ada),
        fact("f4", bob, eve),
    )
    await g.write(entities=(eve,), facts=facts)
    before = await g.head()
    renamed = replace(ada, name="Countess")
    after = await g.write(entities=(renamed,))
    ends = [(f.source_name, f.target_name) for f in (await g.store.dump(g.id)).facts]
    assert ends == [("Countess", "Bob"), ("Bob", "Countess"), ("Countess", "Countess"), ("Bob", "Eve")]
    (shown,) = await g.store.fact("f1", g.id)
    assert replace(shown, source_name="Ada") == facts[0]
    found = await g.store.changes(g.id, before.rev, 99)
    assert sorted(f.fact.uuid for f in found.facts) == ["f1", "f2", "f3"]
    assert found.head == after
    (slot,) = (await g.store.slots(g.id, [facts[1].slot])).facts
    assert slot.target_name == "Countess"


async def test_replacing_without_renaming_changes_no_fact(g: Scratch) -> None:
    """An entity replaced under the same name leaves its facts unchanged."""
    ada, bob = await g.pair()
    await g.write(facts=(fact("f1", ada, bob),))
    before = await g.head()
    await g.write(entities=(replace(ada, summary="new", attributes={"x": 1}),))
    assert (await g.store.changes(g.id, before.rev, 99)).facts == ()


async def test_a_rename_and_a_new_fact_in_one_delta(g: Scratch) -> None:
    """A rename together with written facts: old and new facts show the new name."""
    ada, bob = await g.pair()
    await g.write(facts=(fact("f1", ada, bob),))
    renamed = replace(ada, name="Countess")
    await g.write(entities=(renamed,), facts=(fact("f2", renamed, bob),))
    assert [f.source_name for f in (await g.store.dump(g.id)).facts] == ["Countess", "Countess"]


async def test_vectors_come_with_changes(g: Scratch) -> None:
    """A fact's vector and its space come with changes(); facts without one have None."""
    ada, bob = await g.pair()
    await g.accepted(g.episode("e1"))
    before = await g.head()
    made = (fact("f1", ada, bob), fact("f2", ada, bob))
    vector = floats(0.25, -1.5, 3e-9)
    vectors = {"f1": vector, ada.uuid: floats(1.0, 0.0, 0.0)}
    await g.write(facts=made, vectors=vectors, space="hash-v1-3")
    found = {f.fact.uuid: f for f in (await g.store.changes(g.id, before.rev, 99)).facts}
    assert found["f1"] == IndexedFact(made[0], "hash-v1-3", vector)
    assert (found["f2"].fact, found["f2"].vector) == (made[1], None)


async def test_vectors_stay_and_are_replaced(g: Scratch) -> None:
    """A fact replaced without a vector keeps its own; a given one, also an empty one, replaces it."""
    ada, bob = await g.pair()
    made = fact("f1", ada, bob)
    await g.write(facts=(made,), vectors={"f1": floats(1, 2)}, space="one")
    await g.write(facts=(replace(made, episodes=("e1",)),))
    (found,) = (await g.store.changes(g.id, 0, 99)).facts
    assert (found.space, found.vector) == ("one", floats(1, 2))
    await g.write(facts=(made,), vectors={"f1": floats(3, 4, 5)}, space="two")
    (found,) = (await g.store.changes(g.id, 0, 99)).facts
    assert (found.space, found.vector) == ("two", floats(3, 4, 5))
    await g.write(facts=(made,), vectors={"f1": b""})
    (found,) = (await g.store.changes(g.id, 0, 99)).facts
    assert (found.space, found.vector or b"") == ("", b"")


async def test_vectors_go_with_their_fact(g: Scratch) -> None:
    """A fact stated anew after its removal has no vector of its former life."""
    ada, bob = await g.pair()
    made = fact("f1", ada, bob)
    await g.write(facts=(made,), vectors={"f1": floats(1, 2)}, space="one")
    await g.write(remove_facts=(tombstone(made),))
    await g.write(facts=(made,))
    (found,) = (await g.store.changes(g.id, 0, 99)).facts
    assert found.vector is None


async def test_entities_are_inserted_and_replaced(g: Scratch) -> None:
    """Rows are whole: a replaced entity has nothing of the old row; what is not written stays."""
    first = g.entity(
        "n1", "Ada", summary="old", attributes={"a": 1}, labels=("Person",),
        source_episode_uuid="e1", updated_ms=NOW, stamps={"a": "1/e1"},
        summary_parts=(SummaryPart(NOW, "f1", "“old”."), SummaryPart(NOW + 1, "episode:e1", "\n")),
        rewriting=Rewriting("“In short”.", (("f1", "d1"), ("f2", "d2")), 3),
    )  # fmt: skip
    bob = g.entity("n2", "Bob")
    await g.write(entities=(first, bob))
    assert await g.store.entity("n1", g.id) == [first]
    second = g.entity("n1", "Ada", summary="", attributes={"b": 2}, updated_ms=NOW + 5)
    await g.write(entities=(second,))
    assert await g.store.entity("n1", g.id) == [second]
    assert (await g.store.dump(g.id)).entities == (second, bob)


async def test_facts_are_inserted_and_replaced(g: Scratch) -> None:
    """A replaced fact is the new row whole, found by fact, slots and dump alike; once."""
    ada, bob = await g.pair()
    first = fact("f1", ada, bob, keywords=("old",), weight=0.5, episodes=("e1",), valid_ms=NOW - 5)
    other = fact("f0", bob, ada)
    await g.write(facts=(first, other))
    second = replace(
        first, keywords=(), weight=2.5, episodes=("e1", "e2"), expired_ms=NOW + 9, invalid_ms=NOW + 3,
        expired_by_fact="f0", expired_by_episode="e2", expired_reason="superseded", invalid_before_ms=None,
        closures=(
            Closure(NOW + 3, NOW + 2, "f0", "e2"),
            Closure(NOW + 4, NOW, "f9", "e3", retracts=True),
            Closure(NOW + 5, NOW, "f9", "e3", moves=True),
        ),
        updated_ms=NOW + 9, original_fact="“before”", update_reason="", previous_uuid="f-1", asserted=True,
        retract_reason="“never”",
    )  # fmt: skip
    await g.write(facts=(second,))
    assert await g.store.fact("f1", g.id) == [second]
    assert list((await g.store.slots(g.id, [first.slot])).facts) == [second]
    assert (await g.store.dump(g.id)).facts == (other, second)


async def test_a_fact_may_move_to_another_slot(g: Scratch) -> None:
    """A row replaced under the same uuid is found under its new conflict key only."""
    ada, bob = await g.pair()
    first = fact("f1", ada, bob)
    await g.write(facts=(first,))
    moved = fact("f1", bob, ada, name="LIKES")
    await g.write(facts=(moved,))
    assert tuple((await g.store.slots(g.id, [first.slot])).facts) == ()
    assert list((await g.store.slots(g.id, [moved.slot])).facts) == [moved]
    assert (await g.store.dump(g.id)).facts == (moved,)


async def test_names_are_put_and_stay(g: Scratch) -> None:
    """names are added to those that are there: old ones stay as aliases."""
    ada = g.entity("n1", "Ada")
    await g.write(entities=(ada,))
    renamed = replace(ada, name="Countess")
    await g.write(entities=(renamed,), names={"countess": "n1", "lady": "n1"})
    dump = await g.store.dump(g.id)
    assert dict(dump.names) == {"ada": "n1", "countess": "n1", "lady": "n1"}
    view = await g.store.names(g.id, ["ada", "countess", "lady"])
    assert dict(view.by_key) == dict.fromkeys(dump.names, renamed)


async def test_mentions_are_idempotent(g: Scratch) -> None:
    """A pair (episode, entity) is there once, however often it is written."""
    ada, bob = await g.pair()
    await g.accepted(g.episode("e1"), g.episode("e2"))
    twice = (g.mention("e1", ada.uuid), g.mention("e1", ada.uuid))
    await g.write(mentions=twice)
    await g.write(mentions=(g.mention("e1", ada.uuid), g.mention("e2", bob.uuid)))
    await g.write(mentions=(g.mention("e1", bob.uuid),))
    assert (await g.store.dump(g.id)).mentions == (("e1", ada.uuid), ("e1", bob.uuid), ("e2", bob.uuid))


async def test_episode_edges_are_set(g: Scratch) -> None:
    """An episode's list of facts is replaced whole, in order; the others' stay."""
    ada, bob = await g.pair()
    await g.accepted(g.episode("e1"), g.episode("e2"))
    made = (fact("f1", ada, bob), fact("f2", ada, bob))
    await g.write(facts=made, episode_edges={"e1": ("f2", "f1"), "e2": ("f1",)})
    await g.write(episode_edges={"e2": ("f2",)})
    edges = (await g.store.dump(g.id)).episode_edges
    assert {k: tuple(v) for k, v in edges.items() if v} == {"e1": ("f2", "f1"), "e2": ("f2",)}


async def test_a_delta_may_say_everything_at_once(g: Scratch) -> None:
    """New entities, facts between them, mentions, edges and transitions in one delta, as a plan writes it."""
    await g.begun(g.episode("e1"))
    ada, bob = g.entity("n1", "Ada"), g.entity("n2", "Bob")
    loop, edge = fact("f0", ada, ada), fact("f1", ada, bob, episodes=("e1",))
    await g.write(
        entities=(ada, bob),
        facts=(edge, loop),
        mentions=(g.mention("e1", "n1"), g.mention("e1", "n2")),
        episode_edges={"e1": ("f1", "f0")},
        transitions=(Transition("e1", ItemState.UPSERTED, NOW + 4),),
        requires_items=("e1",),
    )
    dump = await g.store.dump(g.id)
    assert (dump.entities, dump.facts) == ((ada, bob), (loop, edge))
    assert [e.uuid for e in dump.episodes] == ["e1"]
    assert dump.mentions == (("e1", "n1"), ("e1", "n2"))
    (row,) = await g.items()
    assert (row.state, row.updated_ms) == (ItemState.UPSERTED, NOW + 4)


async def test_removed_episodes_take_their_traces(g: Scratch) -> None:
    """remove_episodes takes episode, MENTIONS, edges and item; facts keep naming it; unknown: fine."""
    ada, bob = await g.pair()
    await g.accepted(g.episode("e1"), g.episode("e2"))
    stated = fact("f1", ada, bob, episodes=("e1", "e2"))
    await g.write(
        facts=(stated,),
        mentions=(g.mention("e1", ada.uuid), g.mention("e2", bob.uuid)),
        episode_edges={"e1": ("f1",), "e2": ("f1",)},
    )
    await g.write(remove_episodes=("e1", "nobody"))
    dump = await g.store.dump(g.id)
    assert [e.uuid for e in dump.episodes] == ["e2"]
    assert dump.mentions == (("e2", bob.uuid),)
    assert [k for k, v in dump.episode_edges.items() if v] == ["e2"]
    assert dump.facts == (stated,)
    assert await g.store.episode("e1", g.id) == []
    assert [i.uuid for i in await g.items()] == ["e2"]


async def test_removed_episodes_cancel_work(g: Scratch) -> None:
    """An item in work whose episode is removed is never given out again; late results are passed over."""
    lease = await g.begun(g.episode("e1"), g.episode("e2", at=1))
    await g.write(remove_episodes=("e1",))
    await g.move(lease, ItemState.EXTRACTED, "e1", "e2", stage=b"x")
    assert await g.started(lease) == ["e2"]
    await g.write(remove_episodes=("e2",))
    assert await g.started(lease) == []


async def test_transitions_of_a_delta_pass_over_finished_items(g: Scratch) -> None:
    """Items not required and already terminal keep their state; failures in a delta unmark started."""
    lease = await g.begun(*g.episodes(3, step=1))
    await g.move(lease, ItemState.PARKED, "e0", reason="unreadable")
    moves = (
        Transition("e0", ItemState.COMPLETED, NOW + 3),
        Transition("e1", ItemState.COMPLETED, NOW + 3),
        Transition("e2", ItemState.UPSERT_FAILED, NOW + 3, reason="busy"),
    )
    await g.write(transitions=moves, requires_items=("e1", "e2"))
    rows = await g.items()
    assert [r.state for r in rows] == [ItemState.PARKED, ItemState.COMPLETED, ItemState.UPSERT_FAILED]
    later = await g.leased("worker-b")
    (item,) = await g.store.start_items(later, NOW + 9, 5, 10**6, ())
    assert (item.episode.uuid, item.suspect) == ("e2", False)
