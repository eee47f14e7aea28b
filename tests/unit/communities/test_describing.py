"""Descriptions with a model: pairwise, bounded, and without it where it fails."""

from collections.abc import Callable, Collection
from typing import Any

import pytest

from kgsvc.communities.builder import CALLS_A_DRAFT, Describer
from kgsvc.domain.errors import ModelOutputInvalid, ModelUnavailable
from kgsvc.domain.model.communities import Described, Draft
from kgsvc.domain.model.delta import GroupHead, NameView
from kgsvc.domain.model.graph import Entity, Fact
from kgsvc.models.protocol import Gist

NAMES = ("Ada", "Bob", "Cy", "Dan")


def told(number: int) -> Fact:
    source, target = NAMES[number % 4], NAMES[(number + 1) % 4]
    text = f"{source} told {target} of {number}."
    return Fact(f"f{number}", "g", "TOLD", text, source, target, source, target, 1, 1, "slot", "key")


FACTS = {fact.uuid: fact for fact in map(told, range(8))}


class Graph:
    """The reads of a describer."""

    async def names(self, group_id: str, keys: Collection[str], uuids: Collection[str] = ()) -> NameView:
        return NameView(GroupHead(group_id), {}, {u: Entity(u, group_id, u, 1) for u in uuids if u in NAMES})

    async def facts(self, group_id: str, uuids: Collection[str]) -> list[Fact]:
        return [FACTS[uuid] for uuid in sorted(uuids) if uuid in FACTS]


class Model:
    """Joins, or does what it is told."""

    def __init__(self, does: Callable[[], None] = lambda: None) -> None:
        self.pairs: list[tuple[str, str]] = []
        self._does = does

    async def combine(self, group_id: str, first: str, second: str) -> Gist:
        self.pairs.append((first, second))
        self._does()
        return Gist("by the model", f"{first} {second}")

    async def close(self) -> None:
        """Nothing to release."""


def draft(uuid: str, *facts: str, by_model: bool) -> Draft:
    return Draft(uuid, (), NAMES, facts, by_model)


async def described(model: Model | None, *drafts: Draft) -> list[Described]:
    store: Any = Graph()
    return await Describer(store, None, model).describe("g", drafts)


async def test_summaries_are_reduced_pairwise() -> None:
    model = Model()
    (found,) = await described(model, draft("d", *FACTS, by_model=True))
    assert found.name == "by the model"
    assert sorted(found.summary.split(". ")) == sorted(
        " ".join(fact.fact for fact in FACTS.values()).split(". ")
    )
    assert len(model.pairs) == CALLS_A_DRAFT
    assert model.pairs[2] == (" ".join(model.pairs[0]), " ".join(model.pairs[1]))


async def test_only_marked_drafts_cost_calls() -> None:
    model = Model()
    plain, marked = await described(
        model, draft("d1", *FACTS, by_model=False), draft("d2", *FACTS, by_model=True)
    )
    assert (plain.name, marked.name) == ("Ada, Bob and Cy", "by the model")
    assert len(model.pairs) == CALLS_A_DRAFT


async def test_too_little_to_reduce_costs_nothing() -> None:
    model = Model()
    (found,) = await described(model, draft("d", "f0", "gone", by_model=True))
    assert (found.name, found.summary) == ("Ada, Bob and Cy", "Ada told Bob of 0.")
    assert model.pairs == []


async def test_an_unusable_answer_leaves_the_composed_summary() -> None:
    def refuses() -> None:
        raise ModelOutputInvalid("not of the form")

    (found,) = await described(Model(refuses), draft("d", *FACTS, by_model=True))
    assert found == (await described(None, draft("d", *FACTS, by_model=True)))[0]
    assert found.summary.startswith("Ada told Bob of 0.")


async def test_a_model_that_cannot_be_reached_is_a_failed_attempt() -> None:
    def is_away() -> None:
        raise ModelUnavailable("away")

    with pytest.raises(ModelUnavailable):
        await described(Model(is_away), draft("d", *FACTS, by_model=True))
