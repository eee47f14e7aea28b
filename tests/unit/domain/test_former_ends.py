"""Ends as earlier versions stored them become part of the relations that ended."""

from dataclasses import replace

from kgsvc.domain.facts.beliefs import as_known_at
from kgsvc.domain.facts.slots import with_folded_ends
from kgsvc.domain.model.delta import SlotView
from kgsvc.domain.model.graph import EARLIEST_MS, ENDED, Polarity
from tests.support.former_ends import NOW, former_rows


def test_an_end_joins_the_row_that_it_ended() -> None:
    worked, left, _ = former_rows("g")
    row, gone = sorted(
        with_folded_ends("g", SlotView((worked, left)), NOW), key=lambda f: f.uuid != worked.uuid
    )
    assert (row.uuid, row.name, row.fact) == (worked.uuid, "WORKS_AT", "Ada works at Acme.")
    assert (row.start_ms, row.invalid_ms, row.expired_ms) == (10, 50, worked.expired_ms)
    assert (row.expired_by_fact, row.expired_by_episode) == (None, "e2")
    assert [(e.episode_uuid, e.says, e.said) for e in row.evidence] == [
        ("e1", "", ""),
        ("e2", ENDED, "Ada left Acme."),
    ]
    assert row.episodes == ("e1", "e2")
    assert (gone.uuid, gone.name, gone.expired_reason) == (left.uuid, "WORKS_AT", "merged")
    assert as_known_at(gone, NOW - 1).invalid_ms == 50, "at no time is it open"


def test_an_end_of_which_no_start_is_known_is_the_relation_until_then() -> None:
    _, _, quit_ = former_rows("g")
    (row,) = with_folded_ends("g", SlotView((quit_,)), NOW)
    assert (row.uuid, row.name, row.polarity) == (quit_.uuid, "WORKS_AT", Polarity.ASSERTS)
    assert (row.start_ms, row.valid_ms, row.invalid_ms, row.expired_ms) == (EARLIEST_MS, None, 60, None)
    assert row.beliefs == ()
    assert with_folded_ends("g", SlotView((row,)), NOW + 1) == ()


def test_an_end_that_was_corrected_is_not_open_in_the_past_either() -> None:
    _, _, quit_ = former_rows("g")
    corrected = replace(quit_, expired_ms=200, expired_reason="updated")
    (row,) = with_folded_ends("g", SlotView((corrected,)), NOW)
    assert (row.name, row.invalid_ms, row.expired_reason) == ("WORKS_AT", 60, "updated")
    assert as_known_at(row, 150).invalid_ms == 60
