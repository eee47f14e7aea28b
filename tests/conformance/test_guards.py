"""GraphStore.apply: under which conditions it writes, and that it writes all or nothing."""

import asyncio
import contextlib
from dataclasses import replace
from typing import TypeVar

import pytest

from kgsvc.domain.errors import Conflict, LeaseLost, RevisionChanged
from kgsvc.domain.model.delta import Claim, GraphDelta, GroupHead, Guard, StaleItems
from kgsvc.domain.model.graph import Entity
from kgsvc.domain.model.items import ItemState, Transition
from kgsvc.stores.protocol import GroupDump
from tests.support.samples import HUGE, MANY, NOW, Scratch, batch, fact, tombstone

_E = TypeVar("_E", bound=Exception)


async def test_apply_creates_the_group(g: Scratch) -> None:
    """The first delta creates the group's record; the returned head is the one that reads show."""
    before = await g.head()
    ada = g.entity("n1", "Ada")
    result = await g.store.apply(g.delta(entities=(ada,)), Guard(before.rev, before.epoch))
    assert result.rev > before.rev
    assert (result.group_id, result.epoch, result.last_ms) == (g.id, before.epoch, NOW)
    assert await g.head() == result
    assert g.id in await g.store.group_ids()


async def test_every_change_bumps_the_revision(g: Scratch) -> None:
    """rev grows with each delta and last_ms becomes its system_ms; with bumps_rev False rev stays."""
    await g.accepted(g.episode("e1"))
    first = await g.write(entities=(g.entity("n1", "Ada"),))
    second = await g.write(entities=(g.entity("n2", "Bob"),), system_ms=NOW + 1)
    assert second.rev > first.rev
    done = (Transition("e1", ItemState.COMPLETED, NOW + 2),)
    third = await g.write(transitions=done, system_ms=NOW + 2, bumps_rev=False)
    assert (third.rev, third.last_ms) == (second.rev, NOW + 2)
    assert await g.head() == third
    (row,) = await g.items()
    assert row.state == ItemState.COMPLETED


async def test_a_changed_revision_is_refused(g: Scratch) -> None:
    """RevisionChanged when rev is not the one that was read, older or newer; nothing is written."""
    old = await g.guard()
    await g.pair()
    now = await g.guard()
    for wrong in (old, replace(now, rev=now.rev - 1), replace(now, rev=now.rev + 1)):
        await _refused_whole(g, await _full(g), wrong, RevisionChanged)


async def test_another_epoch_is_refused(g: Scratch) -> None:
    """LeaseLost when the epoch differs, before the revision is looked at; nothing is written."""
    await g.pair()
    now = await g.guard()
    change = await _full(g)
    for wrong in (replace(now, epoch=now.epoch + 1), Guard(rev=now.rev + 7, epoch=now.epoch - 1)):
        await _refused_whole(g, change, wrong, LeaseLost)


async def test_another_token_is_refused(g: Scratch) -> None:
    """LeaseLost when the token is not the group's; without a token a caller writes beside the lease."""
    await g.pair()
    lost = await g.queued(g.episode("e1"))
    held = await g.leased("worker-b")
    change = await _full(g)
    now = await g.guard()
    for token in (lost.token, held.token + 1, 0):
        await _refused_whole(g, change, replace(now, token=token), LeaseLost)
    await g.write(entities=(g.entity("n9", "Zed"),))
    result = await g.store.apply(change, await g.guard(held.token))
    assert await g.head() == result
    assert await g.store.renew([held]) == [g.id]


async def test_a_released_lease_writes_nothing(g: Scratch) -> None:
    """LeaseLost for the token of a released lease, also after another took the group."""
    await g.pair()
    lease = await g.queued(g.episode("e1"))
    await g.store.release(lease)
    late = await _full(g)
    await _refused_whole(g, late, await g.guard(lease.token), LeaseLost)
    await g.leased("worker-b")
    await _refused_whole(g, await _full(g), await g.guard(lease.token), LeaseLost)


async def test_required_items_must_be_unfinished(g: Scratch) -> None:
    """StaleItems names the required items that are gone or terminal, no others; nothing is written."""
    await g.pair()
    lease = await g.begun(*g.episodes(4))
    await g.move(lease, ItemState.COMPLETED, "e0")
    await g.move(lease, ItemState.PARKED, "e1", reason="unreadable")
    await g.write(remove_episodes=("e2",))
    change = replace(await _full(g), requires_items=("e0", "e1", "e2", "e3", "nobody"))
    now = await g.guard(lease.token)
    assert sorted((await _refused_whole(g, change, now, StaleItems)).uuids) == ["e0", "e1", "e2", "nobody"]
    await g.store.apply(replace(change, requires_items=("e3",)), now)


async def test_work_on_a_deleted_item_is_not_that_of_its_successor(g: Scratch) -> None:
    """Deleted in work and sent again with other content, an item keeps nothing of the old work: StaleItems
    for its delta, its transitions are passed over. Begun anew, it can be completed."""
    lease = await g.begun(g.episode("e1"))
    await g.write(remove_episodes=("e1",))
    await g.accepted(g.episode("e1", body="other"), now_ms=NOW + 1)
    await g.move(lease, ItemState.EXTRACTED, "e1", now_ms=NOW + 9, stage=b"old")
    done = (Transition("e1", ItemState.COMPLETED, NOW + 9),)
    change = replace(await _full(g), transitions=done, requires_items=("e1",))
    now = await g.guard(lease.token)
    assert (await _refused_whole(g, change, now, StaleItems)).uuids == ("e1",)
    (item,) = await g.store.start_items(lease, NOW + 9, MANY, HUGE, ())
    assert (item.episode.body, item.state, item.stage) == ("other", ItemState.ACCEPTED, None)
    await g.store.apply(change, now)
    (row,) = await g.items()
    assert row.state == ItemState.COMPLETED


async def test_a_delta_is_not_applied_twice(g: Scratch) -> None:
    """A repeated apply (its first answer was lost) is refused: by rev, and at a fresh rev as StaleItems."""
    lease = await g.begun(g.episode("e1"))
    done = (Transition("e1", ItemState.COMPLETED, NOW + 1),)
    now = await g.guard(lease.token)
    change = g.delta(entities=(g.entity("n1", "Ada"),), transitions=done, requires_items=("e1",))
    await g.store.apply(change, now)
    await _refused_whole(g, change, now, RevisionChanged)
    await _refused_whole(g, change, await g.guard(lease.token), StaleItems)


async def test_an_owned_name_is_a_conflict(g: Scratch) -> None:
    """Conflict when a name is put that an untouched entity owns; nothing is written."""
    ada, _ = await g.pair()
    thief = g.entity("n-thief", "ADA")
    change = g.delta(entities=(thief,), names={"zed": thief.uuid, "ada": thief.uuid})
    await _refused_whole(g, change, await g.guard(), Conflict)
    again = replace(ada, summary="knows mathematics")
    await g.write(entities=(again,), names={"ada": ada.uuid})
    assert await g.store.entity(ada.uuid, g.id) == [again]


async def test_a_refused_delta_leaves_nothing(g: Scratch) -> None:
    """Whatever the reason, no part of a refused delta stays, and the next good one is written whole."""
    ada, _ = await g.pair()
    await g.accepted(g.episode("e1"), g.episode("e2"))
    old = fact("f-old", ada, ada)
    await g.write(facts=(old,), vectors={"f-old": b"\0\0\x80\x3f"}, space="s")
    change = await _full(g)
    now = await g.guard()
    stale = replace(change, requires_items=("e1", "nobody"))
    stolen = replace(change, names={**change.names, "bob": "n-new"})
    await _refused_whole(g, stale, now, StaleItems)
    await _refused_whole(g, stolen, now, Conflict)
    await g.store.apply(change, now)
    assert [f.uuid for f in (await g.store.dump(g.id)).facts if f.uuid == "f-new"] == ["f-new"]


async def test_a_known_claim_writes_nothing(g: Scratch) -> None:
    """A claim known with the same input returns the head unchanged; with another input it is Conflict."""
    claim = Claim("AddEntityNode", "k", "input one", NOW)
    ada, eve = g.entity("n-ada", "Ada"), g.entity("n-eve", "Eve")
    first = await g.write(entities=(ada,), claim=claim)
    now = await g.guard()
    change = g.delta(entities=(eve,), claim=replace(claim, now_ms=NOW + 5), system_ms=NOW + 5)
    before = await _everything(g)
    assert await g.store.apply(change, now) == first
    assert await _everything(g) == before
    other = replace(change, claim=replace(claim, input_hash="input two"))
    await _refused_whole(g, other, now, Conflict)
    elsewhere = replace(other, claim=Claim("UpdateFact", "k", "input two", NOW))
    await g.store.apply(elsewhere, now)
    assert await g.store.entity(eve.uuid, g.id) == [eve]


async def test_claims_come_after_the_guard(g: Scratch) -> None:
    """A delta that the guard refuses, or that fails otherwise, records no claim."""
    await g.pair()
    claim = Claim("AddEntityNode", "k", "input", NOW)
    eve = g.entity("n-eve", "Eve")
    change = g.delta(entities=(eve,), claim=claim)
    now = await g.guard()
    await _refused_whole(g, change, replace(now, rev=now.rev + 1), RevisionChanged)
    thief = g.delta(entities=(eve,), names={"ada": eve.uuid}, claim=claim)
    await _refused_whole(g, thief, now, Conflict)
    await g.store.apply(change, now)
    assert await g.store.entity(eve.uuid, g.id) == [eve]
    await _refused_whole(g, change, now, RevisionChanged)


async def test_claims_lapse_and_share_the_keys_of_accept(g: Scratch) -> None:
    """After the window a key may be claimed anew; accept and apply know one another's keys."""
    hour = 3_600_000
    claim = Claim("AddEntityNode", "k", "one", NOW, dedup_window_ms=hour)
    await g.write(entities=(g.entity("n1", "Ada"),), claim=claim)
    later = replace(claim, input_hash="two", now_ms=NOW + hour + 1_000)
    await g.write(entities=(g.entity("n2", "Bob"),), claim=later)
    assert await g.store.entity("n2", g.id)
    call = batch(g.episode("e1"), idempotency_key="k", operation="AddEntityNode", now_ms=NOW + hour)
    (result,) = await g.store.accept([call])
    assert isinstance(result, Conflict)
    taken = batch(g.episode("e1"), idempotency_key="q", operation="AddEpisodes")
    await g.store.accept([taken])
    change = g.delta(entities=(g.entity("n3", "Eve"),), claim=Claim("AddEpisodes", "q", "another input", NOW))
    await _refused_whole(g, change, await g.guard(), Conflict)


async def test_racing_deltas_apply_once(g: Scratch) -> None:
    """Of several deltas planned at one revision exactly one is written, the others see RevisionChanged."""
    await g.pair()
    for n in range(4):
        now = await g.guard()
        made = [g.entity(f"n{n}-{k}", f"Name {n} {k}") for k in range(4)]
        calls = (g.store.apply(g.delta(entities=(e,)), now) for e in made)
        results = await asyncio.gather(*calls, return_exceptions=True)
        won = [e for e, r in zip(made, results, strict=True) if isinstance(r, GroupHead)]
        lost = [r for r in results if not isinstance(r, GroupHead)]
        assert len(won) == 1
        assert all(isinstance(r, RevisionChanged) for r in lost)
        assert {e.uuid for e in (await g.store.dump(g.id)).entities} & {e.uuid for e in made} == {won[0].uuid}


async def test_a_cancelled_delta_is_whole_or_not_at_all(g: Scratch) -> None:
    """Cancelling apply leaves all of a delta or nothing, and the group can be written to."""
    for n in range(6):
        made = g.entity(f"n{n}", f"Name {n}")
        change = g.delta(entities=(made,), facts=(fact(f"f{n}", made, made),))
        task = asyncio.create_task(g.store.apply(change, await g.guard()))
        await asyncio.sleep(n * 0.0005)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        await _settle(g, g.entity(f"after{n}", f"After {n}"))
        dump = await g.store.dump(g.id)
        there = [
            made in dump.entities,
            any(f.uuid == f"f{n}" for f in dump.facts),
            made.uuid in dump.names.values(),
        ]
        assert len(set(there)) == 1


async def _settle(g: Scratch, last: Entity) -> None:
    """Write behind whatever is still under way in the group."""
    for _ in range(20):
        with contextlib.suppress(RevisionChanged):
            await g.write(entities=(last,))
            return
    pytest.fail("RevisionChanged 20 times in a row with nobody else writing")


async def _full(g: Scratch) -> GraphDelta:
    """A delta that touches every part of the graph: new rows, replaced rows, removals, transitions."""
    known: tuple[Entity, ...] = (await g.store.dump(g.id)).entities
    new = g.entity("n-new", "New One")
    renamed = tuple(replace(e, name=f"{e.name} II") for e in known[:1])
    items = await g.items()
    open_items = [i.uuid for i in items if not i.terminal]
    removed = (await g.store.dump(g.id)).facts
    return g.delta(
        system_ms=NOW + 77,
        entities=(new, *renamed),
        names={"new one": new.uuid, **{f"{e.name.casefold()}": e.uuid for e in renamed}},
        facts=(fact("f-new", new, new),),
        mentions=tuple(g.mention(uuid, new.uuid) for uuid in open_items[:1]),
        episode_edges=dict.fromkeys(open_items[:1], ("f-new",)),
        vectors={"f-new": b"\0\0\x80\x3f\0\0\0\0", "n-new": b"\0\0\0\0\0\0\x80\x3f"},
        space="space-new",
        remove_facts=tuple(tombstone(f) for f in removed[:1]),
        remove_episodes=tuple(open_items[1:2]),
        transitions=tuple(Transition(uuid, ItemState.COMPLETED, NOW + 77) for uuid in open_items[:1]),
    )


async def _refused_whole(g: Scratch, change: GraphDelta, now: Guard, kind: type[_E]) -> _E:
    """`apply` must raise `kind` and leave graph, items, changes and tombstones as they were."""
    before = await _everything(g)
    with pytest.raises(kind) as refused:
        await g.store.apply(change, now)
    assert await _everything(g) == before
    return refused.value


async def _everything(g: Scratch) -> tuple[GroupDump, object, object, object, object]:
    dump = await g.store.dump(g.id)
    slots = await g.store.slots(g.id, sorted({f.slot for f in dump.facts}))
    changes = await g.store.changes(g.id, 0, 999)
    return dump, await g.items(), changes, set(slots.tombstones), await g.head()
