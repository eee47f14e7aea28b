"""What the poll for other processes' changes wakes."""

import asyncio
import random
from typing import cast

import pytest

from kgsvc.jobs.activity import ActivityWatch
from kgsvc.stores.intake_protocol import Activity, IntakeStore, OpenWork, QueueDepth


class Counting:
    """A store that has counted this much, look by look; the last answer stays."""

    def __init__(self, *answers: Activity) -> None:
        self._answers = list(answers)
        self.over = asyncio.Event()

    async def activity(self) -> Activity:
        if len(self._answers) == 1:
            self.over.set()
            return self._answers[0]
        return self._answers.pop(0)


@pytest.mark.parametrize(
    ("after", "woken"),
    [
        (Activity(1, 1), (0, 0)),
        (Activity(1, 2), (0, 1)),
        (Activity(2, 2), (1, 1)),
        (Activity(1, 1, open=OpenWork(fills=False)), (1, 1)),
    ],
    ids=["nothing", "items changed", "more to begin", "other work than items"],
)
async def test_who_begins_work_is_woken_by_work_alone(after: Activity, woken: tuple[int, int]) -> None:
    store = Counting(Activity(1, 1), after, after)
    watch = ActivityWatch(cast(IntakeStore, store), 0.001, random.Random(1))
    polling = asyncio.create_task(watch.run())
    await store.over.wait()
    polling.cancel()
    assert (watch.work.version, watch.changes.version) == woken


async def test_what_is_not_known_is_looked_for_and_what_is_not_there_is_not() -> None:
    none = OpenWork(documents=False, builds=False, fills=False, erasures=False)
    store = Counting(Activity(0, 0, open=none), Activity(0, 0, open=none))
    watch = ActivityWatch(cast(IntakeStore, store), 0.001, random.Random(1))
    assert (watch.open.documents, watch.open.builds, watch.depth) == (True, True, None)
    polling = asyncio.create_task(watch.run())
    await store.over.wait()
    polling.cancel()
    assert (watch.open, watch.depth, watch.answered) == (none, QueueDepth(0, 0, None), True)


async def test_what_happens_here_wakes_all_and_is_told() -> None:
    watch = ActivityWatch(cast(IntakeStore, Counting(Activity(0, 0))), 1.0, random.Random(1))
    told: list[str] = []
    watch.tell = lambda: told.append("told")
    watch.poke()
    assert (watch.work.version, watch.changes.version, told) == (1, 1, ["told"])


@pytest.mark.parametrize(("happens", "pauses"), [(False, 1), (True, 5)], ids=["nothing", "something"])
async def test_polls_are_rarer_while_something_keeps_happening(
    happens: bool, pauses: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Counting(Activity(0, 0), Activity(0, 0), Activity(0, 0))
    watch = ActivityWatch(cast(IntakeStore, store), 0.1, random.Random(1))
    slept: list[float] = []
    pause = asyncio.sleep

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        if happens:
            watch.heard()
        await pause(0)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    polling = asyncio.create_task(watch.run())
    await store.over.wait()
    polling.cancel()
    first = 1  # nothing has happened before the first look
    assert len([seconds for seconds in slept if seconds >= 0.05]) == first + pauses
