"""Postings made of stored words: the same as those made of the text, whatever came when and went again."""

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kgsvc.domain.text import term_word, tokens, words
from kgsvc.search.index.postings import Postings, counts_of, rows_of
from kgsvc.search.index.word_blocks import MAX_COUNT, WordBlocks
from tests.unit.search.feed import patient

TERMS = ("red", "tea", "東", "東京", "京都", "猫", "x1")
texts = st.lists(st.sampled_from(["red", "tea", "teas", "東京", "東京都", "猫", "x1"]), max_size=5).map(
    " ".join
)


def found(postings: Postings, term: str, by_prefix: bool) -> list[tuple[int, int]]:
    packed = postings.find(term, by_prefix)
    return list(zip(rows_of(packed).tolist(), map(int, counts_of(packed)), strict=True))


@patient
@given(st.lists(st.tuples(st.booleans(), st.dictionaries(st.integers(0, 40), texts)), max_size=8))
def test_pages_of_words_and_of_texts_make_the_same(pages: list[tuple[bool, dict[int, str]]]) -> None:
    made, plain = Postings(), Postings()
    held: dict[int, str] = {}
    for stored, page in pages:
        for row in page:  # what comes again leaves first
            if row in held:
                for postings in (made, plain):
                    postings.remove(row, Counter(tokens(held[row])))
        for row, text in page.items():
            plain.add(row, Counter(tokens(text)))
        if stored and page:
            lengths = made.add_words(np.array(list(page), np.intp), [words(text) for text in page.values()])
            assert lengths.tolist() == [len(tokens(text)) for text in page.values()]
        else:
            for row, text in page.items():
                made.add(row, Counter(tokens(text)))
        held |= page
    for term in TERMS:
        for by_prefix in (False, len(term) == 1):
            assert found(made, term, by_prefix) == found(plain, term, by_prefix)


def test_a_count_saturates() -> None:
    postings = Postings()
    postings.add_words(np.array([3], np.intp), [words("tea " * 300)])
    assert found(postings, "tea", by_prefix=False) == [(3, MAX_COUNT)]


def test_what_is_gone_leaves_the_arrays_with_the_next_blocks() -> None:
    blocks = WordBlocks()
    blocks.add(np.arange(4), [words(f"tea secret{row}") for row in range(4)])
    assert blocks.drop(2)
    assert not blocks.drop(2)
    word = int.from_bytes(term_word("secret2"), "little")
    assert blocks.find(word) == []
    blocks.add(np.arange(4, 7), [words("tea")] * 3)
    (tea,) = blocks.find(int.from_bytes(term_word("tea"), "little"))
    assert rows_of(tea).tolist() == [0, 1, 3, 4, 5, 6]
    never = WordBlocks()
    never.add(
        np.array([0, 1, 3, 4, 5, 6]), [words(f"tea secret{row}") for row in (0, 1, 3)] + [words("tea")] * 3
    )
    assert blocks.nbytes == never.nbytes
