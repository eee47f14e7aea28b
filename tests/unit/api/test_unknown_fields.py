"""Unknown fields are refused wherever they are, and named (docs/contract.md: strict)."""

from typing import Any

import pytest
from google.protobuf import struct_pb2

from kgsvc.api.checks import unknown_fields
from kgsvc.v1 import envelope_pb2, ingestion_pb2
from tests.support.client import Client
from tests.support.requests import METHODS, UNKNOWN_FIELD, UNKNOWN_NUMBER, messages_within, with_unknown_field
from tests.unit.api.samples import call, request

EVERYWHERE = [(name, path) for name in sorted(METHODS) for path, _ in messages_within(request(name))]


def _field(number: int, payload: bytes) -> bytes:
    """A length-delimited field of a small number."""
    return bytes([number << 3 | 2, len(payload)]) + payload


@pytest.mark.parametrize(("name", "path"), EVERYWHERE)
async def test_every_message_of_every_request_refuses_unknown_fields(
    client: Client, name: str, path: str
) -> None:
    response = await call(client.channel, name, with_unknown_field(request(name), path).SerializeToString())
    assert response.status == envelope_pb2.STATUS_ERROR
    assert response.error.error_code == "INVALID_ARGUMENT"
    assert [v.field for v in response.error.field_violations] == [f"{path}{UNKNOWN_NUMBER}"]


def test_the_table_reaches_structs_lists_and_maps() -> None:
    paths = [path for name, path in EVERYWHERE if name == "AddEntityNode"]
    assert "input.attributes.fields['age'].value." in paths
    assert any("list_value.values[1].struct_value.fields['deep'].value." in path for path in paths)


def _paths(raw: bytes, kind: Any = ingestion_pb2.AddEntityNodeRequest) -> list[str]:
    return [v.field for v in unknown_fields(kind.FromString(raw))]


def test_the_map_whose_entry_has_an_unknown_field_is_named() -> None:
    value = struct_pb2.Value(string_value="x").SerializeToString()
    entry = _field(1, b"key") + _field(2, value) + b"\x38\x05"
    assert _paths(_field(3, _field(5, _field(1, entry)))) == ["input.attributes.fields"]


def test_known_number_with_a_foreign_encoding_counts_as_unknown() -> None:
    assert _paths(b"\x08\x05") == ["1"]  # request_id, a string, sent as a number


def test_groups_are_skipped_whole() -> None:
    group = b"\xa3\x01" + b"\x08\x01" + b"\xab\x01\xac\x01" + b"\xa4\x01"  # 20 { 1: 1, 21 {} }
    assert _paths(_field(1, b"r") + group + UNKNOWN_FIELD) == ["20", "2047"]


def test_packed_and_unpacked_enums_are_both_known() -> None:
    for states in (_field(2, b"\x09\x01"), b"\x10\x09\x10\x01"):
        raw = _field(3, _field(1, b"g") + states) + UNKNOWN_FIELD
        assert _paths(raw, ingestion_pb2.ListItemsRequest) == ["2047"]


def test_all_are_named_but_not_without_end() -> None:
    assert _paths(UNKNOWN_FIELD * 3) == ["2047"] * 3
    assert len(_paths(UNKNOWN_FIELD * 500)) == 100


def test_nothing_is_said_of_a_request_that_is_known() -> None:
    made = request("AddEntityNode")
    assert unknown_fields(type(made).FromString(made.SerializeToString())) == []


def test_megabytes_of_unknown_fields_are_not_told_one_by_one() -> None:
    made = ingestion_pb2.AddEntityNodeRequest.FromString(UNKNOWN_FIELD * 30_000)
    assert [(v.field, v.description) for v in unknown_fields(made)] == [
        ("", "has fields that are not in this contract")
    ]
