"""Loading, following, eviction, and what happens when callers or the store go away."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from kgsvc.domain.errors import StoreUnavailable
from kgsvc.domain.model.delta import GroupHead
from kgsvc.search.index.cache import IndexCache, rest_s
from kgsvc.search.index.fact_columns import FactColumns
from kgsvc.search.index.facts import GroupIndex
from kgsvc.search.index.group import LazyPart, SearchedGroup
from kgsvc.search.settings import SearchSettings
from kgsvc.stores.search_protocol import Changes
from tests.unit.search.feed import Feed, fact
from tests.unit.search.test_group_texts import episode

SETTINGS = SearchSettings(load_page=10)


def cache_of(feed: Feed, settings: SearchSettings = SETTINGS) -> IndexCache:
    return IndexCache(feed, settings, "", 0)


async def size(cache: IndexCache, feed: Feed, group: str = "g") -> int:
    head = (await feed.heads([group]))[group]
    return await cache.use([head], _size)


def _size(groups: list[SearchedGroup]) -> int:
    return len(groups[0].facts)


def _texts(groups: list[SearchedGroup]) -> int:
    return len(groups[0].texts)


def filled(count: int, group: str = "g") -> Feed:
    feed = Feed()
    feed.write(*(fact(f"{group}{i}", f"text {i}", group) for i in range(count)))
    return feed


async def test_loads_page_by_page_and_then_only_what_is_new() -> None:
    feed = filled(25)
    cache = cache_of(feed)
    assert await size(cache, feed) == 25
    assert feed.reads == [("g", 0), ("g", 10), ("g", 20)]
    assert await size(cache, feed) == 25
    feed.write(fact("new"))
    feed.remove("g", "g3")
    feed.remove("g", "g4")
    assert await size(cache, feed) == 24
    assert feed.reads[3:] == [("g", 25)]


async def test_a_new_epoch_starts_from_nothing() -> None:
    feed = filled(25)
    cache = cache_of(feed)
    await size(cache, feed)
    feed.empty("g")
    assert await size(cache, feed) == 0
    feed.write(fact("again"))
    assert await size(cache, feed) == 1


async def test_an_epoch_that_ends_while_loading() -> None:
    feed = filled(25)
    cache = cache_of(feed)
    head = (await feed.heads(["g"]))["g"]
    feed.gate = asyncio.Event()
    loading = asyncio.create_task(cache.use([head], _size))
    await feed.waiting.wait()
    feed.empty("g")
    feed.write(fact("again"))
    feed.gate.set()
    assert await loading == 1


async def test_a_head_older_than_the_index_needs_no_read() -> None:
    feed = filled(3)
    cache = cache_of(feed)
    old = (await feed.heads(["g"]))["g"]
    feed.empty("g")
    feed.write(fact("again"))
    assert await size(cache, feed) == 1
    assert await cache.use([old], _size) == 1
    assert len(feed.reads) == 1


async def test_many_callers_load_once() -> None:
    feed = filled(25)
    cache = cache_of(feed)
    assert await asyncio.gather(*(size(cache, feed) for _ in range(8))) == [25] * 8
    assert len(feed.reads) == 3


async def test_another_group_is_served_while_one_loads() -> None:
    feed = filled(5)
    feed.write(fact("o", group="other"))
    cache = cache_of(feed)
    await size(cache, feed, "other")
    feed.gate = asyncio.Event()
    loading = asyncio.create_task(size(cache, feed))
    await feed.waiting.wait()
    assert await size(cache, feed, "other") == 1
    assert not loading.done()
    feed.gate.set()
    assert await loading == 5


async def test_the_least_recently_used_goes_first() -> None:
    feed = Feed()
    for group in "abc":
        feed.write(*(fact(f"{group}{i}", "some text", group) for i in range(20)))
    cache = cache_of(feed)
    await size(cache, feed, "a")
    one = cache.nbytes
    cache = cache_of(feed, replace(SETTINGS, index_bytes=int(2.5 * one)))
    for group in "abac":
        await size(cache, feed, group)
    assert cache.group_ids == ("a", "c")
    assert cache.nbytes == 2 * one
    assert await size(cache, feed, "b") == 20
    assert cache.group_ids == ("c", "b")


async def test_a_group_over_the_bound_stays_alone() -> None:
    feed = filled(20)
    feed.write(fact("o", group="other"))
    cache = cache_of(feed, replace(SETTINGS, index_bytes=1))
    await size(cache, feed, "other")
    assert await size(cache, feed) == 20
    assert cache.group_ids == ("g",)


async def test_groups_without_facts_count_too() -> None:
    cache = cache_of(Feed(), replace(SETTINGS, index_bytes=100_000))
    for number in range(100):
        assert await cache.use([GroupHead(f"empty{number}")], _size) == 0
    assert 0 < len(cache.group_ids) < 50
    assert cache.nbytes <= 100_000


async def test_growth_counts_towards_the_bound() -> None:
    feed = filled(2)
    cache = cache_of(feed)
    await size(cache, feed)
    before = cache.nbytes
    feed.write(*(fact(f"more{i}", "more text") for i in range(50)))
    await size(cache, feed)
    assert cache.nbytes > before + 50 * 250
    cache.forget("g")
    assert cache.nbytes == 0


async def test_a_failing_store_is_an_error_once_and_no_harm() -> None:
    feed = filled(25)
    cache = cache_of(feed)
    feed.error = StoreUnavailable("down")
    with pytest.raises(StoreUnavailable):
        await size(cache, feed)
    assert await size(cache, feed) == 25


async def test_a_store_that_never_answers_meets_a_deadline() -> None:
    feed = filled(5)
    feed.gate = asyncio.Event()
    with pytest.raises(StoreUnavailable):
        await size(cache_of(feed, replace(SETTINGS, store_timeout_s=0.01)), feed)
    with pytest.raises(StoreUnavailable):
        await size(cache_of(feed, replace(SETTINGS, search_timeout_s=0.01)), feed)
    feed.gate.set()


async def test_loading_goes_on_when_the_caller_leaves() -> None:
    feed = filled(25)
    cache = cache_of(feed)
    feed.gate = asyncio.Event()
    caller = asyncio.create_task(size(cache, feed))
    await feed.waiting.wait()
    caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller
    feed.gate.set()
    assert await size(cache, feed) == 25
    assert len(feed.reads) == 3
    await cache.close()
    assert cache.nbytes == 0


async def test_nobody_touches_an_index_that_an_abandoned_thread_still_reads() -> None:
    feed = filled(5)
    cache = cache_of(feed)
    await size(cache, feed)
    started, go_on = threading.Event(), threading.Event()

    def slow(index: GroupIndex) -> tuple[int, int]:
        before = len(index)
        started.set()
        go_on.wait(10)
        return before, len(index)

    head = (await feed.heads(["g"]))["g"]
    seen: list[tuple[int, int]] = []
    caller = asyncio.create_task(
        cache.use([head], lambda groups: seen.append(slow(groups[0].facts)), heavy=True)
    )
    await asyncio.to_thread(started.wait, 10)
    caller.cancel()
    feed.write(fact("new"))
    later = asyncio.create_task(size(cache, feed))
    await asyncio.sleep(0)
    assert feed.reads == [("g", 0)]
    go_on.set()
    assert await later == 6
    assert seen == [(5, 5)]


async def test_a_change_that_cannot_be_applied_is_not_half_applied(monkeypatch: pytest.MonkeyPatch) -> None:
    feed = filled(5)
    cache = cache_of(feed)
    await size(cache, feed)
    feed.write(fact("a"), fact("b"))
    with monkeypatch.context() as patch:
        patch.setattr(FactColumns, "put", _broken)
        with pytest.raises(RuntimeError):
            await size(cache, feed)
    assert await size(cache, feed) == 7
    assert feed.reads[-1] == ("g", 0)


def _broken(*_: object) -> None:
    raise RuntimeError


async def test_texts_are_loaded_when_they_are_searched_for() -> None:
    feed = filled(25)
    feed.episodes = (episode("e1", "red tea"),)
    cache = cache_of(feed)
    await size(cache, feed)
    assert feed.text_reads == [], "facts alone need none"
    head = (await feed.heads(["g"]))["g"]
    assert await cache.use([head], _texts, parts=[LazyPart.TEXTS]) == 1
    assert await cache.use([head], _texts, parts=[LazyPart.TEXTS]) == 1
    assert feed.text_reads == [("g", 0)]
    assert feed.reads == [("g", 0), ("g", 10), ("g", 20)], "nor do they need facts"


async def test_facts_and_texts_share_one_bound() -> None:
    feed = filled(25)
    feed.episodes = tuple(episode(f"e{n}", f"word{n} " * 200) for n in range(50))
    head = (await feed.heads(["g"]))["g"]
    roomy = cache_of(feed)
    await size(roomy, feed)
    facts = roomy.nbytes
    await roomy.use([head], _texts, parts=[LazyPart.TEXTS])
    assert roomy.nbytes > facts
    tight = cache_of(feed, replace(SETTINGS, index_bytes=roomy.nbytes - 1))
    await size(tight, feed)
    await tight.use([head], _texts, parts=[LazyPart.TEXTS])
    assert tight.group_ids == ("g",), "facts and texts of one group are used together"
    feed.write(fact("o", "text", "other"))
    await size(tight, feed, "other")
    assert tight.group_ids == ("other",), "another group takes the room of what was used longest ago"
    assert tight.nbytes < roomy.nbytes


async def test_a_group_that_is_forgotten_leaves_nothing() -> None:
    feed = filled(5)
    cache = cache_of(feed)
    await size(cache, feed)
    await cache.use(list((await feed.heads(["g"])).values()), _texts, parts=[LazyPart.TEXTS])
    cache.forget("g")
    assert cache.nbytes == 0


class Loading:
    """A large group that is loaded behind, a small one beside it, and what happens while the load rests."""

    def __init__(self, rested: Callable[[], Awaitable[None]] | None = None) -> None:
        self.feed = filled(95, "large")
        self.feed.write(fact("s1", "tea", "small"))
        self.cache = IndexCache(self.feed, SETTINGS, "", 0, self._rest)
        self.rests: list[float] = []
        self.rested = rested

    async def _rest(self, seconds: float) -> None:
        self.rests.append(seconds)
        if self.rested is not None:
            await self.rested()

    async def done(self) -> None:
        head = (await self.feed.heads(["large"]))["large"]
        self.cache.load_behind(head, 95)
        async with asyncio.timeout(20):
            while not self.cache.holds("large"):  # noqa: ASYNC110 - no signal
                await asyncio.sleep(0)

    def search_at_each_page(self) -> None:
        changes = self.feed.changes

        async def searched(group_id: str, after_rev: int, limit: int) -> Changes:
            if group_id == "large":
                await size(self.cache, self.feed, "small")
            return await changes(group_id, after_rev, limit)

        self.feed.changes = searched  # type: ignore[method-assign]


async def test_a_load_behind_rests_between_pages_while_others_search() -> None:
    loading = Loading()
    loading.search_at_each_page()
    await loading.done()
    assert len(loading.rests) == 9  # ten pages
    assert min(loading.rests) > 0
    assert await size(loading.cache, loading.feed, "large") == 95


def test_no_rest_is_long() -> None:
    assert rest_s(0.01) == 0.01
    assert rest_s(20.0) == 0.05, "who comes meanwhile waits for it"


async def test_a_load_behind_does_not_rest_where_nobody_searches() -> None:
    loading = Loading()
    await loading.done()
    assert loading.rests == []


async def test_a_load_behind_hurries_once_somebody_waits_for_it() -> None:
    waiting: list[asyncio.Task[int]] = []

    async def somebody_comes() -> None:
        waiting.append(asyncio.create_task(size(loading.cache, loading.feed, "large")))
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    loading = Loading(somebody_comes)
    loading.search_at_each_page()
    await loading.done()
    assert len(waiting) == len(loading.rests) == 1
    assert await waiting[0] == 95
