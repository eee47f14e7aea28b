"""Models in the wild: servers that know less, answers that are no use, texts that are too long."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from kgsvc.domain.errors import ModelOutputInvalid, StepError
from kgsvc.domain.limits import Limits
from kgsvc.domain.model.extraction import Extraction, ExtractionRequest
from kgsvc.domain.resolution.decisions import KnownEntity, NodeQuestion, ResolutionRequest
from kgsvc.models.openai.chat import Chat
from kgsvc.models.openai.extractor import OpenAIExtractor
from kgsvc.models.openai.resolver import OpenAIResolver
from kgsvc.models.openai.settings import ChatModel
from kgsvc.models.protocol import Extracted
from tests.support.scripted_openai import (
    Outcome,
    Request,
    answer,
    edge,
    node,
    refused,
    reply_body,
    says,
    status,
    truncated,
)
from tests.unit.models_openai.conftest import ALICE, ALICE_BODY, Rig, episode, request

Check = Callable[[Extraction], None]
Body = dict[str, Any]


def _form(body: Body) -> str:
    return str(body.get("response_format", {}).get("type", "text"))


def _knows(*forms: str) -> Callable[[Request], Outcome | None]:
    """A server that takes only these forms of answer."""

    def script(asked: Request) -> Outcome | None:
        if _form(dict(asked.body)) in forms:
            return None
        return status(400, None, "Invalid parameter: 'response_format' of this type is not supported.")

    return script


@pytest.mark.parametrize(
    ("known", "asked"),
    [
        (("json_schema",), ["json_schema"]),
        (("json_object", "text"), ["json_schema", "json_object"]),
        (("text",), ["json_schema", "json_object", "text"]),
    ],
)
async def test_a_server_without_schemas_is_asked_as_it_understands_and_only_found_out_once(
    rig: Rig, alice: Check, known: tuple[str, ...], asked: list[str]
) -> None:
    rig.model.plan.script = _knows(*known)
    chat = rig.chat()
    extractor, resolver = OpenAIExtractor(chat, Limits()), OpenAIResolver(chat, Limits())
    for _ in range(2):
        [result] = await extractor.extract([request()])
        assert isinstance(result, Extracted)
        alice(result.extraction)
        assert result.usage.calls == 1
    await resolver.resolve(
        ResolutionRequest("g", (NodeQuestion(0, "Al", candidates=(0,)),), (KnownEntity(0, "Alice"),))
    )
    assert [_form(dict(call.body)) for call in rig.model.chats] == [*asked, asked[-1], asked[-1]]
    assert rig.meter.troubles == [("extract", "unsupported")] * (len(asked) - 1)
    system = rig.model.chats[-1].body["messages"][0]["content"]
    assert ('"same_as_known"' in system.partition("# Form of the answer")[2]) == (asked[-1] != "json_schema")


@pytest.mark.parametrize(
    ("said", "refuses", "changes"),
    [
        (
            "Unsupported parameter: 'max_completion_tokens'. Use 'max_tokens' instead.",
            lambda body: "max_completion_tokens" in body,
            lambda body: body["max_tokens"] == 8_192,
        ),
        (
            "max_completion_tokens is too large: 8192. This model supports at most 4096 completion tokens.",
            lambda body: body["max_completion_tokens"] > 4096,
            lambda body: body["max_completion_tokens"] == 4096,
        ),
        (
            "Unsupported value: 'temperature' does not support 0.5 with this model.",
            lambda body: "temperature" in body,
            lambda body: "temperature" not in body,
        ),
    ],
)
async def test_a_parameter_that_is_refused_is_left_out_or_lowered_from_then_on(
    rig: Rig, alice: Check, said: str, refuses: Callable[[Body], bool], changes: Callable[[Body], bool]
) -> None:
    rig.model.plan.script = lambda asked: status(400, None, said) if refuses(dict(asked.body)) else None
    extractor = rig.extractor(ChatModel(model="m", temperature=0.5))
    for _ in range(2):
        [result] = await extractor.extract([request()])
        assert isinstance(result, Extracted)
        alice(result.extraction)
    assert len(rig.model.chats) == 3
    assert all(changes(dict(call.body)) for call in rig.model.chats[1:])


async def test_a_refusal_for_another_reason_teaches_nothing(rig: Rig) -> None:
    """Some servers quote the whole request in every error."""
    quoting = "no such tenant; the request was {response_format: …, max_completion_tokens: 8192}"
    rig.model.fail(status(400, None, quoting), times=None)
    extractor = rig.extractor()
    [result] = await extractor.extract([request()])
    assert isinstance(result, StepError)
    rig.model.heal()
    await extractor.extract([request()])
    assert _form(dict(rig.model.chats[-1].body)) == "json_schema"


async def test_a_server_that_takes_the_schema_and_ignores_it_is_shown_it(rig: Rig, alice: Check) -> None:
    rig.model.fail(says("Alice works at Acme."))
    extractor = rig.extractor()
    for _ in range(2):
        [result] = await extractor.extract([request()])
        assert isinstance(result, Extracted)
        alice(result.extraction)
    shown = ["# Form of the answer" in c.body["messages"][0]["content"] for c in rig.model.chats]
    assert shown == [False, True, True]
    assert rig.meter.troubles == [("extract", "malformed")]


@pytest.mark.parametrize(
    "around", ["```json\n{}\n```", "<think>An {answer}.</think>\n{}", "Here it is:\n{}\nAnything else?"]
)
async def test_what_models_put_around_json_is_taken_off(rig: Rig, alice: Check, around: str) -> None:
    rig.model.fail(says(around.replace("{}", json.dumps(ALICE))))
    alice((await rig.extract()).extraction)
    assert len(rig.model.chats) == 1


@pytest.mark.parametrize(
    ("fault", "kind", "calls"),
    [
        (refused(), "refused", 1),
        (says(""), "empty", 2),
        (reply_body('{"choices": []}'), "empty", 2),
        (says("no"), "malformed", 2),
        (says(json.dumps(answer(nodes=[node("n1", "")]))), "invalid", 2),
        (says(json.dumps(answer([node("n1", "A")], [edge("KNOWS", "f", "n1", "n5")]))), "wrong_ids", 2),
        (truncated(), "truncated", 2),
        (status(400, "context_length_exceeded", "maximum context length"), "too_long", 1),
    ],
)
async def test_each_failure_is_counted_by_its_kind(rig: Rig, fault: Outcome, kind: str, calls: int) -> None:
    rig.model.fail(fault, times=None)
    [result] = await rig.extractor().extract([request()])
    assert isinstance(result, StepError)
    assert set(rig.meter.troubles) == {("extract", kind)}
    assert len(rig.model.chats) == calls
    assert result.usage == rig.meter.total


def _story(count: int) -> str:
    """Paragraphs of about 100 characters about person 0, person 1 …"""
    return "\n\n".join(f"Person {at} works at Acme. {'It is told at length. ' * 4}" for at in range(count))


def _told(asked: Request) -> Body:
    """Who a part names, each with the ref n1: parts do not know one another."""
    named = [word for word in range(100) if f"Person {word} works" in asked.text]
    people = [node(f"n{at + 2}", f"Person {word}") for at, word in enumerate(named)]
    works = [edge("WORKS_AT", f"Person {w} works at Acme.", f"n{at + 2}", "n1") for at, w in enumerate(named)]
    return answer([node("n1", "Acme"), *people], works)


def _everybody(result: Extracted | Exception, count: int) -> None:
    assert isinstance(result, Extracted)
    nodes, edges = result.extraction.nodes, result.extraction.edges
    assert sorted(each.name for each in nodes) == sorted(["Acme", *(f"Person {at}" for at in range(count))])
    names = {each.ref: each.name for each in nodes}
    assert len(names) == count + 1
    assert sorted(each.fact for each in edges) == sorted(
        f"{names[each.source_ref]} works at {names[each.target_ref]}." for each in edges
    )
    assert len(edges) == count


async def test_a_body_beyond_the_models_context_is_read_in_parts_from_the_start(rig: Rig) -> None:
    rig.model.plan.script = _told
    body = _story(20)
    [result] = await rig.extractor(ChatModel(body_chars=700)).extract([request(body)])
    _everybody(result, 20)
    assert isinstance(result, Extracted)
    texts = [call.text for call in rig.model.chats]
    assert all(len(text) <= 700 for text in texts)
    assert "".join(sorted(texts, key=body.index)) == body
    assert result.usage == rig.meter.total
    assert rig.meter.troubles == [("extract", "split")]
    assert "This is a part of a longer episode" in rig.model.chats[0].body["messages"][0]["content"]


async def test_an_answer_that_breaks_off_twice_makes_the_body_be_read_in_halves(rig: Rig) -> None:
    rig.model.plan.script = _told
    body = _story(12)
    rig.model.fail(truncated(), match=body, times=None)
    [result] = await rig.extractor(ChatModel(max_output_tokens=600)).extract([request(body)])
    _everybody(result, 12)
    assert [call.body["max_completion_tokens"] for call in rig.model.chats] == [600, 1200, 600, 600]
    assert rig.meter.troubles == [("extract", "truncated")] * 2 + [("extract", "split")]
    assert isinstance(result, Extracted)
    assert result.usage == rig.meter.total


async def test_a_prompt_too_long_for_the_model_makes_the_body_be_read_in_smaller_parts(rig: Rig) -> None:
    def script(asked: Request) -> Outcome | Body:
        too_long = status(400, "context_length_exceeded", "This model's maximum context length is small.")
        return too_long if len(asked.text) > 500 else _told(asked)

    rig.model.plan.script = script
    [result] = await rig.extractor().extract([request(_story(12))])
    _everybody(result, 12)


async def test_a_text_that_never_fits_ends_after_a_bounded_number_of_calls(rig: Rig) -> None:
    rig.model.fail(truncated(), times=None)
    [result] = await rig.extractor().extract([request(_story(99))])
    assert isinstance(result, StepError)
    assert len(rig.model.chats) <= 2 * (1 + 2 + 4 + 8 + 16)
    assert result.usage == rig.meter.total


async def test_one_part_that_fails_fails_the_episode_with_the_cost_of_all(rig: Rig) -> None:
    rig.model.plan.script = _told
    rig.model.fail(refused(), match="Person 9 ")
    [result] = await rig.extractor(ChatModel(body_chars=700)).extract([request(_story(20))])
    assert isinstance(result, ModelOutputInvalid)
    assert result.usage == rig.meter.total


async def test_of_merged_parts_nothing_is_left_out(rig: Rig) -> None:
    rig.model.plan.script = _told
    chat = Chat(rig.transport(), ChatModel(body_chars=700))
    extractor = OpenAIExtractor(chat, Limits(nodes_per_extraction=10, edges_per_extraction=8))
    [result] = await extractor.extract([ExtractionRequest(episode(_story(20)))])
    _everybody(result, 20)


async def test_an_answer_with_more_than_it_may_hold_is_asked_for_in_halves(rig: Rig) -> None:
    rig.model.plan.script = _told
    chat = Chat(rig.transport(), ChatModel(body_chars=10_000))
    extractor = OpenAIExtractor(chat, Limits(nodes_per_extraction=10, edges_per_extraction=8))
    [result] = await extractor.extract([ExtractionRequest(episode(_story(20)))])
    _everybody(result, 20)
    assert not any("members where" in asked.text for asked in rig.model.chats), "nobody asks it to leave out"


async def test_a_short_body_is_sent_whole(rig: Rig, alice: Check) -> None:
    alice((await rig.extract()).extraction)
    assert rig.model.chats[0].text == ALICE_BODY
