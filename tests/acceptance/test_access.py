"""Who may: every RPC, by its descriptor, with credentials of every kind: tokens and JWTs on TLS, certificates
on mutual TLS."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any, cast

import grpc
import pytest
import pytest_asyncio
from grpc_health.v1 import health_pb2
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from kgsvc.v1 import envelope_pb2
from kgsvc.v1.documents_pb2 import DocumentItem, StreamDocumentsRequest
from kgsvc.v1.transfer_pb2 import ImportGroupRequest
from tests.acceptance.access import GROUP, HOUR_MS, Guarded, guarded
from tests.support.client import (
    CALL_S,
    Client,
    episode,
    message,
    status_lost,
    stream_request,
    timestamp,
)
from tests.support.contract import METHODS, path, request_of, response_class
from tests.support.requests import inputs

MALFORMED = b"\xff\xff\xff"
NO_GROUP = {"Healthcheck", "GetReceipt", "WatchReceipt", "GetErasure", "ListGroups"}
ENDS_S = 10.0
IDLE = {"server__role": "api", "access__health": "authenticated", "access__reflection": "open"}
JAN = 1_704_067_200_000


KINDS = ["token", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("certificate", "jwt"))]


@pytest_asyncio.fixture(scope="module", loop_scope="session", params=KINDS)
async def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Guarded]:
    async with guarded(tmp_path_factory.mktemp("access"), request.param) as made:
        yield made


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def idle(server: Guarded, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Guarded]:
    """A server that accepts items and works on none."""
    async with guarded(tmp_path_factory.mktemp("idle"), server.by, **IDLE) as made:
        yield made


def reads(name: str) -> bool:
    """Whether an operation only reads, by its name."""
    return name.startswith(("Get", "List", "Search", "Watch", "Healthcheck", "Ask"))


async def code_of(client: Client, name: str, body: bytes) -> tuple[str, str | None]:
    """How a call of a method with these bytes ends: the gRPC code, and the error code in the first answer."""
    while (found := await told_code(client, name, body)) is None:
        pass
    return found


async def told_code(client: Client, name: str, body: bytes) -> tuple[str, str | None] | None:
    """See code_of; None if the status was lost."""
    method = METHODS[name]
    kinds: Any = {
        (False, False): client.channel.unary_unary,
        (False, True): client.channel.unary_stream,
        (True, True): client.channel.stream_stream,
    }
    make = kinds[method.client_streaming, method.server_streaming]
    call = make(path(name), lambda raw: raw, response_class(name).FromString)
    sent = iter([body]) if method.client_streaming else body
    try:
        if not method.server_streaming:
            answer = await call(sent, timeout=CALL_S)
        else:
            running = call(sent, timeout=CALL_S)
            answer = await running.read()
            running.cancel()
    except grpc.aio.AioRpcError as error:
        return None if status_lost(error) else (error.code().name, None)
    return "OK", answer.error.error_code or None


def streamed_document(group: str, document_id: str = "d") -> StreamDocumentsRequest:
    """A document in one part."""
    item = DocumentItem(document_id=document_id, text="Ann met Bea.", reference_time=timestamp(JAN))
    return StreamDocumentsRequest(group_id=group, document=item, last=True)


def body_of(name: str, group: str = GROUP) -> bytes:
    """A right request of a method for a group."""
    if name == "StreamEpisodes":
        return stream_request(group, episode("Ann met Bea.", JAN)).SerializeToString()
    if name == "StreamDocuments":
        return streamed_document(group).SerializeToString()
    if name == "ImportGroup":
        return ImportGroupRequest(group_id=group).SerializeToString()
    raw: bytes = request_of(name, **inputs(group)[name]).SerializeToString()
    return raw


@pytest.mark.parametrize("kind", [None, "kgsvc_0123_wrong", "Basic", "forged", "expired"])
@pytest.mark.parametrize("name", METHODS)
async def test_without_a_valid_credential_nothing_is_read(
    name: str, kind: str | None, server: Guarded
) -> None:
    if server.mutual and kind not in {None, "expired"}:
        kind = None
    async with server.client(kind) as client:
        server.store.touched.clear()
        assert await code_of(client, name, MALFORMED) == ("UNAUTHENTICATED", None)
        assert await code_of(client, name, body_of(name)) == ("UNAUTHENTICATED", None)
        assert server.store.touched == []


@pytest.mark.parametrize("name", sorted(METHODS.keys() - NO_GROUP))
async def test_a_foreign_group_is_denied_before_the_store_is_touched(name: str, server: Guarded) -> None:
    async with server.client("foreign") as client:
        server.store.touched.clear()
        assert await code_of(client, name, body_of(name)) == ("PERMISSION_DENIED", None)
        assert server.store.touched == []


@pytest.mark.parametrize("name", METHODS)
async def test_a_credential_that_may_only_read_does_not_write(name: str, server: Guarded) -> None:
    async with server.client("read-only") as client:
        server.store.touched.clear()
        grpc_code, error_code = await code_of(client, name, body_of(name))
        assert (grpc_code == "PERMISSION_DENIED") is not reads(name)
        assert error_code in {None, "NOT_FOUND"}
        assert reads(name) or server.store.touched == []
    async with server.client("only-reads") as client:
        wanted = "INVALID_ARGUMENT" if reads(name) else "PERMISSION_DENIED"
        assert await code_of(client, name, MALFORMED) == (wanted, None), "denied before it is parsed"


@pytest.mark.parametrize("name", sorted(METHODS.keys() - {"ClearAll", "DeleteGroup"}))
async def test_a_tenant_may_do_everything_in_its_groups(name: str, server: Guarded) -> None:
    async with server.client("tenant") as client:
        grpc_code, error_code = await code_of(client, name, body_of(name, f"acme/{name}"))
        assert (grpc_code, error_code) in {("OK", None), ("OK", "NOT_FOUND")}


async def test_only_the_administrator_of_every_group_clears_all(server: Guarded) -> None:
    async with server.client("tenant") as client:
        assert (await code_of(client, "ClearAll", body_of("ClearAll")))[0] == "PERMISSION_DENIED"
        assert (await code_of(client, "DeleteGroup", body_of("DeleteGroup"))) == ("OK", None)
    async with server.client("admin") as client:
        assert (await code_of(client, "ClearAll", body_of("ClearAll"))) == ("OK", None)


async def test_only_the_administrator_of_every_group_switches_the_service(server: Guarded) -> None:
    async with server.client("tenant") as client:
        for mode in ("read_only", "model_off"):
            body = request_of("SetModes", **{mode: True}).SerializeToString()
            assert await code_of(client, "SetModes", body) == ("PERMISSION_DENIED", None)
        paused = await client.ask("SetModes", group_id=GROUP, paused=True)
        assert paused.group.HasField("paused_since")
        await client.ask("SetModes", group_id=GROUP, paused=False)
    async with server.client("admin") as client:
        now = await client.ask("SetModes", model_off=True)
        assert now.modes.HasField("model_off_since")
        await client.ask("SetModes", model_off=False)


async def test_what_is_in_a_foreign_group_is_not_there(server: Guarded) -> None:
    async with server.client("tenant") as owner, server.client("foreign") as other:
        accepted = await owner.add_episodes(
            GROUP, [episode("Alice works at Acme. Alice likes tea.", JAN, uuid="told")]
        )
        await owner.wait_receipt(accepted.receipt_id)
        (fact, *_) = await owner.search(GROUP, "Alice Acme")
        (tea, *_) = await owner.search(GROUP, "Alice tea")
        entity = {"uuid": fact.source_node_uuid}
        for name, given in {
            "GetEntityEdge": {"uuid": fact.uuid},
            "GetFactHistory": {"uuid": fact.uuid},
            "UpdateFact": {"uuid": fact.uuid, "fact": "Alice owns Acme"},
            "RetractFact": {"uuid": tea.uuid, "reason": "another Alice was meant"},
            "GetEntityNode": entity,
            "GetReceipt": {"receipt_id": accepted.receipt_id},
            "WatchReceipt": {"receipt_id": accepted.receipt_id},
        }.items():
            body = request_of(name, **given).SerializeToString()
            assert await code_of(other, name, body) == ("OK", "NOT_FOUND"), name
            assert await code_of(owner, name, body) == ("OK", None), name
        for name, uuid in {"DeleteEntityEdge": fact.uuid, "DeleteEpisode": "told"}.items():
            theirs, absent = [await other.ask(name, uuid=each) for each in (uuid, "never-there")]
            assert theirs == absent
        assert (await owner.get_entity(GROUP, **entity)).node.name == "Alice"
        assert [each.uuid for each in await owner.get_episodes(GROUP) if each.uuid == "told"] == ["told"]


async def test_what_may_be_read_and_not_written_is_denied_by_its_bare_uuid(server: Guarded) -> None:
    async with server.client("tenant") as owner, server.client("read-only") as reader:
        await owner.ask("AddEntityNode", uuid="mine", group_id=GROUP, name="Mine")
        await owner.add_episodes(GROUP, [episode("Nothing.", JAN, uuid="kept")])
        body = request_of("DeleteEpisode", uuid="kept").SerializeToString()
        assert (await code_of(reader, "DeleteEpisode", body))[0] == "PERMISSION_DENIED"
        assert (await reader.get_entity(GROUP, "mine")).node.name == "Mine"


async def test_one_uuid_in_groups_of_several_tenants_is_no_conflict(server: Guarded) -> None:
    async with server.client("admin") as admin, server.client("tenant") as owner:
        for group in (*(f"a{n}" for n in range(5)), GROUP):
            await admin.ask("AddEntityNode", uuid="shared", group_id=group, name="Ann")
        assert (await owner.ask("GetEntityNode", uuid="shared")).node.group_id == GROUP


async def ended(call: Any) -> str:
    """The gRPC code with which a stream ends."""
    async with asyncio.timeout(ENDS_S):
        while True:
            try:
                answer = await call.read()
            except grpc.aio.AioRpcError as error:
                return str(error.code().name)
            if answer is grpc.aio.EOF:
                return str((await call.code()).name)


@pytest.mark.parametrize("how", ["revoked", "expired"])
@pytest.mark.parametrize(
    "name", ["StreamEpisodes", "StreamDocuments", "WatchReceipt", "WatchGroup", "ImportGroup"]
)
async def test_a_stream_ends_with_its_credential(name: str, how: str, idle: Guarded) -> None:
    brief = f"{name} {how}".replace(" ", "-").lower()
    await idle.add(
        brief,
        {"acme/": "admin" if name == "ImportGroup" else "write"},
        HOUR_MS if how == "revoked" else 1_500,
    )
    async with idle.client("admin") as admin, idle.client(brief) as client:
        accepted = await admin.add_episodes(GROUP, [episode("Ann met Bea.", JAN)])
        await taken_over(client)
        if name == "StreamEpisodes":
            call: Any = client.ingestion.StreamEpisodes(timeout=CALL_S)
            await call.write(stream_request(GROUP, episode(f"Ann met {brief}.", JAN)))
            assert (await call.read()).status == envelope_pb2.STATUS_ACCEPTED
        elif name == "StreamDocuments":
            call = client.ingestion.StreamDocuments(timeout=CALL_S)
            await call.write(streamed_document(GROUP, brief))
            assert (await call.read()).status == envelope_pb2.STATUS_ACCEPTED
        elif name == "ImportGroup":
            call = client.admin.ImportGroup(timeout=CALL_S)
            await call.write(ImportGroupRequest(group_id=f"acme/{brief}"))
            assert (await call.read()).status == envelope_pb2.STATUS_ACCEPTED
        elif name == "WatchGroup":
            call = client.retrieval.WatchGroup(request_of(name, group_id=GROUP), timeout=CALL_S)
            assert (await call.read()).output.reset
        else:
            request = request_of(name, receipt_id=accepted.receipt_id)
            call = client.ingestion.WatchReceipt(request, timeout=CALL_S)
            assert not (await call.read()).output.done
        if how == "revoked":
            await idle.revoke(brief)
        assert await ended(call) == "UNAUTHENTICATED"


async def taken_over(client: Client) -> None:
    """Wait until the server knows the credential of a client."""
    async with asyncio.timeout(ENDS_S):
        while (await code_of(client, "Healthcheck", body_of("Healthcheck")))[0] != "OK":  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def test_a_stream_of_items_ends_at_one_of_a_foreign_group(server: Guarded) -> None:
    async with server.client("tenant") as client:
        call = client.ingestion.StreamEpisodes(timeout=CALL_S)
        await call.write(stream_request(GROUP, episode("Ann met Dan.", JAN)))
        first: Any = await call.read()
        assert first.status == envelope_pb2.STATUS_ACCEPTED
        await call.write(stream_request("acme2/team", episode("Ann met Eve.", JAN)))
        assert await ended(call) == "PERMISSION_DENIED"


async def test_health_is_open_and_reflection_is_not(server: Guarded) -> None:
    wanted = reflection_pb2.ServerReflectionRequest(list_services="")
    async with server.client(None) as nobody, server.client("only-reads") as somebody:
        stub: Any = nobody.health
        health = await stub.Check(health_pb2.HealthCheckRequest(), timeout=CALL_S)
        assert health.status == health_pb2.HealthCheckResponse.SERVING
        assert await ended(reflected(nobody, wanted)) == "UNAUTHENTICATED"
        answer = await reflected(somebody, wanted).read()
        assert any(each.name.startswith("kgsvc.v1.") for each in answer.list_services_response.service)


async def test_health_and_reflection_have_settings_of_their_own(idle: Guarded) -> None:
    wanted = reflection_pb2.ServerReflectionRequest(list_services="")
    async with idle.client(None) as nobody, idle.client("only-reads") as somebody:
        anonymous, known = cast(Any, nobody.health), cast(Any, somebody.health)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await anonymous.Check(health_pb2.HealthCheckRequest(), timeout=CALL_S)
        assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED
        assert (
            await ended(anonymous.Watch(health_pb2.HealthCheckRequest(), timeout=CALL_S)) == "UNAUTHENTICATED"
        )
        assert (await known.Check(health_pb2.HealthCheckRequest(), timeout=CALL_S)).status
        watched = known.Watch(health_pb2.HealthCheckRequest(), timeout=CALL_S)
        assert (await watched.read()).status == health_pb2.HealthCheckResponse.SERVING
        watched.cancel()
        assert (await reflected(nobody, wanted).read()).list_services_response.service


def reflected(client: Client, request: Any, metadata: tuple[tuple[str, str], ...] = ()) -> Any:
    """A call of reflection."""
    stub: Any = reflection_pb2_grpc.ServerReflectionStub(cast(Any, client.channel))
    return stub.ServerReflectionInfo(iter([request]), timeout=CALL_S, metadata=metadata)


async def test_nobody_connects_without_a_certificate_where_one_is_wanted(server: Guarded) -> None:
    trusted = grpc.ssl_channel_credentials(server.authority.path.read_bytes())
    async with Client(server.address, trusted) as client:
        found = await code_of(client, "Healthcheck", b"")
        assert found[0] == ("UNAVAILABLE" if server.mutual else "UNAUTHENTICATED")


async def test_the_audit_says_who_did_what_where_and_nothing_else(server: Guarded) -> None:
    canary = "Zanzibar-canary"
    async with server.client("tenant") as owner, server.client("foreign") as other:
        await owner.add_episodes(GROUP, [episode(f"{canary} is a secret.", JAN)])
        await code_of(other, "GetEpisodes", body_of("GetEpisodes"))
    audit = server.access_file.with_name("audit.jsonl")
    async with asyncio.timeout(ENDS_S):
        while '"GetEpisodes"' not in audit.read_text().splitlines()[-1]:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    *_, wrote, denied = map(json.loads, audit.read_text().splitlines())
    names = ("who", "credential", "operation", "groups", "outcome", "error_code")
    assert [wrote.get(name) for name in names] == [
        "tenant", server.ids.get("tenant"), "AddEpisodes", [GROUP], "success", None,
    ]  # fmt: skip
    assert [denied.get(name) for name in names] == [
        "foreign", server.ids.get("foreign"), "GetEpisodes", [GROUP], "refused", "PERMISSION_DENIED",
    ]  # fmt: skip
    whole = audit.read_text()
    assert canary not in whole
    assert not any(token in whole for token in server.tokens.values())


async def test_the_audit_notes_wrong_credentials_at_health_and_reflection(
    server: Guarded, idle: Guarded
) -> None:
    wrong = (("authorization", "Bearer kgsvc_0123_wrong"),)
    wanted = reflection_pb2.ServerReflectionRequest(list_services="")
    await server.add("passing", {"acme/": "read"}, HOUR_MS)
    await server.taken_over("passing")
    async with server.client(None) as nobody, idle.client(None) as other, server.client("passing") as passing:
        health: Any = other.health
        for call in (
            reflected(nobody, wanted),
            reflected(nobody, wanted, wrong),
            health.Check(health_pb2.HealthCheckRequest(), timeout=CALL_S),
            health.Check(health_pb2.HealthCheckRequest(), timeout=CALL_S, metadata=wrong),
            health.Watch(health_pb2.HealthCheckRequest(), timeout=CALL_S, metadata=wrong),
        ):
            assert await call.code() is grpc.StatusCode.UNAUTHENTICATED
        stub: Any = reflection_pb2_grpc.ServerReflectionStub(cast(Any, passing.channel))
        stream = stub.ServerReflectionInfo(timeout=CALL_S)
        await stream.write(wanted)
        assert (await stream.read()).list_services_response.service
        await server.revoke("passing")
        assert await ended(stream) == "UNAUTHENTICATED"
    described = "grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"
    for made, expected in (
        (server, [("(unproven)", None, described), ("passing", server.ids.get("passing"), described)]),
        (idle, [("(unproven)", None, f"grpc.health.v1.Health/{name}") for name in ("Check", "Watch")]),
    ):
        audit = made.access_file.with_name("audit.jsonl")
        noted: list[dict[str, Any]] = []
        async with asyncio.timeout(ENDS_S):
            while len(noted) < len(expected):
                await asyncio.sleep(0.01)
                lines = map(json.loads, audit.read_text().splitlines())
                noted = [line for line in lines if line["operation"].startswith("grpc.")]
        found = [(line["who"], line.get("credential"), line["operation"]) for line in noted]
        assert sorted(found, key=str) == expected
        assert {(line["outcome"], line["error_code"]) for line in noted} == {("refused", "UNAUTHENTICATED")}
        assert all(line["peer"] and "request_id" not in line for line in noted)


async def test_the_audit_names_what_was_written(server: Guarded) -> None:
    group, streams = "acme/audit", [f"acme/audit/{n}" for n in range(9)]
    async with server.client("tenant") as client:
        given, made = (
            await client.add_episodes(group, [episode("Ann.", JAN, "given"), episode("Bea.", JAN)])
        ).items
        (said,) = (await client.add_messages(group, [message("Ann met Cid.", JAN)])).items
        streamed = await client.stream_episodes(streams[0], [episode("Ann met Dan.", JAN)])
        call: Any = client.ingestion.StreamEpisodes(timeout=CALL_S)
        for each in streams[1:]:
            await call.write(stream_request(each, episode("Ann met Eve.", JAN)))
            streamed.append(await call.read())
        await call.done_writing()
        assert await ended(call) == "OK"
        await client.ingestion.StreamDocuments(
            iter([streamed_document(group, "parts")]), timeout=CALL_S
        ).read()
        item = DocumentItem(document_id="whole", text="Ann met Dan.", reference_time=timestamp(JAN))
        await client.ask("AddDocuments", group_id=group, documents=[item])
        await client.ask("RetryItems", group_id=group, uuids=["given"])
        await client.ask("DeleteDocument", group_id=group, document_id="whole")
    expected = [
        ("AddEpisodes", group, ["given", made.uuid]),
        ("AddMessages", group, [said.uuid]),
        *(("StreamEpisodes", each, [ack.uuid]) for each, ack in zip(streams, streamed, strict=True)),
        ("StreamDocuments", group, ["parts"]),
        ("AddDocuments", group, ["whole"]),
        ("RetryItems", group, ["given"]),
        ("DeleteDocument", group, ["whole"]),
    ]
    audit = server.access_file.with_name("audit.jsonl")
    async with asyncio.timeout(ENDS_S):
        while '"DeleteDocument"' not in audit.read_text().splitlines()[-1]:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    lines = [
        line
        for line in map(json.loads, audit.read_text().splitlines())
        if line.get("uuids") and line["groups"]
    ]
    named = [
        (line["operation"], *line["groups"], line["uuids"]) for line in lines if line["outcome"] == "success"
    ]
    assert given.uuid == "given"
    assert [each for each in named if each[1].startswith(group)] == expected


async def test_the_audit_notes_exports_and_imports(server: Guarded) -> None:
    group = "acme/moved"
    async with server.client("tenant") as owner, server.client("read-only") as reader:
        await owner.ask("AddEntityNode", uuid="moved", group_id=group, name="Ann")
        assert await code_of(reader, "ExportGroup", body_of("ExportGroup", group)) == (
            "PERMISSION_DENIED",
            None,
        )
        whole = request_of("ExportGroup", group_id=group)
        async for answer in owner.admin.ExportGroup(whole, timeout=CALL_S):
            assert answer.error.error_code == ""
        await code_of(owner, "ImportGroup", body_of("ImportGroup", group))
    audit = server.access_file.with_name("audit.jsonl")
    async with asyncio.timeout(ENDS_S):
        while '"ImportGroup"' not in audit.read_text().splitlines()[-1]:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    lines = [json.loads(line) for line in audit.read_text().splitlines()]
    noted = [line for line in lines if line["groups"] == [group] and "Group" in line["operation"]]
    assert [(line["who"], line["operation"], line["outcome"], line.get("error_code")) for line in noted] == [
        ("read-only", "ExportGroup", "refused", "PERMISSION_DENIED"),
        ("tenant", "ExportGroup", "success", None),
        ("tenant", "ImportGroup", "refused", "CONFLICT"),
    ]


async def test_the_audit_names_erasures_of_whole_groups(server: Guarded) -> None:
    async with server.client("admin") as admin:
        await admin.add_episodes("acme/gone", [episode("Ann met Bea.", JAN)])
        one = (await admin.delete_group("acme/gone")).erasure_id
        await admin.add_episodes("acme/gone", [episode("Ann met Bea.", JAN)])
        every = (await admin.ask("ClearAll")).erasure_id
    audit = server.access_file.with_name("audit.jsonl")
    async with asyncio.timeout(ENDS_S):
        while every not in audit.read_text():  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    lines = [json.loads(line) for line in audit.read_text().splitlines()]
    whole = [line for line in lines if line["operation"] in {"DeleteGroup", "ClearAll"}]
    assert [(line["operation"], line["groups"], line["uuids"]) for line in whole[-2:]] == [
        ("DeleteGroup", ["acme/gone"], [one]),
        ("ClearAll", [], [every]),
    ]
