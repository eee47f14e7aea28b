"""Names that are spellings of one another."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest

from kgsvc.domain.names import similarity
from kgsvc.domain.names.similarity import (
    asked_tokens,
    families,
    identities,
    identities_in,
    name_terms,
    name_tokens,
    similar,
    spellings,
    told_identities,
)

SAME = [
    ("TechCorp", "Tech Corp"),
    ("Tech-Corp Ltd", "TechCorp Ltd."),
    ("José García", "Jose Garcia"),
    ("The Rolling Stones", "Rolling Stones"),
    ("O'Reilly Media", "OReilly Media"),
    ("International Business Machines Corporation", "International Business Machines Corporations"),
    ("Phase 2 of Phoenix", "Phase-2 of Phoenix"),
]
OTHER = [
    ("Phoenix 2", "Phoenix 3"),
    ("International Business Machines Corporation 1", "International Business Machines Corporation 2"),
    ("International Business Machines Division II", "International Business Machines Division III"),
    ("The Research Building A of the University", "The Research Building B of the University"),
    ("Operation Overlord Phase One", "Operation Overlord Phase Two"),
    ("Martin King", "Martin King Jr."),
    ("Daniel Smith", "Daniela Smith"),
    ("Alexander Robert", "Alexander Roberts"),
    ("Christian Petersen", "Christian Peterson"),
    ("Jon Smith", "John Smith"),
    ("Bob", "Robert Smith"),
    ("Bob Smith", "Robert Smith"),
    ("Bob", "Bób"),  # too short to tell
    ("U.S.", "US"),
    ("A A A B B B", "aaabbb"),  # too little variety
    ("東京都", "東京大学"),
    ("カトウサブロウ", "ガトウザブロウ"),
    ("", "?"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_spellings_of_one_name(one: str, other: str) -> None:
    assert similar(one, other)
    assert similar(other, one)


@pytest.mark.parametrize(("one", "other"), OTHER)
def test_names_of_different_things_or_too_little_to_tell(one: str, other: str) -> None:
    assert not similar(one, other)
    assert not similar(other, one)


@pytest.mark.parametrize(("one", "other"), SAME)
def test_spellings_are_found_by_a_token_they_share(one: str, other: str) -> None:
    assert asked_tokens(one) & name_tokens(other)
    assert asked_tokens(other) & name_tokens(one)


def test_nicknames_widen_what_is_looked_for_and_nothing_else() -> None:
    assert asked_tokens("Bob") & name_tokens("Robert Smith")
    assert asked_tokens("Elizabeth Jones") & name_tokens("Liz")
    assert not name_tokens("Bob") & name_tokens("Robert Smith")
    assert not asked_tokens("Bob") & asked_tokens("Alice")
    assert asked_tokens("!?") == frozenset()
    assert asked_tokens("NYC") & name_tokens("New York City")
    assert asked_tokens("Bank for International Settlements") & name_tokens("BIS")
    assert not asked_tokens("NY") & name_tokens("New York")  # two letters say too little


def test_a_name_that_is_like_two_known_things_is_left_to_others() -> None:
    known = {"a": ["TechCorp"], "b": ["Initech"], "c": ["Tech-Corp"]}
    assert spellings(["Tech Corp"], known) == {}
    assert spellings(["Tech Corp", "Inltech"], {"a": ["x", "TechCorp"], "b": ["Initech"]}) == {
        "Tech Corp": "a"
    }


def test_families_do_not_depend_on_the_order() -> None:
    names = ["TechCorp", "Acme", "tech corp", "Tech-Corp", "Globex"]
    for order in itertools.permutations(names):
        assert families(order) == [["Tech-Corp", "TechCorp", "tech corp"]]


def test_families_are_those_of_comparing_each_with_each() -> None:
    rng = random.Random(5)
    names = {
        "The Rolling Stones",
        "Rolling Stones",
        "rollingstones",
        "Phase 2 of Phoenix",
        "Phase-2 of Phoenix",
    }
    while len(names) < 300:
        name = rng.choice(
            [*sorted(names), "Intergovernmental Panel of Hydrography", "Northern Railways of Chile"]
        )
        at = rng.randrange(len(name))
        names.add(name[:at] + rng.choice(["", " ", "-", "s", "é", "2", name[at] * 2]) + name[at + 1 :])
    linked = {name: {other for other in names if other != name and similar(name, other)} for name in names}
    for family in families(names):
        for name in family:
            assert linked[name] <= set(family)
    together = {name for family in families(names) for name in family}
    assert together == {name for name in names if linked[name]}
    assert len(together) > 50


def test_names_that_are_alike_in_little_are_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = 0

    def counted(one: str, other: str) -> bool:
        nonlocal compared
        compared += 1
        return similar(one, other)

    monkeypatch.setattr(similarity, "similar", counted)
    rng = random.Random(5)
    towns = ["".join(rng.choices("abcdefghijklmnoprstuvw", k=7)).title() for _ in range(500)]
    assert families([f"Hotel {town} Centre" for town in towns]) == []
    assert compared < len(towns)


SAME_IDENTITY = [
    ({"account_number": "4711-0815"}, {"number": "4711 0815"}),
    ({"accountNumber": 47110815}, {"id": "47110815"}),
    ({"email": "Ann@Example.org"}, {"e-mail": " ann@example.org"}),
    ({"homepage": "https://www.example.org/"}, {"url": "http://example.org"}),
    ({"phone": "(030) 1234-567"}, {"phoneNumber": "0301234567"}),
    ({"ids": ["a-1234", "b-1234"]}, {"customer id": "B1234"}),
]


@pytest.mark.parametrize(("one", "other"), SAME_IDENTITY)
def test_one_identity_written_in_two_ways(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert identities(one).keys() & identities(other).keys()


NO_IDENTITY = [
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


@pytest.mark.parametrize("attributes", NO_IDENTITY)
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
    assert told_identities({"id": 4711, "age": 3, "emails": [], "email": "ann@example.org"}) == (
        "email: ann@example.org, id: 4711"
    )
    assert told_identities({"phones": ["0301234567", "0301234568"]}) == "phones: 0301234567; 0301234568"
    assert told_identities({"age": 3}) == ""
