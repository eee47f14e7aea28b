"""Where a name begins and ends in a sentence."""

import pytest

from kgsvc.models.rules.names import find_names
from kgsvc.models.rules.text import words_of


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
        ("I gave Ann the NDA.", ["Ann", "NDA"]),
    ],
)
def test_names_of_a_sentence(sentence: str, names: list[str]) -> None:
    assert [name.text for name in find_names(sentence, words_of(sentence))] == names
