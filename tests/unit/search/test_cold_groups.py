"""Searches that need more than facts, of groups that are not in memory: answered, and loaded behind."""

import asyncio
import logging
from collections import Counter
from collections.abc import Collection
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgsvc.domain.errors import StoreUnavailable
from kgsvc.domain.model.delta import GroupHead
from kgsvc.domain.model.graph import Entity, Episode, Source
from kgsvc.search.engine import Engine
from kgsvc.search.index.cache import IndexCache
from kgsvc.search.index.cold import LOADED_AT_ONCE
from kgsvc.search.index.facts import GroupIndex
from kgsvc.search.index.group import WHOLE
from kgsvc.search.index.postings import keyword_counts, keyword_text
from kgsvc.search.index.text_index import Whole
from kgsvc.search.plans import RECIPES, Method, Reason, Recipe, Reranker, Scope, default_plan
from kgsvc.search.query import parse
from kgsvc.search.results import GraphQuery, ScopeAnswer
from kgsvc.stores.search_protocol import IndexedEpisode
from tests.unit.search.feed import NOW, Feed, page, patient
from tests.unit.search.test_cold_facts import QUERY, ROOMY, TIGHT, filled, many, searching

ANYWHERE = [recipe for recipe in Recipe if not recipe.endswith("node_distance")]


def told() -> Feed:
    """A group with episodes, whose index nobody can load before the gate opens."""
    feed = filled()
    bodies = {"a": "Ann drinks red tea.", "b": "Nothing of that.", "c": "The 京 of wine."}
    feed.episodes = tuple(
        IndexedEpisode(Episode(uuid, "g", body, Source.TEXT, NOW, NOW), ("n1",))
        for uuid, body in bodies.items()
    )
    feed._group("g").entities["n1"] = Entity("n1", "g", "Red Tea Company", NOW, "It sells tea.")
    feed.gate = asyncio.Event()
    return feed


async def loaded(search: Engine) -> None:
    async with asyncio.timeout(30):
        while not search.indexes.holds("g", parts=WHOLE):  # noqa: ASYNC110  loading gives no other sign
            await asyncio.sleep(0)


def facts_of(answer: ScopeAnswer) -> list[str]:
    return [hit.item.fact for hit in answer.hits if hasattr(hit.item, "fact")]


@patient
@given(
    st.integers(0, 10**6),
    st.lists(st.sampled_from(["red", "tea", "the", "of", "wine", "東京", "京"])).map(" ".join),
)
def test_some_rows_score_as_in_the_index_of_all(seed: int, query: str) -> None:
    rows = many(seed, count=12)
    every, some = GroupIndex("g"), GroupIndex("g")
    every.apply(page(*rows))
    some.apply(page(*rows[::2]))
    texts = [keyword_counts(keyword_text(row.fact)) for row in rows]
    terms = parse(query)
    frequencies = Counter(
        term.text
        for counts in texts
        for term in terms
        if any(each == term.text or (term.by_prefix and each.startswith(term.text)) for each in counts)
    )
    some.whole = Whole(len(rows), frequencies, sum(counts.total() for counts in texts))
    seen = every.columns.current(every.rows, NOW)
    expected = [(low, uuid) for low, uuid, _ in every.by_keyword(terms, seen, 99) if uuid in some]
    seen = some.columns.current(some.rows, NOW)
    found = [(low, uuid) for low, uuid, _ in some.by_keyword(terms, seen, 99)]
    assert [uuid for _, uuid in found] == [uuid for _, uuid in expected]
    assert [low for low, _ in found] == pytest.approx([low for low, _ in expected], abs=2e-9)


@pytest.mark.parametrize("recipe", ANYWHERE)
async def test_every_recipe_answers_before_the_group_is_in_memory(recipe: Recipe) -> None:
    feed = told()
    search = searching(feed, replace(ROOMY, search_timeout_s=20))
    query = GraphQuery(("g",), QUERY, RECIPES[recipe], 10)
    cold = await search.search(query)
    assert all(answer.from_store for answer in cold)
    assert not search.indexes.holds("g")
    for answer in cold:
        if answer.scope is Scope.FACTS:
            assert len(answer.hits) == 10
        if answer.scope is Scope.NODES:
            assert [hit.item.entity.name for hit in answer.hits] == ["Red Tea Company"]  # type: ignore[union-attr]
        if answer.scope in (Scope.NODES, Scope.COMMUNITIES):
            assert Method.COSINE not in answer.methods, "vectors of names are not read, and that is told"
            assert answer.reranker is not Reranker.MMR
    assert feed.gate is not None
    feed.gate.set()
    async with asyncio.timeout(30):
        while any(answer.from_store for answer in await search.search(query)):  # noqa: ASYNC110
            await asyncio.sleep(0)
    await search.close()


async def test_mmr_of_names_goes_by_ranks_and_says_why() -> None:
    feed = told()
    search = searching(feed)
    query = GraphQuery(("g",), QUERY, RECIPES[Recipe.NODE_HYBRID_SEARCH_MMR], 10)
    (answer,) = await search.search(query)
    assert (answer.reranker, answer.reason) == (Reranker.RRF, Reason.NO_EMBEDDING)
    await search.close()


async def test_evidence_is_weighed_on_what_the_store_finds() -> None:
    feed = told()
    search = searching(feed)
    query = GraphQuery(("g",), QUERY, (default_plan(Scope.EPISODES), default_plan(Scope.FACTS)), 10)
    cold = await search.search(query)
    assert {hit.item.episode.uuid for hit in cold[0].hits} == {"a", "b", "c"}  # type: ignore[union-attr]
    assert cold[0].methods == (Method.BM25,)
    assert cold[1].methods == (Method.BM25, Method.COSINE)
    assert feed.gate is not None
    feed.gate.set()
    await loaded(search)
    reads = len(feed.cold_reads)
    warm = await search.search(query)
    assert len(feed.cold_reads) == reads
    assert not any(answer.from_store for answer in warm)
    assert facts_of(cold[1])[:3] == facts_of(warm[1])[:3]
    await search.close()


async def test_a_context_is_made_of_what_the_store_finds() -> None:
    feed = told()
    search = searching(feed)
    query = GraphQuery(("g",), QUERY + " before?", RECIPES[Recipe.DEFAULT], 10)
    found = await search.search(query)
    context = await search.context(query, found, 2_000)
    assert "Ann drinks red tea." in [line.text for line in context]
    assert not search.indexes.holds("g")
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
        (answer,) = await search.search(query)
        assert bool(answer.hits) is (scope is Scope.FACTS and question.startswith(QUERY))
        assert await search.context(query, [answer], 500) is not None
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
