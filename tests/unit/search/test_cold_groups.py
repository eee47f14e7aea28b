"""Searches that need more than facts, of groups that are not in memory: answered, and loaded behind."""

import asyncio
import logging
from collections.abc import Collection
from dataclasses import replace

import pytest

from kgsvc.domain.errors import StoreUnavailable
from kgsvc.domain.model.delta import GroupHead
from kgsvc.domain.model.graph import Episode, Source
from kgsvc.search.engine import Engine
from kgsvc.search.index.cache import LOADED_AT_ONCE, IndexCache
from kgsvc.search.index.group import WHOLE
from kgsvc.search.plans import RECIPES, Method, Recipe, Reranker, Scope, default_plan
from kgsvc.search.results import GraphQuery, ScopeAnswer
from kgsvc.stores.search_protocol import IndexedEpisode
from tests.unit.search.feed import NOW, Feed
from tests.unit.search.test_cold_facts import QUERY, ROOMY, TIGHT, filled, many, searching

ANYWHERE = [recipe for recipe in Recipe if not recipe.endswith("node_distance")]
FUSED = {Recipe.DEFAULT, Recipe.EDGE_HYBRID_SEARCH_RRF}


def told() -> Feed:
    """A group with episodes, whose index nobody can load before the gate opens."""
    feed = filled()
    bodies = {"a": "Ann drinks red tea.", "b": "Nothing of that.", "c": "The 京 of wine."}
    feed.episodes = tuple(
        IndexedEpisode(Episode(uuid, "g", body, Source.TEXT, NOW, NOW), ("n1",))
        for uuid, body in bodies.items()
    )
    feed.gate = asyncio.Event()
    return feed


async def loaded(search: Engine) -> None:
    async with asyncio.timeout(30):
        while not search.indexes.holds("g", parts=WHOLE):  # noqa: ASYNC110  loading gives no other sign
            await asyncio.sleep(0)


def facts_of(answer: ScopeAnswer) -> list[str]:
    return [hit.item.fact for hit in answer.hits if hasattr(hit.item, "fact")]


DEFAULT = GraphQuery(("g",), QUERY, RECIPES[Recipe.DEFAULT], 10)


@pytest.mark.parametrize("recipe", ANYWHERE)
async def test_every_recipe_but_those_of_fused_facts_waits_for_the_load(recipe: Recipe) -> None:
    feed = told()
    feed.gate = None
    search = searching(feed, replace(ROOMY, search_timeout_s=20))
    fused = recipe in FUSED
    answers = await search.search(GraphQuery(("g",), QUERY, RECIPES[recipe], 10))
    assert bool(feed.cold_reads) is fused
    for answer in answers:
        assert answer.from_store is fused
        if answer.scope is Scope.FACTS:
            assert len(answer.hits) == 10
    await search.close()


async def test_the_default_recipe_fuses_what_the_store_finds_and_says_so() -> None:
    feed = told()
    feed.gate = None
    search = searching(feed)
    (cold,) = await search.search(DEFAULT)
    assert (cold.reranker, cold.from_store) == (Reranker.RRF, True)
    assert cold.methods == (Method.BM25, Method.COSINE)
    assert len(cold.hits) == 10
    await loaded(search)
    reads = len(feed.cold_reads)
    (warm,) = await search.search(DEFAULT)
    assert len(feed.cold_reads) == reads == 1
    assert (warm.reranker, warm.from_store) == (Reranker.EVIDENCE, False)
    (plain,) = await search.search(replace(DEFAULT, plans=RECIPES[Recipe.EDGE_HYBRID_SEARCH_RRF]))
    assert plain.hits == cold.hits
    await search.close()


async def test_a_question_about_the_past_and_a_context_wait_for_the_load() -> None:
    feed = told()
    search = searching(feed)
    past = asyncio.create_task(search.search(replace(DEFAULT, text=f"{QUERY} before?")))
    context = asyncio.create_task(search.search_for_context(DEFAULT))
    await feed.waiting.wait()
    assert feed.gate is not None
    feed.gate.set()
    searched = await context
    assert [each.from_store for each in (*await past, *searched.answers)] == [False] * 2
    lines = await search.context(searched, 2_000)
    assert "Ann drinks red tea." in [line.text for line in lines]
    assert feed.cold_reads == []
    await search.close()


@pytest.mark.parametrize("question", [f"{QUERY} in May 2023?", "zzz in May 2023?"])
@pytest.mark.parametrize("scope", [Scope.FACTS, Scope.EPISODES])
async def test_a_question_that_names_a_time_is_answered_where_no_episode_is_found(
    question: str, scope: Scope
) -> None:
    feed = filled()
    for settings in (TIGHT, ROOMY):
        search = searching(feed, settings)
        query = GraphQuery(("g",), question, (default_plan(scope),), 10)
        searched = await search.search_for_context(query)
        (answer,) = searched.answers
        assert bool(answer.hits) is (scope is Scope.FACTS and question.startswith(QUERY))
        assert await search.context(searched, 500) is not None
        await search.close()


async def test_a_group_too_large_to_hold_is_never_loaded() -> None:
    feed = told()
    search = searching(feed, TIGHT)
    query = GraphQuery(("g",), QUERY, RECIPES[Recipe.DEFAULT], 10)
    for _ in range(3):
        (answer,) = await search.search(query)
        assert answer.from_store
        assert answer.hits
    await search.close()
    assert feed.reads == feed.text_reads == []


async def test_the_busiest_groups_are_loaded_before_anybody_asks() -> None:
    feed = Feed()
    for seed, group in enumerate("abc"):
        feed.write(*many(seed, group, count=LOADED_AT_ONCE + 10 * seed + 1))
    search = searching(feed, replace(ROOMY, warm_groups=2))
    await search.warm(["a", "b", "c", "unknown"])
    assert [search.indexes.holds(group, WHOLE) for group in "abc"] == [False, True, True]
    await search.close()
    tight = searching(feed, replace(TIGHT, warm_groups=2))
    await tight.warm(["a", "b", "c"])
    assert not any(map(tight.indexes.holds, "abc"))


async def test_a_store_that_is_not_there_yet_keeps_no_server_from_starting(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Away(Feed):
        async def heads(self, group_ids: Collection[str]) -> dict[str, GroupHead]:
            raise StoreUnavailable("down")

    with caplog.at_level(logging.WARNING, "kgsvc.search"):
        await searching(Away()).warm(["g"])
    assert [record.getMessage() for record in caplog.records] == ["groups were not loaded at the start: down"]


async def test_loading_rests_while_a_search_does_without_an_index() -> None:
    rests: list[float] = []

    async def rest(seconds: float) -> None:
        rests.append(seconds)

    feed = filled()
    indexes = IndexCache(feed, replace(ROOMY, load_page=100), "", 0, rest)
    (head,) = (await feed.heads(["g"])).values()
    with indexes.serving():
        indexes.load_behind(head, 1)
        await indexes.loaded_behind("g")
    assert len(rests) == len(feed.reads) > 1, "before every page"
    assert indexes.holds("g")
    await indexes.close()
