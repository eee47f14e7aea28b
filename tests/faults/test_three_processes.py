"""Several server processes on one store: everything exists once, leases move, the stale write nothing."""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from kgsvc.domain.limits import DAY_MS
from kgsvc.domain.model.items import ItemState
from kgsvc.v1 import envelope_pb2
from kgsvc.v1 import ingestion_pb2 as ing
from kgsvc.v1 import types_pb2 as typ
from tests.faults.conversations import employed
from tests.faults.processes import SHORT_LEASE, pause_outside_a_transaction, servers
from tests.support.client import CALL_S, Client, completed, episode
from tests.support.graphs import assert_sound
from tests.support.model_process import ModelProcess
from tests.support.store_spec import StoreSpec, dumped, opened

PROCESSES = 3
ROUNDS = 10
TOGETHER = 8
PEOPLE = ("Alice Moreau", "Bruno Keller", "Carla Jensen")
EMPLOYERS = ("Acme Robotics", "Globex", "Initech", "Northwind", "Umbrella Labs")
CITIES = ("Lisbon", "Oslo", "Vienna", "Toronto", "Nairobi")
AT_MS = 1_717_000_000_000
DEADLINE_S = 90.0


@pytest.fixture
async def stack() -> AsyncIterator[AsyncExitStack]:
    """Closed after the test."""
    async with AsyncExitStack() as entered:
        yield entered


def employer_of(day: int) -> str:
    return EMPLOYERS[day % len(EMPLOYERS)]


def city_of(day: int) -> str:
    return CITIES[day % len(CITIES)]


def told(day: int, number: int) -> typ.EpisodeItem:
    """Everybody says the same about the same people on the same day; only the notes' ends differ."""
    first, second = PEOPLE[number % 3], PEOPLE[(number + 1) % 3]
    body = f"{first} works at {employer_of(day)}. {second} lives in {city_of(day)}."
    return episode(body, AT_MS + day * DAY_MS, uuid=f"day-{day}-{number}")


async def test_each_thing_exists_once(
    store_spec: StoreSpec, group: str, tmp_path: Path, stack: AsyncExitStack
) -> None:
    """Eight episodes at once through three servers, and callers who write entities of the same names."""
    services, clients = await servers(stack, store_spec.settings | SHORT_LEASE, tmp_path, "abc")
    rng = random.Random(7)
    for day in range(ROUNDS):
        items = [told(day, number) for number in range(TOGETHER)]
        accepted = await asyncio.gather(
            *(rng.choice(clients).add_episodes(group, [item]) for item in items),
            *(name_it(rng.choice(clients), group, PEOPLE[day % 3], f"called-{n}") for n in range(2)),
        )
        for one in accepted:
            if one is not None:
                completed(await rng.choice(clients).wait_receipt(one.receipt_id))
    assert [await service.terminate() for service in services] == [0] * PROCESSES

    dump = await dumped(store_spec, group)
    assert_sound(dump)
    assert {entity.name for entity in dump.entities} == {*PEOPLE, *EMPLOYERS, *CITIES}
    assert len(dump.entities) == len(PEOPLE) + len(EMPLOYERS) + len(CITIES)
    stated = Counter((f.source_name, f.name, f.target_name, f.start_ms) for f in dump.facts)
    wanted = {
        (person, relation, target, AT_MS + day * DAY_MS): 1
        for day in range(ROUNDS)
        for person in PEOPLE
        for relation, target in (("WORKS_AT", employer_of(day)), ("LIVES_IN", city_of(day)))
    }
    assert stated == wanted
    current = {(f.source_name, f.target_name) for f in dump.facts if f.expired_ms is None}
    last = ROUNDS - 1
    assert current == {(person, place(last)) for person in PEOPLE for place in (employer_of, city_of)}
    sources = {(f.source_name, f.name, f.start_ms): set(f.episodes) for f in dump.facts}
    for (person, relation, start_ms), found in sources.items():
        day, shift = (start_ms - AT_MS) // DAY_MS, 0 if relation == "WORKS_AT" else 1
        assert found == {f"day-{day}-{n}" for n in range(TOGETHER) if PEOPLE[(n + shift) % 3] == person}


async def name_it(client: Client, group: str, name: str, uuid: str) -> None:
    """A caller's own write of an entity, which may find the name taken."""
    request = ing.AddEntityNodeRequest(input=ing.AddEntityNodeInput(uuid=uuid, group_id=group, name=name))
    response = await client.ingestion.AddEntityNode(request, timeout=CALL_S)
    if response.status == envelope_pb2.STATUS_ERROR:
        assert response.error.error_code == "CONFLICT"


async def test_the_work_of_a_killed_process_moves_to_another(
    store_spec: StoreSpec, group: str, tmp_path: Path, stack: AsyncExitStack
) -> None:
    model = await stack.enter_async_context(ModelProcess())
    await model.steer(table={"Alice": employed("Alice", "Acme")})
    await model.fault("hang", times=None)
    settings = store_spec.settings | model.settings | SHORT_LEASE
    (first,), (client,) = await servers(stack, settings, tmp_path, "a")
    accepted = await client.add_episodes(group, [episode("About Alice.", AT_MS, uuid="e")])
    await model.received(1)
    _, (second, third) = await servers(stack, settings, tmp_path, "bc")
    first.kill9()
    await model.heal()
    assert completed(await second.wait_receipt(accepted.receipt_id, DEADLINE_S))["e"].attempts == 0
    assert [fact.fact for fact in await third.search(group, "Alice")] == ["Alice works at Acme"]


async def test_a_process_that_stood_still_past_its_lease_writes_nothing(
    store_spec: StoreSpec, group: str, tmp_path: Path, stack: AsyncExitStack
) -> None:
    """It gets an answer that says something else than the one its successor got."""
    model = await stack.enter_async_context(ModelProcess())
    await model.steer(table={"Alice": employed("Alice", "Stale Works")})
    await model.fault("hang")
    settings = store_spec.settings | model.settings | SHORT_LEASE | {"openai.timeout_s": "600"}
    (stale,), (client,) = await servers(stack, settings, tmp_path, "a")
    accepted = await client.add_episodes(group, [episode("About Alice.", AT_MS, uuid="e")])
    await model.received(1)
    await pause_outside_a_transaction(stale, store_spec)
    await model.heal()  # the answer waits in the socket of the process that stands still
    await model.steer(table={"Alice": employed("Alice", "Fresh Works")})
    _, (successor,) = await servers(stack, settings, tmp_path, "b")
    completed(await successor.wait_receipt(accepted.receipt_id, DEADLINE_S))
    before = await dumped(store_spec, group)
    stale.resume()
    assert await stale.terminate() == 0  # it has come to the end of all it had begun
    after = await dumped(store_spec, group)
    assert after == before
    assert [fact.fact for fact in after.facts] == ["Alice works at Fresh Works"]
    assert len(await model.requests()) == 2


async def test_small_groups_do_not_wait_for_a_large_one(
    store_spec: StoreSpec, group: str, tmp_path: Path, stack: AsyncExitStack
) -> None:
    settings = store_spec.settings | {"queue.groups_at_once": "1", "queue.batches_a_turn": "2"}
    _, (client,) = await servers(stack, settings, tmp_path, "a")
    large = [told(number, number) for number in range(1_000)]
    for start in range(0, len(large), 250):
        await client.add_episodes(group, large[start : start + 250])
    for number in range(3):
        await client.ingest(f"{group}-{number}", [told(0, number)])
    async with opened(store_spec) as store:
        left = await store.list_items(group, [ItemState.ACCEPTED], 1, None)
    assert left.rows, "the large group was finished before the small ones"
