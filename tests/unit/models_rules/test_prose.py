"""The extractor on articles, notes and reports: nobody speaks, the title is the subject."""

from __future__ import annotations

import pytest

from kgsvc.domain.model.graph import FactKind
from tests.unit.models_rules.support import NOW, ms, read, text_episode

DIRECTOR = (
    "Ana Torv. Ana Maria Torv (2 November 1932 – 21 October 1987) was a Danish film director and "
    "screenwriter. She directed 20 films between 1962 and 1987."
)
FILM = (
    "Night Boat (2013 film). Night Boat is a 2013 Australian action film directed by Ana Torv and starring "
    "Tim Pocock and Martin Copping. It was released in Romania on 24 August 1972. The film was written by "
    "Lena Park."
)
NOTE = (
    "# Project Atlas\n\nOwner: Maria Lopez\nStatus: active\n\nThe project migrates billing to Kubernetes. "
    "Tom Baker works on the API. It depends on Vault."
)


def test_dates_of_life_are_a_birth_and_a_death() -> None:
    found = read(text_episode(DIRECTOR))
    born, died = found.fact("BORN_ON"), found.fact("DIED_ON")
    assert (born.source, born.valid_ms) == ("Ana Torv", ms(1932, 11, 2))
    assert born.fact == "Ana Torv was born on 2 November 1932."
    assert (died.valid_ms, died.kind) == (ms(1987, 10, 21), FactKind.EVENT)


def test_the_first_sentence_tells_what_the_subject_is() -> None:
    found = read(text_episode(DIRECTOR))
    assert ("IS_A", "Ana Torv", "screenwriter") in found.triples
    assert found.types["Ana Torv"] == "Person"
    assert found.fact("IS_A", "screenwriter").valid_ms is None


def test_pronouns_mean_the_subject_of_the_article() -> None:
    fact = read(text_episode(DIRECTOR)).fact("DIRECTED")
    assert fact.fact == "Ana Torv directed 20 films between 1962 and 1987."


def test_a_title_is_an_entity_and_its_short_form_means_it() -> None:
    found = read(text_episode(FILM))
    title = "Night Boat (2013 film)"
    assert found.types[title] == "Work"
    assert {
        ("DIRECTED", "Ana Torv", title),
        ("STARS_IN", "Tim Pocock", title),
        ("STARS_IN", "Martin Copping", title),
        ("WROTE", "Lena Park", title),
    } <= found.triples
    assert "Night Boat" not in found.types


def test_what_was_done_to_one_thing_is_listed() -> None:
    told = "Night Boat (2013 film). Night Boat was directed by Ana Torv, written by Lena Park."
    title = "Night Boat (2013 film)"
    wanted = {("DIRECTED", "Ana Torv", title), ("WROTE", "Lena Park", title)}
    assert wanted <= read(text_episode(told)).triples


def test_each_of_several_facts_of_a_sentence_reads_alone() -> None:
    facts = read(text_episode(FILM)).facts
    for fact in facts:
        assert "Night Boat" in fact.fact
    assert len({fact.fact for fact in facts}) == len(facts)


def test_fields_of_a_note_are_facts_about_its_subject() -> None:
    found = read(text_episode(NOTE))
    owner = found.fact("HAS_OWNER")
    assert (owner.triple, owner.kind) == (("HAS_OWNER", "Project Atlas", "Maria Lopez"), FactKind.FUNCTIONAL)
    assert found.fact("HAS_STATUS").fact == "Project Atlas's status is active."


def test_it_and_the_project_mean_the_project_of_the_note() -> None:
    found = read(text_episode(NOTE))
    assert found.fact("MIGRATES").fact == "Project Atlas migrates billing to Kubernetes."
    assert found.fact("DEPENDS_ON").triple == ("DEPENDS_ON", "Project Atlas", "Vault")


def test_a_name_of_the_episode_in_the_text_is_its_title() -> None:
    episode = text_episode("The bakery opens at six. We all love Corner Bread.", name="Corner Bread")
    assert read(episode).types["Corner Bread"] == "Entity"


@pytest.mark.parametrize(
    ("text", "triple"),
    [
        ("Acme Corp is headquartered in Berlin.", ("LOCATED_IN", "Acme Corp", "Berlin")),
        ("Acme Corp acquired Globex.", ("ACQUIRED", "Acme Corp", "Globex")),
        ("Dana Smith founded Acme Corp in 2015.", ("FOUNDED", "Dana Smith", "Acme Corp")),
        ("Dana Smith was born in Warsaw in 1867.", ("BORN_IN", "Dana Smith", "Warsaw")),
        ("Dana Smith is a younger sister of Lena Park.", ("HAS_SISTER", "Lena Park", "Dana Smith")),
        ("Bob, who works at IBM, lives in Austin.", ("LIVES_IN", "Bob", "Austin")),
    ],
)
def test_plain_statements(text: str, triple: tuple[str, str, str]) -> None:
    assert triple in read(text_episode(text)).triples


def test_a_sentence_that_fits_no_pattern_is_kept_about_the_subject() -> None:
    found = read(
        text_episode("Ana Torv. Ana Torv lives in Oslo. No awards, though, from the Golden Bear jury.")
    )
    fact = found.fact("MENTIONED")
    assert fact.source == "Ana Torv"
    assert fact.fact.startswith("Ana Torv: ")
    assert "Golden Bear" in fact.fact


def test_a_text_in_another_script_does_no_harm() -> None:
    found = read(text_episode("東京に住んでいます。 Москва — столица России. ქართული 😀 عربى"))
    assert all(fact.source != fact.target for fact in found.facts)


def test_present_states_hold_from_the_reference_time() -> None:
    assert read(text_episode("Tom Baker lives in Oslo.")).fact("LIVES_IN").valid_ms == NOW
