"""Filters of facts against their definition (docs/concepts.md), whatever the rows."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgsvc.domain.facts.beliefs import as_known_at
from kgsvc.domain.model.beliefs import Belief
from kgsvc.domain.model.graph import Fact
from kgsvc.search.filters import NONE, Filters, Span
from kgsvc.search.index.fact_columns import NEVER, Current, FactColumns
from tests.unit.search.feed import fact, patient

NOW = 50
times = st.integers(0, 100)
spans = (
    st.builds(lambda a, b: Span(min(a, b), max(a, b) + 1), times, times) | st.builds(Span, times) | st.none()
)
reasons = st.sampled_from(["superseded", "retracted", "updated", "merged"])


@st.composite
def beliefs(draw: st.DrawFn, created: int) -> tuple[Belief, ...]:
    """Former ones of a fact, one after another."""
    found: list[Belief] = []
    until = created
    for _ in range(draw(st.integers(1, 3))):
        until += draw(st.integers(1, 20))
        expired = draw(st.none() | st.integers(created, until))
        reason = None if expired is None else draw(reasons)
        found.append(
            Belief(until, draw(st.none() | times), draw(times), draw(st.none() | times), expired, reason)
        )
    return tuple(found)


@st.composite
def facts(draw: st.DrawFn) -> Fact:
    """A fact with any history."""
    start, created = draw(times), draw(times)
    made = fact(
        "f",
        name=draw(st.sampled_from(["LIKES", "KNOWS"])),
        valid_ms=draw(st.sampled_from([start, None])),
        reference_ms=start,
        invalid_ms=draw(st.none() | times),
        created_ms=created,
    )
    if draw(st.booleans()):
        return made
    before = draw(st.none() | times)
    expired = created + draw(st.integers(1, 30))
    made = replace(made, expired_ms=expired, expired_reason=draw(reasons), invalid_before_ms=before)
    return made if draw(st.booleans()) else replace(made, beliefs=draw(beliefs(created)))


filters = st.builds(
    Filters,
    relations=st.sampled_from([frozenset(), frozenset({"LIKES"}), frozenset({"LIKES", "OWNS"})]),
    valid=spans,
    invalid=spans,
    created=spans,
    expired=spans,
    true_at_ms=st.none() | times,
    known_at_ms=st.none() | times,
)


def wanted(one: Fact, by: Filters) -> bool:
    """The rules in words of one fact."""
    known, one = by.known_at_ms, as_known_at(one, by.known_at_ms)
    end, expired = one.invalid_ms, one.expired_ms is not None
    if known is not None and one.created_ms > known:
        return False
    if by.expired is not None:
        if not expired or not inside(one.expired_ms, by.expired):
            return False
    elif expired and not (by.on_fact_axis and one.expired_reason == "superseded"):
        return False
    if by.true_at_ms is not None or not (by.valid or by.invalid or by.expired):
        at = by.true_at_ms if by.true_at_ms is not None else NOW if known is None else known
        if not (one.start_ms <= at and (end is None or at < end)):
            return False
    ranges = ((one.start_ms, by.valid), (end, by.invalid), (one.created_ms, by.created))
    if not all(span is None or inside(value, span) for value, span in ranges):
        return False
    return not by.relations or one.name in by.relations


def inside(value: int | None, span: Span) -> bool:
    """Whether a time is in a span; what never comes is in none."""
    if value is None:
        return False
    late_enough = span.since_ms is None or value >= span.since_ms
    return late_enough and (span.until_ms is None or value < span.until_ms)


@patient
@given(st.lists(facts(), max_size=8), filters)
def test_filters_are_their_definition(rows: list[Fact], by: Filters) -> None:
    columns = FactColumns()
    columns.reserve(len(rows) + 1)
    columns.put(range(len(rows) + 1), [*rows, fact("gone")])
    columns.clear(len(rows))
    found = columns.fulfilling(len(rows) + 1, by, NOW).tolist()
    assert found == [*(wanted(one, by) for one in rows), False], "a free row fulfils nothing"


def test_facts_touching_entities() -> None:
    columns = FactColumns()
    columns.reserve(3)
    for row, (source, target) in enumerate((("a", "b"), ("b", "c"), ("c", "d"))):
        columns.put([row], [fact(f"f{row}", source=source, target=target)])
    assert columns.touching(3, {"b", "nobody"}).tolist() == [True, True, False]
    assert columns.touching(3, set()).tolist() == [False] * 3


rows = st.integers(0, 5)
changes = st.tuples(st.sampled_from(["put", "put", "clear"]), rows, facts())
steps = st.lists(changes | st.tuples(st.just("look"), times, st.none()), max_size=25)


@patient
@given(steps)
def test_what_holds_now_follows_every_change_and_every_moment(
    steps: list[tuple[str, int, Fact | None]],
) -> None:
    columns = FactColumns()
    held: dict[int, Fact] = {}
    columns.reserve(6)
    for row in range(6):
        columns.clear(row)
    for what, number, one in [*steps, ("look", 50, None), ("look", 51, None), ("look", 3, None)]:
        if one is None:
            expected = [row in held and wanted_at(held[row], number) for row in range(6)]
            assert columns.current(6, number).tolist() == expected
            columns.fulfilling(6, NONE, number)[:] = False  # what is handed out is the caller's
        elif what == "put":
            columns.put([number], [one])
            held[number] = one
        else:
            columns.clear(number)
            held.pop(number, None)


def wanted_at(one: Fact, at: int) -> bool:
    """Whether a fact holds and is not expired."""
    return one.expired_ms is None and one.start_ms <= at < (
        NEVER if one.invalid_ms is None else one.invalid_ms
    )


def test_between_two_moments_nothing_is_compared_again() -> None:
    columns = FactColumns()
    columns.reserve(2)
    a = fact("a", reference_ms=10, valid_ms=None, invalid_ms=90)
    columns.put([0, 1], [a, fact("b", reference_ms=40, valid_ms=None)])
    assert columns.current(2, 50).tolist() == [True, True]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Current, "look", None)
        for now in (40, 89):
            assert columns.current(2, now).tolist() == [True, True]
        for now in (39, 90):
            with pytest.raises(TypeError):
                columns.current(2, now)
