"""Quotas hold over processes and crashes, and whoever exceeds them hinders nobody else."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc
import pytest
import pytest_asyncio
from google.rpc import error_details_pb2, status_pb2

from kgsvc.domain.limits import Counter
from kgsvc.v1 import types_pb2 as typ
from tests.acceptance.access import HOUR_MS, Guarded, guarded
from tests.acceptance.asking import ask, will_say
from tests.acceptance.saying import JAN, fact, telling
from tests.acceptance.shared import OFFLINE, scripted
from tests.support.client import CALL_S, Client, episode
from tests.support.contract import request_of
from tests.support.scripted_openai import ScriptedOpenAI, hanging, stalling
from tests.support.service import Service
from tests.support.store_spec import StoreSpec, opened

A_DAY = 60
TOKEN_ITEMS = 40
ITEMS = "quotas.group_items_a_day"


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def tenants(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Guarded]:
    """A server with tokens that may call ten times a second."""
    limits = {"quotas__token_calls_a_second": "10", "quotas__token_items_a_day": str(TOKEN_ITEMS)}
    async with guarded(tmp_path_factory.mktemp("quotas"), "token", **limits) as made:
        for name in ("noisy", "quiet", "wide"):
            await made.add(name, {f"{name}/": "write"}, HOUR_MS)
            await made.taken_over(name)
        yield made


@dataclass(frozen=True)
class Refusal:
    """What a refused call was told."""

    code: grpc.StatusCode
    reason: str
    limit: str
    delay_ms: int


def refusal(error: grpc.aio.AioRpcError) -> Refusal:
    """Read from the details of the status."""
    trailers: Any = error.trailing_metadata()
    status = status_pb2.Status.FromString(dict(trailers)["grpc-status-details-bin"])
    info, retry = error_details_pb2.ErrorInfo(), error_details_pb2.RetryInfo()
    for detail in status.details:
        detail.Unpack(info) or detail.Unpack(retry)
    return Refusal(error.code(), info.reason, info.metadata["limit"], retry.retry_delay.ToMilliseconds())


@dataclass
class Sender:
    """Sends items until it is refused."""

    client: Client
    group: str
    name: str
    accepted: list[str] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)

    async def run(self, calls: int, size: int) -> None:
        """So many calls of so many items."""
        for call in range(calls):
            uuids = [f"{self.name}-{call}-{n}" for n in range(size)]
            try:
                await self.client.add_episodes(self.group, [episode(uuid, JAN, uuid) for uuid in uuids])
            except grpc.aio.AioRpcError as error:
                self.refusals.append(refusal(error))
            else:
                self.accepted += uuids


@asynccontextmanager
async def two_servers(
    spec: StoreSpec, folder: Path, settings: dict[str, str]
) -> AsyncIterator[tuple[Service, Service]]:
    """On one store."""
    given = {**spec.settings, **OFFLINE, **settings}
    async with Service(given, folder, "first") as first, Service(given, folder, "second") as second:
        yield first, second


async def test_a_limit_of_items_holds_over_two_processes_and_a_crash(
    alone: StoreSpec, group: str, tmp_path: Path
) -> None:
    async with two_servers(alone, tmp_path, {ITEMS: str(A_DAY)}) as servers:
        async with Client(servers[0].address) as one, Client(servers[1].address) as two:
            senders = [Sender(client, group, f"s{n}") for n, client in enumerate([one, two] * 3)]
            await asyncio.gather(*(sender.run(12, 2) for sender in senders))
            accepted = [uuid for sender in senders for uuid in sender.accepted]
            refusals = {each for sender in senders for each in sender.refusals}
            assert len(accepted) == A_DAY
            assert {(each.code, each.reason, each.limit) for each in refusals} == {
                (grpc.StatusCode.RESOURCE_EXHAUSTED, "QUOTA_EXCEEDED", ITEMS)
            }
            assert all(0 < each.delay_ms <= 24 * HOUR_MS for each in refusals)
            repeated = await two.add_episodes(group, [episode(accepted[0], JAN, accepted[0])])
            assert repeated.items[0].duplicate
            other = Sender(one, f"{group}-other", "o")
            await other.run(1, A_DAY)
            assert len(other.accepted) == A_DAY
        servers[0].kill9()
        await servers[0].start()
        async with Client(servers[0].address) as again:
            late = Sender(again, group, "late")
            await late.run(1, 1)
            assert [each.limit for each in late.refusals] == [ITEMS]
            assert len(await again.list_items(group)) == A_DAY


async def test_a_stream_ends_at_the_limit_and_keeps_what_it_acknowledged(
    alone: StoreSpec, group: str, tmp_path: Path
) -> None:
    settings = {**alone.settings, **OFFLINE, ITEMS: "5"}
    async with Service(settings, tmp_path) as service, Client(service.address) as client:
        await client.stream_episodes(group, [episode(f"e{n}", JAN, f"e{n}") for n in range(5)])
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await client.stream_episodes(group, [episode(f"e{n}", JAN, f"e{n}") for n in range(6)])
        assert refusal(caught.value).limit == ITEMS
        assert len(await client.list_items(group)) == 5


async def test_model_tokens_are_set_aside_and_then_settled(
    alone: StoreSpec, group: str, tmp_path: Path, patient_model: ScriptedOpenAI
) -> None:
    name = "quotas.group_model_tokens_a_day"
    settings = {**scripted(patient_model), **alone.settings, name: "30000", "quotas.reserved_tokens": "20000"}
    async with Service(settings, tmp_path) as service, Client(service.address) as client:
        patient_model.fail(hanging(), match="Bob", times=None)
        first = await client.add_episodes(group, [telling(JAN, fact("KNOWS", "Ann", "Bob"), uuid="a")])
        second = Sender(client, group, "second")
        await second.run(1, 1)
        assert [each.limit for each in second.refusals] == [name]
        patient_model.heal()
        await client.wait_receipt(first.receipt_id)
        (item,) = (await client.receipt(first.receipt_id)).items
        assert item.state == typ.ITEM_STATE_COMPLETED
        receipt = await client.receipt(first.receipt_id)
        spent = receipt.usage.prompt_tokens + receipt.usage.completion_tokens
        assert 0 < spent < 9_000
        async with opened(alone) as store:
            day = int(item.updated_at.ToMilliseconds() // (24 * HOUR_MS))
            counter = Counter(f"group {group}", "model_tokens", day)
            assert await store.used([counter]) == {counter: spent}
        await second.run(1, 1)
        assert len(second.accepted) == 1


async def test_who_asks_pays_for_the_answer(
    alone: StoreSpec, group: str, tmp_path: Path, patient_model: ScriptedOpenAI
) -> None:
    """What an answer cost; of one that was cancelled what was set aside for it."""
    name, aside = "quotas.group_model_tokens_a_day", 20_000
    settings = {**scripted(patient_model), **alone.settings, name: "40000"}
    settings["quotas.reserved_tokens"] = str(aside)
    async with (
        Service(settings, tmp_path) as service,
        Client(service.address) as client,
        opened(alone) as store,
    ):

        async def used() -> int:
            day = time.time_ns() // (24 * HOUR_MS * 1_000_000)
            counters = [Counter(f"group {group}", "model_tokens", each) for each in (day - 1, day)]
            return sum((await store.used(counters)).values())

        await client.ingest(group, [telling(JAN, fact("KNOWS", "Ann", "Bob"), uuid="a")])
        before = await used()
        will_say(patient_model, "Ann knows Bob [1].")
        _, answer = await ask(client, group, "Whom does Ann know?")
        cost = answer.usage.prompt_tokens + answer.usage.completion_tokens
        assert cost > 0
        assert await used() == before + cost
        will_say(patient_model, stalling("Ann knows Bob, and has known Bob for a very long time."))
        request = request_of("Ask", group_ids=[group], question="Whom does Ann know?")
        left, call = patient_model.left, client.retrieval.Ask(request, timeout=CALL_S)
        await call.read()
        call.cancel()
        async with asyncio.timeout(CALL_S):
            while patient_model.left == left:  # noqa: ASYNC110  the server's event
                await asyncio.sleep(0.01)
        assert aside < await used() - before - cost < aside + 2_000
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await ask(client, group, "Whom does Ann know?")
        assert refusal(caught.value).limit == name


async def test_deleting_makes_room_for_bytes(alone: StoreSpec, group: str, tmp_path: Path) -> None:
    name = "quotas.group_bytes"
    settings = {**alone.settings, **OFFLINE, name: "1000"}
    async with Service(settings, tmp_path) as service, Client(service.address) as client:
        await client.ingest(group, [episode("x" * 900, JAN, "big")])
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await client.add_episodes(group, [episode("y" * 101, JAN, "more")])
        assert refusal(caught.value).limit == name
        await client.ask("DeleteEpisode", group_id=group, uuid="big", cascade=True)
        await client.ingest(group, [episode("y" * 1_000, JAN, "more")])


async def test_a_noisy_tenant_is_refused_and_its_neighbour_is_not(tenants: Guarded) -> None:
    async with tenants.client("noisy") as noisy, tenants.client("quiet") as quiet:
        loud = [Sender(noisy, "noisy/one", f"n{n}") for n in range(10)]
        making = asyncio.gather(*(sender.run(20, 3) for sender in loud))
        calm = Sender(quiet, "quiet/one", "q")
        await calm.run(8, 5)
        await making
    refusals = [each for sender in loud for each in sender.refusals]
    assert "quotas.token_calls_a_second" in {each.limit for each in refusals}
    assert len(refusals) >= 200 - TOKEN_ITEMS // 3
    assert {each.code for each in refusals} == {grpc.StatusCode.RESOURCE_EXHAUSTED}
    assert (calm.refusals, len(calm.accepted)) == ([], 40)


async def test_items_of_a_token_count_over_its_groups(tenants: Guarded) -> None:
    async with tenants.client("wide") as wide:
        await Sender(wide, "wide/a", "a").run(1, TOKEN_ITEMS - 1)
        second = Sender(wide, "wide/b", "b")
        await second.run(1, 2)
        assert [each.limit for each in second.refusals] == ["quotas.token_items_a_day"]
        await second.run(1, 1)
        assert len(second.accepted) == 1
