"""Second looks at an episode: what was missed is asked for, fed back and merged."""

import json

import pytest

from kgsvc.domain.model.extraction import Extraction
from kgsvc.domain.model.items import ItemWarning
from kgsvc.models.openai.settings import ChatModel
from kgsvc.models.prompts import extraction as prompts
from kgsvc.models.protocol import Extracted
from tests.support.scripted_openai import Outcome, Request, answer, edge, node, refused, says, status
from tests.unit.models_openai.conftest import ALICE, Rig, assert_pinned, request

MISSED = answer(
    nodes=[node("n3", "Oslo", type="Location"), node("n4", "acme", summary="An employer.")],
    edges=[edge("IS_IN", "Acme is in Oslo.", "n2", "n3"), *ALICE["edges"]],
)


async def _extracted(rig: Rig, rounds: int) -> Extracted:
    [result] = await rig.extractor(ChatModel(model="m", reflexion_rounds=rounds)).extract([request()])
    assert isinstance(result, Extracted)
    return result


def _names(extraction: Extraction) -> list[str]:
    return [each.name for each in extraction.nodes]


async def test_what_was_missed_is_merged_until_nothing_is(rig: Rig) -> None:
    looks: list[Request] = []

    def script(asked: Request) -> dict[str, object] | None:
        if not asked.is_reflexion:
            return None
        looks.append(asked)
        return MISSED if len(looks) == 1 else answer()

    rig.model.plan.script = script
    result = await _extracted(rig, rounds=3)
    assert _names(result.extraction) == ["Alice", "Acme", "Oslo"]
    assert result.extraction.nodes[1].summary == "An employer."
    stated = [(each.name, each.source_ref, each.target_ref) for each in result.extraction.edges]
    assert stated == [("WORKS_AT", "n1", "n2"), ("IS_IN", "n2", "n3")]
    assert rig.meter.operations == ["extract", "reflexion", "reflexion"]  # the second found nothing: no third
    assert result.usage == rig.meter.total
    shown = json.loads(looks[1].body["messages"][2]["content"])
    assert [each["name"] for each in shown["nodes"]] == ["Alice", "Acme", "Oslo"]
    assert [each["fact"] for each in shown["edges"]] == ["Alice works at Acme.", "Acme is in Oslo."]


@pytest.mark.parametrize(("rounds", "calls"), [(0, 1), (1, 2), (2, 3), (3, 4)])
async def test_no_more_rounds_than_configured(rig: Rig, rounds: int, calls: int) -> None:
    def script(asked: Request) -> dict[str, object] | None:
        new = f"Thing {len(rig.model.chats)}"
        return answer(nodes=[node(f"x{new}", new)]) if asked.is_reflexion else None

    rig.model.plan.script = script
    result = await _extracted(rig, rounds)
    assert len(rig.model.chats) == calls
    assert len(result.extraction.nodes) == 2 + rounds


@pytest.mark.parametrize(
    "fault",
    [
        refused(),
        says("nothing is missing"),
        says(json.dumps(answer(edges=[edge("KNOWS", "Alice knows a ghost.", "n1", "n9")]))),
        status(401),
    ],
)
async def test_a_look_that_fails_loses_nothing_that_was_found(rig: Rig, fault: Outcome) -> None:
    rig.model.plan.script = lambda asked: fault if asked.is_reflexion else None
    result = await _extracted(rig, rounds=3)
    assert _names(result.extraction) == ["Alice", "Acme"]
    assert len(rig.model.chats) == 2
    assert ("reflexion", "reflexion_lost") in rig.meter.troubles
    assert result.usage == rig.meter.total


async def test_a_ref_that_is_taken_stays_with_what_was_found_first(rig: Rig) -> None:
    taken = answer([node("n1", "Oslo")], [edge("LIVES_IN", "Alice lives in Oslo.", "n1", "Oslo")])
    rig.model.plan.script = lambda asked: taken if asked.is_reflexion else None
    result = await _extracted(rig, rounds=1)
    assert _names(result.extraction) == ["Alice", "Acme", "Oslo"]
    assert [(each.source_ref, each.target_ref) for each in result.extraction.edges][1:] == [("n1", "n3")]
    assert result.warnings == (ItemWarning("reflexion.nodes[2].ref", "repeated"),)
    assert rig.meter.troubles == [("reflexion", "repeated")]


async def test_the_question_is_the_pinned_one(rig: Rig) -> None:
    """A changed text needs a new prompts.REFLEXION_VERSION, which names the pin."""
    await _extracted(rig, rounds=1)
    first, look = (call.body["messages"] for call in rig.model.chats)
    assert look[:2] == first
    assert_pinned(prompts.REFLEXION_VERSION, look[2:])
