"""The dispatcher of fills over a real store, with an embedder that does what a test tells it."""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

import numpy as np
import pytest

from kgsvc.documents.passages import passages
from kgsvc.domain.errors import ModelOutputInvalid, ModelUnavailable, StoreUnavailable
from kgsvc.domain.model.fills import FillLease
from kgsvc.domain.model.graph import FREE, Usage
from kgsvc.jobs.activity import ActivityWatch
from kgsvc.jobs.dispatcher import Dispatcher, RetryPolicy
from kgsvc.jobs.fills import FillHandler, fill_work
from kgsvc.models.embedding import CachingEmbedder
from kgsvc.models.protocol import Vectors
from kgsvc.pipeline import filling
from kgsvc.pipeline.filling import Filler
from kgsvc.stores.embedded import EmbeddedStore
from tests.integration.jobs.support import CLOCK, SETTINGS, until
from tests.support.samples import accepted, episode, present, write

QUICK = replace(SETTINGS, lease_s=0.3)
LONG = " ".join(f"Sentence {n} says a little about the garden." for n in range(60))  # several passages


class Embedder:
    """Vectors that tell how long a text is; texts with "bad" cannot be embedded while others can."""

    space = "test"
    dimension = 2
    min_cosine = 0.0
    costs_model_calls = True

    def __init__(self) -> None:
        self.asked: list[tuple[str, ...]] = []
        self.away = 0  # calls that find no model
        self.away_error: Exception = ModelUnavailable("away")

    async def embed(self, texts: Sequence[str], _group_id: str = "") -> tuple[Vectors, Usage]:
        self.asked.append(tuple(texts))
        if self.away:
            self.away -= 1
            raise self.away_error
        if any("bad" in text for text in texts):
            failure = ModelOutputInvalid("no vectors")
            failure.usage = Usage(1, 90, 0)
            raise failure
        return np.array([[len(text), 1.0] for text in texts], np.float32), Usage(1, 10 * len(texts), 0)

    async def close(self) -> None:
        return


@pytest.fixture
def embedder() -> Embedder:
    return Embedder()


@asynccontextmanager
async def dispatching(
    store: EmbeddedStore, embedder: Embedder, handler: FillHandler | None = None
) -> AsyncIterator[None]:
    """A dispatcher that runs in the block."""
    rng = random.Random(1)
    activity = ActivityWatch(store, 0.01, rng)
    does = handler or Filler(store, CachingEmbedder(embedder), CLOCK, QUICK.attempts_per_step)
    work = fill_work(store, does, RetryPolicy(QUICK, rng), CLOCK)
    dispatcher = Dispatcher(replace(work, rest_s=0.01, idle_s=0.05), activity, QUICK, CLOCK, "me")
    tasks = [asyncio.create_task(activity.run()), asyncio.create_task(dispatcher.run())]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def told(store: EmbeddedStore, *bodies: str, group: str = "g") -> None:
    """Episodes e0, e1, ... that are in the graph and have no vectors."""
    made = [episode(group, f"e{n}", body=body) for n, body in enumerate(bodies)]
    await accepted(store, *made)
    await write(store, group, found=tuple(each.uuid for each in made))


async def bare(store: EmbeddedStore, group: str = "g") -> set[str]:
    """The episodes without vectors."""
    page = await store.text_changes(group, 0, 1_000)
    return {each.episode.uuid for each in page.episodes if each.passages is None}


def ended(store: EmbeddedStore) -> Callable[[], Awaitable[bool]]:
    """Whether no fill is left."""

    async def over() -> bool:
        return not await store.open_fills(CLOCK.now_ms() + 1_000_000, 9)

    return over


async def filled(store: EmbeddedStore, embedder: Embedder, *groups: str) -> None:
    for group in groups or ("g",):
        await store.begin_fill(group, CLOCK.now_ms())
    async with dispatching(store, embedder):
        await until(ended(store))


async def test_each_passage_is_embedded_once(
    store: EmbeddedStore, embedder: Embedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Page by page; episodes that have vectors, or nothing to embed, cost nothing."""
    monkeypatch.setattr(filling, "_PAGE", 3)
    bodies = [*(f"note {n}" for n in range(10)), LONG, "  \n "]
    await told(store, *bodies)
    await write(store, "g", found=("e0",), passages={"e0": b"x" * 8}, space="test")
    await filled(store, embedder)
    wanted = [text for body in bodies[1:] for text in passages(body)]
    assert Counter(text for call in embedder.asked for text in call) == Counter(wanted)
    assert len(passages(LONG)) > 2
    assert await bare(store) == {"e11"}
    page = await store.text_changes("g", 0, 1_000)
    vectors = {each.episode.uuid: each.passages for each in page.episodes}
    assert len(present(vectors["e10"])) == 8 * len(passages(LONG))
    rows = (await store.list_items("g", (), 100, None)).rows
    assert {item.uuid: item.usage for item in rows}["e0"] == FREE
    assert sum(item.usage.prompt_tokens for item in rows) == 10 * len(wanted)


async def test_groups_without_a_fill_cost_nothing(store: EmbeddedStore, embedder: Embedder) -> None:
    await told(store, "one note")
    await told(store, "another", group="other")
    await filled(store, embedder, "other")
    assert embedder.asked == [("another",)]
    assert await bare(store) == {"e0"}


async def test_a_text_that_cannot_be_embedded_leaves_the_others_theirs(
    store: EmbeddedStore, embedder: Embedder
) -> None:
    await told(store, "good", "a bad one", "good too")
    await filled(store, embedder)
    assert await bare(store) == {"e1"}
    rows = (await store.list_items("g", (), 100, None)).rows
    assert {item.uuid: item.usage.prompt_tokens for item in rows} == {"e0": 40, "e1": 0, "e2": 40}


@pytest.mark.parametrize("error", [ModelUnavailable("away"), ValueError("a secret")])
async def test_it_waits_for_a_model_that_is_away(
    store: EmbeddedStore, embedder: Embedder, error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    """More often than a process may die; a defect is told without its words."""
    embedder.away, embedder.away_error = QUICK.attempts_per_step + 3, error
    await told(store, "a note")
    await filled(store, embedder)
    assert await bare(store) == set()
    assert len(embedder.asked) == QUICK.attempts_per_step + 4
    assert "secret" not in caplog.text


@pytest.mark.parametrize("deaths", [1, QUICK.attempts_per_step])
async def test_an_episode_with_which_processes_die_is_passed_over(
    store: EmbeddedStore, embedder: Embedder, caplog: pytest.LogCaptureFixture, deaths: int
) -> None:
    """From the first death on episodes are embedded one by one, so that it is known which one it is."""
    await told(store, "first", "second", "third")
    await store.begin_fill("g", CLOCK.now_ms())
    for n in range(deaths):
        (work,) = await store.open_fills(CLOCK.now_ms(), 9)
        assert await store.claim_fill(work, f"died-{n}") is not None
    async with dispatching(store, embedder):
        await until(ended(store))
    passed = deaths == QUICK.attempts_per_step
    assert embedder.asked == [("first",), ("second",), ("third",)][passed:]
    assert await bare(store) == ({"e0"} if passed else set())
    assert ("the process died 3 times" in caplog.text) == passed


async def test_an_outage_of_the_store_is_no_attempt(store: EmbeddedStore, embedder: Embedder) -> None:
    attempts: list[int] = []

    class Fails:
        async def fill(self, lease: FillLease, _make_room: Callable[[], bool]) -> None:
            attempts.append(lease.attempt)
            if len(attempts) < 5:
                raise StoreUnavailable("away")
            assert not await store.tidy(lease, 9)

    await told(store, "a note")
    await store.begin_fill("g", CLOCK.now_ms())
    async with dispatching(store, embedder, Fails()):
        await until(ended(store))
    assert attempts == [1] * 5


async def test_groups_take_turns(
    store: EmbeddedStore, embedder: Embedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page of one, then of the other, each going on from its place."""
    monkeypatch.setattr(filling, "_PAGE", 2)
    for group in ("g", "h"):
        await told(store, *(f"{group} {n}" for n in range(6)), group=group)
    await filled(store, embedder, "g", "h")
    order = [text[0][0] for text in embedder.asked]
    assert sorted(order) == ["g"] * 3 + ["h"] * 3
    assert order != sorted(order)
    assert await bare(store) | await bare(store, "h") == set()
