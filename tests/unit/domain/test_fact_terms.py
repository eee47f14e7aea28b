"""What a fact is found by, and the keys that a store may index it with."""

import re

from hypothesis import given
from hypothesis import strategies as st

from kgsvc.domain.model.graph import keyword_text, own_text
from kgsvc.domain.text import GroupKeys, firsts, tokens
from tests.unit.search.feed import fact

KEYS = GroupKeys("g", 0)


def test_the_terms_of_a_fact_are_its_own_and_those_of_its_ends() -> None:
    row = fact(
        "f",
        "Ann met Bob",
        keywords=("東京",),
        qualifiers={"with": "Cat", "event": "ab12"},
        attributes={"n": 3},
    )
    own, ends = tokens(own_text(row)), tokens(row.source_name) + tokens(row.target_name)
    assert sorted(own + ends) == sorted(tokens(keyword_text(row)))
    assert "cat" in own
    assert "ab12" not in own


def test_a_lone_character_matches_the_beginnings_of_terms_of_its_script() -> None:
    assert firsts(tokens("東京都 by train")) == ["東", "京", "都"]


def test_a_text_has_a_key_for_each_term_then_for_each_beginning() -> None:
    keyed = KEYS.of_text("the 東京 the")
    expected = [KEYS.of_term(term) for term in ("the", "東京", "京", "the")]
    assert list(keyed.keys) == [*expected, KEYS.of_prefix("東"), KEYS.of_prefix("京")]
    assert keyed.length == 4


@given(st.text(min_size=1, max_size=80))
def test_keys_are_one_word_for_any_engine(term: str) -> None:
    for key in (KEYS.of_term(term), KEYS.of_prefix(term)):
        assert re.fullmatch("[a-z][a-z2-7]{8}", key)


def test_keys_differ_between_terms_kinds_groups_and_epochs() -> None:
    others = [GroupKeys("g", 0), GroupKeys("g", 1), GroupKeys("h", 0), GroupKeys("0\ng", 0)]
    keys = {key for each in others for key in (each.of_term("京"), each.of_prefix("京"), each.of_term("x"))}
    assert len(keys) == 3 * len(others)
    assert GroupKeys("g", 0).of_term("x") == KEYS.of_term("x")
