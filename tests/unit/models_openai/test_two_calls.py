"""Extraction in two smaller calls: the entities, then the facts between them."""

import json
from typing import Any

import pytest

from kgsvc.domain.errors import ModelOff, StepError
from kgsvc.models.openai.settings import ChatModel
from kgsvc.models.prompts import extraction as prompts
from kgsvc.models.protocol import Extracted
from tests.support.scripted_openai import Outcome, edge, node, refused, says
from tests.unit.models_openai.conftest import Rig, request

NODES = [node("a", "Alice", type="Person"), node("b", "Acme", type="Organization")]
FACT = edge("WORKS_AT", "Alice works at Acme.", "n1", "n2", kind="functional")


async def read(rig: Rig, *answers: Outcome | dict[str, Any]) -> Extracted | Exception:
    """What comes of these answers, in order."""
    for each in answers:
        rig.model.fail(each if isinstance(each, Outcome) else says(json.dumps(each)))
    [result] = await rig.extractor(ChatModel(model="m", two_calls=True)).extract([request()])
    return result


def asked(rig: Rig, call: int) -> tuple[str, list[str], dict[str, Any]]:
    """Of a call: its rules, the properties that its schema wants, and its data."""
    body = rig.model.chats[call].body
    schema = body["response_format"]["json_schema"]["schema"]
    text = body["messages"][1]["content"].removeprefix(prompts.OPEN).removesuffix(prompts.CLOSE)
    return body["messages"][0]["content"], schema["required"], json.loads(text)


async def test_entities_are_asked_for_then_the_facts_between_them(rig: Rig) -> None:
    result = await read(rig, {"nodes": NODES}, {"edges": [FACT]})
    assert isinstance(result, Extracted)
    assert [(each.name, each.type) for each in result.extraction.nodes] == [
        ("Alice", "Person"),
        ("Acme", "Organization"),
    ]
    assert [each.fact for each in result.extraction.edges] == ["Alice works at Acme."]
    assert result.usage.calls == 2
    rules, wanted, data = asked(rig, 0)
    assert (wanted, "nodes" in data) == (["nodes"], False)
    assert '# Facts: "edges"' not in rules
    rules, wanted, data = asked(rig, 1)
    assert wanted == ["edges"]
    assert '# Entities: "nodes"' not in rules
    assert data["nodes"] == [
        {"ref": "n1", "name": "Alice", "type": "Person"},
        {"ref": "n2", "name": "Acme", "type": "Organization"},
    ]


async def test_where_nothing_is_named_there_is_no_second_call(rig: Rig) -> None:
    result = await read(rig, {"nodes": []})
    assert isinstance(result, Extracted)
    assert (result.extraction.nodes, result.usage.calls, len(rig.model.chats)) == ((), 1, 1)


async def test_a_failed_second_call_says_what_the_first_cost(rig: Rig) -> None:
    result = await read(rig, {"nodes": NODES}, refused("no"))
    assert isinstance(result, StepError)
    assert result.usage.calls == 2


@pytest.mark.parametrize("ref", ["n3", "zz"])
async def test_a_fact_of_no_entity_is_dropped(rig: Rig, ref: str) -> None:
    result = await read(rig, {"nodes": NODES}, {"edges": [FACT, FACT, {**FACT, "target_ref": ref}]})
    assert isinstance(result, Extracted)
    assert len(result.extraction.edges) == 1
    assert [each.path for each in result.warnings] == ["edges[2].target_ref"]


async def test_a_process_that_leaves_finishes_the_item_and_begins_no_other(rig: Rig) -> None:
    rig.leaving = lambda: bool(rig.model.chats)  # once the first call has come
    rig.model.fail(says(json.dumps({"nodes": NODES})))
    rig.model.fail(says(json.dumps({"edges": [FACT]})))
    extractor = rig.extractor(ChatModel(model="m", two_calls=True), max_concurrency=1)
    first, second = await extractor.extract([request(), request()])
    assert isinstance(first, Extracted)
    assert isinstance(second, ModelOff)
    assert len(rig.model.chats) == 2
