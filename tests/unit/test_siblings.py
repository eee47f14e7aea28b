"""What processes of one service tell one another, over the pipes that they have."""

import asyncio
import os
from collections.abc import Iterator

import pytest

from kgsvc.siblings import BYTE, Siblings


@pytest.fixture
def pipes() -> Iterator[list[int]]:
    """Where a child reads, where its parent writes; where the parent reads, where the child writes."""
    ends = [*os.pipe(), *os.pipe()]
    yield ends
    for end in ends:
        if end >= 0:
            os.close(end)


async def until(event: asyncio.Event) -> None:
    async with asyncio.timeout(30):
        await event.wait()


async def test_a_child_hears_of_changes_and_of_the_end(pipes: list[int]) -> None:
    heard, ended = asyncio.Event(), asyncio.Event()
    siblings = Siblings(pipes[0], pipes[3], ended.set)
    os.write(pipes[1], BYTE)  # before anybody is interested: forgotten
    siblings.heard = heard.set
    os.write(pipes[1], BYTE)
    await until(heard)
    assert not ended.is_set()
    os.close(pipes[1])
    pipes[1] = -1
    await until(ended)


async def test_many_changes_at_once_are_told_twice(pipes: list[int]) -> None:
    """At once, and for those that came while it rests; the next ones are told at once again."""
    siblings = Siblings(pipes[0], pipes[3], lambda: None)
    os.set_blocking(pipes[2], False)
    told = asyncio.Event()
    asyncio.get_running_loop().add_reader(pipes[2], told.set)
    for _ in range(100):
        siblings.tell()
    assert os.read(pipes[2], 1_000) == BYTE
    told.clear()
    await until(told)
    assert os.read(pipes[2], 1_000) == BYTE
    asyncio.get_running_loop().remove_reader(pipes[2])


async def test_a_parent_that_does_not_read_holds_nobody_up(
    pipes: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    siblings = Siblings(pipes[0], pipes[3], lambda: None)
    try:
        while True:
            os.write(pipes[3], BYTE * 4_096)
    except BlockingIOError:
        pass
    siblings.tell()
    os.close(pipes[2])
    pipes[2] = -1
    monkeypatch.setattr(siblings, "_rests", False)
    siblings.tell()
