"""SetModes: a paused group, the service read-only, models off; over a restart, and in another process."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest

from kgsvc.api.modes import REFUSED
from kgsvc.v1 import admin_pb2 as adm
from kgsvc.v1 import retrieval_pb2 as ret
from kgsvc.v1 import types_pb2 as typ
from tests.acceptance.refusals import refused
from tests.acceptance.saying import FEB, HELD, JAN, MAR, fact, held_up, telling
from tests.acceptance.shared import scripted
from tests.support.client import DONE_S, Client, completed, status_lost, stream_request
from tests.support.contract import METHODS, request_of
from tests.support.requests import inputs
from tests.support.scripted_openai import ScriptedOpenAI
from tests.support.service import Service
from tests.support.store_spec import StoreSpec

WORKS = fact("WORKS_AT", "Alice", "Acme")
LIKES = fact("LIKES", "Al", "chess")
LOOK_S = 0.05
WAITING = (typ.ITEM_STATE_ACCEPTED, 0)


@asynccontextmanager
async def serving(spec: StoreSpec, model: ScriptedOpenAI, folder: Path) -> AsyncIterator[Service]:
    """A server of the test's own, without a mode at its end."""
    async with Service(scripted(model) | spec.settings, folder) as service:
        try:
            yield service
        finally:
            model.heal()
            if not service.running:
                await service.start()
            async with Client(service.address) as client:
                await client.ask("SetModes", read_only=False, model_off=False)


async def restarted(service: Service) -> None:
    """The same service again after a crash."""
    service.kill9()
    await service.start()


async def until(client: Client, holds: Callable[[adm.ServiceModes], bool]) -> None:
    """Return once the process that the client talks to knows such modes."""
    async with asyncio.timeout(DONE_S):
        while not holds((await client.ask("Healthcheck")).modes):  # noqa: ASYNC110  another process's event
            await asyncio.sleep(LOOK_S)


async def code_of(call: Any) -> tuple[grpc.StatusCode, str, str]:
    """How a call that must fail ends: the status, our code, the sentence."""
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await call
    return ended(raised.value)


def ended(error: grpc.aio.AioRpcError) -> tuple[grpc.StatusCode, str, str]:
    """The status, our code, the sentence."""
    trailers = dict(error.trailing_metadata() or ())
    return error.code(), str(trailers["kgsvc-error-code"]), error.details() or ""


async def code_of_stream(client: Client, request: Any) -> tuple[grpc.StatusCode, str, str]:
    """The same of a stream that is refused at its beginning, as soon as gRPC's client has not lost how."""
    while True:
        with pytest.raises(grpc.aio.AioRpcError) as raised:
            await client.stream(request)
        if not status_lost(raised.value):
            return ended(raised.value)


async def states(client: Client, receipt_id: str) -> tuple[str, set[tuple[Any, int]]]:
    """Why the items of a receipt wait, and their states and attempts."""
    receipt = await client.receipt(receipt_id)
    return receipt.wait_reason, {(item.state, item.attempts) for item in receipt.items}


async def listed(client: Client, group: str) -> adm.GroupSummary:
    """The group as ListGroups shows it."""
    pages = client.pages("ListGroups", page_size=1_000)
    found: list[adm.GroupSummary] = [each async for page in pages for each in page.groups]
    return next(each for each in found if each.group_id == group)


async def test_a_paused_group_waits_over_a_restart(
    alone: StoreSpec, model: ScriptedOpenAI, group: str, tmp_path: Path
) -> None:
    other = f"{group}-other"
    async with serving(alone, model, tmp_path) as service:
        async with Client(service.address) as client:
            paused = await client.ask("SetModes", group_id=group, paused=True)
            assert paused.group.HasField("paused_since")
            accepted = await client.add_episodes(group, [telling(JAN, WORKS, uuid="a")])
            await client.ingest(other, [telling(JAN, LIKES, uuid="b")])  # workers do look
            assert await states(client, accepted.receipt_id) == ("group_paused", {WAITING})
        await restarted(service)
        async with Client(service.address) as client:
            await client.ingest(other, [telling(FEB, LIKES, uuid="c")])
            assert await states(client, accepted.receipt_id) == ("group_paused", {WAITING})
            assert (await client.ask("ListItems", group_id=group)).wait_reason == "group_paused"
            shown = await listed(client, group)
            assert (shown.paused_since, shown.waiting) == (paused.group.paused_since, 1)
            assert not (await listed(client, other)).HasField("paused_since")
            assert await client.search(group, "Alice") == []
            resumed = await client.ask("SetModes", group_id=group, paused=False)
            assert not resumed.group.HasField("paused_since")
            completed(await client.wait_receipt(accepted.receipt_id))
            assert not (await client.receipt(accepted.receipt_id)).wait_reason
            assert [each.fact for each in await client.search(group, "Alice")] == ["Alice works at Acme"]


async def test_what_runs_when_a_group_is_paused_is_finished(
    alone: StoreSpec, model: ScriptedOpenAI, group: str, tmp_path: Path
) -> None:
    async with serving(alone, model, tmp_path) as service, Client(service.address) as client:
        begun = await held_up(client, group, model, telling(JAN, HELD, uuid="begun"))
        await client.ask("SetModes", group_id=group, paused=True)
        later = await client.add_episodes(group, [telling(FEB, WORKS, uuid="later")])
        model.heal()
        completed(await client.wait_receipt(begun.receipt_id))
        assert await states(client, later.receipt_id) == ("group_paused", {WAITING})
        watch = client.watch(later.receipt_id)
        assert (await anext(watch)).wait_reason == "group_paused"
        await client.ask("SetModes", group_id=group, paused=False)
        told = [output async for output in watch]
        assert told[-1].done
        assert not any(output.wait_reason for output in told)


async def test_a_paused_group_is_deleted_like_any_other(
    alone: StoreSpec, model: ScriptedOpenAI, group: str, tmp_path: Path
) -> None:
    async with serving(alone, model, tmp_path) as service, Client(service.address) as client:
        await client.ask("SetModes", group_id=group, paused=True)
        await client.add_episodes(group, [telling(JAN, WORKS, uuid="a"), telling(FEB, LIKES, uuid="b")])
        await client.ask("DeleteEpisode", uuid="a", group_id=group)
        assert [item.uuid for item in await client.list_items(group)] == ["b"]
        await client.delete_group(group)
        await client.ingest(group, [telling(JAN, WORKS, uuid="c")])  # the pause went with the group


async def test_read_only_refuses_writes_in_every_process_and_erases_and_reads(
    alone: StoreSpec, model: ScriptedOpenAI, group: str, tmp_path: Path
) -> None:
    beside = scripted(model) | alone.settings
    async with (
        serving(alone, model, tmp_path) as service,
        Service(beside, tmp_path, "beside") as second,
        Client(service.address) as client,
        Client(second.address) as other,
    ):
        await client.ingest(group, [telling(JAN, WORKS, uuid="a"), telling(FEB, LIKES, uuid="b")])
        await client.ask("SetModes", group_id=group, paused=True)
        waiting = await client.add_episodes(group, [telling(MAR, fact("KNOWS", "Alice", "Al"), uuid="c")])
        now = (await client.ask("SetModes", read_only=True)).modes
        assert now.HasField("read_only_since")
        assert not now.HasField("model_off_since")
        await until(other, lambda modes: modes == now)
        for each in (client, other):
            for name in sorted(REFUSED - {"StreamEpisodes", "StreamDocuments", "ImportGroup"}):
                status, code, sentence = await code_of(each.answer(name, **inputs(group)[name]))
                assert (status, code) == (grpc.StatusCode.FAILED_PRECONDITION, "READ_ONLY"), name
                assert "read-only" in sentence
            status, code, _ = await code_of_stream(each, stream_request(group, telling(JAN, LIKES)))
            assert (status, code) == (grpc.StatusCode.FAILED_PRECONDITION, "READ_ONLY")
        await client.ask("SetModes", group_id=group, paused=False)
        assert await states(other, waiting.receipt_id) == ("read_only", {WAITING})
        assert {each.fact for each in await other.search(group, "Alice Al")} == {
            "Alice works at Acme",
            "Al likes chess",
        }
        erased = await other.ask("DeleteEpisode", uuid="a", group_id=group, cascade=True)
        assert erased.facts_removed == 1
        assert [each.fact for each in await other.search(group, "Alice Al")] == ["Al likes chess"]
        await restarted(service)
        async with Client(service.address) as again:
            assert (await again.ask("Healthcheck")).modes == now
            await again.ask("SetModes", read_only=False)
        completed(await other.wait_receipt(waiting.receipt_id))
        await until(other, lambda modes: not modes.ListFields())
        await other.ingest(group, [telling(JAN, WORKS, uuid="d")])


async def test_a_stream_that_is_open_takes_nothing_more(
    alone: StoreSpec, model: ScriptedOpenAI, group: str, tmp_path: Path
) -> None:
    async with serving(alone, model, tmp_path) as service, Client(service.address) as client:
        switched = asyncio.Event()

        async def items() -> AsyncIterator[Any]:
            yield stream_request(group, telling(JAN, WORKS, uuid="a"))
            await switched.wait()
            yield stream_request(group, telling(FEB, LIKES, uuid="b"))
            await asyncio.Event().wait()  # what is refused while more is sent may be lost by gRPC's client

        call: Any = client.ingestion.StreamEpisodes(items(), timeout=DONE_S)
        assert (await call.read()).uuid == "a"
        await client.ask("SetModes", read_only=True)
        switched.set()
        status, code, _ = await code_of(call.read())
        assert (status, code) == (grpc.StatusCode.FAILED_PRECONDITION, "READ_ONLY")
        assert [item.uuid for item in await client.list_items(group)] == ["a"]


async def test_with_models_off_items_wait_without_an_attempt_and_searches_go_by_words(
    alone: StoreSpec, model: ScriptedOpenAI, group: str, tmp_path: Path
) -> None:
    asked_before = len(model.chats)
    async with serving(alone, model, tmp_path) as service:
        async with Client(service.address) as client:
            await client.ingest(group, [telling(JAN, WORKS, uuid="a")])
            begun = await held_up(client, group, model, telling(FEB, HELD, uuid="begun"))
            await client.ask("SetModes", model_off=True)
            later = await client.add_episodes(group, [telling(MAR, LIKES, uuid="later")])
            calls = len(model.requests)
            model.heal()
            await put_back(client, begun.receipt_id)
            found = await client.ask(
                "SearchGraph",
                group_ids=[group],
                query="Alice",
                recipe=ret.SEARCH_RECIPE_EDGE_HYBRID_SEARCH_RRF,
            )
            assert [hit.fact.fact for hit in found.facts] == ["Alice works at Acme"]
            edited = client.answer("UpdateFact", uuid=found.facts[0].fact.uuid, fact="Alice leads Acme")
            status, code, _ = await code_of(edited)
            assert (status, code) == (grpc.StatusCode.UNAVAILABLE, "EMBEDDER_UNAVAILABLE")
        await restarted(service)
        async with Client(service.address) as client:
            for accepted in (begun, later):
                assert await states(client, accepted.receipt_id) == ("model_off", {WAITING})
            assert len(model.requests) == calls, "a model was asked"
            await client.ask("SetModes", model_off=False)
            for accepted in (begun, later):
                items = completed(await client.wait_receipt(accepted.receipt_id))
                assert {item.attempts for item in items.values()} == {0}
        told = model.chats[asked_before:]
        asked = [each for each in told if each.resolution is None and "Held" in each.text]
        assert len(asked) == 1, "what the model had answered is not asked again"


async def put_back(client: Client, receipt_id: str) -> None:
    """Return once the only item of a receipt, which was being worked on, is ACCEPTED again."""
    first: typ.ReceiptItem | None = None
    async for output in client.watch(receipt_id):
        for item in output.items:
            first = first or item
            if item.state == typ.ITEM_STATE_ACCEPTED and item.updated_at != first.updated_at:
                return


async def test_without_models_items_are_done_while_models_are_off(
    alone: StoreSpec, model: ScriptedOpenAI, group: str, tmp_path: Path
) -> None:
    offline = {"models.extractor": "offline", "models.embedder": "offline"}
    async with serving(alone, model, tmp_path) as service, Client(service.address) as client:
        await client.ask("SetModes", model_off=True)
        await service.stop()
        await service.start(offline)
        async with Client(service.address) as again:
            assert (await again.ask("Healthcheck")).modes.HasField("model_off_since")
            await again.ingest(group, [telling(JAN, WORKS, uuid="a")])


@pytest.mark.parametrize(
    ("given", "fields"),
    [
        ({}, ("input",)),
        ({"paused": True}, ("input.group_id",)),
        ({"group_id": "g"}, ("input.paused",)),
        ({"group_id": "g", "paused": True, "read_only": True}, ("input",)),
        ({"group_id": "", "paused": False}, ("input.group_id",)),
    ],
)
async def test_what_says_too_little_or_too_much_is_refused(
    given: dict[str, Any], fields: tuple[str, ...], client: Client
) -> None:
    refusal = await refused(client, "SetModes", request_of("SetModes", **given))
    assert (refusal.code, refusal.fields) == ("INVALID_ARGUMENT", fields)
    assert not (await client.ask("Healthcheck")).modes.ListFields()


def test_all_that_writes_is_refused_but_what_erases() -> None:
    reads = ("Get", "List", "Search", "Watch", "Healthcheck", "Ask", "Export")
    erases = ("Delete", "ClearAll", "SetModes")
    assert {name for name in METHODS if not name.startswith((*reads, *erases))} == REFUSED
