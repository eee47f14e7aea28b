"""Laws of values that change (a price, a status), over random statements of one thing, in the domain and
through the model of a store: nothing told is lost, what began last is open, what was told for a time holds
then, and the order of arrival changes nothing."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import count

import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st

from kgsvc.domain.facts.values import value_of
from kgsvc.domain.model.extraction import ExtractedEdge, ExtractedNode, Extraction
from kgsvc.domain.model.graph import Episode, Fact, FactKind, Polarity, Source
from kgsvc.domain.names.meanings import BatchItem
from kgsvc.domain.text import normalise
from tests.property.test_order import Graph
from tests.support.model_store import ModelStore
from tests.support.telling import Judge, Saying, World

A, ENDS, DENIES = Polarity.ASSERTS, Polarity.ENDS, Polarity.DENIES
RELATIONS = {
    "HAS_PRICE": ("costs 60", "costs 75", "costs 90 EUR"),
    "HAS_STATUS": ("is done", "is in review", "is open for all"),
}
TELLS = {A: "Falcon {}", ENDS: "Falcon no longer {}", DENIES: "Falcon not {}"}
NUMBER = count()


@dataclass(frozen=True)
class Told:
    """A statement; times are days from 1 to 20."""

    relation: str
    value: str
    day: int
    valid: int | None = None
    invalid: int | None = None
    polarity: Polarity = A
    verdicts: dict[str, str] = field(default_factory=dict)

    @property
    def text(self) -> str:
        return TELLS[self.polarity].format(self.value)

    @property
    def start(self) -> int:
        return self.day if self.valid is None else self.valid

    @property
    def is_past(self) -> bool:
        """All that it tells is an end."""
        asserted = self.polarity is A and self.valid is None
        return asserted and self.invalid is not None and self.invalid <= self.day

    @property
    def is_open(self) -> bool:
        return self.polarity is A and self.invalid is None

    @property
    def touches(self) -> set[int | None]:
        """The days at which it changes something."""
        return {self.invalid if self.is_past else self.start, self.invalid}


@st.composite
def told(draw: st.DrawFn, *, relation: str, announced: bool = False) -> Told:
    day = draw(st.integers(1, 12))
    polarity = draw(st.sampled_from([A, A, A, ENDS, DENIES]))
    valid = draw(st.none() | st.integers(1, 15 if announced else day))
    invalid = draw(st.none() | st.integers(valid or 1, 20)) if polarity is A else None
    return Told(relation, draw(st.sampled_from(RELATIONS[relation])), day, valid, invalid, polarity)


def histories(*, announced: bool = False) -> st.SearchStrategy[list[Told]]:
    return st.sampled_from(sorted(RELATIONS)).flatmap(
        lambda relation: st.lists(told(relation=relation, announced=announced), min_size=1, max_size=7)
    )


def item(n: int, *said: Told) -> BatchItem:
    """An episode, told on the day of the first."""
    edges = tuple(
        ExtractedEdge(
            each.relation, each.text, "s", "s", each.valid, each.invalid,
            kind=FactKind.FUNCTIONAL, polarity=each.polarity,
        )
        for each in said
    )  # fmt: skip
    episode = Episode(f"e{n}", "g", f"body {n}", Source.TEXT, said[0].day, 0)
    return BatchItem(episode, Extraction((ExtractedNode("s", "Falcon"),), edges), accepted_ms=n)


def items(history: Sequence[Told]) -> list[BatchItem]:
    return [item(n, each) for n, each in enumerate(history)]


def graph_of(history: Sequence[Told]) -> Graph:
    graph = Graph()
    graph.ingest(items(history))
    return graph


def value(text: str, relation: str) -> str:
    return value_of(text, "Falcon", relation)


def has_a_row(each: Told, facts: Sequence[Fact]) -> bool:
    """Whether a row has its words, or those of a row of the same value that counts it."""
    own = value(each.text, each.relation)
    return any(
        normalise(fact.fact) == normalise(each.text)
        or (value(fact.fact, each.relation) == own and each.text in [e.said for e in fact.evidence])
        for fact in facts
    )


def no_asserted_statement_is_without_a_row(history: list[Told], data: st.DataObject) -> None:
    facts = list(graph_of(history).facts.values())
    for each in history:
        assert each.polarity is not A or has_a_row(each, facts), each


def the_value_that_began_last_is_open(history: list[Told], data: st.DataObject) -> None:
    begun = [(each.start, each.day, n) for n, each in enumerate(history) if each.is_open]
    if not begun:
        return
    last = history[max(begun)[2]]
    if any(each.value == last.value and not each.is_open for each in history):
        return
    standing = [
        fact
        for fact in graph_of(history).facts.values()
        if fact.invalid_ms is None and fact.expired_ms is None and fact.polarity is A
    ]
    assert [value(fact.fact, last.relation) for fact in standing] == [value(last.text, last.relation)]


def each_instant_has_the_values_told_for_it(history: list[Told], data: st.DataObject) -> None:
    facts = [fact for fact in graph_of(history).facts.values() if fact.polarity is A]
    for n, each in enumerate(history):
        others = set[int | None]().union(*(one.touches for m, one in enumerate(history) if m != n))
        if each.polarity is not A or each.is_past or each.start in others or each.start == each.invalid:
            continue
        assert any(
            value(fact.fact, each.relation) == value(each.text, each.relation)
            and fact.start_ms <= each.start
            and (fact.invalid_ms is None or each.start < fact.invalid_ms)
            for fact in facts
        ), each


def order_changes_nothing(history: list[Told], data: st.DataObject) -> None:
    shuffled = data.draw(st.permutations(items(history)))
    cut = data.draw(st.integers(0, len(shuffled)))
    parts = Graph()
    for batch in (shuffled[:cut], *([each] for each in shuffled[cut:])):
        if batch:
            parts.ingest(batch)
    assert parts.comparable(traces=False) == graph_of(history).comparable(traces=False)


def one_episode_tells_as_much(history: list[Told], data: st.DataObject) -> None:
    """All in one episode, in any order: each asserted statement has a row."""
    together = data.draw(st.permutations([replace(each, day=12) for each in history]))
    graph = Graph()
    graph.ingest([item(0, *together)])
    for each in together:
        assert each.polarity is not A or has_a_row(each, list(graph.facts.values())), each


def through_a_store_nothing_is_lost(history: list[Told], data: st.DataObject) -> None:
    """Committed in batches, with a model that gives these verdicts, or without one."""
    judged = [replace(each, verdicts=_verdicts(data, each, history[:n])) for n, each in enumerate(history)]
    model = data.draw(st.booleans())
    cut = data.draw(st.integers(0, len(history)))

    async def run() -> list[Fact]:
        world = World(ModelStore(), f"g{next(NUMBER)}", Judge() if model else None)
        if cut:
            await world.tell_at_once(*map(_saying, judged[:cut]))
        await world.tell(*map(_saying, judged[cut:]))
        return await world.facts()

    facts = asyncio.run(run())
    for each in judged:
        said = {"repeats", "rewords"} & set(each.verdicts.values()) if model else set()
        assert each.polarity is not A or said or has_a_row(each, facts), each


def _verdicts(data: st.DataObject, each: Told, before: Sequence[Told]) -> dict[str, str]:
    """On texts told before: an equal value may be repeated, another replaced or untrue."""
    found: dict[str, str] = {}
    for other in before:
        same = other.value == each.value and other.polarity is each.polarity
        choices = ["repeats"] if same else ["replaced", "untrue"]
        verdict = data.draw(st.none() | st.sampled_from(choices))
        if verdict and other.text != each.text and "repeats" not in found.values():
            found[other.text] = verdict
    return found


def _saying(each: Told) -> Saying:
    day = {n: f"2024-03-{n:02}" for n in range(1, 21)}
    return Saying(
        day[each.day], each.text, each.relation, "Falcon", each.verdicts, "Falcon",
        polarity=each.polarity, valid=day.get(each.valid or 0), invalid=day.get(each.invalid or 0),
    )  # fmt: skip


Law = Callable[[list[Told], st.DataObject], None]
ANNOUNCED = (no_asserted_statement_is_without_a_row, order_changes_nothing, one_episode_tells_as_much)
LAWS: tuple[Law, ...] = (
    *ANNOUNCED,
    the_value_that_began_last_is_open,
    each_instant_has_the_values_told_for_it,
    through_a_store_nothing_is_lost,
)


def hold(law: Law, examples: int, number: int) -> None:
    """Try the law on so many histories, drawn by a seed."""
    drawn = given(history=histories(announced=law in ANNOUNCED), data=st.data())(law)
    settings(max_examples=examples, deadline=None, database=None)(seed(number)(drawn))()


@pytest.mark.parametrize("examples", [100, pytest.param(1_000, marks=pytest.mark.soak)])
@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
def test_values(law: Law, examples: int) -> None:
    hold(law, examples, 1)
