"""The parent, over processes that are played."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest

from kgsvc import processes
from kgsvc.announcement import Running
from kgsvc.config import Settings
from kgsvc.observability.metrics import ProcessMetrics
from kgsvc.processes import Member, ProcessFailed, Supervisor
from kgsvc.stores.protocol import StoreInfo

RUNNING = Running("127.0.0.1:7", None, "127.0.0.1:8", StoreInfo("embedded", "SQLite 3", 12), "offline", None)
DRAIN_S = 60.0


@dataclass
class Life:
    """How one process fares: it cannot start, dies once it is ready, or runs until it is told to end."""

    failure: str | None = None
    dies_with: int | None = None
    ends_with: int = 0


@dataclass(eq=False)
class Played:
    """Stands for a process."""

    name: str
    life: Life
    pid: int = 4711
    told: asyncio.Event = field(default_factory=asyncio.Event)
    kept: bool = False
    changes: asyncio.Queue[None] = field(default_factory=asyncio.Queue)  # that it tells of
    heard: int = 0  # changes of others

    async def news(self) -> AsyncIterator[None]:
        while self.life.dies_with is None:
            self.kept = True
            try:
                await self.changes.get()
            finally:
                self.kept = False
            yield

    def tell(self) -> None:
        self.heard += 1

    async def ready(self, settings: Settings) -> Running:
        if self.life.failure is not None:
            raise ProcessFailed(self.life.failure)
        return RUNNING

    async def wait(self) -> int:
        if self.life.dies_with is not None:
            return self.life.dies_with
        self.kept = True
        try:
            await self.told.wait()
        finally:
            self.kept = False
        return self.life.ends_with

    def terminate(self) -> None:
        assert not self.kept, "told to end while it is still taken for one that must not"
        self.told.set()

    async def end(self, timeout_s: float) -> int:
        assert self.told.is_set()
        return self.life.ends_with


class Plays:
    """Gives every member its lives in turn."""

    def __init__(self, **lives: list[Life]) -> None:
        self._lives = {name: iter(given) for name, given in lives.items()}
        self.spawned: list[Played] = []

    async def spawn(self, name: str) -> Played:
        self.spawned.append(Played(name, next(self._lives[name])))
        return self.spawned[-1]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "_PAUSES_S", (0.001, 0.002, 0.003))


def supervised(
    monkeypatch: pytest.MonkeyPatch, plays: Plays, *names: str
) -> tuple[Supervisor, ProcessMetrics]:
    monkeypatch.setattr(processes, "Child", plays)
    meters = ProcessMetrics()
    return Supervisor([Member(name, Settings()) for name in names], meters, DRAIN_S), meters


async def test_what_dies_is_started_again_after_growing_pauses(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    lives = [*(Life(dies_with=-9) for _ in range(2)), Life(failure="no"), *[Life(dies_with=1)] * 2, Life()]
    plays = Plays(a=lives, b=[Life()])
    parent, meters = supervised(monkeypatch, plays, "a", "b")
    announced: list[Running] = []
    serving = asyncio.create_task(parent.serve(announced.append))
    async with asyncio.timeout(DRAIN_S):
        while len(plays.spawned) < len(lives) + 1 or "a" not in meters.addresses:  # noqa: ASYNC110  played
            await asyncio.sleep(0)
    assert meters.registry.get_sample_value("kgsvc_process_restarts_total", {"process": "a"}) == 5
    os.kill(os.getpid(), signal.SIGTERM)
    await serving
    pauses = [vars(record)["pause_s"] for record in caplog.records if "pause_s" in vars(record)]
    assert pauses == [0.001, 0.002, 0.003, 0.003, 0.003]
    assert announced == [RUNNING]
    assert [child.name for child in plays.spawned if child.told.is_set()] == ["b", "a"]


async def test_what_cannot_start_at_first_ends_all_and_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    plays = Plays(a=[Life()], b=[Life(failure="there is no room")])
    parent, _ = supervised(monkeypatch, plays, "a", "b")
    with pytest.raises(ProcessFailed, match="there is no room"):
        await parent.serve(lambda _: pytest.fail("not all of it serves"))
    assert plays.spawned[0].told.is_set()


async def test_what_does_not_drain_in_order_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    plays = Plays(a=[Life(ends_with=0)], b=[Life(ends_with=3)], c=[Life(ends_with=-signal.SIGTERM)])
    parent, _ = supervised(monkeypatch, plays, "a", "b", "c")
    with pytest.raises(ProcessFailed, match=r"\{'b': 3\}"):
        await parent.serve(lambda _: os.kill(os.getpid(), signal.SIGINT))


async def test_what_one_tells_the_others_hear(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not itself, and not one that is dead."""
    plays = Plays(a=[Life()], b=[Life()], c=[Life(dies_with=1), Life()])
    parent, _ = supervised(monkeypatch, plays, "a", "b", "c")
    serving = asyncio.create_task(parent.serve(lambda _: None))
    async with asyncio.timeout(DRAIN_S):
        while sum(each.kept for each in plays.spawned) < 3:  # noqa: ASYNC110  played
            await asyncio.sleep(0)
        plays.spawned[0].changes.put_nowait(None)
        while not plays.spawned[3].heard:  # noqa: ASYNC110  played
            await asyncio.sleep(0)
    assert [each.heard for each in plays.spawned] == [0, 1, 0, 1]
    os.kill(os.getpid(), signal.SIGTERM)
    await serving
