"""The tool behind `make mutants`: where a fault is planted, what is drawn, what it says in the end."""

import json
from pathlib import Path

import pytest

from scripts.mutants import __main__ as command
from scripts.mutants.anchors import changes_of, places
from scripts.mutants.sites import draw
from scripts.mutants.table import TABLE as OWN_TABLE
from scripts.mutants.table import Mutant, TableError, load

Fault = tuple[str, str, str, str]
ONE = '''
LOOK = "WHERE a = 1"
class Lease:
    def holds(self, now: int) -> bool:
        """Of a group."""
        return (self.until > now
            and not self.lost)
def first(rows: list[int]) -> int:
    log.info("looking")
    rows.sort()
    return min(rows) if len(rows) > 1 else rows[0]
'''
TWO = "def first(rows):\n    return rows[0]\n"
TABLE = """
suites = { unit = "tests -k fast", all = "tests" }
rooms = {}
mutant = [{ id = "it", room = "queue", where = "first", before = "0", after = "1", suites = ["all:x"] }]
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name, text in (("queue/one.py", ONE), ("llm/two.py", TWO), ("v1/made.py", ONE)):
        path = tmp_path / "kgsvc" / name
        path.parent.mkdir(parents=True)
        path.write_text(text)
    (tmp_path / "table.toml").write_text(TABLE)
    return tmp_path


def mutant(where: str, before: str, after: str, hint: str) -> Mutant:
    return Mutant("it", "queue", where, before, after, ["unit"], hint)


@pytest.mark.parametrize(
    ("fault", "line"),
    [
        (("LOOK", "a = 1", "a <> 1", ""), "WHERE a <> 1"),
        (("Lease.holds", "now and not", "now and", "Of a group"), "until > now and self.lost"),
        (("first", "rows[0]", "rows[1]", "llm"), "return rows[1]"),
    ],
)
def test_a_fault_is_planted_in_its_function(tree: Path, fault: Fault, line: str) -> None:
    ((_, text),) = changes_of([mutant(*fault)], places(tree))
    assert line in text


@pytest.mark.parametrize(
    "fault",
    [
        ("first", "rows[0]", "rows[1]", ""),  # in two functions
        ("Lease.holds", "self.", "other.", ""),  # twice in one
        ("Lease.has", "self.lost", "True", ""),  # in none
        ("first", "min(rows)", "min(", "queue"),
        ("first", "min(rows)", "min(rows)", "queue"),
    ],
)
def test_a_fault_without_one_place_is_an_error(tree: Path, fault: Fault) -> None:
    with pytest.raises(TableError, match="it: "):
        changes_of([mutant(*fault)], places(tree))


def test_a_seed_draws_the_same_and_passes_over_what_makes_no_difference(tree: Path) -> None:
    known = places(tree)
    drawn = draw(known, ["queue", "llm"], 1, 99, ())
    assert draw(known, ["queue"], 1, 99, ()) == drawn != draw(known, ["queue"], 2, 99, ())
    assert draw(known, ["queue"], 1, 2, {drawn[0].id}) == drawn[1:3]
    assert {"self.until >= now", "self.lost", "pass", "max"} < {each.after for each in drawn}
    assert not any("log" in each.before for each in drawn)
    assert len(changes_of(drawn, known)) == len(drawn)


def test_suites_are_narrowed_and_joined(tree: Path) -> None:
    table = load(tree / "table.toml")
    assert table.arguments("unit:leases") == ["tests", "-k", "(fast) and (leases)"]
    assert table.whole_suites(table.mutants) == {"all": ["tests", "-k", "x"]}


def test_quick_suites_are_those_of_make_test_and_need_no_database(tree: Path) -> None:
    stored = '{ id = "more", room = "stores/neo4j", where = "x", before = "", after = "", suites = ["all"] }'
    text = TABLE.replace('suites = ["all:x"] }', 'suites = ["all:x"] }, ' + stored)
    (tree / "table.toml").write_text(text)
    table = load(tree / "table.toml", quick=True)
    assert [mutant.id for mutant in table.mutants] == ["it"]
    assert table.whole_suites(table.mutants) == {"all": ["tests", "-m", "quick", "-k", "x"]}


def test_the_report_counts_what_no_suite_noticed(tree: Path) -> None:
    states = ("caught", "timeout", "SURVIVED", "EMPTY")
    verdicts = [command.Verdict(state, "queue", False, state, "", 1.0) for state in states]
    assert command.not_caught(verdicts) == ["SURVIVED", "EMPTY"]
    found = json.loads(command.report(verdicts, tree, 2.0))
    assert (found["caught"], found["of"], found["mutants"][0]["id"]) == (2, 4, "caught")


def test_every_fault_of_the_table_has_its_place() -> None:
    table = load(OWN_TABLE)
    assert len(changes_of(table.mutants, places(command.OWN_TREE))) == len(table.mutants)
