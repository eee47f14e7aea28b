"""WatchGroup: whoever applies what it tells holds exactly the graph, whatever breaks on the way."""

import asyncio
from pathlib import Path

import pytest
from kgsvc_client import aio

from tests.clients.mirror import JAN, Changer, Mirror, mirrored
from tests.clients.worlds import Proxy
from tests.support.client import Client, episode
from tests.support.service import Service
from tests.support.store_spec import StoreSpec, opened

SEED = 7


async def followed(
    spec: StoreSpec, folder: Path, group: str, changes: int, cuts: int, restarts: int
) -> Mirror:
    """Follow a group through changes, cut connections and killed servers; the copy, which is exact."""
    mirror, changer = Mirror(), Changer(group, SEED)
    service = Service(spec.settings, folder)
    async with service, Proxy() as proxy, aio.Client(proxy.address) as following, opened(spec) as store:
        proxy.target = service.address
        follower = asyncio.create_task(mirror.follow(following.group(group)))
        for part in range(restarts + 1):
            if part:
                service.kill9()
                await service.start()
                proxy.target = service.address
            async with Client(service.address) as client:
                for number in range(changes // (restarts + 1)):
                    if number % max(1, changes // cuts) == 0:
                        proxy.cut()
                    await changer.change(client, store)
        async with Client(service.address) as client:
            for receipt in {item.receipt_id for item in await client.list_items(group)}:
                await client.wait_receipt(receipt)
        dump = await store.dump(group)
        try:
            await mirror.reached(dump.head.rev)
        finally:
            follower.cancel()
            await asyncio.gather(follower, return_exceptions=True)
    expected = mirrored(dump)
    assert mirror.facts == expected.facts
    assert mirror.entities == expected.entities
    assert mirror.episodes == expected.episodes
    assert expected.facts
    assert mirror.rev == expected.rev
    return mirror


async def test_a_follower_ends_with_exactly_the_graph(
    store_spec: StoreSpec, tmp_path: Path, group: str
) -> None:
    await followed(store_spec, tmp_path, group, changes=80, cuts=8, restarts=1)


@pytest.mark.soak
async def test_a_follower_outlives_fifty_cuts_and_two_restarts(
    embedded_spec: StoreSpec, tmp_path: Path, group: str
) -> None:
    mirror = await followed(embedded_spec, tmp_path, group, changes=1_000, cuts=50, restarts=2)
    assert mirror.resets == 3, "at the beginning, and with each deleted group"


async def test_a_cursor_leads_on_and_one_of_a_deleted_group_begins_anew(
    embedded_spec: StoreSpec, tmp_path: Path, group: str
) -> None:
    service = Service(embedded_spec.settings, tmp_path)
    async with service, Client(service.address) as client, aio.Client(service.address) as following:
        memory = following.group(group)
        await client.ingest(group, [episode("Ann works at Acme.", JAN, uuid="one")])
        told = [changes async for changes in _until_current(memory, None)]
        assert told[0].reset
        assert {fact.text for changes in told for fact in changes.facts} == {"Ann works at Acme."}
        assert {each.uuid: each.entities for changes in told for each in changes.episodes}.keys() == {"one"}
        await client.ingest(group, [episode("Bea knows Cid.", JAN, uuid="two")])
        later = [changes async for changes in _until_current(memory, told[-1].cursor)]
        assert [changes.reset for changes in later] == [False] * len(later)
        assert {each.uuid for changes in later for each in changes.episodes} == {"two"}
        await client.delete_group(group)
        await client.ingest(group, [episode("Dan knows Eve.", JAN, uuid="three")])
        anew = [changes async for changes in _until_current(memory, later[-1].cursor)]
        assert anew[0].reset
        assert {each.uuid for changes in anew for each in changes.episodes} == {"three"}


async def _until_current(memory: aio.Group, cursor: str | None):  # type: ignore[no-untyped-def]
    async with asyncio.timeout(30):
        async for changes in memory.follow(cursor):
            yield changes
            if changes.current:
                return
