"""A group goes over to another embedder while it is searched and written to: a real store, the filler behind
its dispatcher, the engine of searches, and the offline embedder at two dimensions."""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

import numpy as np
import pytest

from kgsvc.access.quotas import QuotaSettings
from kgsvc.commands.reembedding import Reembeddings, with_former
from kgsvc.commands.spending import Spending
from kgsvc.domain.errors import ModelUnavailable
from kgsvc.domain.limits import Counted
from kgsvc.domain.model.graph import Entity, Fact, Usage
from kgsvc.jobs.activity import ActivityWatch
from kgsvc.jobs.dispatcher import Dispatcher, RetryPolicy
from kgsvc.jobs.fills import fill_work
from kgsvc.models.embedding import CachingEmbedder, HashingEmbedder
from kgsvc.models.former import FormerEmbedders
from kgsvc.models.protocol import Embedder, Vectors
from kgsvc.observability.metrics import Metrics
from kgsvc.pipeline import filling
from kgsvc.pipeline.filling import Charge, Filler
from kgsvc.search.engine import Engine
from kgsvc.search.index.episodes import FoundEpisode
from kgsvc.search.plans import Method, Reason, Reranker, Scope, ScopePlan
from kgsvc.search.results import GraphQuery, ScopeAnswer
from kgsvc.search.settings import SearchSettings
from kgsvc.search.spaces import Formers, no_former
from kgsvc.stores.embedded import EmbeddedStore
from kgsvc.stores.protocol import Store
from tests.integration.jobs.support import CLOCK, SETTINGS, until
from tests.support.samples import accepted, entity, episode, fact, write

COUNT = 60
OLD, NEW = HashingEmbedder(256), HashingEmbedder(64)
QUICK = replace(SETTINGS, lease_s=0.3)


def _made(space: str) -> Embedder | None:
    return next((each for each in (OLD, NEW) if each.space == space), None)


def _said(number: int) -> str:
    return f"Vase number{number} stands in room{number // 7}"


def _asked(number: int) -> str:
    """Other words in part: what it finds by keyword is not what it finds by meaning."""
    return " ".join(reversed(_said(number).split()))


async def _vectors(embedder: Embedder, texts: dict[str, str]) -> dict[str, bytes]:
    rows, _ = await embedder.embed(list(texts.values()))
    return {uuid: row.astype("<f4").tobytes() for uuid, row in zip(texts, rows, strict=True)}


async def _filled(store: EmbeddedStore, group: str = "g", embedder: Embedder = OLD) -> tuple[Entity, Entity]:
    """Facts f0, f1, ... and an episode of which each is told."""
    ada, bob = entity(group, "n-ada", "Ada"), entity(group, "n-bob", "Bob")
    facts = [fact(f"f{n}", ada, bob, _said(n), name=f"KEEPS_{n}") for n in range(COUNT)]
    texts = {each.uuid: each.fact for each in facts} | {"n-ada": "Ada", "n-bob": "Bob"}
    vectors = await _vectors(embedder, texts)
    told = episode(group, "e1", body="Ada keeps vases in many rooms")
    await accepted(store, told)
    passages = await _vectors(embedder, {"e1": told.body})
    here = {uuid: vectors[uuid] for uuid in ("n-ada", "n-bob")}
    space = embedder.space
    await write(
        store, group, entities=(ada, bob), found=("e1",), vectors=here, passages=passages, space=space
    )
    for first in range(0, COUNT, 10):
        some = facts[first : first + 10]
        own = {each.uuid: vectors[each.uuid] for each in some}
        await write(store, group, facts=tuple(some), vectors=own, space=space)
    return ada, bob


def _engine(store: Store, embedder: Embedder = NEW, formers: Formers = _made) -> Engine:
    return Engine(store, embedder, SearchSettings(warm_groups=0), CLOCK, None, None, formers)


async def _answer(
    engine: Engine, query: str, groups: Sequence[str] = ("g",), scope: Scope = Scope.FACTS, **how: object
) -> ScopeAnswer:
    plan = replace(ScopePlan(scope, (Method.COSINE,)), **how)  # type: ignore[arg-type]
    (answer,) = await engine.search(GraphQuery(tuple(groups), query, (plan,), 5))
    return answer


def _facts(answer: ScopeAnswer) -> list[Fact]:
    return [hit.item for hit in answer.hits if isinstance(hit.item, Fact)]


def _episodes(answer: ScopeAnswer) -> list[str]:
    return [hit.item.episode.uuid for hit in answer.hits if isinstance(hit.item, FoundEpisode)]


async def _found(engine: Engine, groups: Sequence[str] = ("g",)) -> int:
    """How many facts are found by their meaning alone."""
    found = 0
    for number in range(COUNT):
        answer = await _answer(engine, _asked(number), groups)
        found += f"f{number}" in {each.uuid for each in _facts(answer)}
    return found


async def _free(_group_id: str, _spent: Usage) -> None:
    return


@asynccontextmanager
async def _working(store: Store, embedder: Embedder = NEW, charge: Charge = _free) -> AsyncIterator[None]:
    """A process that fills in vectors, in the block."""
    rng = random.Random(1)
    activity = ActivityWatch(store, 0.01, rng)
    caching, attempts = CachingEmbedder(embedder), QUICK.attempts_per_step
    filler = Filler(store, caching, CLOCK, attempts, charge)
    work = fill_work(store, filler, RetryPolicy(QUICK, rng), CLOCK, embedder.space)
    dispatcher = Dispatcher(
        replace(work, rest_s=0.01, idle_s=0.05), activity, QUICK, CLOCK, str(rng.random())
    )
    tasks = [asyncio.create_task(activity.run()), asyncio.create_task(dispatcher.run())]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _over(store: Store) -> bool:
    return not await store.open_fills(CLOCK.now_ms() + 1_000_000, 9)


async def _gone_over(store: Store, **how: object) -> None:
    async with _working(store, **how):  # type: ignore[arg-type]
        await until(lambda: _over(store))


@pytest.fixture
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filling, "_PAGE", 3)
    monkeypatch.setattr(filling, "_FACTS", 7)
    monkeypatch.setattr(filling, "_TIDIED", 7)


@pytest.mark.usefixtures("small_pages")
async def test_searches_find_as_much_before_meanwhile_and_after(store: EmbeddedStore) -> None:
    await _filled(store)
    engine = _engine(store)
    assert await _found(_engine(store, OLD)) == COUNT
    await store.begin_fills(NEW.space, CLOCK.now_ms())
    async with _working(store):
        looks = 0
        while not await _over(store):
            assert await _found(engine) == COUNT
            looks += 1
    assert looks
    assert await _found(engine) == COUNT
    assert (await store.heads(["g"]))["g"].space == NEW.space
    assert await _found(_engine(store, formers=no_former)) == COUNT
    answer = await _answer(engine, "Ada keeps vases in many rooms", scope=Scope.EPISODES)
    assert _episodes(answer) == ["e1"]
    await engine.close()


async def test_without_the_former_embedder_words_answer_until_then(store: EmbeddedStore) -> None:
    """`ran` tells it, and what is new and embedded by the present one waits for the others."""
    await _filled(store)
    engine = _engine(store, formers=no_former)
    await store.begin_fills(NEW.space, CLOCK.now_ms())
    answer = await _answer(engine, _asked(3))
    assert (answer.methods, answer.hits) == ((), ())
    answer = await _answer(engine, _asked(3), methods=(Method.BM25, Method.COSINE))
    assert answer.methods == (Method.BM25,)
    assert _facts(answer)[0].uuid == "f3"
    await _gone_over(store)
    answer = await _answer(engine, _asked(3))
    assert (answer.methods, _facts(answer)[0].uuid) == ((Method.COSINE,), "f3")
    await engine.close()


async def test_a_former_model_that_does_not_answer_is_left_in_peace(store: EmbeddedStore) -> None:
    await _filled(store)
    asked: list[str] = []

    class Away(HashingEmbedder):
        async def embed(self, texts: Sequence[str], group_id: str = "") -> tuple[Vectors, Usage]:
            asked.extend(texts)
            raise ModelUnavailable("away")

    engine = _engine(store, formers=lambda space: Away(256))
    for number in range(3):
        assert (await _answer(engine, _asked(number))).methods == ()
    assert asked == [_asked(0)]
    await engine.close()


async def test_groups_on_both_sides_are_searched_together(store: EmbeddedStore) -> None:
    """Each in its own space; what compares results with one another goes by ranks and says so."""
    await _filled(store, "g", OLD)
    await _filled(store, "h", NEW)
    engine = _engine(store)
    answer = await _answer(engine, _asked(3), ("g", "h"))
    best = [(each.uuid, each.group_id) for each in _facts(answer)[:2]]
    assert sorted(best) == [("f3", "g"), ("f3", "h")]
    answer = await _answer(engine, _asked(3), ("g", "h"), reranker=Reranker.MMR)
    assert (answer.reranker, answer.reason) == (Reranker.RRF, Reason.NO_EMBEDDING)
    assert {each.group_id for each in _facts(answer)[:2]} == {"g", "h"}
    answer = await _answer(engine, _asked(3), ("g",), reranker=Reranker.MMR)
    assert (answer.reranker, answer.reason) == (Reranker.MMR, None)
    await engine.close()


async def test_what_is_written_meanwhile_is_found_by_both(store: EmbeddedStore) -> None:
    ada, bob = await _filled(store)
    groups = Reembeddings(store, NEW.space, Metrics())
    await groups.begin(CLOCK.now_ms())
    formers = FormerEmbedders(_made)
    writing = with_former(store, groups, formers)
    late = fact("f-late", ada, bob, "A bronze kettle hangs over the stove", name="HANGS")
    told = episode("g", "e2", body="Somebody put a copper pan away. It was heavy.")
    await accepted(store, told)
    vectors = await _vectors(NEW, {"f-late": late.fact})
    passages = await _vectors(NEW, {"e2": told.body})
    await write(
        writing, "g", facts=(late,), found=("e2",), vectors=vectors, passages=passages, space=NEW.space
    )
    engine = _engine(store)
    for _side in range(2):
        answer = await _answer(engine, "over the stove hangs a bronze kettle")
        assert [each.uuid for each in _facts(answer)] == ["f-late"]
        answer = await _answer(engine, "Put a copper pan away", scope=Scope.EPISODES)
        assert _episodes(answer) == ["e2"]
        await _gone_over(store)
    assert (await store.heads(["g"]))["g"].space == NEW.space
    await groups.look()
    assert groups.former("g") == ""
    await engine.close()


@pytest.mark.usefixtures("small_pages")
async def test_it_ends_while_others_keep_writing(store: EmbeddedStore) -> None:
    """Writes that have both vectors do not put the change off for ever."""
    ada, bob = await _filled(store)
    groups = Reembeddings(store, NEW.space, Metrics())
    await groups.begin(CLOCK.now_ms())
    writing = with_former(store, groups, FormerEmbedders(_made))
    written = 0
    async with _working(store):
        while not await _over(store):
            said = fact(f"w{written}", ada, bob, f"Bell number{written} rings", name=f"RINGS_{written}")
            vectors = await _vectors(NEW, {said.uuid: said.fact})
            await write(writing, "g", facts=(said,), vectors=vectors, space=NEW.space)
            written += 1
    assert written > 1
    page = await store.changes("g", 0, 10_000)
    assert len(page.facts) == COUNT + written
    assert {(each.space, len(each.vector or b"")) for each in page.facts} == {(NEW.space, 4 * 64)}


@pytest.mark.usefixtures("small_pages")
async def test_an_interrupted_one_goes_on_where_it_was(store: EmbeddedStore) -> None:
    """Each text is embedded once, but for a page with which a process ended."""
    await _filled(store)
    asked: list[str] = []

    class Counting(HashingEmbedder):
        async def embed(self, texts: Sequence[str], group_id: str = "") -> tuple[Vectors, Usage]:
            asked.extend(texts)
            return await super().embed(texts, group_id)

    await store.begin_fills(NEW.space, CLOCK.now_ms())
    ends = 0
    while not await _over(store):
        async with _working(store, Counting(64)):
            await until(_either(asked, len(asked) + 8, store))
        ends += 1
    assert ends > 3
    assert len(set(asked)) == COUNT + 3
    assert len(asked) <= COUNT + 3 + 20 * ends
    assert await _found(_engine(store)) == COUNT


def _either(asked: list[str], enough: int, store: Store) -> Callable[[], Awaitable[bool]]:
    async def one() -> bool:
        return len(asked) > enough or await _over(store)

    return one


async def test_what_it_costs_counts_with_the_group(store: EmbeddedStore) -> None:
    await _filled(store)

    class Costly(HashingEmbedder):
        async def embed(self, texts: Sequence[str], group_id: str = "") -> tuple[Vectors, Usage]:
            rows, _ = await super().embed(texts, group_id)
            return rows, Usage(1, 10 * len(texts), 0)

    quotas = QuotaSettings(group_model_tokens_a_day=100)
    await store.begin_fills(NEW.space, CLOCK.now_ms())
    await _gone_over(store, embedder=Costly(64), charge=Spending(store, quotas, CLOCK).spent)
    used = await _used(store)
    assert used == 10 * (COUNT + 3)
    rows = (await store.list_items("g", (), 100, None)).rows
    assert {item.usage.prompt_tokens for item in rows} == {0}


async def _used(store: EmbeddedStore) -> int:
    sql = "SELECT sum(used) FROM quotas WHERE subject = 'group g' AND counted = ?"
    return int(await store._read(lambda db: db.execute(sql, (Counted.MODEL_TOKENS.value,)).get))


async def test_it_never_compares_vectors_of_two_spaces(
    store: EmbeddedStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two models of the same length, whose vectors could be compared without an error."""
    await _filled(store)

    class Turned(HashingEmbedder):
        def __init__(self) -> None:
            super().__init__(256)
            self.space = "turned-256"

        async def embed(self, texts: Sequence[str], group_id: str = "") -> tuple[Vectors, Usage]:
            rows, cost = await super().embed(texts, group_id)
            return np.ascontiguousarray(rows[:, ::-1]), cost

    turned = Turned()
    formers = {OLD.space: OLD, turned.space: turned}
    engine = _engine(store, turned, formers.get)
    await store.begin_fills(turned.space, CLOCK.now_ms())
    assert await _found(engine) == COUNT
    async with _working(store, turned):
        while not await _over(store):
            assert await _found(engine) == COUNT
    assert await _found(engine) == COUNT
    await engine.close()
