"""GraphStore.apply: under which conditions it writes, and that it writes all or nothing."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import replace

from kgsvc.domain.errors import Conflict, LeaseLost, RevisionChanged
from kgsvc.domain.model.delta import Claim, GraphDelta, GroupHead, Guard, StaleItems
from kgsvc.domain.model.graph import Entity
from kgsvc.domain.model.items import ItemState, Transition
from kgsvc.stores.conformance.samples import (
    HUGE,
    MANY,
    NOW,
    ConformanceError,
    accepted,
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
    refused,
    started,
    tombstone,
    write,
)
from kgsvc.stores.protocol import GroupDump, Store


async def apply_creates_the_group(store: Store, group_id: str) -> None:
    """The first delta creates the group's record; the returned head is the one that reads show."""
    before = await head(store, group_id)
    ada = entity(group_id, "n1", "Ada")
    result = await store.apply(delta(group_id, entities=(ada,)), Guard(before.rev, before.epoch))
    expect(result.rev > before.rev, f"apply: rev {result.rev} after {before.rev}")
    equal((result.group_id, result.epoch, result.last_ms), (group_id, before.epoch, NOW), "apply: head")
    equal(await head(store, group_id), result, "heads: after apply")
    expect(group_id in await store.group_ids(), "group_ids: a group created by apply")


async def every_change_bumps_the_revision(store: Store, group_id: str) -> None:
    """rev grows with each delta and last_ms becomes its system_ms; with bumps_rev False rev stays."""
    await accepted(store, episode(group_id, "e1"))
    first = await write(store, group_id, entities=(entity(group_id, "n1", "Ada"),))
    second = await write(store, group_id, entities=(entity(group_id, "n2", "Bob"),), system_ms=NOW + 1)
    expect(second.rev > first.rev, f"apply: rev {second.rev} after {first.rev}")
    done = (Transition("e1", ItemState.COMPLETED, NOW + 2),)
    third = await write(store, group_id, transitions=done, system_ms=NOW + 2, bumps_rev=False)
    equal((third.rev, third.last_ms), (second.rev, NOW + 2), "apply: rev and last_ms with bumps_rev False")
    equal(await head(store, group_id), third, "heads: after a delta that does not bump")
    (row,) = (await store.list_items(group_id, (), 5, None)).rows
    equal(row.state, ItemState.COMPLETED, "apply: transitions with bumps_rev False")


async def a_changed_revision_is_refused(store: Store, group_id: str) -> None:
    """RevisionChanged when rev is not the one that was read, older or newer; nothing is written."""
    old = await guard(store, group_id)
    await pair(store, group_id)
    now = await guard(store, group_id)
    for wrong in (old, replace(now, rev=now.rev - 1), replace(now, rev=now.rev + 1)):
        await _refused_whole(store, await _full(store, group_id), wrong, RevisionChanged)


async def another_epoch_is_refused(store: Store, group_id: str) -> None:
    """LeaseLost when the epoch differs, before the revision is looked at; nothing is written."""
    await pair(store, group_id)
    now = await guard(store, group_id)
    change = await _full(store, group_id)
    for wrong in (replace(now, epoch=now.epoch + 1), Guard(rev=now.rev + 7, epoch=now.epoch - 1)):
        await _refused_whole(store, change, wrong, LeaseLost)


async def another_token_is_refused(store: Store, group_id: str) -> None:
    """LeaseLost when the token is not the group's; without a token a caller writes beside the lease."""
    await pair(store, group_id)
    await accepted(store, episode(group_id, "e1"))
    lost = await leased(store, group_id)
    held = await leased(store, group_id, "worker-b")
    change = await _full(store, group_id)
    now = await guard(store, group_id)
    for token in (lost.token, held.token + 1, 0):
        await _refused_whole(store, change, replace(now, token=token), LeaseLost)
    await write(store, group_id, entities=(entity(group_id, "n9", "Zed"),))
    result = await store.apply(change, await guard(store, group_id, held.token))
    equal(await head(store, group_id), result, "apply: with the token of the lease")
    equal(await store.renew([held]), [group_id], "renew: a caller's write leaves the lease")


async def a_released_lease_writes_nothing(store: Store, group_id: str) -> None:
    """LeaseLost for the token of a released lease, also after another took the group."""
    await pair(store, group_id)
    await accepted(store, episode(group_id, "e1"))
    lease = await leased(store, group_id)
    await store.release(lease)
    late = await _full(store, group_id)
    await _refused_whole(store, late, await guard(store, group_id, lease.token), LeaseLost)
    await leased(store, group_id, "worker-b")
    await _refused_whole(
        store, await _full(store, group_id), await guard(store, group_id, lease.token), LeaseLost
    )


async def required_items_must_be_unfinished(store: Store, group_id: str) -> None:
    """StaleItems names the required items that are gone or terminal, no others; nothing is written."""
    await pair(store, group_id)
    await accepted(store, *[episode(group_id, f"e{n}") for n in range(4)])
    lease = await leased(store, group_id)
    await started(store, lease)
    await move(store, lease, ItemState.COMPLETED, "e0")
    await move(store, lease, ItemState.PARKED, "e1", reason="unreadable")
    await write(store, group_id, remove_episodes=("e2",))
    change = replace(await _full(store, group_id), requires_items=("e0", "e1", "e2", "e3", "nobody"))
    now = await guard(store, group_id, lease.token)
    error = await _refused_whole(store, change, now, StaleItems)
    if not isinstance(error, StaleItems):
        raise ConformanceError(f"apply: {error!r}")
    equal(sorted(error.uuids), ["e0", "e1", "e2", "nobody"], "apply: uuids of StaleItems")
    await store.apply(replace(change, requires_items=("e3",)), now)


async def work_on_a_deleted_item_is_not_that_of_its_successor(store: Store, group_id: str) -> None:
    """Deleted in work and sent again with other content, an item keeps nothing of the old work: StaleItems
    for its delta, its transitions are passed over. Begun anew, it can be completed."""
    await accepted(store, episode(group_id, "e1"))
    lease = await leased(store, group_id)
    await started(store, lease)
    await write(store, group_id, remove_episodes=("e1",))
    await accepted(store, episode(group_id, "e1", body="other"), now_ms=NOW + 1)
    await move(store, lease, ItemState.EXTRACTED, "e1", now_ms=NOW + 9, stage=b"old")
    done = (Transition("e1", ItemState.COMPLETED, NOW + 9),)
    change = replace(await _full(store, group_id), transitions=done, requires_items=("e1",))
    now = await guard(store, group_id, lease.token)
    error = await _refused_whole(store, change, now, StaleItems)
    equal(getattr(error, "uuids", None), ("e1",), "apply: uuids of StaleItems")
    (item,) = await store.start_items(lease, NOW + 9, MANY, HUGE, ())
    found = (item.episode.body, item.state, item.stage)
    equal(found, ("other", ItemState.ACCEPTED, None), "start_items: an item sent again")
    await store.apply(change, now)
    (row,) = (await store.list_items(group_id, (), 9, None)).rows
    equal(row.state, ItemState.COMPLETED, "apply: the item sent again, begun by this lease")


async def a_delta_is_not_applied_twice(store: Store, group_id: str) -> None:
    """A repeated apply (its first answer was lost) is refused: by rev, and at a fresh rev as StaleItems."""
    await accepted(store, episode(group_id, "e1"))
    lease = await leased(store, group_id)
    await started(store, lease)
    done = (Transition("e1", ItemState.COMPLETED, NOW + 1),)
    now = await guard(store, group_id, lease.token)
    change = delta(
        group_id, entities=(entity(group_id, "n1", "Ada"),), transitions=done, requires_items=("e1",)
    )
    await store.apply(change, now)
    await _refused_whole(store, change, now, RevisionChanged)
    await _refused_whole(store, change, await guard(store, group_id, lease.token), StaleItems)


async def an_owned_name_is_a_conflict(store: Store, group_id: str) -> None:
    """Conflict when a name is put that an untouched entity owns; nothing is written."""
    ada, _ = await pair(store, group_id)
    thief = entity(group_id, "n-thief", "ADA")
    change = delta(group_id, entities=(thief,), names={"zed": thief.uuid, "ada": thief.uuid})
    await _refused_whole(store, change, await guard(store, group_id), Conflict)
    again = replace(ada, summary="knows mathematics")
    await write(store, group_id, entities=(again,), names={"ada": ada.uuid})
    equal(await store.entity(ada.uuid, group_id), [again], "apply: a name put again by its owner")


async def a_refused_delta_leaves_nothing(store: Store, group_id: str) -> None:
    """Whatever the reason, no part of a refused delta stays, and the next good one is written whole."""
    ada, _ = await pair(store, group_id)
    await accepted(store, episode(group_id, "e1"), episode(group_id, "e2"))
    old = fact("f-old", ada, ada)
    await write(store, group_id, facts=(old,), vectors={"f-old": b"\0\0\x80\x3f"}, space="s")
    change = await _full(store, group_id)
    now = await guard(store, group_id)
    stale = replace(change, requires_items=("e1", "nobody"))
    stolen = replace(change, names={**change.names, "bob": "n-new"})
    await _refused_whole(store, stale, now, StaleItems)
    await _refused_whole(store, stolen, now, Conflict)
    await store.apply(change, now)
    found = await store.dump(group_id)
    equal([f.uuid for f in found.facts if f.uuid == "f-new"], ["f-new"], "apply: the good delta")


async def a_known_claim_writes_nothing(store: Store, group_id: str) -> None:
    """A claim known with the same input returns the head unchanged; with another input it is Conflict."""
    claim = Claim("AddEntityNode", "k", "input one", NOW)
    ada, eve = entity(group_id, "n-ada", "Ada"), entity(group_id, "n-eve", "Eve")
    first = await write(store, group_id, entities=(ada,), claim=claim)
    now = await guard(store, group_id)
    change = delta(group_id, entities=(eve,), claim=replace(claim, now_ms=NOW + 5), system_ms=NOW + 5)
    before = await _everything(store, group_id)
    equal(await store.apply(change, now), first, "apply: head of a known claim")
    equal(await _everything(store, group_id), before, "the group after a known claim")
    other = replace(change, claim=replace(claim, input_hash="input two"))
    await _refused_whole(store, other, now, Conflict)
    elsewhere = replace(other, claim=Claim("UpdateFact", "k", "input two", NOW))
    await store.apply(elsewhere, now)
    equal(await store.entity(eve.uuid, group_id), [eve], "apply: the key of another operation")


async def claims_come_after_the_guard(store: Store, group_id: str) -> None:
    """A delta that the guard refuses, or that fails otherwise, records no claim."""
    await pair(store, group_id)
    claim = Claim("AddEntityNode", "k", "input", NOW)
    eve = entity(group_id, "n-eve", "Eve")
    change = delta(group_id, entities=(eve,), claim=claim)
    now = await guard(store, group_id)
    await _refused_whole(store, change, replace(now, rev=now.rev + 1), RevisionChanged)
    thief = delta(group_id, entities=(eve,), names={"ada": eve.uuid}, claim=claim)
    await _refused_whole(store, thief, now, Conflict)
    await store.apply(change, now)
    equal(await store.entity(eve.uuid, group_id), [eve], "apply: a claim whose first delta was refused")
    await _refused_whole(store, change, now, RevisionChanged)


async def claims_lapse_and_share_the_keys_of_accept(store: Store, group_id: str) -> None:
    """After the window a key may be claimed anew; accept and apply know one another's keys."""
    hour = 3_600_000
    claim = Claim("AddEntityNode", "k", "one", NOW, dedup_window_ms=hour)
    await write(store, group_id, entities=(entity(group_id, "n1", "Ada"),), claim=claim)
    later = replace(claim, input_hash="two", now_ms=NOW + hour + 1_000)
    await write(store, group_id, entities=(entity(group_id, "n2", "Bob"),), claim=later)
    expect(bool(await store.entity("n2", group_id)), "apply: a claim after the window")
    call = batch(episode(group_id, "e1"), idempotency_key="k", operation="AddEntityNode", now_ms=NOW + hour)
    (result,) = await store.accept([call])
    expect(isinstance(result, Conflict), f"accept: a key that a delta claimed, got {result!r}")
    taken = batch(episode(group_id, "e1"), idempotency_key="q", operation="AddEpisodes")
    await store.accept([taken])
    change = delta(
        group_id,
        entities=(entity(group_id, "n3", "Eve"),),
        claim=Claim("AddEpisodes", "q", "another input", NOW),
    )
    await _refused_whole(store, change, await guard(store, group_id), Conflict)


async def racing_deltas_apply_once(store: Store, group_id: str) -> None:
    """Of several deltas planned at one revision exactly one is written, the others see RevisionChanged."""
    await pair(store, group_id)
    for n in range(4):
        now = await guard(store, group_id)
        made = [entity(group_id, f"n{n}-{k}", f"Name {n} {k}") for k in range(4)]
        calls = (store.apply(delta(group_id, entities=(e,)), now) for e in made)
        results = await asyncio.gather(*calls, return_exceptions=True)
        won = [e for e, r in zip(made, results, strict=True) if isinstance(r, GroupHead)]
        lost = [r for r in results if not isinstance(r, GroupHead)]
        equal(len(won), 1, f"apply: winners of four deltas at one revision ({lost!r})")
        expect(all(isinstance(r, RevisionChanged) for r in lost), f"apply: the losers got {lost!r}")
        found = {e.uuid for e in (await store.dump(group_id)).entities} & {e.uuid for e in made}
        equal(found, {won[0].uuid}, "dump: entities of racing deltas")


async def a_cancelled_delta_is_whole_or_not_at_all(store: Store, group_id: str) -> None:
    """Cancelling apply leaves all of a delta or nothing, and the group can be written to."""
    for n in range(6):
        made = entity(group_id, f"n{n}", f"Name {n}")
        change = delta(group_id, entities=(made,), facts=(fact(f"f{n}", made, made),))
        task = asyncio.create_task(store.apply(change, await guard(store, group_id)))
        await asyncio.sleep(n * 0.0005)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        await _settle(store, group_id, entity(group_id, f"after{n}", f"After {n}"))
        dump = await store.dump(group_id)
        there = [
            made in dump.entities,
            any(f.uuid == f"f{n}" for f in dump.facts),
            made.uuid in dump.names.values(),
        ]
        equal(len(set(there)), 1, f"apply: entity, fact and name of a cancelled delta are there: {there}")


async def _settle(store: Store, group_id: str, last: Entity) -> None:
    """Write behind whatever is still under way in the group."""
    for _ in range(20):
        with contextlib.suppress(RevisionChanged):
            await write(store, group_id, entities=(last,))
            return
    raise ConformanceError("apply: RevisionChanged 20 times in a row with nobody else writing")


async def _full(store: Store, group_id: str) -> GraphDelta:
    """A delta that touches every part of the graph: new rows, replaced rows, removals, transitions."""
    known: tuple[Entity, ...] = (await store.dump(group_id)).entities
    new = entity(group_id, "n-new", "New One")
    renamed = tuple(replace(e, name=f"{e.name} II") for e in known[:1])
    items = (await store.list_items(group_id, (), 99, None)).rows
    open_items = [i.uuid for i in items if not i.terminal]
    removed = (await store.dump(group_id)).facts
    return delta(
        group_id,
        system_ms=NOW + 77,
        entities=(new, *renamed),
        names={"new one": new.uuid, **{f"{e.name.casefold()}": e.uuid for e in renamed}},
        facts=(fact("f-new", new, new),),
        mentions=tuple(mention(group_id, uuid, new.uuid) for uuid in open_items[:1]),
        episode_edges=dict.fromkeys(open_items[:1], ("f-new",)),
        vectors={"f-new": b"\0\0\x80\x3f\0\0\0\0", "n-new": b"\0\0\0\0\0\0\x80\x3f"},
        space="space-new",
        remove_facts=tuple(tombstone(f) for f in removed[:1]),
        remove_episodes=tuple(open_items[1:2]),
        transitions=tuple(Transition(uuid, ItemState.COMPLETED, NOW + 77) for uuid in open_items[:1]),
    )


async def _refused_whole(store: Store, change: GraphDelta, now: Guard, kind: type[Exception]) -> Exception:
    """`apply` must raise `kind` and leave graph, items, changes and tombstones as they were."""
    before = await _everything(store, change.group_id)
    error = await refused(kind, store.apply(change, now), f"apply under {now}")
    equal(await _everything(store, change.group_id), before, f"the group after apply raised {kind.__name__}")
    return error


async def _everything(store: Store, group_id: str) -> tuple[GroupDump, object, object, object, object]:
    dump = await store.dump(group_id)
    slots = await store.slots(group_id, sorted({f.slot for f in dump.facts}))
    rows = (await store.list_items(group_id, (), 99, None)).rows
    return (
        dump,
        rows,
        await store.changes(group_id, 0, 999),
        set(slots.tombstones),
        await head(store, group_id),
    )
