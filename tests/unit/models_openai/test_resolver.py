"""The resolver through the real client: one call, nothing guessed."""

import json
from dataclasses import replace
from typing import Any

import pytest

from kgsvc.domain.errors import ModelOutputInvalid, ModelUnavailable
from kgsvc.domain.resolution.decisions import (
    FactQuestion,
    FactResolution,
    KnownEntity,
    KnownFact,
    KnownType,
    NodeQuestion,
    NodeResolution,
    ResolutionRequest,
    Verdict,
)
from kgsvc.models.prompts import resolution as prompts
from kgsvc.models.protocol import Resolver
from tests.support.scripted_openai import rate_limited, resolutions, says, status, verdict
from tests.unit.models_openai.conftest import Rig, assert_pinned

NOW = 1_715_938_200_000
REQUEST = ResolutionRequest(
    "g",
    nodes=(
        NodeQuestion(4, "Bob", "Person", "Bob moved to Oslo.", candidates=(0, 2), told_in=0),
        NodeQuestion(7, "Bobby", "Person", peers=(4,)),
    ),
    entities=(
        KnownEntity(0, "Robert Smith", "Person", "Works at Acme.", ("Rob",)),
        KnownEntity(1, "Nobody asked", "Person"),
        KnownEntity(2, "Bob Dylan", "Person"),
    ),
    facts=(FactQuestion(0, "Bob lives in Oslo.", "LIVES_IN", NOW, compare_with=(5, 6)),),
    known_facts=(
        KnownFact(5, "Robert Smith has his home in Oslo.", "HOME_IN", NOW - 1_000),
        KnownFact(6, "Robert Smith lives in Paris.", "LIVES_IN", invalid_ms=NOW),
        KnownFact(8, "Nobody asked.", "ASKS"),
    ),
    context=("Bob(user): I moved to Oslo.",),
)
GOOD = resolutions(
    {4: {"same_as_known": 0, "also_known": [2, 0], "full_name": " Robert  Smith "}, 7: {"same_as_new": 4}},
    {0: {"verdicts": [verdict(5, "repeats"), verdict(6, "replaced", "2024-05-01")]}},
)
MAY_MS = 1_714_521_600_000  # 2024-05-01T00:00:00Z
SAID = FactResolution({5: (Verdict.REPEATS, None), 6: (Verdict.REPLACED, MAY_MS)})  # by GOOD


def _without(answer: dict[str, Any], part: str, **changes: Any) -> str:
    """`answer` as JSON with its first entry of `part` changed."""
    first, *rest = answer[part]
    return json.dumps({**answer, part: [{**first, **changes}, *rest]})


async def test_names_and_facts_are_resolved_in_one_call(rig: Rig) -> None:
    rig.model.plan.script = lambda _: GOOD
    resolver: Resolver = rig.resolver()
    result = await resolver.resolve(REQUEST)
    assert result.resolutions.nodes == {
        4: NodeResolution(0, None, "Robert Smith", (2,)),
        7: NodeResolution(None, 4),
    }
    assert result.resolutions.facts == {0: SAID}
    assert result.usage.calls == len(rig.model.chats) == 1
    assert [(what, group) for what, group, _ in rig.meter.usages] == [("resolve", "g")]


async def test_the_request_is_the_pinned_one(rig: Rig) -> None:
    """A changed text needs a new prompts.VERSION, which names the pin."""
    await rig.resolver().resolve(REQUEST)
    assert_pinned(prompts.VERSION, rig.model.chats[0].body)


TYPED = replace(
    REQUEST,
    facts=(
        replace(REQUEST.facts[0], fact_types=("LIVES_IN", "BORN_IN")),
        FactQuestion(1, "Bob hums.", "HUMS", NOW, compare_with=(6,)),
    ),
    fact_types=(
        KnownType("LIVES_IN", "Somebody's home."),
        KnownType("BORN_IN", "Where somebody was born."),
        KnownType("WORKS_AT", "Offered to nobody."),
    ),
)


def _typed(**first: Any) -> dict[str, Any]:
    """An answer to TYPED that says this of its first fact."""
    return resolutions({4: {}, 7: {}}, {0: first, 1: {"fact_type": None}})


async def test_the_request_with_fact_types_is_the_pinned_one(rig: Rig) -> None:
    """Types are asked about only where there are any."""
    await rig.resolver().resolve(TYPED)
    assert_pinned(f"{prompts.VERSION}-typed", rig.model.chats[0].body)


async def test_a_fact_is_of_an_offered_type_or_keeps_its_relation(rig: Rig) -> None:
    rig.model.plan.script = lambda _: _typed(fact_type="LIVES_IN")
    result = await rig.resolver().resolve(TYPED)
    assert result.resolutions.facts == {0: FactResolution(fact_type="LIVES_IN"), 1: FactResolution()}


@pytest.mark.parametrize("wrong", ["WORKS_AT", "HUMS", "lives_in", 3, ["LIVES_IN"]])
async def test_a_type_that_was_not_offered_is_repaired_never_guessed(rig: Rig, wrong: Any) -> None:
    rig.model.plan.script = lambda _: _typed(fact_type="BORN_IN")
    rig.model.fail(says(json.dumps(_typed(fact_type=wrong))))
    assert (await rig.resolver().resolve(TYPED)).resolutions.facts[0].fact_type == "BORN_IN"
    assert "facts[0].fact_type" in rig.model.chats[1].body["messages"][-1]["content"]
    assert rig.meter.troubles == [("resolve", "wrong_ids")]


@pytest.mark.parametrize(
    "wrong",
    [
        resolutions({4: {}, 7: {}}, {0: {}, 1: {}}),  # asked for and not answered
        resolutions({4: {}, 7: {}}, {0: {"fact_type": None}, 1: {"fact_type": "LIVES_IN"}}),  # not offered
    ],
)
async def test_a_type_is_answered_where_it_is_offered_and_only_there(rig: Rig, wrong: Any) -> None:
    rig.model.plan.script = lambda _: _typed(fact_type=None)
    rig.model.fail(says(json.dumps(wrong)))
    result = await rig.resolver().resolve(TYPED)
    assert [found.fact_type for found in result.resolutions.facts.values()] == [None, None]
    assert rig.meter.operations == ["resolve", "repair"]


async def test_servers_without_schemas_are_told_the_form_with_types(rig: Rig) -> None:
    rig.model.fail(status(400, None, "'response_format' of this type is not supported."), times=2)
    rig.model.plan.script = lambda _: _typed(fact_type="LIVES_IN")
    assert (await rig.resolver().resolve(TYPED)).resolutions.facts[0].fact_type == "LIVES_IN"
    asked = rig.model.chats[-1].body
    assert "response_format" not in asked
    assert '"fact_type":{"type":["string","null"]}' in asked["messages"][0]["content"]


async def test_nothing_to_decide_asks_nobody(rig: Rig) -> None:
    assert not (await rig.resolver().resolve(ResolutionRequest("g"))).usage
    assert not rig.model.chats


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (json.dumps({**GOOD, "nodes": GOOD["nodes"][:1]}), "1 are missing"),
        (json.dumps({**GOOD, "nodes": [GOOD["nodes"][0]] * 2}), "nodes must answer every id exactly once"),
        (json.dumps({**GOOD, "facts": GOOD["facts"] * 241}), "facts has 241 members where 240 are allowed"),
        (_without(GOOD, "nodes", id=0), "nodes[0].id"),
        (_without(GOOD, "nodes", id="4"), "nodes[0].id"),
        (_without(GOOD, "nodes", same_as_known=1), "nodes[0].same_as_known"),  # exists, but was not offered
        (_without(GOOD, "nodes", same_as_known=-1), "nodes[0].same_as_known"),
        (_without(GOOD, "nodes", same_as_known=False), "nodes[0].same_as_known"),
        (_without(GOOD, "nodes", same_as_known=None, same_as_new=7), "nodes[0].same_as_new"),
        (_without(GOOD, "nodes", also_known=[1]), "nodes[0].also_known"),
        (_without(GOOD, "nodes", also_known=[None]), "nodes[0].also_known"),
        (_without(GOOD, "nodes", also_known=[2], same_as_known=None), "nodes[0].also_known"),
        (_without(GOOD, "nodes", also_new=[7]), "nodes[0].also_new"),
        (_without(GOOD, "nodes", also_known=[], same_as_known=None, also_new=[4]), "nodes[0].also_new"),
        (_without(GOOD, "facts", verdicts=[verdict(8, "repeats")]), "facts[0].verdicts"),
        (_without(GOOD, "facts", verdicts=[verdict(6, "replaced")] * 2), "facts[0].verdicts"),
        (_without(GOOD, "facts", verdicts=[verdict(6, "disputed")]), "facts[0].verdicts[0].verdict"),
        (_without(GOOD, "facts", verdicts=[verdict(6, "replaced", "lately")]), "facts[0].verdicts[0].since"),
        ("[]", "is not an object"),
    ],
)
async def test_a_wrong_number_is_repaired_never_guessed(rig: Rig, content: str, complaint: str) -> None:
    rig.model.plan.script = lambda _: GOOD
    rig.model.fail(says(content))
    assert (await rig.resolver().resolve(REQUEST)).resolutions.facts == {0: SAID}
    assert complaint in rig.model.chats[1].body["messages"][-1]["content"]
    assert rig.meter.operations == ["resolve", "repair"]
    assert rig.meter.troubles == [("resolve", "malformed" if content == "[]" else "wrong_ids")]


async def test_an_answer_that_cannot_be_taken_is_asked_for_again_and_the_others_stand(rig: Rig) -> None:
    rig.model.fail(says(_without(GOOD, "nodes", same_as_known=1)))
    only_the_missing = resolutions({4: {"same_as_known": 2}}, {})
    rig.model.plan.script = lambda _: only_the_missing
    result = await rig.resolver().resolve(REQUEST)
    assert result.resolutions.nodes == {4: NodeResolution(2), 7: NodeResolution(None, 4)}
    assert result.resolutions.facts == {0: SAID}
    assert (result.usage.calls, rig.meter.troubles) == (2, [("resolve", "wrong_ids")])


async def test_an_answer_that_cannot_be_taken_twice_fails_and_no_rule_steps_in(rig: Rig) -> None:
    rig.model.fail(says(_without(GOOD, "facts", verdicts=[verdict(8, "repeats")])), times=None)
    with pytest.raises(ModelOutputInvalid, match="facts must answer every id exactly once, 1 are missing"):
        await rig.resolver().resolve(REQUEST)
    assert rig.meter.operations == ["resolve", "repair"]


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        ({**GOOD, "nodes": [*GOOD["nodes"], *resolutions({99: {}})["nodes"]]}, "unknown_ref"),
        ({**GOOD, "facts": [*GOOD["facts"], *resolutions({}, {0: {}})["facts"]]}, "repeated"),
        (json.loads(_without(GOOD, "nodes", same_as_new="")), "empty_value"),
    ],
)
async def test_what_nobody_asked_for_is_left_out_and_counted(
    rig: Rig, reply: dict[str, Any], kind: str
) -> None:
    rig.model.plan.script = lambda _: reply
    result = await rig.resolver().resolve(REQUEST)
    assert result.resolutions.nodes[4] == NodeResolution(0, None, "Robert Smith", (2,))
    assert result.resolutions.facts == {0: SAID}
    assert (result.usage.calls, rig.meter.troubles) == (1, [("resolve", kind)])


@pytest.mark.parametrize(
    ("since", "ms", "kind"),
    [
        ("2024-05-01T00:00:00", MAY_MS, "time_without_zone"),
        ("2024-02-30", None, "no_such_time"),
        ("", None, "empty_value"),
    ],
)
async def test_a_time_since_when_goes_by_the_table(rig: Rig, since: str, ms: int | None, kind: str) -> None:
    rig.model.plan.script = lambda _: resolutions(
        {4: {}, 7: {}}, {0: {"verdicts": [verdict(6, "Replaced", since)]}}
    )
    result = await rig.resolver().resolve(REQUEST)
    assert result.resolutions.facts == {0: FactResolution({6: (Verdict.REPLACED, ms)})}
    assert (result.usage.calls, rig.meter.troubles) == (1, [("resolve", kind)])


async def test_persistent_nonsense_and_outages_are_step_errors_with_their_cost(rig: Rig) -> None:
    rig.model.fail(says("{}"), times=None)
    with pytest.raises(ModelOutputInvalid) as caught:
        await rig.resolver().resolve(REQUEST)
    assert caught.value.usage.calls == 2
    rig.model.heal()
    rig.model.fail(rate_limited(), times=None)
    with pytest.raises(ModelUnavailable):
        await rig.resolver().resolve(REQUEST)


async def test_many_questions_take_several_bounded_calls(rig: Rig) -> None:
    nodes = tuple(
        NodeQuestion(at, f"Node {at}", candidates=(at,), peers=(0,) if at else ()) for at in range(130)
    )
    entities = tuple(KnownEntity(at, f"Known {at}") for at in range(130))
    request = ResolutionRequest("g", nodes, entities, REQUEST.facts, REQUEST.known_facts)
    result = await rig.resolver().resolve(request)
    assert sorted(result.resolutions.nodes) == list(range(130))
    assert sorted(result.resolutions.facts) == [0]
    asked = [call.resolution for call in rig.model.chats]
    assert sorted(len(data["new_entities"]) for data in asked if data) == [10, 120]
    assert all(len(data["known_entities"]) <= 120 for data in asked if data)
    assert sum("other_new_entities" in data for data in asked if data) == 1
    assert result.usage == rig.meter.total


@pytest.mark.parametrize(
    "parts",
    [
        {"nodes": (NodeQuestion(0, "A", candidates=(3,)),)},
        {"nodes": (NodeQuestion(0, "A", peers=(1,)), NodeQuestion(1, "B"))},
        {"nodes": (NodeQuestion(0, "A"), NodeQuestion(0, "B"))},
        {"entities": (KnownEntity(0, "A"), KnownEntity(0, "B"))},
        {"facts": (FactQuestion(0, "f", "R", NOW, compare_with=(0,)),)},
        {"facts": (FactQuestion(0, "f", "R", NOW, fact_types=("LIVES_IN",)),)},
    ],
)
def test_questions_whose_numbers_do_not_fit_are_no_request(parts: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="resolution request"):
        ResolutionRequest("g", **parts)
