"""The Java client as it is published: scenarios, and the programs of its README, run from the jar."""

import json
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from zipfile import ZipFile

import pytest
import pytest_asyncio

from kgsvc.api.errors import CallFailure
from kgsvc.domain.errors import Violation
from tests.clients.java import JAR, PACKAGE, built, driver
from tests.clients.programs import run
from tests.clients.test_retries import PASSING, PERMANENT, service
from tests.clients.test_scenarios import LONG, SHORT, passed
from tests.clients.worlds import written
from tests.support.documents import blocks
from tests.support.service import Service
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
@pytest.mark.parametrize("way", ["async", pytest.param("blocking", marks=pytest.mark.soak)])
async def test_long_scenarios(way: str, embedded_spec: StoreSpec, tmp_path: Path, group: str) -> None:
    await passed(driver(*WAYS[way]), LONG, embedded_spec, tmp_path, group)


@pytest_asyncio.fixture
async def server(tmp_path: Path) -> AsyncIterator[Service]:
    async with Service({"store.data_dir": str(tmp_path / "data")}, tmp_path) as service:
        yield service


async def done(folder: Path, *words: str, **variables: str) -> str:
    """What a program prints."""
    ended = await run(folder, words, DONE_S, **variables)
    return ended.out + ended.err


async def test_refusals_are_told_and_what_passes_is_tried_again_with_the_same_key(tmp_path: Path) -> None:
    step = {"do": "add", "items": ["Ann met Bea."]}
    refused = [{"code": code, "fields": ["input.items"], "request_id": True} for code in PERMANENT]
    steps = [
        *({**step, "error": error} for error in refused),
        *({**step, "expect": {"id": "r"}} for _ in PASSING),
    ]
    wrong = (Violation("input.items", "is wrong"),)
    answers: list[CallFailure | None] = [CallFailure(code, "no", wrong) for code in PERMANENT]
    for code in PASSING:
        answers += [CallFailure(code, "not now", retry_after_ms=20)] * 2 + [None]
    async with service(lambda number: answers[number - 1]) as (address, sent):
        setup = written(tmp_path, "setup.json", {"worlds": {"open": {"server": address}}, "group": "g"})
        scenarios = written(tmp_path, "scenarios.json", [{"name": "codes", "steps": steps}])
        said = await done(tmp_path, *driver(), str(setup), str(scenarios))
    assert json.loads(said) == {"name": "codes", "problem": None}
    assert len(sent) == len(answers)
    for first in range(len(PERMANENT), len(sent), 3):
        assert sent[first].idempotency_key
        assert sent[first] == sent[first + 1] == sent[first + 2]
    assert len({each.idempotency_key for each in sent}) == len(steps)


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
        path = ":".join(map(str, sorted((folder / "lib").glob("*.jar"))))
        variables = {"KGSVC_SERVER": server.address, "HOME": str(folder)}
        said = await done(folder, "jshell", "-s", "--class-path", path, str(program), **variables)
        assert printed in said, block.place
        assert "Error:" not in said, (block.place, said)
        assert "Exception" not in said, (block.place, said)


def test_the_jars_hold_classes_sources_and_documentation() -> None:
    for kind, name in (("", "Client.class"), ("-sources", "Client.java"), ("-javadoc", "Client.html")):
        with ZipFile(JAR.with_name(f"{JAR.stem}{kind}.jar")) as archive:
            assert any(each.endswith(f"io/github/kgsvc/client/{name}") for each in archive.namelist())
