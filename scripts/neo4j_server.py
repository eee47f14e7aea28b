"""A real Neo4j without Docker: jars from Maven Central, one small Java launcher, loopback only.

    python -m scripts.neo4j_server jars [VERSION...]       download once into the cache
    python -m scripts.neo4j_server start VERSION HOME      start in the background, print its address;
                                                                 with --lasting as one that serves for long
    python -m scripts.neo4j_server stop HOME               stop what `start` started there

What it is made of, and where that is kept: neo4j_files.
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType

from neo4j import GraphDatabase
from neo4j.exceptions import Neo4jError, ServiceUnavailable

from scripts.neo4j_files import CONF, SHORT, VERSIONS, Unavailable, command, free_port, jars

READY_S = 180.0
STOP_S = 60.0

# Groups come and go in tests: by default most plans would be thought stale, and made again, every 10 s.
# Its databases closed, a server would wait ten seconds more for connections that are all gone.
_SHORT_CONF = """\
dbms.cypher.min_replan_interval=10m
internal.server.bolt.thread_pool_shutdown_wait_time=0s
"""
_LASTING = ("-Xms1g", "-Xmx3g", "-XX:+UseG1GC")


@dataclass(frozen=True, slots=True)
class Running:
    """How to reach a started server."""

    version: str
    home: str
    pid: int
    uri: str
    password: str
    user: str = "neo4j"


class Neo4jServer:
    """A server of one version on a home folder. As a context manager: started, ready, stopped at the end.

    Starting again on the same home keeps the data, the port and the password. A linked server ends when
    this process does, however it ends. A lasting server has the memory, the compilers and the plans of
    one in production, for benchmarks.
    """

    def __init__(
        self, version: str, home: Path, port: int | None = None, *, linked: bool = True, lasting: bool = False
    ) -> None:
        self.version = version
        self.linked = linked
        self.lasting = lasting
        self.home = Path(home).resolve()
        before = _read_state(self.home)
        self.port = port or (int(before.uri.rpartition(":")[2]) if before else free_port())
        self.password = before.password if before else secrets.token_hex(12)
        self._password_set = before is not None
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def uri(self) -> str:
        """Where the driver connects."""
        return f"bolt://127.0.0.1:{self.port}"

    def start(self) -> Running:
        """Start and wait until it answers. Unavailable with the end of its log when it does not."""
        (self.home / "conf").mkdir(parents=True, exist_ok=True)
        (self.home / "conf" / "neo4j.conf").write_text(self._conf())
        linked = ["linked"] if self.linked else []
        started = command(self.version, _LASTING if self.lasting else SHORT, str(self.home), *linked)
        stdin = subprocess.PIPE if self.linked else subprocess.DEVNULL
        with (self.home / "server.log").open("ab") as log:
            self._process = subprocess.Popen(
                started, stdin=stdin, stdout=log, stderr=log, start_new_session=True
            )
        running = Running(self.version, str(self.home), self._process.pid, self.uri, self.password)
        try:
            self._await_ready(time.monotonic() + READY_S)
        except BaseException:
            self.stop()
            raise
        (self.home / "server.json").write_text(json.dumps(asdict(running)))
        return running

    def _conf(self) -> str:
        conf = CONF.format(port=self.port, pagecache="512m" if self.lasting else "192m")
        return conf if self.lasting else conf + _SHORT_CONF

    def stop(self, kill: bool = False) -> None:
        """Stop it by its own pid: orderly, or (kill) as a crash would."""
        process, self._process = self._process, None
        if process is None:
            return
        if process.poll() is None:
            process.send_signal(signal.SIGKILL if kill else signal.SIGTERM)
            try:
                process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(STOP_S)
        if process.stdin is not None:
            process.stdin.close()

    def _await_ready(self, deadline: float) -> None:
        while not self._answers():
            if self._process is None or self._process.poll() is not None:
                raise Unavailable(f"Neo4j {self.version} ended while starting:\n{self._log_end()}")
            if time.monotonic() > deadline:
                raise Unavailable(f"Neo4j {self.version} was not ready in time:\n{self._log_end()}")
            time.sleep(0.3)

    def _answers(self) -> bool:
        """Whether it takes our password; sets it on a fresh home."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1):
                pass
        except OSError:
            return False
        with suppress(ServiceUnavailable, Neo4jError):
            if not self._password_set:
                self._set_password()
                self._password_set = True
            with GraphDatabase.driver(self.uri, auth=("neo4j", self.password)) as driver:
                driver.execute_query("RETURN 1", database_="neo4j")
                return True
        return False

    def _set_password(self) -> None:
        statement = "ALTER CURRENT USER SET PASSWORD FROM 'neo4j' TO $password"
        with (
            GraphDatabase.driver(self.uri, auth=("neo4j", "neo4j")) as driver,
            driver.session(database="system") as session,
        ):
            session.run(statement, password=self.password).consume()

    def _log_end(self) -> str:
        return (self.home / "server.log").read_text(errors="replace")[-3000:]

    def __enter__(self) -> Neo4jServer:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def _read_state(home: Path) -> Running | None:
    path = Path(home) / "server.json"
    return Running(**json.loads(path.read_text())) if path.exists() else None


def stop_home(home: Path) -> bool:
    """Stop the server that `start` left running on this home; False when there is none."""
    state = _read_state(home.resolve())
    if state is None or not _is_ours(state):
        return False
    os.kill(state.pid, signal.SIGTERM)
    deadline = time.monotonic() + STOP_S
    while _is_ours(state):
        if time.monotonic() > deadline:
            os.kill(state.pid, signal.SIGKILL)
        time.sleep(0.2)
    return True


def _is_ours(state: Running) -> bool:
    """Whether the pid still is the launcher on this home (pids are used again)."""
    asked = subprocess.run(
        ["ps", "-ww", "-o", "stat=,args=", "-p", str(state.pid)], capture_output=True, text=True, check=False
    )
    return state.home in asked.stdout and not asked.stdout.startswith("Z")


def main(arguments: list[str]) -> int:
    """The command line of this file."""
    parser = argparse.ArgumentParser(prog="neo4j_server")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("jars").add_argument("versions", nargs="*", default=list(VERSIONS.values()))
    start = commands.add_parser("start")
    start.add_argument("version")
    start.add_argument("home", type=Path)
    start.add_argument("--port", type=int)
    start.add_argument("--lasting", action="store_true", help="memory, compilers and plans as in production")
    commands.add_parser("stop").add_argument("home", type=Path)
    options = parser.parse_args(arguments)
    try:
        return _run(options)
    except Unavailable as error:
        sys.stderr.write(f"{error}\n")
        return 1


def _run(options: argparse.Namespace) -> int:
    if options.command == "jars":
        for version in options.versions:
            sys.stdout.write(f"{jars(version)}\n")
        return 0
    if options.command == "start":
        server = Neo4jServer(
            options.version, options.home, options.port, linked=False, lasting=options.lasting
        )
        running = server.start()
        sys.stdout.write(json.dumps(asdict(running)) + "\n")
        return 0
    return 0 if stop_home(options.home) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
