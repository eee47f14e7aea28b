"""Which groups a process works on: fairness, renewal, takeover, drain (docs/ingestion.md)."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from kgsvc.domain.errors import ModelOff, StoreUnavailable
from kgsvc.domain.model.delta import GraphDelta, GroupHead, Guard
from kgsvc.domain.model.items import Claimed, GroupWork, ItemState, Lease
from kgsvc.jobs.dispatcher import Dispatcher
from kgsvc.stores.embedded import EmbeddedStore
from tests.integration.jobs.support import (
    CLOCK,
    DEADLINE_S,
    SETTINGS,
    ScriptedHandler,
    Told,
    accept,
    dispatcher,
    lease_of,
    open_store,
    states,
    statuses,
    until,
)

LONG_LEASE = replace(SETTINGS, lease_s=600.0)
SHORT_LEASE = replace(SETTINGS, lease_s=0.3)
DONE = ItemState.COMPLETED


@asynccontextmanager
async def running(one: Dispatcher[Claimed]) -> AsyncIterator[None]:
    task = asyncio.create_task(one.run())
    yield
    async with asyncio.timeout(DEADLINE_S):
        await one.drain()
        await task


async def all_done(store: EmbeddedStore, group: str) -> bool:
    return set((await states(store, group)).values()) == {DONE}


async def owner_of(store: EmbeddedStore, group: str) -> str | None:
    works = await store.ready_groups(CLOCK.now_ms(), 100)
    return next(work.owner_id for work in works if work.group_id == group)


async def test_a_small_group_does_not_wait_for_a_large_one(
    store: EmbeddedStore, handler: ScriptedHandler
) -> None:
    await accept(store, "large", [f"l{number:03}" for number in range(200)])
    await accept(store, "small", ["s"])
    settings = replace(LONG_LEASE, groups_at_once=1, batches_a_turn=2, batches_ahead=1)
    async with running(dispatcher(store, handler, settings=settings)):
        await until(lambda: all_done(store, "small"))
        await until(lambda: all_done(store, "large"))
    assert sum(len(batch) for batch in handler.committed[: handler.committed.index(("s",))]) < 100


async def test_many_groups_take_turns(store: EmbeddedStore, handler: ScriptedHandler) -> None:
    groups = [f"g{number}" for number in range(5)]
    for group in groups:
        await accept(store, group, [f"{group}-{number:02}" for number in range(40)])
    settings = replace(LONG_LEASE, groups_at_once=2, batches_a_turn=2, batches_ahead=1)
    async with running(dispatcher(store, handler, settings=settings)):
        for group in groups:
            await until(lambda group=group: all_done(store, group))  # type: ignore[misc]
    first = {
        group: next(i for i, b in enumerate(handler.committed) if b[0].startswith(group)) for group in groups
    }
    assert max(first.values()) < 25, f"of 50 batches each group has one early: {first}"


async def test_groups_with_many_items_are_left_to_other_processes(
    store: EmbeddedStore, handler: ScriptedHandler
) -> None:
    groups = [f"g{number}" for number in range(9)]
    for group in groups:
        await accept(store, group, [f"{group}-{number}" for number in range(8)])
    held: list[int] = []

    async def count(_lease: Lease) -> None:
        works = await store.ready_groups(CLOCK.now_ms(), 100)
        held.append(len([work for work in works if work.owner_id is not None]))

    handler.before_commit = count
    settings = replace(LONG_LEASE, micro_batch=4, batch_beside_others=4, items_at_once=8)
    async with running(dispatcher(store, handler, settings=settings)):
        for group in groups:
            await until(lambda group=group: all_done(store, group))  # type: ignore[misc]
    assert max(held) == 2, "two groups bring eight items"


async def test_a_group_is_worked_on_by_one_process(store: EmbeddedStore, tmp_path: Path) -> None:
    await accept(store, "g", [f"e{number:03}" for number in range(80)])
    other = await open_store(tmp_path / "data")
    inside: set[str] = set()
    clashes: list[set[str]] = []

    async def enter(lease: Lease) -> None:
        inside.add(lease.owner_id)
        await asyncio.sleep(0)
        if len(inside) > 1:
            clashes.append(set(inside))
        inside.discard(lease.owner_id)

    handlers = [ScriptedHandler(store), ScriptedHandler(other)]
    for each in handlers:
        each.before_commit = enter
    one = dispatcher(store, handlers[0], settings=LONG_LEASE, owner="one")
    two = dispatcher(other, handlers[1], settings=LONG_LEASE, owner="two")
    async with running(one), running(two):
        await until(lambda: all_done(store, "g"))
    await other.close()
    assert clashes == []
    done = [uuid for each in handlers for batch in each.committed for uuid in batch]
    assert sorted(done) == sorted(set(done))


async def test_a_dead_owners_group_is_taken_over(store: EmbeddedStore, handler: ScriptedHandler) -> None:
    await accept(store, "g", ["e0", "e1"])
    dead = await lease_of(store, "g", "dead")
    await store.start_items(dead, CLOCK.now_ms(), 1, 10**6, ())
    async with running(dispatcher(store, handler, settings=SHORT_LEASE)):
        await until(lambda: all_done(store, "g"))
    assert handler.committed == [("e0",), ("e1",)]


async def test_a_living_owner_keeps_its_group_however_long_its_work_takes(
    store: EmbeddedStore, tmp_path: Path
) -> None:
    """The other process looks on for several lengths of a lease, counted by the owner's renewals."""
    await accept(store, "g", ["e0"])
    other = await open_store(tmp_path / "data")
    slow, eager = ScriptedHandler(store), ScriptedHandler(other)
    may_end = asyncio.Event()

    async def wait(_lease: Lease) -> None:
        await may_end.wait()

    async def owned_by(owner: str) -> bool:
        return await owner_of(store, "g") == owner

    async def renewed_often() -> bool:
        return (await store.ready_groups(CLOCK.now_ms(), 10))[0].renewals >= 15  # 3 lengths of a lease

    slow.before_prepare = wait
    one = dispatcher(store, slow, settings=SHORT_LEASE, owner="one")
    async with running(one):
        await until(lambda: owned_by("one"))
        async with running(dispatcher(other, eager, settings=SHORT_LEASE, owner="two")):
            await until(renewed_often)
            may_end.set()
            await until(lambda: all_done(store, "g"))
    await other.close()
    assert (slow.committed, eager.committed) == ([("e0",)], [])


async def test_work_stops_when_the_lease_is_lost(store: EmbeddedStore, handler: ScriptedHandler) -> None:
    await accept(store, "g", ["e0"])
    begun, stopped = asyncio.Event(), asyncio.Event()

    async def hang(_lease: Lease) -> None:
        if begun.is_set():
            return
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    handler.before_prepare = hang
    async with running(dispatcher(store, handler, settings=SHORT_LEASE)):
        async with asyncio.timeout(DEADLINE_S):
            await begun.wait()
        thief = await lease_of(store, "g", "thief")
        async with asyncio.timeout(DEADLINE_S):
            await stopped.wait()
        await store.release(thief)
        await until(lambda: all_done(store, "g"))


async def test_a_commit_that_gives_the_lease_up_ends_although_a_renewal_misses_it(
    store: EmbeddedStore, handler: ScriptedHandler, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before its answer is here."""
    missed, renew, apply, told = asyncio.Event(), store.renew, store.apply, Told()

    async def watched(leases: Sequence[Lease]) -> Sequence[str]:
        alive = await renew(leases)
        if len(alive) < len(leases):
            missed.set()
        return alive

    async def slow(delta: GraphDelta, guard: Guard) -> GroupHead:
        head = await apply(delta, guard)
        async with asyncio.timeout(DEADLINE_S):
            await missed.wait()
        await asyncio.sleep(0)  # a cancel would come now
        return head

    monkeypatch.setattr(store, "renew", watched)
    monkeypatch.setattr(store, "apply", slow)
    await accept(store, "g", ["e0"])
    async with running(dispatcher(store, handler, told, settings=SHORT_LEASE)):
        await until(lambda: all_done(store, "g"))
        async with asyncio.timeout(DEADLINE_S):
            await missed.wait()
    assert told.done == {"g": 1}


async def test_drain_commits_what_has_begun_and_frees_the_group(
    store: EmbeddedStore, handler: ScriptedHandler
) -> None:
    await accept(store, "g", [f"e{number:02}" for number in range(40)])
    begun, may_end = asyncio.Event(), asyncio.Event()

    async def wait(_lease: Lease) -> None:
        begun.set()
        await may_end.wait()

    handler.before_prepare = wait
    one = dispatcher(store, handler, settings=LONG_LEASE)
    working = asyncio.create_task(one.run())
    async with asyncio.timeout(DEADLINE_S):
        await begun.wait()
        draining = asyncio.create_task(one.drain())
        await asyncio.sleep(0)
        may_end.set()
        await draining
        await working
    begun_items = SETTINGS.micro_batch * SETTINGS.batches_ahead
    assert sum(len(batch) for batch in handler.committed) == begun_items
    left = await statuses(store, "g")
    assert sum(status.state is DONE for status in left.values()) == begun_items
    assert {status.attempts for status in left.values()} == {0}
    assert await owner_of(store, "g") is None


async def test_a_lease_is_renewed_while_draining(store: EmbeddedStore, handler: ScriptedHandler) -> None:
    await accept(store, "g", ["e0"])
    begun, may_end = asyncio.Event(), asyncio.Event()

    async def wait(_lease: Lease) -> None:
        begun.set()
        await may_end.wait()

    async def renewals() -> int:
        return (await store.ready_groups(CLOCK.now_ms(), 10))[0].renewals

    handler.before_prepare = wait
    one = dispatcher(store, handler, settings=SHORT_LEASE)
    working = asyncio.create_task(one.run())
    async with asyncio.timeout(DEADLINE_S):
        await begun.wait()
        draining = asyncio.create_task(one.drain())
        seen = await renewals()

        async def renewed() -> bool:
            return await renewals() >= seen + 5

        await until(renewed)
        may_end.set()
        await draining
        await working
    assert handler.committed == [("e0",)]


async def test_what_does_not_end_in_time_is_dropped_without_an_attempt(
    store: EmbeddedStore, handler: ScriptedHandler
) -> None:
    await accept(store, "g", ["e0", "e1"])
    begun = asyncio.Event()

    async def hang(_lease: Lease) -> None:
        begun.set()
        await asyncio.Event().wait()

    handler.before_prepare = hang
    one = dispatcher(store, handler, settings=replace(LONG_LEASE, drain_s=0.05))
    working = asyncio.create_task(one.run())
    async with asyncio.timeout(DEADLINE_S):
        await begun.wait()
        await one.drain()
        await working
    assert {(s.state, s.attempts) for s in (await statuses(store, "g")).values()} == {(ItemState.ACCEPTED, 0)}
    assert await owner_of(store, "g") is None
    next_lease = await lease_of(store, "g", "next")
    items = await store.start_items(next_lease, CLOCK.now_ms(), 10, 10**6, ())
    assert [(item.suspect, item.attempts) for item in items] == [(False, {}), (False, {})]


async def test_what_takes_half_a_lease_to_end_is_told_to_hurry(
    store: EmbeddedStore, handler: ScriptedHandler
) -> None:
    await accept(store, "g", ["e0"])
    begun, hurried = asyncio.Event(), asyncio.Event()

    async def hang(_lease: Lease) -> None:
        begun.set()
        await hurried.wait()

    handler.before_prepare = hang
    settings = replace(SHORT_LEASE, drain_s=DEADLINE_S)
    one = dispatcher(store, handler, settings=settings, hurry=hurried.set)
    working = asyncio.create_task(one.run())
    async with asyncio.timeout(DEADLINE_S):
        await begun.wait()
        assert not hurried.is_set()
        await one.drain()
        await working
    assert handler.committed == [("e0",)]


async def test_an_unforeseen_error_pauses_one_group_and_is_told(
    store: EmbeddedStore,
    handler: ScriptedHandler,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    await accept(store, "bad", [f"b{number}" for number in range(SETTINGS.micro_batch + 1)])
    await accept(store, "good", ["g0"])
    real, failures, secret = store.start_items, iter([True]), "text of a body"

    async def start_items(lease: Lease, *rest: object) -> object:
        if lease.group_id == "bad" and next(failures, False):
            raise RuntimeError(secret)
        return await real(lease, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(store, "start_items", start_items)
    told = Told()
    async with running(dispatcher(store, handler, told, LONG_LEASE)):
        await until(lambda: all_done(store, "good"))
        await until(lambda: all_done(store, "bad"))
    assert "groups paused" in caplog.text
    assert secret not in caplog.text
    assert told.failures == []


async def test_groups_that_cannot_be_begun_together_begin_one_by_one(
    store: EmbeddedStore,
    handler: ScriptedHandler,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    for group in ("bad", "good", "fine"):
        await accept(store, group, [f"{group}-0"])
    real, secret = store.begin, "text of a body"

    async def begin(seen: Sequence[GroupWork], owner: str, now_ms: int, limit: int, nbytes: int) -> object:
        if limit and any(each.group_id == "bad" for each in seen):
            raise RuntimeError(secret)
        return await real(seen, owner, now_ms, limit, nbytes)

    monkeypatch.setattr(store, "begin", begin)
    async with running(dispatcher(store, handler, settings=LONG_LEASE)):
        for group in ("bad", "good", "fine"):
            await until(lambda group=group: all_done(store, group))  # type: ignore[misc]
    assert "not begun together" in caplog.text
    assert secret not in caplog.text


async def test_an_answer_that_was_lost_holds_nothing_up(
    store: EmbeddedStore, handler: ScriptedHandler, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a claim; and a release that did not arrive: the process takes its own group again at once, without
    suspicion."""
    await accept(store, "g", [f"e{number}" for number in range(3)])
    _lose_the_first(store, "begin", monkeypatch, arrives=True)
    _lose_the_first(store, "release", monkeypatch, arrives=False)
    handler.spoilt = {"e2"}  # its failure leaves the lease to be released
    async with running(dispatcher(store, handler, settings=LONG_LEASE)):
        await until(lambda: _are(store, "g", DONE, DONE, ItemState.PARKED))
        await accept(store, "g", ["e3"])
        await until(lambda: _are(store, "g", DONE, DONE, ItemState.PARKED, DONE))
    assert handler.prepared[0] == ("e0", "e1", "e2")


async def _are(store: EmbeddedStore, group: str, *expected: ItemState) -> bool:
    return list((await states(store, group)).values()) == list(expected)


def _lose_the_first(
    store: EmbeddedStore, name: str, monkeypatch: pytest.MonkeyPatch, *, arrives: bool
) -> None:
    real, lost = getattr(store, name), list[str]()

    async def answered(*asked: object) -> object:
        if lost:
            return await real(*asked)
        lost.append(name)
        if arrives:
            await real(*asked)
        raise StoreUnavailable("the connection was lost")

    monkeypatch.setattr(store, name, answered)


async def test_long_texts_do_not_shorten_a_visit(store: EmbeddedStore, handler: ScriptedHandler) -> None:
    """A claim of several groups has room for a part of each; the rest follows in the same visit."""
    for group in ("g", "h"):
        await accept(store, group, [f"{group}{number}" for number in range(6)])
    visits = 0
    real = store.begin

    async def begin(*asked: object) -> object:
        nonlocal visits
        taken = await real(*asked)  # type: ignore[arg-type]
        visits += any(taken)  # a look that saw the groups before they were taken gets none
        return taken

    store.begin = begin  # type: ignore[method-assign, assignment]
    async with running(dispatcher(store, handler, settings=replace(LONG_LEASE, batch_bytes=60))):
        for group in ("g", "h"):
            await until(lambda group=group: all_done(store, group))  # type: ignore[misc]
    assert {("g0", "g1", "g2"), ("h0", "h1", "h2")} < set(handler.prepared)
    assert visits == 1


async def test_a_single_item_takes_two_transactions(store: EmbeddedStore, handler: ScriptedHandler) -> None:
    """One claims the group and starts the item, one commits it and gives the lease up."""
    for number in range(20):
        await accept(store, f"g{number}", [f"e{number}"])
    calls: list[str] = []

    class Counted:
        def __getattr__(self, name: str) -> object:
            if name in ("begin", "start_items", "apply", "release", "save_transitions"):
                calls.append(name)
            return getattr(store, name)

    counted = Counted()
    handler.store = counted  # type: ignore[assignment]
    async with running(dispatcher(counted, handler, settings=LONG_LEASE)):  # type: ignore[arg-type]
        for number in range(20):
            await until(lambda number=number: all_done(store, f"g{number}"))  # type: ignore[misc]
    assert calls.count("apply") == 20
    assert set(calls) == {"begin", "apply"}
    assert calls.count("begin") <= 3


async def test_nothing_is_started_while_a_suspect_runs_alone(
    store: EmbeddedStore, handler: ScriptedHandler
) -> None:
    """If it kills the process once more, no other item was begun."""
    await accept(store, "g", ["poison"])
    for owner in ("dead", "dead again"):
        lease = await lease_of(store, "g", owner)
        await store.start_items(lease, CLOCK.now_ms(), 1, 10**6, ())
    alone, may_end = asyncio.Event(), asyncio.Event()

    async def wait(lease: Lease) -> None:
        if lease.group_id == "g":
            alone.set()
            await may_end.wait()

    async def taken() -> bool:
        return await owner_of(store, "h") is not None

    handler.before_prepare = wait
    async with running(dispatcher(store, handler, settings=SHORT_LEASE)):
        await asyncio.wait_for(alone.wait(), DEADLINE_S)
        await accept(store, "h", ["e0", "e1"])
        await until(taken)
        started = await store._read(
            lambda db: db.execute("SELECT uuid FROM items WHERE started > 0").fetchall()
        )
        may_end.set()
        await until(lambda: all_done(store, "h"))
    assert started == [("poison",)]


async def test_what_is_held_back_is_not_begun_and_what_runs_is_finished(
    store: EmbeddedStore, handler: ScriptedHandler
) -> None:
    """Of a group whose batch runs only that batch is done, until the mode ends and that is told."""
    await accept(store, "g", [f"i{number}" for number in range(6)])
    switched, mode = asyncio.Event(), {"on": False}

    async def switch(_lease: Lease) -> None:
        mode["on"] = not switched.is_set()
        switched.set()

    handler.before_commit = switch
    settings = replace(LONG_LEASE, micro_batch=2, batches_ahead=1)
    one = dispatcher(store, handler, settings=settings, may_begin=lambda: not mode["on"])
    async with running(one):
        await switched.wait()
        await until(lambda: given_back(store, "g"))
        assert handler.committed == [("i0", "i1")]
        mode["on"] = False
        one._activity.heard()
        await until(lambda: all_done(store, "g"))


async def given_back(store: EmbeddedStore, group: str) -> bool:
    return await owner_of(store, group) is None


async def test_an_item_whose_model_is_off_is_tried_without_an_end(
    store: EmbeddedStore, handler: ScriptedHandler
) -> None:
    """No attempt is counted, nothing is parked, and nobody is told of a failure."""
    await accept(store, "g", ["a", "b"])
    handler.broken, told = {"a": ModelOff()}, Told()
    settings = replace(LONG_LEASE, attempts_per_step=1)

    async def tried() -> bool:
        return handler.prepared.count(("a",)) > settings.attempts_per_step

    async with running(dispatcher(store, handler, told, settings=settings)):
        await until(tried)
        found = (await statuses(store, "g"))["a"]
        assert (found.state, found.attempts) == (ItemState.ACCEPTED, 0)
        handler.broken = {}
        await until(lambda: all_done(store, "g"))
    assert (told.failures, told.parked_items) == ([], {})
