"""Which tests are quick, and which are left to `make soak`. tests/README.md says why."""

from pathlib import Path

import pytest

from tests.support.neo4j_fixture import NEO4J_LABELS

TESTS = Path(__file__).resolve().parents[1]
# A folder, a file or a test below tests/. Of what both name, the longer name decides.
QUICK = (
    "unit", "conformance", "property", "acceptance", "clients", "page/test_bundle.py",
    "integration/api", "integration/embedded", "integration/jobs",
    "integration/test_collection.py", "integration/test_rankings.py", "integration/test_truth.py",
    "integration/test_values.py", "integration/cli/test_own_processes.py::test_the_demo",
)  # fmt: skip
LONG = (  # start and kill processes, fill large groups, build clients
    "acceptance/test_clear_all.py", "acceptance/test_cold_searches.py",
    "acceptance/test_cross_encoder.py", "acceptance/test_damaged_answers.py", "acceptance/test_erasure.py",
    "acceptance/test_grpcurl.py", "acceptance/test_locomo.py", "acceptance/test_mixed_embeddings.py",
    "acceptance/test_modes.py",
    "acceptance/test_ontologies.py", "acceptance/test_page_citations.py", "acceptance/test_quotas.py",
    "acceptance/test_parking.py", "acceptance/test_tenants.py", "clients/test_agents.py",
    "clients/test_consistency.py", "clients/test_go.py", "clients/test_java.py", "clients/test_package.py",
    "clients/test_typescript.py", "integration/embedded/test_processes.py",
)  # fmt: skip


def is_quick(node: str) -> bool:
    """Whether a test not marked `slow` or `soak` is, by its node below tests/ (`faults/x.py::test_x`)."""
    if any(label in node for label in NEO4J_LABELS):
        return False
    named = [name for name in (*QUICK, *LONG) if node.startswith(name)]
    return bool(named) and max(named, key=len) in QUICK


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark what is quick, and what needs a Neo4j."""
    node = item.nodeid.removeprefix("tests/")
    if node.startswith("integration/neo4j") or any(label in node for label in NEO4J_LABELS):
        item.add_marker(pytest.mark.neo4j)
    elif is_quick(node) and not any(map(item.get_closest_marker, ("slow", "soak"))):
        item.add_marker(pytest.mark.quick)


def pytest_configure(config: pytest.Config) -> None:
    """Leave out what only `make soak` runs; of quick tests none is."""
    wanted = config.option.markexpr
    if "soak" not in wanted and wanted != "quick":
        config.option.markexpr = f"({wanted}) and not soak" if wanted else "not soak"


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Modules without a quick test are not even imported by `make test`."""
    if config.option.markexpr != "quick" or collection_path.suffix != ".py":
        return None
    node = collection_path.relative_to(TESTS).as_posix()
    return True if not is_quick(node) and not any(name.startswith(node) for name in QUICK) else None
