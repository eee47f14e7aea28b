from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kgsvc.search.index.postings import Postings, counts_of, found_at, rows_of
from kgsvc.search.index.word_blocks import Packed
from tests.unit.search.feed import patient


def entries(packed: Packed) -> list[tuple[int, int]]:
    return list(zip(rows_of(packed).tolist(), map(int, counts_of(packed)), strict=True))


def test_rows_come_in_order_whatever_the_order_of_entering() -> None:
    postings = Postings()
    for row in (5, 1, 3):
        postings.add(row, {"x": row})
    assert entries(postings.find("x", by_prefix=False)) == [(1, 1), (3, 3), (5, 5)]


def test_a_character_finds_the_bigrams_that_begin_with_it_as_one_term() -> None:
    postings = Postings()
    postings.add(0, {"猫が": 1, "猫を": 2, "を": 1})
    postings.add(1, {"猫": 1})
    postings.add(2, {"黒猫": 1})
    assert entries(postings.find("猫", by_prefix=True)) == [(0, 3), (1, 1)]
    assert entries(postings.find("猫", by_prefix=False)) == [(1, 1)]


def test_latin_terms_of_two_letters_are_no_bigrams() -> None:
    postings = Postings()
    postings.add(0, {"go": 1})
    assert entries(postings.find("g", by_prefix=True)) == []


def test_what_was_found_may_be_kept_no_longer_than_the_next_change() -> None:
    postings = Postings()
    postings.add(0, {"x": 1})
    assert entries(postings.find("x", by_prefix=False)) == [(0, 1)]
    postings.add(1, {"x": 2})
    postings.remove(0, Counter({"x": 1}))
    assert entries(postings.find("x", by_prefix=False)) == [(1, 2)]


def test_counts_of_some_rows() -> None:
    postings = Postings()
    for row in (2, 5, 9):
        postings.add(row, {"x": row})
    places, counts = found_at(postings.find("x", by_prefix=False), np.array([0, 2, 3, 9, 11]))
    assert (places.tolist(), counts.tolist()) == ([1, 3], [2.0, 9.0])


rows = st.dictionaries(
    st.integers(0, 40),
    st.dictionaries(st.sampled_from(["a", "b", "東京", "東北"]), st.integers(1, 9), min_size=1),
)


@patient
@given(rows, st.randoms(use_true_random=False), st.data())
def test_removing_leaves_what_a_fresh_one_would_hold(
    content: dict[int, dict[str, int]], shuffle: object, data: st.DataObject
) -> None:
    postings = Postings()
    for row in data.draw(st.permutations(sorted(content))):
        postings.add(row, content[row])
    gone = data.draw(st.sets(st.sampled_from(sorted(content)))) if content else set()
    for row in gone:
        postings.remove(row, Counter(content[row]))
    kept = {row: terms for row, terms in content.items() if row not in gone}
    for term in ("a", "b", "東京"):
        expected = sorted((row, terms[term]) for row, terms in kept.items() if term in terms)
        assert entries(postings.find(term, by_prefix=False)) == expected
    assert {row for row, _ in entries(postings.find("東", by_prefix=True))} == {
        row for row, terms in kept.items() if {"東京", "東北"} & set(terms)
    }
