"""The site builds without a warning, loads nothing from elsewhere, and shows every page and setting."""

import os
import re
import sys
import tomllib
from html.parser import HTMLParser
from pathlib import Path

import click
import pytest

from kgsvc.api.server import SERVICES
from kgsvc.cli.main import COMMANDS, cli
from kgsvc.config import KEYS
from scripts.site.__main__ import CONFIG, build, copied
from tests.support.documents import COMMANDS as RUN
from tests.support.documents import PAGES, REPOSITORY, blocks

CLIENTS = REPOSITORY / "clients"  # tests/clients run the programs of their READMEs
# Where the theme's script, or the browser itself, fetches something; links are only followed.
LOADED = {"script": "src", "link": "href", "img": "src", "iframe": "src", "source": "src", "object": "data"}
FETCHING = {"mermaid", "glightbox", "pyodide"}  # classes for which the theme's script asks other places
ELSEWHERE = re.compile(r"(https?:)?//")


class _Loads(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.found.append(values.get(LOADED.get(tag, "")) or "")
        assert not FETCHING & set((values.get("class") or "").split()), self.get_starttag_text()


@pytest.fixture(scope="module")
def html(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The HTML of the site."""
    with pytest.MonkeyPatch.context() as patch:  # buf stands beside this Python
        patch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
        return build(tmp_path_factory.mktemp("site"))


@pytest.fixture
def reference(html: Path) -> dict[str, str]:
    """The pages that are made from the code."""
    return {page.name: page.read_text() for page in html.parent.glob("pages/reference/*.md")}


def _places(part: object) -> set[str]:
    if isinstance(part, str):
        return {part}
    inner = part.values() if isinstance(part, dict) else part
    return set[str]().union(*map(_places, inner))  # type: ignore[call-overload]


def test_every_page_has_its_place(html: Path) -> None:
    pages = html.parent / "pages"
    there = {path.relative_to(pages).as_posix() for path in pages.rglob("*.md")}
    assert _places(tomllib.loads(CONFIG.read_text())["project"]["nav"]) == there
    assert all(
        (html / page).with_suffix(".html").exists() for page in there if not page.endswith("README.md")
    )


def test_browsers_load_nothing_from_elsewhere(html: Path) -> None:
    for page in html.rglob("*.html"):
        loads = _Loads()
        loads.feed(page.read_text())
        assert [each for each in loads.found if ELSEWHERE.match(each)] == [], page.name
    for sheet in html.rglob("*.css"):
        assert not re.search(r"@import|url\(['\"]?(https?:)?//", sheet.read_text()), sheet.name


def test_every_operation_is_in_the_reference(reference: dict[str, str]) -> None:
    for service in SERVICES:
        page = reference[f"{service.name.removesuffix('Service').lower()}.md"]
        assert re.findall(r"^## (\w+)$", page, re.MULTILINE) == [each.name for each in service.methods]
    assert "| `valid_at` | Timestamp |" in reference["messages.md"]


def test_every_setting_is_in_the_reference(reference: dict[str, str]) -> None:
    page = reference["settings.md"]
    assert re.findall(r"^### (\S+)$", page, re.MULTILINE) == list(KEYS)
    assert "`KGSVC_SERVER_ROLE` · one of api, worker, all · default `all`" in page


def test_every_command_is_in_the_reference(reference: dict[str, str]) -> None:
    page = reference["commands.md"]
    for name in COMMANDS:
        command = cli.get_command(click.Context(cli), name)
        inner = [f" {each}" for each in command.commands] if isinstance(command, click.Group) else []
        for each in ("", *inner):
            assert f"## kgsvc {name}{each}\n\n```text\nUsage: kgsvc {name}{each} " in page


def test_every_program_that_is_shown_is_run() -> None:
    pages = [REPOSITORY / path for path in copied() if path.suffix == ".md"]
    for page in set(pages) - set(PAGES):
        shown = [block for block in blocks(page) if block.language in RUN]
        assert not shown or page.is_relative_to(CLIENTS), page
    assert set(PAGES) <= set(pages)
