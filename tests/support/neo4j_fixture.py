"""Fixtures that give tests real Neo4j servers; tests/conftest.py imports them.

KGSVC_TEST_NEO4J names running servers, blank-separated `uri;password;label` (labels: neo4j-2026, neo4j-5.26);
what it does not name is started once a session. Where Neo4j cannot run the tests are skipped with the
reason, or fail if KGSVC_REQUIRE_NEO4J=1.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from scripts.neo4j_files import VERSIONS, Unavailable
from scripts.neo4j_server import Neo4jServer

NEO4J_LABELS = tuple(VERSIONS)


@dataclass(frozen=True, slots=True)
class Address:
    """How a test reaches a server."""

    uri: str
    password: str
    user: str = "neo4j"


Servers = Callable[[str], Address]


def named_servers() -> dict[str, Address]:
    """The servers of KGSVC_TEST_NEO4J by label."""
    found: dict[str, Address] = {}
    for entry in os.environ.get("KGSVC_TEST_NEO4J", "").split():
        uri, password, label = entry.split(";")
        found[label] = Address(uri, password)
    return found


def unavailable(reason: str) -> None:
    """Skip the test, or fail it where Neo4j is required (CI)."""
    if os.environ.get("KGSVC_REQUIRE_NEO4J") == "1":
        pytest.fail(f"KGSVC_REQUIRE_NEO4J=1, but {reason}", pytrace=False)
    pytest.skip(f"NOT TESTED ON NEO4J: {reason}")


@pytest.fixture(scope="session")
def neo4j_servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    """label -> Address of a running server; those started here are stopped at the end of the session."""
    known: dict[str, Address] = named_servers()
    started: list[Neo4jServer] = []
    broken: dict[str, str] = {}

    def address(label: str) -> Address:
        if label not in known and label not in broken:
            server = Neo4jServer(VERSIONS[label], _home(tmp_path_factory, label))
            try:
                running = server.start()
            except Unavailable as error:
                broken[label] = str(error)
            else:
                started.append(server)
                known[label] = Address(running.uri, running.password)
        if label in broken:
            unavailable(broken[label])
        return known[label]

    yield address
    for server in started:
        server.stop()


@contextmanager
def own_server(label: str, home: Path) -> Iterator[Neo4jServer]:
    """A Neo4j that nobody else uses, started in `home`; the test may stop and start it."""
    server = Neo4jServer(VERSIONS[label], home)
    try:
        server.start()
    except Unavailable as error:
        unavailable(str(error))
    else:
        yield server
    finally:
        server.stop()


def _home(factory: pytest.TempPathFactory, label: str) -> Path:
    return factory.mktemp(label.replace(".", "-"))
