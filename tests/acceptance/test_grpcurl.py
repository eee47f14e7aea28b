"""grpcurl.sh against a server: what people debug with finds everything by reflection."""

import asyncio
import os
import shutil
from pathlib import Path

import pytest

from tests.acceptance.shared import OFFLINE
from tests.support.neo4j_fixture import named_servers
from tests.support.service import Service
from tests.support.store_spec import StoreSpec

SETTINGS = OFFLINE
SCRIPT = Path(__file__).with_name("grpcurl.sh")
DONE_S = 240.0


def binary() -> str:
    """grpcurl: the one that GRPCURL names, else the one on the PATH. Skips the test without one."""
    found = os.environ.get("GRPCURL") or shutil.which("grpcurl")
    if found is None:
        if os.environ.get("KGSVC_REQUIRE_GRPCURL") == "1":
            pytest.fail("KGSVC_REQUIRE_GRPCURL=1, but there is no grpcurl", pytrace=False)
        pytest.skip("NOT TESTED BY GRPCURL: there is no grpcurl on the PATH")
    return found


async def test_every_operation_and_every_error_by_grpcurl(
    spec: StoreSpec, service: Service, group: str
) -> None:
    environment = {**os.environ, "GRPCURL": binary()}
    nobody_elses = spec.neo4j is None or spec.label not in named_servers()
    arguments = [service.address, group, *(["--clear-all"] if nobody_elses else [])]
    script = await asyncio.create_subprocess_exec(
        "bash",
        str(SCRIPT),
        *arguments,
        env=environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        printed, _ = await asyncio.wait_for(script.communicate(), DONE_S)
    except TimeoutError:
        script.kill()
        raise
    said = printed.decode()
    assert script.returncode == 0, said
    assert ("ok  ClearAll" in said) == nobody_elses
    assert "FAILED" not in said
