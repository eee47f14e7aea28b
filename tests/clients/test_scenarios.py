"""Every client does what clients/scenarios says, with its own calls, against live servers."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.clients.programs import run
from tests.clients.worlds import worlds, written
from tests.support.spawning import REPOSITORY
from tests.support.store_spec import StoreSpec

CLIENTS = REPOSITORY / "clients"
SCENARIOS = json.loads((CLIENTS / "scenarios" / "scenarios.json").read_text())
SHORT = [each for each in SCENARIOS if not each.get("long")]
LONG = [each for each in SCENARIOS if each.get("long")]
PYTHON = [sys.executable, str(CLIENTS / "python" / "scenarios.py")]
DRIVERS = {"python": PYTHON, "python-aio": [*PYTHON, "--aio"]}
DONE_S = 240.0


def secured(scenario: dict[str, Any]) -> dict[str, Any]:
    """The same with TLS and a token, unless it says itself where it takes place."""
    return scenario if "world" in scenario else scenario | {"world": "guarded", "token": "owner"}


async def passed(
    driver: Sequence[str], scenarios: Sequence[dict[str, Any]], spec: StoreSpec, folder: Path, group: str
) -> None:
    """Run a driver; all of it must succeed: with TLS and tokens on the embedded store, else without."""
    if spec.neo4j is None:
        scenarios = [secured(each) for each in scenarios]
    async with worlds(spec.settings, folder, group) as setup:
        files = written(folder, "setup.json", setup), written(folder, "scenarios.json", scenarios)
        python = str(CLIENTS / "python")
        out, err, code = await run(REPOSITORY, (*driver, *files), DONE_S, PYTHONPATH=python)
    ended = [json.loads(line) for line in out.splitlines()]
    assert [each for each in ended if each["problem"]] == [], err
    assert (len(ended), code) == (len(scenarios), 0), err


@pytest.mark.parametrize("driver", DRIVERS)
async def test_scenarios(driver: str, store_spec: StoreSpec, tmp_path: Path, group: str) -> None:
    await passed(DRIVERS[driver], SHORT, store_spec, tmp_path, group)


@pytest.mark.slow
async def test_long_scenarios(embedded_spec: StoreSpec, tmp_path: Path, group: str) -> None:
    await passed(DRIVERS["python"], LONG, embedded_spec, tmp_path, group)


@pytest.mark.soak
@pytest.mark.parametrize("driver", DRIVERS)
async def test_long_scenarios_on_each_store(
    driver: str, store_spec: StoreSpec, tmp_path: Path, group: str
) -> None:
    await passed(DRIVERS[driver], LONG, store_spec, tmp_path, group)


async def test_scenarios_in_go(
    go_driver: list[str], embedded_spec: StoreSpec, tmp_path: Path, group: str
) -> None:
    await passed(go_driver, SHORT, embedded_spec, tmp_path, group)


@pytest.mark.slow
async def test_long_scenarios_in_go(
    go_driver: list[str], embedded_spec: StoreSpec, tmp_path: Path, group: str
) -> None:
    await passed(go_driver, LONG, embedded_spec, tmp_path, group)
