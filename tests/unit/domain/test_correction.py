"""UpdateFact among the other rows of its slot."""

from dataclasses import replace

from kgsvc.domain.facts.amendments import FactInput, correct, says_so, successor
from kgsvc.domain.facts.slots import as_merged, refolded
from kgsvc.domain.model.delta import SlotView
from kgsvc.domain.model.graph import Entity, Evidence, Fact, FactKind, Polarity
from kgsvc.domain.model.keys import slot_of

NOW = 1_000
BEN = Entity("ben", "g", "Ben", 1)


def fact(uuid: str, text: str, at: int, target: str = "oslo", kind: FactKind = FactKind.FUNCTIONAL) -> Fact:
    """What one episode told at a time."""
    slot = slot_of(kind, "ann", "LIVES_IN", target, {})
    return Fact(
        uuid, "g", "LIVES_IN", text, "ann", target, "Ann", target, at, at, slot, "", kind=kind,
        episodes=(f"e{at}",), evidence=(Evidence(at, at, f"e{at}"),),
    )  # fmt: skip


def stored(*facts: Fact) -> dict[str, Fact]:
    """The rows of one slot as they are folded."""
    return {each.uuid: each for each in facts} | refolded("g", facts, SlotView(), NOW)


def corrected(rows: dict[str, Fact], uuid: str, wanted: FactInput) -> dict[str, Fact]:
    """The rows once the fact is replaced by one called new."""
    new = successor(rows[uuid], wanted, {BEN.uuid: BEN}, "new", NOW + 1)
    done = correct(rows[uuid], new, SlotView(tuple(rows.values())), NOW + 1)
    return rows | {each.uuid: each for each in done}


def test_what_the_old_one_had_ended_is_ended_by_the_new_one() -> None:
    rows = stored(fact("f1", "Ann lives in Oslo", 1), fact("f2", "Ann lives in Bonn", 5, "bonn"))
    after = corrected(rows, "f2", FactInput("f2", "g", "Ann moved to Bonn"))
    assert (after["f1"].expired_by_fact, after["f1"].invalid_ms) == ("new", 5)
    assert (after["f2"].expired_reason, after["f2"].expired_by_fact) == ("updated", "new")
    assert (after["new"].expired_ms, after["new"].evidence) == (None, rows["f2"].evidence)


def test_what_it_had_ended_holds_again_when_it_is_about_another() -> None:
    rows = stored(fact("f1", "Ann lives in Oslo", 1), fact("f2", "Ann lives in Bonn", 5, "bonn"))
    after = corrected(rows, "f2", FactInput("f2", "g", "Ben lives in Bonn", source_uuid="ben"))
    assert (after["f1"].expired_ms, after["f1"].invalid_ms) == (None, None)
    assert (after["new"].source_uuid, after["new"].source_name, after["new"].expired_ms) == (
        "ben",
        "Ben",
        None,
    )
    assert after["new"].slot != rows["f2"].slot


def test_one_that_says_the_same_already_is_merged_into_it() -> None:
    rows = stored(fact("f1", "Ann lives in Oslo", 1), fact("f2", "Ann dwells in Oslo", 5))
    after = corrected(rows, "f2", FactInput("f2", "g", "Ann lives in Oslo"))
    assert {uuid: each.expired_reason for uuid, each in after.items()} == {
        "f1": "merged",
        "f2": "updated",
        "new": None,
    }
    assert after["new"].episodes == ("e1", "e5")


def test_what_is_merged_remembers_the_end_that_was_known() -> None:
    ended = replace(
        fact("f1", "Ann lived in Oslo", 1),
        invalid_ms=4,
        evidence=(Evidence(1, 1, "e1", stated_invalid_ms=4),),
    )
    merged = as_merged(ended, NOW)
    assert (merged.expired_ms, merged.invalid_ms, merged.invalid_before_ms) == (NOW, 4, 4)
    assert as_merged(merged, NOW + 1) == merged, "once"


def test_an_event_keeps_to_itself() -> None:
    event = fact("f1", "Ann met Ben", 1, kind=FactKind.EVENT)
    new = successor(event, FactInput("f1", "g", "Ann wed Ben"), {}, "new", NOW)
    assert new.slot != event.slot
    assert set(new.qualifiers) == {"event"}


def test_the_relation_of_a_negation_keeps_its_slot() -> None:
    denied = replace(
        fact("f1", "Ann does not live in Oslo", 1), name="NOT_LIVES_IN", polarity=Polarity.DENIES
    )
    new = successor(denied, FactInput("f1", "g", "Ann never lived in Oslo"), {}, "new", NOW)
    assert (new.slot, new.name) == (denied.slot, "NOT_LIVES_IN")


def test_what_is_said_already() -> None:
    had = replace(fact("f1", "Ann lives in Oslo", 1), attributes={"since": 1})
    assert says_so(had, FactInput("f1", "g", "Ann lives in Oslo"))
    assert says_so(had, FactInput("f1", "g", "Ann lives in Oslo", "ann", "oslo", {"since": 1}, "why"))
    assert not says_so(had, FactInput("f1", "g", "Ann lives in Oslo", attributes={}))
    assert not says_so(had, FactInput("f1", "g", "Ann lives in Oslo", target_uuid="bonn"))
