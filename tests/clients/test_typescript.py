"""The TypeScript client: the scenarios; as it is published, the programs of its README, and its types."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from kgsvc.api.errors import CallFailure
from kgsvc.domain.errors import Violation
from tests.clients.programs import succeed
from tests.clients.test_retries import PASSING, PERMANENT, service
from tests.clients.test_scenarios import LONG, SHORT, passed
from tests.clients.typescript import DRIVER, built
from tests.clients.worlds import written
from tests.support.documents import blocks
from tests.support.service import Service
from tests.support.spawning import REPOSITORY
from tests.support.store_spec import StoreSpec

PROGRAMS = [
    block.text
    for block in blocks(REPOSITORY / "clients" / "typescript" / "README.md")
    if block.language == "ts"
]
PRINTED = ("2 messages are in the graph", "Alice moved to Berlin.", "Alice works at Acme.", "processed")
NEEDED = ("@bufbuild/protobuf", "@connectrpc/connect", "@connectrpc/connect-node")
STRICT = {"strict": True, "module": "nodenext", "target": "es2022", "types": ["node"], "noEmit": True}
LINES = 10
DONE_S = 120.0


async def done(folder: Path, *words: str | Path, **variables: str) -> str:
    """What a command prints; it must succeed."""
    return await succeed(folder, words, DONE_S, **variables)


async def test_scenarios(embedded_spec: StoreSpec, tmp_path: Path, group: str) -> None:
    await asyncio.to_thread(built)
    await passed(DRIVER, SHORT, embedded_spec, tmp_path, group)


@pytest.mark.slow
async def test_long_scenarios(embedded_spec: StoreSpec, tmp_path: Path, group: str) -> None:
    await asyncio.to_thread(built)
    await passed(DRIVER, LONG, embedded_spec, tmp_path, group)


@pytest_asyncio.fixture
async def package() -> Path:
    return await asyncio.to_thread(built)


async def test_what_passes_is_tried_again_and_no_refusal(package: Path, tmp_path: Path) -> None:
    add = {"do": "add", "items": ["Ann met Bea."]}
    wrong = (Violation("input.items", "is wrong"),)
    refused = [{**add, "error": {"code": code, "fields": ["input.items"]}} for code in PERMANENT]
    stored = [{**add, "expect": {"id": "r"}} for _ in PASSING]

    def answers(number: int) -> CallFailure | None:
        passing = number - len(PERMANENT) - 1
        if passing < 0:
            return CallFailure(PERMANENT[number - 1], "no", wrong)
        return None if passing % 3 == 2 else CallFailure(PASSING[passing // 3], "not now", retry_after_ms=20)

    async with service(answers) as (address, sent):
        setup = {"worlds": {"open": {"server": address}}, "group": "g"}
        scenarios = [{"name": "retries", "steps": refused + stored}]
        files = written(tmp_path, "setup.json", setup), written(tmp_path, "scenarios.json", scenarios)
        await done(package, *DRIVER, *files)
    assert len(sent) == len(PERMANENT) + 3 * len(PASSING)
    keys = [request.idempotency_key for request in sent]
    assert all(keys)
    for first in range(len(PERMANENT), len(sent), 3):
        assert sent[first] == sent[first + 1] == sent[first + 2]
    assert len(set(keys)) == len(PERMANENT) + len(PASSING)


async def test_its_own_tests_pass(package: Path) -> None:
    assert "# fail 0" in await done(package, "npm", "test", "--silent")


@pytest_asyncio.fixture
async def tarball(package: Path, tmp_path: Path) -> Path:
    """What would be published."""
    packing = ("npm", "pack", "--silent", "--ignore-scripts", "--pack-destination", tmp_path)
    return tmp_path / (await done(package, *packing)).strip()


@pytest_asyncio.fixture
async def clean(package: Path, tarball: Path, tmp_path: Path) -> Path:
    """A folder with the tarball installed, beside what it needs and nothing else."""
    modules = tmp_path / "clean" / "node_modules"
    (modules / "kgsvc-client").mkdir(parents=True)
    await done(modules, "tar", "-xzf", tarball, "-C", "kgsvc-client", "--strip-components=1")
    needed = json.loads((modules / "kgsvc-client" / "package.json").read_text())["dependencies"]
    assert tuple(needed) == NEEDED
    for name in (*NEEDED, "@types/node"):  # the last for the compiler alone
        (modules / name).parent.mkdir(exist_ok=True)
        (modules / name).symlink_to(package / "node_modules" / name)
    return modules.parent


@pytest_asyncio.fixture
async def server(tmp_path: Path) -> AsyncIterator[Service]:
    async with Service({"store.data_dir": str(tmp_path / "data")}, tmp_path) as service:
        yield service


async def test_programs_of_the_readme_run_as_printed(package: Path, clean: Path, server: Service) -> None:
    (clean / "handbook").mkdir()
    (clean / "handbook" / "staff.md").write_text("# Staff\n\nDora works at Lumen Labs.\n")
    assert len(PROGRAMS) == len(PRINTED)
    for number, (program, printed) in enumerate(zip(PROGRAMS, PRINTED, strict=True)):
        assert len([line for line in program.splitlines() if line.strip()]) <= LINES, number
        for ending in ("mjs", "mts"):
            (clean / f"program{number}.{ending}").write_text(program)
        assert printed in await done(clean, "node", f"program{number}.mjs", KGSVC_SERVER=server.address)
    (clean / "tsconfig.json").write_text(json.dumps({"compilerOptions": STRICT, "include": ["*.mts"]}))
    await done(clean, package / "node_modules" / ".bin" / "tsc")


async def test_it_is_there_for_commonjs_and_for_browsers(clean: Path, server: Service) -> None:
    required = 'new (require("kgsvc-client").Client)().health().then((it) => console.log(it.store))'
    assert "embedded" in await done(clean, "node", "-e", required, KGSVC_SERVER=server.address)
    browsed = 'import("kgsvc-client").then((it) => new it.Client()).catch((it) => console.log(it.message))'
    assert "transport" in await done(clean, "node", "--conditions=browser", "-e", browsed)


@pytest.mark.parametrize("protocol", ["connect", "grpc-web"])
async def test_it_runs_as_in_a_browser(protocol: str, package: Path, clean: Path, tmp_path: Path) -> None:
    web = "@connectrpc/connect-web"
    (clean / "node_modules" / web).symlink_to(package / "node_modules" / web)
    program = clean / "browser.mjs"
    program.write_bytes((package / "browser.mjs").read_bytes())
    settings = {"store.data_dir": str(tmp_path / "data"), "server.http_listen": "127.0.0.1:0"}
    async with Service(settings, tmp_path) as service:
        node = ("node", "--conditions=browser", "--preserve-symlinks")
        assert "done" in await done(clean, *node, program.name, protocol, service.http_url)


async def test_its_types_suit_every_way_to_import_it(package: Path, tarball: Path) -> None:
    tools = package / "node_modules" / ".bin"
    await done(package, tools / "attw", tarball)
    assert "All good" in await done(package, tools / "publint", "--strict", tarball)


async def test_its_reference_has_all_that_programs_use(package: Path, tmp_path: Path) -> None:
    await done(package, "npm", "run", "--silent", "docs", "--", "--out", tmp_path)
    shown = (tmp_path / "modules.html").read_text()
    for name in ("Client", "Group", "KgsvcError", "Fact", "Entity", "Receipt", "Report", "Changes"):
        assert f"/{name}.html" in shown, name
