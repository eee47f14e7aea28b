"""What an ontology makes of an extraction."""

from typing import Any

import pytest

from kgsvc.domain.model.extraction import (
    DEFAULT,
    Attribute,
    EntityType,
    ExtractedEdge,
    ExtractedNode,
    Extraction,
    FactType,
    Ontology,
    Signature,
    ValueKind,
    conform,
)
from kgsvc.domain.model.graph import FactKind

TASK = EntityType("Task", "work", attributes=(Attribute("effort", ValueKind.INT),))
PERSON = EntityType("Person", "somebody")
OWNS = FactType(
    "OWNS",
    "is in charge of",
    FactKind.FUNCTIONAL,
    (Signature("Person", "Task"),),
    (Attribute("since", ValueKind.DATE),),
)
ONTOLOGY = Ontology((TASK, PERSON), (OWNS,))


def node(ref: str, kind: str, **attributes: Any) -> ExtractedNode:
    return ExtractedNode(ref, f"name of {ref}", kind, attributes=attributes)


def edge(name: str, source: str, target: str, **fields: Any) -> ExtractedEdge:
    return ExtractedEdge(name, f"{source} {name} {target}", source, target, **fields)


def only_node(kind: str, ontology: Ontology = ONTOLOGY, **attributes: Any) -> ExtractedNode:
    (found,) = conform(Extraction((node("a", kind, **attributes),)), ontology).nodes
    return found


def only_edge(of: ExtractedEdge, *nodes: ExtractedNode) -> ExtractedEdge:
    (found,) = conform(Extraction(nodes, (of,)), ONTOLOGY).edges
    return found


@pytest.mark.parametrize("given", ["Episodic", "KgGroup", "entity", "Client", "a`) DETACH DELETE (n", ""])
def test_a_type_that_the_ontology_does_not_know_becomes_entity(given: str) -> None:
    assert only_node(given, DEFAULT).type == "Entity"


def test_a_known_type_is_found_in_whatever_case() -> None:
    assert only_node("TASK").type == "Task"
    assert only_node("person", DEFAULT).type == "Person"


def test_an_unlisted_thing_stays_unknown() -> None:
    assert only_node("UNKNOWN").type == "UNKNOWN"


def test_excluded_types_are_dropped_together_with_their_facts() -> None:
    excluding = Ontology((TASK, PERSON), (OWNS,), frozenset({"Task"}))
    nodes = (node("a", "Person"), node("b", "task"), node("c", "Person"))
    found = conform(Extraction(nodes, (edge("OWNS", "a", "b"), edge("KNOWS", "a", "c"))), excluding)
    assert [n.ref for n in found.nodes] == ["a", "c"]
    assert [e.name for e in found.edges] == ["KNOWS"]


@pytest.mark.parametrize("given", ["Entity", "UNKNOWN", "Nonsense"])
def test_entities_without_a_type_can_be_excluded(given: str) -> None:
    excluding = Ontology((PERSON,), (), frozenset({"Entity"}))
    found = conform(Extraction((node("a", "Person"), node("b", given))), excluding)
    assert [n.ref for n in found.nodes] == ["a"]


@pytest.mark.parametrize(
    ("kind", "given", "kept"),
    [
        (ValueKind.STR, "x", "x"), (ValueKind.STR, 7, "7"), (ValueKind.STR, True, None),
        (ValueKind.STR, " ", None), (ValueKind.INT, 7, 7), (ValueKind.INT, "7", 7),
        (ValueKind.INT, 7.0, 7), (ValueKind.INT, 7.5, None), (ValueKind.INT, "seven", None),
        (ValueKind.INT, True, None), (ValueKind.INT, 2**63, None), (ValueKind.INT, "9" * 19, None),
        (ValueKind.FLOAT, 2, 2.0), (ValueKind.FLOAT, "2.5", 2.5), (ValueKind.FLOAT, "nan", None),
        (ValueKind.FLOAT, False, None), (ValueKind.BOOL, True, True), (ValueKind.BOOL, "No", False),
        (ValueKind.BOOL, 1, None), (ValueKind.BOOL, "perhaps", None),
        (ValueKind.DATE, "2026-02-28", "2026-02-28"),
        (ValueKind.DATE, "2026-02-28T10:00:00Z", "2026-02-28"), (ValueKind.DATE, "2026-02-30", None),
        (ValueKind.DATE, "next week", None), (ValueKind.DATE, 2026, None),
    ],
)  # fmt: skip
def test_a_typed_attribute_is_of_its_kind_repaired_or_left_out(
    kind: ValueKind, given: Any, kept: Any
) -> None:
    ontology = Ontology((EntityType("Task", "", attributes=(Attribute("field", kind),)),))
    found = only_node("Task", ontology, field=given).attributes
    assert found == ({} if kept is None else {"field": kept})
    assert [type(value) for value in found.values()] == [type(kept)] * len(found)


def test_attributes_that_a_type_does_not_declare_stay_with_the_entity() -> None:
    assert only_node("Task", effort="3", colour="red").attributes == {"effort": 3, "colour": "red"}


def test_a_fact_type_decides_the_kind_and_keeps_declared_attributes() -> None:
    given = edge("OWNS", "a", "b", kind=FactKind.EVENT, attributes={"since": "2026-01-02", "mood": "good"})
    found = only_edge(given, node("a", "Person"), node("b", "Task"))
    assert (found.name, found.kind, found.attributes) == (
        "OWNS",
        FactKind.FUNCTIONAL,
        {"since": "2026-01-02"},
    )


def test_a_relation_between_other_types_is_kept_but_not_as_that_fact_type() -> None:
    given = edge("OWNS", "b", "a", kind=FactKind.FUNCTIONAL, attributes={"since": "2026-01-02"})
    found = only_edge(given, node("a", "Person"), node("b", "Task"))
    assert (found.name, found.kind, found.attributes) == ("RELATES_TO", FactKind.STATE, {})
    assert found.qualifiers == {"relation": "OWNS"}
    assert found.fact == given.fact


@pytest.mark.parametrize("unclear", ["Entity", "UNKNOWN"])
def test_an_end_without_a_type_contradicts_no_signature(unclear: str) -> None:
    assert only_edge(edge("OWNS", "a", "b"), node("a", unclear), node("b", "Task")).name == "OWNS"


def test_a_relation_of_no_fact_type_is_left_as_it_is() -> None:
    given = edge("LIKES", "a", "b", kind=FactKind.EVENT)
    assert only_edge(given, node("a", "Person"), node("b", "Task")) == given
