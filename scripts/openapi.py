"""The OpenAPI document of the contract over HTTP, from descriptors and comments. Run by `make openapi`."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor, MethodDescriptor
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "kgsvc" / "api" / "http" / "openapi.json"
PACKAGE = "kgsvc.v1"
Json = dict[str, Any]

_T = FieldDescriptor
_INTEGER: Json = {"type": "integer", "format": "int32"}
# Answered as a string, since numbers of JSON lose digits; read as either.
_LONG: Json = {"type": ["string", "integer"], "format": "int64"}
_SCALARS: Mapping[int, Json] = {
    _T.TYPE_STRING: {"type": "string"},
    _T.TYPE_BOOL: {"type": "boolean"},
    _T.TYPE_BYTES: {"type": "string", "contentEncoding": "base64"},
    _T.TYPE_DOUBLE: {"type": "number", "format": "double"},
    _T.TYPE_INT32: _INTEGER,
    _T.TYPE_INT64: _LONG,
}
_WELL_KNOWN: Mapping[str, Json] = {
    "google.protobuf.Timestamp": {"type": "string", "format": "date-time"},
    "google.protobuf.Struct": {"type": "object"},
}
# Field numbers of descriptor.proto, by which comments say what they are about.
_MESSAGES, _ENUMS, _SERVICES = 4, 5, 6


def descriptors() -> tuple[FileDescriptorSet, DescriptorPool]:
    """The contract, with its comments and what it imports."""
    command = ["buf", "build", "-o", "-#format=binpb"]
    built = FileDescriptorSet.FromString(
        subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout
    )
    pool = DescriptorPool()
    for file in built.file:
        pool.AddSerializedFile(file.SerializeToString())
    return built, pool


def comments(files: Iterable[FileDescriptorProto]) -> dict[str, str]:
    """What is said above each service, method, message, field, enum and value, by full name."""
    found = {}
    for file in files:
        said = {tuple(each.path): each.leading_comments for each in file.source_code_info.location}
        for path, name in _named(file):
            text = re.sub(r"\s+", " ", said.get(path, "")).strip()
            found[f"{file.package}.{name}"] = text
    return found


def _named(file: FileDescriptorProto) -> Iterator[tuple[tuple[int, ...], str]]:
    """Where comments stand, and on what. The number of fields, methods and values is 2 alike."""
    kinds: Iterable[tuple[int, Iterable[Any], str]] = (
        (_MESSAGES, file.message_type, "field"),
        (_ENUMS, file.enum_type, "value"),
        (_SERVICES, file.service, "method"),
    )
    for kind, all_of_it, members in kinds:
        for at, each in enumerate(all_of_it):
            yield (kind, at), each.name
            for inner, member in enumerate(getattr(each, members)):
                yield (kind, at, 2, inner), f"{each.name}.{member.name}"


class Document:
    """Collects paths and the schemas that they need."""

    def __init__(self, said: Mapping[str, str]) -> None:
        self._said = said
        self._strict: set[str] = set()  # in requests alone: what else they hold is refused
        self.schemas: dict[str, Json] = {}

    def path(self, method: MethodDescriptor) -> Json:
        """What can be done with one path."""
        service, asked, answered = method.containing_service, method.input_type, method.output_type
        streams = method.client_streaming
        sent = "application/connect+json" if streams else "application/json"
        received = sent if streams else "text/event-stream" if method.server_streaming else sent
        return {
            "post": {
                "operationId": method.name,
                "tags": [service.name],
                "description": self._said[method.full_name],
                "parameters": [{"$ref": "#/components/parameters/timeout"}],
                "requestBody": {"required": True, "content": {sent: {"schema": _ref(asked)}}},
                "responses": {
                    "200": {
                        "description": _HOW[received],
                        "content": {received: {"schema": _ref(answered)}},
                    },
                    "4XX": {"$ref": "#/components/responses/refused"},
                    "5XX": {"$ref": "#/components/responses/failed"},
                },
            }
        }

    def describe(self, methods: Iterable[MethodDescriptor]) -> None:
        """Make a schema for everything that requests and answers hold."""
        methods = list(methods)
        asked = set[str]().union(*(_within(each.input_type) for each in methods))
        answered = set[str]().union(*(_within(each.output_type) for each in methods))
        self._strict = asked - answered
        for method in methods:
            for root in (method.input_type, method.output_type):
                self._add(root)
        self.schemas = dict(sorted(self.schemas.items()))

    def _add(self, kind: Descriptor) -> None:
        if kind.full_name in _WELL_KNOWN or kind.name in self.schemas:
            return
        made: Json = {"type": "object", "description": self._said[kind.full_name]}
        self.schemas[kind.name] = made
        made["properties"] = {field.json_name: self._field(field) for field in kind.fields}
        if kind.full_name in self._strict:
            made["additionalProperties"] = False

    def _field(self, field: FieldDescriptor) -> Json:
        about = {"description": self._said[field.full_name]}
        if _is_map(field):
            assert field.message_type is not None
            return about | {
                "type": "object",
                "additionalProperties": self._one(field.message_type.fields_by_name["value"]),
            }
        if field.is_repeated:
            return about | {"type": "array", "items": self._one(field)}
        return about | self._one(field)

    def _one(self, field: FieldDescriptor) -> Json:
        """One value of a field."""
        if field.message_type is not None:
            known = _WELL_KNOWN.get(field.message_type.full_name)
            self._add(field.message_type)
            return dict(known) if known else _ref(field.message_type)
        if field.enum_type is not None:
            self._enum(field.enum_type)
            return {"$ref": f"#/components/schemas/{field.enum_type.name}"}
        return dict(_SCALARS[field.type])

    def _enum(self, kind: EnumDescriptor) -> None:
        values = [f"{each.name}: {self._said[f'{kind.full_name}.{each.name}']}" for each in kind.values]
        self.schemas[kind.name] = {
            "type": "string",
            "description": " ".join([self._said[kind.full_name], *values]),
            "enum": [each.name for each in kind.values],
        }


_HOW = {
    "application/json": "The answer.",
    "text/event-stream": "Events: `answer` with such a message, as often as there is one, then `end` or"
    " `error`. Asked for by `accept: text/event-stream`.",
    "application/connect+json": "A stream of Connect: such messages, each behind flags and length.",
}


def _ref(kind: Descriptor) -> Json:
    return {"$ref": f"#/components/schemas/{kind.name}"}


def _is_map(field: FieldDescriptor) -> bool:
    return field.message_type is not None and field.message_type.GetOptions().map_entry


def _within(kind: Descriptor) -> set[str]:
    """The messages that a message can hold, and itself."""
    found, left = set[str](), [kind]
    while left:
        each = left.pop()
        if each.full_name not in found:
            found.add(each.full_name)
            left += [field.message_type for field in each.fields if field.message_type is not None]
    return found


def _error(said: str) -> Json:
    return {
        "description": said,
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/ConnectError"}}},
    }


_CONNECT_ERROR: Json = {
    "type": "object",
    "description": "An error as Connect writes it; docs/http.md lists statuses and codes.",
    "required": ["code"],
    "properties": {
        "code": {"type": "string", "description": "The code of gRPC, such as invalid_argument."},
        "message": {"type": "string", "description": "One sentence for people."},
        "details": {
            "type": "array",
            "description": "The contract's error code, the fields that are wrong, the delay before a retry.",
            "items": {
                "type": "object",
                "required": ["type", "value"],
                "properties": {
                    "type": {
                        "type": "string",
                        "description": "A message of google.rpc, such as google.rpc.ErrorInfo.",
                    },
                    "value": {"type": "string", "contentEncoding": "base64", "description": "Its bytes."},
                    "debug": {"type": "object", "description": "The same in readable form."},
                },
            },
        },
    },
}
_TIMEOUT: Json = {
    "name": "connect-timeout-ms",
    "in": "header",
    "description": "How many milliseconds the caller waits.",
    "schema": {"type": "integer", "minimum": 0, "maximum": 1_000_000_000},
}


def make() -> Json:
    """The document."""
    built, pool = descriptors()
    ours = [file for file in built.file if file.package == PACKAGE]
    services = [
        pool.FindServiceByName(f"{PACKAGE}.{service.name}") for file in ours for service in file.service
    ]
    methods = sorted((each for s in services for each in s.methods), key=lambda each: each.full_name)
    said = comments(ours)
    document = Document(said)
    document.describe(methods)
    paths = {f"/{each.containing_service.full_name}/{each.name}": document.path(each) for each in methods}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "kgsvc",
            "version": PACKAGE.rpartition(".")[2],
            "summary": "The contract over HTTP, as JSON by the Connect protocol.",
            "description": "Field names may also be written as in the contract, as in group_id for groupId.",
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": "/"}],
        "security": [{}, {"token": []}],
        "tags": [{"name": each.name, "description": said[each.full_name]} for each in services],
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "parameters": {"timeout": _TIMEOUT},
            "responses": {
                "refused": _error("What was asked is wrong, not there, not allowed, or too much."),
                "failed": _error("The service could not answer."),
            },
            "schemas": document.schemas | {"ConnectError": _CONNECT_ERROR},
        },
    }


def text() -> str:
    """The document as it stands in the repository."""
    return json.dumps(make(), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    TARGET.write_text(text(), encoding="utf-8")
