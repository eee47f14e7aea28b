"""Where a name begins and ends in a sentence."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgsvc.models.rules.names import find_names
from kgsvc.models.rules.text import words_of

WORDS = ["A", "I", ".", "the", "The", "Great", "Tom", "of", "Spain", "War", "P", "NDA", ",", "was", "Mrs"]


@pytest.mark.parametrize(
    ("sentence", "names"),
    [
        ("It was written by José A. Ferreyra.", ["José A. Ferreyra"]),
        ("It was written by John A. Smith and John F. Kennedy.", ["John A. Smith", "John F. Kennedy"]),
        ("A. A. Milne met T. S. Eliot.", ["A. A. Milne", "T. S. Eliot"]),
        ("E. V. V. Satyanarayana directed it.", ["E. V. V. Satyanarayana"]),
        ("I gave it to José A. Then he left.", ["José"]),
        ("He got an A. Then Bob left.", ["Bob"]),
        ("She met Charles I of Spain.", ["Charles I of Spain"]),
        ("Bob I of course trust.", ["Bob"]),
        ("I told Ann the Monday plan.", ["Ann"]),
        ("I read Lily the Great Gatsby.", ["Lily", "Gatsby"]),
        ("I told Tom the Same thing.", ["Tom"]),
        ("I love Winnie The", ["Winnie"]),
        ("P. S. Tell Anna I said hi.", ["Anna"]),
        ("The bakery opens at 9 A. M. Bring cash.", []),
        ("I take Vitamin A. Anna takes iron.", ["Vitamin", "Anna"]),
        ("Call me Tom A. Anna calls me that.", ["Tom", "Anna"]),
        ("In World War I the Germans lost.", ["World War", "Germans"]),
        ("During World War I the Ottoman Empire fell.", ["World War", "Ottoman Empire"]),
        ("I gave Ann the NDA.", ["Ann", "NDA"]),
    ],
)
def test_names_of_a_sentence(sentence: str, names: list[str]) -> None:
    assert [name.text for name in find_names(sentence, words_of(sentence))] == names


@pytest.mark.parametrize(
    ("sentence", "names"),
    [
        ("It was said by the Campaign Director that day.", []),
        ("It went to the Chair of the BIS Committee in May.", ["BIS Committee"]),
        (
            "It was Ida Holm, President of the Upper Mill Union, who wrote it.",
            ["Ida Holm", "Upper Mill Union"],
        ),
    ],
)
def test_a_document_calls_what_somebody_is_no_name(sentence: str, names: list[str]) -> None:
    assert [name.text for name in find_names(sentence, words_of(sentence), strict=True)] == names


@given(st.lists(st.sampled_from(WORDS), max_size=9))
def test_any_words_have_names_that_are_among_them(parts: list[str]) -> None:
    sentence = " ".join(parts)
    words = words_of(sentence)
    names = find_names(sentence, words)
    assert all(0 <= name.first < name.after <= len(words) for name in names)
    assert all(one.after <= next_one.first for one, next_one in pairwise(names))


@pytest.mark.parametrize(
    ("sentence", "names"),
    [
        # the marks of notes, and names that have a number of their own
        ("383 McGahn recalled what was said to Ida Holm.", ["McGahn", "Ida Holm"]),
        ("Phone383 was given to Ida Holm in October27 of that year.", ["Ida Holm"]),
        ("It runs on GPT4 and on Mill 3.4, as Ida Holm says.", ["GPT4", "Mill 3.4", "Ida Holm"]),
        # what somebody is
        ("The Sheriff, the Attorney General and an Ambassador met Ida Holm.", ["Ida Holm"]),
        ("The late Bishop of Alder met Ida Holm.", ["Alder", "Ida Holm"]),
        # adjectives
        ("The Sudanese troops met a Platonic friend of Ida Holm.", ["Ida Holm"]),
        ("She became a Methodist, and Ida Holm met a Midwestern farmer.", ["Ida Holm"]),
        # single words behind articles
        ("He played the Adagio at the foot of the Monolithe, and Ida Holm the NDA.", ["Ida Holm", "NDA"]),
        # what is behind tells what it is
        ("The budget of the Payments project was told to the French team.", ["Payments"]),
        # references
        ("As held in 98 F.2d 12 and in U.S. 602, it was told by Ida Holm.", ["U.S.", "Ida Holm"]),
        # parts of names, and two names in one
        ("It is told in The First Circle and by Ida Holm.", ["Ida Holm"]),
        ("It was the Mill Fraud and Abuse Act that Ida Holm wrote.", ["Ida Holm"]),
        ("It is sent to Holm & Dahl in the town, not to Holm & Sons.", ["Holm & Sons"]),
        ("The Alder-Holm story was read at the Candidate Ida Holm News Conference.", []),
        ("They fought at the Battle of Moore's Creek, on Valentine's Day.", []),
        ("It was taught by Mr. Dahl of the Mill Union in the town.", ["Mr. Dahl", "Mill Union"]),
    ],
)
def test_a_document_names_what_is_surely_one_whole_name(sentence: str, names: list[str]) -> None:
    assert [name.text for name in find_names(sentence, words_of(sentence), strict=True)] == names
