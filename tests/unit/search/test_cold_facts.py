"""Searches of groups that are not in memory: answered by the store, ranked as ever, loaded behind."""

import asyncio
import logging
import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from kgsvc.domain.errors import StoreUnavailable
from kgsvc.domain.model.delta import GroupHead
from kgsvc.domain.model.graph import Entity
from kgsvc.search.engine import Engine
from kgsvc.search.filters import Filters, Span
from kgsvc.search.index.cache import LOADED_AT_ONCE
from kgsvc.search.index.facts import GroupIndex
from kgsvc.search.index.group import WHOLE
from kgsvc.search.plans import Method, Reranker, Scope, ScopePlan
from kgsvc.search.ranking.facts import find_facts
from kgsvc.search.ranking.pool import ScopeCandidates
from kgsvc.search.ranking.stored import found_in_store, of_store
from kgsvc.search.results import GraphQuery, Hit
from kgsvc.search.settings import SearchSettings
from kgsvc.stores.search_protocol import Changes, FactCandidates, FactsAsked, IndexedFact
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
    index = GroupIndex("g", SPACE, 4)
    index.apply(page(*rows))
    feed = Feed()
    feed.write(*rows)
    near = np.frombuffer(vector(1, 2, 0, 1), "<f4")
    found = asyncio.run(cold(feed, query, near))
    expected = find_facts(index, asked(query, near))
    assert found.lists.keys() == expected.lists.keys()
    for method, ranked in expected.lists.items():
        assert [key for _, key in found.lists[method]] == [key for _, key in ranked]
        lows = [low for low, _ in ranked]
        assert [low for low, _ in found.lists[method]] == pytest.approx(lows, abs=2e-9)
    assert found.packed == expected.packed


async def cold(store: Feed, query: str, near: NDArray[np.float32] | None = None) -> ScopeCandidates:
    """What is made of a store's candidates."""
    wanted = asked(query, near)
    stored = await store.search_candidates("g", of_store(wanted, SPACE))
    assert stored is not None
    return found_in_store(stored, wanted)


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
    assert feed.cold_reads == ["g"]
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
    """What only compares ranks and scores is answered from the store, the rest waits for the load."""
    feed = filled()
    query = GraphQuery(("g",), QUERY, (ScopePlan(Scope.FACTS, methods, reranker),), 30)
    fused = reranker in {Reranker.RRF, Reranker.WEIGHTED_SUM, Reranker.CROSS_ENCODER}
    answers = []
    for settings in (TIGHT, ROOMY):
        search = searching(feed, settings)
        if settings is ROOMY:
            (head,) = await search.heads(["g"])
            await search.indexes.use([head], len)
        answers.append(await search.search(query))
        assert search.indexes.holds("g") is (settings is ROOMY or not fused)
    assert answers[0] == [replace(each, from_store=fused) for each in answers[1]]
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
async def test_filters_centers_and_origins_wait_for_the_load(how: dict[str, Any]) -> None:
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
    assert answers[0] == answers[1]
    assert len(answers[0].hits) == 9
    assert not answers[0].from_store


async def test_who_waits_for_the_load_meets_a_deadline() -> None:
    feed = filled()
    feed.gate = asyncio.Event()  # never set
    search = searching(feed, replace(ROOMY, search_timeout_s=0.05))
    query = GraphQuery(("g",), QUERY, (HYBRID,), 9, filters=Filters(true_at_ms=NOW - 1))
    with pytest.raises(StoreUnavailable):
        await search.search(query)
    await search.close()


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
    first = {group for group, _ in feed.reads}
    assert len(first) == 2
    feed.gate.set()
    for group in first:
        await held(search, group)
    await find(search, "a", "b", "c")
    (last,) = set("abc") - first
    await held(search, last)


async def test_a_load_that_fails_is_told_once_and_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    feed = filled()
    search = searching(feed)
    expected = await loaded(feed)
    assert not await search.indexes.begin("g", WHOLE)
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

    feed = Silent()
    feed.write(*many())
    search = engine(feed, None, replace(ROOMY, store_timeout_s=0.1), Stopped())
    assert not await search.indexes.begin("g", WHOLE)
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
    ((low, (uuid, _)),) = (await cold(feed, "tea")).lists[Method.BM25]
    assert uuid == "a"
    assert np.isfinite(low)
    assert low < 0


class Hanging(Feed):
    """Whose changes are never told."""

    async def changes(self, group_id: str, after_rev: int, limit: int) -> Changes:
        await asyncio.Event().wait()
        raise AssertionError


async def test_those_who_wait_for_the_same_look_wait_once() -> None:
    feed = Hanging()
    feed.write(*many(count=3))
    search = searching(feed, replace(ROOMY, store_timeout_s=600.0, search_timeout_s=0.2))
    async with asyncio.timeout(30):
        ended = await asyncio.gather(*(find(search) for _ in range(200)), return_exceptions=True)
    assert {type(each) for each in ended} == {StoreUnavailable}
    await search.close()


async def test_facts_are_answered_by_the_store_while_somebody_waits_for_all_of_a_group() -> None:
    feed = filled("a", "b", "c")
    feed.gate = asyncio.Event()
    search = searching(feed, replace(ROOMY, search_timeout_s=20.0, store_timeout_s=600.0))
    await find(search, "a", "b")  # as many are loaded behind as may be
    whole = GraphQuery(("c",), QUERY, (HYBRID,), 9, filters=Filters(true_at_ms=NOW - 1))
    waiting = asyncio.create_task(search.search(whole))
    async with asyncio.timeout(30):
        while not search.indexes._held.use(GroupHead("c")).lock.locked():  # noqa: ASYNC110  no other sign
            await asyncio.sleep(0)
        assert await find(search, "c") == await loaded(filled("a", "b", "c"), "c")
    feed.gate.set()
    await waiting
    await search.close()
