"""Which tests are quick, and which run together on a worker."""

import pytest
from xdist.scheduler import LoadScopeScheduling

from tests.support.quick import LONG, QUICK, TESTS, is_quick
from tests.support.shares import NEO4J_SHARES, place_of, share_of


@pytest.mark.parametrize(
    ("node", "share"),
    [
        ("tests/unit/test_contract.py::test_x[a-b]", "unit/test_contract.py"),
        ("tests/acceptance/test_names.py::test_x[embedded]", "acceptance/test_names.py"),
        ("tests/acceptance/test_names.py::test_x[neo4j-2026]", "neo4j-2026 acceptance"),
        ("tests/acceptance/test_names.py::test_x[a-neo4j-5.26-b]", "neo4j-5.26"),
        ("tests/faults/test_drain.py::test_x[neo4j-2026]", "neo4j-2026 faults"),
        ("tests/property/test_order.py::test_x[neo4j-2026]", "neo4j-2026"),
    ],
    ids=["unit", "embedded", "newest", "in the middle of a name", "faults", "elsewhere"],
)
def test_the_share_of_a_test(node: str, share: str) -> None:
    assert share_of(node) == share


def test_a_neo4j_that_all_workers_reach_serves_one_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KGSVC_TEST_NEO4J", "bolt://127.0.0.1:1;password;neo4j-2026")
    shares = {
        share_of(f"tests/{folder}/test_a.py::test_x[neo4j-2026]") for folder in ("acceptance", "faults")
    }
    assert len(shares) == 1


def test_long_shares_begin_first() -> None:
    assert [place_of(share) for share in NEO4J_SHARES] == [0, 1, 2, 3]
    assert place_of("unit/test_contract.py") == 4


def test_the_scheduler_still_asks_for_shares() -> None:
    assert "_split_scope" in vars(LoadScopeScheduling)


@pytest.mark.parametrize(
    ("node", "quick"),
    [
        ("unit/test_contract.py::test_x[a-b]", True),
        ("acceptance/test_names.py::test_x[embedded]", True),
        ("acceptance/test_names.py::test_x[neo4j-2026]", False),
        ("acceptance/test_quotas.py::test_x[embedded]", False),
        ("faults/test_drain.py::test_x[embedded]", False),
        ("integration/cli/test_own_processes.py::test_the_demo_shows", True),
        ("integration/cli/test_own_processes.py::test_doctor", False),
    ],
)
def test_what_is_quick(node: str, quick: bool) -> None:
    assert is_quick(node) == quick


def test_what_is_named_is_there() -> None:
    for name in (*QUICK, *LONG):
        file, _, test = name.partition("::")
        assert (TESTS / file).exists(), name
        assert f"def {test}" in (TESTS / file).read_text() if test else True, name
