"""Every command, console session and Python program of README and docs/ runs, against a real server.

The pages are worked through in order, from one folder, as a reader would. The address that they name stands
for the server of this test.
"""

import asyncio
import os
import re
import shutil
import signal
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
import pytest_asyncio

from scripts.neo4j_files import free_port
from tests.support.documents import REPOSITORY, Block, commands, prints, steps, unprinted
from tests.support.service import Service, environment

pytestmark = pytest.mark.asyncio(loop_scope="module")
SHOWN_ADDRESS = "127.0.0.1:50051"
SHOWN_SECURE_ADDRESS = "127.0.0.1:50443"  # of servers that the pages start themselves
SHELL = ("bash", "-euo", "pipefail", "-c")
PYTHON = ("python", "-c")
CLIENT = REPOSITORY / "clients" / "python"
DONE_S = 120.0
_READY = re.compile(rb"listening on |working on the queue")


@dataclass(frozen=True, slots=True)
class Reader:
    """Who follows the pages: a folder to work in, and a server."""

    folder: Path
    server: Service
    variables: Mapping[str, str]
    secure_address: str

    async def runs(self, text: str, program: Sequence[str] = SHELL) -> str:
        """What a script prints; it must succeed."""
        shown = text.replace(SHOWN_SECURE_ADDRESS, self.secure_address)
        process = await self._start(*program, shown.replace(SHOWN_ADDRESS, self.server.address))
        async with asyncio.timeout(DONE_S):
            out, err = await process.communicate()
        assert process.returncode == 0, f"{out.decode()}\n{err.decode()}\n{self.server.said()}"
        return out.decode()

    async def serves(self, command: str) -> None:
        """Run a `kgsvc serve` until it is ready, then end it, in order."""
        words = command.replace(SHOWN_ADDRESS, "127.0.0.1:0").replace(SHOWN_SECURE_ADDRESS, "127.0.0.1:0")
        process = await self._start(*SHELL, f"exec {words}")
        assert process.stdout is not None
        try:
            async with asyncio.timeout(DONE_S):
                line = await process.stdout.readline()
            assert _READY.search(line), line
        finally:
            if process.returncode is None:
                process.send_signal(signal.SIGTERM)
            await process.communicate()
        assert process.returncode == 0

    async def _start(self, program: str, *arguments: str) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            program,
            *arguments,
            cwd=self.folder,
            env=dict(self.variables),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )


def _programs(folder: Path) -> None:
    """`kgsvc` and `python` as these tests run them, and grpcurl where there is one."""
    folder.mkdir()
    for name, command in {"kgsvc": f'"{sys.executable}" -m kgsvc', "python": f'"{sys.executable}"'}.items():
        script = folder / name
        script.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
        script.chmod(0o755)
    if grpcurl := os.environ.get("GRPCURL") or shutil.which("grpcurl"):
        (folder / "grpcurl").symlink_to(Path(grpcurl).resolve())


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def reader(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Reader]:
    folder = tmp_path_factory.mktemp("reader")
    programs = tmp_path_factory.mktemp("path") / "bin"
    _programs(programs)
    async with Service({"store.data_dir": str(folder / "data")}, tmp_path_factory.mktemp("server")) as server:
        variables = environment({"server.metrics_listen": ""}) | {"KGSVC_SERVER": server.address}
        paths = f"{programs}{os.pathsep}{variables['PATH']}"
        path = os.pathsep.join([str(REPOSITORY), str(CLIENT), variables.get("PYTHONPATH", "")])
        secure = f"127.0.0.1:{free_port()}"
        yield Reader(folder, server, variables | {"PATH": paths, "PYTHONPATH": path}, secure)


def _needs_grpcurl(block: Block) -> None:
    if "grpcurl" not in block.text or os.environ.get("GRPCURL") or shutil.which("grpcurl"):
        return
    if os.environ.get("KGSVC_REQUIRE_GRPCURL") == "1":
        pytest.fail("KGSVC_REQUIRE_GRPCURL=1, but there is no grpcurl", pytrace=False)
    pytest.skip("NOT TESTED BY GRPCURL: there is no grpcurl on the PATH")


@pytest.mark.parametrize("block", commands(), ids=lambda block: block.place)
async def test_a_block_of_the_pages_runs(block: Block, reader: Reader) -> None:
    _needs_grpcurl(block)
    if block.language == "python":
        printed = await reader.runs(block.text, PYTHON)
        missing = unprinted(block.text, printed)
        assert missing is None, f"printed\n{printed}\nand not\n{missing}"
    elif block.language == "console":
        for step in steps(block):
            printed = await reader.runs(step.command)
            shown = step.output.replace(SHOWN_ADDRESS, reader.server.address)
            assert prints(shown, printed), f"{step.command}\nprinted\n{printed}\nand not\n{shown}"
    elif block.text.startswith("kgsvc serve") and "\n" not in block.text:
        await reader.serves(block.text)
    else:
        await reader.runs(block.text)
