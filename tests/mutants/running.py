"""Running suites on a copy of the tree in which one mutant is planted."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from neo4j import Driver, GraphDatabase

from tests.mutants.table import NEO4J, Mutant, Table, TableError
from tests.support.neo4j_server import VERSIONS, Neo4jServer, Running, cache_folder

_LEFT_OUT = ("clients", "node_modules", "__pycache__", ".*")
_FAILED = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)
_FACTOR, _MARGIN_S = 3, 60.0  # time-out: so many times what the suite takes unmutated, and so much more
_END_S = 20.0  # for pytest to stop the servers of its tests
_NOTHING_SELECTED = 5


@dataclass(frozen=True, slots=True)
class Result:
    """What a run of one suite came to."""

    state: str  # passed, failed, timeout
    by: str  # the test that failed first, and what pytest printed last where none is named
    seconds: float


class Database:
    """At most one Neo4j, started when a suite first needs it, and used by one suite at a time."""

    def __init__(self, home: Path) -> None:
        self._server = Neo4jServer(VERSIONS[NEO4J], home)
        self._running: Running | None = None
        self._turn = threading.Lock()

    @contextmanager
    def emptied(self) -> Iterator[str]:
        """A value for KGSVC_TEST_NEO4J: an empty database, schema included, for the length of the block."""
        with self._turn:
            running = self._running = self._running or self._server.start()
            with GraphDatabase.driver(running.uri, auth=(running.user, running.password)) as driver:
                _empty(driver)
            yield f"{running.uri};{running.password};{NEO4J}"

    def stop(self) -> None:
        """Stop it if it runs."""
        if self._running is not None:
            self._server.stop()


def _empty(driver: Driver) -> None:
    with driver.session(database="neo4j") as session:
        session.run("MATCH (n) CALL (n) { DETACH DELETE n } IN TRANSACTIONS OF 5000 ROWS").consume()
        for kind, all_of_them in (("CONSTRAINT", "CONSTRAINTS"), ("INDEX", "INDEXES")):
            shown = session.run(f"SHOW {all_of_them} YIELD name, type WHERE type <> 'LOOKUP'").values()
            for name, _ in shown:
                session.run(f"DROP {kind} `{name}`").consume()


class Copy:
    """A copy of a tree. Its modules are changed and put back; the tree itself never is."""

    def __init__(self, tree: Path, folder: Path, table: Table, database: Database) -> None:
        shutil.copytree(tree, folder, ignore=shutil.ignore_patterns(*_LEFT_OUT))
        self._tree, self._folder = tree, folder
        self._table, self._database = table, database

    @contextmanager
    def planted(self, path: Path, text: str) -> Iterator[None]:
        """The module at `path` of the tree says `text` for the length of the block."""
        copied = self._folder / path.relative_to(self._tree)
        before = copied.read_text(encoding="utf-8")
        _write(copied, text)
        try:
            yield
        finally:
            _write(copied, before)

    def run(self, arguments: Sequence[str], timeout_s: float | None = None) -> Result:
        """pytest with these arguments, to its first failure. Raises TableError if they select no test."""
        begin = time.monotonic()
        if any(NEO4J in argument for argument in arguments):
            with self._database.emptied() as address:
                code, said = self._pytest(arguments, {"KGSVC_TEST_NEO4J": address}, timeout_s)
        else:
            code, said = self._pytest(arguments, {}, timeout_s)
        if code == _NOTHING_SELECTED:
            raise TableError(f"no test is selected by {' '.join(arguments)}")
        first = _FAILED.search(said)
        by = first[1] if first else " ".join(said.strip().splitlines()[-1:])
        state = "timeout" if code is None else "failed" if code else "passed"
        return Result(state, "" if state == "passed" else by, round(time.monotonic() - begin, 1))

    def _pytest(
        self, arguments: Sequence[str], more: Mapping[str, str], timeout_s: float | None
    ) -> tuple[int | None, str]:
        """Its exit code, None when the time was over, and what it printed."""
        known = {name: value for name, value in os.environ.items() if not name.startswith("KGSVC_")}
        environ = {
            **known,
            **more,
            "PYTHONPATH": str(self._folder),
            "KGSVC_NEO4J_CACHE": str(cache_folder()),
            "KGSVC_REQUIRE_NEO4J": "1",
            "KGSVC_TEST_RUN": "mutants",
        }
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *arguments]
        with subprocess.Popen(
            command,
            cwd=self._folder,
            env=environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        ) as process:
            try:
                return _ended(process, timeout_s)
            finally:  # whatever a test left running in its group, also when this run is interrupted
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)


def _ended(process: subprocess.Popen[str], timeout_s: float | None) -> tuple[int | None, str]:
    try:
        said, _ = process.communicate(timeout=timeout_s)
        return process.returncode, said
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
    try:
        said, _ = process.communicate(timeout=_END_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        said, _ = process.communicate()
    return None, said


def _write(path: Path, text: str) -> None:
    """The bytecode goes too: it is told from an older one by seconds and size alone."""
    path.write_text(text, encoding="utf-8")
    Path(importlib.util.cache_from_source(str(path))).unlink(missing_ok=True)


def timeout_of(unmutated_s: float) -> float:
    """How long a suite may take with a mutant."""
    return _FACTOR * unmutated_s + _MARGIN_S


def whole_suites(table: Table, mutants: Sequence[Mutant]) -> dict[str, list[str]]:
    """By alias the arguments that select every test which these mutants need."""
    keywords: dict[str, set[str]] = {}
    for suite in (suite for mutant in mutants for suite in mutant.suites):
        alias, _, keyword = suite.partition(":")
        keywords.setdefault(alias, set()).add(keyword)
    return {
        alias: table.arguments(alias, () if "" in wanted else wanted) for alias, wanted in keywords.items()
    }
