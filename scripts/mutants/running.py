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
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from neo4j import Driver, GraphDatabase

from scripts.mutants.anchors import Change
from scripts.mutants.table import NEO4J
from scripts.neo4j_files import VERSIONS, cache_folder
from scripts.neo4j_server import Neo4jServer, Running

_LEFT_OUT = shutil.ignore_patterns("clients", "node_modules", "__pycache__", ".*")
_FAILED = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)
_END_S = 20.0  # for pytest to stop the servers of its tests
_STATES = {0: "passed", 5: "empty", None: "timeout"}  # by exit code of pytest; any other: failed


@dataclass(frozen=True, slots=True)
class Result:
    """What a run of pytest came to."""

    state: str  # passed, failed, timeout, or empty: it selected no test
    by: str  # the test that failed first, or what pytest printed last
    seconds: float


class Database:
    """At most one Neo4j, started when a suite first needs it, and used by one suite at a time."""

    def __init__(self, home: Path) -> None:
        self._server = Neo4jServer(VERSIONS[NEO4J], home)
        self._running: Running | None = None
        self._turn = threading.Lock()

    @contextmanager
    def emptied(self) -> Iterator[str]:
        """An empty database, its schema included, as KGSVC_TEST_NEO4J names it."""
        with self._turn:
            running = self._running = self._running or self._server.start()
            with GraphDatabase.driver(running.uri, auth=(running.user, running.password)) as driver:
                _empty(driver)
            yield f"{running.uri};{running.password};{NEO4J}"

    def stop(self) -> None:
        """Stop it if it runs."""
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

    def __init__(self, tree: Path, folder: Path, database: Database) -> None:
        shutil.copytree(tree, folder, ignore=_LEFT_OUT)
        self._tree, self._folder, self._database = tree, folder, database

    @contextmanager
    def planted(self, change: Change) -> Iterator[None]:
        """A file of the tree has another text for the length of the block."""
        path, text = change
        copied = self._folder / path.relative_to(self._tree)
        before = copied.read_text(encoding="utf-8")
        _write(copied, text)
        try:
            yield
        finally:
            _write(copied, before)

    def run(self, arguments: Sequence[str], timeout_s: float | None = None) -> Result:
        """pytest with these arguments, to its first failure."""
        begin, environ = time.monotonic(), self._environ()
        if any(NEO4J in argument for argument in arguments):
            with self._database.emptied() as environ["KGSVC_TEST_NEO4J"]:
                code, said = self._pytest(arguments, environ, timeout_s)
        else:
            code, said = self._pytest(arguments, environ, timeout_s)
        first = _FAILED.search(said)
        by = first[1] if first else "".join(said.strip().splitlines()[-1:])
        return Result(_STATES.get(code, "failed"), by, round(time.monotonic() - begin, 1))

    def _environ(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("KGSVC_")}
        return kept | {
            "PYTHONPATH": str(self._folder),
            "KGSVC_NEO4J_CACHE": str(cache_folder()),
            "KGSVC_REQUIRE_NEO4J": "1",
            "KGSVC_TEST_RUN": "mutants",  # the same uuids in every run
        }

    def _pytest(
        self, arguments: Sequence[str], environ: dict[str, str], timeout_s: float | None
    ) -> tuple[int | None, str]:
        """Its exit code, None when the time was over, and what it printed."""
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
                said, _ = process.communicate(timeout=timeout_s)
                return process.returncode, said
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGINT)
                with suppress(subprocess.TimeoutExpired):
                    process.wait(_END_S)
                return None, ""
            finally:  # whatever it left running in its group, also when this run is interrupted
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)


def _write(path: Path, text: str) -> None:
    """The bytecode goes too: it is told from an older one by seconds and size alone."""
    path.write_text(text, encoding="utf-8")
    Path(importlib.util.cache_from_source(str(path))).unlink(missing_ok=True)
