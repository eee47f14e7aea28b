"""python -m scripts.mutants: see --help."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from queue import SimpleQueue

from scripts.mutants.anchors import Change, changes_of, places
from scripts.mutants.running import Copy, Database
from scripts.mutants.sites import draw
from scripts.mutants.table import TABLE, Mutant, Table, TableError, load

OWN_TREE = Path(__file__).resolve().parents[2]
ENOUGH = 0.95
_FACTOR, _MARGIN_S = 3, 60.0  # time-out: so many times what a suite takes unmutated, and so much more


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a mutant: `state` is caught, timeout (caught too), SURVIVED, or EMPTY: one of its suites
    selects no test."""

    id: str
    room: str
    drawn: bool
    state: str
    by: str
    seconds: float


def judge(
    mutant: Mutant, change: Change, copy: Copy, table: Table, unmutated_s: Mapping[str, float]
) -> Verdict:
    """Plant it and run its suites until one fails."""
    begin, state, by = time.monotonic(), "SURVIVED", ""
    with copy.planted(change):
        for suite in mutant.suites:
            limit_s = _FACTOR * unmutated_s[suite.partition(":")[0]] + _MARGIN_S
            result = copy.run(table.arguments(suite), limit_s)
            if result.state == "empty" and table.quick:
                continue
            if result.state != "passed":
                state = {"failed": "caught", "timeout": "timeout"}.get(result.state, "EMPTY")
                by = f"{suite}: {result.by}"
                break
    seconds = round(time.monotonic() - begin, 1)
    return Verdict(mutant.id, mutant.room, mutant.drawn, state, by, seconds)


def check_suites(table: Table, mutants: Sequence[Mutant], copy: Copy) -> dict[str, float]:
    """Seconds of each suite on the tree as it is. Raises TableError for one that fails."""
    seconds: dict[str, float] = {}
    for alias, arguments in table.whole_suites(mutants).items():
        result = copy.run(arguments)
        print(f"unmutated  {alias}  {result.state}  {result.seconds} s", flush=True)
        if result.state != "passed" and not (result.state == "empty" and table.quick):
            raise TableError(f"{alias} fails without a mutant: {result.by}")
        seconds[alias] = result.seconds
    return seconds


def run(
    table: Table, mutants: Sequence[Mutant], tree: Path, jobs: int = 1, out: Path | None = None
) -> list[Verdict]:
    """Judge the mutants, `jobs` at once. Raises TableError."""
    changes, verdicts, lock = changes_of(mutants, places(tree)), list[Verdict](), threading.Lock()
    begin, copies = time.monotonic(), SimpleQueue[Copy]()
    with tempfile.TemporaryDirectory(prefix="mutants-") as scratch:
        database = Database(Path(scratch) / "neo4j")

        def one(mutant: Mutant, change: Change) -> None:
            copy = copies.get()
            verdict = judge(mutant, change, copy, table, unmutated_s)
            copies.put(copy)
            with lock:
                verdicts.append(verdict)
                print(f"{verdict.state}  {verdict.id}  {verdict.by}  {verdict.seconds} s", flush=True)
                if out is not None:
                    out.write_text(report(verdicts, tree, time.monotonic() - begin))

        try:
            first = Copy(tree, Path(scratch) / "0", database)
            unmutated_s = check_suites(table, mutants, first)
            for copy in (first, *(Copy(tree, Path(scratch) / str(n), database) for n in range(1, jobs))):
                copies.put(copy)
            with ThreadPoolExecutor(jobs) as pool:
                list(pool.map(one, mutants, changes))
        finally:
            database.stop()
    return verdicts


def not_caught(verdicts: Sequence[Verdict]) -> list[str]:
    """Ids of those that no suite noticed."""
    return [verdict.id for verdict in verdicts if verdict.state.isupper()]


def report(verdicts: Sequence[Verdict], tree: Path, seconds: float) -> str:
    """All that was found, as JSON."""
    caught = len(verdicts) - len(not_caught(verdicts))
    found = {"tree": str(tree), "caught": caught, "of": len(verdicts), "seconds": round(seconds)}
    return json.dumps({**found, "mutants": [asdict(verdict) for verdict in verdicts]}, indent=1) + "\n"


def print_drawn(table: Table, mutants: Sequence[Mutant]) -> None:
    """Drawn mutants as the table takes them: with their room's suites, which may then be narrowed by hand."""
    for mutant in mutants:
        print("\n[[mutant]]\ndrawn = true")
        for name in ("id", "room", "where", "before", "after"):
            print(f"{name} = {json.dumps(getattr(mutant, name), ensure_ascii=False)}")
        print(f"suites = {json.dumps(table.rooms[mutant.room])}")


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="scripts.mutants", description="Whether the tests notice faults.")
    parser.add_argument("--only", action="append", metavar="ID", help="this mutant; may be given again")
    parser.add_argument("--tree", type=Path, default=OWN_TREE, help="another checkout; its own table counts")
    parser.add_argument("--quick", action="store_true", help="by what `make test` runs, without Neo4j")
    parser.add_argument("--out", type=Path, metavar="FILE.json", help="written after every mutant")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="mutants at once")
    parser.add_argument("--draw", type=int, metavar="N", help="print N drawn ones of each room, run nothing")
    parser.add_argument("--seed", type=int, default=13, help="of --draw")
    options = parser.parse_args(arguments)
    tree, begin = options.tree.resolve(), time.monotonic()
    try:
        table = load(next(path for path in (tree / TABLE, OWN_TREE / TABLE) if path.exists()), options.quick)
        if options.draw:
            print_drawn(table, draw(places(tree), table.rooms, options.seed, options.draw, table.equivalent))
            return 0
        mutants = [mutant for mutant in table.mutants if mutant.id in (options.only or [mutant.id])]
        if unknown := set(options.only or ()).difference(mutant.id for mutant in mutants):
            raise TableError(f"no mutant is called {', '.join(sorted(unknown))}")
        verdicts = run(table, mutants, tree, options.jobs, options.out)
    except TableError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    left, count = not_caught(verdicts), len(verdicts)
    ratio = 1 - len(left) / count
    print(f"{count - len(left)} of {count} caught ({ratio:.1%}) in {time.monotonic() - begin:.0f} s")
    print("".join(f"not caught: {each}\n" for each in left), end="")
    return 0 if ratio >= ENOUGH else 1


if __name__ == "__main__":
    sys.exit(main())
