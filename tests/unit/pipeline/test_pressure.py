"""Callers who queue up come before the worker, and a storm without end does not stop it."""

import asyncio

import pytest

from kgsvc.pipeline.pressure import IntakePressure


class _Time:
    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
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


class _Storm(IntakePressure):
    """Time goes on only while somebody waits: by the length of a look."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.clock = _Time()
        super().__init__(self.clock)
        real = asyncio.sleep

        async def look(seconds: float) -> None:
            self.clock.now_s += seconds
            await real(0)

        monkeypatch.setattr("kgsvc.pipeline.pressure.asyncio.sleep", look)

    async def passed_s(self, *items: int) -> list[float]:
        """How long each of batches that come at once waits, to a tenth of a second."""
        began_s = self.clock.now_s

        async def one(count: int) -> float:
            await self.lull(count)
            return round(self.clock.now_s - began_s, 1)

        return await asyncio.wait_for(asyncio.gather(*map(one, items)), 5.0)


async def test_a_storm_lets_one_batch_pass_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    about = _Storm(monkeypatch)
    with about.accepting(64):
        assert await about.passed_s(64, 64) == [0.3, 0.5]


async def test_in_a_storm_the_items_of_many_groups_share_a_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    about = _Storm(monkeypatch)
    with about.accepting(64):
        assert await about.passed_s(*[1] * 64) == [0.3] * 64


async def test_the_items_of_a_turn_pass_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """One after another, the first would read alone what all could read together."""
    about = _Storm(monkeypatch)
    with about.accepting(64):
        passing = [asyncio.create_task(about.lull(1)) for _ in range(64)]
        done, _ = await asyncio.wait(passing, return_when=asyncio.FIRST_COMPLETED)
        assert len(done) == 64


async def test_who_gives_up_holds_nobody_back(monkeypatch: pytest.MonkeyPatch) -> None:
    about = _Storm(monkeypatch)
    with about.accepting(64):
        first, second = (asyncio.create_task(about.lull(64)) for _ in range(2))
        await asyncio.sleep(0)
        first.cancel()
        assert await about.passed_s(64) == [0.5]
        await asyncio.wait_for(second, 5.0)


async def test_what_comes_later_does_not_divide_a_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rest of an old turn would let a part of those that come together pass, and the others wait."""
    about = _Storm(monkeypatch)
    with about.accepting(64):
        await about.passed_s(*[1] * 40)
        about.clock.now_s += 0.2
        assert await about.passed_s(*[1] * 64) == [0.3] * 64
