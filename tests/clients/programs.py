"""Programs of other languages: found on the PATH, run to their end."""

import asyncio
import os
import shutil
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support.service import environment


class Ended(NamedTuple):
    """What a program printed, and its exit code."""

    out: str
    err: str
    code: int | None


def tool(name: str) -> str:
    """Where it is. Skips the test without it, where CI does not insist on it."""
    found = shutil.which(name)
    if found is None:
        if os.environ.get("KGSVC_REQUIRE_CLIENTS") == "1":
            pytest.fail(f"KGSVC_REQUIRE_CLIENTS=1, but there is no {name}", pytrace=False)
        pytest.skip(f"CLIENT NOT TESTED: there is no {name} on the PATH")
    return found


async def run(folder: Path, words: tuple[str | Path, ...], most_s: float, **variables: str) -> Ended:
    """Run it in a folder with these variables; killed where it takes longer."""
    process = await asyncio.create_subprocess_exec(
        *map(str, words),
        env=environment({}) | variables,
        cwd=folder,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(most_s):
            out, err = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return Ended(out.decode(), err.decode(), process.returncode)


async def succeed(folder: Path, words: tuple[str | Path, ...], most_s: float, **variables: str) -> str:
    """What it prints; its exit code must be 0."""
    ended = await run(folder, words, most_s, **variables)
    assert ended.code == 0, ended.out + ended.err
    return ended.out
