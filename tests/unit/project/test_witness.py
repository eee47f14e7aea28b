"""The witness finds what was let out, however it was written down, and nothing else."""

import json

import pytest

from tests.support import witness

TEXT = 'Zoë said "the safe\tis green" and left the old mill.'
PIECES = set(witness._pieces(TEXT))


@pytest.mark.parametrize("written", [TEXT, json.dumps(TEXT), json.dumps(TEXT, ensure_ascii=False)])
@pytest.mark.parametrize("before", [0, 1, witness._BLOCK - 5])
def test_a_text_is_found_in_every_spelling_and_place(written: str, before: int) -> None:
    assert witness._Pieces(PIECES).within(b"x" * before + written.encode() + b"y") == PIECES


@pytest.mark.parametrize("said", ["", "short", TEXT[1:], "x" * 1_000])
def test_other_words_are_not_found(said: str) -> None:
    assert witness._Pieces(PIECES).within(said.encode()) == set()


def test_without_texts_nothing_is_found() -> None:
    assert witness._Pieces(set()).within(TEXT.encode()) == set()
