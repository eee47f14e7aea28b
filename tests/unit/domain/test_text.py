"""Normalisation, tokens, keys (docs/design/identity.md)."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from Stemmer import Stemmer

from kgsvc.domain.model.graph import Episode, FactKind, Source
from kgsvc.domain.model.keys import content_hash, mint, name_key, slot_of
from kgsvc.domain.text import has_invisible, normalise, query_terms, tokens


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("  Alice   Chen ", "alice chen"),
        ("ＴｅｃｈＣｏｒｐ", "techcorp"),
        ("Straße", "strasse"),
        ("a\u00a0b\n\tc", "a b c"),
        ("e\u0301tat", "état"),
    ],
)
def test_names_meet_in_one_form(raw: str, expected: str) -> None:
    assert normalise(raw) == expected
    assert normalise(normalise(raw)) == normalise(raw)


def test_tokens_are_stemmed_words() -> None:
    assert tokens("Alice's working — WORKS!") == ["alic", "work", "work"]


@given(st.text("aeiouyslngdt'é0123456789", max_size=8), st.sampled_from("0123456789٣éж"))
def test_what_ends_with_no_latin_letter_is_its_own_stem(beginning: str, ending: str) -> None:
    (term,) = tokens(f"x{beginning}{ending}".replace("'", ""))
    assert term == Stemmer("english").stemWord(term)


def test_cjk_runs_become_bigrams_and_the_last_character() -> None:
    assert tokens("東京都へ") == ["東京", "京都", "都へ", "へ"]


def test_query_terms_are_distinct_and_bounded() -> None:
    assert query_terms("b a b c", bound=2) == ["b", "a"]


def test_a_taken_uuid_is_salted() -> None:
    first = mint("entity", "g", "k")
    second = mint("entity", "g", "k", {first})
    assert second != first
    assert mint("entity", "g", "k", {first, second}) not in {first, second}


def test_uuids_differ_between_groups_and_kinds() -> None:
    made = {mint(kind, group, "k") for kind in ("entity", "fact") for group in ("g", "h")}
    assert len(made) == 4


def test_parts_of_a_key_do_not_run_into_each_other() -> None:
    one = slot_of(FactKind.STATE, "a", "bc", "d", {})
    two = slot_of(FactKind.STATE, "ab", "c", "d", {})
    assert one != two


def test_functional_relations_share_a_slot_over_targets() -> None:
    assert slot_of(FactKind.FUNCTIONAL, "a", "R", "x", {}) == slot_of(FactKind.FUNCTIONAL, "a", "R", "y", {})
    assert slot_of(FactKind.STATE, "a", "R", "x", {}) != slot_of(FactKind.STATE, "a", "R", "y", {})


def test_bodies_are_hashed_with_their_case_but_one_line_end() -> None:
    episode = Episode("u", "g", 'a\r\n{"K": 1}', Source.JSON, 5, 0)
    assert content_hash(episode) == content_hash(replace(episode, body='a\n{"K": 1}', uuid="v", name="n"))
    assert content_hash(episode) != content_hash(replace(episode, body='a\r\n{"k": 1}'))
    assert content_hash(episode) != content_hash(replace(episode, reference_ms=6))
    assert content_hash(episode) != content_hash(replace(episode, role="Bob"))


def test_name_keys_fold_case_and_width() -> None:
    assert name_key("ALICE　Chen") == name_key("alice chen")


def test_threads_do_not_disturb_each_other() -> None:
    endings = ("ing", "ational", "ement", "iveness", "ization", "fulness", "ously", "icate", "ities", "edly")
    stems = [f"{stem}{more}" for stem in ("relat", "hop", "gener", "nati") for more in ("", "us", "al")]
    for n in range(5):  # each time words that no thread has met
        words = [f"x{n}{stem}{ending}" for ending in endings for stem in stems]
        starts = range(0, len(words), 15)
        with ThreadPoolExecutor(len(starts)) as pool:
            found = pool.map(lambda at, all=words: [tokens(word) for word in all[at:] + all[:at]], starts)
        alone = {word: tokens(word.upper()) for word in words}
        for at, terms in zip(starts, found, strict=True):
            assert terms == [alone[word] for word in words[at:] + words[:at]]


@pytest.mark.parametrize(
    "name",
    ["Ada\u200b Lovelace", "\ufeffAda Lovelace", "A\u00adda Lovelace", "Ada\u2060 Love\u200dlace\u200e"],
)
def test_names_that_look_alike_are_one_name(name: str) -> None:
    assert normalise(name) == "ada lovelace"
    assert has_invisible(name)
    assert not has_invisible("Ådä Łövelace 日本 ★")


def test_a_name_that_nobody_sees_is_blank() -> None:
    assert normalise("\u200b\u2060") == ""
