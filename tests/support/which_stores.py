"""On which stores each suite runs: the one place that decides. tests/README.md says why.

What a store can make fail runs on every store; what it cannot, once, on the embedded one; all else on the
embedded store and the newest Neo4j. Fixtures that are not among PLACED are every store of their kind: those
of conformance, property and integration/neo4j, and the Neo4j that a test stops and starts.
"""

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.neo4j_fixture import NEO4J_LABELS

TESTS = Path(__file__).resolve().parents[1]
EMBEDDED = "embedded"
EVERY = (EMBEDDED, *NEO4J_LABELS)
NEWEST = (EMBEDDED, NEO4J_LABELS[0])
ONCE = (EMBEDDED,)
NEO4J = NEO4J_LABELS  # each beside the embedded store

# A folder, a file or a test below tests/; the longest name that fits counts.
SUITES: Mapping[str, tuple[str, ...]] = {
    "acceptance": NEWEST,
    "acceptance/test_cold_searches.py": EVERY,
    "acceptance/test_every_rpc.py": EVERY,
    "acceptance/test_evidence.py": EVERY,
    "acceptance/test_memory.py": EVERY,
    "acceptance/test_mixed_embeddings.py": EVERY,
    "acceptance/test_retractions.py": EVERY,
    "acceptance/test_search.py": EVERY,
    "acceptance/test_search_communities.py": EVERY,
    "acceptance/test_search_filters.py": EVERY,
    "acceptance/test_search_graph.py": EVERY,
    "acceptance/test_search_texts.py": EVERY,
    "acceptance/test_stores_agree.py": NEO4J,
    "acceptance/test_three_turns.py": EVERY,
    "acceptance/test_errors.py": ONCE,
    "acceptance/test_grpcurl.py": ONCE,
    "acceptance/test_http.py": ONCE,
    "acceptance/test_http_access.py": ONCE,
    "acceptance/test_http_hostile.py": ONCE,
    "acceptance/test_http_pages.py": ONCE,
    "acceptance/test_limits.py": ONCE,
    "acceptance/test_locomo.py": ONCE,
    "acceptance/test_metadata.py::test_an_address_that_could_not_be_told_again_is_invalid": ONCE,
    "acceptance/test_metadata.py::test_description_and_address_share_one_limit": ONCE,
    "acceptance/test_metadata.py::test_source_url_is_kept_at_the_end_of_source_description": ONCE,
    "acceptance/test_metadata.py::test_source_url_is_read_from_any_description": ONCE,
    "acceptance/test_ontologies.py::test_a_bad_ontology_is_refused_by_line_and_field": ONCE,
    "acceptance/test_ontologies.py::test_what_is_no_list_of_types_is_refused": ONCE,
    "acceptance/test_schema.py": ONCE,
    "acceptance/test_streaming.py::test_a_missing_field_is_named": ONCE,
    "acceptance/test_streaming.py::test_a_refused_item_is_told_in_band_and_does_not_end_the_stream": ONCE,
    "acceptance/test_transfer.py::test_a_damaged_file_is_refused_by_line_and_reason": ONCE,
    "acceptance/test_transfer.py::test_a_hostile_file_is_refused_by_line_and_reason": ONCE,
    "integration/test_digest_key.py": ONCE,
    "integration/test_hostile_documents.py": ONCE,
    "clients": NEWEST,
    "faults": NEWEST,
    "faults/test_kill9.py": EVERY,
    "integration": NEWEST,
}
# Fixtures that hand a test one store after the other, and how long they keep it.
PLACED = {"spec": "package", "store_spec": "function"}


def stores_of(node: str) -> tuple[str, ...]:
    """The stores of a test, by its node below tests/ (`faults/test_drain.py::test_x`)."""
    return SUITES[max((suite for suite in SUITES if node.startswith(suite)), key=len)]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give tests their stores."""
    for name in PLACED.keys() & set(metafunc.fixturenames):
        path = Path(str(metafunc.definition.path)).relative_to(TESTS).as_posix()
        stores = stores_of(f"{path}::{metafunc.function.__name__}")
        metafunc.parametrize(name, stores, indirect=True, scope=PLACED[name])  # type: ignore[arg-type]
