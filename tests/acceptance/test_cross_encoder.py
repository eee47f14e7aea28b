"""SearchGraph by the ratings of a model, and what answers where there are none."""

import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import TypeAlias

import pytest
import pytest_asyncio

from kgsvc.models.prompts.retrieval import RELEVANCE_MARK
from kgsvc.v1 import retrieval_pb2 as ret
from kgsvc.v1 import types_pb2 as typ
from tests.acceptance.graph_searches import BFS, BM25, COSINE, facts_by, graph, texts
from tests.acceptance.saying import JAN, brevity, fact, telling
from tests.acceptance.shared import scripted
from tests.acceptance.test_communities import two_teams
from tests.support.client import Client, timestamp
from tests.support.communities import built
from tests.support.scripted_openai import (
    Outcome,
    Request,
    ScriptedOpenAI,
    dropped,
    hanging,
    rate_limited,
    refused,
    replies,
    says,
    status,
    truncated,
)
from tests.support.scripted_openai.replies import as_content
from tests.support.service import Service
from tests.support.store_spec import StoreSpec

SHOWN = 6
SETTINGS = {
    "retrieval.rerank_timeout_s": "60",
    "retrieval.rerank_candidates": str(SHOWN),
    "server.metrics_listen": "127.0.0.1:0",
}
RATED = ret.RERANKER_CROSS_ENCODER
RECIPE = ret.SEARCH_RECIPE_EDGE_HYBRID_SEARCH_CROSS_ENCODER
COMBINED = ret.SEARCH_RECIPE_COMBINED_HYBRID_SEARCH_CROSS_ENCODER
QUERY = "red car tea"
TEXTS = (
    "Ann sold her red car and drinks tea with a red nose",
    "Bob drives the red car of Ann to the tea house",
    "Cid has a very red car",
    "Dan likes red tea",
    "Eve has tea",
)
Reason: TypeAlias = "ret.RerankerReason.ValueType"


async def told(client: Client, group: str) -> None:
    """Facts of which the shortest say the least."""
    links = zip(pairwise(("Ann", "Bob", "Cid", "Dan", "Eve", "Fay")), TEXTS, strict=True)
    said = [fact("KNOWS", source, target, text) for (source, target), text in links]
    await client.ingest(group, [telling(JAN + n, each) for n, each in enumerate(said)])


def asked(model: ScriptedOpenAI) -> list[Request]:
    """The calls that asked for ratings."""
    return [request for request in model.chats if request.relevance is not None]


def passages(request: Request) -> list[str]:
    """What the model was shown."""
    assert request.relevance is not None
    return [each["text"] for each in request.relevance["passages"]]


async def metrics(service: Service) -> str:
    """What the server counts."""
    return await service.metrics()


@asynccontextmanager
async def another(
    spec: StoreSpec, settings: Mapping[str, str], tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Client]:
    """A server without workers on the module's store."""
    folder = tmp_path_factory.mktemp("another")
    given = {**settings, **spec.settings, "server.role": "api"}
    async with Service(given, folder) as running, Client(running.address) as connected:
        yield connected


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def hurried(
    spec: StoreSpec, service: Service, model: ScriptedOpenAI, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Client]:
    """A server that does not wait for a model."""
    settings = scripted(model) | {"retrieval.rerank_timeout_s": "0.001"}
    async with another(spec, settings, tmp_path_factory) as connected:
        yield connected


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def modelless(
    spec: StoreSpec, service: Service, model: ScriptedOpenAI, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Client]:
    """A server that has an embedder and no model."""
    async with another(
        spec, scripted(model) | {"models.extractor": "offline"}, tmp_path_factory
    ) as connected:
        yield connected


async def falls_back(client: Client, group: str, reason: Reason) -> None:
    """The answer is that of RRF, and says so; a least score is one of the model's."""
    plain = await graph(client, group, QUERY, scopes=facts_by(BM25, COSINE, BFS), include_scores=True)
    found = await graph(client, group, QUERY, recipe=RECIPE, include_scores=True, min_score=0.5)
    assert list(found.facts) == list(plain.facts)
    assert found.count == len(TEXTS)
    (run,) = found.ran
    assert (run.reranker, run.reason) == (ret.RERANKER_RRF, reason)
    assert not plain.ran[0].HasField("reason")


async def test_the_model_makes_the_order(client: Client, group: str, model: ScriptedOpenAI) -> None:
    await told(client, group)
    before = len(asked(model))
    found = await graph(client, group, QUERY, recipe=RECIPE, include_scores=True)
    assert texts(found) == sorted(TEXTS, key=brevity, reverse=True)
    assert [hit.score for hit in found.facts] == [brevity(text) / 100 for text in texts(found)]
    assert all(hit.found_by for hit in found.facts)
    (run,) = found.ran
    assert (list(run.methods), run.reranker) == ([BM25, COSINE, BFS], RATED)
    assert not run.HasField("reason")
    (call,) = asked(model)[before:]
    fused = await graph(client, group, QUERY, scopes=facts_by(BM25, COSINE, BFS))
    assert passages(call) == texts(fused), "in the fused order"
    assert texts(fused) != texts(found)
    assert call.relevance is not None
    assert call.relevance["query"] == QUERY


async def test_a_least_score_is_one_of_the_model(client: Client, group: str) -> None:
    await told(client, group)
    best = sorted(map(brevity, TEXTS), reverse=True)
    found = await graph(client, group, QUERY, recipe=RECIPE, min_score=best[1] / 100)
    assert [hit.score for hit in found.facts] == [score / 100 for score in best[:2]]


async def test_equals_keep_the_fused_order(client: Client, group: str, patient_model: ScriptedOpenAI) -> None:
    await told(client, group)
    patient_model.fail(says(as_content(replies.ratings([50] * len(TEXTS)))), match=RELEVANCE_MARK)
    found = await graph(client, group, QUERY, recipe=RECIPE)
    assert texts(found) == texts(await graph(client, group, QUERY, scopes=facts_by(BM25, COSINE, BFS)))
    assert {hit.score for hit in found.facts} == {0.5}


async def test_only_the_first_candidates_are_shown(client: Client, group: str, model: ScriptedOpenAI) -> None:
    await told(client, group)
    more = [fact("HAS", f"P{n}", "Car", f"P{n} owns a red car number {n}") for n in range(SHOWN)]
    await client.ingest(group, [telling(JAN + 100, *more)])
    before = len(asked(model))
    found = await graph(client, group, QUERY, recipe=RECIPE)
    (call,) = asked(model)[before:]
    fused = texts(await graph(client, group, QUERY, scopes=facts_by(BM25, COSINE, BFS)))
    assert passages(call) == fused[:SHOWN]
    assert texts(found)[SHOWN:] == fused[SHOWN:], "the others behind them, as they were"
    assert {hit.score for hit in found.facts[SHOWN:]} == {0.0}
    assert found.count == len(TEXTS) + SHOWN


async def test_every_scope_is_rated_in_one_call(client: Client, group: str, model: ScriptedOpenAI) -> None:
    await two_teams(client, group)
    await built(client, group)
    before = len(asked(model))
    found = await graph(client, group, "Ann knows Ben", recipe=COMBINED)
    assert [run.reranker for run in found.ran] == [RATED] * 4
    assert len(asked(model)) == before + 4
    shown = {text for call in asked(model)[before:] for text in passages(call)}
    assert {hit.fact.fact for hit in found.facts[:SHOWN]} <= shown
    assert {f"{each.community.name}: {each.community.summary}" for each in found.communities} <= shown
    for name in (hit.node.name for hit in found.nodes[:SHOWN]):
        assert any(text.startswith(f"{name}:") or text == name for text in shown)
    for body in (hit.episode.body for hit in found.episodes[:SHOWN]):
        assert any(body.startswith(text.removesuffix("…")) for text in shown)
    for hits in (found.facts, found.nodes, found.episodes, found.communities):
        scores = [hit.score for hit in hits[:SHOWN]]
        assert scores
        assert scores == sorted(scores, reverse=True)


async def test_ratings_are_counted_apart(client: Client, service: Service, group: str) -> None:
    await told(client, group)
    line = re.compile(r'^kgsvc_model_calls_total\{group="([0-9a-f]{16})",operation="rerank"\} (\S+)$', re.M)
    before = dict(line.findall(await metrics(service)))
    await graph(client, group, QUERY, recipe=RECIPE)
    after = dict(line.findall(await metrics(service)))
    assert [after[label] for label in after.keys() - before] == ["1.0"]


async def test_other_searches_never_ask(client: Client, group: str, model: ScriptedOpenAI) -> None:
    await told(client, group)
    before = len(asked(model))
    await client.search(group, QUERY)
    said = typ.MemoryMessage(role_type=typ.ROLE_TYPE_USER, content=QUERY, timestamp=timestamp(JAN))
    await client.memory(group, [said])
    await graph(client, group, QUERY)
    assert len(asked(model)) == before


@pytest.mark.parametrize(
    ("outcome", "reason"),
    [
        (status(500), ret.RERANKER_REASON_MODEL_FAILED),
        (rate_limited(), ret.RERANKER_REASON_MODEL_FAILED),
        (dropped(), ret.RERANKER_REASON_MODEL_FAILED),
        (truncated(), ret.RERANKER_REASON_MODEL_FAILED),
        (refused(), ret.RERANKER_REASON_ANSWER_REJECTED),
        (says("no JSON"), ret.RERANKER_REASON_ANSWER_REJECTED),
    ],
    ids=["error", "limited", "dropped", "truncated", "declined", "no JSON"],
)
async def test_a_model_that_fails_leaves_the_fused_order(
    outcome: Outcome, reason: Reason, client: Client, group: str, patient_model: ScriptedOpenAI
) -> None:
    await told(client, group)
    patient_model.fail(outcome, match=RELEVANCE_MARK, times=None)
    await falls_back(client, group, reason)


@pytest.mark.parametrize(
    "scores",
    [[1, 2, 3, 4], [1, 2, 3, 4, 101], [1, 2, 3, 4, -1], [1, 2, 3, 4, 5, 6]],
    ids=["missing", "above", "below", "one too many"],
)
async def test_ratings_that_are_none_are_refused(
    scores: Sequence[int], client: Client, group: str, patient_model: ScriptedOpenAI
) -> None:
    await told(client, group)
    patient_model.fail(says(as_content(replies.ratings(scores))), match=RELEVANCE_MARK)
    await falls_back(client, group, ret.RERANKER_REASON_ANSWER_REJECTED)


async def test_ids_that_were_not_shown_are_refused(
    client: Client, group: str, patient_model: ScriptedOpenAI
) -> None:
    await told(client, group)
    given = replies.ratings([1] * len(TEXTS))
    given["scores"][0]["id"] = len(TEXTS)
    patient_model.fail(says(as_content(given)), match=RELEVANCE_MARK)
    await falls_back(client, group, ret.RERANKER_REASON_ANSWER_REJECTED)


async def test_a_model_that_is_too_late_leaves_the_fused_order(
    client: Client, hurried: Client, group: str, patient_model: ScriptedOpenAI
) -> None:
    await told(client, group)
    patient_model.fail(hanging(), match=RELEVANCE_MARK, times=None)
    await falls_back(hurried, group, ret.RERANKER_REASON_TIMEOUT)


async def test_without_a_model_the_fused_order_answers(client: Client, modelless: Client, group: str) -> None:
    await told(client, group)
    await falls_back(modelless, group, ret.RERANKER_REASON_NO_MODEL)
