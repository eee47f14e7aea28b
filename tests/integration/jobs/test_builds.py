"""The dispatcher of builds over a real store, with a handler that does what a test tells it."""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from kgsvc.domain.errors import LeaseLost, StepError, StoreUnavailable
from kgsvc.domain.model.communities import BuildLease, BuildRequest, BuildState, CommunityBuild
from kgsvc.jobs.activity import ActivityWatch
from kgsvc.jobs.builds import build_work
from kgsvc.jobs.dispatcher import Dispatcher, RetryPolicy
from kgsvc.stores.embedded import EmbeddedStore
from tests.integration.jobs.support import CLOCK, DEADLINE_S, SETTINGS

QUICK = replace(SETTINGS, lease_s=0.3)
Build = Callable[[BuildLease], Awaitable[None]]


class Handler:
    """Remembers the leases it was given."""

    def __init__(self, build: Build) -> None:
        self._build = build
        self.leases: list[BuildLease] = []

    async def build(self, lease: BuildLease) -> None:
        self.leases.append(lease)
        await self._build(lease)


@asynccontextmanager
async def dispatching(store: EmbeddedStore, build: Build, owner: str = "me") -> AsyncIterator[Handler]:
    """A dispatcher that runs in the block."""
    handler, rng = Handler(build), random.Random(1)
    activity = ActivityWatch(store, 0.01, rng)
    retry = RetryPolicy(QUICK, rng)
    jobs = build_work(store, handler, retry, QUICK, CLOCK)
    dispatcher = Dispatcher(jobs, activity, QUICK, CLOCK, owner)
    tasks = [asyncio.create_task(activity.run()), asyncio.create_task(dispatcher.run())]
    try:
        yield handler
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def asked(store: EmbeddedStore, group: str = "g") -> CommunityBuild:
    (build,) = await store.request_builds([BuildRequest(group, f"build-{group}", CLOCK.now_ms())])
    return build


async def until(store: EmbeddedStore, build: CommunityBuild, *states: BuildState) -> CommunityBuild:
    async with asyncio.timeout(DEADLINE_S):
        while True:
            found = await store.build(build.group_id, build.build_id)
            assert found is not None
            if found.state in states:
                return found
            await asyncio.sleep(0.01)


async def test_a_build_is_tried_again_and_gives_up_with_its_reason(store: EmbeddedStore) -> None:
    async def fails(_lease: BuildLease) -> None:
        raise StepError("no luck")

    build = await asked(store)
    async with dispatching(store, fails) as handler:
        over = await until(store, build, BuildState.FAILED)
    assert over.reason == "no luck"
    assert [lease.attempt for lease in handler.leases] == [1, 2, 3]


async def test_a_defect_is_a_failed_attempt_that_quotes_nothing(store: EmbeddedStore) -> None:
    async def breaks(_lease: BuildLease) -> None:
        raise ValueError("a secret")

    build = await asked(store)
    async with dispatching(store, breaks):
        over = await until(store, build, BuildState.FAILED)
    assert over.reason == "internal error: ValueError"


async def test_an_outage_of_the_store_is_no_attempt(store: EmbeddedStore) -> None:
    outages = 5

    async def fails_at_first(lease: BuildLease) -> None:
        if len(handler.leases) <= outages:
            raise StoreUnavailable("away")
        await store.publish(lease, CLOCK.now_ms())

    build = await asked(store)
    async with dispatching(store, fails_at_first) as handler:
        await until(store, build, BuildState.COMPLETED)
    assert {lease.attempt for lease in handler.leases} == {1}


async def test_shutdown_gives_the_build_back(store: EmbeddedStore) -> None:
    began, ended = asyncio.Event(), asyncio.Event()

    async def long(_lease: BuildLease) -> None:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    build = await asked(store)
    async with dispatching(store, long):
        await began.wait()
    assert ended.is_set()
    (work,) = await store.open_builds(CLOCK.now_ms(), 9)
    assert (work.build_id, work.owner_id) == (build.build_id, None)
    lease = await store.claim_build(work, "next", CLOCK.now_ms())
    assert lease is not None
    assert lease.attempt == 1


async def test_a_build_of_a_dead_process_is_taken_over(store: EmbeddedStore) -> None:
    build = await asked(store)
    (work,) = await store.open_builds(CLOCK.now_ms(), 9)
    dead = await store.claim_build(work, "dead", CLOCK.now_ms())
    assert dead is not None

    async def publishes(lease: BuildLease) -> None:
        await store.publish(lease, CLOCK.now_ms())

    async with dispatching(store, publishes) as handler:
        await until(store, build, BuildState.COMPLETED)
    assert [lease.attempt for lease in handler.leases] == [2]
    with pytest.raises(LeaseLost):
        await store.publish(dead, CLOCK.now_ms())


async def test_a_lease_is_renewed_while_the_build_lasts_and_by_one_only(store: EmbeddedStore) -> None:
    """Two dispatchers, a build that lasts for several leases: it is begun once."""
    done = asyncio.Event()

    async def lasts(lease: BuildLease) -> None:
        await asyncio.sleep(4 * QUICK.lease_s)
        await store.publish(lease, CLOCK.now_ms())
        done.set()

    build = await asked(store)
    async with dispatching(store, lasts, "a") as first, dispatching(store, lasts, "b") as second:
        await until(store, build, BuildState.COMPLETED)
    assert len(first.leases) + len(second.leases) == 1


async def test_who_loses_the_lease_stops(store: EmbeddedStore) -> None:
    """The group is deleted while its build runs: the build is cancelled, and the next one is taken up."""
    began, ended = asyncio.Event(), asyncio.Event()

    async def lasts_at_first(lease: BuildLease) -> None:
        if lease.group_id == "next":
            await store.publish(lease, CLOCK.now_ms())
            return
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    await asked(store)
    async with dispatching(store, lasts_at_first):
        await began.wait()
        await store.delete_group("g", CLOCK.now_ms())
        async with asyncio.timeout(DEADLINE_S):
            await ended.wait()
        await until(store, await asked(store, "next"), BuildState.COMPLETED)
