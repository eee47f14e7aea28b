"""What a model's ratings do to an order, and what is left of it when there are none."""

import asyncio
from collections.abc import Sequence

import pytest

from kgsvc.domain.errors import ModelOutputInvalid, ModelUnavailable, StepError
from kgsvc.domain.model.communities import Community
from kgsvc.domain.model.graph import Entity, Episode, Source
from kgsvc.models.protocol import Rated
from kgsvc.search.index.episodes import FoundEpisode
from kgsvc.search.index.nodes import FoundEntity
from kgsvc.search.index.topk import Key
from kgsvc.search.plans import Reason
from kgsvc.search.ranking.cross_encoding import CHARS, CrossEncoding, fitting, passage
from kgsvc.search.results import Item
from kgsvc.search.settings import SearchSettings
from tests.unit.search.feed import fact

A, B, C, D = (("a", "g"), ("b", "g"), ("c", "g"), ("d", "g"))
RANKED = [(A, 0.4), (B, 0.3), (C, 0.2), (D, 0.1)]


class Model:
    """A CrossEncoder that says what it is told to."""

    def __init__(self, *scores: int, error: Exception | None = None, hangs: bool = False) -> None:
        self.asked: list[tuple[str, tuple[str, ...], str]] = []
        self.left = asyncio.Event()
        self._scores = scores
        self._error = error
        self._hangs = hangs

    async def rate(self, query: str, texts: Sequence[str], group_id: str = "") -> Rated:
        self.asked.append((query, tuple(texts), group_id))
        if self._hangs:
            try:
                await asyncio.Event().wait()
            finally:
                self.left.set()
        if self._error is not None:
            raise self._error
        return Rated(self._scores)

    async def close(self) -> None:
        """Nothing."""


async def rerank(
    model: Model | None, texts: dict[Key, str], timeout_s: float = 60.0, left_s: float | None = None
) -> tuple[list[tuple[Key, float]], Reason | None]:
    encoding = CrossEncoding(model, SearchSettings(rerank_timeout_s=timeout_s))
    return await encoding.reranked("why?", "g", RANKED, texts, left_s)


async def test_the_rated_go_by_their_ratings_and_the_rest_behind() -> None:
    model = Model(0, 85, 85)
    order, reason = await rerank(model, {A: "a", B: "b", C: "c"})
    assert order == [(B, 0.85), (C, 0.85), (A, 0.0), (D, 0.0)]
    assert reason is None
    assert model.asked == [("why?", ("a", "b", "c"), "g")]


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ModelUnavailable("down"), Reason.MODEL_FAILED),
        (StepError("too long"), Reason.MODEL_FAILED),
        (ModelOutputInvalid("wrong ids"), Reason.ANSWER_REJECTED),
    ],
)
async def test_what_fails_leaves_the_order_and_says_why(error: Exception, reason: Reason) -> None:
    assert await rerank(Model(error=error), {A: "a"}) == (RANKED, reason)


async def test_a_model_that_is_too_late_is_not_waited_for() -> None:
    model = Model(hangs=True)
    assert await rerank(model, {A: "a"}, timeout_s=0.001) == (RANKED, Reason.TIMEOUT)
    assert model.left.is_set(), "the call was given up"


@pytest.mark.parametrize("left_s", [0.001, 0.0, -1.0])
async def test_nor_is_it_waited_for_when_the_caller_is_about_to_leave(left_s: float) -> None:
    assert await rerank(Model(hangs=True), {A: "a"}, left_s=left_s) == (RANKED, Reason.TIMEOUT)


async def test_a_caller_with_time_waits_for_it() -> None:
    assert await rerank(Model(50), {A: "a"}, left_s=60.0) == ([(A, 0.5), (B, 0), (C, 0), (D, 0)], None)


async def test_without_a_model_or_texts_nobody_is_asked() -> None:
    assert await rerank(None, {A: "a"}) == (RANKED, Reason.NO_MODEL)
    model = Model()
    assert await rerank(model, {}) == (RANKED, None)
    assert model.asked == []


def test_passages_are_the_words_of_results() -> None:
    entity = Entity("n", "g", "Ada", 0, "An engineer.")
    episode = Episode("e", "g", "x" * (CHARS + 1), Source.TEXT, 0, 0)
    assert passage(fact("f", "Ada works.")) == "Ada works."
    assert passage(FoundEntity(entity, ())) == "Ada: An engineer."
    assert passage(FoundEntity(Entity("n", "g", "Ada", 0), ())) == "Ada"
    assert passage(Community("c", "g", "Staff", "They work.", 0, 0, ())) == "Staff: They work."
    assert passage(FoundEpisode(episode, ())) == "x" * CHARS + "…"


def test_passages_are_bounded_by_bytes() -> None:
    names = {A: "é" * 5, B: "bb", C: "c"}

    def shown(key: Key) -> Item | None:
        return FoundEntity(Entity(key[0], "g", names[key], 0), ()) if key in names else None

    keys = [D, A, B, C]
    assert fitting(keys, shown, 13) == names, "what is gone takes no room"
    assert fitting(keys, shown, 12) == {A: names[A], B: names[B]}
    assert fitting(keys, shown, 1) == {A: names[A]}, "one in any case"
