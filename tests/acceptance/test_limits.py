"""Spec 004 §16 "Limits", §12: at the limit all is well, beyond it nothing is stored and nothing is cut."""

from collections.abc import Callable
from typing import Any

import grpc
import pytest

from kgsvc.v1 import envelope_pb2
from kgsvc.v1 import ingestion_pb2 as ing
from kgsvc.v1 import retrieval_pb2 as ret
from tests.acceptance.operations import OPERATIONS, at
from tests.acceptance.refusals import call, refused
from tests.acceptance.saying import JAN
from tests.acceptance.shared import OFFLINE
from tests.support.client import CALL_S, Client, episode

SETTINGS = OFFLINE

S = 4 * 1024 * 1024  # bytes a call
M = 256  # items a call
MIB = 1024 * 1024
AROUND = len("Ann(user): ")  # of a message's body beside its content
# Operation, path, and how many characters may stand there.
CAPS = [
    ("AddMessages", "request_id", 128),
    ("AddMessages", "idempotency_key", 256),
    ("AddMessages", "input.messages[0].uuid", 128),
    ("AddMessages", "input.messages[0].name", 512),
    ("AddMessages", "input.messages[0].role", 256),
    ("AddMessages", "input.messages[0].content", MIB - AROUND),
    ("AddMessages", "input.messages[0].source_description", 4_096),
    ("AddEpisodes", "request_id", 128),
    ("AddEpisodes", "idempotency_key", 256),
    ("AddEpisodes", "input.items[0].uuid", 128),
    ("AddEpisodes", "input.items[0].name", 512),
    ("AddEpisodes", "input.items[0].body", MIB),
    ("AddEpisodes", "input.items[0].source_description", 4_096),
    ("AddEntityNode", "idempotency_key", 256),
    ("AddEntityNode", "input.uuid", 128),
    ("AddEntityNode", "input.name", 512),
    ("AddEntityNode", "input.summary", 4_096),
    ("UpdateFact", "idempotency_key", 256),
    ("UpdateFact", "input.fact", 2_048),
    ("UpdateFact", "input.reason", 1_024),
    ("UpdateFact", "input.target_node_uuid", 128),
    ("RetractFact", "idempotency_key", 256),
    ("RetractFact", "input.reason", 1_024),
    ("MergeEntityNodes", "input.keep_uuid", 128),
    ("UndoMerge", "input.merge_id", 128),
    ("SplitEntityNode", "input.uuid", 128),
    ("SplitEntityNode", "input.name", 512),
    ("UndoSplit", "input.split_id", 128),
    ("SearchFacts", "input.query", 32_768),
    ("GetMemory", "input.messages[0].role", 256),
    *((name, "input.group_id", 128) for name in OPERATIONS if "input.group_id" in OPERATIONS[name].required),
    *((name, "input.uuid", 128) for name in ("DeleteEntityEdge", "DeleteEpisode")),
]

OUTCOMES = ("", "NOT_FOUND")  # of an input that is within its limits; some name what is not there

NUMBERS = [
    ("SearchFacts", "input.max_facts", 100),
    ("GetMemory", "input.max_facts", 100),
    ("GetEpisodes", "input.last_n", 1_000),
    ("GetEpisodes", "input.page_size", 1_000),
    ("GetEntityNode", "input.max_facts", 500),
    ("GetEntityNode", "input.max_episodes", 100),
]


def of_length(group: str, count: int) -> str:
    """A text of `count` characters that no other test uses, as far as it is long enough for that."""
    return (group * (count // len(group) + 1))[-count:]


def with_value(operation: str, path: str, value: Any, group: str) -> Any:
    """A complete request with one value set."""
    request = OPERATIONS[operation].request(group)
    message, field = at(request, path)
    setattr(message, field, value)
    return request


@pytest.mark.parametrize(("operation", "path", "limit"), CAPS)
async def test_a_text_may_be_as_long_as_its_cap_and_no_longer(
    operation: str, path: str, limit: int, client: Client, group: str
) -> None:
    fits = with_value(operation, path, of_length(group, limit), group)
    response, _ = await call(client, operation, fits)
    assert response.error.error_code in OUTCOMES, response.error
    refusal = await refused(client, operation, with_value(operation, path, "x" * (limit + 1), f"{group}-2"))
    assert (refusal.code, refusal.fields) == ("LIMIT_EXCEEDED", (path,))
    assert await client.get_episodes(f"{group}-2") == []


@pytest.mark.parametrize(
    ("operation", "path"),
    [
        ("GetEntityEdge", "input.uuid"),
        ("SearchFacts", "input.center_node_uuid"),
        ("GetMemory", "input.center_node_uuid"),
    ],
)
async def test_a_name_of_nothing_is_looked_up_only_within_its_cap(
    operation: str, path: str, client: Client, group: str
) -> None:
    longest = await refused(client, operation, with_value(operation, path, "x" * 128, group))
    assert longest.code == "NOT_FOUND"
    refusal = await refused(client, operation, with_value(operation, path, "x" * 129, group))
    assert (refusal.code, refusal.fields) == ("LIMIT_EXCEEDED", (path,))


async def test_lengths_count_characters_as_sent_and_as_normalised(client: Client, group: str) -> None:
    await accepted_name(client, group, "é" * 512)  # 1,024 bytes
    refusal = await refused(
        client, "AddEpisodes", name_of(group, "ß" * 300)
    )  # "ss" each, once case is folded
    assert (refusal.code, refusal.fields) == ("LIMIT_EXCEEDED", ("input.items[0].name",))


async def accepted_name(client: Client, group: str, name: str) -> None:
    """An episode of this name is accepted and comes back with it, whole."""
    response, _ = await call(client, "AddEpisodes", name_of(group, name))
    assert response.status == envelope_pb2.STATUS_ACCEPTED
    assert name in {each.name for each in await client.get_episodes(group)}


def name_of(group: str, name: str) -> Any:
    """AddEpisodes with an item of this name."""
    return with_value("AddEpisodes", "input.items[0].name", name, group)


async def test_a_body_is_measured_in_bytes(client: Client, group: str) -> None:
    over = with_value("AddEpisodes", "input.items[0].body", "é" * (MIB // 2 + 1), group)
    refusal = await refused(client, "AddEpisodes", over)
    assert (refusal.code, refusal.fields) == ("LIMIT_EXCEEDED", ("input.items[0].body",))


async def test_attributes_are_measured_as_json(client: Client, group: str) -> None:
    for size, code in ((64 * 1024, None), (64 * 1024 + 1, "LIMIT_EXCEEDED")):
        request = OPERATIONS["AddEntityNode"].request(group)
        request.input.attributes.Clear()
        request.input.attributes.update({"a": "x" * (size - len('{"a":""}'))})
        if code is None:
            response, _ = await call(client, "AddEntityNode", request)
            assert response.output.attributes == request.input.attributes, "kept whole"
        else:
            refusal = await refused(client, "AddEntityNode", request)
            assert (refusal.code, refusal.fields) == (code, ("input.attributes",))


@pytest.mark.parametrize(("operation", "path", "limit"), NUMBERS)
async def test_a_number_is_bounded_on_both_sides(
    operation: str, path: str, limit: int, client: Client, group: str
) -> None:
    for number in (1, limit):
        response, _ = await call(client, operation, with_value(operation, path, number, group))
        assert response.error.error_code in OUTCOMES, response.error
    for number, code in ((limit + 1, "LIMIT_EXCEEDED"), (0, "INVALID_ARGUMENT"), (-1, "INVALID_ARGUMENT")):
        refusal = await refused(client, operation, with_value(operation, path, number, group))
        assert (refusal.code, refusal.fields) == (code, (path,))


async def test_max_facts_defaults_to_ten_and_is_obeyed(client: Client, group: str) -> None:
    await client.ingest(group, [episode(f"Alice visited Town{n}.", JAN + n) for n in range(12)])
    assert len(await client.search(group, "Alice visited", 100)) >= 12
    for wanted, count in ((None, 10), (1, 1), (11, 11)):
        assert len(await client.search(group, "Alice visited", wanted)) == count


def many(operation: str, path: str) -> Callable[[str, int], Any]:
    """Requests with so many entries in a list."""

    def request(group: str, count: int) -> Any:
        made = OPERATIONS[operation].request(group)
        message, field = at(made, path)
        entries = getattr(message, field)
        first = entries.pop()
        for number in range(count):
            if isinstance(first, str):
                entries.append(f"{first}-{number}")
            else:
                entry = entries.add()
                entry.CopyFrom(first)
                if "uuid" in entry.DESCRIPTOR.fields_by_name:
                    entry.uuid = f"n{number}"
        return made

    return request


@pytest.mark.parametrize(
    ("operation", "path"),
    [
        ("AddMessages", "input.messages"),
        ("AddEpisodes", "input.items"),
        ("GetMemory", "input.messages"),
        ("SearchFacts", "input.group_ids"),
    ],
)
async def test_a_call_has_at_most_m_items(operation: str, path: str, client: Client, group: str) -> None:
    request = many(operation, path)
    over = f"{group}-2"
    refusal = await refused(client, operation, request(over, M + 1))
    assert (refusal.code, refusal.fields) == ("LIMIT_EXCEEDED", (path,))
    assert await client.get_episodes(over) == []
    response, _ = await call(client, operation, request(group, M))
    assert response.status != envelope_pb2.STATUS_ERROR
    if operation.startswith("Add"):
        assert response.output.accepted == M


async def test_retrying_has_at_most_m_items(client: Client, group: str) -> None:
    for count, code in ((M, ""), (M + 1, "LIMIT_EXCEEDED")):
        given = ing.RetryItemsInput(group_id=group, uuids=[f"n{n}" for n in range(count)])
        response = await client.ingestion.RetryItems(ing.RetryItemsRequest(input=given), timeout=CALL_S)
        assert response.error.error_code == code


def payload(group: str, size: int) -> ing.AddEpisodesRequest:
    """AddEpisodes with exactly `size` bytes."""
    items = [episode("x" * (MIB // 2), JAN, uuid=f"n{n}") for n in range(8)]
    request = ing.AddEpisodesRequest(input=ing.AddEpisodesInput(group_id=group, items=items))
    last = request.input.items[-1]
    last.body = "x" * (len(last.body) - (request.ByteSize() - size))
    assert request.ByteSize() == size
    return request


async def test_a_call_has_at_most_s_bytes(client: Client, group: str) -> None:
    refusal = await refused(client, "AddEpisodes", payload(group, S + 1))
    assert refusal.code == "LIMIT_EXCEEDED"
    assert str(S) in refusal.message
    assert await client.get_episodes(group) == []
    response, _ = await call(client, "AddEpisodes", payload(group, S))
    assert (response.status, response.output.accepted) == (envelope_pb2.STATUS_ACCEPTED, 8)


async def test_far_more_than_s_bytes_are_not_even_received(client: Client, group: str) -> None:
    request = ing.AddEpisodesRequest(input=ing.AddEpisodesInput(group_id=group))
    request.input.items.add(body="x" * (8 * S + 1))
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await client.ingestion.AddEpisodes(request, timeout=CALL_S)
    assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED


async def test_a_composed_query_has_the_limit_of_a_query(client: Client, group: str) -> None:
    beside = len("user(Ann): \n")
    for length, code in ((32_768 - beside, None), (32_768 - beside + 1, "LIMIT_EXCEEDED")):
        request: ret.GetMemoryRequest = OPERATIONS["GetMemory"].request(group)
        request.input.messages[0].content = "word " * (length // 5) + "x" * (length % 5)
        if code is None:
            response, _ = await call(client, "GetMemory", request)
            assert response.status == envelope_pb2.STATUS_OK
        else:
            refusal = await refused(client, "GetMemory", request)
            assert (refusal.code, refusal.fields) == (code, ("input.messages",))
