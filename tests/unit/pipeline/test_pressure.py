"""Callers who queue up come before the worker, and a storm without end does not stop it."""

import asyncio

import pytest

from kgsvc.pipeline.pressure import IntakePressure


class _Time:
    def __init__(self, step_s: float = 0.0) -> None:
        self.now_s = 100.0
        self.step_s = step_s

    def __call__(self) -> float:
        self.now_s += self.step_s
        return self.now_s


async def test_work_goes_on_while_few_items_come() -> None:
    about = IntakePressure(_Time())
    with about.accepting(1):
        await asyncio.wait_for(about.lull(32), 5.0)


async def test_work_waits_while_a_crowd_is_accepted_and_shortly_after(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks = asyncio.Event()

    async def look(_: float) -> None:
        looks.set()
        await real(0)

    real = asyncio.sleep
    monkeypatch.setattr("kgsvc.pipeline.pressure.asyncio.sleep", look)
    clock = _Time()
    about = IntakePressure(clock)
    with about.accepting(64):
        waiting = asyncio.create_task(about.lull(32))
        await looks.wait()
        assert not waiting.done()
    looks.clear()
    await looks.wait()
    assert not waiting.done()  # the next run of a stream may follow at once
    clock.now_s += 0.2
    await asyncio.wait_for(waiting, 5.0)


async def test_a_storm_lets_one_batch_pass_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    real = asyncio.sleep
    monkeypatch.setattr("kgsvc.pipeline.pressure.asyncio.sleep", lambda _: real(0))
    clock = _Time(step_s=0.02)
    about = IntakePressure(clock)
    with about.accepting(64):
        began_s = clock.now_s
        await asyncio.wait_for(asyncio.gather(about.lull(32), about.lull(32)), 5.0)
    assert clock.now_s - began_s >= 0.5


async def test_in_a_storm_the_items_of_many_groups_share_a_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    real = asyncio.sleep
    monkeypatch.setattr("kgsvc.pipeline.pressure.asyncio.sleep", lambda _: real(0))
    clock = _Time(step_s=0.02)
    about = IntakePressure(clock)
    with about.accepting(64):
        began_s = clock.now_s
        await asyncio.wait_for(asyncio.gather(*(about.lull(1) for _ in range(32))), 5.0)
    assert clock.now_s - began_s < 32 * 0.02 + 0.5
