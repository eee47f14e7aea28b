"""Builds the site into a folder (`make site`): pages of the repository, and a reference made from the code.

Pages keep their places, so that the links between them hold in the repository and on the site alike.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from scripts.site.reference import pages

ROOT = Path(__file__).resolve().parents[2]
CONFIG = Path(__file__).with_name("zensical.toml")
STYLE = Path(__file__).with_name("style.css")
COPIED = (
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "LICENSE",
    "SECURITY.md",
    "clients/README.md",
    "clients/*/README.md",
    "deploy/chart/README.md",
    "docs/**/*.*",
    "kgsvc/api/http/openapi.json",
)


def copied() -> Iterable[Path]:
    """The files of the repository that the site shows, from its root."""
    found = {path for pattern in COPIED for path in ROOT.glob(pattern) if path.is_file()}
    return sorted(path.relative_to(ROOT) for path in found)


def build(folder: Path) -> Path:
    """Build the site into `folder`, which is emptied; where its HTML is. Raises CalledProcessError."""
    if folder.exists() and not (folder / CONFIG.name).exists() and any(folder.iterdir()):
        sys.exit(f"{folder} holds something else")
    shutil.rmtree(folder, ignore_errors=True)
    shown = folder / "pages"
    for path in copied():
        target = shown / path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / path, target)
    (shown / "reference").mkdir()
    for name, text in pages().items():
        (shown / "reference" / name).write_text(text, encoding="utf-8")
    shutil.copyfile(STYLE, shown / STYLE.name)
    shutil.copyfile(CONFIG, folder / CONFIG.name)
    zensical = Path(sys.executable).with_name("zensical")
    subprocess.run([zensical, "build", "--strict"], cwd=folder, check=True)
    return folder / "html"


if __name__ == "__main__":
    print(f"the site: {build(Path(sys.argv[1])) / 'index.html'}")
