"""python -m tests.mutants: see --help."""

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

from tests.mutants.anchors import mutated, sources
from tests.mutants.running import Copy, Database, timeout_of, whole_suites
from tests.mutants.sites import draw
from tests.mutants.table import TABLE, Mutant, Table, TableError, load

OWN_TREE = Path(__file__).resolve().parents[2]
ENOUGH = 0.95


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a mutant: `state` is caught, timeout (caught too) or SURVIVED."""

    id: str
    room: str
    drawn: bool
    state: str
    by: str
    seconds: float


def judge(
    mutant: Mutant, change: tuple[Path, str], copy: Copy, table: Table, unmutated_s: Mapping[str, float]
) -> Verdict:
    """Plant it and run its suites until one fails. Raises TableError."""
    seconds, state, by = 0.0, "SURVIVED", ""
    with copy.planted(*change):
        for suite in mutant.suites:
            limit_s = timeout_of(unmutated_s[suite.partition(":")[0]])
            result = copy.run(table.arguments(suite), limit_s)
            seconds += result.seconds
            if result.state != "passed":
                state, by = ("timeout" if result.state == "timeout" else "caught"), f"{suite}: {result.by}"
                break
    return Verdict(mutant.id, mutant.room, mutant.drawn, state, by, round(seconds, 1))


def check_suites(table: Table, mutants: Sequence[Mutant], copy: Copy) -> dict[str, float]:
    """Seconds of each suite on the tree as it is. Raises TableError for one that fails."""
    seconds: dict[str, float] = {}
    for alias, arguments in whole_suites(table, mutants).items():
        result = copy.run(arguments)
        print(f"unmutated  {alias}  {result.state}  {result.seconds} s", flush=True)
        if result.state != "passed":
            raise TableError(f"{alias} fails without a mutant: {result.by}")
        seconds[alias] = result.seconds
    return seconds


def run(options: argparse.Namespace, table: Table, mutants: Sequence[Mutant]) -> list[Verdict]:
    """Judge the mutants, `--jobs` at once. Raises TableError."""
    tree, begin, verdicts, lock = options.tree, time.monotonic(), list[Verdict](), threading.Lock()
    code = sources(tree)
    changes = [mutated(mutant, code) for mutant in mutants]  # all must have a place before any is run
    with tempfile.TemporaryDirectory(prefix="mutants-") as scratch:
        database = Database(Path(scratch) / "neo4j")
        copies: SimpleQueue[Copy] = SimpleQueue()
        for number in range(options.jobs):
            copies.put(Copy(tree, Path(scratch) / f"tree-{number}", table, database))

        def one(mutant: Mutant, change: tuple[Path, str]) -> None:
            copy = copies.get()
            try:
                verdict = judge(mutant, change, copy, table, unmutated_s)
            finally:
                copies.put(copy)
            with lock:
                verdicts.append(verdict)
                print(f"{verdict.state}  {verdict.id}  {verdict.by}  {verdict.seconds} s", flush=True)
                if options.out:
                    options.out.write_text(report(verdicts, tree, time.monotonic() - begin))

        try:
            first = copies.get()
            unmutated_s = check_suites(table, mutants, first)
            copies.put(first)
            with ThreadPoolExecutor(options.jobs) as pool:
                list(pool.map(one, mutants, changes))
        finally:
            database.stop()
    return verdicts


def report(verdicts: Sequence[Verdict], tree: Path, seconds: float) -> str:
    """All that was found, as JSON."""
    caught = sum(verdict.state != "SURVIVED" for verdict in verdicts)
    found = {"tree": str(tree), "caught": caught, "of": len(verdicts), "seconds": round(seconds)}
    return json.dumps({**found, "mutants": [asdict(verdict) for verdict in verdicts]}, indent=1) + "\n"


def print_drawn(tree: Path, table: Table, seed: int, each: int) -> None:
    """Drawn mutants as the table takes them: with their room's suites, which may then be narrowed by hand."""
    for mutant in draw(sources(tree), list(table.rooms), seed, each, table.equivalent):
        print("\n[[mutant]]\ndrawn = true")
        for name in ("id", "room", "where", "before", "after"):
            print(f"{name} = {json.dumps(getattr(mutant, name), ensure_ascii=False)}")
        print(f"suites = {json.dumps(table.rooms[mutant.room])}")


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="tests.mutants", description="Whether the tests notice faults.")
    parser.add_argument("--only", action="append", metavar="ID", help="this mutant; may be given again")
    parser.add_argument("--tree", type=Path, default=OWN_TREE, help="another checkout; its own table counts")
    parser.add_argument("--out", type=Path, metavar="FILE.json", help="written after every mutant")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="mutants at once")
    parser.add_argument(
        "--draw", type=int, metavar="N", help="print N drawn mutants of each room, run nothing"
    )
    parser.add_argument("--seed", type=int, default=13, help="of --draw")
    options = parser.parse_args(arguments)
    options.tree = options.tree.resolve()
    try:
        table = load(next(p for p in (options.tree / TABLE, OWN_TREE / TABLE) if p.exists()))
        if options.draw:
            print_drawn(options.tree, table, options.seed, options.draw)
            return 0
        mutants = [m for m in table.mutants if not options.only or m.id in options.only]
        if unknown := set(options.only or ()).difference(m.id for m in mutants):
            raise TableError(f"no mutant is called {', '.join(sorted(unknown))}")
        begin = time.monotonic()
        verdicts = run(options, table, mutants)
    except TableError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    left = [verdict.id for verdict in verdicts if verdict.state == "SURVIVED"]
    caught = len(verdicts) - len(left)
    print(
        f"{caught} of {len(verdicts)} caught ({caught / len(verdicts):.0%}), {time.monotonic() - begin:.0f} s"
    )
    if left:
        print(f"survived: {', '.join(left)}")
    return 0 if caught >= ENOUGH * len(verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
