"""The extractor on chat: who is meant, what is stated, what it ends."""

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
    fact = found.fact("WORKS_AT")
    assert fact.triple == ("WORKS_AT", ALICE, "TechCorp")
    assert fact.fact == "Alice Chen works at TechCorp as a senior software engineer."
    assert (fact.kind, fact.polarity, fact.valid_ms) == (FactKind.FUNCTIONAL, Polarity.ASSERTS, NOW)
    assert found.types[ALICE] == "Person"
    assert found.types["TechCorp"] == "Organization"


def test_the_second_turn_of_spec_003_names_the_project_and_what_it_is() -> None:
    found = read(message(TURNS[1], ALICE), [message(TURNS[0], ALICE)])
    assert found.fact("LEADS").triple == ("LEADS", ALICE, "Project Phoenix")
    assert found.types["Project Phoenix"] == "Project"
    assert found.fact("IS_A").fact == "Project Phoenix is a major cloud migration initiative."


def test_the_third_turn_of_spec_003_finds_the_project_in_the_turns_before() -> None:
    found = read(message(TURNS[2], ALICE), [message(turn, ALICE) for turn in TURNS[:2]])
    deadline = found.fact("HAS_DEADLINE")
    assert (deadline.source, deadline.target) == ("Project Phoenix", ALICE)
    assert deadline.fact == "The Project Phoenix deadline is February 15th."
    assert (deadline.kind, deadline.valid_ms) == (FactKind.FUNCTIONAL, NOW)
    assert found.fact("HAS").fact == "Alice Chen has 3 team members."


def test_a_moved_deadline_is_the_same_relation_again() -> None:
    found = read(message("The deadline moved to March 1.", ALICE), [message(TURNS[1], ALICE)])
    deadline = found.fact("HAS_DEADLINE")
    assert deadline.source == "Project Phoenix"
    assert "Project Phoenix" in deadline.fact
    assert "March 1" in deadline.fact


@pytest.mark.parametrize(
    ("text", "relation", "target", "valid"),
    [
        ("I left Acme Corp last month.", "WORKS_AT", "Acme Corp", ms(2023, 4)),
        ("I quit my job at Initech yesterday.", "WORKS_AT", "Initech", ms(2023, 5, 24)),
        ("I was fired from Globex in March.", "WORKS_AT", "Globex", ms(2023, 3)),
        ("I no longer work at Acme Corp.", "WORKS_AT", "Acme Corp", None),
        ("I don't work at Acme Corp anymore.", "WORKS_AT", "Acme Corp", None),
        ("I used to live in Paris.", "LIVES_IN", "Paris", None),
        ("I moved out of Berlin two weeks ago.", "LIVES_IN", "Berlin", ms(2023, 5, 11)),
        ("I stopped playing tennis.", "PLAYS", "tennis", None),
        ("I sold my car last week.", "OWNS", "car", ms(2023, 5, 15)),
        ("I'm no longer vegetarian.", "IS", "vegetarian", None),
        ("I stopped smoking cigars.", "SMOKES", "cigars", None),
        ("I no longer like sailing.", "LIKES", "sailing", None),
    ],
)
def test_what_a_sentence_ends_is_the_relation_that_stops(
    text: str, relation: str, target: str, valid: int | None
) -> None:
    fact = say(text).fact(relation)
    assert (fact.source, fact.target, fact.polarity) == ("Bob", target, Polarity.ENDS)
    assert fact.valid_ms == valid
    assert fact.fact.startswith("Bob ")


def test_an_ending_and_a_beginning_in_one_sentence_are_two_facts() -> None:
    found = say("I left Acme Corp last month and joined Globex as a data scientist.")
    left, joined = found.fact("WORKS_AT", "Acme Corp"), found.fact("WORKS_AT", "Globex")
    assert (left.polarity, joined.polarity) == (Polarity.ENDS, Polarity.ASSERTS)
    assert left.fact == "Bob left Acme Corp last month (April 2023)."
    assert joined.fact == "Bob joined Globex as a data scientist."
    assert left.kind is joined.kind is FactKind.FUNCTIONAL


@pytest.mark.parametrize(
    ("text", "relation", "target"),
    [
        ("I don't like mushrooms.", "LIKES", "mushrooms"),
        ("I don't live in Rome.", "LIVES_IN", "Rome"),
        ("Carol is not the CEO of TechCorp.", "HAS_CEO", "Carol"),
    ],
)
def test_what_a_sentence_denies_names_the_relation_that_does_not_hold(
    text: str, relation: str, target: str
) -> None:
    fact = say(text).fact(relation, target)
    assert fact.polarity is Polarity.DENIES
    assert "not" in fact.fact.replace("n't", " not")


@pytest.mark.parametrize(
    "text",
    [
        "If I worked at Google, I would be rich.",
        "Maybe I work at Google next year.",
        "I would like to work at Google.",
        "I didn't leave Google.",
        "Do I still work at Google?",
        "I might join Google.",
    ],
)
def test_what_is_only_supposed_or_asked_states_no_employer(text: str) -> None:
    assert "WORKS_AT" not in {fact.name for fact in say(text).facts}


def test_the_third_person_is_the_latest_fitting_name_of_the_episode() -> None:
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


def test_a_pronoun_that_fits_nobody_stays() -> None:
    found = say("He lives in Boston with three cats.")
    assert "LIVES_IN" not in {fact.name for fact in found.facts}
    assert any("He lives in Boston" in fact.fact for fact in found.facts)


def test_a_pronoun_does_not_take_a_name_of_the_other_sex() -> None:
    found = say("I saw Alice at the office. He works for IBM.")
    assert ("WORKS_AT", "Alice", "IBM") not in found.triples


def test_you_is_the_other_one_when_two_talk() -> None:
    found = reply("You work at TechCorp.", "Bob", "Alice Chen")
    assert found.fact("WORKS_AT").fact == "Alice Chen works at TechCorp."


def test_you_is_nobody_when_three_talk() -> None:
    previous = [message("Hello!", "Alice"), message("Hi!", "Carol")]
    found = read(message("You work at TechCorp.", "Bob"), previous)
    assert "WORKS_AT" not in {fact.name for fact in found.facts}


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


def test_a_first_name_of_a_participant_becomes_the_full_name_in_words_too() -> None:
    previous = [message("Hello!", "Farida Osman"), message("Hi!", "Carol")]
    found = read(message("Farida lives in Boston.", "Bob"), previous)
    assert found.fact("LIVES_IN").fact == "Farida Osman lives in Boston."
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


@pytest.mark.parametrize(
    ("text", "triple"),
    [
        ("My boss is Carol Danvers.", ("HAS_BOSS", "Bob", "Carol Danvers")),
        ("Carol Danvers is my boss.", ("HAS_BOSS", "Bob", "Carol Danvers")),
        ("Carol is the CEO of TechCorp.", ("HAS_CEO", "TechCorp", "Carol")),
        ("The capital of France is Paris.", ("HAS_CAPITAL", "France", "Paris")),
        ("My favorite color is blue.", ("HAS_FAVORITE_COLOR", "Bob", "blue")),
        ("My name is Dana.", ("HAS_NAME", "Bob", "Dana")),
    ],
)
def test_roles_go_from_their_owner_to_whoever_has_them_one_at_a_time(
    text: str, triple: tuple[str, str, str]
) -> None:
    fact = say(text).fact(triple[0])
    assert fact.triple == triple
    assert fact.kind is FactKind.FUNCTIONAL


def test_a_relative_with_a_name_is_told_beside_what_the_sentence_states() -> None:
    found = say("I moved to Munich two weeks ago with my wife Anna.")
    assert {("HAS_WIFE", "Bob", "Anna"), ("LIVES_IN", "Bob", "Munich")} <= found.triples
    assert found.fact("LIVES_IN").valid_ms == ms(2023, 5, 11)


@pytest.mark.parametrize(
    ("text", "triples"),
    [
        ("I like tea and coffee.", {("LIKES", "Bob", "tea"), ("LIKES", "Bob", "coffee")}),
        ("I'm vegetarian and allergic to peanuts.", {("ALLERGIC_TO", "Bob", "peanuts")}),
        ("I got married to Anna in May 2020.", {("MARRIED_TO", "Bob", "Anna")}),
        ("TechCorp hired Dana.", {("WORKS_AT", "Dana", "TechCorp")}),
        ("Dana was hired by TechCorp.", {("WORKS_AT", "Dana", "TechCorp")}),
        ("i work at google", {("WORKS_AT", "Bob", "Google")}),
        ("I bought a Tesla yesterday.", {("BOUGHT", "Bob", "Tesla")}),
        ("I painted a lake last year.", {("PAINTS", "Bob", "lake")}),
        ("Went to Paris yesterday.", {("WENT_TO", "Bob", "Paris")}),
        ("[shares a photo of a red bicycle]", {("SHARED", "Bob", "red bicycle")}),
        ("I like hiking in the Alps.", {("LIKES", "Bob", "hiking")}),
        ("I'm an engineer at Initech.", {("IS_A", "Bob", "engineer"), ("WORKS_AT", "Bob", "Initech")}),
    ],
)
def test_everyday_sentences(text: str, triples: set[tuple[str, str, str]]) -> None:
    assert triples <= say(text).triples


def test_an_event_is_never_superseded_and_has_no_beginning_unless_stated() -> None:
    fact = say("I bought a Tesla.").fact("BOUGHT")
    assert (fact.kind, fact.valid_ms) == (FactKind.EVENT, None)
    assert say("I bought a Tesla yesterday.").fact("BOUGHT").valid_ms == ms(2023, 5, 24)


def test_a_state_in_the_past_says_nothing_of_today() -> None:
    fact = say("I lived in Rome.").fact("LIVES_IN")
    assert (fact.kind, fact.valid_ms) == (FactKind.EVENT, None)


def test_a_state_over_a_stated_range_is_closed() -> None:
    fact = say("I worked at Hooli from 2015 to 2018.").fact("WORKS_AT")
    assert (fact.kind, fact.valid_ms, fact.invalid_ms) == (FactKind.FUNCTIONAL, ms(2015), ms(2019))


def test_a_state_to_come_is_planned_now_and_valid_then() -> None:
    found = say("I'm joining Initech next month.")
    assert found.fact("WORKS_AT").valid_ms == ms(2023, 6)
    assert found.fact("PLANS").valid_ms is None


def test_a_sentence_that_fits_no_pattern_is_kept_from_its_speaker_with_its_words() -> None:
    found = say("What an unforgettable week with Carol in the mountains!")
    (fact,) = found.facts
    assert (fact.name, fact.source, fact.target, fact.kind) == ("SAID", "Bob", "Carol", FactKind.EVENT)
    assert fact.fact.startswith("Bob said: ")
    assert "unforgettable week with Carol in the mountains" in fact.fact


def test_a_sentence_that_names_nothing_is_about_its_topic() -> None:
    (fact,) = say("Painting is such a relaxing creative outlet.").facts
    assert (fact.source, fact.target) == ("Bob", "relaxing creative outlet")


def test_a_question_is_kept_as_a_question() -> None:
    (fact,) = reply("Do you still like kickboxing classes?").facts
    assert (fact.name, fact.fact) == ("ASKED", "Bob asked: Do you still like kickboxing classes?")


def test_slight_sentences_make_one_fact_together_and_greetings_none() -> None:
    assert not reply("Hey Alice! Good to see you!").facts
    (fact,) = reply("Thanks, Alice! Painting it was tough. Glad you like.").facts
    assert "Painting it was tough" in fact.fact


@pytest.mark.parametrize(
    "word", ["Hey", "Wow", "Thanks", "She", "It", "Monday", "January", "The", "Kids", "Awesome"]
)
def test_greetings_pronouns_dates_and_ordinary_words_are_no_entities(word: str) -> None:
    found = say(f"{word}, I visited Rome. {word} was great, and I saw the Colosseum on Monday in January.")
    assert word.lower() not in {name.lower() for name in found.types}


def test_facts_read_alone() -> None:
    found = reply("I love my job, and I've been working with my brother Tom on our farm since 2019.", "Ann")
    for fact in found.facts:
        assert " my " not in f" {fact.fact.lower()} "
        assert " i " not in f" {fact.fact.lower()} "
        assert fact.fact[0].isupper()
        assert fact.fact.endswith(".")


def test_relative_times_carry_their_date_in_words() -> None:
    assert say("I ran a marathon last Saturday.").facts[0].fact == (
        "Bob ran a marathon last Saturday (20 May 2023)."
    )
