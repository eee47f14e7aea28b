"""The Go client as it is published: the programs of its README run in a clean module; its own tests pass."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from zipfile import ZipFile

import pytest
import pytest_asyncio

from tests.clients.drivers import FLAGS, GO
from tests.clients.programs import succeed, tool
from tests.support.documents import blocks
from tests.support.service import Service

pytestmark = pytest.mark.asyncio(loop_scope="module")
PROGRAMS = [block for block in blocks(GO / "README.md") if block.text.startswith("package main")]
PRINTED = (
    "2 messages are in the graph",
    "Alice moved to Berlin.",
    "Alice works at Acme.",
    "handbook/staff.md new",
)
LINES = 10
DONE_S = 600.0
VERSION = "v0.1.0"
PATH = (GO / "go.mod").read_text().split()[1]


async def done(folder: Path, *words: str, **variables: str) -> str:
    """What a command of Go prints; it must succeed."""
    return await succeed(folder, (tool("go"), *words), DONE_S, **{"GOFLAGS": FLAGS, **variables})


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def module(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """A clean module that has the client from a proxy, which holds what it needs and nothing beside it."""
    await done(GO, "build", "./kgsvc")  # then the cache has what it needs
    proxy, folder = tmp_path_factory.mktemp("proxy"), tmp_path_factory.mktemp("clean")
    await asyncio.to_thread(_published, proxy / PATH / "@v")
    cache = (await done(GO, "env", "GOMODCACHE")).strip()
    variables = {
        "GOPROXY": f"file://{proxy},file://{cache}/cache/download",
        "GOMODCACHE": str(tmp_path_factory.mktemp("cache")),
        "GOFLAGS": f"{FLAGS} -modcacherw",
        "GOSUMDB": "off",
    }
    await done(folder, "mod", "init", "example.org/program", **variables)
    await done(folder, "get", f"{PATH}/kgsvc@{VERSION}", **variables)
    return folder, variables


def _published(folder: Path) -> None:
    """The client as a module proxy has it."""
    folder.mkdir(parents=True)
    (folder / "list").write_text(f"{VERSION}\n")
    (folder / f"{VERSION}.info").write_text(json.dumps({"Version": VERSION, "Time": "2025-01-01T00:00:00Z"}))
    (folder / f"{VERSION}.mod").write_bytes((GO / "go.mod").read_bytes())
    with ZipFile(folder / f"{VERSION}.zip", "w") as archive:
        for path in (GO / "go.mod", GO / "go.sum", GO / "README.md", *(GO / "kgsvc").rglob("*.go")):
            archive.write(path, f"{PATH}@{VERSION}/{path.relative_to(GO)}")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Service]:
    folder = tmp_path_factory.mktemp("server")
    async with Service({"store.data_dir": str(folder / "data")}, folder) as service:
        yield service


async def test_programs_of_the_readme_run_as_printed(
    module: tuple[Path, dict[str, str]], server: Service
) -> None:
    folder, variables = module
    (folder / "handbook").mkdir()
    (folder / "handbook" / "staff.md").write_text("# Staff\n\nDora works at Lumen Labs.\n")
    assert len(PROGRAMS) == len(PRINTED)
    for block, printed in zip(PROGRAMS, PRINTED, strict=True):
        assert len([line for line in block.text.splitlines() if line.strip()]) <= LINES, block.place
        (folder / "main.go").write_text(block.text)
        assert printed in await done(folder, "run", ".", KGSVC_SERVER=server.address, **variables), (
            block.place
        )


async def test_its_own_tests_pass() -> None:
    assert "ok" in await done(GO, "test", "./kgsvc")
