"""Corrections of what the same speaker said right before."""

from __future__ import annotations

import pytest

from kgsvc.domain.model.graph import Polarity
from tests.unit.models_rules.support import NOW, Found, message, read


def after(said: str, correction: str, by: str = "Bob") -> Found:
    """What a message of Bob claims after one of his (or of another), with a word of Alice between."""
    return read(
        message(correction, "Bob"), [message(said, by, NOW - 60_000), message("ok", "Alice", NOW - 50_000)]
    )


@pytest.mark.parametrize(
    ("said", "correction", "relation", "wrong", "right"),
    [
        ("I moved to Graz last week.", "Sorry, not Graz, Linz.", "LIVES_IN", "Graz", "Linz"),
        ("I work at Lumen Labs.", "No wait, I meant Borea Corp.", "WORKS_AT", "Lumen Labs", "Borea Corp"),
        ("I live in Graz.", "Oops, it's Linz, not Graz.", "LIVES_IN", "Graz", "Linz"),
        (
            "Carol leads Project Heron.",
            "Correction, it's Dana Smith, not Carol.",
            "LED_BY",
            "Carol",
            "Dana Smith",
        ),
    ],
)
def test_the_wrong_one_is_denied_and_the_right_one_claimed(
    said: str, correction: str, relation: str, wrong: str, right: str
) -> None:
    found = after(said, correction)
    assert found.fact(relation, wrong).polarity is Polarity.DENIES
    told = found.fact(relation, right)
    assert told.polarity is Polarity.ASSERTS
    assert right in told.fact
    assert wrong not in told.fact


def test_within_one_message_too() -> None:
    found = read(message("I live in Graz. Sorry, I meant Linz.", "Bob"))
    assert [f.polarity for f in found.facts if f.target == "Graz"] == [Polarity.ASSERTS, Polarity.DENIES]
    assert found.fact("LIVES_IN", "Linz").polarity is Polarity.ASSERTS


def test_a_value_gets_its_other_date() -> None:
    found = after(
        "The deadline for Project Heron moved to 7 July.", "wait, I meant 9 July. Scones unchanged."
    )
    assert found.fact("HAS_DEADLINE").fact == "The deadline for Project Heron moved to 9 July."


@pytest.mark.parametrize(
    ("said", "correction", "by"),
    [
        ("I live in Graz.", "Sorry, not Graz, Linz.", "Alice"),  # another's words
        ("I live in Graz and I work at Lumen Labs.", "Sorry, I meant Linz.", "Bob"),  # which of the two?
        ("I live in Graz.", "Sorry, I meant that.", "Bob"),
        ("I live in Graz.", "Sorry, not Rome, Linz.", "Bob"),
        ("What a day!", "Sorry, not Graz, Linz.", "Bob"),
    ],
)
def test_what_is_not_sure_claims_nothing(said: str, correction: str, by: str) -> None:
    assert {fact.name for fact in after(said, correction, by).facts} <= {"SAID"}


def test_whom_a_pronoun_means_stands_beside_it_without_the_claim_which_may_be_corrected() -> None:
    found = read(message("Carol leads Project Heron. She bakes scones.", "Bob"))
    assert found.fact("SAID").fact == "Bob (of Project Heron and Carol): She bakes scones."
