"""Each rule of the specification's section on entity types that needs no service."""

import pytest

from kgsvc.domain.model.extraction import (
    DEFAULT,
    EntityType,
    FactType,
    Ontology,
    Priority,
    ValueKind,
    fact_name_problem,
    labels_of,
    type_name_problem,
)

NINE = {
    "Preference": Priority.HIGHEST,
    "Requirement": Priority.HIGH,
    "Procedure": Priority.MEDIUM,
    "Organization": Priority.MEDIUM,
    "Document": Priority.MEDIUM,
    "Event": Priority.MEDIUM,
    "Location": Priority.LOW,
    "Topic": Priority.LOWEST,
    "Object": Priority.LOWEST,
}


def described(name: str) -> str:
    found = DEFAULT.entity_type(name)
    assert found is not None
    return found.description.lower()


@pytest.mark.parametrize("name", NINE)
def test_the_nine_default_types_have_the_priorities_of_the_specification(name: str) -> None:
    found = DEFAULT.entity_type(name)
    assert found is not None
    assert found.priority is NINE[name]
    assert found.description


def test_preference_goes_before_every_other_type() -> None:
    assert DEFAULT.by_priority[0].name == "Preference"
    assert [t.name for t in DEFAULT.by_priority].index("Requirement") == 1
    assert {t.name for t in DEFAULT.by_priority[-3:]} == {"Topic", "Object", "Value"}


def test_a_preference_is_told_by_its_triggers_and_has_no_attributes() -> None:
    said = described("Preference")
    for word in ("want", "like", "prefer", "choose", "dislike", "avoid", "reject"):
        assert word in said
    assert DEFAULT.entity_type("Preference").attributes == ()  # type: ignore[union-attr]


def test_a_requirement_is_told_by_its_triggers_and_has_a_project_and_a_description() -> None:
    said = described("Requirement")
    for words in ("we need", "required", "must have", "performance", "security", "constraints", "measurable"):
        assert words in said
    found = DEFAULT.entity_type("Requirement")
    assert found is not None
    assert [(a.name, a.kind, a.required) for a in found.attributes] == [
        ("project_name", ValueKind.STR, True),
        ("description", ValueKind.STR, True),
    ]
    assert all(a.description for a in found.attributes)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Procedure", ("first", "then", "always")),
        ("Organization", ("company", "institution")),
        ("Document", ("book", "article", "report", "video")),
        ("Event", ("time",)),
        ("Location", ("physical", "virtual")),
        ("Topic", ("conversation", "interest")),
        ("Object", ("physical", "tool")),
    ],
)
def test_the_other_types_are_described_by_what_belongs_to_them(name: str, words: tuple[str, ...]) -> None:
    for word in words:
        assert word in described(name)


@pytest.mark.parametrize(
    "name", ["Person", "Organization", "Location", "Project", "Product", "Work", "Event"]
)
def test_what_extraction_without_a_model_tells_apart_has_a_type(name: str) -> None:
    assert DEFAULT.entity_type(name) is not None


@pytest.mark.parametrize(
    "name",
    [
        "", "1Task", "Ta sk", "Ta-sk", "Tâche", "Task\n", "T" * 65, "`Task`", "Entity", "ENTITY",
        "Episodic", "community", "KgGroup", "kgitem", "UNKNOWN",
    ],
)  # fmt: skip
def test_what_is_no_plain_name_or_reserved_becomes_no_label(name: str) -> None:
    assert type_name_problem(name) is not None
    assert labels_of(["Task", name]) == ["Task"]
    with pytest.raises(ValueError, match="the name"):
        EntityType(name, "")


@pytest.mark.parametrize("name", ["works_at", "A B", "", "RELATES_TO", "MENTIONS", "NOT_OWNS"])
def test_what_is_no_relation_or_reserved_becomes_no_fact_type(name: str) -> None:
    assert fact_name_problem(name) is not None
    with pytest.raises(ValueError, match="the name"):
        FactType(name, "")


def test_types_of_one_priority_keep_their_order_and_excluded_ones_are_not_in_force() -> None:
    types = (
        EntityType("B", "", Priority.LOW),
        EntityType("A", "", Priority.LOW),
        EntityType("C", "", Priority.HIGH),
    )
    ontology = Ontology(types, excluded=frozenset({"B"}))
    assert [t.name for t in ontology.by_priority] == ["C", "B", "A"]
    assert [t.name for t in ontology.in_force] == ["C", "A"]
