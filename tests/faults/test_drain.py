"""SIGTERM in the middle of work: exit code 0, nothing lost, nothing counted, others go on at once."""

import signal
from pathlib import Path

from kgsvc.domain.model.items import ItemState
from kgsvc.v1 import types_pb2 as typ
from tests.faults.conversations import bodies_shown, conversation, employed
from tests.faults.feeder import Feeder, Trigger, fed, fed_to_the_end
from tests.support.client import Client, completed, episode
from tests.support.graphs import assert_sound
from tests.support.model_process import ModelProcess
from tests.support.samples import claim
from tests.support.service import Service
from tests.support.store_spec import StoreSpec, dumped, opened

EPISODES = 400
AT_MS = 1_717_000_000_000
# Longer than any deadline of the tests: who takes over cannot have waited for a lease to lapse.
NEVER_LAPSES = {"queue.lease_s": "3600"}
PATIENT = {"openai.timeout_s": "600"}
PEOPLE = ("Alice", "Bruno", "Carla")


async def test_a_stream_broken_by_a_shutdown_is_taken_up_by_the_next_process(
    store_spec: StoreSpec, group: str, tmp_path: Path
) -> None:
    feeder = Feeder(group, conversation(5, EPISODES))
    service = Service(store_spec.settings | NEVER_LAPSES, tmp_path)
    async with (
        service,
        Client(service.address) as client,
        fed(feeder, client, feeder.next_items(EPISODES), Trigger("completed", 20)),
    ):
        assert await service.terminate() == 0
    await assert_unharmed(store_spec, group, set(feeder.receipts))
    async with service, Client(service.address) as client:
        await fed_to_the_end(feeder, client)
        listed = await client.list_items(group)
        assert await service.terminate() == 0
    assert sorted(item.uuid for item in listed) == sorted(feeder.items)
    assert {(item.state, item.attempts) for item in listed} == {(typ.ITEM_STATE_COMPLETED, 0)}
    assert_sound(await dumped(store_spec, group))


async def test_shutdown_commits_what_has_begun(store_spec: StoreSpec, group: str, tmp_path: Path) -> None:
    async with ModelProcess() as model:
        settings = await hanging(model, store_spec)
        service = Service(settings | {"queue.drain_s": "120"}, tmp_path)
        async with service, Client(service.address) as client:
            await client.add_episodes(group, [about(person) for person in PEOPLE])
            await model.received(len(PEOPLE))
            service.send(signal.SIGTERM)
            await service.printed("draining")
            await model.heal()
            assert await service.ended() == 0
        assert len(await bodies_shown(model)) == len(PEOPLE)
    async with opened(store_spec) as store:
        page = await store.list_items(group, (), 10, None)
    assert [row.state for row in page.rows] == [ItemState.COMPLETED] * len(PEOPLE)
    assert len((await dumped(store_spec, group)).facts) == len(PEOPLE)


async def test_shutdown_asks_a_model_nothing_more(store_spec: StoreSpec, group: str, tmp_path: Path) -> None:
    """Its places are taken by one call; the items that wait for a place are left to the next process."""
    async with ModelProcess() as model:
        settings = await hanging(model, store_spec)
        service = Service(settings | {"queue.drain_s": "120", "openai.max_concurrency": "1"}, tmp_path)
        async with service, Client(service.address) as client:
            accepted = await client.add_episodes(group, [about(person) for person in PEOPLE])
            await model.received(1)
            service.send(signal.SIGTERM)
            await service.printed("draining groups")
            await model.heal()
            assert await service.ended() == 0
        (asked,) = await bodies_shown(model)
        async with opened(store_spec) as store:
            page = await store.list_items(group, (), 10, None)
        assert {row.attempts for row in page.rows} == {0}
        assert sum(row.state is ItemState.ACCEPTED for row in page.rows) == len(PEOPLE) - 1
        async with service, Client(service.address) as client:
            items = completed(await client.wait_receipt(accepted.receipt_id))
            assert {item.attempts for item in items.values()} == {0}
        bodies = await bodies_shown(model)
        assert len(bodies) == len(PEOPLE), "nothing is asked twice"
        assert bodies.count(asked) == 1


async def test_work_that_outlasts_the_shutdown_is_no_attempt_and_free_at_once(
    store_spec: StoreSpec, group: str, tmp_path: Path
) -> None:
    async with ModelProcess() as model:
        settings = await hanging(model, store_spec)
        service = Service(settings | {"queue.drain_s": "1"}, tmp_path)
        async with service, Client(service.address) as client:
            accepted = await client.add_episodes(group, [about(person) for person in PEOPLE])
            await model.received(len(PEOPLE))
            assert await service.terminate() == 0
        await assert_unharmed(store_spec, group, {about(person).uuid for person in PEOPLE})
        await model.heal()
        async with service, Client(service.address) as client:
            items = completed(await client.wait_receipt(accepted.receipt_id))
            assert {item.attempts for item in items.values()} == {0}


async def assert_unharmed(spec: StoreSpec, group: str, uuids: set[str]) -> None:
    """All of `uuids` are there without an attempt, nobody holds the group, nothing is under suspicion."""
    async with opened(spec) as store:
        page = await store.list_items(group, (), 1_000, None)
        rows = {row.uuid: row for row in page.rows}
        assert uuids <= rows.keys()
        assert {(row.attempts, row.reason) for row in rows.values()} == {(0, None)}
        now_ms = max(row.updated_ms for row in rows.values())
        works = [work for work in await store.ready_groups(now_ms + 60_000, 100) if work.group_id == group]
        assert [work.owner_id for work in works] in ([], [None])
        for work in works:
            lease = await claim(store, work, "looking", now_ms)
            assert lease is not None
            items = await store.start_items(lease, now_ms + 60_000, 1_000, 10**9, ())
            assert [(item.suspect, item.attempts) for item in items] == [(False, {})] * len(items)
            await store.release(lease)


async def hanging(model: ModelProcess, spec: StoreSpec) -> dict[str, str]:
    """A model that answers nothing until it is healed; the settings of a server that uses it."""
    await model.steer(table={person: employed(person) for person in PEOPLE})
    await model.fault("hang", times=None)
    return spec.settings | model.settings | NEVER_LAPSES | PATIENT


def about(person: str) -> typ.EpisodeItem:
    """An episode that the model knows."""
    return episode(f"A note about {person}.", AT_MS, uuid=person.lower())
