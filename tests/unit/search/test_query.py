from kgsvc.search.query import WEIGHT, Term, lighter, parse, with_names, with_roles


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


def test_a_role_is_found_by_its_other_words() -> None:
    assert {term.text for term in with_roles(parse("my boss"))} == {"my", "boss", "manag", "supervisor"}
    assert {term.weight for term in with_roles(parse("boss"))} == {1.0}
    assert with_roles(parse("Lars bakes")) == parse("Lars bakes")


def test_some_words_can_be_told_to_weigh_less() -> None:
    terms = {term.text: term.weight for term in lighter(parse("report of 20 October"), "20 October")}
    assert terms == {"report": 1.0, "of": WEIGHT, "20": WEIGHT, "octob": WEIGHT}


def test_names_add_a_bounded_number_of_terms() -> None:
    """A question of a thousand letters may call hundreds of things by short aliases."""
    names = [" ".join(f"n{n}w{word}" for word in range(100)) for n in range(300)]
    assert len(with_names(parse("who is it"), names)) <= len(parse("who is it")) + 256
