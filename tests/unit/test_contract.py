"""The contract keeps the shapes of the specification: one envelope, its operations, its field names."""

import pytest
from google.protobuf.descriptor import Descriptor, FieldDescriptor, MethodDescriptor

from kgsvc.v1 import admin_pb2, ingestion_pb2, retrieval_pb2, types_pb2

FILES = (ingestion_pb2, retrieval_pb2, admin_pb2)
METHODS: dict[str, MethodDescriptor] = {
    method.name: method
    for file in FILES
    for service in file.DESCRIPTOR.services_by_name.values()
    for method in service.methods
}
ENVELOPED = sorted(set(METHODS) - {"StreamEpisodes", "StreamDocuments", "ImportGroup"})

# Spec 004 §4: the fields of each input, `?` marking those that may be absent, and the message put out.
INPUTS = {
    "Healthcheck": "",
    "AddMessages": "group_id messages",
    "AddEpisodes": "group_id items",
    "AddEntityNode": "uuid group_id name summary? attributes?",
    "SearchFacts": "group_ids query max_facts? center_node_uuid?",
    "GetEntityEdge": "uuid",
    "GetEpisodes": "group_id last_n?",
    "GetMemory": "group_id messages max_facts? center_node_uuid?",
    "DeleteEntityEdge": "uuid",
    "DeleteEpisode": "uuid",
    "DeleteGroup": "group_id",
    "ClearAll": "",
}
OUTPUTS = {
    "Healthcheck": "status",
    "AddMessages": "message accepted",
    "AddEpisodes": "receipt_id accepted",
    "AddEntityNode": "uuid group_id name summary? attributes? created_at",
    "SearchFacts": "facts",
    "GetEntityEdge": "uuid name fact valid_at? invalid_at? created_at expired_at?",
    "GetEpisodes": "episodes",
    "GetMemory": "facts",
    "DeleteEntityEdge": "message success",
    "DeleteEpisode": "message success",
    "DeleteGroup": "message success",
    "ClearAll": "message success",
}
TYPES = {
    "Message": "uuid? name? role_type role? content timestamp source_description?",
    "EpisodeItem": "uuid? name? source body reference_time source_description?",
    "MemoryMessage": "role_type role? content timestamp",
    "Episode": "uuid group_id name? body source reference_time created_at source_description?",
}


def part(message: Descriptor, field: str) -> Descriptor:
    """The type of a field that holds a message."""
    inner = message.fields_by_name[field].message_type
    assert inner is not None
    return inner


def missing(message: Descriptor, wanted: str) -> list[str]:
    """Wanted fields that are not there, or cannot tell absent from empty though they may be absent."""

    def fits(name: str) -> bool:
        field = message.fields_by_name.get(name.rstrip("?"))
        return field is not None and (field.has_presence or not name.endswith("?"))

    return [name for name in wanted.split() if not fits(name)]


def unasked(message: Descriptor, wanted: str) -> list[FieldDescriptor]:
    """Fields that the specification does not have."""
    known = wanted.replace("?", "").split()
    return [field for field in message.fields if field.name not in known]


@pytest.mark.parametrize("name", ENVELOPED)
def test_every_operation_wears_the_envelope(name: str) -> None:
    method = METHODS[name]
    assert [field.name for field in method.input_type.fields] == ["request_id", "idempotency_key", "input"]
    assert [field.name for field in method.output_type.fields] == ["request_id", "status", "output", "error"]
    assert not missing(method.input_type, "request_id? idempotency_key? input?")
    assert part(method.input_type, "input").name == f"{name}Input"


@pytest.mark.parametrize("name", sorted(INPUTS))
def test_operations_have_the_fields_of_the_spec(name: str) -> None:
    request = part(METHODS[name].input_type, "input")
    output = part(METHODS[name].output_type, "output")
    assert not missing(request, INPUTS[name])
    assert not missing(output, OUTPUTS[name])
    assert all(field.has_presence or field.is_repeated for field in unasked(request, INPUTS[name]))


@pytest.mark.parametrize("name", sorted(TYPES))
def test_types_have_the_fields_of_the_spec(name: str) -> None:
    message = types_pb2.DESCRIPTOR.message_types_by_name[name]
    assert not missing(message, TYPES[name])
    assert all(field.has_presence or field.is_repeated for field in unasked(message, TYPES[name]))


def test_only_the_streaming_calls_stream() -> None:
    streams = {name: (m.client_streaming, m.server_streaming) for name, m in METHODS.items()}
    assert {name: kinds for name, kinds in streams.items() if any(kinds)} == {
        "StreamEpisodes": (True, True),
        "StreamDocuments": (True, True),
        "WatchReceipt": (False, True),
        "Ask": (False, True),
        "WatchGroup": (False, True),
        "ExportGroup": (False, True),
        "ImportGroup": (True, True),
    }
