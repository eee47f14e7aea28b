"""The drivers of clients/scenarios in other languages than Python, built once a session."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.spawning import REPOSITORY

GO = REPOSITORY / "clients" / "go"
FLAGS = "-trimpath"  # what is compiled once serves all tests, wherever its modules are
BUILT_S = 600


def tool(name: str) -> str:
    """A tool of another language. Skips the test without it, where CI does not insist on it."""
    found = shutil.which(name)
    if found is None:
        if os.environ.get("KGSVC_REQUIRE_CLIENTS") == "1":
            pytest.fail(f"KGSVC_REQUIRE_CLIENTS=1, but there is no {name}", pytrace=False)
        pytest.skip(f"CLIENT NOT TESTED: there is no {name} on the PATH")
    return found


@pytest.fixture(scope="session")
def go_driver(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """How the driver in Go is started."""
    program: Path = tmp_path_factory.mktemp("go") / "scenarios"
    build = [tool("go"), "build", FLAGS, "-o", str(program), "./scenarios"]
    subprocess.run(build, cwd=GO, check=True, timeout=BUILT_S)
    return [str(program)]
