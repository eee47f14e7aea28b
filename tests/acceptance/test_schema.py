"""Spec 004 §15 "Errors", §16 "Schema validation for all operations": nothing slips through, all is named."""

from collections.abc import Callable, Iterable
from typing import Any

import grpc
import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from kgsvc.v1 import envelope_pb2
from kgsvc.v1 import types_pb2 as typ
from tests.acceptance.operations import OPERATIONS, Operation, at, without
from tests.acceptance.refusals import AS_STATUS, call, refused
from tests.acceptance.shared import OFFLINE
from tests.support.client import Client
from tests.support.requests import UNKNOWN_NUMBER, with_unknown_field

SETTINGS = OFFLINE

OK = {
    "AddMessages": envelope_pb2.STATUS_ACCEPTED,
    "AddEpisodes": envelope_pb2.STATUS_ACCEPTED,
    "AddDocuments": envelope_pb2.STATUS_ACCEPTED,
    "BuildCommunities": envelope_pb2.STATUS_ACCEPTED,
}
# Of an unknown uuid they are NOT_FOUND; what they answer is in tests of their own.
NOTHING_THERE = (
    "GetEntityEdge",
    "GetEntityNode",
    "GetRelation",
    "GetFactHistory",
    "UpdateFact",
    "RetractFact",
    "MergeEntityNodes",
    "UndoMerge",
    "SplitEntityNode",
    "UndoSplit",
    "GetErasure",
    "GetDocument",
    "GetCommunityBuild",
)
DESTRUCTIVE = "ClearAll"  # has test_clear_all.py to itself
BROKEN_TIMES = {
    "negative nanos": Timestamp(seconds=1, nanos=-1),
    "a whole second of nanos": Timestamp(seconds=1, nanos=1_000_000_000),
    "before year 1": Timestamp(seconds=-62_135_596_801),
    "after year 9999": Timestamp(seconds=253_402_300_800),
    "beyond any calendar": Timestamp(seconds=2**62),
}


def each(paths: Callable[[Operation], Iterable[str]]) -> list[Any]:
    """(operation, path) for the paths of each operation."""
    return [
        pytest.param(operation.name, path, id=f"{operation.name}-{path or 'request'}")
        for operation in OPERATIONS.values()
        for path in paths(operation)
    ]


def all_but(*names: str) -> list[str]:
    """The other operations."""
    return [name for name in OPERATIONS if name not in names]


@pytest.mark.parametrize("operation", all_but(*NOTHING_THERE, DESTRUCTIVE))
async def test_a_complete_input_is_accepted_by(operation: str, client: Client, group: str) -> None:
    response, trailers = await call(client, operation, OPERATIONS[operation].request(group))
    assert response.status == OK.get(operation, envelope_pb2.STATUS_OK)
    assert response.HasField("output")
    assert not response.HasField("error")
    assert "kgsvc-error-code" not in trailers
    assert response.request_id
    again, _ = await call(client, operation, OPERATIONS[operation].request(group), AS_STATUS)
    assert again.status == response.status


@pytest.mark.parametrize(("operation", "path"), each(lambda operation: operation.required))
async def test_a_missing_field_is_named(operation: str, path: str, client: Client, group: str) -> None:
    request = without(OPERATIONS[operation].request(group), path)
    refusal = await refused(client, operation, request)
    assert (refusal.code, refusal.fields) == ("INVALID_ARGUMENT", (path,))


@pytest.mark.parametrize("operation", all_but("Healthcheck", "ListGroups", DESTRUCTIVE))
async def test_a_missing_input_is_named(operation: str, client: Client) -> None:
    refusal = await refused(client, operation, without(OPERATIONS[operation].request("g"), "input"))
    assert (refusal.code, refusal.fields) == ("INVALID_ARGUMENT", ("input",))


@pytest.mark.parametrize("number", [0, 99, -1])
@pytest.mark.parametrize(("operation", "path"), each(lambda operation: operation.enums))
async def test_a_wrong_enum_is_named(
    operation: str, path: str, number: int, client: Client, group: str
) -> None:
    request = OPERATIONS[operation].request(group)
    message, field = at(request, path)
    setattr(message, field, number)
    refusal = await refused(client, operation, request)
    assert (refusal.code, refusal.fields) == ("INVALID_ARGUMENT", (path,))


@pytest.mark.parametrize("broken", BROKEN_TIMES)
@pytest.mark.parametrize(("operation", "path"), each(lambda operation: operation.times))
async def test_a_broken_timestamp_is_named(
    operation: str, path: str, broken: str, client: Client, group: str
) -> None:
    request = OPERATIONS[operation].request(group)
    message, field = at(request, path)
    getattr(message, field).CopyFrom(BROKEN_TIMES[broken])
    refusal = await refused(client, operation, request)
    assert (refusal.code, refusal.fields) == ("INVALID_ARGUMENT", (path,))


@pytest.mark.parametrize(("operation", "path"), each(lambda operation: operation.messages))
async def test_an_unknown_field_is_named(operation: str, path: str, client: Client, group: str) -> None:
    request = with_unknown_field(OPERATIONS[operation].request(group), path)
    refusal = await refused(client, operation, request)
    assert refusal.code == "INVALID_ARGUMENT"
    assert refusal.fields == (f"{path}{UNKNOWN_NUMBER}",)


async def test_everything_wrong_is_named_at_once_and_nothing_is_stored(client: Client, group: str) -> None:
    request = OPERATIONS["AddEpisodes"].request(group)
    request.input.items.add(uuid="", name="\0", source=typ.SOURCE_JSON, body="{not json")
    request.input.items.add(source=7, reference_time=BROKEN_TIMES["negative nanos"])
    refusal = await refused(client, "AddEpisodes", request)
    assert refusal.code == "INVALID_ARGUMENT"
    assert set(refusal.fields) == {
        "input.items[1].uuid",
        "input.items[1].name",
        "input.items[1].body",
        "input.items[1].reference_time",
        "input.items[2].source",
        "input.items[2].body",
        "input.items[2].reference_time",
    }
    assert await client.get_episodes(group) == [], "one bad item refuses the whole call"


async def test_the_envelope_carries_the_callers_request_id(client: Client, group: str) -> None:
    request = OPERATIONS["SearchFacts"].request(group)
    request.request_id = "mine"
    response, _ = await call(client, "SearchFacts", request)
    assert response.request_id == "mine"
    refusal, _ = await call(client, "SearchFacts", without(request, "input.query"))
    assert refusal.request_id == "mine"


@pytest.mark.parametrize("field", ["request_id", "idempotency_key"])
async def test_an_empty_or_unprintable_identifier_is_refused(field: str, client: Client, group: str) -> None:
    for value in ("", "a\nb"):
        request = OPERATIONS["AddMessages"].request(group)
        setattr(request, field, value)
        refusal = await refused(client, "AddMessages", request)
        assert (refusal.code, refusal.fields) == ("INVALID_ARGUMENT", (field,))


async def test_bytes_that_are_no_message_are_a_status(client: Client) -> None:
    method: Any = client.channel.unary_unary(OPERATIONS["SearchFacts"].path)
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await method(b"\xff\xff\xff", timeout=10)
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
