"""Corrections of what the same speaker said right before."""

from __future__ import annotations

import pytest

from tests.unit.models_rules.support import NOW, Found, message, read


def after(said: str, correction: str, by: str = "Bob") -> Found:
    """What a message of Bob claims after one of his (or of another), with a word of Alice between."""
    return read(
        message(correction, "Bob"), [message(said, by, NOW - 60_000), message("ok", "Alice", NOW - 50_000)]
    )


def test_a_value_gets_its_other_date() -> None:
    found = after(
        "The deadline for Project Heron moved to 7 July.", "wait, I meant 9 July. Scones unchanged."
    )
    assert found.fact("HAS_DEADLINE").fact == "The deadline for Project Heron moved to 9 July."


@pytest.mark.parametrize(
    ("said", "correction", "by"),
    [
        (
            "The budget of Project Heron is due on 7 July.",
            "Sorry, I meant 9 July.",
            "Alice",
        ),  # another's words
        (
            "The launch of Project Heron is on 3 June, the visit of Ann is on 4 June.",
            "I meant 9 July.",
            "Bob",
        ),
        ("I moved to Graz on 7 July.", "Sorry, I meant 9 July.", "Bob"),
        ("I live in Graz.", "Sorry, I meant Linz.", "Bob"),
        ("What a day!", "Sorry, I meant 9 July.", "Bob"),
    ],
)
def test_what_is_not_sure_claims_nothing(said: str, correction: str, by: str) -> None:
    assert {fact.name for fact in after(said, correction, by).facts} <= {"SAID"}


def test_whom_a_pronoun_means_stands_beside_it_without_the_claim_which_may_be_corrected() -> None:
    found = read(message("Carol leads Project Heron. She bakes scones.", "Bob"))
    assert found.fact("SAID").fact == "Bob (of Project Heron and Carol): She bakes scones."
