"""RetractFact among the other rows of its slot, and of slots in which it ended something."""

from dataclasses import replace

from kgsvc.domain.facts.amendments import retracted
from kgsvc.domain.facts.beliefs import as_known_at
from kgsvc.domain.facts.slots import as_merged, refolded
from kgsvc.domain.model.delta import SlotView
from kgsvc.domain.model.graph import Closure, Evidence, Fact, FactKind
from kgsvc.domain.model.keys import slot_of

NOW = 1_000


def fact(uuid: str, text: str, at: int, target: str = "oslo", relation: str = "LIVES_IN") -> Fact:
    """What one episode told at a time."""
    slot = slot_of(FactKind.FUNCTIONAL, "ann", relation, target, {})
    return Fact(
        uuid, "g", relation, text, "ann", target, "Ann", target, at, at, slot, "", kind=FactKind.FUNCTIONAL,
        episodes=(f"e{at}",), evidence=(Evidence(at, at, f"e{at}"),),
    )  # fmt: skip


OSLO = fact("f1", "Ann lives in Oslo", 1)
BONN = fact("f2", "Ann lives in Bonn", 5, "bonn")
CAMPUS = fact("f3", "Ann has a desk in Oslo", 2, "desk", "HAS_DESK")
LOST = Closure(5, 5, "f2", "e5")  # who lives in Bonn has no desk in Oslo


def stored(*facts: Fact) -> dict[str, Fact]:
    """The rows as they are folded."""
    return {each.uuid: each for each in facts} | refolded("g", facts, SlotView(), NOW)


def without(rows: dict[str, Fact], uuid: str, *corrected: str) -> dict[str, Fact]:
    """The rows once a fact is retracted."""
    view = SlotView(tuple(rows.values()))
    return rows | retracted(rows[uuid], corrected, "another Ann", view, NOW + 1)


def test_it_expires_with_its_reason_and_without_a_successor() -> None:
    gone = without(stored(OSLO), "f1")["f1"]
    assert (gone.expired_ms, gone.expired_reason, gone.retract_reason) == (
        NOW + 1,
        "retracted",
        "another Ann",
    )
    assert (gone.expired_by_fact, gone.expired_by_episode) == (None, None)
    assert (gone.evidence, gone.episodes) == (OSLO.evidence, OSLO.episodes)


def test_before_it_was_held() -> None:
    before = stored(OSLO)["f1"]
    gone = without({"f1": before}, "f1")["f1"]
    assert replace(as_known_at(gone, NOW), updated_ms=before.updated_ms) == replace(
        before, invalid_before_ms=gone.invalid_before_ms
    )
    assert as_known_at(gone, NOW + 1) == gone


def test_what_it_had_ended_in_its_slot_holds_again() -> None:
    rows = stored(OSLO, BONN)
    assert rows["f1"].expired_by_fact == "f2"
    after = without(rows, "f2")
    assert (after["f1"].expired_ms, after["f1"].invalid_ms) == (None, None)


def test_what_it_had_ended_elsewhere_holds_again() -> None:
    rows = stored(OSLO, BONN, replace(CAMPUS, closures=(LOST,)))
    assert (rows["f3"].expired_by_fact, rows["f3"].invalid_ms) == ("f2", 5)
    after = without(rows, "f2")
    assert (after["f3"].expired_ms, after["f3"].invalid_ms, after["f3"].closures) == (None, None, ())


def test_what_the_row_had_ended_that_it_corrects_holds_again() -> None:
    rows = stored(OSLO, replace(BONN, uuid="f4"), replace(CAMPUS, closures=(LOST,)))
    assert without(rows, "f4", "f2")["f3"].expired_ms is None
    assert without(rows, "f4")["f3"].expired_by_fact == "f2", "or it proves nothing"


def test_what_another_ended_stays_ended() -> None:
    by_another = Closure(4, 4, "f9", "e4")
    after = without(stored(OSLO, BONN, replace(CAMPUS, closures=(by_another, LOST))), "f2")
    assert (after["f3"].expired_by_fact, after["f3"].closures) == ("f9", (by_another,))


def test_a_fold_does_not_bring_it_back() -> None:
    after = without(stored(OSLO, BONN), "f2")
    view = SlotView(tuple(after.values()))
    assert refolded("g", view.facts, view, NOW + 2) == {}
    told_later = fact("f5", "Ann lives in Bern", 7, "bern")
    again = refolded("g", [*view.facts, told_later], view, NOW + 2)
    assert again["f1"].expired_by_fact == "f5"
    assert "f2" not in again


def test_a_merge_leaves_it_retracted() -> None:
    gone = without(stored(OSLO), "f1")["f1"]
    assert as_merged(gone, NOW + 2) == gone
