"""The TypeScript client, built from its sources as they are, once, by whichever test needs it first."""

import fcntl
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.spawning import REPOSITORY

PACKAGE = REPOSITORY / "clients" / "typescript"
DRIVER = ["node", "--expose-gc", str(PACKAGE / "build" / "scenarios.js")]
_DONE = PACKAGE / "build" / "done"
_BUILD_S = 180.0


def built() -> Path:
    """Its folder. Skips without Node or what `make clients` installs, where CI does not insist on it."""
    if shutil.which("npm") is None or not (PACKAGE / "node_modules").is_dir():
        if os.environ.get("KGSVC_REQUIRE_CLIENTS") == "1":
            pytest.fail("KGSVC_REQUIRE_CLIENTS=1, but there is no Node or node_modules", pytrace=False)
        pytest.skip("CLIENT NOT TESTED: needs Node and `make clients`")
    with (PACKAGE / "node_modules" / ".building").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not _DONE.exists() or _DONE.stat().st_mtime < max(map(_changed, _sources())):
            subprocess.run(["npm", "run", "--silent", "build"], cwd=PACKAGE, check=True, timeout=_BUILD_S)
    return PACKAGE


def _sources() -> list[Path]:
    return [*PACKAGE.glob("src/**/*.ts"), *PACKAGE.glob("*.ts"), *PACKAGE.glob("*.json")]


def _changed(path: Path) -> float:
    return path.stat().st_mtime
