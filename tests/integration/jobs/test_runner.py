"""One leased group on a real store: micro-batches, bisection, parking, suspects (docs/ingestion.md)."""

import asyncio
import itertools
from collections.abc import Sequence
from dataclasses import replace

import pytest

from kgsvc.domain.errors import LeaseLost, StoreRefused, StoreUnavailable
from kgsvc.domain.model.delta import GraphDelta, Guard
from kgsvc.domain.model.items import ItemState, Lease, Step
from kgsvc.jobs.starts import BatchStarts
from tests.integration.jobs.support import CLOCK, SETTINGS, Queue, ScriptedHandler, Started, never
from tests.support.samples import delta, entity, guard

EIGHT = [f"e{number}" for number in range(8)]
DONE = ItemState.COMPLETED


async def test_items_are_committed_in_micro_batches_by_reference_time(queue: Queue) -> None:
    await queue.accept(*EIGHT)
    await queue.run()
    assert queue.handler.committed == [tuple(EIGHT[:4]), tuple(EIGHT[4:])]
    assert set((await queue.states()).values()) == {DONE}
    assert queue.told.done == {"g": 8}


async def test_model_work_runs_ahead_of_commits_but_not_without_bound(queue: Queue) -> None:
    await queue.accept(*[f"e{number:02}" for number in range(20)])
    together = asyncio.Event()

    async def meet(_lease: Lease) -> None:
        if queue.handler.preparing == SETTINGS.batches_ahead:
            together.set()
        async with asyncio.timeout(10):
            await together.wait()

    queue.handler.before_prepare = meet
    await queue.run()
    assert queue.handler.preparing_max == SETTINGS.batches_ahead
    assert [len(batch) for batch in queue.handler.committed] == [4] * 5


async def test_a_batch_is_halved_until_the_bad_item_stands_alone(queue: Queue) -> None:
    await queue.accept(*EIGHT)
    queue.handler.spoilt = {"e2"}
    settings = replace(SETTINGS, micro_batch=8, backoff_base_ms=60_000, backoff_cap_ms=60_000)
    await queue.run(settings=settings)
    assert queue.handler.committed == [("e0", "e1"), ("e3",), ("e4", "e5", "e6", "e7")]
    bad = (await queue.statuses())["e2"]
    assert (bad.state, bad.attempts, bad.step) == (ItemState.UPSERT_FAILED, 1, Step.UPSERT)
    others = [status for uuid, status in (await queue.statuses()).items() if uuid != "e2"]
    assert {(other.state, other.attempts) for other in others} == {(DONE, 0)}


async def test_the_bad_item_alone_is_parked_after_its_attempts(queue: Queue) -> None:
    await queue.accept(*EIGHT)
    queue.handler.spoilt = {"e2"}
    await queue.run_until_over("e2")
    assert queue.told.parked_items == {"e2": "cannot be committed"}
    assert [attempt for uuid, attempt in queue.told.failures if uuid == "e2"] == [1, 2, 3]
    assert (await queue.statuses())["e2"].reason == "cannot be committed"


class PoisonousHandler(ScriptedHandler):
    """Whatever is committed together with e2 the engine refuses to write."""

    async def commit(self, lease: Lease, batch: Sequence[Started], releases: bool) -> None:
        """See Handler."""
        if any(entry.item.episode.uuid == "e2" for entry in batch):
            poison = replace(entity("g", "n1", "Ada"), created_ms="secret text")  # type: ignore[arg-type]
            await self.store.apply(delta("g", entities=(poison,)), await guard(self.store, "g", lease.token))
        await super().commit(lease, batch, releases)


async def test_an_item_that_the_engine_refuses_is_parked_and_blocks_nobody(queue: Queue) -> None:
    await queue.accept(*EIGHT)
    queue.handler = PoisonousHandler(queue.store)
    await queue.run_until_over("e2")
    assert queue.told.parked_items == {"e2": "the embedded store refuses this write (ConstraintError)"}
    assert {state for uuid, state in (await queue.states()).items() if uuid != "e2"} == {DONE}


async def test_an_item_whose_stage_the_engine_refuses_counts_against_nobody_else(queue: Queue) -> None:
    await queue.accept(*EIGHT)
    queue.handler.broken = {"e1": StoreRefused("too large")}
    settings = replace(SETTINGS, backoff_base_ms=60_000, backoff_cap_ms=60_000)
    await queue.run(settings=settings)
    found = await queue.statuses()
    assert (found["e1"].state, found["e1"].reason) == (ItemState.EXTRACT_FAILED, "too large")
    assert {status.state for uuid, status in found.items() if uuid != "e1"} == {DONE}


async def test_an_item_that_breaks_the_handler_counts_against_nobody_else(queue: Queue) -> None:
    await queue.accept(*EIGHT)
    queue.handler.broken = {"e1": RuntimeError("secret text of a body")}
    await queue.run_until_over("e1")
    found = await queue.statuses()
    assert found["e1"].reason == "internal error: RuntimeError"
    assert {status.state for uuid, status in found.items() if uuid != "e1"} == {DONE}
    assert {uuid for uuid, _ in queue.told.failures} == {"e1"}


async def test_an_item_deleted_meanwhile_is_left_out(queue: Queue) -> None:
    await queue.accept(*EIGHT[:4])
    deleted = itertools.count()

    async def delete_one(lease: Lease) -> None:
        if next(deleted) == 0:
            head = (await queue.store.names("g", ())).head
            change = GraphDelta("g", CLOCK.now_ms(), remove_episodes=("e1",))
            await queue.store.apply(change, Guard(head.rev, head.epoch))

    queue.handler.before_commit = delete_one
    await queue.run()
    assert queue.handler.committed == [("e0", "e2", "e3")]
    assert queue.told.done == {"g": 3}
    assert queue.told.failures == []


async def test_work_under_a_lost_lease_writes_nothing(queue: Queue) -> None:
    await queue.accept(*EIGHT[:4])
    first = await queue.lease("first")

    async def be_overtaken(lease: Lease) -> None:
        if lease.owner_id == "first":
            await queue.lease("second")

    queue.handler.before_commit = be_overtaken
    with pytest.raises(LeaseLost):
        await queue.run(first)
    assert queue.handler.committed == []
    assert set((await queue.states()).values()) == {ItemState.ACCEPTED}
    assert queue.told.failures == []


async def test_a_store_failure_is_no_attempt(queue: Queue) -> None:
    await queue.accept(*EIGHT)
    queue.handler.broken = {"e5": StoreUnavailable("gone")}
    lease = await queue.lease()
    with pytest.raises(StoreUnavailable):
        await queue.run(lease)
    assert {status.attempts for status in (await queue.statuses()).values()} == {0}
    assert queue.told.failures == []


async def test_making_room_commits_what_has_begun_and_begins_no_more(queue: Queue) -> None:
    await queue.accept(*[f"e{number:02}" for number in range(20)])
    answers = itertools.chain([False], itertools.repeat(True))
    await queue.run(wanted=lambda: next(answers))
    assert [len(batch) for batch in queue.handler.committed] == [4] * SETTINGS.batches_ahead


async def test_after_a_crash_started_items_run_alone_and_the_others_together(queue: Queue) -> None:
    await queue.accept(*EIGHT)
    assert len(await queue.store.start_items(await queue.lease("dead"), CLOCK.now_ms(), 3, 10**6, ())) == 3
    await queue.run()
    assert queue.handler.committed == [("e0",), ("e1",), ("e2",), ("e3", "e4", "e5", "e6"), ("e7",)]


async def test_only_the_item_that_kills_alone_is_parked(queue: Queue) -> None:
    await queue.accept(*EIGHT)
    crash = await queue.lease("crash-0")
    await queue.store.start_items(crash, CLOCK.now_ms(), 4, 10**6, ())
    for number in range(1, SETTINGS.attempts_per_step + 1):  # e0, first of the suspects, kills each time
        lease = await queue.lease(f"crash-{number}")
        alone = await queue.store.start_items(lease, CLOCK.now_ms(), 4, 10**6, ())
        assert [item.episode.uuid for item in alone] == ["e0"]
    await queue.run()
    found = await queue.states()
    assert found.pop("e0") is ItemState.PARKED
    assert set(found.values()) == {DONE}
    assert list(queue.told.parked_items) == ["e0"]


async def test_what_saw_two_crashes_runs_beside_nothing_of_any_group(queue: Queue) -> None:
    """Else a killer in one group would use up the attempts of what is begun beside it in others."""
    await queue.accept("e0", group="suspect")
    for owner in ("dead", "dead too"):
        dead = await queue.lease(owner, "suspect")
        assert await queue.store.start_items(dead, CLOCK.now_ms(), 4, 10**6, ())
    await queue.accept(*[f"e{number:02}" for number in range(24)], group="other")
    beside: list[int] = []

    async def look(lease: Lease) -> None:
        for _ in range(50):  # time for others to begin
            await asyncio.sleep(0)
        if lease.group_id == "suspect":
            beside.append(queue.handler.preparing - 1)

    queue.handler.before_prepare = look
    starts = BatchStarts()
    runners = [
        queue.runner(await queue.lease(group=group), starts=starts).run(never)
        for group in ("other", "suspect")
    ]
    await asyncio.wait_for(asyncio.gather(*runners), 30)
    assert beside == [0]
    assert set((await queue.states("suspect")).values()) == {DONE}
    assert set((await queue.states("other")).values()) == {DONE}


async def test_a_retried_item_starts_without_a_past(queue: Queue) -> None:
    await queue.accept("e0")
    queue.handler.spoilt = {"e0"}
    await queue.run_until_over("e0")
    queue.handler.spoilt = set()
    assert await queue.store.retry_items("g", None, CLOCK.now_ms()) == ["e0"]
    again = (await queue.statuses())["e0"]
    assert (again.state, again.attempts, again.reason) == (ItemState.ACCEPTED, 0, None)
    await queue.run_until_over("e0")
    assert (await queue.states()) == {"e0": DONE}
