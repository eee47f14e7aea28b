"""The OpenAPI document: it is one, it is that of the present contract, and requests fit it."""

import json
from typing import Any

import pytest
from google.protobuf import json_format
from jsonschema import Draft202012Validator, ValidationError
from openapi_spec_validator import OpenAPIV31SpecValidator
from referencing import Registry, Resource

from scripts import openapi
from tests.support.contract import METHODS, path, request_of
from tests.support.requests import inputs

WRITTEN = openapi.TARGET.read_text(encoding="utf-8")
DOCUMENT: dict[str, Any] = json.loads(WRITTEN)


def test_the_document_is_that_of_the_contract() -> None:
    assert openapi.text() == WRITTEN, "run `make openapi`"


def test_the_document_is_openapi() -> None:
    OpenAPIV31SpecValidator(DOCUMENT).validate()


def test_every_method_and_everything_in_it_is_described() -> None:
    assert {path(name) for name in METHODS} == DOCUMENT["paths"].keys()
    assert all(each["post"]["description"] for each in DOCUMENT["paths"].values())
    for name, schema in DOCUMENT["components"]["schemas"].items():
        assert schema["description"], name
        assert all(each["description"] for each in schema.get("properties", {}).values()), name


def checked(name: str, value: Any) -> None:
    """Raises ValidationError if a value is no message of this name."""
    whole = Resource.from_contents({"$schema": "https://json-schema.org/draft/2020-12/schema", **DOCUMENT})
    registry = Registry().with_resource("urn:contract", whole)
    schema = {"$ref": f"urn:contract#/components/schemas/{name}"}
    Draft202012Validator(schema, registry=registry).validate(value)


@pytest.mark.parametrize("name", sorted(inputs("g")))
def test_complete_requests_fit_their_schemas_and_others_do_not(name: str) -> None:
    kind = METHODS[name].input_type.name
    sent = json_format.MessageToDict(request_of(name, **inputs("g")[name]))
    checked(kind, sent)
    for wrong in ({"nosuch": 1}, {"requestId": 7}, {"input": [sent["input"]]}):
        with pytest.raises(ValidationError):
            checked(kind, sent | wrong)
