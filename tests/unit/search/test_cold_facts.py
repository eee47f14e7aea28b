"""Searches of groups that are not in memory: answered by the store, ranked as ever, loaded behind."""

import asyncio
import logging
import random
from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kgsvc.domain.errors import StoreUnavailable
from kgsvc.domain.model.graph import Entity
from kgsvc.search.engine import Engine
from kgsvc.search.filters import Filters, Span
from kgsvc.search.index.cache import IndexCache
from kgsvc.search.index.cold import LOADED_AT_ONCE, Cold, ColdStore
from kgsvc.search.index.facts import GroupIndex
from kgsvc.search.index.group import Group, Part
from kgsvc.search.plans import Method, Reranker, Scope, ScopePlan
from kgsvc.search.query import parse
from kgsvc.search.results import GraphQuery, Hit
from kgsvc.search.settings import SearchSettings
from kgsvc.stores.search_protocol import FactCandidates, FactsAsked, IndexedFact
from tests.unit.search.feed import (
    NOW,
    SPACE,
    Embedder,
    Feed,
    Stopped,
    asked,
    engine,
    fact,
    indexed,
    page,
    patient,
    vector,
)

ROOMY = SearchSettings()
TIGHT = SearchSettings(index_bytes=1)
QUERY = "the red tea of 京"
WORDS = ("red", "tea", "the", "of", "a", "wine", "alpha", "東京", "京都", "京", "北京")
MANY = LOADED_AT_ONCE + 100


def many(seed: int = 1, group: str = "g", count: int = MANY) -> list[IndexedFact]:
    """Facts of few words, many of which are alike; some expired, ended, or without vector."""
    rng = random.Random(seed)
    return [_some(rng, f"{group}{n:04}", group) for n in range(count)]


def _some(rng: random.Random, uuid: str, group: str) -> IndexedFact:
    made = replace(
        fact(uuid, " ".join(rng.choices(WORDS, k=rng.randrange(6))), group, f"n{rng.randrange(9)}", "bob"),
        expired_ms=rng.choice((None, None, NOW - 1)),
        invalid_ms=rng.choice((None, NOW, NOW + 1)),
        episodes=tuple("abc"[: rng.randrange(4)]),
    )
    near = vector(*(rng.randrange(-3, 4) for _ in range(3)), 1)
    return indexed(made, rng.choice((None, near)))


def filled(*groups: str) -> Feed:
    feed = Feed()
    for seed, group in enumerate(groups or ("g",)):
        feed.write(*many(seed, group))
    return feed


def searching(feed: Feed, settings: SearchSettings = ROOMY) -> Engine:
    return engine(feed, Embedder({QUERY: vector(1, 2, 0, 1)}), settings, Stopped())


async def find(search: Engine, *groups: str, query: str = QUERY) -> list[Hit]:
    return await search.facts(groups or ("g",), query, 50)


async def loaded(feed: Feed, *groups: str) -> list[Hit]:
    """What a search of indexes in memory finds."""
    search = searching(feed)
    for head in await search.heads(groups or ("g",)):
        await search.indexes.use([head], len)
    before = len(feed.cold_reads)
    found = await find(search, *groups)
    assert len(feed.cold_reads) == before
    return found


async def held(search: Engine, group: str = "g") -> None:
    """Wait until a group is in memory."""
    async with asyncio.timeout(30):
        while not search.indexes.holds(group):  # noqa: ASYNC110  loading gives no other sign
            await asyncio.sleep(0)


# -- ranking ---------------------------------------------------------------------------------------------


@patient
@given(st.integers(0, 10**6), st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join))
@example(2, "京都 京")
def test_candidates_score_what_an_index_scores(seed: int, query: str) -> None:
    rows = many(seed, count=12)
    index = GroupIndex("g")
    index.apply(page(*rows))
    feed = Feed()
    feed.write(*rows)
    group = asyncio.run(cold_group(feed, query))
    seen = index.columns.current(index.rows, NOW)
    expected = [(low, uuid) for low, uuid, _ in index.by_keyword(parse(query), seen, 99)]
    seen = group.facts.columns.current(group.facts.rows, NOW)
    found = [(low, uuid) for low, uuid, _ in group.facts.by_keyword(parse(query), seen, 99)]
    assert [uuid for _, uuid in found] == [uuid for _, uuid in expected]
    assert [low for low, _ in found] == pytest.approx([low for low, _ in expected], abs=2e-9)


async def cold_group(store: Feed, query: str) -> Group:
    """What is made of a store's candidates."""
    cold = Cold(cast(ColdStore, store), IndexCache(store, TIGHT, SPACE, 4), TIGHT, loaded_at_once=-1)
    return (await cold.groups(["g"], asked(query), [Part.FACTS]))["g"]


async def test_the_answer_is_that_of_the_index() -> None:
    feed = filled()
    found = await find(searching(feed, TIGHT))
    assert len(found) == 50
    assert found == await loaded(feed)


async def test_groups_in_memory_and_not_are_ranked_together() -> None:
    feed = filled("g", "h")
    search = searching(feed)
    (head,) = await search.heads(["h"])
    await search.indexes.use([head], len)
    assert await find(search, "g", "h", "unknown") == await loaded(feed, "g", "h")
    assert feed.cold_reads[:2] == ["g", "unknown"]
    await search.close()


async def test_words_alone() -> None:
    feed = filled()
    search, index = (engine(feed, None, each, Stopped()) for each in (TIGHT, ROOMY))
    (head,) = await index.heads(["g"])
    await index.indexes.use([head], len)
    assert await find(search) == await find(index) != []
    assert await find(search, query="") == []


@pytest.mark.parametrize("reranker", sorted(set(Reranker) - {Reranker.EVIDENCE}))
@pytest.mark.parametrize("methods", [(Method.BM25, Method.COSINE), (Method.BM25,), (Method.COSINE,)])
async def test_every_reranker_of_facts(reranker: Reranker, methods: tuple[Method, ...]) -> None:
    feed = filled()
    query = GraphQuery(("g",), QUERY, (ScopePlan(Scope.FACTS, methods, reranker),), 30)
    answers = []
    for settings in (TIGHT, ROOMY):
        search = searching(feed, settings)
        if settings is ROOMY:
            (head,) = await search.heads(["g"])
            await search.indexes.use([head], len)
        answers.append(await search.search(query))
        assert search.indexes.holds("g") is (settings is ROOMY)
    assert answers[0] == [replace(each, from_store=True) for each in answers[1]]
    assert answers[0][0].hits


HYBRID = ScopePlan(Scope.FACTS, (Method.BM25, Method.COSINE))
NARROWED = {
    "relations": {"filters": Filters(relations=frozenset({"KNOWS"}))},
    "as of": {"filters": Filters(true_at_ms=NOW)},
    "before": {"filters": Filters(true_at_ms=NOW - 1)},
    "ended": {"filters": Filters(invalid=Span(until_ms=NOW + 1))},
    "center": {"center": "n1"},
    "origins": {"origins": ("n1", "n2")},
}


@pytest.mark.parametrize("how", NARROWED.values(), ids=NARROWED)
async def test_filters_centers_and_origins_need_no_index(how: dict[str, Any]) -> None:
    feed = filled()
    feed._group("g").entities.update({f"n{n}": Entity(f"n{n}", "g", f"N{n}", NOW) for n in range(9)})
    feed._group("g").entities["bob"] = Entity("bob", "g", "Bob", NOW)
    walking = replace(HYBRID, methods=(Method.BM25, Method.COSINE, Method.BFS))
    query = GraphQuery(("g",), QUERY, (walking if "origins" in how else HYBRID,), 9, **how)
    answers = []
    for settings in (TIGHT, ROOMY):
        search = searching(feed, settings)
        if settings is ROOMY:
            await search.indexes.use(await search.heads(["g"]), len)
        answers.append((await search.search(query))[0])
    cold, warm = answers
    assert (cold.from_store, warm.from_store) == (True, False)
    assert len(cold.hits) == len(warm.hits) == 9
    best, cold_best = ({hit.item.uuid for hit in each.hits} for each in (warm, cold))  # type: ignore[union-attr]
    assert len(best & cold_best) >= 3, "what ended comes without vectors"


# -- when ------------------------------------------------------------------------------------------------


async def test_a_small_group_is_loaded_at_once() -> None:
    feed = Feed()
    feed.write(*many(count=LOADED_AT_ONCE))
    search = searching(feed)
    await find(search)
    assert search.indexes.holds("g")


async def test_a_group_is_loaded_behind_the_answer() -> None:
    feed = filled()
    search = searching(feed)
    feed.gate = asyncio.Event()
    first = await find(search)
    await feed.waiting.wait()
    assert await find(search) == first
    assert len(feed.reads) == 1, "one loads, the others are answered meanwhile"
    feed.gate.set()
    await held(search)
    asked = len(feed.cold_reads)
    assert await find(search) == first
    assert len(feed.cold_reads) == asked == 2


async def test_what_was_written_is_found_both_ways() -> None:
    feed = filled()
    for settings in (TIGHT, ROOMY):
        search = searching(feed, settings)
        for n in range(3):
            made = fact(f"new{settings.index_bytes}{n}", QUERY)
            feed.write(indexed(made, vector(1, 2, 0, 1)))
            assert made.uuid in [hit.fact.uuid for hit in await find(search)]
            if settings is ROOMY:
                await held(search)


async def test_a_group_too_big_to_hold_is_never_loaded() -> None:
    feed = filled()
    search = searching(feed, replace(ROOMY, index_bytes=MANY * 1_000))
    for _ in range(3):
        await find(search)
    await search.close()
    assert feed.reads == []
    assert len(feed.cold_reads) == 3


async def test_a_store_that_cannot_search_is_loaded_from() -> None:
    feed = filled()
    feed.searches = False
    search = searching(feed)
    assert await find(search) == await loaded(feed)
    assert search.indexes.holds("g")


async def test_only_some_groups_are_loaded_behind_at_a_time() -> None:
    feed = filled("a", "b", "c")
    search = searching(feed)
    feed.gate = asyncio.Event()
    await find(search, "a", "b", "c")
    await feed.waiting.wait()
    await asyncio.sleep(0)
    assert {group for group, _ in feed.reads} == {"a", "b"}
    feed.gate.set()
    await held(search, "a")
    await held(search, "b")
    await find(search, "a", "b", "c")
    await held(search, "c")


async def test_a_load_that_fails_is_told_once_and_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    feed = filled()
    search = searching(feed)
    expected = await loaded(feed)
    with caplog.at_level(logging.WARNING, "kgsvc.search"):
        for _ in range(2):
            feed.error = StoreUnavailable("down")
            assert await find(search) == expected
            async with asyncio.timeout(30):
                while feed.error is not None:  # noqa: ASYNC110  the load raises it behind the answer
                    await asyncio.sleep(0)
            await asyncio.sleep(0)
    assert [record.getMessage() for record in caplog.records] == [
        "a group's facts could not be loaded in the background: StoreUnavailable"
    ]
    assert await find(search) == expected
    await held(search)


async def test_closing_ends_a_load_that_nobody_waits_for() -> None:
    feed = filled()
    search = searching(feed)
    feed.gate = asyncio.Event()  # never set
    await find(search)
    await feed.waiting.wait()
    await search.close()
    assert search.indexes.nbytes == 0


async def test_a_group_deleted_meanwhile_is_empty() -> None:
    feed = filled()
    search = searching(feed)
    await find(search)
    await held(search)
    feed.empty("g")
    assert await find(search) == []
    assert not search.indexes.holds("h")


async def test_a_store_that_does_not_answer_meets_a_deadline() -> None:
    class Silent(Feed):
        async def search_candidates(self, group_id: str, asked: FactsAsked) -> FactCandidates | None:
            await asyncio.Event().wait()
            return None

    search = engine(Silent(), None, replace(ROOMY, store_timeout_s=0.01), Stopped())
    with pytest.raises(StoreUnavailable):
        await find(search)


async def test_numbers_that_lag_behind_do_no_harm() -> None:
    class Lagging(Feed):
        async def search_candidates(self, group_id: str, asked: FactsAsked) -> FactCandidates | None:
            found = await super().search_candidates(group_id, asked)
            assert found is not None
            return replace(found, frequencies={}, total_length=0)

    feed = Lagging()
    feed.write(fact("a", "tea"))
    index = (await cold_group(feed, "tea")).facts
    ((low, uuid, _),) = index.by_keyword(parse("tea"), index.columns.current(index.rows, NOW), 9)
    assert uuid == "a"
    assert np.isfinite(low)
    assert low < 0
