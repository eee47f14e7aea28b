"""The extractor on chat: who is meant, how facts read, what is kept. What sentences claim: test_said."""

from __future__ import annotations

import pytest

from kgsvc.domain.model.graph import FactKind, Polarity, RoleType, Source
from tests.unit.models_rules.support import NOW, message, ms, read, reply, say, text_episode

ALICE = "Alice Chen"
TURNS = (
    "Hi, I'm Alice Chen. I work at TechCorp as a senior software engineer.",
    "I'm currently leading Project Phoenix, a major cloud migration initiative.",
    "The project deadline is February 15th, and we have 3 team members.",
)


def test_the_first_turn_of_spec_003_names_the_employer() -> None:
    found = say(TURNS[0], ALICE)
    (fact,) = found.facts
    assert fact.triple == ("WORKS_AT", ALICE, "TechCorp")
    assert fact.fact == "Alice Chen works at TechCorp as a senior software engineer."
    assert (fact.kind, fact.polarity, fact.valid_ms) == (FactKind.FUNCTIONAL, Polarity.ASSERTS, NOW)
    assert found.types == {ALICE: "Person", "TechCorp": "Organization"}


def test_the_second_turn_of_spec_003_names_who_leads_the_project() -> None:
    found = read(message(TURNS[1], ALICE), [message(TURNS[0], ALICE)])
    (fact,) = found.facts
    assert fact.triple == ("LED_BY", "Project Phoenix", ALICE)
    assert fact.fact == (
        "Alice Chen is currently leading Project Phoenix, a major cloud migration initiative."
    )
    assert found.types["Project Phoenix"] == "Project"


def test_the_third_turn_of_spec_003_finds_the_project_in_the_turns_before() -> None:
    found = read(message(TURNS[2], ALICE), [message(turn, ALICE) for turn in TURNS[:2]])
    deadline = found.fact("HAS_DEADLINE")
    assert deadline.source == deadline.target == "Project Phoenix"
    assert deadline.fact == f"Alice Chen: {TURNS[2]}"
    assert (deadline.kind, deadline.valid_ms) == (FactKind.FUNCTIONAL, NOW)
    assert found.types == {ALICE: "Person", "Project Phoenix": "Project"}


def test_a_moved_deadline_is_the_same_relation_again() -> None:
    found = read(message("The project deadline moved to March 1.", ALICE), [message(TURNS[1], ALICE)])
    deadline = found.fact("HAS_DEADLINE")
    assert (deadline.source, deadline.kind) == ("Project Phoenix", FactKind.FUNCTIONAL)
    assert "March 1" in deadline.fact


def test_an_ending_and_a_beginning_in_one_sentence_are_two_facts_with_their_own_words() -> None:
    found = say("I left Acme Corp last month and joined Globex as a data scientist.")
    left, joined = found.fact("WORKS_AT", "Acme Corp"), found.fact("WORKS_AT", "Globex")
    assert (left.polarity, joined.polarity) == (Polarity.ENDS, Polarity.ASSERTS)
    assert left.fact == "Bob left Acme Corp last month."
    assert joined.fact == "Bob joined Globex as a data scientist."
    assert left.kind is joined.kind is FactKind.FUNCTIONAL


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("I've worked at Fennel & Sons since 2019.", "Bob has worked at Fennel & Sons since 2019."),
        ("I'm a nurse at Saint Jude Hospital.", "Bob is a nurse at Saint Jude Hospital."),
        ("I don't work at Acme Corp anymore.", "Bob doesn't work at Acme Corp anymore."),
        ("I live in Boston and I love it.", "Bob: I live in Boston and I love it."),
        ("I live in York with my wife.", "Bob: I live in York with my wife."),
        ("I moved to York and still miss Leeds.", "Bob: I moved to York and still miss Leeds."),
        ("From 2 June I live in Wellington.", "Bob: From 2 June I live in Wellington."),
        ("Carol works for IBM.", "Carol works for IBM."),
    ],
)
def test_a_clause_is_restated_only_where_its_subject_alone_changes(text: str, fact: str) -> None:
    assert fact in [each.fact for each in say(text).facts]


def test_the_third_person_is_the_only_fitting_name_before() -> None:
    found = say("I met Carol Danvers yesterday. She works for IBM.")
    fact = found.fact("WORKS_AT")
    assert fact.triple == ("WORKS_AT", "Carol Danvers", "IBM")
    assert fact.fact == "Carol Danvers works for IBM."


def test_a_relative_without_a_name_is_an_entity_of_its_own() -> None:
    found = say("My sister lives in Boston and loves hiking. She works for IBM.")
    assert {
        ("LIVES_IN", "Bob's sister", "Boston"),
        ("LIKES", "Bob's sister", "hiking"),
        ("WORKS_AT", "Bob's sister", "IBM"),
    } <= found.triples
    assert found.fact("LIKES").fact == "Bob's sister loves hiking."


@pytest.mark.parametrize(
    "text",
    [
        "He lives in Boston with three cats.",
        "I saw Alice at the office. He works for IBM.",
        "Carol met Dana at the office. She works for IBM.",
        "You work at TechCorp.",
    ],
)
def test_a_pronoun_that_fits_nobody_or_several_claims_nothing(text: str) -> None:
    found = say(text)
    assert {"WORKS_AT", "LIVES_IN"}.isdisjoint(fact.name for fact in found.facts)
    assert text.rsplit(". ", maxsplit=1)[-1] in " ".join(fact.fact for fact in found.facts)


def test_a_first_name_after_the_full_name_is_the_same_entity() -> None:
    found = say("Carol Danvers joined Acme Corp. Carol lives in Boston.")
    assert ("LIVES_IN", "Carol Danvers", "Boston") in found.triples
    assert "Carol" not in found.types


def test_an_ambiguous_first_name_stays_its_own_entity() -> None:
    found = say("Carol Danvers met Carol Jones. Carol lives in Boston.")
    assert ("LIVES_IN", "Carol", "Boston") in found.triples


def test_a_nickname_of_a_participant_means_the_participant() -> None:
    found = reply("Mel lives in Boston.", "Caroline", "Melanie")
    assert ("LIVES_IN", "Melanie", "Boston") in found.triples


def test_a_first_name_of_a_participant_means_the_participant() -> None:
    previous = [message("Hello!", "Farida Osman"), message("Hi!", "Carol")]
    found = read(message("Farida lives in Boston.", "Bob"), previous)
    assert found.fact("LIVES_IN").source == "Farida Osman"
    assert found.fact("LIVES_IN").fact == "Farida lives in Boston."
    assert found.types["Farida Osman"] == "Person"


def test_the_speaker_is_the_role_or_else_the_prefix_or_else_the_role_type() -> None:
    by_prefix = text_episode("Alice Chen(user): I live in Rome.", Source.MESSAGE)
    nameless = text_episode("(assistant): I live in Rome.", Source.MESSAGE)
    plain = text_episode("Alice: I live in Rome.", Source.MESSAGE)
    assert read(by_prefix).fact("LIVES_IN").source == "Alice Chen"
    assert read(nameless).fact("LIVES_IN").source == "assistant"
    assert read(plain).fact("LIVES_IN").source == "Alice"
    assert nameless.role_type is None
    assert RoleType.ASSISTANT.value == "assistant"


def test_a_relative_with_a_name_is_told_beside_what_the_sentence_states() -> None:
    found = say("I moved to Munich two weeks ago with my wife Anna.")
    assert {("HAS_WIFE", "Bob", "Anna"), ("LIVES_IN", "Bob", "Munich")} <= found.triples
    assert found.fact("LIVES_IN").valid_ms == ms(2023, 5, 11)


def test_an_event_has_no_beginning_unless_stated() -> None:
    fact = say("I visited Lisbon.").fact("VISITED")
    assert (fact.kind, fact.valid_ms) == (FactKind.EVENT, None)
    assert say("I visited Lisbon yesterday.").fact("VISITED").valid_ms == ms(2023, 5, 24)


def test_a_state_in_the_past_is_over_and_its_start_unknown() -> None:
    fact = say("I lived in Rome.").fact("LIVES_IN")
    assert (fact.polarity, fact.valid_ms, fact.invalid_ms) == (Polarity.ASSERTS, None, NOW)


def test_a_state_to_come_is_valid_from_then() -> None:
    assert say("I'm joining Initech next month.").fact("WORKS_AT").valid_ms == ms(2023, 6)


def test_sentences_that_claim_nothing_are_kept_together_from_their_speaker() -> None:
    found = say("What an unforgettable week in the mountains! Carol fell asleep on the summit.")
    (fact,) = found.facts
    assert fact.triple == ("SAID", "Bob", "Carol")
    assert fact.fact == ("Bob: What an unforgettable week in the mountains! Carol fell asleep on the summit.")
    assert fact.kind is FactKind.EVENT


def test_words_that_name_nothing_are_said_to_whom_one_talks() -> None:
    assert reply("The waterfall was frozen solid.").fact("SAID").target == "Alice"
    assert say("The waterfall was frozen solid.").fact("SAID").target == "Bob"


def test_a_question_is_kept_as_a_question() -> None:
    fact = reply("Does Carol still work at IBM?").fact("ASKED")
    assert (fact.source, fact.target) == ("Bob", "Carol")
    assert fact.fact == "Bob: Does Carol still work at IBM?"


@pytest.mark.parametrize("text", ["Hi!", "Thanks!", "Wow, that's great!", "Good morning, Alice!"])
def test_small_talk_is_no_fact(text: str) -> None:
    assert reply(text).facts == []


def test_text_is_composed_and_cleaned_before_it_is_read() -> None:
    found = say("Zoe\u0308 Mu\u0308ller works at Bu\u00adcher\u200bhaus Corp.")
    assert found.fact("WORKS_AT").triple == ("WORKS_AT", "Zo\u00eb M\u00fcller", "Bucherhaus Corp")


def after(before: str, text: str, speaker: str = "Alice", hours: float = 0.1) -> list[str]:
    """What is kept of Bob's words after a message of `speaker`."""
    earlier = message(before, speaker, NOW - int(hours * 3_600_000))
    return [fact.fact for fact in read(message(text), [earlier]).facts]


def test_an_answer_keeps_its_question() -> None:
    asked = after("Quick one. How big is the pool hall at Saltmarsh?", "1,860 square metres.")
    assert asked == ["Bob (asked “How big is the pool hall at Saltmarsh?”): 1,860 square metres."]


@pytest.mark.parametrize(
    ("before", "speaker", "hours"),
    [
        ("The pool hall at Saltmarsh is big.", "Alice", 0.1),
        ("How big is the pool hall?", "Alice", 30.0),
        ("How big is the pool hall?", "Bob", 0.1),
        (f"Is it {'very ' * 50}big?", "Alice", 0.1),
    ],
)
def test_what_answers_nothing_stays_alone(before: str, speaker: str, hours: float) -> None:
    assert after(before, "1,860 square metres.", speaker, hours) == ["Bob: 1,860 square metres."]


def test_a_correction_keeps_what_it_corrects() -> None:
    text = "wait, I meant 8 October."
    assert after("The visit is on 9 October.", text, "Bob") == [
        "Bob (after “The visit is on 9 October.”): wait, I meant 8 October."
    ]
    assert after("The visit is on 9 October.", "Lunch was great today.", "Bob") == [
        "Bob: Lunch was great today."
    ]


def test_a_denial_is_kept_with_the_words_that_it_denies() -> None:
    found = reply("Ines is telling everyone that we're moving to Oslo. We aren't, we live in Bergen.")
    told = [fact.fact for fact in found.facts if "Oslo" in fact.fact]
    assert told
    assert all("We aren't" in fact for fact in told)


def test_a_sentence_that_says_more_than_an_end_stands_as_an_open_fact_too() -> None:
    text = "I do not like coffee anymore, tea is much nicer in the evening."
    found = say(text)
    assert found.fact("LIKES", "coffee").polarity is Polarity.ENDS
    assert found.fact("SAID").fact == f"Bob: {text}"
    assert {fact.name for fact in say("I do not like coffee anymore.").facts} == {"LIKES"}


@pytest.mark.parametrize("stamp", ["[2024-03-04, 09:12:01] ", "04/03/2024, 09:12 - ", ""])
def test_an_exported_chat_is_read_by_its_speakers(stamp: str) -> None:
    lines = ("Jana Novak: I live in Rome.", "Ole Lund: I work at Zalando Corp.")
    found = read(text_episode("\n".join(stamp + line for line in lines), Source.DOCUMENT))
    assert ("LIVES_IN", "Jana Novak", "Rome") in found.triples
    assert ("WORKS_AT", "Ole Lund", "Zalando Corp") in found.triples
