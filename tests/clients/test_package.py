"""The Python client as it is published: the programs of its README run from the wheel alone."""

import asyncio
import importlib.metadata
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.clients.programs import succeed
from tests.support.documents import blocks
from tests.support.service import Service
from tests.support.spawning import REPOSITORY

pytestmark = pytest.mark.asyncio(loop_scope="module")
PACKAGE = REPOSITORY / "clients" / "python"
PROGRAMS = [block for block in blocks(PACKAGE / "README.md") if block.language == "python"]
NEEDED = ("grpcio", "protobuf", "typing_extensions")  # the last by grpcio
INSTALLED_BYTES = 40 * 1024 * 1024
PRINTED = (
    "2 messages are in the graph",
    "Alice moved to Berlin.",
    "Alice works at Acme.",
    "processed",
    "100 ",
)
LINES = 10
DONE_S = 120.0


async def done(*words: str | Path, **variables: str) -> str:
    """What a program prints; it must succeed."""
    folder = Path(variables.get("FOLDER", REPOSITORY))
    return await succeed(folder, (sys.executable, *words), DONE_S, **variables)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel installed, beside what it needs and nothing else."""
    built, folder = tmp_path_factory.mktemp("wheel"), tmp_path_factory.mktemp("clean")
    source = built / "source"
    await asyncio.to_thread(_copied, source)
    pip = ("-m", "pip", "--disable-pip-version-check", "--quiet")
    await done(*pip, "wheel", "--no-deps", "--no-build-isolation", "--no-index", "-w", built, source)
    (wheel,) = built.glob("*.whl")
    await done(*pip, "install", "--no-deps", "--no-index", "--target", folder, wheel)
    for name in NEEDED:
        for path in {Path(file).parts[0] for file in importlib.metadata.files(name) or ()} - {".."}:
            if not path.endswith((".dist-info", "__pycache__")):
                (folder / path).symlink_to(str(importlib.metadata.distribution(name).locate_file(path)))
    return folder


def _copied(target: Path) -> None:
    """The sources: a build leaves files behind."""
    for path in (*PACKAGE.glob("*.toml"), PACKAGE / "README.md", *PACKAGE.glob("kgsvc_client/**/*.py*")):
        if "__pycache__" not in path.parts:
            copy = target / path.relative_to(PACKAGE)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(path.read_bytes())
    (target / "kgsvc_client" / "py.typed").touch()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Service]:
    folder = tmp_path_factory.mktemp("server")
    async with Service({"store.data_dir": str(folder / "data")}, folder) as service:
        yield service


async def test_programs_of_the_readme_run_as_printed(
    installed: Path, server: Service, tmp_path: Path
) -> None:
    handbook = tmp_path / "handbook"
    handbook.mkdir()
    (handbook / "staff.md").write_text("# Staff\n\nDora works at Lumen Labs.\n")
    assert len(PROGRAMS) == len(PRINTED)
    for block, printed in zip(PROGRAMS, PRINTED, strict=True):
        assert len([line for line in block.text.splitlines() if line.strip()]) <= LINES, block.place
        variables = {"KGSVC_SERVER": server.address, "PYTHONPATH": str(installed), "FOLDER": str(tmp_path)}
        assert printed in await done("-S", "-c", block.text, **variables), block.place


def _bytes(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0


async def test_what_is_installed_is_small_and_typed(installed: Path) -> None:
    own = sum(map(_bytes, (installed / "kgsvc_client").rglob("*")))
    needed = sum(
        _bytes(Path(str(importlib.metadata.distribution(name).locate_file(file))))
        for name in NEEDED
        for file in importlib.metadata.files(name) or ()
        if not str(file).endswith(".pyc")
    )
    assert own + needed < INSTALLED_BYTES
    assert (installed / "kgsvc_client" / "py.typed").is_file()
    assert (installed / "kgsvc_client" / "v1" / "types_pb2.pyi").is_file()
