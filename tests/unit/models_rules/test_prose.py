"""The extractor on articles, notes and reports: nobody speaks, the title is the subject."""

from __future__ import annotations

import pytest

from kgsvc.domain.model.graph import FactKind
from tests.unit.models_rules.support import NOW, read, text_episode

DIRECTOR = (
    "Ana Torv. Ana Maria Torv (2 November 1932 – 21 October 1987) was a Danish film director and "
    "screenwriter. She directed 20 films between 1962 and 1987."
)
FILM = (
    "Night Boat (2013 film). Night Boat is a 2013 Australian action film directed by Ana Torv and starring "
    "Tim Pocock. It was released in Romania on 24 August 1972. The film was written by Lena Park."
)
NOTE = (
    "# Project Atlas\n\nOwner: Maria Lopez\nStatus: active\n\nThe project migrates billing to Kubernetes. "
    "Tom Baker works on the API. It depends on Vault."
)


def test_what_claims_nothing_is_kept_about_the_subject_with_its_words() -> None:
    (fact,) = read(text_episode(DIRECTOR)).facts
    assert (fact.name, fact.source) == ("MENTIONED_WITH", "Ana Torv")  # she wrote none of it
    assert fact.fact == f"Ana Torv: {DIRECTOR.removeprefix('Ana Torv. ')}"


def test_a_title_is_an_entity_and_its_short_form_means_it() -> None:
    found = read(text_episode(FILM))
    title = "Night Boat (2013 film)"
    assert found.types[title] == "Work"
    assert {
        ("DIRECTED", "Ana Torv", title),
        ("STARS_IN", "Tim Pocock", title),
        ("WROTE", "Lena Park", title),
    } <= found.triples
    assert "Night Boat" not in found.types


def test_no_word_of_an_article_is_lost() -> None:
    kept = " ".join(fact.fact for fact in read(text_episode(FILM)).facts)
    assert set(FILM.split()) <= set(
        kept.replace("Night Boat (2013 film):", "Night Boat (2013 film).").split()
    )


def test_fields_of_a_note_are_facts_about_its_subject() -> None:
    found = read(text_episode(NOTE))
    owner = found.fact("HAS_OWNER")
    assert (owner.triple, owner.kind) == (("HAS_OWNER", "Project Atlas", "Maria Lopez"), FactKind.FUNCTIONAL)
    assert found.fact("HAS_STATUS").fact == "Project Atlas's status is active."


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


def test_a_text_without_a_title_is_from_its_source() -> None:
    found = read(text_episode("The bakery opens at six. Bread is sold out by ten.", name="Opening hours"))
    (fact,) = found.facts
    assert fact.source == "Opening hours"
    assert fact.fact == "The bakery opens at six. Bread is sold out by ten."


def test_present_states_hold_from_the_reference_time() -> None:
    assert read(text_episode("Tom Baker lives in Oslo.")).fact("LIVES_IN").valid_ms == NOW


def test_of_four_hundred_sentences_none_is_lost() -> None:
    body = " ".join(f"Station {n} counted {n * 7} herons at dawn." for n in range(400))
    kept = " ".join(fact.fact for fact in read(text_episode(body)).facts)
    assert all(f"Station {n} counted {n * 7} herons" in kept for n in range(400))


def test_what_stands_in_two_paragraphs_is_not_kept_as_one_but_a_heading_is_kept_with_its_text() -> None:
    body = "The bakery opens at six. Bread is sold out by ten.\n\n## Parking\n\nThe yard behind the mill is free."
    assert [fact.fact for fact in read(text_episode(body, name="Opening hours")).facts] == [
        "The bakery opens at six. Bread is sold out by ten.",
        "Parking The yard behind the mill is free.",
    ]
