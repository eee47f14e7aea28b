"""tests/README.md says which tests hold each bullet of the specification; here it is held to that."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.support.service import REPOSITORY
from tests.support.store_spec import STORE_LABELS

HERE = Path(__file__).parent
# Bullets of spec 004 §15 (ingestion 2, retrieval 3, maintenance 2, errors 3) and §16.
BULLETS = [*(f"15.{n}" for n in range(1, 11)), *(f"16.{n}" for n in range(1, 7))]
BULLETS += [f"000.{n}" for n in range(1, 8)]  # rules of spec 000
_ROW = re.compile(r"\| ((?:1[56]|000)\.\d+) \| [^|]+ \| ([^|]+) \|")
_TEST = re.compile(r"`(test_\w+\.py::test_\w+)`")
_COLLECTED = re.compile(r"(test_\w+\.py::test_\w+)(?:\[(.+)\])?$", re.MULTILINE)


def table() -> dict[str, list[str]]:
    """Bullet → its tests."""
    text = (HERE.parent / "README.md").read_text(encoding="utf-8")
    return {bullet: _TEST.findall(tests) for bullet, tests in _ROW.findall(text)}


def collected() -> dict[str, set[str]]:
    """Test → the stores it runs on, as pytest collects them."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", str(HERE)]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=120, check=True)
    stores: dict[str, set[str]] = {}
    for test, parameters in _COLLECTED.findall(done.stdout):
        on = stores.setdefault(test, set())
        on.update(label for label in STORE_LABELS if parameters and label in parameters)
    return stores


def test_every_bullet_is_held_by_tests_that_run_on_every_store() -> None:
    rows, stores = table(), collected()
    assert list(rows) == BULLETS
    assert all(rows.values())
    for bullet, tests in rows.items():
        for test in tests:
            assert test in stores, f"{bullet}: there is no {test}"
            assert stores[test] == set(STORE_LABELS), f"{bullet}: {test} runs on {sorted(stores[test])} alone"
