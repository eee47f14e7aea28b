"""Identities: attributes and words of names by which a thing is known whatever it is called."""

from typing import Any

import pytest

from kgsvc.domain.names.identity import identities, identities_in, name_terms, told

SAME = [
    ({"account_number": "4711-0815"}, {"number": "4711 0815"}),
    ({"accountNumber": 47110815}, {"id": "47110815"}),
    ({"email": "Ann@Example.org"}, {"e-mail": " ann@example.org"}),
    ({"homepage": "https://www.example.org/"}, {"url": "http://example.org"}),
    ({"phone": "(030) 1234-567"}, {"phoneNumber": "0301234567"}),
    ({"ids": ["a-1234", "b-1234"]}, {"customer id": "B1234"}),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_one_identity_written_in_two_ways(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert identities(one).keys() & identities(other).keys()


NOTHING = [
    {"age": 4711},
    {"number_of_employees": 4711},
    {"id": 7},
    {"email": "unknown"},
    {"verified email": True},
    {"id": None},
    {"id": {"of": "4711-0815"}},
    {"provider": "4711-0815"},
    {"address": "x" * 100},
]


@pytest.mark.parametrize("attributes", NOTHING)
def test_what_tells_nothing_apart_is_no_identity(attributes: dict[str, Any]) -> None:
    assert not identities(attributes)


def test_a_name_may_hold_a_number() -> None:
    number = identities({"number": "4711-0815"}).keys()
    assert number <= identities_in("Account 4711-0815")
    assert number <= identities_in("account #47110815.")
    assert identities({"iban": "DE89 3704 0044"}).keys() <= identities_in("IBAN DE89 3704 0044 of Ann")
    assert identities({"email": "ann@example.org"}).keys() <= identities_in("<ann@example.org>, Ann")
    assert not identities_in("Boeing 747") | identities_in("Ann Lee")


def test_identities_are_no_words_of_names() -> None:
    terms = name_terms("account 47110815")
    assert [term for term in terms if term.startswith("=")] == ["=47110815"]
    assert "47110815" in terms


def test_identities_are_told_by_the_names_of_their_attributes() -> None:
    assert told({"id": 4711, "age": 3, "emails": [], "email": "ann@example.org"}) == (
        "email: ann@example.org, id: 4711"
    )
    assert told({"phones": ["0301234567", "0301234568"]}) == "phones: 0301234567; 0301234568"
    assert told({"age": 3}) == ""
