"""How many works are claimed at a time: together, where more waits than there are places for."""

import asyncio
import random
from collections.abc import Callable, Mapping, Sequence
from typing import cast

from kgsvc.jobs.activity import ActivityWatch
from kgsvc.jobs.dispatcher import Dispatcher, LeasedWork, Offer, QueueSettings
from kgsvc.runtime import SystemClock
from kgsvc.stores.intake_protocol import Activity, IntakeStore

WAIT_S = 30.0
SETTINGS = QueueSettings(lease_s=600.0, poll_s=WAIT_S)


class Quiet:
    """A store in which other processes do nothing."""

    async def activity(self) -> Activity:
        return Activity(0, 0)


class Works:
    """Works that end when they are told to, in four places."""

    def __init__(self, count: int, others: int = 0) -> None:
        self.others = [Offer(f"o{n}", f"o{n}", "another process", (1, 0), f"o{n}") for n in range(others)]
        self.made_room: list[str] = []
        self.waiting = [f"w{number:02}" for number in range(count)]
        self.ends = {key: asyncio.Event() for key in self.waiting}
        self.claims: list[list[str]] = []
        self.claimed = asyncio.Event()

    async def offers(self, _now_ms: int, limit: int) -> list[Offer]:
        return [*self.others, *(Offer(key, key, None, (0, 0), key) for key in self.waiting[:limit])]

    async def claim(self, works: Sequence[str], _owner: str, _now_ms: int) -> list[str]:
        self.waiting = [key for key in self.waiting if key not in works]
        self.claims.append(list(works))
        self.claimed.set()
        return list(works)

    async def serve(self, key: str, make_room: Callable[[], bool]) -> bool:
        await self.ends[key].wait()
        if [make_room() for _ in range(SETTINGS.batches_a_turn + 1)][-1]:
            self.made_room.append(key)
        return True

    def kind(self) -> LeasedWork[str]:
        async def renew(held: Mapping[str, str]) -> set[str]:
            return set(held)

        async def release(_key: str, _now_ms: int) -> None:
            return None

        return LeasedWork(
            "works", "key", lambda: 4, 16, WAIT_S, WAIT_S, 0.0, self.offers, self.claim, renew, release,
            self.serve, together=0.5,
        )  # fmt: skip

    async def more_claims(self, count: int) -> list[list[str]]:
        """The claims, once there are so many."""
        async with asyncio.timeout(WAIT_S):
            while len(self.claims) < count:
                self.claimed.clear()
                await self.claimed.wait()
        return self.claims


async def settled() -> None:
    """Everything that can happen by itself has happened."""
    for _ in range(50):
        await asyncio.sleep(0)


async def test_works_that_wait_for_a_place_are_claimed_together() -> None:
    works = Works(8)
    watch = ActivityWatch(cast(IntakeStore, Quiet()), WAIT_S, random.Random(1))
    running = asyncio.create_task(Dispatcher(works.kind(), watch, SETTINGS, SystemClock(), "me").run())
    first = ["w00", "w01", "w02", "w03"]
    assert await works.more_claims(1) == [first]
    works.ends["w00"].set()
    await settled()
    assert works.claims == [first], "one free place is no reason yet"
    works.ends["w01"].set()
    assert await works.more_claims(2) == [first, ["w04", "w05"]]
    for key in ("w02", "w03"):
        works.ends[key].set()
    assert await works.more_claims(3) == [first, ["w04", "w05"], ["w06", "w07"]]
    running.cancel()


async def test_what_comes_while_places_are_free_does_not_wait() -> None:
    works = Works(3)
    watch = ActivityWatch(cast(IntakeStore, Quiet()), WAIT_S, random.Random(1))
    running = asyncio.create_task(Dispatcher(works.kind(), watch, SETTINGS, SystemClock(), "me").run())
    await works.more_claims(1)
    works.waiting.append("w99")
    works.ends["w99"] = asyncio.Event()
    watch.poke()
    assert await works.more_claims(2) == [["w00", "w01", "w02"], ["w99"]]
    running.cancel()


async def test_nobody_makes_room_for_what_other_processes_hold() -> None:
    for count, rooms in ((4, []), (5, ["w00"])):
        works = Works(count, others=3)
        watch = ActivityWatch(cast(IntakeStore, Quiet()), WAIT_S, random.Random(1))
        running = asyncio.create_task(Dispatcher(works.kind(), watch, SETTINGS, SystemClock(), "me").run())
        await works.more_claims(1)
        await settled()
        works.ends["w00"].set()
        await settled()
        assert works.made_room == rooms
        running.cancel()
