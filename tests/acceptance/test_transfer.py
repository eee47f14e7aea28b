"""ExportGroup and ImportGroup: whole groups by calls, whatever breaks on the way and whoever sends what."""

import asyncio
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import grpc
import httpx
import pytest
import pytest_asyncio

from kgsvc.stores.embedded import EmbeddedStore
from kgsvc.v1 import envelope_pb2
from kgsvc.v1.transfer_pb2 import ImportGroupRequest
from tests.acceptance.refusals import AS_STATUS
from tests.acceptance.saying import FEB, JAN, fact, telling
from tests.support.client import CALL_S, DONE_S, Client, completed, granted
from tests.support.contract import request_of
from tests.support.http_calls import as_json, called
from tests.support.moving import exported, far, imported, joined, pieces, rest
from tests.support.service import Service
from tests.unit.commands.test_transfer_files import BYTES, GROUP, HOSTILE, put, told, written

SETTINGS = {"server.http_listen": "127.0.0.1:0"}
OK, ERROR = envelope_pb2.STATUS_OK, envelope_pb2.STATUS_ERROR


async def filled(client: Client, group: str) -> None:
    """A group with some facts, one of which ended."""
    items = [telling(JAN, fact("WORKS_AT", "Alice", "Acme"), uuid="one")]
    completed(await client.ingest(group, items))
    completed(await client.ingest(group, [telling(FEB, fact("LIKES", "Bob", "chess"), uuid="two")]))
    await client.ask("PutOntology", group_id=group, yaml="entity_types: [{name: Task, description: work}]")


def rows_of(file: bytes) -> list[Any]:
    """The rows of a file without what another store has otherwise."""
    found = [json.loads(line) for line in file.splitlines()]
    for row in found:
        row.get("item", {}).pop("sequence", None)
    for name in ("epoch", "rev", "exported_ms", "last_ms"):
        del found[0][name]
    return found[:-1]


async def test_a_group_comes_back_as_it_was(client: Client, group: str) -> None:
    await filled(client, group)
    before = await client.search(group, "Alice Acme chess")
    file = await exported(client, group)
    assert (await client.delete_group(group)).success
    *_, last = map(granted, await imported(client, group, file, piece=1_000))
    assert (last.status, last.received_bytes) == (OK, len(file))
    assert last.written_lines == last.checked_lines == len(file.splitlines())
    assert last.rows == {"ontology": 1, "entity": 4, "episode": 2, "receipt": 2, "fact": 2}
    assert rows_of(await exported(client, group)) == rows_of(file)
    assert await client.search(group, "Alice Acme chess") == before
    assert (await client.ask("GetOntology", group_id=group)).own


async def test_vectors_are_left_out_on_request(client: Client, group: str) -> None:
    await filled(client, group)
    assert b'"vector"' in await exported(client, group)
    assert b'"vector"' not in await exported(client, group, without_vectors=True)


async def test_an_export_goes_on_behind_every_message(client: Client, group: str) -> None:
    await filled(client, group)
    whole = await pieces(client, group)
    file = joined(whole)
    assert [each.offset for each in whole] == [
        len(joined(whole[: number + 1])) for number in range(len(whole))
    ]
    for number, each in enumerate(whole):
        others = await pieces(client, group, cursor=each.cursor)
        assert joined(whole[: number + 1]) + joined(others) == file
        assert others[-1].last


async def test_an_export_of_a_group_that_changed_begins_anew(client: Client, group: str) -> None:
    await filled(client, group)
    first, *_ = await pieces(client, group)
    await client.ask("AddEntityNode", uuid="late", group_id=group, name="Late")
    asked = request_of("ExportGroup", group_id=group, cursor=first.cursor)
    (answer,) = [each async for each in client.admin.ExportGroup(asked, timeout=CALL_S)]
    assert (answer.status, answer.error.error_code) == (ERROR, "CONFLICT")
    assert "changed while it was exported" in answer.error.message


@pytest.mark.parametrize("cursor", ["WzAsMF0=", "never", "WyJleHBvcnQiLDEsMiwzXQ=="])
async def test_what_is_no_cursor_is_refused(client: Client, group: str, cursor: str) -> None:
    asked = request_of("ExportGroup", group_id=group, cursor=cursor)
    (answer,) = [each async for each in client.admin.ExportGroup(asked, timeout=CALL_S)]
    assert answer.error.error_code == "INVALID_ARGUMENT"
    assert [each.field for each in answer.error.field_violations] == ["input.cursor"]


async def test_there_is_nothing_to_export(client: Client, group: str) -> None:
    asked = request_of("ExportGroup", group_id=group)
    (answer,) = [each async for each in client.admin.ExportGroup(asked, timeout=CALL_S)]
    assert (answer.error.error_code, answer.status) == ("NOT_FOUND", ERROR)


async def test_an_import_goes_on_wherever_it_broke(client: Client, group: str) -> None:
    await filled(client, group)
    file = await exported(client, group)
    await client.delete_group(group)
    ends = [len(file) * tenth // 10 for tenth in range(10)]
    for number, (before, end) in enumerate(pairwise(ends)):
        assert await far(client, group, "mine") == before
        begin = 0 if number % 2 else before  # what is there is skipped
        call: Any = client.admin.ImportGroup(timeout=DONE_S)
        await call.write(ImportGroupRequest(group_id=group, upload_id="mine"))
        assert (await call.read()).received_bytes == before
        await call.write(ImportGroupRequest(offset=begin, data=file[begin:end]))
        await call.done_writing()
        assert (await call.read()).received_bytes == end
        assert await call.read() is grpc.aio.EOF
    assert await client.get_episodes(group) == []
    more: dict[str, Any] = {"upload_id": "mine", "offset": ends[-1]}
    *_, last = map(granted, await imported(client, group, file[ends[-1] :], **more))
    assert (last.status, last.rows["fact"]) == (OK, 2)
    assert rows_of(await exported(client, group)) == rows_of(file)


async def test_a_file_is_known_by_its_name_alone(client: Client, group: str) -> None:
    """Of another name, or in another group, nothing has arrived; without a name nothing stays."""
    for upload_id in ("mine", None):
        one = iter([ImportGroupRequest(group_id=group, data=b'{"row"', upload_id=upload_id)])
        assert [each.status async for each in client.admin.ImportGroup(one, timeout=CALL_S)]
    assert await far(client, group, "mine") == 6
    assert await far(client, group, "other") == 0
    assert await far(client, f"{group}-other", "mine") == 0


async def test_content_is_never_overwritten(client: Client, group: str) -> None:
    await filled(client, group)
    file = await exported(client, group)
    (answer,) = await imported(client, group, file)
    assert (answer.status, answer.error.error_code) == (ERROR, "CONFLICT")
    assert "never changes what is there" in answer.error.message
    await client.delete_group(group)
    call: Any = client.admin.ImportGroup(timeout=DONE_S)
    await call.write(ImportGroupRequest(group_id=group))
    assert (await call.read()).status == envelope_pb2.STATUS_ACCEPTED
    await client.ask("AddEntityNode", uuid="own", group_id=group, name="Own")
    await call.write(ImportGroupRequest(data=file, last=True))
    await call.done_writing()
    *_, last = await rest(call)
    assert (last.status, last.error.error_code) == (ERROR, "CONFLICT")
    assert (await client.get_entity(group, "own")).node.name == "Own"
    assert await client.get_episodes(group) == []


@pytest.mark.parametrize("errors", ["in-band", "status"])
async def test_who_goes_on_sending_what_is_refused_sees_why(client: Client, group: str, errors: str) -> None:
    """Within a second. A message that cannot be sent any more would end the call as an internal error."""
    await filled(client, group)
    call: Any = client.admin.ImportGroup(timeout=DONE_S, metadata=[("kgsvc-errors", errors)])
    await call.write(ImportGroupRequest(group_id=group))
    if errors == "in-band":
        assert (await call.read()).error.error_code == "CONFLICT"
    for _ in range(20):
        await call.write(ImportGroupRequest(data=b"x" * 1_000))
    await call.done_writing()
    if errors == "in-band":
        assert await call.read() is grpc.aio.EOF
        assert await call.code() is grpc.StatusCode.OK
    else:
        assert await call.code() is grpc.StatusCode.ALREADY_EXISTS


async def test_who_never_ends_sending_what_is_refused_is_left(client: Client, group: str) -> None:
    await filled(client, group)
    call: Any = client.admin.ImportGroup(timeout=DONE_S)
    await call.write(ImportGroupRequest(group_id=group))
    (answer,) = await rest(call)
    assert answer.error.error_code == "CONFLICT"
    assert await call.code() is grpc.StatusCode.OK


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def right_file(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A file with a row of every kind."""
    folder = tmp_path_factory.mktemp("right")
    store = await EmbeddedStore.open(folder / "store")
    await store.migrate()
    await told(store)
    await written(store, folder / "file")
    await store.close()
    return await asyncio.to_thread((folder / "file").read_bytes)


# A group of another name than that of the call is refused for that.
IN_GROUP = [name for name, (_, _, reason) in HOSTILE.items() if not reason.startswith("group_id")]


@pytest.mark.parametrize("hostile", IN_GROUP)
async def test_a_hostile_file_is_refused_by_line_and_reason(
    client: Client, right_file: bytes, tmp_path: Path, hostile: str
) -> None:
    spoil, number, reason = HOSTILE[hostile]
    lines = [json.loads(line) for line in right_file.splitlines()]
    spoil(lines)
    put(tmp_path / "hostile", lines)
    await refused(client, await asyncio.to_thread((tmp_path / "hostile").read_bytes), number, reason)


@pytest.mark.parametrize("damaged", BYTES)
async def test_a_damaged_file_is_refused_by_line_and_reason(
    client: Client, right_file: bytes, damaged: str
) -> None:
    spoil, number, reason = BYTES[damaged]
    await refused(client, spoil(right_file), number, reason)


async def refused(client: Client, file: bytes, number: int, reason: str, group: str = GROUP) -> None:
    """The file is, by this line and reason, and is forgotten; there is no such group."""
    *_, last = await imported(client, group, file, piece=777, upload_id="hostile")
    assert (last.status, last.error.error_code) == (ERROR, "INVALID_ARGUMENT")
    assert last.error.message.startswith(f"line {number}: {reason}"), last.error.message
    assert [each.field for each in last.error.field_violations] == [f"line {number}"]
    assert await far(client, group, "hostile") == 0
    assert group not in {each.group_id for each in (await client.ask("ListGroups", page_size=1_000)).groups}


async def test_a_file_of_another_group_is_refused(client: Client, right_file: bytes, group: str) -> None:
    reason = "group_id: is not the group that the call names"
    await refused(client, right_file, 1, reason, group)


@pytest.mark.parametrize(
    ("first", "field"),
    [
        ({}, "group_id"),
        ({"group_id": "kgsvc-doctor-x"}, "group_id"),
        ({"group_id": "g", "upload_id": "u" * 129}, "upload_id"),
        ({"group_id": "g", "offset": 5}, "offset"),
        ({"group_id": "g", "offset": -1}, "offset"),
        ({"group_id": "g", "request_id": ""}, "request_id"),
    ],
)
async def test_a_wrong_message_is_refused_by_its_field(
    client: Client, first: dict[str, Any], field: str
) -> None:
    parts = iter([ImportGroupRequest(data=b"x", **first)])
    *_, last = [each async for each in client.admin.ImportGroup(parts, timeout=CALL_S)]
    assert last.status == ERROR
    assert [each.field for each in last.error.field_violations] == [field]


async def test_a_refusal_is_a_status_on_request(client: Client, right_file: bytes, group: str) -> None:
    part = ImportGroupRequest(group_id=group, data=right_file, last=True)
    call: Any = client.admin.ImportGroup(iter([part]), timeout=CALL_S, metadata=AS_STATUS)
    assert (await call.read()).status == envelope_pb2.STATUS_ACCEPTED
    assert (await call.read()).received_bytes == len(right_file)
    with pytest.raises(grpc.aio.AioRpcError, match="line 1: group_id") as caught:
        await call.read()
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT


async def test_groups_go_over_http_too(client: Client, service: Service, group: str) -> None:
    """The request's whole body comes before it is answered, as browsers send it."""
    await filled(client, group)
    file = await exported(client, group)
    async with httpx.AsyncClient(base_url=service.http_url, timeout=DONE_S, trust_env=False) as http:
        outcome = await called(http, "ExportGroup", as_json(request_of("ExportGroup", group_id=group)))
        assert outcome.answers[-1]["output"]["last"] is True
        await client.delete_group(group)
        part = ImportGroupRequest(group_id=group, data=file, last=True)
        outcome = await called(http, "ImportGroup", as_json(part))
        assert outcome.answers[-1]["status"] == "STATUS_OK", outcome
        outcome = await called(http, "ImportGroup", as_json(part))
        assert (outcome.code, outcome.answers) == ("already_exists", [])
    assert rows_of(await exported(client, group)) == rows_of(file)
