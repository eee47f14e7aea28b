"""What the service serves is what page/ says, and small."""

import shutil
import subprocess
from pathlib import Path

from kgsvc.api.http.page import STATIC
from tests.page.conftest import needed
from tests.support.spawning import REPOSITORY

SOURCES = REPOSITORY / "page"
BUILD_S = 180
LINES = 6_000


def test_the_bundle_is_that_of_the_sources(tmp_path: Path) -> None:
    there = shutil.which("node") and (SOURCES / "node_modules").is_dir()
    needed(there, "Node and page/node_modules (`make page`)")
    subprocess.run(["node", "build.mjs", tmp_path / "made"], cwd=SOURCES, check=True, timeout=BUILD_S)
    made = {path.name: path.read_bytes() for path in (tmp_path / "made").iterdir()}
    assert made == {path.name: path.read_bytes() for path in STATIC.iterdir()}, "run `make page`"


def test_the_page_is_small() -> None:
    sources = [*SOURCES.glob("src/**/*.ts*"), *SOURCES.glob("src/*.css"), *SOURCES.glob("src/*.html")]
    assert sum(len(path.read_text().splitlines()) for path in sources) <= LINES
