"""The Java client as it is published: scenarios, and the programs of its README, run from the jar."""

import asyncio
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from zipfile import ZipFile

import pytest
import pytest_asyncio

from tests.clients.java import JAR, PACKAGE, built, driver
from tests.clients.test_scenarios import LONG, SHORT, passed
from tests.support.documents import blocks
from tests.support.service import Service, environment
from tests.support.store_spec import StoreSpec

PROGRAMS = [block for block in blocks(PACKAGE / "README.md") if block.language == "java"]
PRINTED = (
    "2 messages are in the graph",
    "Alice moved to Berlin.",
    "Alice works at Acme.",
    "processed",
    "100 stored",
)
LINES = 10
DONE_S = 240.0
WAYS = {"blocking": (), "async": ("--async",)}


@pytest.fixture(scope="module", autouse=True)
def target() -> Path:
    return built()


@pytest.mark.parametrize("way", WAYS)
async def test_scenarios(way: str, embedded_spec: StoreSpec, tmp_path: Path, group: str) -> None:
    await passed(driver(*WAYS[way]), SHORT, embedded_spec, tmp_path, group)


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
async def test_long_scenarios(way: str, embedded_spec: StoreSpec, tmp_path: Path, group: str) -> None:
    await passed(driver(*WAYS[way]), LONG, embedded_spec, tmp_path, group)


@pytest_asyncio.fixture
async def server(tmp_path: Path) -> AsyncIterator[Service]:
    async with Service({"store.data_dir": str(tmp_path / "data")}, tmp_path) as service:
        yield service


async def done(folder: Path, program: Path, server: str) -> str:
    """What a program prints that jshell runs with the jar and what it needs, and nothing else."""
    process = await asyncio.create_subprocess_exec(
        "jshell",
        "--class-path",
        ":".join(map(str, sorted((folder / "lib").glob("*.jar")))),
        str(program),
        env=environment({}) | {"KGSVC_SERVER": server, "HOME": str(folder)},
        cwd=folder,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        async with asyncio.timeout(DONE_S):
            out, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return out.decode()


async def test_programs_of_the_readme_run_as_printed(target: Path, server: Service, tmp_path: Path) -> None:
    folder = tmp_path / "clean"
    shutil.copytree(target / "lib", folder / "lib")
    shutil.copy(JAR, folder / "lib")
    (folder / "handbook").mkdir()
    (folder / "handbook" / "staff.md").write_text("# Staff\n\nDora works at Lumen Labs.\n")
    assert len(PROGRAMS) == len(PRINTED)
    for number, (block, printed) in enumerate(zip(PROGRAMS, PRINTED, strict=True)):
        assert len([line for line in block.text.splitlines() if line.strip()]) <= LINES, block.place
        program = folder / f"program{number}.jsh"
        program.write_text(block.text)
        said = await done(folder, program, server.address)
        assert printed in said, block.place
        assert "|" not in said, (block.place, said)  # with which jshell begins what it does not like


def test_the_jars_hold_classes_sources_and_documentation() -> None:
    for kind, name in (("", "Client.class"), ("-sources", "Client.java"), ("-javadoc", "Client.html")):
        with ZipFile(JAR.with_name(f"{JAR.stem}{kind}.jar")) as archive:
            assert f"io/github/kgsvc/client/{name}" in archive.namelist()
