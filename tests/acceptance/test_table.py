"""tests/README.md says which tests hold what of the specification, and on which stores; it is held to it."""

import ast
import re
from pathlib import Path

from tests.support.which_stores import EVERY, NEO4J, NEWEST, ONCE, SUITES

HERE = Path(__file__).parent
# Acceptance criteria of the specification, §15 (ingestion 2, retrieval 3, maintenance 2, errors 3) and §16.
BULLETS = [*(f"15.{n}" for n in range(1, 11)), *(f"16.{n}" for n in range(1, 7))]
BULLETS += [f"000.{n}" for n in range(1, 8)]  # rules beyond it
_ROW = re.compile(r"\| ((?:1[56]|000)\.\d+) \| [^|]+ \| ([^|]+) \|")
_TEST = re.compile(r"`(test_\w+\.py::test_\w+)`")
_SUITES = re.compile(r"^\| (`[^|]+) \| ([\w ]+) \| [^|]+ \|$", re.MULTILINE)
_SUITE = re.compile(r"`([\w/.:]+)`")
WORDS = {EVERY: "every", NEWEST: "newest", ONCE: "once", NEO4J: "each Neo4j"}
PLACED = {"client", "service", "spec", "own_store_spec"}  # fixtures that come with a store
BY_FIXTURE = {"conformance": "every", "property": "every"}


def table() -> dict[str, list[str]]:
    """Bullet → its tests."""
    text = (HERE.parent / "README.md").read_text(encoding="utf-8")
    return {bullet: _TEST.findall(tests) for bullet, tests in _ROW.findall(text)}


def suites() -> dict[str, str]:
    """Suite → the word for its stores."""
    text = (HERE.parent / "README.md").read_text(encoding="utf-8")
    return {suite: word for names, word in _SUITES.findall(text) for suite in _SUITE.findall(names)}


def written() -> dict[str, set[str]]:
    """Test → what it takes."""
    files = [(file.name, ast.parse(file.read_text(encoding="utf-8"))) for file in HERE.glob("test_*.py")]
    return {
        f"{name}::{test.name}": {given.arg for given in test.args.args}
        for name, file in files
        for test in file.body
        if isinstance(test, ast.AsyncFunctionDef)
    }


def test_every_bullet_is_held_by_tests_that_run_on_stores() -> None:
    rows, tests = table(), written()
    assert list(rows) == BULLETS
    assert all(rows.values())
    for bullet, named in rows.items():
        for test in named:
            assert test in tests, f"{bullet}: there is no {test}"
            assert tests[test] & PLACED, f"{bullet}: {test} does not run on the stores of its suite"
    for suite in SUITES:
        file, _, test = suite.partition("::")
        assert (HERE.parent / file).exists(), suite
        assert not test or f"{Path(file).name}::{test}" in tests, suite


def test_the_stores_of_each_suite_are_told() -> None:
    wanted = {suite: WORDS[stores] for suite, stores in SUITES.items()}
    assert {suite: word for suite, word in suites().items() if word in WORDS.values()} == wanted | BY_FIXTURE
