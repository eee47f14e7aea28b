"""Whose turn it is to call the model."""

import asyncio
from collections.abc import Sequence

import pytest

from kgsvc.models.openai.turns import FairTurns


class _Calls:
    """Calls that end when the test says so, in the order in which they got a place."""

    def __init__(self, most: int) -> None:
        self.turns = FairTurns(most)
        self.begun: list[str] = []
        self.ends: dict[str, asyncio.Event] = {}

    async def call(self, name: str) -> None:
        """Of the group that the name begins with."""
        end = self.ends[name] = asyncio.Event()
        async with self.turns.turn(name[0]):
            self.begun.append(name)
            await end.wait()

    async def start(self, *names: str) -> list[asyncio.Task[None]]:
        """One after the other."""
        tasks = [asyncio.create_task(self.call(name)) for name in names]
        await _settled()
        return tasks

    async def end(self, *names: str) -> None:
        for name in names:
            self.ends[name].set()
            await _settled()


async def _settled() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_no_more_than_so_many_at_a_time() -> None:
    calls = _Calls(2)
    await calls.start("a1", "b1", "c1")
    assert calls.begun == ["a1", "b1"]
    await calls.end("b1")
    assert calls.begun == ["a1", "b1", "c1"]


async def test_a_single_call_passes_a_backlog() -> None:
    calls = _Calls(2)
    await calls.start(*(f"a{n}" for n in range(9)), "b0")
    await calls.end("a0")
    assert calls.begun == ["a0", "a1", "b0"]
    await calls.end("b0")
    assert calls.begun[-1] == "a2"


async def test_backlogs_take_turns() -> None:
    """Each in its own order, with as many places as the others."""
    calls = _Calls(2)
    await calls.start(*(f"{group}{n}" for group in "abc" for n in range(3)))
    for place in range(7):
        await calls.end(calls.begun[place])
    assert calls.begun[:2] == ["a0", "a1"]
    for group in "abc":
        assert [name for name in calls.begun if name[0] == group] == [f"{group}{n}" for n in range(3)]
    assert [name[0] for name in calls.begun[2:6]] == ["b", "a", "c", "b"]


@pytest.mark.parametrize("gone", [("b0",), ("b0", "b1"), ("b1", "c0")])
async def test_who_was_cancelled_is_passed_over(gone: Sequence[str]) -> None:
    calls = _Calls(1)
    waiting = ["b0", "b1", "c0"]
    (_, *tasks) = await calls.start("a0", *waiting)
    for name in gone:
        tasks[waiting.index(name)].cancel()
    await _settled()
    left = [name for name in waiting if name not in gone]
    await calls.end("a0", *left)
    assert sorted(calls.begun[1:]) == left
    await calls.start("d0")
    assert calls.begun[-1] == "d0"


async def test_a_place_given_in_the_moment_of_the_cancellation_goes_on() -> None:
    calls = _Calls(1)
    _, late, _ = await calls.start("a0", "b0", "c0")
    calls.ends["a0"].set()
    await asyncio.sleep(0)  # a0 ends, and b0 has its place without having run
    late.cancel()
    await _settled()
    assert calls.begun == ["a0", "c0"]
    await calls.end("c0")
    await calls.start("d0")
    assert calls.begun[-1] == "d0"
