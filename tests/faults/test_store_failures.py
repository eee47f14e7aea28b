"""A store that fails under the service: callers are told UNAVAILABLE, and everything completes afterwards."""

import asyncio
import resource
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest

from kgsvc.v1 import ingestion_pb2 as ing
from kgsvc.v1 import types_pb2 as typ
from scripts.neo4j_server import Neo4jServer
from tests.faults.conversations import conversation
from tests.faults.feeder import Feeder, Trigger, fed, fed_to_the_end
from tests.support.client import CALL_S, Client, completed, episode, granted
from tests.support.graphs import assert_sound
from tests.support.neo4j_fixture import NEO4J_LABELS, Address, own_server
from tests.support.service import Service
from tests.support.store_spec import StoreSpec, dumped

EPISODES = 200
AT_MS = 1_717_000_000_000
DEADLINE_S = 120.0


@pytest.fixture(params=NEO4J_LABELS[:1])
def own_neo4j(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Neo4jServer]:
    """The newest Neo4j, which the test may stop and start; integration/neo4j kills each."""
    with own_server(request.param, tmp_path / "neo4j") as server:
        yield server


@pytest.mark.timeout(900)  # starting it twice takes half a minute, on a busy machine minutes
async def test_a_crash_of_neo4j_under_load_loses_nothing(
    own_neo4j: Neo4jServer, group: str, tmp_path: Path
) -> None:
    spec = StoreSpec("neo4j", neo4j=Address(own_neo4j.uri, own_neo4j.password))
    feeder = Feeder(group, conversation(11, EPISODES))
    service = Service(spec.settings | {"queue.lease_s": "2"}, tmp_path)
    async with service, Client(service.address) as client:
        async with fed(feeder, client, feeder.next_items(EPISODES), Trigger("completed", 20)):
            await asyncio.to_thread(own_neo4j.stop, kill=True)
        assert await refusal(client, group) == grpc.StatusCode.UNAVAILABLE
        with pytest.raises(grpc.aio.AioRpcError) as failed:
            await client.search(group, "Who works at Globex?")
        assert failed.value.code() == grpc.StatusCode.UNAVAILABLE
        assert service.running
        await asyncio.to_thread(own_neo4j.start)
        await until_accepted(client, group)
        await fed_to_the_end(feeder, client)
        listed = await client.list_items(group)
        assert await service.terminate() == 0
    assert sorted(item.uuid for item in listed) == sorted([*feeder.items, "probe"])
    assert {item.state for item in listed} == {typ.ITEM_STATE_COMPLETED}
    assert_sound(await dumped(spec, group))


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="needs prlimit (Linux)")
async def test_a_full_disk_refuses_and_loses_nothing(
    embedded_spec: StoreSpec, group: str, tmp_path: Path
) -> None:
    service = Service(embedded_spec.settings, tmp_path)
    async with service, Client(service.address) as client:
        await client.ingest(group, [note(0)])
        before = resource.prlimit(service.pid, resource.RLIMIT_FSIZE)  # files may not grow: EFBIG for ENOSPC
        resource.prlimit(service.pid, resource.RLIMIT_FSIZE, (0, before[1]))
        assert await refusal(client, group) == grpc.StatusCode.UNAVAILABLE
        assert [item.uuid for item in await client.get_episodes(group)] == ["note-0"]
        resource.prlimit(service.pid, resource.RLIMIT_FSIZE, before)
        await until_accepted(client, group)
        completed(await client.ingest(group, [note(1)]))
        assert await service.terminate() == 0
    dump = await dumped(embedded_spec, group)
    assert {item.uuid for item in dump.episodes} == {"note-0", "note-1", "probe"}
    assert_sound(dump)


@pytest.mark.parametrize("case", ["not a database", f"wrong password for {NEO4J_LABELS[0]}"])
async def test_a_store_that_cannot_be_used_ends_the_start_with_one_sentence(
    case: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    service = Service(unusable(case, tmp_path, request), tmp_path)
    service.spawn()
    assert await service.ended() == 1
    (line,) = [line for line in service.errors.splitlines() if not line.startswith("{")]
    assert line.startswith("Error: ")
    assert "Traceback" not in service.errors


def unusable(case: str, folder: Path, request: pytest.FixtureRequest) -> dict[str, str]:
    """The settings of a store that cannot be used."""
    if case == "not a database":
        (folder / "data").mkdir()
        (folder / "data" / "kgsvc.db").write_text("not a database, but long enough to be looked at " * 100)
        return StoreSpec("embedded", data_dir=folder / "data").settings
    address: Address = request.getfixturevalue("neo4j_servers")(NEO4J_LABELS[0])
    return StoreSpec("neo4j", neo4j=Address(address.uri, "wrong")).settings


def note(number: int, uuid: str | None = None) -> typ.EpisodeItem:
    """Any episode."""
    return episode(f"Alice Moreau met Bruno Keller {number} times.", AT_MS + number, uuid or f"note-{number}")


async def refusal(client: Client, group: str) -> grpc.StatusCode:
    """The status with which the service refuses an item while its store is gone."""
    request = ing.AddEpisodesRequest(input=ing.AddEpisodesInput(group_id=group, items=[note(9, "probe")]))
    with pytest.raises(grpc.aio.AioRpcError) as failed:
        await client.ingestion.AddEpisodes(request, timeout=CALL_S)
    return failed.value.code()


async def until_accepted(client: Client, group: str) -> None:
    """Send an item again and again, as clients do, until it is accepted; what comes between passes."""
    request = ing.AddEpisodesRequest(input=ing.AddEpisodesInput(group_id=group, items=[note(9, "probe")]))
    statuses: set[grpc.StatusCode] = set()
    async with asyncio.timeout(DEADLINE_S):
        while grpc.StatusCode.OK not in statuses:
            try:
                granted(await client.ingestion.AddEpisodes(request, timeout=CALL_S))
                statuses.add(grpc.StatusCode.OK)
            except grpc.aio.AioRpcError as error:
                statuses.add(error.code())
                await asyncio.sleep(0.2)
    assert statuses <= {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED} | {grpc.StatusCode.OK}
