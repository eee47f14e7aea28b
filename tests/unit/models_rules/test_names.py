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
        ("She met Charles I of Spain and Boris I the Tall.", ["Charles I of Spain", "Boris I the Tall"]),
        ("Bob I of course trust.", ["Bob"]),
        ("She met Peter the Great.", ["Peter the Great"]),
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
