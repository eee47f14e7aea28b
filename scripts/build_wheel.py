"""Builds the wheel of the service into a folder: the same bytes from the same files, whenever and wherever.

Times in it are those of the last commit (SOURCE_DATE_EPOCH names another one), modes do not depend on the
umask, and nothing of an earlier build gets in, since it is built from a copy.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
PARTS = ("kgsvc", "pyproject.toml", "README.md", "LICENSE")


def build(target: Path, epoch: str) -> Path:
    """The wheel, in `target`. Raises CalledProcessError."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder)
        for part in PARTS:
            _copy(REPOSITORY / part, source / part)
        command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "wheel"]
        options = ["--no-deps", "--no-build-isolation", "--wheel-dir", str(target), "."]
        environment = os.environ | {"SOURCE_DATE_EPOCH": epoch}
        subprocess.run([*command, *options], cwd=source, env=environment, umask=0o022, check=True)
    return max(target.glob("kgsvc-*.whl"), key=lambda path: path.stat().st_mtime_ns)


def _copy(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        shutil.copy(source, target)
    for path in (target, *target.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)


def committed() -> str:
    """When the last commit was made, in seconds since 1970."""
    if given := os.environ.get("SOURCE_DATE_EPOCH"):
        return given
    command = ["git", "log", "-1", "--format=%ct"]
    return subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    print(build(Path(sys.argv[1]).absolute(), committed()))
