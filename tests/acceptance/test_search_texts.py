"""SearchGraph over entities and episodes: methods, rerankers, recipes and filters, on every store alike."""

import json
from collections.abc import Sequence
from itertools import pairwise

import pytest

from kgsvc.v1 import admin_pb2
from kgsvc.v1 import ingestion_pb2 as ing
from kgsvc.v1 import retrieval_pb2 as ret
from kgsvc.v1 import types_pb2 as typ
from tests.acceptance.graph_searches import (
    BFS,
    BM25,
    COSINE,
    Method,
    by_method,
    diverse,
    graph,
    ordered,
    reciprocal,
    shown,
    weighted,
)
from tests.acceptance.refusals import refused
from tests.acceptance.saying import APR, FEB, JAN, MAR, body, fact, telling, vector
from tests.support.client import Client, episode, timestamp
from tests.support.scripted_openai import answer, edge, node

NODES, EPISODES = ret.SEARCH_SCOPE_NODES, ret.SEARCH_SCOPE_EPISODES
PEOPLE = ("Ann", "Bob", "Cid", "Dan", "Eve", "Fay", "Gus")
CHAIN = [fact("KNOWS", a, b, f"{a} told {b} about topic{n}") for n, (a, b) in enumerate(pairwise(PEOPLE))]


def over(scope: ret.SearchScope.ValueType, *methods: Method, **how: object) -> list[ret.ScopeSearch]:
    """One scope, searched so."""
    return [ret.ScopeSearch(scope=scope, methods=methods, **how)]  # type: ignore[arg-type]


def names(output: ret.SearchGraphOutput) -> list[str]:
    """The entities in their order."""
    return [hit.node.name for hit in output.nodes]


def uuids(output: ret.SearchGraphOutput) -> list[str]:
    """The episodes in their order."""
    return [hit.episode.uuid for hit in output.episodes]


def typed(
    uuid: str, at_ms: int, *nodes: tuple[str, str], facts: Sequence[tuple[str, str]] = ()
) -> typ.EpisodeItem:
    """An episode that names entities with their types, and says that some know each other."""
    refs = {name: f"n{number}" for number, (name, _) in enumerate(nodes)}
    said = [edge("KNOWS", f"{a} knows {b}", refs[a], refs[b]) for a, b in facts]
    found = answer([node(refs[name], name, type=kind) for name, kind in nodes], said)
    return episode(json.dumps(found, ensure_ascii=False), at_ms, uuid=uuid)


async def chain(client: Client, group: str) -> dict[str, str]:
    """A chain of people, an episode for each link: their uuids by name."""
    await client.ingest(group, [telling(JAN + n, each, uuid=f"e{n}") for n, each in enumerate(CHAIN)])
    found = await client.search(group, "told about", max_facts=100)
    ends = {each.source_name: each.source_node_uuid for each in found}
    return ends | {each.target_name: each.target_node_uuid for each in found}


async def test_entities_by_words_of_name_alias_and_summary(client: Client, group: str) -> None:
    for uuid, name, summary in (
        ("n1", "Marie Curie", "found radium"),
        ("n2", "Pierre", "worked with Marie"),
        ("n3", "Lise Meitner", "split atoms"),
    ):
        given = ing.AddEntityNodeInput(uuid=uuid, group_id=group, name=name, summary=summary)
        await client.ingestion.AddEntityNode(ing.AddEntityNodeRequest(input=given), timeout=30)
    assert names(await graph(client, group, "marie", scopes=over(NODES, BM25))) == ["Marie Curie", "Pierre"]
    assert names(await graph(client, group, "atom", scopes=over(NODES, BM25))) == ["Lise Meitner"]
    renamed = ing.AddEntityNodeInput(uuid="n3", group_id=group, name="Elise Meitner")
    await client.ingestion.AddEntityNode(ing.AddEntityNodeRequest(input=renamed), timeout=30)
    for query in ("Lise", "Elise"):
        found = await graph(client, group, query, scopes=over(NODES, BM25))
        assert names(found) == ["Elise Meitner"], "the old name is an alias"
    (hit,) = found.nodes
    assert hit.node == (await client.get_entity(group, "n3")).node


async def test_entities_by_meaning_of_their_name(client: Client, group: str) -> None:
    found = [("red car", "Object"), ("doctor", "Person"), ("blue car", "Object")]
    await client.ingest(group, [typed("e", JAN, *found)])
    hits = (await graph(client, group, "physician", scopes=over(NODES, COSINE), include_scores=True)).nodes
    assert hits[0].node.name == "doctor", "its name means the same and shares no word"
    for hit in hits:
        wanted = float(vector("physician") @ vector(hit.node.name))
        assert hit.found_by[0].score == pytest.approx(wanted, abs=1e-6)


@pytest.mark.parametrize("depth", [1, 2, 3])
async def test_entities_by_walking_from_origins(depth: int, client: Client, group: str) -> None:
    known = await chain(client, group)
    how = over(NODES, BFS, max_depth=depth)
    origins = [known["Ann"], known["Gus"]]
    found = await graph(client, group, "any", scopes=how, bfs_origin_node_uuids=origins, include_scores=True)
    steps = {hit.node.name: hit.found_by[0].score for hit in found.nodes}
    wanted = {"Bob": 1, "Fay": 1, "Cid": 2, "Eve": 2, "Dan": 3}
    assert steps == pytest.approx({name: 1 / (1 + n) for name, n in wanted.items() if n <= depth})


async def test_entities_by_walking_from_what_was_found(client: Client, group: str) -> None:
    await chain(client, group)
    found = await graph(client, group, "Ann", scopes=over(NODES, BM25, BFS, max_depth=1), include_scores=True)
    by_walk = {hit.node.name for hit in found.nodes for by in hit.found_by if by.method == BFS}
    assert set(names(found)) == {"Ann", "Bob", "Cid"}, "two of them have her in their words"
    assert by_walk == {"Cid"}, "where a walk begins is not found by it"


async def test_entities_by_every_reranker(client: Client, group: str) -> None:
    known = await chain(client, group)
    query = "Ann Cid Dan Fay topic2 topic3"

    async def by(reranker: ret.Reranker.ValueType, **more: object) -> list[ret.NodeHit]:
        how = over(NODES, BM25, COSINE, reranker=reranker)
        return list((await graph(client, group, query, scopes=how, include_scores=True, **more)).nodes)

    fused = await by(ret.RERANKER_RRF)
    ranks = reciprocal(by_method(fused))
    assert shown(fused) == ordered(ranks, ranks)
    summed = await by(ret.RERANKER_WEIGHTED_SUM)
    assert shown(summed) == ordered(weighted(by_method(summed), {BM25: 1, COSINE: 1}), ranks)
    said = {hit.node.uuid: hit.node.name for hit in fused}
    varied = diverse(query, said, ranks, 0.5)
    assert [hit.node.uuid for hit in await by(ret.RERANKER_MMR)] == [uuid for uuid, _ in varied]
    near = await by(ret.RERANKER_NODE_DISTANCE, center_node_uuid=known["Bob"])
    hops = {known[name]: abs(n - 1) for n, name in enumerate(PEOPLE)}
    assert shown(near) == ordered({u: 1 / (1 + hops[u]) for u in ranks}, ranks)
    told = await by(ret.RERANKER_EPISODE_MENTIONS)
    mentions = {known[name]: 1.0 if name in {"Ann", "Gus"} else 2.0 for name in PEOPLE}
    assert shown(told) == ordered({u: mentions[u] for u in ranks}, ranks)


RECIPES = {
    "NODE_HYBRID_SEARCH_RRF": over(NODES, BM25, COSINE, reranker=ret.RERANKER_RRF),
    "NODE_HYBRID_SEARCH_MMR": over(NODES, BM25, COSINE, reranker=ret.RERANKER_MMR),
    "NODE_HYBRID_SEARCH_NODE_DISTANCE": over(NODES, BM25, COSINE, reranker=ret.RERANKER_NODE_DISTANCE),
    "NODE_HYBRID_SEARCH_EPISODE_MENTIONS": over(NODES, BM25, COSINE, reranker=ret.RERANKER_EPISODE_MENTIONS),
    "NODE_HYBRID_SEARCH_CROSS_ENCODER": over(NODES, BM25, COSINE, BFS, reranker=ret.RERANKER_CROSS_ENCODER),
}


@pytest.mark.parametrize("recipe", RECIPES)
async def test_a_recipe_is_what_it_stands_for(recipe: str, client: Client, group: str) -> None:
    known = await chain(client, group)
    more = {"center_node_uuid": known["Eve"]} if "DISTANCE" in recipe else {}
    number = ret.SearchRecipe.Value(f"SEARCH_RECIPE_{recipe}")
    named = await graph(client, group, "Ann Dan topic1", recipe=number, **more)
    assert named == await graph(client, group, "Ann Dan topic1", scopes=RECIPES[recipe], **more)
    assert named.count == len(named.nodes) > 0
    assert named.search_type == NODES


async def test_episodes_by_words_of_their_whole_body(client: Client, group: str) -> None:
    await client.ingest(
        group,
        [
            episode("Ann said: the boiler broke.", JAN, uuid="a"),
            episode("Nothing at all. " * 500 + "And the boiler hums.", FEB, uuid="b"),
            episode("Weather was fine.", MAR, uuid="c"),
        ],
    )
    found = await graph(client, group, "boiler", scopes=over(EPISODES, BM25), include_scores=True)
    assert uuids(found) == ["a", "b"], "also at the end of a long one that says nothing else"
    assert [by.rank for hit in found.episodes for by in hit.found_by] == [1, 2]
    (weather,) = (await graph(client, group, "weather", search_type=EPISODES)).episodes
    (read,) = [each for each in await client.get_episodes(group) if each.uuid == "c"]
    read.ClearField("entity_edges")
    assert weather.episode == read


async def test_episodes_by_walking(client: Client, group: str) -> None:
    known = await chain(client, group)
    how = over(EPISODES, BFS, max_depth=2)
    found = await graph(
        client, group, "any", scopes=how, bfs_origin_node_uuids=[known["Ann"]], include_scores=True
    )
    assert uuids(found) == ["e0", "e1"], "named there, and one neighbour further"
    assert [hit.found_by[0].score for hit in found.episodes] == pytest.approx([1 / 2, 1 / 3])
    walked = await graph(client, group, "topic5", scopes=over(EPISODES, BM25, BFS, max_depth=1))
    assert uuids(walked) == ["e5", "e4"], "they name who is named in what was found"


async def test_episodes_by_distance(client: Client, group: str) -> None:
    known = await chain(client, group)
    how = over(EPISODES, BM25, reranker=ret.RERANKER_NODE_DISTANCE)
    found = await graph(client, group, "told about", scopes=how, center_node_uuid=known["Dan"])
    steps = {"e3": 0, "e2": 0, "e4": 1, "e1": 1, "e5": 2, "e0": 2}
    assert {hit.episode.uuid: hit.score for hit in found.episodes} == {
        u: 1 / (1 + n) for u, n in steps.items()
    }
    assert [steps[uuid] for uuid in uuids(found)] == [0, 0, 1, 1, 2, 2]


async def test_several_scopes_are_answered_at_once(client: Client, group: str) -> None:
    await chain(client, group)
    both = [*over(NODES, BM25), *over(EPISODES, BM25), *over(ret.SEARCH_SCOPE_FACTS, BM25)]
    found = await graph(client, group, "Ann topic0", scopes=both)
    assert list(found.nodes) == list((await graph(client, group, "Ann topic0", scopes=both[:1])).nodes)
    assert list(found.episodes) == list((await graph(client, group, "Ann topic0", scopes=both[1:2])).episodes)
    assert list(found.facts) == list((await graph(client, group, "Ann topic0", scopes=both[2:])).facts)
    assert found.count == len(found.nodes) + len(found.episodes) + len(found.facts)
    assert not found.HasField("search_type")
    assert [run.scope for run in found.ran] == [NODES, EPISODES, ret.SEARCH_SCOPE_FACTS]


async def test_by_entity_type(client: Client, group: str) -> None:
    await client.ingest(
        group,
        [
            typed("a", JAN, ("Ann", "Person"), ("Acme", "Organization"), facts=[("Ann", "Acme")]),
            typed("b", FEB, ("Ann", "Person"), ("Bob", "Person"), facts=[("Ann", "Bob")]),
        ],
    )
    types = {
        hit.node.name: list(hit.node.labels)
        for hit in (await graph(client, group, "Ann Acme Bob", search_type=NODES)).nodes
    }
    assert types == {"Ann": ["Person"], "Acme": ["Organization"], "Bob": ["Person"]}
    for wanted, people, facts, episodes in (
        (["Organization"], {"Acme"}, {"Ann knows Acme"}, {"a"}),
        (["Person", "Organization"], {"Ann", "Acme", "Bob"}, {"Ann knows Acme", "Ann knows Bob"}, {"a", "b"}),
        (["Event"], set(), set(), set()),
    ):
        scopes = [*over(NODES, BM25), *over(EPISODES, BM25), *over(ret.SEARCH_SCOPE_FACTS, BM25)]
        given = ret.SearchFilters(entity_types=wanted)
        found = await graph(client, group, "Ann Acme Bob knows", scopes=scopes, filters=given)
        assert set(names(found)) == people
        assert {hit.fact.fact for hit in found.facts} == facts
        assert set(uuids(found)) == episodes


async def test_by_times_of_episodes_and_entities(client: Client, group: str) -> None:
    known = await chain(client, group)
    span = ret.TimeSpan(since=timestamp(JAN + 2), until=timestamp(JAN + 4))
    found = await graph(
        client, group, "told", scopes=over(EPISODES, BM25), filters=ret.SearchFilters(valid_at=span)
    )
    assert sorted(uuids(found)) == ["e2", "e3"]
    await client.ingest(group, [telling(APR, fact("KNOWS", "Gus", "Hal"), uuid="late")])
    hal = (await graph(client, group, "Hal", search_type=NODES, max_results=1)).nodes[0].node
    assert hal.uuid not in known.values()
    before = ret.SearchFilters(known_as_of=timestamp(hal.created_at.ToMilliseconds() - 1))
    assert "Hal" not in names(await graph(client, group, "Hal Gus", search_type=NODES, filters=before))
    since = ret.SearchFilters(created_at=ret.TimeSpan(since=hal.created_at))
    assert names(await graph(client, group, "Hal Gus", search_type=NODES, filters=since)) == ["Hal"]


async def test_deleted_episodes_and_merged_entities_are_gone(client: Client, group: str) -> None:
    known = await chain(client, group)
    scopes = [*over(NODES, BM25), *over(EPISODES, BM25)]
    assert names(await graph(client, group, "Fay", scopes=scopes)).count("Fay") == 1
    deleted = admin_pb2.DeleteEpisodeInput(uuid="e5", group_id=group)
    await client.admin.DeleteEpisode(admin_pb2.DeleteEpisodeRequest(input=deleted), timeout=30)
    assert "e5" not in uuids(await graph(client, group, "topic5 Fay", scopes=scopes))
    merge = admin_pb2.MergeEntityNodesInput(group_id=group, keep_uuid=known["Eve"], merge_uuid=known["Fay"])
    await client.admin.MergeEntityNodes(admin_pb2.MergeEntityNodesRequest(input=merge), timeout=30)
    found = await graph(client, group, "Fay", scopes=over(NODES, BM25))
    assert "Fay" not in names(found)
    assert "Eve" in names(found), "by its alias"


async def test_japanese_entities_and_episodes(client: Client, group: str) -> None:
    told = fact("WORKS_AT", "田中太郎", "トヨタ", "田中太郎はトヨタで働いている")
    await client.ingest(group, [episode(body(told), JAN, uuid="e")])
    found = await graph(
        client, group, "田中さんはトヨタにいますか", scopes=[*over(NODES, BM25), *over(EPISODES, BM25)]
    )
    assert set(names(found)) == {"田中太郎", "トヨタ"}
    assert uuids(found) == ["e"]


async def test_what_a_scope_does_not_have_is_refused(client: Client, group: str) -> None:
    for how, field in (
        (over(EPISODES, BM25, COSINE), "input.scopes[0].methods[1]"),
        (over(EPISODES, BM25, reranker=ret.RERANKER_MMR), "input.scopes[0].reranker"),
        (over(EPISODES, BM25, reranker=ret.RERANKER_EPISODE_MENTIONS), "input.scopes[0].reranker"),
    ):
        given = ret.SearchGraphInput(group_ids=[group], query="x", scopes=how)
        refusal = await refused(client, "SearchGraph", ret.SearchGraphRequest(input=given))
        assert (refusal.code, refusal.fields) == ("INVALID_ARGUMENT", (field,))


async def test_what_other_groups_hold_moves_no_result(client: Client, group: str) -> None:
    await chain(client, group)
    scopes = [*over(NODES, BM25, COSINE, BFS), *over(EPISODES, BM25, BFS)]
    before = await graph(client, group, "Ann topic0 told", scopes=scopes, include_scores=True)
    await chain(client, f"{group}-2")
    assert await graph(client, group, "Ann topic0 told", scopes=scopes, include_scores=True) == before
