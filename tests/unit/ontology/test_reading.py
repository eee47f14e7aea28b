"""Ontologies in YAML: the shape that is read, and what is refused, by line and field."""

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgsvc.domain.model.extraction import (
    DEFAULT,
    Attribute,
    EntityType,
    FactType,
    Ontology,
    Priority,
    Signature,
    ValueKind,
)
from kgsvc.domain.model.graph import FactKind
from kgsvc.ontology import MAX_BYTES, OntologyError, read, write

WHOLE = """\
entity_types:
  - name: Task
    description: |
      A piece of work.
      1. Look for TODOs.
    priority: high
    attributes:
      - {name: due, type: date, required: true, description: when it must be done}
      - {name: effort, type: int}
  - name: "Person"
    description: A human being.
fact_types:
  - name: ASSIGNED_TO
    description: who does it
    kind: functional
    attributes: [{name: share, type: float}]
fact_type_map:
  - {source: Task, target: Person, fact_types: [ASSIGNED_TO]}
  - {source: Entity, target: Person, fact_types: [ASSIGNED_TO]}
excluded_entity_types: [Person, Entity]
"""
TASK = EntityType(
    "Task",
    "A piece of work.\n1. Look for TODOs.",
    Priority.HIGH,
    (
        Attribute("due", ValueKind.DATE, "when it must be done", required=True),
        Attribute("effort", ValueKind.INT),
    ),
)
ASSIGNED = FactType(
    "ASSIGNED_TO",
    "who does it",
    FactKind.FUNCTIONAL,
    (Signature("Task", "Person"), Signature("Entity", "Person")),
    (Attribute("share", ValueKind.FLOAT),),
)
READ = Ontology((TASK, EntityType("Person", "A human being.")), (ASSIGNED,), frozenset({"Person", "Entity"}))


def problems(text: str) -> list[str]:
    with pytest.raises(OntologyError) as caught:
        read(text)
    return [str(problem) for problem in caught.value.problems]


def test_every_field_is_read() -> None:
    assert read(WHOLE) == READ


def test_the_example_of_the_specification_is_read() -> None:
    found = read(
        """
        graphiti:
          entity_types:
            - name: "Task"
              description: |
                A Task represents a work item.
                1. Look for action items or TODOs
        """
    )
    assert found is not None
    assert [(t.name, t.priority) for t in found.entity_types] == [("Task", Priority.MEDIUM)]


@pytest.mark.parametrize("ontology", [DEFAULT, READ, Ontology()], ids=["default", "whole", "nothing"])
def test_what_is_written_is_read_as_the_same(ontology: Ontology) -> None:
    assert read(write(ontology)) == ontology


@pytest.mark.parametrize(
    "text", ["", "\n  \n", "# nothing\n", "---\n", "~", "{}", "graphiti:\n", "entity_types:\n"]
)
def test_a_document_that_says_nothing_is_none(text: str) -> None:
    assert read(text) is None


def test_without_entity_types_the_default_ones_stand() -> None:
    assert read("excluded_entity_types: [Topic]") == Ontology(DEFAULT.entity_types, (), frozenset({"Topic"}))


def test_the_example_of_the_docs_is_read() -> None:
    text = (Path(__file__).parents[3] / "docs" / "types.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    found = read(example)
    assert found is not None
    assert [each.name for each in found.by_priority] == ["Task", "Person"]
    assert found.fact_types[0].signatures == (Signature("Task", "Person"),)


ONE = "entity_types:\n  - name: Task\n    description: x\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (ONE + "  - name: Entity\n    description: x\n", "line 4: entity_types[1].name is reserved"),
        (
            ONE + "  - name: Ta-sk\n    description: x\n",
            "line 4: entity_types[1].name must be a Latin letter",
        ),
        (ONE + "  - name: TASK\n    description: x\n", "line 4: entity_types[1].name is used by another"),
        (ONE + "  - name: Other\n", "line 4: entity_types[1].description is required"),
        (ONE + "  - description: x\n", "line 4: entity_types[1].name is required"),
        (ONE + "  - [Other]\n", "line 4: entity_types[1] must be a mapping with name, description"),
        (ONE + "    nane: Y\n", "line 4: entity_types[0].nane is not known; allowed are name, description"),
        (ONE + "    name: Y\n", "line 4: entity_types[0].name is given twice"),
        (ONE + "    priority: urgent\n", "line 4: entity_types[0].priority must be one of highest, high"),
        (ONE + "    attributes: due\n", "line 4: entity_types[0].attributes must be a list"),
        (
            ONE + "    attributes:\n      - {name: a, type: text}\n",
            "line 5: entity_types[0].attributes[0].type",
        ),
        (
            ONE + "    attributes:\n      - {name: a b, type: str}\n",
            "line 5: entity_types[0].attributes[0].name",
        ),
        (
            ONE + "    attributes:\n      - {name: a, type: str, required: 3}\n",
            "line 5: entity_types[0].attributes[0].required must be true or false",
        ),
        (
            ONE + "fact_types:\n  - {name: owns, description: x}\n",
            "line 5: fact_types[0].name must be in SCREAM",
        ),
        (
            ONE + "fact_types:\n  - {name: A, description: x, kind: y}\n",
            "line 5: fact_types[0].kind must be one",
        ),
        (
            ONE + "fact_type_map:\n  - {source: Nobody, target: Task, fact_types: []}\n",
            "line 5: fact_type_map[0].source is not an entity type: 'Nobody'",
        ),
        (
            ONE + "fact_type_map:\n  - source: Task\n    target: Task\n    fact_types:\n      - OWNS\n",
            "line 8: fact_type_map[0].fact_types[0] is not in fact_types",
        ),
        (
            ONE + "excluded_entity_types:\n  - Task\n  - Person\n",
            "line 6: excluded_entity_types[1] is not an entity",
        ),
        ("graphiti:\n  entity_types: 3\n", "line 2: graphiti.entity_types must be a list"),
        ("other: 1\n", "line 1: other is not known; allowed are entity_types"),
        ("- a\n", "line 1: must be a mapping with entity_types"),
        ("entity_types: [\n", "line 2: is not YAML"),
        ("a: b\nc: \x07\n", "line 2: is not YAML"),
    ],
)
def test_what_is_wrong_is_named_by_line_and_field(text: str, told: str) -> None:
    (found,) = problems(text)
    assert found.startswith(told)


def test_everything_wrong_is_named_at_once() -> None:
    text = ONE + "  - name: KgX\n    priority: y\nfact_types: 3\nexcluded_entity_types: [Nobody]\n"
    assert [problem.split(" ")[:3] for problem in problems(text)] == [
        ["line", "4:", "entity_types[1].name"],
        ["line", "4:", "entity_types[1].description"],
        ["line", "5:", "entity_types[1].priority"],
        ["line", "6:", "fact_types"],
        ["line", "7:", "excluded_entity_types[0]"],
    ]


def test_a_thousand_mistakes_are_told_in_part() -> None:
    assert len(problems("excluded_entity_types:\n" + "  - X\n" * 1000)) == 20


BOMB = "a: &a [x, x]\nb: &b [*a, *a]\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (BOMB, "line 1: anchors and aliases are not allowed"),
        ("a: *b\n", "line 1: anchors and aliases are not allowed"),
        ("a:\n  !!python/object/apply:os.system [ls]\n", "line 2: tags are not allowed"),
        ("a: " + "[" * 30_000, "line 1: is nested more than 12 deep"),
        ("excluded_entity_types: [" + "1," * 30_000 + "]", "line 1: the text has more than 20000 values"),
        (
            "#" * (MAX_BYTES + 1),
            f"line 1: the text has {MAX_BYTES + 1} bytes, at most {MAX_BYTES} are allowed",
        ),
        ("a: 1\n---\nb: 2\n", "line 2: a second document begins"),
        ("{[a]: 1}\n", "line 1: a key must be text"),
    ],
    ids=["bomb", "alias", "tag", "depth", "values", "bytes", "documents", "key"],
)
def test_what_could_harm_is_refused(text: str, told: str) -> None:
    assert problems(text) == [told]


@settings(max_examples=150, deadline=None)
@given(
    st.integers(0, len(WHOLE)), st.integers(0, 30), st.text("{}[]:,-#&*!|>'\"%@`? \n\tab1é\ufeff", max_size=6)
)
def test_whatever_is_typed_is_read_or_refused_with_a_line(at: int, cut: int, typed: str) -> None:
    """What is read can be written and read again."""
    text = WHOLE[:at] + typed + WHOLE[at + cut :]
    found, lines = None, []
    try:
        found = read(text)
    except OntologyError as error:
        lines = [problem.line for problem in error.problems] or [0]
    assert all(1 <= line <= text.count("\n") + 2 for line in lines)
    assert found is None or read(write(found)) == found
