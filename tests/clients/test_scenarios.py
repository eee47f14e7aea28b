"""Every client does what clients/scenarios says, with its own calls, against live servers."""

import asyncio
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.clients.worlds import worlds, written
from tests.support.service import environment
from tests.support.spawning import REPOSITORY
from tests.support.store_spec import StoreSpec

CLIENTS = REPOSITORY / "clients"
SCENARIOS = json.loads((CLIENTS / "scenarios" / "scenarios.json").read_text())
SHORT = [each for each in SCENARIOS if not each.get("long")]
LONG = [each for each in SCENARIOS if each.get("long")]
PYTHON = [sys.executable, str(CLIENTS / "python" / "scenarios.py")]
DRIVERS = {"python": PYTHON, "python-aio": [*PYTHON, "--aio"]}
DONE_S = 240.0


async def passed(
    driver: Sequence[str], scenarios: Sequence[object], spec: StoreSpec, folder: Path, group: str
) -> None:
    """Run a driver; all of it must succeed."""
    async with worlds(spec.settings, folder, group) as setup:
        files = written(folder, "setup.json", setup), written(folder, "scenarios.json", scenarios)
        process = await asyncio.create_subprocess_exec(
            *driver,
            *map(str, files),
            env=environment({}) | {"PYTHONPATH": str(CLIENTS / "python")},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            async with asyncio.timeout(DONE_S):
                out, err = await process.communicate()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
    ended = [json.loads(line) for line in out.decode().splitlines()]
    assert [each for each in ended if each["problem"]] == [], err.decode()
    assert (len(ended), process.returncode) == (len(scenarios), 0), err.decode()


@pytest.mark.parametrize("driver", DRIVERS)
async def test_scenarios(driver: str, store_spec: StoreSpec, tmp_path: Path, group: str) -> None:
    await passed(DRIVERS[driver], SHORT, store_spec, tmp_path, group)


@pytest.mark.slow
@pytest.mark.parametrize("driver", DRIVERS)
async def test_long_scenarios(driver: str, store_spec: StoreSpec, tmp_path: Path, group: str) -> None:
    await passed(DRIVERS[driver], LONG, store_spec, tmp_path, group)
