"""Cutting text into sentences, and telling who speaks them."""

from __future__ import annotations

import pytest

from kgsvc.domain.model.extraction import ExtractionRequest
from kgsvc.domain.model.graph import Source
from kgsvc.models.rules.speakers import SpokenTurn, participants_of, turns_of
from kgsvc.models.rules.text import LONGEST, sentences_of, words_of
from tests.unit.models_rules.support import message, text_episode


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
        ("Dr. Smith met J. K. Rowling. She left.", ["Dr. Smith met J. K. Rowling.", "She left."]),
        ("So did I. David I. Lehn came.", ["So did I.", "David I. Lehn came."]),
        ("Ann was a Ph.D. student. She left.", ["Ann was a Ph.D. student.", "She left."]),
        ("Ann has a Ph.D. She left.", ["Ann has a Ph.D.", "She left."]),
        ("It cost 3.50 in the U.S. last year.", ["It cost 3.50 in the U.S. last year."]),
        ("- milk\n- bread", ["milk", "bread"]),
        ("Notes.\n1. Third depot. It opens.\n2. Cost", ["Notes.", "Third depot.", "It opens.", "Cost"]),
        ("Nice. [shares a photo]", ["Nice.", "[shares a photo]"]),
        ("He (b. 1950. Rome) left.", ["He (b. 1950. Rome) left."]),
        ("He left.12 The mill stood.", ["He left.", "12 The mill stood."]),
        ("She said “no.”34 It stood.", ["She said “no.”", "34 It stood."]),
        ("Use v1.2 Beta on Route.66 in May.", ["Use v1.2 Beta on Route.66 in May."]),
        ("", []),
        (" \n\t ", []),
        ("!!!", ["!!!"]),
    ],
)
def test_where_sentences_end(text: str, sentences: list[str]) -> None:
    assert sentences_of(text) == sentences


def test_no_sentence_is_longer_than_a_fact_may_be_and_no_word_is_lost() -> None:
    text = ", ".join(f"word{number}" for number in range(2_000))
    pieces = sentences_of(text)
    assert max(map(len, pieces)) <= LONGEST
    assert " ".join(pieces).split() == text.split()


def test_a_text_without_spaces_is_cut_too() -> None:
    pieces = sentences_of("x" * 5_000)
    assert max(map(len, pieces)) <= LONGEST
    assert "".join(pieces) == "x" * 5_000


@pytest.mark.parametrize(
    ("text", "lows"),
    [
        ("I'm", ["i", "'m"]),
        ("don't", ["do", "n't"]),
        ("can't", ["can", "n't"]),
        ("won’t", ["will", "n't"]),
        ("Bob's", ["bob", "'s"]),
        ("dont im ive", ["do", "n't", "i", "'m", "i", "'ve"]),
        ("C++ and Node.js", ["c++", "and", "node.js"]),
    ],
)
def test_contractions_are_two_words(text: str, lows: list[str]) -> None:
    words = words_of(text)
    assert [word.low for word in words] == lows
    assert all(text[word.start : word.end] == word.text for word in words)


def test_a_transcript_has_turns() -> None:
    episode = text_episode("Alice: I moved to Oslo.\nIt is cold.\nBob: I live in Lima.")
    assert turns_of(episode) == [
        SpokenTurn("Alice", "I moved to Oslo.\nIt is cold."),
        SpokenTurn("Bob", "I live in Lima."),
    ]


def test_fields_of_a_note_are_no_speakers() -> None:
    body = "Subject: plans\nDate: Monday\nSummary: We met."
    assert turns_of(text_episode(body)) == [SpokenTurn(None, body)]


def test_a_document_that_was_sent_as_a_message_has_no_speaker() -> None:
    assert turns_of(message("Rome is a city.", "document"))[0] == SpokenTurn(None, "Rome is a city.")


def test_participants_are_those_who_speak_in_the_episode_and_before() -> None:
    previous = [message("Hi", "Alice"), message("Hey", "Bob"), text_episode('{"a": 1}', Source.JSON)]
    request = ExtractionRequest(message("So?", "Alice"), previous)
    assert participants_of(request) == ("Alice", "Bob")


def test_a_list_of_terms_in_a_document_is_no_transcript() -> None:
    terms = "Returns: the node.\nBoolean: a flag that is\nset by the caller\nand read once.\nof the tree."
    assert [turn.speaker for turn in turns_of(text_episode(terms, Source.DOCUMENT))] == [None]
    talk = "Ann: hello\nBen: hi"
    assert [turn.speaker for turn in turns_of(text_episode(talk, Source.DOCUMENT))] == ["Ann", "Ben"]
