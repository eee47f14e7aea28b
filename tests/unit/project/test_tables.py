"""The steps of ingestion in tests/README.md name tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

from tests.support.service import REPOSITORY

TESTS = REPOSITORY / "tests"
STEPS = [f"002.{n}" for n in range(1, 12)]
_ROW = re.compile(r"\| (002\.\d+) \| [^|]+ \| ([^|]+) \|")
_TEST = re.compile(r"`([\w/]+\.py)::(test_\w+)`")


def test_every_step_of_ingestion_is_held_by_tests() -> None:
    rows = dict(_ROW.findall((TESTS / "README.md").read_text(encoding="utf-8")))
    assert list(rows) == STEPS
    for step, tests in rows.items():
        named = _TEST.findall(tests)
        assert named, step
        for path, test in named:
            assert f"def {test}(" in _source(TESTS / path), f"{step}: there is no {test} in {path}"


def _source(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.is_file() else ""
