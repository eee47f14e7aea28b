"""The tables of tests/README.md are whole, and what they name exists."""

import re
from collections.abc import Iterator
from pathlib import Path

from google.protobuf.descriptor import Descriptor, MethodDescriptor

from kgsvc.v1 import admin_pb2, ingestion_pb2, retrieval_pb2
from tests.support.spawning import REPOSITORY

TESTS = REPOSITORY / "tests"
STEPS = [f"002.{n}" for n in range(1, 12)]
RULES = [
    f"000.{part}{n}" for part, count in (("C", 4), ("E", 6), ("T", 3), ("U", 5)) for n in range(1, count + 1)
]
SEARCHES = [f"003.{n}" for n in range(1, 18)]
ANSWERS = [f"001.{part}{n}" for part, count in (("P", 7), ("A", 7)) for n in range(1, count + 1)]
_ROW = re.compile(r"\| ((?:00[23]\.|000\.[CETU]|001\.[PA])\d+) \| [^|]+ \| ([^|]+) \|")
_TEST = re.compile(r"`([\w/]+\.py)::(test_\w+)`")
_FIELDS = re.compile(
    r"^\| `(\w+)` \| (\w+) \| `(\w+)` \| ([^|]+) \| `(\w+\.py)::(test_\w+)` \|$", re.MULTILINE
)
_FIELD = re.compile(r"`(\w+)(?::(\w+))?`")  # its name, and that in the contract if it is another
# The fields of the specification outside of search, and those of what else is in the graph.
FIELDS = {
    "Episode": "uuid name content source source_description source_url group_id created_at reference_time"
    " entity_edges",
    "EntityNode": "uuid name summary created_at labels attributes group_id",
    "EntityEdge": "uuid source_node_uuid target_node_uuid name fact group_id created_at valid_at invalid_at"
    " expired_at episodes citations updated_at original_fact update_reason",
    "MENTIONS": "uuid group_id source_node_uuid target_node_uuid created_at",
    "CitationInfo": "episode_uuid episode_name source source_description created_at source_url",
    "CitationChainEntry": "citation operation",
    "Community": "uuid name group_id summary created_at",
    "HAS_MEMBER": "source_node_uuid target_node_uuid",
    "EntityType": "name description priority fields",
    "EpisodeCreateResponse": "status message episode_name group_id",
    "FactUpdateResponse": "status old_uuid new_uuid message new_edge",
}


def test_every_rule_of_metadata_and_step_of_ingestion_is_held_by_tests() -> None:
    rows = dict(_ROW.findall(_readme()))
    assert list(rows) == [*RULES, *STEPS, *SEARCHES, *ANSWERS]
    for step, tests in rows.items():
        named = _TEST.findall(tests)
        assert named, step
        for path, test in named:
            assert f"def {test}(" in _source(TESTS / path), f"{step}: there is no {test} in {path}"


def test_every_field_of_metadata_is_read_back_by_some_call() -> None:
    rows = [
        (of, name, call, message, field or name, path, test)
        for of, call, message, fields, path, test in _FIELDS.findall(_readme())
        for name, field in _FIELD.findall(fields)
    ]
    assert [row[:2] for row in rows] == [(of, name) for of, names in FIELDS.items() for name in names.split()]
    calls = _calls()
    for of, name, call, message, field, path, test in rows:
        found = {each.name: each for each in _answers(calls[call].output_type)}
        assert message in found, f"{of}.{name}: {call} answers no {message}"
        assert field in found[message].fields_by_name, f"{of}.{name}: there is no {message}.{field}"
        assert f"def {test}(" in _source(TESTS / "acceptance" / path), f"{of}.{name}: there is no {test}"


def _calls() -> dict[str, MethodDescriptor]:
    files = (ingestion_pb2, retrieval_pb2, admin_pb2)
    services = [service for file in files for service in file.DESCRIPTOR.services_by_name.values()]
    return {method.name: method for service in services for method in service.methods}


def _answers(message: Descriptor, known: frozenset[str] = frozenset()) -> Iterator[Descriptor]:
    """The message and all that it can hold."""
    yield message
    for field in message.fields:
        if field.message_type is not None and field.message_type.full_name not in known:
            yield from _answers(field.message_type, known | {message.full_name, field.message_type.full_name})


def _readme() -> str:
    return (TESTS / "README.md").read_text(encoding="utf-8")


def _source(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.is_file() else ""
