"""The documentation's site in the browser: every page opens, asks nobody else, and the search finds."""

import asyncio
import functools
import http.server
import os
import re
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect

from scripts.site.__main__ import build
from tests.page.conftest import WAIT_MS


class _Files(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def html(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with pytest.MonkeyPatch.context() as patch:  # buf stands beside this Python
        patch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
        return await asyncio.to_thread(build, tmp_path_factory.mktemp("site"))


@pytest.fixture(scope="module")
def address(html: Path) -> Iterator[str]:
    """Where the site is served."""
    files = functools.partial(_Files, directory=html)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), files) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


async def test_every_page_opens_and_asks_nobody_else(html: Path, address: str, browser: Browser) -> None:
    page = await browser.new_page()
    asked: list[str] = []
    said: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("console", lambda line: said.append(line.text) if line.type == "error" else None)
    for file in await asyncio.to_thread(lambda: sorted(html.rglob("*.html"))):
        await page.goto(address + file.relative_to(html).as_posix())
    await page.wait_for_load_state("networkidle")
    await page.close()
    assert said == []
    assert {url for url in asked if not url.startswith((address, "data:", "blob:"))} == set()


async def test_the_search_finds_a_guide(address: str, browser: Browser) -> None:
    page = await browser.new_page()
    page.set_default_timeout(WAIT_MS)
    async with page.expect_event("worker"):  # from when on the search hears keys
        await page.goto(address)
    await page.keyboard.press("Control+k")
    await page.get_by_role("combobox", name="Search").fill("peanuts")
    await page.get_by_role("option").first.click()
    await expect(page).to_have_url(re.compile(r"docs/guides/agent\.html"))
    await page.close()
