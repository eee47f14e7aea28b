"""Former values that an earlier version took for the end of the present one."""

from dataclasses import replace

import pytest

from kgsvc.domain.facts.beliefs import as_known_at
from kgsvc.domain.facts.mending import with_values_apart
from kgsvc.domain.model.delta import SlotView
from kgsvc.domain.model.graph import EARLIEST_MS, Closure
from tests.support.former_values import NOW, former_price, former_status, rows


def test_the_present_value_is_open_again_and_the_former_has_its_row() -> None:
    mended = with_values_apart("g", SlotView((former_price("g"),)), NOW)
    assert rows(mended) == [
        ("Falcon cost 60 until May.", EARLIEST_MS, 50, None),
        ("Falcon costs 75.", 50, None, None),
    ]
    price = next(fact for fact in mended if fact.uuid == former_price("g").uuid)
    assert price.expired_by_episode is None
    assert as_known_at(price, NOW - 1).invalid_ms == 50, "what was believed until then stays known"


def test_a_status_that_ended_as_it_began() -> None:
    mended = with_values_apart("g", SlotView((former_status("g"),)), NOW)
    assert rows(mended) == [
        ("Falcon was in review until July.", EARLIEST_MS, 70, None),
        ("Falcon is done.", 70, None, None),
    ]


def test_what_is_mended_needs_nothing_more() -> None:
    mended = with_values_apart("g", SlotView((former_price("g"), former_status("g"))), NOW)
    assert with_values_apart("g", SlotView(mended), NOW + 1) == ()


def test_an_end_that_a_model_found_stays() -> None:
    price = former_price("g")
    judged = replace(price, closures=(Closure(50, 60, "f9", "e2"),))
    assert with_values_apart("g", SlotView((judged,)), NOW) == ()


@pytest.mark.parametrize("said", ["Falcon cost 75 and 5 more.", "The regular rate is gone."])
def test_an_end_that_may_be_of_the_value_stays(said: str) -> None:
    price = former_price("g")
    first, end = price.evidence
    same = replace(price, invalid_ms=90, evidence=(first, replace(end, said=said)))
    assert with_values_apart("g", SlotView((same,)), NOW) == ()
