"""Three items among those of many groups that can never be read: one of which the model says nonsense, one
that it refuses, one on which the process dies. Each is parked alone; everything else completes."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from kgsvc.v1 import types_pb2 as typ
from tests.faults.conversations import bodies_shown, employed
from tests.support.client import Client, episode, stream_request
from tests.support.model_process import ModelProcess
from tests.support.service import Service
from tests.support.store_spec import StoreSpec

AT_MS = 1_717_000_000_000
EACH = 2
PEOPLE = ("Alice", "Bruno", "Carla", "Dmitri", "Elena")
POISON = {3: "Babble", 11: "Refusal", 22: "Killer"}  # by the group whose first item it is
ATTEMPTS = 2
SETTINGS = {
    "queue.lease_s": "1",
    "openai.timeout_s": "60",
    "openai.attempts": "1",
    "limits.attempts_per_step": str(ATTEMPTS),
}
DEADLINE_S = 180.0


@pytest.fixture
async def model() -> AsyncIterator[ModelProcess]:
    """It knows the people, and cannot cope with the poison. Of the last it never answers: the test kills."""
    async with ModelProcess() as process:
        await process.steer(table={person: employed(person) for person in PEOPLE})
        await process.fault("says", value="no JSON", match="Babble", times=None)
        await process.fault("status", code=400, match="Refusal", times=None)
        await process.fault("hang", match="Killer", times=None)
        yield process


def told(number: int, turn: int) -> typ.EpisodeItem:
    """An item of a group."""
    name = PEOPLE[number % len(PEOPLE)] if turn else POISON.get(number, PEOPLE[turn])
    return episode(f"A note about {name}.", AT_MS + turn, uuid=f"{name.lower()}-{turn}")


async def died_of_it(service: Service, model: ModelProcess, group: str) -> int:
    """Kill the process whenever the model is asked about the item, until it is parked; how often it was."""
    deaths = 0
    while True:
        async with Client(service.address) as client:
            while (await bodies_shown(model)).count("A note about Killer.") == deaths:
                if typ.ITEM_STATE_PARKED in [item.state for item in await client.list_items(group)]:
                    return deaths
                await asyncio.sleep(0.02)
        deaths += 1
        service.kill9()
        await service.start()


async def states(client: Client, group: str) -> Sequence[int]:
    """Of a group's items once none of them is unfinished, in the order of acceptance."""
    ended: set[int] = {typ.ITEM_STATE_COMPLETED, typ.ITEM_STATE_PARKED}
    while True:
        found = [item.state for item in await client.list_items(group)]
        if ended.issuperset(found):
            return found
        await asyncio.sleep(0.02)


@pytest.mark.timeout(400)
@pytest.mark.parametrize("count", [30, pytest.param(500, marks=pytest.mark.soak)])
async def test_poison_parks_alone(
    store_spec: StoreSpec, group: str, tmp_path: Path, model: ModelProcess, count: int
) -> None:
    groups = [f"{group}-{number}" for number in range(count)]
    async with Service(store_spec.settings | model.settings | SETTINGS, tmp_path) as service:
        async with Client(service.address) as client:
            by_turns = [(number, turn) for turn in range(EACH) for number in range(count)]
            sent = [stream_request(groups[number], told(number, turn)) for number, turn in by_turns]
            assert len(await client.stream(*sent)) == len(sent)
        async with asyncio.timeout(DEADLINE_S):
            (killer,) = (number for number, name in POISON.items() if name == "Killer")
            # Once among others, then alone, as one under suspicion, as often as a step is tried.
            assert await died_of_it(service, model, groups[killer]) <= 1 + ATTEMPTS
            async with Client(service.address) as client:
                found = [await states(client, each) for each in groups]
        assert await service.terminate() == 0
    completed = [typ.ITEM_STATE_COMPLETED] * EACH
    parked = [typ.ITEM_STATE_PARKED, *completed[1:]]
    assert found == [parked if number in POISON else completed for number in range(count)]
