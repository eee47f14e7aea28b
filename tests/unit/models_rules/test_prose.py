"""The extractor on articles, notes and reports: nobody speaks, the title is the subject."""

from __future__ import annotations

import pytest

from kgsvc.domain.model.graph import Source
from tests.unit.models_rules.support import NOW, read, text_episode

DIRECTOR = (
    "Ana Torv. Ana Maria Torv (2 November 1932 – 21 October 1987) was a Danish film director and "
    "screenwriter. She directed 20 films between 1962 and 1987."
)
FILM = (
    "Night Boat (2013 film). Night Boat is a 2013 Australian action film directed by Ana Torv and starring "
    "Tim Pocock. It was released in Romania on 24 August 1972. The film was written by Lena Park."
)
_CODE = "Common Signal Code for Information Exchange"


def test_what_claims_nothing_is_kept_about_the_subject_with_its_words() -> None:
    facts = read(text_episode(DIRECTOR)).facts
    words = [fact for fact in facts if fact.name == "MENTIONED_WITH"]
    assert {fact.source for fact in words} == {"Ana Torv"}  # she wrote none of it
    kept = " ".join(fact.fact.removeprefix("Ana Torv: ") for fact in words)
    assert kept == DIRECTOR.removeprefix("Ana Torv. ")


def test_a_title_is_an_entity_and_its_short_form_means_it() -> None:
    found = read(text_episode(FILM))
    title = "Night Boat (2013 film)"
    assert found.types[title] == "Work"
    assert "Night Boat" not in found.types


def test_no_word_of_an_article_is_lost() -> None:
    kept = " ".join(fact.fact for fact in read(text_episode(FILM)).facts)
    assert set(FILM.split()) <= set(
        kept.replace("Night Boat (2013 film):", "Night Boat (2013 film).").split()
    )


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
        ("They were steered by Ida Holm/Ole Lund/Anna Dahl on the river.", {"Anna Dahl"}),
        ("It is told by the Foundation for Mill Workers.", {"Foundation for Mill Workers"}),
        ("Ida Holm Ida is the keeper of the mill in Bergen.", {"Bergen", "Ida"}),
        ("It was told by M.K. Holm in Bergen.", {"M.K. Holm", "Bergen"}),
        ("Holm, 190, 191. Lund V. Life of Dahl, 19 (note), 77 (note). It was so.", set()),
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


@pytest.mark.parametrize(
    "text",
    [
        "According to Ida Holm, Ole Lund founded Alder Works.",
        'Nobody asked. "Ole Lund founded Alder Works," said Ida Holm.',
        "Ole Lund founded Alder Works in 1900, if Ida Holm is right.",
        "Ole Lund allegedly founded Alder Works.",
        "Ole Lund nearly joined Alder Works.",
        "In the film, Ole Lund marries Ida Holm.",
        "Ole Lund is a former editor of Mill Notes.",
        "Ole Lund is vice president of Alder Works.",
        "ALW went to the Mill Court to get an injunction.",
        "Ole Lund left Alder with a large fleet.",
        "The board of ALW wants a larger role, and ALW needs a new mill.",
        "Mills. Mills are old. In ten years the population of Alder increased 50 per cent.",
        "Ida Holm and Ole Lund met Anna Dahl. At last he went to Oslo.",
        "Ole Lund was married to a Dwarf, the daughter of a king, so runs the old Norse legend.",
        "Ole Lund wrote the Mass in C for him.",
        "The prints for the Book of the Mill of St. Ole (a.k.a. Wheel) are good.",
        "Every one has his peculiar Dwarf, whom they call Ole.",
        "Ole Lund was a student at Alder and left it in 1975.",
        "Ole Lund is hired by Henrik Dahl to mend the mill.",
        "The trial at eight of Alder Works's outlets has been extended for a second time, until May.",
        "Ole Lund will be at Alder College for Millcon 30 on Saturday.",
        "Mills. A guide to mills is at Mill Python on Alder: 7 minutes.",
    ],
)
def test_what_a_text_does_not_plainly_assert_is_no_relation(text: str) -> None:
    relations = {fact.name for fact in read(text_episode(text, Source.DOCUMENT, name="Notes")).facts}
    assert relations <= {"MENTIONED", "MENTIONED_WITH"}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("RFC 9110 was written by Ida Holm.", {"RFC 9110", "Ida Holm"}),
        ("Apollo 11 landed near Bergen.", {"Apollo 11", "Bergen"}),
        ("It runs on Mill 3.4 and on Kestrel 10 in Bergen.", {"Mill 3.4", "Kestrel 10", "Bergen"}),
        ("It was seen by Ida Holm in Section 3 and in Vol 1 of it.", {"Ida Holm"}),
    ],
)
def test_a_number_belongs_to_the_name_before_it(text: str, names: set[str]) -> None:
    found = read(text_episode(f"{text} It was left so.", Source.DOCUMENT, name="Notes"))
    assert set(found.types) == {"Notes"} | names
