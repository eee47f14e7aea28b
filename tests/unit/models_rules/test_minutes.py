"""Minutes of a meeting as a document: who said what, between headings, labels and lines that go on."""

import pytest

from kgsvc.domain.model.graph import Source
from kgsvc.models.rules.speakers import SpokenTurn, turns_of
from tests.unit.models_rules.support import read, text_episode

MINUTES = """# Mill club

## Minutes of 2022-05-02

Agenda:

- 1. The wheel
  2. The pond

# Topic: The wheel

Ann Holm: I want to mend the wheel before winter comes.

... and the old oak door as well

Ole Dahl: Who pays for the wood?

Ann Holm: The town council pays for the wood.

PROPOSAL: Mend the wheel of the mill in June.

Ole Dahl: Good, then let us start in June.

RESOLUTION: Mend the wheel of the mill in June.
"""
TERMS = """# Options

Returns: the number of rows
Raises: an error where there is none
Example: see below
Returns: nothing
"""


def test_people_are_told_apart() -> None:
    turns = [turn for turn in turns_of(text_episode(MINUTES, Source.DOCUMENT)) if turn.speaker]
    assert [(turn.speaker, turn.content.split()[0]) for turn in turns] == [
        ("Ann Holm", "I"),
        ("Ole Dahl", "Who"),
        ("Ann Holm", "The"),
        ("Ole Dahl", "Good,"),
    ]
    assert turns[0].content.endswith("and the old oak door as well")


def test_what_was_resolved_is_nobodys_saying() -> None:
    found = read(text_episode(MINUTES, Source.DOCUMENT))
    (resolved,) = [fact for fact in found.facts if "RESOLUTION" in fact.fact]
    assert resolved.name == "MENTIONED_WITH"  # not SAID
    assert {"RESOLUTION", "PROPOSAL", "Topic", "Agenda"}.isdisjoint(found.types)


def test_a_heading_between_turns_is_no_fact() -> None:
    found = read(text_episode(MINUTES, Source.DOCUMENT))
    assert [fact.fact for fact in found.facts if "Topic: The wheel" in fact.fact] == []


@pytest.mark.parametrize(
    "text", [TERMS, "# Notes\n\nThe mill stands.\n\nAuthor: Ann Holm\n\nReader: Ole Dahl"]
)
def test_terms_are_no_speakers(text: str) -> None:
    episode = text_episode(text, Source.DOCUMENT)
    assert turns_of(episode) == [SpokenTurn(None, text)]


def test_who_spoke_before_is_spoken_to() -> None:
    text = "\n".join(
        f"{who}: the {what} of the old mill must be mended in June"
        for who, what in (
            ("Ann Holm", "wheel"),
            ("Ole Dahl", "door"),
            ("Ann Holm", "roof"),
            ("Tom Lund", "pond"),
        )
    )
    found = read(text_episode(text, Source.DOCUMENT))
    told = {fact.fact.split()[3]: fact.target for fact in found.facts}
    assert told == {"wheel": "Ann Holm", "door": "Ann Holm", "roof": "Ole Dahl", "pond": "Ann Holm"}


def test_a_word_that_stands_but_once_is_no_speaker() -> None:
    text = f"{MINUTES}\nClarification: the wood is oak.\n"
    found = read(text_episode(text, Source.DOCUMENT))
    assert "Clarification" not in found.types
