"""JSON episodes: objects with a name are entities, fields are attributes and facts."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kgsvc.domain.model.graph import FactKind, Polarity, Source
from tests.unit.models_rules.support import Found, read, text_episode


def read_json(value: Any, name: str | None = None) -> Found:
    """What the extractor finds in a JSON body."""
    body = value if isinstance(value, str) else json.dumps(value)
    return read(text_episode(body, Source.JSON, name))


PERSON = {
    "name": "Alice Chen",
    "age": 34,
    "company": "TechCorp",
    "city": "Berlin",
    "manager": {"name": "Carol Danvers", "team": "Platform"},
    "skills": ["Python", "Go"],
    "bio": "Alice has a twin brother. She loves hiking.",
}


def test_an_object_with_a_name_is_an_entity_with_attributes() -> None:
    found = read_json(PERSON)
    (alice,) = (node for node in found.extraction.nodes if node.name == "Alice Chen")
    assert alice.type == "Person"
    assert alice.attributes == {"age": 34, "company": "TechCorp", "city": "Berlin"}


def test_fields_are_facts_and_known_ones_relations_of_the_table() -> None:
    found = read_json(PERSON)
    assert found.fact("WORKS_AT").triple == ("WORKS_AT", "Alice Chen", "TechCorp")
    assert found.fact("WORKS_AT").fact == "Alice Chen works at TechCorp."
    assert found.fact("LIVES_IN").target == "Berlin"
    assert found.fact("HAS_AGE").fact == "Alice Chen has age 34."
    assert found.fact("HAS_AGE").kind is FactKind.FUNCTIONAL


def test_named_objects_inside_are_related_by_their_key() -> None:
    found = read_json(PERSON)
    assert ("HAS_MANAGER", "Alice Chen", "Carol Danvers") in found.triples
    assert ("HAS_TEAM", "Carol Danvers", "Platform") in found.triples


def test_the_items_of_a_list_do_not_replace_one_another() -> None:
    skills = [fact for fact in read_json(PERSON).facts if fact.name == "HAS_SKILL"]
    assert {fact.target for fact in skills} == {"Python", "Go"}
    assert all(fact.kind is FactKind.STATE for fact in skills)


def test_texts_inside_are_read_as_texts_about_their_object() -> None:
    fact = read_json(PERSON).fact("LIKES")
    assert (fact.source, fact.target) == ("Alice Chen", "hiking")


def test_nameless_objects_inside_lend_their_key() -> None:
    found = read_json({"name": "Bob", "address": {"street": "Elm Street", "zip": "10115"}})
    assert found.fact("HAS_ADDRESS_STREET").target == "Elm Street"
    assert found.fact("HAS_ADDRESS_ZIP").fact == "Bob has address zip 10115."


def test_a_record_without_a_name_is_an_event() -> None:
    found = read_json({"event": "login", "user": "bob", "ip": "10.0.0.1"})
    fact = found.fact("HAS_USER")
    assert (fact.triple, fact.kind) == (("HAS_USER", "login", "bob"), FactKind.EVENT)


def test_an_id_names_an_object_by_its_type() -> None:
    found = read_json({"type": "order", "id": 17, "customer": {"name": "Eve Adams"}})
    assert found.types["order 17"] == "Order"
    assert ("HAS_CUSTOMER", "order 17", "Eve Adams") in found.triples


def test_a_conversation_in_json_has_speakers() -> None:
    turns = [{"speaker": "Alice", "text": "I live in Paris."}, {"speaker": "Bob", "text": "I live in Rome."}]
    assert {("LIVES_IN", "Alice", "Paris"), ("LIVES_IN", "Bob", "Rome")} <= read_json(turns).triples


@pytest.mark.parametrize("body", ["Bob lives in Rome.", '"Bob lives in Rome."', '{"a": Bob lives in Rome.'])
def test_what_is_no_object_is_read_as_text(body: str) -> None:
    assert ("LIVES_IN", "Bob", "Rome") in read_json(body).triples


@pytest.mark.parametrize(
    "body",
    [
        "[]",
        "{}",
        "5",
        "null",
        "[" * 100_000 + "]" * 100_000,
        '{"a":' * 5_000 + "1" + "}" * 5_000,
        '{"name": "n", "k": ' + "9" * 5_000 + "}",
        '{"name": "", "title": null, "x": [[[[[[[[[[[[[[["deep"]]]]]]]]]]]]]]]}',
        '{"name": "a\\ud800\\u0000b", "x": NaN, "y": 1e999, "z": 123456789012345678901234567890}',
        '{"name": "' + "n" * 5_000 + '", "k": "v"}',
    ],
)
def test_odd_json_does_no_harm(body: str) -> None:
    found = read_json(body)
    for node in found.extraction.nodes:
        node.name.encode()
        json.dumps(node.attributes, allow_nan=False).encode()


def test_of_a_long_list_nothing_is_dropped() -> None:
    found = read_json([{"name": f"thing {number}", "size": number} for number in range(3_000)])
    assert len([node for node in found.extraction.nodes if node.name.startswith("thing ")]) == 3_000
    assert len(found.extraction.edges) == 3_000


def test_a_corrected_field_is_denied_in_english() -> None:
    found = read(
        text_episode('{"id": "INS-4", "machine": {"wrong": "GN-31", "right": "GN-32"}}', Source.JSON)
    )
    told = [fact.fact for fact in found.facts if fact.name == "HAS_MACHINE"]
    assert told == ["Not so: INS-4 has machine GN-31.", "INS-4 has machine GN-32."]


def test_a_correction_takes_back_what_begins_later() -> None:
    wrong = {"event": "correction", "contract": "C-204", "town": {"wrong": "Basel", "right": "Bern"}}
    found = read_json(wrong)
    assert found.fact("HAS_TOWN", "Basel").polarity is Polarity.DENIES
    assert found.fact("HAS_TOWN", "Basel").valid_ms is None
    assert found.fact("HAS_TOWN", "Bern").polarity is Polarity.ASSERTS
