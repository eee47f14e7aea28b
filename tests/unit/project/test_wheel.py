"""Two builds of the wheel are the same, byte for byte."""

import os
import zipfile
from pathlib import Path

import pytest

from scripts.build_wheel import REPOSITORY, build

EPOCH = "1700000000"


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_two_builds_of_the_wheel_are_equal(tmp_path: Path) -> None:
    mask = os.umask(0o022)
    try:
        first = build(tmp_path / "first", EPOCH)
        os.umask(0o077)
        second = build(tmp_path / "second", EPOCH)
    finally:
        os.umask(mask)
    assert first.name == second.name
    assert first.read_bytes() == second.read_bytes()
    with zipfile.ZipFile(first) as wheel:
        names = set(wheel.namelist())
        assert {info.date_time for info in wheel.infolist()} == {(2023, 11, 14, 22, 13, 20)}
    kept = {path.relative_to(REPOSITORY).as_posix() for path in (REPOSITORY / "kgsvc").rglob("*.py")}
    assert kept <= names
    assert {"kgsvc/api/http/openapi.json", "kgsvc/py.typed"} <= names
