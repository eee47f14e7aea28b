"""The extractor through the real client against a scripted server: one call, healing, parking."""

import asyncio
import json
import logging
from collections.abc import Callable

import pytest

from kgsvc.domain.errors import ModelOutputInvalid, ModelUnavailable, StepError
from kgsvc.domain.limits import Limits
from kgsvc.domain.model.extraction import Extraction, ExtractionRequest
from kgsvc.domain.model.graph import Usage
from kgsvc.domain.resolution.decisions import KnownEntity, NodeQuestion, ResolutionRequest
from kgsvc.models.openai.chat import TooLong
from kgsvc.models.openai.extractor import OpenAIExtractor
from kgsvc.models.openai.resolver import OpenAIResolver
from kgsvc.models.openai.settings import ChatModel, Endpoint
from kgsvc.models.protocol import Extracted, Extractor
from tests.support.scripted_openai import (
    Outcome,
    dropped,
    hanging,
    rate_limited,
    refused,
    reply_body,
    says,
    status,
    truncated,
)
from tests.unit.models_openai.conftest import ALICE, KEY, Rig, episode, request

Check = Callable[[Extraction], None]


def _pieces(error: BaseException) -> str:
    """All that a log could print of an error."""
    return " ".join([str(error), repr(error), repr(error.__cause__), repr(error.args)])


async def test_one_call_per_episode(rig: Rig, alice: Check) -> None:
    result = await rig.extract()
    alice(result.extraction)
    assert len(rig.model.chats) == 1
    assert result.usage.calls == 1
    assert result.usage.prompt_tokens > 500
    assert result.usage.completion_tokens > 50


async def test_results_come_in_order_and_one_failure_fails_no_other(rig: Rig, alice: Check) -> None:
    rig.model.fail(refused(), match="refuse me")
    results = await rig.extractor().extract([request("refuse me"), request(), request("nothing to see")])
    assert isinstance(results[0], ModelOutputInvalid)
    assert isinstance(results[1], Extracted)
    alice(results[1].extraction)
    assert isinstance(results[2], Extracted)
    assert results[2].extraction.nodes == ()
    assert len(rig.model.chats) == 3


async def test_it_is_an_extractor_and_says_which(rig: Rig) -> None:
    extractor: Extractor = rig.extractor(ChatModel(model="some-model"))
    assert extractor.name == "openai:some-model"
    assert extractor.costs_model_calls


async def test_429_heals_after_the_pause_that_the_server_asked_for(rig: Rig, alice: Check) -> None:
    rig.model.fail(rate_limited(retry_after="7"))
    alice((await rig.extract()).extraction)
    assert rig.pauses == [7.0]
    assert len(rig.model.chats) == 2


async def test_429_with_a_date_or_milliseconds_heals(rig: Rig, alice: Check) -> None:
    rig.model.fail(rate_limited(retry_after="Tue, 14 Nov 2023 22:13:32 GMT"))  # 12 s after the test's now
    rig.model.fail(status(429, retry_after_ms="250"))
    alice((await rig.extract()).extraction)
    assert rig.pauses == [12.0, 0.25]


@pytest.mark.parametrize("said", ["nan", "inf", "-5", "soon", "1e999", ""])
async def test_429_with_a_senseless_pause_heals_all_the_same(rig: Rig, alice: Check, said: str) -> None:
    rig.model.fail(rate_limited(retry_after=said))
    alice((await rig.extract()).extraction)
    assert rig.pauses == [0.0]


async def test_429_that_asks_for_too_long_a_pause_is_left_to_the_queue(rig: Rig) -> None:
    rig.model.fail(rate_limited(retry_after="120"))
    with pytest.raises(ModelUnavailable) as caught:
        await rig.extract()
    assert caught.value.retry_after_ms == 120_000
    assert rig.pauses == []
    assert len(rig.model.chats) == 1


async def test_persistent_429_is_model_unavailable_with_the_pause(rig: Rig) -> None:
    rig.model.fail(rate_limited(retry_after="3"), times=None)
    with pytest.raises(ModelUnavailable, match="limits the rate") as caught:
        await rig.extract()
    assert caught.value.retry_after_ms == 3000
    assert len(rig.model.chats) == 3


async def test_used_up_quota_is_not_asked_again(rig: Rig) -> None:
    rig.model.fail(status(429, "insufficient_quota"), times=None)
    with pytest.raises(ModelUnavailable, match="quota"):
        await rig.extract()
    assert len(rig.model.chats) == 1


async def test_pauses_grow_at_random_within_bounds(rig: Rig) -> None:
    rig.model.fail(status(503), times=None)
    with pytest.raises(ModelUnavailable):
        await rig.extract(attempts=7, backoff_s=1.0, backoff_max_s=8.0)
    assert len(set(rig.pauses)) == 6
    assert all(0 < pause <= span for pause, span in zip(rig.pauses, [1, 2, 4, 8, 8, 8], strict=True))


async def test_timeout_heals(rig: Rig, alice: Check) -> None:
    rig.model.fail(hanging())
    alice((await rig.extract(timeout_s=1.0)).extraction)
    assert len(rig.model.chats) == 2


async def test_persistent_timeout_is_model_unavailable(rig: Rig) -> None:
    rig.model.fail(hanging(), times=None)
    with pytest.raises(ModelUnavailable, match="in time") as caught:
        await rig.extract(timeout_s=0.1)
    assert caught.value.retry_after_ms is None
    assert len(rig.pauses) == 2  # between three attempts; on a busy machine not each of them arrives in time


@pytest.mark.parametrize("fault", [dropped(), status(500), status(502), status(408), status(409)])
async def test_connection_drop_and_server_error_heal(rig: Rig, alice: Check, fault: Outcome) -> None:
    rig.model.fail(fault)
    alice((await rig.extract()).extraction)
    assert len(rig.model.chats) == 2


async def test_a_server_that_is_not_there_is_model_unavailable(rig: Rig) -> None:
    with pytest.raises(ModelUnavailable, match="connection"):
        await rig.extract(base_url="http://127.0.0.1:9/v1")
    assert len(rig.pauses) == 2


@pytest.mark.parametrize(("code", "word"), [(401, "credentials"), (403, "forbids"), (404, "model or path")])
async def test_4xx_of_the_account_is_said_clearly_and_not_repeated(rig: Rig, code: int, word: str) -> None:
    rig.model.fail(status(code), times=None)
    with pytest.raises(ModelUnavailable, match=word) as caught:
        await rig.extract()
    assert f"HTTP {code}" in str(caught.value)
    assert KEY not in _pieces(caught.value)
    assert len(rig.model.chats) == 1


async def test_a_request_refused_as_such_is_a_step_error(rig: Rig) -> None:
    rig.model.fail(status(400, "context_length_exceeded"))
    with pytest.raises(StepError, match=r"HTTP 400.*too long") as caught:
        await rig.extract()
    assert not isinstance(caught.value, ModelUnavailable)


async def test_truncated_answer_heals_by_one_repair_with_more_tokens(rig: Rig, alice: Check) -> None:
    rig.model.fail(truncated())
    result = await rig.extract()
    alice(result.extraction)
    first, second = rig.model.chats
    assert second.body["max_completion_tokens"] == 2 * first.body["max_completion_tokens"]
    assert "token limit" in second.body["messages"][-1]["content"]
    assert [message["role"] for message in second.body["messages"]] == ["system", "user", "user"]
    assert result.usage.calls == 2


@pytest.mark.parametrize(
    "content",
    [
        "Sure! Here are the facts.",
        "[]",
        '{"nodes": []}',
        '{"nodes": {}, "edges": []}',
        '{"nodes": [], "edges": [], "more": 1}',
        json.dumps(ALICE)[:-20],
        "",
    ],
)
async def test_wrong_shape_heals_by_one_repair(rig: Rig, alice: Check, content: str) -> None:
    rig.model.fail(says(content))
    result = await rig.extract()
    alice(result.extraction)
    assert len(rig.model.chats) == 2
    assert result.usage.calls == 2
    assert rig.model.chats[1].is_repair
    assert rig.pauses == []


async def test_the_repair_names_what_was_wrong_and_shows_the_answer(rig: Rig, alice: Check) -> None:
    wrong = json.loads(json.dumps(ALICE))
    wrong["edges"][0]["valid_at"] = "last Tuesday"
    rig.model.fail(says(json.dumps(wrong)))
    alice((await rig.extract()).extraction)
    *asked, shown, complaint = rig.model.chats[1].body["messages"]
    assert asked == rig.model.chats[0].body["messages"]
    assert shown == {"role": "assistant", "content": json.dumps(wrong)}
    assert "edges[0].valid_at is not null, an ISO 8601 time" in complaint["content"]
    assert "Tuesday" not in complaint["content"]


@pytest.mark.parametrize(
    "body", ["", "<html>busy</html>", "[]", "null", '{"choices": []}', '{"choices": [{"message": 5}]}']
)
async def test_a_reply_that_is_no_completion_heals(rig: Rig, alice: Check, body: str) -> None:
    rig.model.fail(reply_body(body))
    alice((await rig.extract()).extraction)


async def test_persistent_wrong_shape_fails_after_one_repair_with_a_reason_and_nothing_else(rig: Rig) -> None:
    half = json.loads(json.dumps(ALICE))
    half["edges"].append({"name": "KNOWS"})
    rig.model.fail(says(json.dumps(half)), times=None)
    extractor = rig.extractor()
    [result] = await extractor.extract([request()])
    assert isinstance(result, ModelOutputInvalid)
    assert str(result) == "the model's answer was rejected: edges[1].fact is missing"
    assert len(rig.model.chats) == 2
    assert result.usage == rig.meter.total
    assert rig.meter.operations == ["extract", "repair"]  # failed work is paid for, too


async def test_persistent_truncation_fails_after_one_repair(rig: Rig) -> None:
    rig.model.fail(truncated(), times=None)
    with pytest.raises(TooLong, match="token limit"):
        await rig.extract()
    assert len(rig.model.chats) == 2


async def test_more_repairs_or_none_as_configured(rig: Rig) -> None:
    rig.model.fail(says("no"), times=None)
    await rig.extractor(ChatModel(repair_attempts=0)).extract([request()])
    assert len(rig.model.chats) == 1
    await rig.extractor(ChatModel(repair_attempts=3)).extract([request()])
    assert len(rig.model.chats) == 5


async def test_refusal_is_final(rig: Rig) -> None:
    rig.model.fail(refused("not for you"), times=None)
    with pytest.raises(ModelOutputInvalid, match="refused") as caught:
        await rig.extract()
    assert "not for you" not in _pieces(caught.value)
    assert len(rig.model.chats) == 1


async def test_an_answer_beyond_the_byte_bound_is_refused_unread(rig: Rig) -> None:
    rig.model.fail(says("x" * 20_000))
    with pytest.raises(ModelOutputInvalid, match="larger than 10000 bytes"):
        await rig.extract(response_bytes=10_000)


async def test_no_more_calls_in_flight_than_configured(rig: Rig) -> None:
    rig.model.fail(hanging(), times=None)
    work = asyncio.ensure_future(rig.extractor(max_concurrency=3).extract([request()] * 12))
    await rig.model.received(2)
    rig.model.heal()
    results = await work
    assert all(isinstance(result, Extracted) for result in results)
    assert rig.model.in_flight_max == 2  # the third place is kept for what does not wait in a queue
    assert len(rig.model.chats) == 12


async def test_a_commits_call_does_not_stand_behind_extractions(rig: Rig) -> None:
    rig.model.fail(hanging(), times=2)
    chat = rig.chat(max_concurrency=3)
    work = asyncio.ensure_future(OpenAIExtractor(chat, Limits()).extract([request()] * 12))
    await rig.model.received(2)
    asked = ResolutionRequest("g", (NodeQuestion(0, "Al", candidates=(0,)),), (KnownEntity(0, "Alice"),))
    async with asyncio.timeout(20):
        answered = await OpenAIResolver(chat, Limits()).resolve(asked)
    assert (answered.usage.calls, len(rig.model.chats), work.done()) == (1, 3, False)
    rig.model.heal()
    assert len(await work) == 12
    assert rig.model.in_flight_max == 3


async def test_a_groups_backlog_does_not_hold_another_group_up(rig: Rig) -> None:
    """The next free place is that of the group with no call under way."""
    rig.model.fail(hanging(), times=2)
    extractor = rig.extractor(max_concurrency=3)
    flood = asyncio.ensure_future(extractor.extract([request()] * 12))
    await rig.model.received(2)
    single = asyncio.ensure_future(extractor.extract([request("A word of another.", group_id="h")]))
    for _ in range(20):
        await asyncio.sleep(0)
    rig.model.heal()
    await single
    await flood
    assert "A word of another." in json.dumps(rig.model.chats[2].body)


async def test_cancellation_passes_through_and_frees_the_slot(rig: Rig, alice: Check) -> None:
    rig.model.fail(hanging())
    extractor = rig.extractor(max_concurrency=1)
    work = asyncio.ensure_future(extractor.extract([request()]))
    await rig.model.received(1)
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    [result] = await extractor.extract([request()])
    assert isinstance(result, Extracted)
    alice(result.extraction)


async def test_tokens_that_the_server_miscounts_are_not_believed(rig: Rig) -> None:
    envelope = {
        "choices": [{"message": {"content": json.dumps(ALICE)}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": -5, "completion_tokens": "many"},
    }
    rig.model.fail(reply_body(json.dumps(envelope)))
    assert (await rig.extract()).usage == Usage(calls=1)


async def test_nothing_of_bodies_or_keys_in_errors_and_logs(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    secret = "Alice(user): my PIN is 4711."
    extractor: OpenAIExtractor = rig.extractor(attempts=2)
    for fault in [
        status(400),
        status(401),
        status(500),
        says(f'{{"PIN 4711": "{KEY}"}}'),
        refused("PIN 4711"),
    ]:
        rig.model.heal()
        rig.model.fail(fault, times=None)
        [result] = await extractor.extract([request(secret)])
        assert isinstance(result, StepError)
        for trace in (_pieces(result), caplog.text):
            assert "4711" not in trace
            assert KEY not in trace


async def test_the_key_is_sent_and_never_shown(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "someone-else")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "something-else")
    await rig.extractor().extract([request()])
    [call] = rig.model.chats
    assert call.headers["authorization"] == f"Bearer {KEY}"
    assert not {"openai-organization", "openai-project"} & call.headers.keys()
    assert KEY not in repr(Endpoint(base_url=rig.model.base_url, api_key=KEY))


async def test_previous_episodes_are_sent_latest_last_as_far_as_they_fit(rig: Rig) -> None:
    previous = [episode(f"{name}: {'x' * 40}", uuid=name) for name in ("oldest", "older", "latest")]
    await rig.extractor(ChatModel(context_chars=140)).extract([ExtractionRequest(episode(), previous)])
    said = rig.model.chats[0].body["messages"][1]["content"]
    assert "oldest:" not in said
    assert said.index("older:") < said.index("latest:") < said.index("I work at Acme")
