"""The extractor on articles, notes and reports: nobody speaks, the title is the subject."""

from __future__ import annotations

from dataclasses import replace

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


def test_a_title_is_no_subject_of_parts_that_have_titles_of_their_own() -> None:
    body = "# Acme\n\nAcme is a bakery.\n\n# Globex\n\nThe company was sold in May.\n"
    found = read(text_episode(body))
    sold = [fact for fact in found.facts if "sold" in fact.fact]
    assert [fact.source for fact in sold if fact.source == "Acme"] == []
    assert all("Acme" not in fact.fact for fact in sold)


def test_a_question_is_no_name_of_what_a_text_is_about() -> None:
    found = read(text_episode("# Who Founded Acme?\n\nIt was a long story, told by many.\n"))
    assert "Who Founded Acme?" not in found.types


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
        ("It calls the method xOpen of Alder Works.", {"Alder Works"}),
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


def test_the_entries_of_a_list_stay_apart_in_one_fact() -> None:
    found = read(text_episode("- branch: main\n- python: 3.12\n- never commit to main directly"))
    (fact,) = found.facts
    assert fact.fact == "branch: main; python: 3.12; never commit to main directly"


def test_a_list_of_entries_is_called_by_the_first() -> None:
    found = read(text_episode("- repo: acme/payments\n- branch: main\n- python: 3.12"))
    assert [(fact.fact, fact.source) for fact in found.facts] == [
        ("repo: acme/payments; branch: main; python: 3.12", "repo: acme/payments")
    ]


def test_german_nouns_are_no_names() -> None:
    text = (
        "Die Arbeit an der Mühle begann im März. Ida Holm hat den Bau geleitet, und sie wurde von Ole Lund in"
        " Bergen beraten. Viele Pläne der Mühle und alle Zeichnungen wurden nach Oslo gebracht. Das ist die"
        " Veröffentlichung von Plänen, die der Gemeinde gehört."
    )
    found = read(text_episode(text, Source.DOCUMENT, name="Mills"))
    assert set(found.types) - {"Mills"} == {"Ida Holm", "Oslo"}


def test_katakana_words_of_a_document_are_no_names_unless_a_dot_joins_them() -> None:
    text = "イーダ・ホルムはサーバとアーカイブを全部直した。"
    assert set(read(text_episode(text, Source.DOCUMENT, name="Mills")).types) == {"Mills", "イーダ・ホルム"}


def test_a_program_that_is_called_a_client_is_nobody() -> None:
    found = read(text_episode("Quill. Quill is a small mail client, which Ida Holm wrote.", name="Quill"))
    assert found.types["Quill"] != "Person"


def test_a_chapter_that_lists_the_others_is_no_source() -> None:
    for path in ("Mills › Table of Contents › 1 Wheels . . 3", "Mills › Concept index › A"):
        chunk = replace(text_episode("All mills stood still.", Source.DOCUMENT), source_description=path)
        assert read(chunk).types == {"Mills": "Document"}


def test_a_chunk_is_kept_with_the_headings_above_it() -> None:
    chunk = replace(
        text_episode("All of them stood still.", Source.DOCUMENT, name="Mills"),
        source_description="Mills › Mills › Wheels › In winter",
    )
    assert [fact.fact for fact in read(chunk).facts] == ["Wheels: In winter: All of them stood still."]


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
        ("Nobody knew why, but in Mutual Care Holm wrote of mutual care.", set()),
        ("It was sold by the company Computer Help Center/Virus Rescue Center.", set()),
        ("It stands for the Common Signal Code for Information Exchange, as they say.", {_CODE}),
        ("They were steered by Ida Holm/Ole Lund/Anna Dahl on the river.", set()),
        ("It is told by the Foundation for Mill Workers.", {"Foundation for Mill Workers"}),
        ("Ida Holm Ida is the keeper of the mill in Bergen.", {"Bergen"}),
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
        "A large proportion of Alder's 2,000-plus mills are old.",
        "He went to Alder, which led him to call Ole.",
        "Ole Lund wrote Alder and directed Dahl.",
        "The Mill Council reported to Ole Lund that the wheel stood still.",
        "The old Sherries and Brandviks went to Oslo, where they were sold.",
        "Brandvik is a mill. After that he moved to Oslo.",
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


_LONG = " ".join(f"The wheel of the mill was mended in year {n}." for n in range(12))


@pytest.mark.parametrize(
    ("text", "names"),
    [
        # a single word counts where a place or somebody stands, or where it is used so twice
        ("It was made in Quillfort. Then Brandvik wrote about it.", {"Quillfort", "Brandvik"}),
        ("They spoke of Brandvik. Nobody had asked Brandvik, who left.", {"Brandvik"}),
        ("They spoke of Brandvik.", set()),
        ("Theory is a good horse.", set()),
        ("It was told by Ole Lund. Brandvik was old, and the men feared Brandvik.", {"Ole Lund", "Brandvik"}),
        # not before a noun, nor behind an article, an adjective or a genitive
        (
            "The Brandvik photographs and his Brandvik of the King's Brandvik, an ultimate Brandvik, stood.",
            set(),
        ),
        # abbreviations of a kind, degrees, numbers of plates
        ("It is kept as a PDF. The PDF is in Bergen, and the gross mill product (GMP) too.", {"Bergen"}),
        ("Ole Lund, Esq., M.D., wrote of it on Plate III and in Chapter IV.", {"Ole Lund"}),
        ("Those who met Ole Lund (see Plate XI) left in year 3.", {"Ole Lund"}),
        # glosses, words of other languages, titles in quotes
        ("It is called Vannhjul (water wheel) in Bergen.", {"Bergen"}),
        ("The man with the scythe (Ljaamann) met Ole Lund.", {"Ole Lund"}),
        ('He read it in "The Wheels of Bergen," which is old.', {"The Wheels of Bergen"}),
        ('They cried "Give the wheel to Bergen at once," and left.', set()),
        # saints, initials, ranks
        ("They met in the Church of St. Olav in Bergen.", {"Church of St. Olav", "Bergen"}),
        ("It was told by Captain Ole A. White, not by the Duke of Alder.", {"Captain Ole A. White"}),
        # names in a row, parts of names
        ("It was told that President of Norway Ole Lund had left.", set()),
        ("On the Hearth Mrs. Brandvik asks Ole Lund.", {"Ole Lund"}),
        ("They asked Ole Lund Ida Holm of it.", set()),
        ("They live at Mill Street New York now.", set()),
        ("They asked the Ministry for Mills and Heritage in Bergen.", {"Bergen"}),
        ("They sing of Te Vaka o Aoraki in Bergen.", {"Bergen"}),
        # what a preposition or "and" joins to a name, what the end of a line cuts
        ("It is told in the Alder Convention on the Control of Old Mills.", {"Alder Convention"}),
        ("She works for the Directorate of Mill Services in Bergen.", {"Bergen"}),
        ("The Wheel and Mill Commission for Western Asia met in Bergen.", {"Bergen"}),
        ("In year 3 he left for the new mill of the Alder East Mill", set()),
        ("Ole-Brand Holm Dome is in Bergen.", {"Bergen"}),
        # roles, the first of several, people of a country, marks of notes
        ("ALW Ministers and a new ALW Member met Ole Lund.", {"Ole Lund"}),
        ("They asked Princes Ole and Knut in Bergen.", {"Bergen"}),
        ("The Danes and the Norwegians were in Bergen.", {"Bergen"}),
        ("Whilst Mr Brandvik slept, Ole Lund left.", {"Mr Brandvik", "Ole Lund"}),
        ("It was told by Knut Brandvik QC163 in Bergen.", {"Bergen"}),
        ("They met on the Brandvik Google+ page in Bergen.", {"Bergen"}),
        ("They met an old Brandvik Miller and any Foreign Mill Holder in Bergen.", {"Bergen"}),
        ("It was told, O Ida Holm, in Annexure D by Ole Lund.", {"Ida Holm", "Ole Lund"}),
        # kinds: with an article; charts and tables
        ("It has an Adagio. They play Adagio, Brandvik and Adagio in Bergen.", {"Bergen"}),
        ("He plays Gigue. It is the Gigue of the Gigue.", set()),
        ("It is in Chart 4.1, in Table A1.2, and was told by Ole Lund.", {"Ole Lund"}),
        ("It was so. 8.4 Method used by Ole Lund is old.", {"Ole Lund"}),
        ("Tunes—Wheels, Gavotte, and Brandvik—Old Songs—How they are sung—it was kept here.", set()),
    ],
)
def test_a_long_document_names_only_what_it_shows_to_be_a_name(text: str, names: set[str]) -> None:
    found = read(text_episode(f"{_LONG} {text}", Source.DOCUMENT, name="Mills"))
    assert set(found.types) - {"Mills"} == names


def test_a_link_is_its_text() -> None:
    text = (
        "Get the [wheel of Alder Works](https://alder.example/a_(1).tgz) from [the mirror][m], see"
        ' [![the plan](plan.png "Plan")](https://alder.example).[14][15] It runs in Oslo.'
    )
    told = " ".join(fact.fact for fact in read(text_episode(text, Source.DOCUMENT, name="Mills")).facts)
    assert told == "Get the wheel of Alder Works from the mirror, see the plan.[14][15] It runs in Oslo."


def test_a_block_of_code_is_one_fact_with_what_announces_it() -> None:
    body = (
        "## Mill\n\nIt turns.\n\nBuild it with:\n\n```sh\nmake wheel\n\nmake mill\n```\n\n~~~\nturn()\n~~~\n"
    )
    facts = [fact.fact for fact in read(text_episode(body, Source.DOCUMENT, name="Mills")).facts]
    assert facts == ["Mill: It turns. Build it with: `make wheel` `make mill`", "`turn()`"]


def test_a_heading_alone_is_no_fact() -> None:
    body = "It turns in Oslo.\n\n## Wheels of it\n\n### Old ones\n\n```\nturn()\n```\n\n## Notes on Wheels\n"
    facts = [fact.fact for fact in read(text_episode(body, Source.DOCUMENT, name="Mills")).facts]
    assert facts == ["It turns in Oslo.", "Wheels of it: Old ones: `turn()`"]


def test_who_joins_a_party_in_a_text_is_a_member_and_in_a_firm_works_there() -> None:
    text = "Ole Lund joined the Mill Party. Ida Holm joined Alder Corp."
    found = read(text_episode(text, Source.DOCUMENT, name="Mills")).triples
    assert {("MEMBER_OF", "Ole Lund", "Mill Party"), ("WORKS_AT", "Ida Holm", "Alder Corp")} <= found


def test_a_last_name_means_nobody_where_initials_tell_of_another() -> None:
    text = "A.O. Holm was a son of Joseph Holm. Holm settled in Oslo."
    found = read(text_episode(text, Source.DOCUMENT, name="Mills")).triples
    assert ("LIVES_IN", "Joseph Holm", "Oslo") not in found
    text = "J. Holm was old. They asked Joseph Holm. Holm settled in Oslo."
    found = read(text_episode(text, Source.DOCUMENT, name="Mills")).triples
    assert ("LIVES_IN", "Joseph Holm", "Oslo") in found
