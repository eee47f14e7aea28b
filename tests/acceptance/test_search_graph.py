"""SearchGraph over facts: each method, reranker and recipe of specs 002 and 003, the same on every store."""

from typing import Any

import pytest

from kgsvc.v1 import ingestion_pb2 as ing
from kgsvc.v1 import retrieval_pb2 as ret
from kgsvc.v1 import types_pb2 as typ
from tests.acceptance import test_search_communities, test_search_texts
from tests.acceptance.graph_searches import (
    BFS,
    BM25,
    COSINE,
    by_method,
    diverse,
    facts_by,
    graph,
    ordered,
    reciprocal,
    shown,
    texts,
    weighted,
)
from tests.acceptance.ranking import by_meaning, fused, near
from tests.acceptance.refusals import refused
from tests.acceptance.saying import CORPUS, FEB, JAN, MAR, TEXTS, corpus_told, fact, telling, vector
from tests.support.client import Client
from tests.support.scripted_openai import ScriptedOpenAI, status

ANN, BOB, CID, DAN, EVE, FAY = TEXTS
QUERY = "the doctor with a red car and a residence"
JAPANESE = (
    fact("WORKS_AT", "田中太郎", "トヨタ", "田中太郎はトヨタで働いている"),
    fact("LIVES_IN", "田中太郎", "東京", "田中太郎は東京に住んでいる"),
    fact("LIKES", "鈴木花子", "寿司", "鈴木花子は寿司が好き"),
    fact("KNOWS", "鈴木花子", "田中太郎", "鈴木花子は田中太郎の友達"),
)
ODD_QUERIES = {
    "quotes": "\"red car\" 'residence' `tea`",
    "operators": "red AND (car OR NOT tea) +doctor -bob ~2 car^4 [a TO b] {x} field:car && || ! * ?",
    "hyphens": "red-car - -- — doctor",
    "slashes": "red/car\\doctor\\\\ //tea",
    "emoji": "👩‍⚕️ red car 🚗🎉",
    "CJK": "田中太郎の red car",
    "braces": "red } car { MATCH (n) DETACH DELETE n //",
    "10,000 characters": "red car " * 1_250,
    "all of a query's length": "doctor " * 4_681,
}


async def told(client: Client, group: str) -> dict[str, typ.FactResult]:
    """The corpus in a group: its facts by text."""
    return {each.fact: each for each in await corpus_told(client, group)}


async def test_bm25_finds_by_words(client: Client, group: str) -> None:
    await told(client, group)
    found = await graph(client, group, "red car", scopes=facts_by(BM25), include_scores=True)
    assert texts(found) == [DAN, BOB, EVE]
    assert [hit.score for hit in found.facts] == pytest.approx([1 / 61, 1 / 62, 1 / 63])
    scores = [hit.found_by[0].score for hit in found.facts]
    assert scores == sorted(scores, reverse=True)
    assert texts(await graph(client, group, "zebra", scopes=facts_by(BM25))) == []


async def test_cosine_finds_by_meaning(client: Client, group: str) -> None:
    known = await told(client, group)
    found = await graph(client, group, "physician", scopes=facts_by(COSINE), include_scores=True)
    assert [hit.fact.uuid for hit in found.facts] == by_meaning("physician", known.values())
    assert CID in texts(found), "a doctor is a physician"
    for rank, hit in enumerate(found.facts, 1):
        (by,) = hit.found_by
        assert (by.method, by.rank) == (COSINE, rank)
        assert by.score == pytest.approx(float(vector("physician") @ vector(hit.fact.fact)), abs=1e-6)


@pytest.mark.parametrize(("depth", "steps"), [(1, 1), (2, 2), (3, 3), (None, 3)])
async def test_bfs_walks_from_origins(depth: int | None, steps: int, client: Client, group: str) -> None:
    known = await told(client, group)
    origin = known[ANN].source_node_uuid
    how = facts_by(BFS, max_depth=depth)
    found = await graph(
        client, group, "anything", scopes=how, bfs_origin_node_uuids=[origin], include_scores=True
    )
    assert texts(found) == [ANN, BOB, CID][:steps]
    assert [hit.found_by[0].score for hit in found.facts] == pytest.approx([1 / 2, 1 / 3, 1 / 4][:steps])


async def test_bfs_walks_both_ways_from_several_origins(client: Client, group: str) -> None:
    known = await told(client, group)
    origins = [known[CID].source_node_uuid, known[FAY].target_node_uuid]
    how = facts_by(BFS, max_depth=1)
    found = await graph(client, group, "anything", scopes=how, bfs_origin_node_uuids=origins)
    assert sorted(texts(found)) == [BOB, CID, FAY]


async def test_bfs_walks_from_what_the_others_found(client: Client, group: str) -> None:
    await told(client, group)
    found = await graph(client, group, "tea", scopes=facts_by(BM25, BFS, max_depth=2), include_scores=True)
    assert texts(found)[0] == FAY, "found by both"
    assert sorted(texts(found)[1:]) == sorted([EVE, DAN])
    steps = {hit.fact.fact: by.score for hit in found.facts for by in hit.found_by if by.method == BFS}
    assert steps == pytest.approx({FAY: 1 / 2, EVE: 1 / 2, DAN: 1 / 3})


async def test_bfs_begins_at_the_center_where_there_is_one(client: Client, group: str) -> None:
    known = await told(client, group)
    center = known[ANN].source_node_uuid
    how = facts_by(BM25, BFS, max_depth=1)
    assert sorted(texts(await graph(client, group, "tea", scopes=how, center_node_uuid=center))) == [ANN, FAY]


@pytest.mark.parametrize("query", [QUERY, "tea", "who drives the automobile?"])
async def test_rrf_fuses_ranks(query: str, client: Client, group: str) -> None:
    await told(client, group)
    how = facts_by(BM25, COSINE, reranker=ret.RERANKER_RRF)
    found = await graph(client, group, query, scopes=how, include_scores=True)
    ranks = reciprocal(by_method(found.facts))
    assert shown(found.facts) == ordered(ranks, ranks)
    plain = await client.search(group, query, max_facts=100)
    assert [hit.fact.uuid for hit in found.facts] == [each.uuid for each in plain], "as SearchFacts"


@pytest.mark.parametrize("share", [None, 0.0, 0.3, 1.0])
async def test_mmr_trades_nearness_for_variety(share: float | None, client: Client, group: str) -> None:
    await told(client, group)
    alike = fact("SOLD", "Hal", "Ida", "Hal sold a red car")
    await client.ingest(group, [telling(FEB, alike)])
    plain = await graph(client, group, QUERY, scopes=facts_by(BM25, COSINE), include_scores=True)
    ranks = reciprocal(by_method(plain.facts))
    said = {hit.fact.uuid: hit.fact.fact for hit in plain.facts}
    how = facts_by(BM25, COSINE, reranker=ret.RERANKER_MMR, mmr_lambda=share)
    found = await graph(client, group, QUERY, scopes=how)
    expected = diverse(QUERY, said, ranks, 0.5 if share is None else share)
    assert [hit.fact.uuid for hit in found.facts] == [uuid for uuid, _ in expected]
    assert [hit.score for hit in found.facts] == pytest.approx([score for _, score in expected], abs=2e-6)
    assert list((await graph(client, group, QUERY, scopes=how, max_results=3)).facts) == list(found.facts)[:3]


async def test_mmr_without_an_embedding_goes_by_ranks_and_says_so(
    client: Client, group: str, patient_model: ScriptedOpenAI
) -> None:
    await told(client, group)
    query = f"red car {group}"
    patient_model.fail(status(500), match=query, endpoint="embeddings", times=None)
    how = facts_by(BM25, COSINE, reranker=ret.RERANKER_MMR)
    found = await graph(client, group, query, scopes=how)
    assert texts(found) == [DAN, BOB, EVE]
    (run,) = found.ran
    assert (list(run.methods), run.reranker) == ([BM25], ret.RERANKER_RRF)


async def test_node_distance_puts_the_nearest_first(client: Client, group: str) -> None:
    known = await told(client, group)
    how = facts_by(BM25, COSINE, reranker=ret.RERANKER_NODE_DISTANCE)
    for name, steps in (
        (ANN, {ANN: 0, BOB: 1, CID: 2, DAN: 3, EVE: 4, FAY: 5}),
        (DAN, {DAN: 0, CID: 0, EVE: 1, BOB: 1, FAY: 2, ANN: 2}),
    ):
        center = known[name].source_node_uuid
        every = " ".join((*TEXTS, "knows"))
        found = await graph(client, group, every, scopes=how, center_node_uuid=center, include_scores=True)
        scores = {known[text].uuid: 1 / (1 + far) for text, far in steps.items()}
        assert shown(found.facts) == ordered(scores, reciprocal(by_method(found.facts)))


async def test_node_distance_ends_after_five_steps(client: Client, group: str) -> None:
    await told(client, group)
    await client.ingest(group, [telling(FEB, fact("KNOWS", "Gus", "Hal", "Gus likes tea too"))])
    (center,) = {
        each.source_node_uuid for each in await client.search(group, "physician") if each.fact == ANN
    }
    how = facts_by(BM25, reranker=ret.RERANKER_NODE_DISTANCE)
    found = await graph(client, group, "likes tea", scopes=how, center_node_uuid=center)
    assert [(hit.fact.fact, hit.score) for hit in found.facts] == [(FAY, 1 / 6), ("Gus likes tea too", 0.0)]


async def test_episode_mentions_puts_the_most_told_first(client: Client, group: str) -> None:
    known = await told(client, group)
    again = [telling(MAR + n, CORPUS[i], uuid=f"again{n}") for n, i in enumerate([4, 4, 1])]
    await client.ingest(group, again)
    how = facts_by(BM25, COSINE, reranker=ret.RERANKER_EPISODE_MENTIONS)
    found = await graph(client, group, "red car residence", scopes=how, include_scores=True)
    told_by = {hit.fact.uuid: float(len(hit.fact.episodes)) for hit in found.facts}
    assert told_by[known[EVE].uuid] == 3
    assert texts(found)[:2] == [EVE, BOB]
    assert shown(found.facts) == ordered(told_by, reciprocal(by_method(found.facts)))


@pytest.mark.parametrize("weights", [(), (1.0, 0.0), (0.25, 2.0)])
async def test_weighted_sum_adds_scaled_scores(
    weights: tuple[float, ...], client: Client, group: str
) -> None:
    await told(client, group)
    how = facts_by(BM25, COSINE, reranker=ret.RERANKER_WEIGHTED_SUM, weights=weights)
    found = await graph(client, group, QUERY, scopes=how, include_scores=True)
    methods = by_method(found.facts)
    scores = weighted(methods, dict(zip((BM25, COSINE), weights or (1.0, 1.0), strict=True)))
    assert shown(found.facts) == ordered(scores, reciprocal(methods))


async def test_a_center_lifts_fused_and_summed_scores(client: Client, group: str) -> None:
    known = await told(client, group)
    center = known[FAY].target_node_uuid
    for reranker in (ret.RERANKER_RRF, ret.RERANKER_WEIGHTED_SUM):
        how = facts_by(BM25, COSINE, reranker=reranker)
        plain = await graph(client, group, QUERY, scopes=how, include_scores=True)
        found = await graph(client, group, QUERY, scopes=how, include_scores=True, center_node_uuid=center)
        lifted = near({h.fact.uuid: h.score for h in plain.facts}, known.values(), center)
        assert shown(found.facts) == ordered(lifted, reciprocal(by_method(found.facts)))


# What the recipes of specs 002 and 003 stand for.
RECIPES: dict[str, list[ret.ScopeSearch]] = {
    "DEFAULT": facts_by(BM25, COSINE, reranker=ret.RERANKER_EVIDENCE),
    "EDGE_HYBRID_SEARCH_RRF": facts_by(BM25, COSINE, reranker=ret.RERANKER_RRF),
    "EDGE_HYBRID_SEARCH_MMR": facts_by(BM25, COSINE, reranker=ret.RERANKER_MMR),
    "EDGE_HYBRID_SEARCH_NODE_DISTANCE": facts_by(BM25, COSINE, BFS, reranker=ret.RERANKER_NODE_DISTANCE),
    "EDGE_HYBRID_SEARCH_EPISODE_MENTIONS": facts_by(BM25, COSINE, reranker=ret.RERANKER_EPISODE_MENTIONS),
    "EDGE_HYBRID_SEARCH_CROSS_ENCODER": facts_by(BM25, COSINE, BFS, reranker=ret.RERANKER_CROSS_ENCODER),
}


async def test_every_recipe_is_held() -> None:
    held = {*RECIPES, *test_search_texts.RECIPES, *test_search_communities.RECIPES}
    named = {name.removeprefix("SEARCH_RECIPE_") for name, _ in ret.SearchRecipe.items()}
    assert named - {"UNSPECIFIED"} == held


@pytest.mark.parametrize("recipe", RECIPES)
async def test_a_recipe_is_what_it_stands_for(recipe: str, client: Client, group: str) -> None:
    known = await told(client, group)
    more: dict[str, Any] = {"include_scores": True}
    if "DISTANCE" in recipe:
        more["center_node_uuid"] = known[EVE].source_node_uuid
    number = ret.SearchRecipe.Value(f"SEARCH_RECIPE_{recipe}")
    named = await graph(client, group, QUERY, recipe=number, **more)
    assert named == await graph(client, group, QUERY, scopes=RECIPES[recipe], **more)
    assert named.count == len(named.facts) > 0
    assert named.search_type == ret.SEARCH_SCOPE_FACTS


async def test_without_a_word_the_default_recipe_answers(client: Client, group: str) -> None:
    await told(client, group)
    plain = await graph(client, group, QUERY)
    assert plain == await graph(client, group, QUERY, recipe=ret.SEARCH_RECIPE_DEFAULT)
    assert plain == await graph(client, group, QUERY, search_type=ret.SEARCH_SCOPE_FACTS)
    assert plain.message == f"{plain.count} results"
    assert not any(hit.found_by or hit.fact.HasField("score") for hit in plain.facts)


async def test_results_are_bounded_by_number_and_by_score(client: Client, group: str) -> None:
    await told(client, group)
    found = await graph(client, group, QUERY)
    assert found.count > 3
    few = await graph(client, group, QUERY, max_results=2)
    assert (list(few.facts), few.count) == (list(found.facts)[:2], 2)
    least = found.facts[2].score
    assert list((await graph(client, group, QUERY, min_score=least)).facts) == list(found.facts)[:3]
    given = ret.SearchGraphInput(group_ids=[group], query=QUERY)
    response = await client.retrieval.SearchGraph(ret.SearchGraphRequest(input=given), timeout=30)
    assert response.output == await graph(client, group, QUERY, max_results=10)


async def test_japanese_is_searched_like_any_other(client: Client, group: str) -> None:
    await client.ingest(group, [telling(JAN + n, each) for n, each in enumerate(JAPANESE)])
    for query, first in (
        ("田中太郎はどこで働いていますか", "田中太郎はトヨタで働いている"),
        ("東京", "田中太郎は東京に住んでいる"),
        ("寿司が好きなのは誰", "鈴木花子は寿司が好き"),
    ):
        for how in (facts_by(BM25), facts_by(BM25, COSINE, reranker=ret.RERANKER_WEIGHTED_SUM)):
            assert texts(await graph(client, group, query, scopes=how))[0] == first
    walked = await graph(client, group, "寿司", scopes=facts_by(BM25, BFS, max_depth=2))
    assert texts(walked)[0] == "鈴木花子は寿司が好き"
    assert len(walked.facts) == 4, "two steps reach all of them"


@pytest.mark.parametrize("kind", ODD_QUERIES)
async def test_any_query_searches(kind: str, client: Client, group: str) -> None:
    await told(client, group)
    query = ODD_QUERIES[kind]
    for how in (facts_by(BM25), facts_by(BM25, COSINE, BFS, reranker=ret.RERANKER_WEIGHTED_SUM)):
        found = await graph(client, group, query, scopes=how)
        assert found.count > 0
        assert found == await graph(client, group, query, scopes=how)


async def test_what_other_groups_hold_moves_no_result(client: Client, group: str) -> None:
    known = await told(client, group)
    more = {"include_scores": True, "center_node_uuid": known[DAN].source_node_uuid}

    async def answers() -> list[ret.SearchGraphOutput]:
        return [await graph(client, group, QUERY, scopes=how, **more) for how in RECIPES.values()]

    before = await answers()
    noise = [fact("OWNS", f"P{n}", "Car", f"P{n} has a red car and a doctor") for n in range(30)]
    await client.ingest(f"{group}-2", [telling(MAR, *noise)])
    assert await answers() == before


async def test_groups_are_searched_together(client: Client, group: str) -> None:
    one, two = f"{group}-1", f"{group}-2"
    for name in (one, two):
        await told(client, name)
    both = await graph(client, [two, one, two], QUERY)
    assert {hit.fact.group_id for hit in both.facts} == {one, two}
    assert both == await graph(client, [one, two], QUERY)
    assert await graph(client, [one, f"{group}-unknown"], QUERY) == await graph(client, one, QUERY)


async def test_an_unknown_center_or_origin_is_not_found(client: Client, group: str) -> None:
    known = await told(client, group)
    here = known[ANN].source_node_uuid
    for more, field in (
        ({"center_node_uuid": "nobody"}, "input.center_node_uuid"),
        ({"bfs_origin_node_uuids": [here, "nobody"]}, "input.bfs_origin_node_uuids[1]"),
    ):
        given = ret.SearchGraphInput(group_ids=[group], query=QUERY, **more)
        refusal = await refused(client, "SearchGraph", ret.SearchGraphRequest(input=given))
        assert (refusal.code, refusal.fields) == ("NOT_FOUND", (field,))


async def test_a_center_without_facts_is_near_to_none(client: Client, group: str) -> None:
    await told(client, group)
    alone = ing.AddEntityNodeInput(uuid="alone", group_id=group, name="Nobody Near")
    await client.ingestion.AddEntityNode(ing.AddEntityNodeRequest(input=alone), timeout=30)
    recipe = ret.SEARCH_RECIPE_EDGE_HYBRID_SEARCH_NODE_DISTANCE
    found = await graph(client, group, QUERY, recipe=recipe, center_node_uuid="alone")
    assert {hit.score for hit in found.facts} == {0.0}
    assert found.count == len(fused(texts(found)))
