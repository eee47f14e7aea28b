from kgsvc.search.query import Term, parse


def prefixes(text: str) -> list[str]:
    return [term.text for term in parse(text) if term.by_prefix]


def test_a_character_alone_matches_by_prefix() -> None:
    assert prefixes("猫") == ["猫"]
    assert prefixes("a 猫 b") == ["猫"]


def test_the_last_character_of_a_run_does_not() -> None:
    assert prefixes("東京") == []
    assert [term.text for term in parse("東京")] == ["東京", "京"]


def test_one_that_is_both_matches_by_prefix() -> None:
    assert prefixes("東京 京") == ["京"]


def test_latin_letters_never_match_by_prefix() -> None:
    assert prefixes("a b 1") == []


def test_terms_are_distinct_bounded_and_the_first_ones() -> None:
    terms = parse(" ".join(f"w{i}" for i in range(400)) + " w1")
    assert [term.text for term in terms] == [f"w{i}" for i in range(256)]


def test_function_words_weigh_less() -> None:
    assert [term.weight < 1 for term in parse("where is Oslo")] == [True, True, False]


def test_no_words_no_terms() -> None:
    assert parse(" …!? 🎉 ") == ()
    assert parse("tea") == (Term("tea"),)
