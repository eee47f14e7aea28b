"""One leased group on a real store: micro-batches, bisection, parking, suspects (design §4)."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Sequence
from dataclasses import replace

import pytest

from kgsvc.domain.errors import LeaseLost, StoreRefused, StoreUnavailable
from kgsvc.domain.model.delta import GraphDelta, Guard
from kgsvc.domain.model.items import ItemState, Lease, Step
from kgsvc.jobs.groups import Starts
from kgsvc.stores.conformance.samples import delta, entity, guard
from kgsvc.stores.embedded import EmbeddedStore
from tests.integration.jobs.support import (
    CLOCK,
    SETTINGS,
    ScriptedHandler,
    Started,
    Told,
    accept,
    lease_of,
    runner,
    states,
    statuses,
    until,
)

EIGHT = [f"e{number}" for number in range(8)]
DONE = ItemState.COMPLETED


def never() -> bool:
    return False


async def test_items_are_committed_in_micro_batches_by_reference_time(
    store: EmbeddedStore, handler: ScriptedHandler, told: Told
) -> None:
    await accept(store, "g", EIGHT)
    await runner(store, handler, told, await lease_of(store, "g")).run(never)
    assert handler.committed == [tuple(EIGHT[:4]), tuple(EIGHT[4:])]
    assert set((await states(store, "g")).values()) == {DONE}
    assert told.done == {"g": 8}


async def test_model_work_runs_ahead_of_commits_but_not_without_bound(
    store: EmbeddedStore, handler: ScriptedHandler, told: Told
) -> None:
    await accept(store, "g", [f"e{number:02}" for number in range(20)])
    together = asyncio.Event()

    async def meet(_lease: Lease) -> None:
        if handler.preparing == SETTINGS.batches_ahead:
            together.set()
        async with asyncio.timeout(10):
            await together.wait()

    handler.before_prepare = meet
    await runner(store, handler, told, await lease_of(store, "g")).run(never)
    assert handler.preparing_max == SETTINGS.batches_ahead
    assert [len(batch) for batch in handler.committed] == [4] * 5


async def test_a_batch_is_halved_until_the_bad_item_stands_alone(
    store: EmbeddedStore, handler: ScriptedHandler, told: Told
) -> None:
    await accept(store, "g", EIGHT)
    handler.spoilt = {"e2"}
    settings = replace(SETTINGS, micro_batch=8, backoff_base_ms=60_000, backoff_cap_ms=60_000)
    await runner(store, handler, told, await lease_of(store, "g"), settings).run(never)
    assert handler.committed == [("e0", "e1"), ("e3",), ("e4", "e5", "e6", "e7")]
    bad = (await statuses(store, "g"))["e2"]
    assert (bad.state, bad.attempts, bad.step) == (ItemState.UPSERT_FAILED, 1, Step.UPSERT)
    others = [status for uuid, status in (await statuses(store, "g")).items() if uuid != "e2"]
    assert {(other.state, other.attempts) for other in others} == {(DONE, 0)}


async def test_the_bad_item_alone_is_parked_after_its_attempts(
    store: EmbeddedStore, handler: ScriptedHandler, told: Told
) -> None:
    await accept(store, "g", EIGHT)
    handler.spoilt = {"e2"}
    lease = await lease_of(store, "g")

    async def nothing_due() -> bool:
        await runner(store, handler, told, lease).run(never)
        return (await statuses(store, "g"))["e2"].terminal

    await until(nothing_due)
    assert told.parked_items == {"e2": "cannot be committed"}
    assert [attempt for uuid, attempt in told.failures if uuid == "e2"] == [1, 2, 3]
    assert (await statuses(store, "g"))["e2"].reason == "cannot be committed"


class PoisonousHandler(ScriptedHandler):
    """Whatever is committed together with e2 the engine refuses to write."""

    async def commit(self, lease: Lease, batch: Sequence[Started]) -> None:
        """See Handler."""
        if any(entry.item.episode.uuid == "e2" for entry in batch):
            poison = replace(entity("g", "n1", "Ada"), created_ms="secret text")  # type: ignore[arg-type]
            await self.store.apply(delta("g", entities=(poison,)), await guard(self.store, "g", lease.token))
        await super().commit(lease, batch)


async def test_an_item_that_the_engine_refuses_is_parked_and_blocks_nobody(
    store: EmbeddedStore, told: Told
) -> None:
    await accept(store, "g", EIGHT)
    handler = PoisonousHandler(store)
    lease = await lease_of(store, "g")

    async def nothing_due() -> bool:
        await runner(store, handler, told, lease).run(never)
        return (await statuses(store, "g"))["e2"].terminal

    await until(nothing_due)
    assert told.parked_items == {"e2": "the embedded store refuses this write (ConstraintError)"}
    others = [state for uuid, state in (await states(store, "g")).items() if uuid != "e2"]
    assert set(others) == {DONE}


async def test_an_item_whose_stage_the_engine_refuses_counts_against_nobody_else(
    store: EmbeddedStore, handler: ScriptedHandler, told: Told
) -> None:
    await accept(store, "g", EIGHT)
    handler.broken = {"e1": StoreRefused("too large")}
    settings = replace(SETTINGS, backoff_base_ms=60_000, backoff_cap_ms=60_000)
    await runner(store, handler, told, await lease_of(store, "g"), settings).run(never)
    found = await statuses(store, "g")
    assert (found["e1"].state, found["e1"].reason) == (ItemState.EXTRACT_FAILED, "too large")
    assert {status.state for uuid, status in found.items() if uuid != "e1"} == {DONE}


async def test_an_item_that_breaks_the_handler_counts_against_nobody_else(
    store: EmbeddedStore, handler: ScriptedHandler, told: Told
) -> None:
    await accept(store, "g", EIGHT)
    handler.broken = {"e1": RuntimeError("secret text of a body")}
    lease = await lease_of(store, "g")

    async def nothing_due() -> bool:
        await runner(store, handler, told, lease).run(never)
        return (await statuses(store, "g"))["e1"].terminal

    await until(nothing_due)
    found = await statuses(store, "g")
    assert found["e1"].reason == "internal error: RuntimeError"
    assert {status.state for uuid, status in found.items() if uuid != "e1"} == {DONE}
    assert {uuid for uuid, _ in told.failures} == {"e1"}


async def test_an_item_deleted_meanwhile_is_left_out(
    store: EmbeddedStore, handler: ScriptedHandler, told: Told
) -> None:
    await accept(store, "g", EIGHT[:4])
    deleted = itertools.count()

    async def delete_one(lease: Lease) -> None:
        if next(deleted) == 0:
            head = (await store.names("g", ())).head
            change = GraphDelta("g", CLOCK.now_ms(), remove_episodes=("e1",))
            await store.apply(change, Guard(head.rev, head.epoch))

    handler.before_commit = delete_one
    await runner(store, handler, told, await lease_of(store, "g")).run(never)
    assert handler.committed == [("e0", "e2", "e3")]
    assert told.done == {"g": 3}
    assert told.failures == []


async def test_work_under_a_lost_lease_writes_nothing(
    store: EmbeddedStore, handler: ScriptedHandler, told: Told
) -> None:
    await accept(store, "g", EIGHT[:4])
    first = await lease_of(store, "g", "first")

    async def be_overtaken(lease: Lease) -> None:
        if lease.owner_id == "first":
            await lease_of(store, "g", "second")

    handler.before_commit = be_overtaken
    with pytest.raises(LeaseLost):
        await runner(store, handler, told, first).run(never)
    assert handler.committed == []
    assert set((await states(store, "g")).values()) == {ItemState.ACCEPTED}
    assert told.failures == []


async def test_a_store_failure_is_no_attempt(
    store: EmbeddedStore, handler: ScriptedHandler, told: Told
) -> None:
    await accept(store, "g", EIGHT)
    handler.broken = {"e5": StoreUnavailable("gone")}
    lease = await lease_of(store, "g")
    with pytest.raises(StoreUnavailable):
        await runner(store, handler, told, lease).run(never)
    assert {status.attempts for status in (await statuses(store, "g")).values()} == {0}
    assert told.failures == []


async def test_making_room_commits_what_has_begun_and_begins_no_more(
    store: EmbeddedStore, handler: ScriptedHandler, told: Told
) -> None:
    await accept(store, "g", [f"e{number:02}" for number in range(20)])
    answers = itertools.chain([False], itertools.repeat(True))
    await runner(store, handler, told, await lease_of(store, "g")).run(lambda: next(answers))
    assert [len(batch) for batch in handler.committed] == [4] * SETTINGS.batches_ahead


async def test_after_a_crash_started_items_run_alone_and_the_others_together(
    store: EmbeddedStore, handler: ScriptedHandler, told: Told
) -> None:
    await accept(store, "g", EIGHT)
    dead = await lease_of(store, "g", "dead")
    started = await store.start_items(dead, CLOCK.now_ms(), 3, 10**6, ())
    assert len(started) == 3
    await runner(store, handler, told, await lease_of(store, "g")).run(never)
    assert handler.committed == [("e0",), ("e1",), ("e2",), ("e3", "e4", "e5", "e6"), ("e7",)]


async def test_only_the_item_that_kills_alone_is_parked(
    store: EmbeddedStore, handler: ScriptedHandler, told: Told
) -> None:
    await accept(store, "g", EIGHT)
    crash = await lease_of(store, "g", "crash-0")
    await store.start_items(crash, CLOCK.now_ms(), 4, 10**6, ())
    for number in range(1, SETTINGS.attempts_per_step + 1):  # e0, first of the suspects, kills each time
        lease = await lease_of(store, "g", f"crash-{number}")
        alone = await store.start_items(lease, CLOCK.now_ms(), 4, 10**6, ())
        assert [item.episode.uuid for item in alone] == ["e0"]
    await runner(store, handler, told, await lease_of(store, "g")).run(never)
    found = await states(store, "g")
    assert found.pop("e0") is ItemState.PARKED
    assert set(found.values()) == {DONE}
    assert list(told.parked_items) == ["e0"]


async def test_what_saw_two_crashes_runs_beside_nothing_of_any_group(
    store: EmbeddedStore, handler: ScriptedHandler, told: Told
) -> None:
    """Else a killer in one group would use up the attempts of what is begun beside it in others."""
    await accept(store, "suspect", ["e0"])
    for owner in ("dead", "dead too"):
        dead = await lease_of(store, "suspect", owner)
        assert await store.start_items(dead, CLOCK.now_ms(), 4, 10**6, ())
    await accept(store, "other", [f"e{number:02}" for number in range(24)])
    beside: list[int] = []

    async def look(lease: Lease) -> None:
        for _ in range(50):  # time for others to begin
            await asyncio.sleep(0)
        if lease.group_id == "suspect":
            beside.append(handler.preparing - 1)

    handler.before_prepare = look
    starts = Starts()
    runners = [
        runner(store, handler, told, await lease_of(store, group), starts=starts).run(never)
        for group in ("other", "suspect")
    ]
    await asyncio.wait_for(asyncio.gather(*runners), 30)
    assert beside == [0]
    assert set((await states(store, "suspect")).values()) == {DONE}
    assert set((await states(store, "other")).values()) == {DONE}


async def test_a_retried_item_starts_without_a_past(
    store: EmbeddedStore, handler: ScriptedHandler, told: Told
) -> None:
    await accept(store, "g", ["e0"])
    handler.spoilt = {"e0"}
    lease = await lease_of(store, "g")

    async def parked() -> bool:
        await runner(store, handler, told, lease).run(never)
        return (await statuses(store, "g"))["e0"].terminal

    await until(parked)
    handler.spoilt = set()
    assert await store.retry_items("g", None, CLOCK.now_ms()) == ["e0"]
    again = (await statuses(store, "g"))["e0"]
    assert (again.state, again.attempts, again.reason) == (ItemState.ACCEPTED, 0, None)
    await runner(store, handler, told, lease).run(never)
    assert (await states(store, "g")) == {"e0": DONE}
