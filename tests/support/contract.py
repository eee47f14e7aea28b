"""The contract by its descriptors: every method by its name, and requests made of plain values."""

from typing import Any

from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message_factory import GetMessageClass

from kgsvc.v1 import admin_pb2, ingestion_pb2, retrieval_pb2

_SERVICES = (
    ingestion_pb2.DESCRIPTOR.services_by_name["IngestionService"],
    retrieval_pb2.DESCRIPTOR.services_by_name["RetrievalService"],
    admin_pb2.DESCRIPTOR.services_by_name["AdminService"],
)
METHODS: dict[str, MethodDescriptor] = {method.name: method for s in _SERVICES for method in s.methods}


def path(name: str) -> str:
    """The full name of a method, as gRPC calls it."""
    method = METHODS[name]
    return f"/{method.containing_service.full_name}/{name}"


def request_of(name: str, /, **given: Any) -> Any:
    """A request of a method with this input."""
    request: Any = GetMessageClass(METHODS[name].input_type)()
    request.input.SetInParent()
    request.input.MergeFrom(type(request.input)(**given))
    return request


def response_class(name: str) -> Any:
    """What a method answers with."""
    return GetMessageClass(METHODS[name].output_type)
