"""The extractor on articles, notes and reports: nobody speaks, the title is the subject."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from kgsvc.domain.model.graph import FactKind, Source
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

_CODE = "Common Signal Code for Information Exchange"


def test_what_claims_nothing_is_kept_about_the_subject_with_its_words() -> None:
    facts = read(text_episode(DIRECTOR)).facts
    words = [fact for fact in facts if fact.name == "MENTIONED_WITH"]
    assert {fact.source for fact in words} == {"Ana Torv"}  # she wrote none of it
    kept = " ".join(fact.fact.removeprefix("Ana Torv: ") for fact in words)
    assert kept == DIRECTOR.removeprefix("Ana Torv. ")


def test_births_and_deaths_stand_beside_the_words_with_their_days() -> None:
    found = read(text_episode(DIRECTOR))
    born, died = found.fact("BORN_ON"), found.fact("DIED_ON")
    assert born.fact == "The Danish film director and screenwriter Ana Torv was born on 2 November 1932."
    assert (born.source, born.target, born.kind) == ("Ana Torv", "Ana Torv", FactKind.EVENT)
    assert died.valid_ms == int(datetime(1987, 10, 21, tzinfo=UTC).timestamp() * 1000)


@pytest.mark.parametrize(
    ("text", "triples"),
    [
        (
            "The Man of the House. The Man of the House is a 1995 film directed by Jack Hill.",
            {("DIRECTED", "Jack Hill", "The Man of the House")},
        ),
        (
            "Far Away. Far Away (German: Weit) is a 1931 film written by Lena Park and directed by Ana Torv.",
            {("WROTE", "Lena Park", "Far Away"), ("DIRECTED", "Ana Torv", "Far Away")},
        ),
        ("Salt Road. Salt Road is a 1950 film based on a novel written by Lena Park.", set()),
        ("Salt Road. Salt Road is a film about Ann Lee, who was married to Bo Dean.", set()),
        ("Ed Hall (born 1966 in Oslo) is a Norwegian painter.", {("BORN_IN", "Ed Hall", "Oslo")}),
        (
            "Bright Press is a literary press founded in 2001 by Ann Lee.",
            {("FOUNDED", "Ann Lee", "Bright Press")},
        ),
    ],
)
def test_an_article_says_several_things_of_its_subject(text: str, triples: set[tuple[str, str, str]]) -> None:
    told = {each for each in read(text_episode(text)).triples if not each[0].startswith("MENTIONED")}
    assert {each for each in told if each[0] not in ("BORN_ON", "DIED_ON")} == triples


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
    hours = "The bakery opens at six. Bread is sold out by ten."
    body = f"{hours}\n\n## Parking\n\nThe yard behind the mill is free."
    assert [fact.fact for fact in read(text_episode(body, name="Opening hours")).facts] == [
        hours,
        "Parking: The yard behind the mill is free.",
    ]


def test_lines_that_only_draw_are_no_words() -> None:
    body = "# Staff\n\n| Name | Desk |\n|---|:--|\n| Ann Berg | 12 |\n\n```sh\nmake deploy\n```\n"
    told = " ".join(fact.fact for fact in read(text_episode(body, name="Desks")).facts)
    assert "Staff: | Name | Desk |" in told
    assert "Ann Berg" in told
    assert "make deploy" in told
    assert "--" not in told
    assert "```" not in told


def test_what_nobody_names_belongs_to_its_own_beginning() -> None:
    found = read(text_episode("The staging API runs on port 8080."))
    assert set(found.types) == {"staging API"}
    assert found.facts[0].fact == "The staging API runs on port 8080."


CELLS = """Alder Works runs three mills in Norway, and Ida Holm leads it.

| Founders | Ida Holm Per Dahl | Board |
|---|---|---|
| Print Date | 12/15/2024 | is Foray |

Founders Ida Holm Per Dahl Board

BOOKING ORDER Print Date 12/15/2024 14:30:22

v t e Norway Mills Bergen Oslo Works Alder Holm; Rivers Glomma Otra

^ Holm, Ida (2011). "Mills of the North". Oslo: Dahl Press. Retrieved 16 November 2016.

```python
from Foray import Founders  # The Board has a Foray
```
"""


def test_only_what_stands_in_a_sentence_is_a_name() -> None:
    found = read(text_episode(CELLS, Source.DOCUMENT, name="Mills"))
    assert set(found.types) == {"Mills", "Alder Works", "Norway", "Ida Holm"}
    kept = " ".join(fact.fact for fact in found.facts)
    assert {"Board", "Foray", "BOOKING", "Glomma", "Press."} <= set(kept.replace("|", " ").split())


@pytest.mark.parametrize(
    ("sentence", "names"),
    [
        ("The key is made as Section 4.2, “Making Keys for Alder Works” tells.", set()),
        ("More is told in Chapter 7, Mending Pumps and Finding Leaks of old mills.", set()),
        ("Two Project Leaders were elected by Alder Works.", {"Alder Works"}),
        ("It is kept on the server, see the sidebar TOOL Gitea on mirrors.", {"Gitea"}),
        ("You can write to nobody@bugs.example or to Alder Works.", {"Alder Works"}),
        ("We return to this in A.3.2 and ask Alder Works.", {"Alder Works"}),
        ("6 Best Practices 63 6.1 Tools for Alder Works are listed.", set()),
        ("We thank Steve Kemp of Alder Works.", {"Steve Kemp", "Alder Works"}),
        ("She was the daughter of Maria Antonia of Spain.", {"Maria Antonia of Spain"}),
        ("It calls the method xOpen of Alder Works.", {"xOpen of Alder Works"}),
        ("It was read by American Adam Lund and L. Susan Brown.", {"Adam Lund", "L. Susan Brown"}),
        ("They can be loaded in R. First choose a mirror of Alder Works.", {"Alder Works"}),
    ],
)
def test_what_refers_to_another_place_or_labels_it_is_no_name(sentence: str, names: set[str]) -> None:
    found = read(text_episode(f"{sentence} It was left so.", Source.DOCUMENT, name="Mills"))
    assert set(found.types) == {"Mills"} | names


def test_a_text_is_from_a_document_unless_an_author_is_named() -> None:
    for name, kind in (
        ("The Embedded Reader", "Document"),
        ("Martin B. Holm", "Person"),
        ("Sunniva Holm", "Entity"),  # may be either: no type keeps her apart from the person she is elsewhere
    ):
        assert read(text_episode("All mills stood still.", name=name)).types == {name: kind}


def test_a_text_that_names_nothing_is_one_thing_called_by_its_first_words() -> None:
    cells = "| Colour | Weight |\n|---|---|\n| red | heavy |\n\nhome about contact privacy\n\nIt was left."
    facts = read(text_episode(cells)).facts
    assert {(fact.source, fact.target) for fact in facts} == {("Colour", "Colour")}
    assert len(facts) > 1


def test_german_nouns_are_no_names() -> None:
    text = (
        "Die Arbeit an der Mühle begann im März. Ida Holm hat den Bau geleitet, und sie wurde von Ole Lund in"
        " Bergen beraten. Viele Pläne der Mühle und alle Zeichnungen wurden nach Oslo gebracht. Das ist die"
        " Veröffentlichung von Plänen, die der Gemeinde gehört."
    )
    found = read(text_episode(text, Source.DOCUMENT, name="Mills"))
    assert set(found.types) - {"Mills"} == {"Ida Holm", "Ole Lund", "Bergen", "Oslo"}


def test_katakana_words_of_a_document_are_no_names_unless_a_dot_joins_them() -> None:
    text = "イーダ・ホルムはサーバとアーカイブを全部直した。"
    assert set(read(text_episode(text, Source.DOCUMENT, name="Mills")).types) == {"Mills", "イーダ・ホルム"}


def test_a_program_that_is_called_a_client_is_nobody() -> None:
    found = read(text_episode("Quill. Quill is a small mail client, which Ida Holm wrote.", name="Quill"))
    assert found.types["Quill"] != "Person"


def test_a_chapter_that_lists_the_others_is_no_source() -> None:
    for name in ("Mills › Table of Contents › 1 Wheels . . 3", "Mills › Concept index › A"):
        assert read(text_episode("All mills stood still.", name=name)).types == {"Mills": "Document"}


def test_a_genitive_is_no_verb() -> None:
    text = "Acme's founder and author of the Alder License, Ida Holm, is a well known leader."
    relations = {fact.name for fact in read(text_episode(text, Source.DOCUMENT, name="Mills")).facts}
    assert relations <= {"MENTIONED", "MENTIONED_WITH"}


def test_the_followers_of_an_idea_are_no_names_before_a_noun() -> None:
    text = "Most Individualist groups and the Communist press of Ida Holm support it."
    assert set(read(text_episode(text, Source.DOCUMENT, name="Mills")).types) == {"Mills", "Ida Holm"}


def test_a_title_of_honour_before_the_name_is_no_part_of_a_texts_title() -> None:
    found = read(
        text_episode("Ole Lund. The Hon. Ole Lund (15 May 1846 – 26 November 1883) was a son of Ida.")
    )
    assert "Ole Lund" in found.types
    assert "Ole Lund. The Hon" not in found.types


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Nobody knew why, but in Mutual Care Holm wrote of mutual care.", {"Holm"}),
        ("It was sold by the company Computer Help Center/Virus Rescue Center.", set()),
        ("It stands for the Common Signal Code for Information Exchange, as they say.", {_CODE}),
        ("She won the Service Award for Best Report in May.", {"Service Award for Best Report"}),
        ("They asked the Ministry of Trade and Ida Holm for help.", {"Ministry of Trade", "Ida Holm"}),
        ("The Police The Swedish police have an expert.", set()),
    ],
)
def test_two_names_side_by_side_are_not_one_and_none_is_cut(text: str, names: set[str]) -> None:
    found = read(text_episode(text, Source.DOCUMENT, name="Mills"))
    assert set(found.types) - {"Mills"} == names


@pytest.mark.parametrize(
    "text",
    [
        "It is a note to the 1885 edition of Holm's 1850 article which shows the fault.",
        'Here, the Millers Union had joined the Whigs and Liberals in a "Workers League".',
        "The Left-Millers joined the Whigs and Right-Millers in being made illegal.",
        "The Alder Committee had been arrested and the representative of the Mill Committee .",
        "Later, Ida Holm reported to the Ninth Congress of Millers on 26 December 1921, that they left.",
    ],
)
def test_what_is_done_once_or_belongs_to_another_noun_is_no_state(text: str) -> None:
    relations = {fact.name for fact in read(text_episode(text, Source.DOCUMENT, name="Mills")).facts}
    assert relations <= {"MENTIONED", "MENTIONED_WITH"}


def test_two_letters_before_a_colon_are_no_attribute() -> None:
    facts = read(text_episode("Mills. Mills are old.\n\nES: la\nOwner: Ida Holm")).facts
    assert {fact.name for fact in facts} & {"HAS_ES", "HAS_OWNER"} == {"HAS_OWNER"}
