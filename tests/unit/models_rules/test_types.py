"""What the rules find under an ontology: nothing is lost by the default one, a group's own is obeyed."""

from __future__ import annotations

import pytest

from kgsvc.domain.limits import Limits
from kgsvc.domain.model.extraction import DEFAULT, Extraction, ExtractionRequest, FactType, Ontology, conform
from kgsvc.domain.model.graph import Episode, FactKind, Source
from kgsvc.models.rules.extractor import extract_one

TEXTS = (
    "Alice Chen works at Lumen Labs in Berlin. She leads Project Heron and likes tea.",
    "We watched the film 'Stalker' at the Autumn Festival. Bruno is a dentist.",
    "My dog Rex is eight. I bought a car.",
)
JSON = '{"type": "Episodic", "name": "Order 17", "customer": {"type": "KgGroup", "name": "Ann"}, "total": 12}'


def extracted(body: str, source: Source = Source.TEXT) -> Extraction:
    return extract_one(ExtractionRequest(Episode("e", "g", body, source, 0, 0)), Limits()).extraction


@pytest.mark.parametrize("body", TEXTS)
def test_the_default_types_keep_what_is_found(body: str) -> None:
    found = extracted(body)
    assert found.nodes
    assert conform(found, DEFAULT) == found


def test_a_type_field_in_json_never_makes_a_reserved_type() -> None:
    found = conform(extracted(JSON, Source.JSON), DEFAULT)
    assert {node.name for node in found.nodes} >= {"Order 17", "Ann"}
    assert {node.type for node in found.nodes} <= {"Entity", "Value", "Person"}


def test_excluded_types_are_dropped_with_their_facts() -> None:
    found = conform(extracted(TEXTS[0]), Ontology(DEFAULT.entity_types, (), frozenset({"Organization"})))
    assert "Lumen Labs" not in {node.name for node in found.nodes}
    assert "WORKS_AT" not in {edge.name for edge in found.edges}
    assert "LIKES" in {edge.name for edge in found.edges}


def test_a_fact_type_decides_the_kind_of_its_facts() -> None:
    likes = FactType("LIKES", "what somebody likes best", FactKind.FUNCTIONAL)
    found = conform(extracted(TEXTS[0]), Ontology(DEFAULT.entity_types, (likes,)))
    assert [edge.kind for edge in found.edges if edge.name == "LIKES"] == [FactKind.FUNCTIONAL]
