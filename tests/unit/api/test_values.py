"""What is wrong with a value is said, of every field at once; limits reject and never truncate.

That required fields, enums and times are, of every operation: acceptance/test_schema.py.
"""

from typing import Any

import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from kgsvc.v1 import envelope_pb2, types_pb2
from tests.support.client import Client, episode, message, timestamp
from tests.support.requests import METHODS
from tests.unit.api.samples import Change, assert_violation, call, clear, first, put, request

INVALID, LIMIT = "INVALID_ARGUMENT", "LIMIT_EXCEEDED"
WIDE = "\ufdfa"  # one code point, eighteen when normalised


def _attribute(**kinds: Any) -> Change:
    return lambda target: put(**kinds)(target.attributes.fields["k"])


def _nested_nan(target: Any) -> None:
    target.attributes.update({"list": [1, {"deep": 2}]})
    values = target.attributes.fields["list"].list_value.values
    values[1].struct_value.fields["deep"].number_value = float("nan")


# Rules of items, for messages and episodes alike.
ITEM_RULES: list[tuple[str, Change, str]] = [
    ("uuid", put(uuid=""), INVALID),
    ("uuid", put(uuid="u" * 129), LIMIT),
    ("uuid", put(uuid="a\nb"), INVALID),
    ("uuid", put(uuid="a\0"), INVALID),
    ("name", put(name=""), INVALID),
    ("name", put(name=" \t"), INVALID),
    ("name", put(name="n\0"), INVALID),
    ("name", put(name="n" * 21), LIMIT),
    ("name", put(name=WIDE * 2), LIMIT),
    ("source_description", put(source_description="d" * 41), LIMIT),
    ("source_description", put(source_description="\0"), INVALID),
]
CASES: list[tuple[str, Change, str, str]] = [
    *(("AddMessages", first("messages", c), f"messages[0].{f}", e) for f, c, e in ITEM_RULES),
    *(("AddEpisodes", first("items", c), f"items[0].{f}", e) for f, c, e in ITEM_RULES),
    ("AddMessages", first("messages", put(content="x\0")), "messages[0].content", INVALID),
    ("AddMessages", first("messages", put(content="x" * 8_190)), "messages[0].content", LIMIT),
    ("AddMessages", first("messages", put(role="r" * 21)), "messages[0].role", LIMIT),
    ("AddMessages", first("messages", put(role="r\0")), "messages[0].role", INVALID),
    ("AddMessages", put(group_id="  "), "group_id", INVALID),
    ("AddMessages", put(group_id="g" * 129), "group_id", LIMIT),
    ("AddMessages", put(group_id="g\x7f"), "group_id", INVALID),
    ("AddEpisodes", first("items", put(body="b" * 8_193)), "items[0].body", LIMIT),
    ("AddEpisodes", first("items", put(body="é" * 4_097)), "items[0].body", LIMIT),
    ("AddEpisodes", first("items", put(source=2, body="{")), "items[0].body", INVALID),
    ("AddEpisodes", first("items", put(source=2, body='{"a": NaN}')), "items[0].body", INVALID),
    ("AddEpisodes", first("items", put(source=2, body="[" * 4_000)), "items[0].body", INVALID),
    ("AddEpisodes", lambda i: i.items.extend([episode("x", 1)] * 4), "items", LIMIT),
    ("AddMessages", lambda i: i.messages.extend([message("x", 1)] * 4), "messages", LIMIT),
    ("AddEntityNode", put(name="\u2003"), "name", INVALID),
    ("AddEntityNode", put(name=WIDE * 2), "name", LIMIT),
    ("AddEntityNode", put(summary="s" * 41), "summary", LIMIT),
    ("AddEntityNode", put(summary="\0"), "summary", INVALID),
    ("AddEntityNode", _attribute(number_value=float("nan")), "attributes['k']", INVALID),
    ("AddEntityNode", _attribute(number_value=float("inf")), "attributes['k']", INVALID),
    ("AddEntityNode", _attribute(null_value=3), "attributes['k']", INVALID),
    ("AddEntityNode", _attribute(string_value="a\0"), "attributes['k']", INVALID),
    ("AddEntityNode", lambda i: i.attributes.fields["k"].SetInParent(), "attributes['k']", INVALID),
    ("AddEntityNode", lambda i: i.attributes.update({"a\0": 1}), "attributes['a\\x00']", INVALID),
    ("AddEntityNode", _nested_nan, "attributes['list'][1]['deep']", INVALID),
    ("AddEntityNode", _attribute(string_value="x" * 600), "attributes", LIMIT),
    ("AddEntityNode", _attribute(string_value="x" * 60_000), "attributes", LIMIT),
    ("GetReceipt", clear("receipt_id"), "receipt_id", INVALID),
    ("WatchReceipt", clear("receipt_id"), "receipt_id", INVALID),
    ("ListItems", clear("group_id"), "group_id", INVALID),
    ("ListItems", lambda i: i.states.append(99), "states[1]", INVALID),
    ("ListItems", lambda i: i.states.append(0), "states[1]", INVALID),
    ("ListItems", put(page_size=0), "page_size", INVALID),
    ("ListItems", put(page_size=1_001), "page_size", LIMIT),
    ("ListItems", put(page_token="not a token"), "page_token", INVALID),
    ("RetryItems", clear("group_id"), "group_id", INVALID),
    ("RetryItems", clear("uuids"), "uuids", INVALID),
    ("RetryItems", put(all_parked=True), "uuids", INVALID),
    ("RetryItems", lambda i: i.uuids.extend("abcd"), "uuids", LIMIT),
    ("RetryItems", lambda i: i.uuids.append(""), "uuids[1]", INVALID),
    ("SearchFacts", lambda i: i.group_ids.append(""), "group_ids[1]", INVALID),
    ("SearchFacts", put(query=" \n"), "query", INVALID),
    ("SearchFacts", put(query="q\0"), "query", INVALID),
    ("SearchFacts", put(query="q" * 201), "query", LIMIT),
    ("SearchFacts", put(query=WIDE * 12), "query", LIMIT),
    ("SearchFacts", put(center_node_uuid=""), "center_node_uuid", INVALID),
    ("GetMemory", first("messages", put(content="x" * 190)), "messages", LIMIT),
    ("GetEntityEdge", put(group_id=""), "group_id", INVALID),
    ("GetEpisodes", put(page_token="e30="), "page_token", INVALID),
]


@pytest.mark.parametrize(("name", "change", "field", "code"), CASES)
async def test_violation_is_named(client: Client, name: str, change: Change, field: str, code: str) -> None:
    response = await call(client.channel, name, request(name, change).SerializeToString())
    assert_violation(response, field, code)


OPTIONAL: list[tuple[str, Change, str]] = [
    ("AddMessages", first("messages", put(uuid="")), "messages[0].uuid"),
    ("AddEpisodes", first("items", put(name="")), "items[0].name"),
    ("ListItems", put(page_token=""), "page_token"),
    ("SearchFacts", put(center_node_uuid=""), "center_node_uuid"),
    ("GetEntityEdge", put(group_id=""), "group_id"),
]


@pytest.mark.parametrize(("name", "change", "field"), OPTIONAL)
async def test_an_optional_field_that_is_empty_is_not_called_required(
    client: Client, name: str, change: Change, field: str
) -> None:
    response = await call(client.channel, name, request(name, change).SerializeToString())
    (violation,) = response.error.field_violations
    assert (violation.field, response.error.error_code) == (f"input.{field}", INVALID)
    assert violation.description == "must not be empty; leave it out instead"


SEEN_ALIKE = [
    "acme\u200b",
    "\u2060acme",
    "ac\u00adme",
    "acme\ufe0f",
    "ac\u200dme",
    "acme\u202e",
    "acme\U000e0041",
]


@pytest.mark.parametrize("name", ["AddMessages", "AddEpisodes", "AddEntityNode", "SearchFacts", "ListItems"])
@pytest.mark.parametrize("group", SEEN_ALIKE)
async def test_a_group_that_looks_like_another_is_refused(client: Client, name: str, group: str) -> None:
    made = request(name)
    many = name == "SearchFacts"
    if many:
        made.input.group_ids[0] = group
    else:
        made.input.group_id = group
    response = await call(client.channel, name, made.SerializeToString())
    assert_violation(response, "group_ids[0]" if many else "group_id", INVALID)
    assert "invisible" in response.error.message


async def test_a_group_of_any_name_can_be_deleted(client: Client) -> None:
    made = request("DeleteGroup", put(group_id="acme\u200b"))
    response = await call(client.channel, "DeleteGroup", made.SerializeToString())
    assert response.status == envelope_pb2.STATUS_OK


async def test_an_attribute_that_looks_like_another_is_refused(client: Client) -> None:
    made = request("AddEntityNode", lambda i: i.attributes.update({"ro\u200ble": "x"}))
    response = await call(client.channel, "AddEntityNode", made.SerializeToString())
    (violation,) = response.error.field_violations
    assert "invisible characters in its name" in violation.description


@pytest.mark.parametrize(
    "name",
    sorted(set(METHODS) - {"StreamEpisodes", "StreamDocuments", "Healthcheck", "ClearAll", "ListGroups"}),
)
async def test_input_is_required(client: Client, name: str) -> None:
    bare = type(request(name))(request_id="r")
    response = await call(client.channel, name, bare.SerializeToString())
    assert response.error.error_code == INVALID
    assert [v.field for v in response.error.field_violations] == ["input"]
    assert response.request_id == "r"


@pytest.mark.parametrize("name", ["Healthcheck", "ClearAll"])
async def test_empty_input_may_be_left_out(client: Client, name: str) -> None:
    assert (await call(client.channel, name, b"")).status == envelope_pb2.STATUS_OK


@pytest.mark.parametrize("name", sorted(set(METHODS) - {"StreamEpisodes", "StreamDocuments"}))
async def test_envelope_fields_are_checked(client: Client, name: str) -> None:
    made = request(name)
    made.request_id, made.idempotency_key = "r" * 129, "k\n"
    response = await call(client.channel, name, made.SerializeToString())
    found = [(v.field, v.code or response.error.error_code) for v in response.error.field_violations]
    assert found == [("request_id", LIMIT), ("idempotency_key", INVALID)]
    assert response.request_id.startswith("id-")


async def test_everything_that_is_wrong_is_said_at_once(client: Client) -> None:
    made = request("AddEpisodes")
    made.input.group_id = ""
    made.input.items[0].MergeFromString(b"\xf8\x7c\x05")
    made.input.items[0].name = "n" * 21
    made.input.items.append(types_pb2.EpisodeItem(source=types_pb2.SOURCE_TEXT))
    response = await call(client.channel, "AddEpisodes", made.SerializeToString())
    assert response.error.error_code == INVALID
    found = [(v.field, v.code) for v in response.error.field_violations]
    assert found == [
        ("input.items[0].1999", ""),
        ("input.group_id", ""),
        ("input.items[0].name", LIMIT),
        ("input.items[1].body", ""),
        ("input.items[1].reference_time", ""),
    ]
    assert "and 4 more" in response.error.message


async def test_values_at_their_limits_are_accepted_whole(client: Client) -> None:
    first, last = -62_135_596_800_000, 253_402_300_799_999
    items = [episode("b" * 8_192, first, uuid="u" * 128, name="n" * 20), episode("x", last)]
    assert (await client.add_episodes("g" * 128, items)).accepted == 2
    kept = await client.get_episodes("g" * 128)
    assert [e.reference_time for e in kept] == [timestamp(first), timestamp(last)]
    assert (kept[0].body, kept[0].uuid, kept[0].name) == ("b" * 8_192, "u" * 128, "n" * 20)


async def test_times_finer_than_a_millisecond_are_floored(client: Client) -> None:
    fine = episode("fine", 0)
    fine.reference_time.CopyFrom(Timestamp(seconds=-1, nanos=999_999_999))
    await client.add_episodes("g", [fine])
    assert (await client.get_episodes("g"))[0].reference_time == Timestamp(seconds=-1, nanos=999_000_000)


@pytest.mark.parametrize("uuid", ["not-a-uuid", "D1:1", " ", "é/ü", "x" * 128])
async def test_any_text_may_be_a_uuid(client: Client, uuid: str) -> None:
    done = await client.add_episodes("g", [episode("x", 1, uuid=uuid)])
    assert [item.uuid for item in done.items] == [uuid]


async def test_json_bodies_are_kept_as_sent(client: Client) -> None:
    body = '{"b": 1,\r\n "a": [true, null]}'
    await client.add_episodes("g", [episode(body, 1, source=types_pb2.SOURCE_JSON)])
    assert [e.body for e in await client.get_episodes("g")] == [body]
