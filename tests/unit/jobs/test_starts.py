"""Turns to begin, and the one that runs beside nothing else."""

import asyncio

from kgsvc.jobs.starts import BatchStarts


async def test_turns_come_one_after_the_other() -> None:
    starts = BatchStarts()
    assert await starts.begin(may_wait=True)
    second = asyncio.create_task(starts.begin(may_wait=True))
    await asyncio.sleep(0)
    assert not second.done()
    starts.found_nothing()
    assert await asyncio.wait_for(second, 5)


def test_fewer_groups_are_worked_on_where_each_brings_more_items() -> None:
    starts = BatchStarts()
    assert starts.places(groups=128, items=256, first=64) == 4
    for _ in range(10):
        starts.claimed([1] * 100)
    assert starts.places(groups=128, items=256, first=64) == 128
    for _ in range(10):
        starts.claimed([32] * 8)
    assert starts.places(groups=128, items=256, first=64) == 8
    starts.claimed([])
    assert starts.places(groups=128, items=16, first=64) == 1, "one group is always worked on"


async def test_who_runs_alone_waits_for_the_others_and_holds_up_new_ones() -> None:
    starts = BatchStarts()
    await starts.begin(may_wait=True)
    starts.started(alone=False)
    await starts.begin(may_wait=True)
    starts.started(alone=True)
    alone = asyncio.create_task(starts.alone())
    newcomer = asyncio.create_task(starts.begin(may_wait=True))
    assert not await starts.begin(may_wait=False)  # its own batch is what the other waits for
    await asyncio.sleep(0)
    assert not alone.done()
    starts.ended(alone=False)
    await asyncio.wait_for(alone, 5)
    assert not newcomer.done()
    starts.ended(alone=True)
    assert await asyncio.wait_for(newcomer, 5)


async def test_a_waiting_runner_with_batches_is_sent_on_as_soon_as_somebody_must_be_alone() -> None:
    starts = BatchStarts()
    await starts.begin(may_wait=True)
    starts.started(alone=False)
    await starts.begin(may_wait=True)
    waiting = asyncio.create_task(starts.begin(may_wait=False))
    await asyncio.sleep(0)
    assert not waiting.done()
    starts.started(alone=True)
    assert not await asyncio.wait_for(waiting, 5)


def test_a_group_has_fewer_batches_under_way_beside_others() -> None:
    starts = BatchStarts()
    with starts.group():
        assert starts.ahead(3) == 3
        with starts.group():
            assert starts.ahead(3) == 2
            with starts.group(), starts.group():
                assert starts.ahead(3) == 1
        assert starts.ahead(3) == 3


def test_a_batch_is_large_where_no_other_group_waits_for_it() -> None:
    starts = BatchStarts()
    with starts.group():
        assert starts.items(64, 32) == 64
        assert starts.items(64, 32, joining=1) == 32
        with starts.group():
            assert (starts.items(64, 32), starts.items(8, 32)) == (32, 8)
    assert starts.items(64, 32, joining=1) == 64
