"""The command line as people use it: a process of its own, beside a server that is one too."""

import asyncio
import json
import tempfile
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.service import Service, environment
from tests.support.spawning import Copy

DEADLINE_S = 60.0


@dataclass(frozen=True, slots=True)
class Done:
    """How a command ended and what it printed."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The JSON it printed, when all went well."""
        assert self.code == 0, self.err
        return json.loads(self.out)

    @property
    def sentence(self) -> str:
        """The one line in which it says why it failed."""
        assert (self.code, len(self.err.splitlines())) == (1, 1), self.err
        return self.err


async def kgsvc(*words: str | Path, stdin: str = "", settings: Mapping[str, str] | None = None) -> Done:
    """Run a command with only these settings in its environment."""
    with tempfile.TemporaryDirectory() as folder:
        given, out, err = (Path(folder) / name for name in ("given", "out", "err"))
        given.write_bytes(stdin.encode())
        process = Copy([str(word) for word in words], environment(settings or {}), out, err, given)
        try:
            code = await asyncio.to_thread(process.wait, DEADLINE_S)
        finally:
            process.kill()
        return Done(code, out.read_text(), err.read_text())


class Talker:
    """Runs commands against one server."""

    def __init__(self, service: Service) -> None:
        self.service = service

    async def __call__(self, *words: str | Path, stdin: str = "") -> Done:
        return await kgsvc(*words, stdin=stdin, settings={"client.server": self.service.address})


@pytest.fixture
async def talk(tmp_path: Path) -> AsyncIterator[Talker]:
    """Commands against a fresh server on the embedded store."""
    async with Service({"store.data_dir": str(tmp_path / "data")}, tmp_path) as service:
        yield Talker(service)
