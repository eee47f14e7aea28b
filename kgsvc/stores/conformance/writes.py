"""GraphStore.apply: what a delta writes, read back by every way there is."""

from __future__ import annotations

from dataclasses import replace

from kgsvc.domain.items import ItemState, Transition
from kgsvc.domain.model import Closure, Rewriting, SummaryPart
from kgsvc.stores.conformance.expect import equal
from kgsvc.stores.conformance.samples import (
    NOW,
    accepted,
    entity,
    episode,
    fact,
    leased,
    mention,
    move,
    pair,
    started,
    write,
)
from kgsvc.stores.protocol import Store


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
