"""What is wrong with a value is said, of every field at once; limits reject and never truncate."""

from collections.abc import Callable
from typing import Any

import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from kgsvc.v1 import envelope_pb2, types_pb2
from tests.support.client import Client, episode, message, timestamp
from tests.unit.api.samples import METHODS, call, request

INVALID, LIMIT = "INVALID_ARGUMENT", "LIMIT_EXCEEDED"
WIDE = "\ufdfa"  # one code point, eighteen when normalised
Change = Callable[[Any], object]


def _set(**values: Any) -> Change:
    def change(target: Any) -> None:
        for name, value in values.items():
            setattr(target, name, value)

    return change


def _clear(name: str) -> Change:
    return lambda target: target.ClearField(name)


def _at(seconds: int, nanos: int = 0) -> Change:
    stamp = Timestamp(seconds=seconds, nanos=nanos)
    return lambda target: getattr(target, _time_field(target)).CopyFrom(stamp)


def _time_field(target: Any) -> str:
    return "timestamp" if "timestamp" in target.DESCRIPTOR.fields_by_name else "reference_time"


def _first(name: str, change: Change) -> Change:
    return lambda target: change(getattr(target, name)[0])


def _attribute(**kinds: Any) -> Change:
    return lambda target: _set(**kinds)(target.attributes.fields["k"])


def _nested_nan(target: Any) -> None:
    target.attributes.update({"list": [1, {"deep": 2}]})
    values = target.attributes.fields["list"].list_value.values
    values[1].struct_value.fields["deep"].number_value = float("nan")


# Rules of items, for messages and episodes alike.
ITEM_RULES: list[tuple[str, Change, str]] = [
    ("uuid", _set(uuid=""), INVALID),
    ("uuid", _set(uuid="u" * 129), LIMIT),
    ("uuid", _set(uuid="a\nb"), INVALID),
    ("uuid", _set(uuid="a\0"), INVALID),
    ("name", _set(name=""), INVALID),
    ("name", _set(name=" \t"), INVALID),
    ("name", _set(name="n\0"), INVALID),
    ("name", _set(name="n" * 21), LIMIT),
    ("name", _set(name=WIDE * 2), LIMIT),
    ("source_description", _set(source_description="d" * 41), LIMIT),
    ("source_description", _set(source_description="\0"), INVALID),
]
TIME_RULES: list[tuple[Change, str]] = [
    (lambda target: target.ClearField(_time_field(target)), INVALID),
    (_at(0, 1_000_000_000), INVALID),
    (_at(0, -1), INVALID),
    (_at(253_402_300_800), INVALID),
    (_at(-62_135_596_801), INVALID),
    (_at(2**62), INVALID),
]
CASES: list[tuple[str, Change, str, str]] = [
    *(("AddMessages", _first("messages", c), f"messages[0].{f}", e) for f, c, e in ITEM_RULES),
    *(("AddEpisodes", _first("items", c), f"items[0].{f}", e) for f, c, e in ITEM_RULES),
    *(("AddMessages", _first("messages", c), "messages[0].timestamp", e) for c, e in TIME_RULES),
    *(("AddEpisodes", _first("items", c), "items[0].reference_time", e) for c, e in TIME_RULES),
    *(("GetMemory", _first("messages", c), "messages[0].timestamp", e) for c, e in TIME_RULES),
    ("AddMessages", _first("messages", _clear("content")), "messages[0].content", INVALID),
    ("AddMessages", _first("messages", _set(content="x\0")), "messages[0].content", INVALID),
    ("AddMessages", _first("messages", _set(content="x" * 8_190)), "messages[0].content", LIMIT),
    ("AddMessages", _first("messages", _set(role_type=0)), "messages[0].role_type", INVALID),
    ("AddMessages", _first("messages", _set(role_type=9)), "messages[0].role_type", INVALID),
    ("AddMessages", _first("messages", _set(role="r" * 21)), "messages[0].role", LIMIT),
    ("AddMessages", _first("messages", _set(role="r\0")), "messages[0].role", INVALID),
    ("AddMessages", _clear("messages"), "messages", INVALID),
    ("AddMessages", _clear("group_id"), "group_id", INVALID),
    ("AddMessages", _set(group_id="  "), "group_id", INVALID),
    ("AddMessages", _set(group_id="g" * 129), "group_id", LIMIT),
    ("AddMessages", _set(group_id="g\x7f"), "group_id", INVALID),
    ("AddEpisodes", _first("items", _clear("body")), "items[0].body", INVALID),
    ("AddEpisodes", _first("items", _set(body="b" * 8_193)), "items[0].body", LIMIT),
    ("AddEpisodes", _first("items", _set(body="é" * 4_097)), "items[0].body", LIMIT),
    ("AddEpisodes", _first("items", _clear("source")), "items[0].source", INVALID),
    ("AddEpisodes", _first("items", _set(source=4)), "items[0].source", INVALID),
    ("AddEpisodes", _first("items", _set(source=2, body="{")), "items[0].body", INVALID),
    ("AddEpisodes", _first("items", _set(source=2, body='{"a": NaN}')), "items[0].body", INVALID),
    ("AddEpisodes", _first("items", _set(source=2, body="[" * 4_000)), "items[0].body", INVALID),
    ("AddEpisodes", _clear("items"), "items", INVALID),
    ("AddEpisodes", lambda i: i.items.extend([episode("x", 1)] * 4), "items", LIMIT),
    ("AddMessages", lambda i: i.messages.extend([message("x", 1)] * 4), "messages", LIMIT),
    ("AddEntityNode", _clear("uuid"), "uuid", INVALID),
    ("AddEntityNode", _clear("name"), "name", INVALID),
    ("AddEntityNode", _set(name="\u2003"), "name", INVALID),
    ("AddEntityNode", _set(name=WIDE * 2), "name", LIMIT),
    ("AddEntityNode", _set(summary="s" * 41), "summary", LIMIT),
    ("AddEntityNode", _set(summary="\0"), "summary", INVALID),
    ("AddEntityNode", _attribute(number_value=float("nan")), "attributes['k']", INVALID),
    ("AddEntityNode", _attribute(number_value=float("inf")), "attributes['k']", INVALID),
    ("AddEntityNode", _attribute(null_value=3), "attributes['k']", INVALID),
    ("AddEntityNode", _attribute(string_value="a\0"), "attributes['k']", INVALID),
    ("AddEntityNode", lambda i: i.attributes.fields["k"].SetInParent(), "attributes['k']", INVALID),
    ("AddEntityNode", lambda i: i.attributes.update({"a\0": 1}), "attributes['a\\x00']", INVALID),
    ("AddEntityNode", _nested_nan, "attributes['list'][1]['deep']", INVALID),
    ("AddEntityNode", _attribute(string_value="x" * 600), "attributes", LIMIT),
    ("AddEntityNode", _attribute(string_value="x" * 60_000), "attributes", LIMIT),
    ("GetReceipt", _clear("receipt_id"), "receipt_id", INVALID),
    ("WatchReceipt", _clear("receipt_id"), "receipt_id", INVALID),
    ("ListItems", _clear("group_id"), "group_id", INVALID),
    ("ListItems", lambda i: i.states.append(99), "states[1]", INVALID),
    ("ListItems", lambda i: i.states.append(0), "states[1]", INVALID),
    ("ListItems", _set(page_size=0), "page_size", INVALID),
    ("ListItems", _set(page_size=1_001), "page_size", LIMIT),
    ("ListItems", _set(page_token="not a token"), "page_token", INVALID),
    ("RetryItems", _clear("group_id"), "group_id", INVALID),
    ("RetryItems", _clear("uuids"), "uuids", INVALID),
    ("RetryItems", _set(all_parked=True), "uuids", INVALID),
    ("RetryItems", lambda i: i.uuids.extend("abcd"), "uuids", LIMIT),
    ("RetryItems", lambda i: i.uuids.append(""), "uuids[1]", INVALID),
    ("SearchFacts", _clear("group_ids"), "group_ids", INVALID),
    ("SearchFacts", lambda i: i.group_ids.append(""), "group_ids[1]", INVALID),
    ("SearchFacts", _clear("query"), "query", INVALID),
    ("SearchFacts", _set(query=" \n"), "query", INVALID),
    ("SearchFacts", _set(query="q\0"), "query", INVALID),
    ("SearchFacts", _set(query="q" * 201), "query", LIMIT),
    ("SearchFacts", _set(query=WIDE * 12), "query", LIMIT),
    ("SearchFacts", _set(max_facts=0), "max_facts", INVALID),
    ("SearchFacts", _set(max_facts=-1), "max_facts", INVALID),
    ("SearchFacts", _set(max_facts=101), "max_facts", LIMIT),
    ("SearchFacts", _set(center_node_uuid=""), "center_node_uuid", INVALID),
    ("GetMemory", _clear("group_id"), "group_id", INVALID),
    ("GetMemory", _clear("messages"), "messages", INVALID),
    ("GetMemory", _first("messages", _clear("content")), "messages[0].content", INVALID),
    ("GetMemory", _first("messages", _clear("role_type")), "messages[0].role_type", INVALID),
    ("GetMemory", _first("messages", _set(content="x" * 190)), "messages", LIMIT),
    ("GetMemory", _set(max_facts=101), "max_facts", LIMIT),
    ("GetEntityEdge", _clear("uuid"), "uuid", INVALID),
    ("GetEntityEdge", _set(group_id=""), "group_id", INVALID),
    ("GetEpisodes", _clear("group_id"), "group_id", INVALID),
    ("GetEpisodes", _clear("last_n"), "last_n", INVALID),
    ("GetEpisodes", _set(last_n=0), "last_n", INVALID),
    ("GetEpisodes", _set(last_n=1_001), "last_n", LIMIT),
    ("GetEpisodes", _set(page_size=0), "page_size", INVALID),
    ("GetEpisodes", _set(page_token="e30="), "page_token", INVALID),
    ("DeleteEntityEdge", _clear("uuid"), "uuid", INVALID),
    ("DeleteEpisode", _clear("uuid"), "uuid", INVALID),
    ("DeleteGroup", _clear("group_id"), "group_id", INVALID),
]


@pytest.mark.parametrize(("name", "change", "field", "code"), CASES)
async def test_violation_is_named(client: Client, name: str, change: Change, field: str, code: str) -> None:
    response = await call(client.channel, name, request(name, change).SerializeToString())
    assert response.status == envelope_pb2.STATUS_ERROR
    assert response.error.error_code == code
    assert [v.field for v in response.error.field_violations] == [f"input.{field}"]
    assert not response.HasField("output")


@pytest.mark.parametrize("name", sorted(set(METHODS) - {"StreamEpisodes", "Healthcheck", "ClearAll"}))
async def test_input_is_required(client: Client, name: str) -> None:
    bare = type(request(name))(request_id="r")
    response = await call(client.channel, name, bare.SerializeToString())
    assert response.error.error_code == INVALID
    assert [v.field for v in response.error.field_violations] == ["input"]
    assert response.request_id == "r"


@pytest.mark.parametrize("name", ["Healthcheck", "ClearAll"])
async def test_empty_input_may_be_left_out(client: Client, name: str) -> None:
    response = await call(client.channel, name, b"")
    assert response.status == envelope_pb2.STATUS_OK


@pytest.mark.parametrize("name", sorted(set(METHODS) - {"StreamEpisodes"}))
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


async def test_one_bad_item_refuses_the_whole_call(client: Client) -> None:
    made = request("AddEpisodes", lambda i: i.items.add(body="x", source=7))
    await call(client.channel, "AddEpisodes", made.SerializeToString())
    assert await client.get_episodes("g") == []


async def test_payload_over_s_is_a_limit_not_a_transport_error(client: Client) -> None:
    def fill(target: Any) -> None:
        target.items.extend([episode("b" * 8_000, at_ms) for at_ms in range(9)])

    response = await call(client.channel, "AddEpisodes", request("AddEpisodes", fill).SerializeToString())
    assert response.error.error_code == LIMIT
    assert "bytes" in response.error.message
    assert await client.get_episodes("g") == []


async def test_values_at_their_limits_are_accepted_whole(client: Client) -> None:
    first, last = -62_135_596_800_000, 253_402_300_799_999
    items = [episode("b" * 8_192, first, uuid="u" * 128, name="n" * 20), episode("x", last)]
    done = await client.add_episodes("g" * 128, items)
    assert done.accepted == 2
    kept = await client.get_episodes("g" * 128)
    assert [e.reference_time for e in kept] == [timestamp(first), timestamp(last)]
    assert (kept[0].body, kept[0].uuid, kept[0].name) == ("b" * 8_192, "u" * 128, "n" * 20)


async def test_times_finer_than_a_millisecond_are_floored(client: Client) -> None:
    fine = episode("fine", 0)
    fine.reference_time.CopyFrom(Timestamp(seconds=-1, nanos=999_999_999))
    await client.add_episodes("g", [fine])
    kept = await client.get_episodes("g")
    assert kept[0].reference_time == Timestamp(seconds=-1, nanos=999_000_000)


@pytest.mark.parametrize("uuid", ["not-a-uuid", "D1:1", " ", "é/ü", "x" * 128])
async def test_any_text_may_be_a_uuid(client: Client, uuid: str) -> None:
    done = await client.add_episodes("g", [episode("x", 1, uuid=uuid)])
    assert [item.uuid for item in done.items] == [uuid]


async def test_json_bodies_are_kept_as_sent(client: Client) -> None:
    body = '{"b": 1,\r\n "a": [true, null]}'
    await client.add_episodes("g", [episode(body, 1, source=types_pb2.SOURCE_JSON)])
    assert [e.body for e in await client.get_episodes("g")] == [body]
