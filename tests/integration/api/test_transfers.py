"""ImportGroup and ExportGroup on a server in this process: quotas, ends of every kind, what is counted."""

import asyncio
from pathlib import Path
from typing import Any

import grpc
import pytest

from kgsvc.access.quotas import QuotaSettings
from kgsvc.api.server import ServerSettings
from kgsvc.commands.transfer.uploads import ReceivedFile, Uploads
from kgsvc.domain.limits import Counter, Limits
from kgsvc.v1 import envelope_pb2
from kgsvc.v1.transfer_pb2 import ImportGroupRequest
from tests.support.client import CALL_S, Client, episode
from tests.support.contract import request_of
from tests.support.moving import exported, far, imported, rest
from tests.support.served import Serve, Stack

TEXT = "x" * 100


async def a_file(client: Client) -> bytes:
    """Of a group with one episode, which is deleted."""
    await client.add_episodes("g", [episode(TEXT, 1, uuid="e")])
    file = await exported(client, "g")
    await client.delete_group("g")
    return file


async def ended(call: Any) -> grpc.StatusCode:
    """The status that a stream ends with."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await rest(call)
    code: grpc.StatusCode = caught.value.code()
    return code


async def test_bodies_count_for_quotas_and_are_given_back(serve: Serve) -> None:
    async with serve() as stack:
        file = await a_file(stack.client)
    for most, fits in ((len(TEXT) - 1, False), (len(TEXT), True)):
        async with serve(quotas=QuotaSettings(group_bytes=most)) as stack:
            if not fits:
                with pytest.raises(grpc.aio.AioRpcError) as caught:
                    await imported(stack.client, "g", file, upload_id="mine")
                assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
                assert "quotas.group_bytes" in (caught.value.details() or "")
                continue
            assert (await imported(stack.client, "g", file))[-1].status == envelope_pb2.STATUS_OK
            counter = Counter("group g", "bytes", 0)
            assert await stack.store.used([counter]) == {counter: len(TEXT)}
            with pytest.raises(grpc.aio.AioRpcError):
                await stack.client.add_episodes("g", [episode("y", 1)])
            await stack.client.admin.DeleteEpisode(
                request_of("DeleteEpisode", uuid="e", group_id="g"), timeout=CALL_S
            )
            assert await stack.store.used([counter]) == {counter: 0}


async def test_a_file_that_is_too_large_is_refused(serve: Serve, tmp_path: Path) -> None:
    async with serve(uploads=Uploads(tmp_path / "uploads", 1_000)) as stack:
        *_, last = await imported(stack.client, "g", b" " * 1_001, upload_id="mine")
        assert (last.status, last.error.error_code) == (envelope_pb2.STATUS_ERROR, "LIMIT_EXCEEDED")


async def test_a_message_that_is_too_large_is_refused(stack: Stack) -> None:
    most = stack.core.limits.payload_bytes
    parts = iter([ImportGroupRequest(group_id="g", data=b" " * most)])
    (answer,) = [each async for each in stack.client.admin.ImportGroup(parts, timeout=CALL_S)]
    assert answer.error.error_code == "LIMIT_EXCEEDED"


async def test_two_calls_do_not_send_one_file(stack: Stack) -> None:
    call: Any = stack.client.admin.ImportGroup(timeout=CALL_S)
    await call.write(ImportGroupRequest(group_id="g", upload_id="mine"))
    await call.read()
    first = ImportGroupRequest(group_id="g", upload_id="mine")
    other = stack.client.admin.ImportGroup(iter([first]), timeout=CALL_S)
    assert await ended(other) is grpc.StatusCode.RESOURCE_EXHAUSTED
    await call.done_writing()
    assert [each.status for each in await rest(call)] == [envelope_pb2.STATUS_ACCEPTED]
    assert await far(stack.client, "g", "mine") == 0


async def test_streams_end_after_their_longest_time(serve: Serve) -> None:
    async with serve(settings=ServerSettings(watch_deadline_s=0.1)) as stack:
        call: Any = stack.client.admin.ImportGroup(timeout=CALL_S)
        await call.write(ImportGroupRequest(group_id="g", upload_id="mine", data=b"123"))
        assert await ended(call) is grpc.StatusCode.DEADLINE_EXCEEDED
    async with serve() as stack:
        assert await far(stack.client, "g", "mine") == 3


async def test_streams_end_with_the_server_and_keep_what_came(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    uploads = Uploads(tmp_path / "uploads")
    loop, came, add = asyncio.get_running_loop(), asyncio.Event(), ReceivedFile.add

    def added(file: ReceivedFile, offset: int, data: bytes) -> None:
        add(file, offset, data)
        loop.call_soon_threadsafe(came.set)

    monkeypatch.setattr(ReceivedFile, "add", added)
    async with serve(uploads=uploads) as stack:
        call: Any = stack.client.admin.ImportGroup(timeout=CALL_S)
        await call.write(ImportGroupRequest(group_id="g", upload_id="mine", data=b"123"))
        await asyncio.wait_for(came.wait(), CALL_S)
        stopping = asyncio.create_task(stack.server.stop())
        assert await ended(call) is grpc.StatusCode.UNAVAILABLE
        await stopping
    async with serve(uploads=uploads) as stack:
        assert await far(stack.client, "g", "mine") == 3


async def test_what_a_refused_caller_sent_is_not_kept(serve: Serve, tmp_path: Path) -> None:
    folder = tmp_path / "uploads"
    async with serve(uploads=Uploads(folder)) as stack:
        assert (await imported(stack.client, "g", b"{}\n"))[-1].status == envelope_pb2.STATUS_ERROR
        assert list(folder.iterdir()) == []


async def test_bytes_are_counted(serve: Serve) -> None:
    async with serve(limits=Limits()) as stack:
        file = await a_file(stack.client)
        await imported(stack.client, "g", file)
        registry = stack.core.metrics.registry
        for direction in ("export", "import"):
            found = registry.get_sample_value("kgsvc_transferred_bytes_total", {"direction": direction})
            assert found == len(file)
