"""Filters of facts against their definition (design §3), whatever the rows."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from kgsvc.domain.model import Fact
from kgsvc.retrieval.fact_columns import FactColumns
from kgsvc.retrieval.filters import Filters, Span
from tests.unit.retrieval.feed import fact, patient

NOW = 50
times = st.integers(0, 100)
spans = (
    st.builds(lambda a, b: Span(min(a, b), max(a, b) + 1), times, times) | st.builds(Span, times) | st.none()
)
reasons = st.sampled_from(["superseded", "retracted", "updated", "merged"])


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
    return replace(made, expired_ms=expired, expired_reason=draw(reasons), invalid_before_ms=before)


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
    known, end = by.known_at_ms, one.invalid_ms
    expired = one.expired_ms is not None and (known is None or one.expired_ms <= known)
    if one.expired_ms is not None and not expired:
        end = one.invalid_before_ms  # what was believed before
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
    for row, one in enumerate(rows):
        columns.put(row, one)
    columns.put(len(rows), fact("gone"))
    columns.clear(len(rows))
    found = columns.fulfilling(len(rows) + 1, by, NOW).tolist()
    assert found == [*(wanted(one, by) for one in rows), False], "a free row fulfils nothing"


def test_facts_touching_entities() -> None:
    columns = FactColumns()
    columns.reserve(3)
    for row, (source, target) in enumerate((("a", "b"), ("b", "c"), ("c", "d"))):
        columns.put(row, fact(f"f{row}", source=source, target=target))
    assert columns.touching(3, {"b", "nobody"}).tolist() == [True, True, False]
    assert columns.touching(3, set()).tolist() == [False] * 3
