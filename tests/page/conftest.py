"""A service with a conversation, a PDF and what looks like markup; and Chromium, which looks at its page."""

import asyncio
import os
import shutil
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from urllib.parse import quote

import pytest
import pytest_asyncio
from playwright.async_api import Browser, ConsoleMessage, Page, async_playwright, expect

from kgsvc.cli.demo import conversation
from kgsvc.v1.documents_pb2 import DocumentItem
from tests.support.client import Client, message, timestamp
from tests.support.pdfs import Row, pdf_of
from tests.support.service import Service

GROUP = "colleagues"
STRANGE = "<b>odd</b> & a/group"
MARKUP = '<script>window.broken=1</script>"><img src=x onerror="window.broken=2">{{7*7}}'
SPOKEN_MS = 1_750_000_000_000
WAIT_MS = 20_000
_PAGES = [
    [
        Row("Handbook", 20),
        Row("Alice Chen likes Fjord Maps.", 11, 10),
        Row("Bruno Keller leads Project Heron."),
    ],
    [Row("Offices", 16), Row("Acme is based in Berlin. Dana Novak works at Acme.", 11, 10)],
]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All tests here share a loop, on which the browser is spoken to."""
    for item in items:
        if "tests/page/" in item.path.as_posix() and pytest_asyncio.is_async_test(item):
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)


def needed(found: object, what: str) -> None:
    """Skip a test without what it needs, where CI does not insist on it."""
    if found:
        return
    if os.environ.get("KGSVC_REQUIRE_CLIENTS") == "1":
        pytest.fail(f"KGSVC_REQUIRE_CLIENTS=1, but there is no {what}", pytrace=False)
    pytest.skip(f"PAGE NOT TESTED: there is no {what}")


@dataclass
class View:
    """The page in a tab of its own, and what it asked for and complained of."""

    page: Page
    url: str
    asked: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)

    def complain(self, line: ConsoleMessage) -> None:
        """Remember what went wrong."""
        if line.type in {"error", "warning"}:
            self.said.append(line.text)

    async def open(self, *path: str, group: str = GROUP, **asked: str) -> Page:
        """Go to a view of a group."""
        query = "&".join(f"{key}={quote(value)}" for key, value in asked.items())
        where = "/".join(quote(part, safe="") for part in (group, *path) if part)
        await self.page.goto(f"{self.url}/#/{where}{f'?{query}' if query else ''}")
        await self.page.wait_for_selector("h1, form label")
        return self.page


async def laid_out(page: Page) -> None:
    """Wait until the graph has come to rest."""
    async with asyncio.timeout(WAIT_MS / 1_000):
        while not await page.evaluate("performance.getEntriesByName('kgsvc:laid').length"):  # noqa: ASYNC110
            await asyncio.sleep(0.02)


async def fill(service: Service) -> None:
    """Say it all, and wait until it is in the graph."""
    async with Client(service.address) as client:
        odd = message(f"Ann likes {MARKUP} tea.", SPOKEN_MS, role="Ann <i>x</i>")
        odd.name = MARKUP
        said = {GROUP: [record.request.message for record in conversation()], STRANGE: [odd]}
        for group, messages in said.items():
            await client.wait_receipt((await client.add_messages(group, messages)).receipt_id)
        await client.ask("AddEntityNode", uuid="odd", group_id=STRANGE, name=MARKUP, summary=MARKUP)
        for group, name in ((GROUP, "A. Chen"), (STRANGE, f"{MARKUP} too")):
            await client.ask("AddEntityNode", uuid="merged", group_id=group, name=name)
        alice = await client.entity_of(GROUP, "Alice Chen")
        for group, kept in ((GROUP, alice), (STRANGE, "odd")):
            await client.ask("MergeEntityNodes", group_id=group, keep_uuid=kept, merge_uuid="merged")
        for group, title in ((GROUP, "Handbook"), (STRANGE, MARKUP)):
            for number, pages in enumerate((_PAGES[:1], _PAGES)):
                await read(client, group, title, pages, SPOKEN_MS + number)


async def read(client: Client, group: str, title: str, pages: list[list[Row]], at_ms: int) -> None:
    """Send a document, or a revision of it, and wait until it is in the graph."""
    item = DocumentItem(document_id="book", title=title, path="b.pdf", data=pdf_of(pages))
    item.reference_time.CopyFrom(timestamp(at_ms))
    for added in (await client.ask("AddDocuments", group_id=group, documents=[item])).documents:
        for receipt in added.receipt_ids:
            await client.wait_receipt(receipt)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def service(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Service]:
    """The service, which tests change only in groups of their own."""
    settings = {"server.http_listen": "127.0.0.1:0"}
    async with Service(settings, tmp_path_factory.mktemp("page")) as running:
        await fill(running)
        yield running


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    """Debian's Chromium."""
    program = shutil.which("chromium")
    needed(program, "chromium")
    expect.set_options(timeout=WAIT_MS)
    async with async_playwright() as playwright:
        started = await playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield started
        await started.close()


@pytest_asyncio.fixture(loop_scope="session")
async def view(service: Service, browser: Browser) -> AsyncIterator[View]:
    """A fresh tab. Nothing that the page does may end in an error, or leave the service."""
    context = await browser.new_context(viewport={"width": 1280, "height": 820})
    context.set_default_timeout(WAIT_MS)
    page = await context.new_page()
    made = View(page, service.http_url)
    page.on("request", lambda request: made.asked.append(request.url))
    page.on("pageerror", lambda error: made.said.append(str(error)))
    page.on("console", made.complain)
    yield made
    await context.close()
    assert made.said == []
    assert [each for each in made.asked if not each.startswith((service.http_url, "data:"))] == []
