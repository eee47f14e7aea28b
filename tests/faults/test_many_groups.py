"""Many groups, a few items each, worked on by three processes that die and stand still: each group's graph is
that of an undisturbed run."""

import asyncio
import random
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import grpc
import pytest

from kgsvc.v1 import ingestion_pb2 as ing
from kgsvc.v1 import types_pb2 as typ
from tests.faults.conversations import conversation
from tests.faults.processes import SHORT_LEASE, pause_outside_a_transaction, servers
from tests.support.client import Client, stream_request
from tests.support.graphs import assert_sound, comparable, differences
from tests.support.service import Service
from tests.support.store_spec import StoreSpec, dumped

SEED = 20261126
PAST_THE_LEASE_S = 2.5
DEADLINE_S = 600.0


@dataclass(frozen=True, slots=True)
class Size:
    """How many groups, items of each, and blows."""

    groups: int
    each: int
    blows: int


A_FEW, MANY = Size(20, 4, 6), Size(500, 3, 80)


def by_turns(prefix: str, size: Size) -> list[ing.StreamEpisodesRequest]:
    """The first item of every group, then the second of each."""
    told = [conversation(SEED + number, size.each) for number in range(size.groups)]
    return [
        stream_request(f"{prefix}-{number}", items[turn])
        for turn in range(size.each)
        for number, items in enumerate(told)
    ]


async def sent(client: Client, requests: Sequence[ing.StreamEpisodesRequest]) -> bool:
    """Whether all of it was acknowledged before the server died."""
    try:
        return len(await client.stream(*requests)) == len(requests)
    except grpc.aio.AioRpcError:
        return False


async def all_completed(client: Client, prefix: str, size: Size) -> None:
    """Every group holds its items, completed. Raises TimeoutError."""
    async with asyncio.timeout(DEADLINE_S):
        for number in range(size.groups):
            states: list[int] = []
            while states != [typ.ITEM_STATE_COMPLETED] * size.each:
                states = [item.state for item in await client.list_items(f"{prefix}-{number}")]
                assert typ.ITEM_STATE_PARKED not in states
                await asyncio.sleep(0.02)


async def struck(service: Service, spec: StoreSpec, blow: int) -> None:
    """Kill the process and start it again, or let it stand still until others have taken its groups."""
    if blow % 2 == 0:
        service.kill9()
        await service.start()
        return
    await pause_outside_a_transaction(service, spec)
    await asyncio.sleep(PAST_THE_LEASE_S)
    service.resume()


@pytest.mark.timeout(1_800)
@pytest.mark.parametrize(
    "size", [pytest.param(A_FEW, id="a few"), pytest.param(MANY, id="many", marks=pytest.mark.soak)]
)
async def test_each_group_is_as_though_nothing_had_happened(
    store_spec: StoreSpec, group: str, tmp_path: Path, size: Size
) -> None:
    rng = random.Random(SEED)
    calm, disturbed = f"{group}-calm", f"{group}-disturbed"
    async with AsyncExitStack() as stack:
        services, clients = await servers(stack, store_spec.settings | SHORT_LEASE, tmp_path, "abc")
        assert await sent(clients[0], by_turns(calm, size))
        await all_completed(clients[0], calm, size)
        requests = by_turns(disturbed, size)
        for blow in range(size.blows):
            victim = services[rng.randrange(len(services))]
            async with Client(services[blow % 3].address) as client:
                part = requests[blow * len(requests) // size.blows :][: len(requests) // size.blows + 1]
                sending = asyncio.create_task(sent(client, part))
                await asyncio.sleep(rng.random() * 0.2)
                await struck(victim, store_spec, blow)
                await sending
        async with Client(services[0].address) as client:
            assert await sent(client, requests)
            await all_completed(client, disturbed, size)
        assert [await service.terminate() for service in services] == [0, 0, 0]
    for number in range(size.groups):
        wanted, found = (
            await dumped(store_spec, f"{calm}-{number}"),
            await dumped(store_spec, f"{disturbed}-{number}"),
        )
        assert_sound(found)
        assert differences(comparable(found), comparable(wanted)) == "", f"group {number}"
