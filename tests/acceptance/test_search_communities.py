"""SearchGraph over communities, and over everything at once."""

import pytest

from kgsvc.v1 import admin_pb2
from kgsvc.v1 import retrieval_pb2 as ret
from tests.acceptance.graph_searches import BFS, BM25, COSINE, Method, graph
from tests.acceptance.refusals import refused
from tests.acceptance.saying import vector
from tests.acceptance.test_communities import TEAMS, two_teams
from tests.support.client import CALL_S, Client, granted
from tests.support.communities import built, listed

FACTS, NODES = ret.SEARCH_SCOPE_FACTS, ret.SEARCH_SCOPE_NODES
EPISODES, COMMUNITIES = ret.SEARCH_SCOPE_EPISODES, ret.SEARCH_SCOPE_COMMUNITIES
RRF, MMR = ret.RERANKER_RRF, ret.RERANKER_MMR


def over(
    scope: ret.SearchScope.ValueType, *methods: Method, reranker: ret.Reranker.ValueType | None = None
) -> ret.ScopeSearch:
    """One scope, searched so."""
    return ret.ScopeSearch(scope=scope, methods=methods, reranker=reranker)


def uuids(output: ret.SearchGraphOutput) -> list[str]:
    """The communities in their order."""
    return [hit.community.uuid for hit in output.communities]


async def test_without_a_build_there_are_none(client: Client, group: str) -> None:
    await two_teams(client, group)
    found = await graph(client, group, "Ann", scopes=[over(COMMUNITIES, BM25)])
    assert (found.count, list(found.communities)) == (0, [])
    await built(client, group)
    assert (await graph(client, group, "Ann", scopes=[over(COMMUNITIES, BM25)])).count == 1


async def test_communities_by_words_as_they_are_listed(client: Client, group: str) -> None:
    await two_teams(client, group)
    await built(client, group)
    known = {each.uuid: each for each in await listed(client, group)}
    for name in ("Dot", "Yun"):
        (team,) = [team for team in TEAMS if name in team]
        found = await graph(client, group, name, scopes=[over(COMMUNITIES, BM25)], include_scores=True)
        first = found.communities[0]
        assert first.community == known[first.community.uuid]
        members = {
            hit.node.uuid for hit in (await graph(client, group, " ".join(team), search_type=NODES)).nodes
        }
        assert set(first.community.member_uuids) <= members
        assert [by.method for by in first.found_by] == [BM25]


async def test_communities_by_meaning_of_their_name(client: Client, group: str) -> None:
    await two_teams(client, group)
    await built(client, group)
    known = {each.uuid: each for each in await listed(client, group)}
    query = next(iter(known.values())).name
    found = await graph(client, group, query, scopes=[over(COMMUNITIES, COSINE)], include_scores=True)
    cosines = {uuid: float(vector(query) @ vector(each.name)) for uuid, each in known.items()}
    assert uuids(found)[0] == max(cosines, key=lambda uuid: cosines[uuid])
    for hit in found.communities:
        assert hit.found_by[0].score == pytest.approx(cosines[hit.community.uuid], abs=1e-6)


async def test_a_new_build_takes_the_place_of_the_one_before(client: Client, group: str) -> None:
    await two_teams(client, group)
    await built(client, group)
    before = uuids(await graph(client, group, "Ann", scopes=[over(COMMUNITIES, BM25)]))
    await built(client, group)
    after = uuids(await graph(client, group, "Ann", scopes=[over(COMMUNITIES, BM25)]))
    assert len(before) == len(after) == 1
    assert before != after
    assert set(after) <= {each.uuid for each in await listed(client, group)}


async def test_what_was_deleted_finds_no_community(client: Client, group: str) -> None:
    await two_teams(client, group)
    await built(client, group)
    (community,) = (await graph(client, group, "Dot", scopes=[over(COMMUNITIES, BM25)])).communities
    facts = [each for each in await client.search(group, "Dot knows", max_facts=100) if "Dot" in each.fact]
    for each in facts:
        given = admin_pb2.DeleteEntityEdgeInput(uuid=each.uuid, group_id=group)
        request = admin_pb2.DeleteEntityEdgeRequest(input=given)
        granted(await client.admin.DeleteEntityEdge(request, timeout=CALL_S))
    (now,) = [each for each in await listed(client, group) if each.uuid == community.community.uuid]
    found = await graph(client, group, "Dot", scopes=[over(COMMUNITIES, BM25)])
    assert [hit.community for hit in found.communities] == ([now] if "Dot" in now.name else [])


HYBRID = (BM25, COSINE)
RATED = ret.RERANKER_CROSS_ENCODER
RECIPES = {
    "COMMUNITY_HYBRID_SEARCH_CROSS_ENCODER": [over(COMMUNITIES, *HYBRID, reranker=RATED)],
    "COMBINED_HYBRID_SEARCH_CROSS_ENCODER": [
        over(FACTS, *HYBRID, BFS, reranker=RATED),
        over(NODES, *HYBRID, BFS, reranker=RATED),
        over(EPISODES, BM25, BFS, reranker=RATED),
        over(COMMUNITIES, *HYBRID, reranker=RATED),
    ],
    "COMMUNITY_HYBRID_SEARCH_RRF": [over(COMMUNITIES, *HYBRID, reranker=RRF)],
    "COMMUNITY_HYBRID_SEARCH_MMR": [over(COMMUNITIES, *HYBRID, reranker=MMR)],
} | {
    f"COMBINED_HYBRID_SEARCH_{name}": [
        over(FACTS, *HYBRID, reranker=reranker),
        over(NODES, *HYBRID, reranker=reranker),
        over(EPISODES, BM25, reranker=RRF),
        over(COMMUNITIES, *HYBRID, reranker=reranker),
    ]
    for name, reranker in (("RRF", RRF), ("MMR", MMR))
}


@pytest.mark.parametrize("recipe", RECIPES)
async def test_a_recipe_is_what_it_stands_for(recipe: str, client: Client, group: str) -> None:
    await two_teams(client, group)
    await built(client, group)
    number = ret.SearchRecipe.Value(f"SEARCH_RECIPE_{recipe}")
    named = await graph(client, group, "Ann knows Ben", recipe=number, include_scores=True)
    assert named == await graph(client, group, "Ann knows Ben", scopes=RECIPES[recipe], include_scores=True)
    assert named.communities
    if recipe.startswith("COMBINED"):
        assert all((named.facts, named.nodes, named.episodes))
        others = len(named.nodes) + len(named.episodes) + len(named.communities)
        assert named.count == len(named.facts) + others


async def test_what_communities_do_not_have_is_refused(client: Client, group: str) -> None:
    for how, field in (
        (over(COMMUNITIES, BM25, BFS), "input.scopes[0].methods[1]"),
        (over(COMMUNITIES, BM25, reranker=ret.RERANKER_EPISODE_MENTIONS), "input.scopes[0].reranker"),
    ):
        given = ret.SearchGraphInput(group_ids=[group], query="x", scopes=[how])
        refusal = await refused(client, "SearchGraph", ret.SearchGraphRequest(input=given))
        assert (refusal.code, refusal.fields) == ("INVALID_ARGUMENT", (field,))
