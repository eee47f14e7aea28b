"""The drivers of clients/scenarios in other languages than Python, built once a session."""

import subprocess
from pathlib import Path

import pytest

from tests.clients.programs import tool
from tests.support.spawning import REPOSITORY

GO = REPOSITORY / "clients" / "go"
FLAGS = "-trimpath"  # what is compiled once serves all tests, wherever its modules are
BUILT_S = 600


@pytest.fixture(scope="session")
def go_driver(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """How the driver in Go is started."""
    program: Path = tmp_path_factory.mktemp("go") / "scenarios"
    build = [tool("go"), "build", FLAGS, "-o", str(program), "./scenarios"]
    subprocess.run(build, cwd=GO, check=True, timeout=BUILT_S)
    return [str(program)]
