"""The whole server on the OpenAI path, against a scripted model: what passes heals, what persists parks."""

import asyncio
import sys
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from kgsvc.v1 import types_pb2 as typ
from tests.faults.conversations import bodies_shown, employed
from tests.support.client import Client, completed, episode
from tests.support.model_process import ModelProcess
from tests.support.service import Service, environment
from tests.support.spawning import REPOSITORY
from tests.support.store_spec import StoreSpec, dumped

AT_MS = 1_717_000_000_000
PEOPLE = ("Alice", "Bruno", "Carla", "Dmitri", "Elena", "Farid", "Greta", "Henrik", "Irina", "Jonas")
PATIENT = {"queue.lease_s": "1", "openai.timeout_s": "60"}
HASTY = {"openai.timeout_s": "1.5", "openai.attempts": "3"}
TWO_ATTEMPTS = {"limits.attempts_per_step": "2", "openai.attempts": "1"}
DONE_S = 90.0


def note(person: str, number: int = 0) -> typ.EpisodeItem:
    """An episode that the model knows by the name in it."""
    body = f"A note about {person}, the {number}th."
    return episode(body, AT_MS + number, uuid=f"{person.lower()}-{number}")


@pytest.fixture
async def model() -> AsyncIterator[ModelProcess]:
    """A scripted model that knows the people."""
    async with ModelProcess() as process:
        await process.steer(table={person: employed(person) for person in PEOPLE})
        yield process


async def facts(client: Client, group: str, person: str) -> list[str]:
    """The texts that a search for the person finds about the person."""
    found = await client.search(group, f"Where does {person} work?", max_facts=50)
    return [fact.fact for fact in found if person in fact.fact]


async def test_one_chat_call_an_episode(
    store_spec: StoreSpec, group: str, tmp_path: Path, model: ModelProcess
) -> None:
    notes = [note(person, number) for number in range(3) for person in PEOPLE]
    async with (
        Service(store_spec.settings | model.settings | PATIENT, tmp_path) as service,
        Client(service.address) as client,
    ):
        await client.ingest(group, notes)
        await client.ingest(group, notes)  # all duplicates
        for person in PEOPLE:
            assert await facts(client, group, person) == [f"{person} works at Acme"]
        assert await service.terminate() == 0
    assert Counter(await bodies_shown(model)) == Counter(item.body for item in notes)
    dump = await dumped(store_spec, group)
    assert {fact.fact: len(fact.episodes) for fact in dump.facts} == {f"{p} works at Acme": 3 for p in PEOPLE}


async def test_what_passes_heals(
    store_spec: StoreSpec, group: str, tmp_path: Path, model: ModelProcess
) -> None:
    await model.fault("status", code=429, error_code="rate_limit_exceeded", match="Alice")
    await model.fault("hang", match="Bruno")
    await model.fault("truncated", match="Carla")
    await model.fault("answer", value={"nodes": "none", "facts": []}, match="Dmitri")
    await model.fault("says", value="I am afraid I cannot answer in JSON today", match="Elena")
    await model.fault("drop", match="Farid")
    await model.fault("status", code=503, match="Greta")
    await model.fault("status", code=429, headers={"retry-after-ms": "20"}, endpoint="embeddings")
    people = PEOPLE[:8]
    async with (
        Service(store_spec.settings | model.settings | HASTY, tmp_path) as service,
        Client(service.address) as client,
    ):
        await client.ingest(group, [note(person) for person in people])
        for person in people:
            assert await facts(client, group, person) == [f"{person} works at Acme"]
    asked = Counter(await bodies_shown(model))
    assert asked == {note(person).body: 1 if person == "Henrik" else 2 for person in people}


async def test_what_persists_parks_and_leaves_no_trace_until_it_is_retried(
    store_spec: StoreSpec, group: str, tmp_path: Path, model: ModelProcess
) -> None:
    persistent: dict[str, tuple[dict[str, Any], str, str]] = {
        "Alice": ({"kind": "says", "value": "no JSON"}, "extract", "the model's answer was rejected"),
        "Bruno": ({"kind": "truncated"}, "extract", "broke off"),
        "Carla": ({"kind": "status", "code": 429}, "extract", "limits the rate"),
        "Dmitri": ({"kind": "status", "code": 500}, "extract", "HTTP 500"),
        "Elena": ({"kind": "status", "code": 500, "endpoint": "embeddings"}, "embed", "HTTP 500"),
    }
    for person, (fault, _, _) in persistent.items():
        await model.fault(**fault, match=person, times=None)
    async with (
        Service(store_spec.settings | model.settings | TWO_ATTEMPTS, tmp_path) as service,
        Client(service.address) as client,
    ):
        groups = {person: f"{group}-{person}" for person in persistent}
        receipts = {
            person: (await client.add_episodes(groups[person], [note(person)])).receipt_id
            for person in persistent
        }
        await client.ingest(f"{group}-Jonas", [note("Jonas")])
        for person, (_, step, reason) in persistent.items():
            items = await client.wait_receipt(receipts[person])
            await assert_parked(
                client, store_spec, groups[person], items[f"{person.lower()}-0"], step, reason
            )

        await model.heal()
        assert await kgsvc("retry", "--group", groups["Alice"], "--all", "--server", service.address) == 0
        for person in persistent.keys() - {"Alice"}:
            assert await client.retry(groups[person]) == [f"{person.lower()}-0"]
        for person in persistent:
            completed(await client.wait_receipt(receipts[person]))
            assert await facts(client, groups[person], person) == [f"{person} works at Acme"]
            assert await client.list_items(groups[person], typ.ITEM_STATE_PARKED) == []


async def assert_parked(
    client: Client, spec: StoreSpec, group: str, item: typ.ReceiptItem, step: str, reason: str
) -> None:
    """The only item of the group is parked with its reason; of its content nothing is in the graph."""
    assert (item.state, item.attempts) == (typ.ITEM_STATE_PARKED, 2)
    assert reason in item.reason
    listed = await client.list_items(group, typ.ITEM_STATE_PARKED)
    assert [(each.uuid, each.step) for each in listed] == [(item.uuid, step)]
    assert await client.search(group, "Who works at Acme?") == []
    assert [each.uuid for each in await client.get_episodes(group)] == [item.uuid]
    dump = await dumped(spec, group)
    assert (dump.entities, dump.names, dump.facts, dump.mentions) == ((), {}, (), ())


async def test_an_extraction_that_was_stored_is_not_asked_for_again_after_a_crash(
    store_spec: StoreSpec, group: str, tmp_path: Path, model: ModelProcess
) -> None:
    await model.fault("hang", endpoint="embeddings", times=None)
    service = Service(store_spec.settings | model.settings | PATIENT, tmp_path)
    async with service, Client(service.address) as client:
        accepted = await client.add_episodes(group, [note(person) for person in PEOPLE])
        await extracted(client, accepted.receipt_id)
        service.kill9()
    await model.heal()
    async with service, Client(service.address) as client:
        completed(await client.wait_receipt(accepted.receipt_id))
        for person in PEOPLE:
            assert await facts(client, group, person) == [f"{person} works at Acme"]
    assert Counter(await bodies_shown(model)) == {note(person).body: 1 for person in PEOPLE}


async def test_a_crash_while_the_model_thinks_loses_nothing(
    store_spec: StoreSpec, group: str, tmp_path: Path, model: ModelProcess
) -> None:
    await model.fault("hang", times=None)
    service = Service(store_spec.settings | model.settings | PATIENT, tmp_path)
    async with service, Client(service.address) as client:
        accepted = await client.add_episodes(group, [note("Alice"), note("Bruno")])
        await model.received(2)
        service.kill9()
    await model.heal()
    async with service, Client(service.address) as client:
        items = completed(await client.wait_receipt(accepted.receipt_id))
        assert {item.attempts for item in items.values()} == {0}
        assert await facts(client, group, "Alice") == ["Alice works at Acme"]


async def extracted(client: Client, receipt_id: str) -> None:
    """Return once all items of the receipt are shown as EXTRACTED."""
    states: dict[str, int] = {}
    async for output in client.watch(receipt_id, DONE_S):
        states |= {item.uuid: item.state for item in output.items}
        if set(states.values()) == {typ.ITEM_STATE_EXTRACTED}:
            return


async def kgsvc(*arguments: str) -> int:
    """The exit code of the command line."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "kgsvc", *arguments, env=environment({}), cwd=REPOSITORY
    )
    async with asyncio.timeout(DONE_S):
        return await process.wait()
