"""Photographs every view of the page into docs/, with made-up content: `make pictures` (needs Chromium)."""

import asyncio
import shutil
import tempfile
from contextlib import AsyncExitStack
from pathlib import Path

from playwright.async_api import Browser, Page, async_playwright

from kgsvc.cli.demo import conversation
from kgsvc.v1.documents_pb2 import DocumentItem
from tests.acceptance.saying import JAN, MAR, reads_bodies
from tests.acceptance.shared import scripted
from tests.page.conftest import View, laid_out
from tests.support.client import Client, episode, message, timestamp
from tests.support.communities import built
from tests.support.pdfs import Row, pdf_of
from tests.support.scripted_openai import ScriptedOpenAI, says
from tests.support.service import Service
from tests.support.spawning import REPOSITORY

DOCS = REPOSITORY / "docs"
GROUP = "colleagues"
WIDE = 1000
MOST_BYTES = 150_000
HTTP = {"server.http_listen": "127.0.0.1:0"}


def handbook(office: str) -> bytes:
    """A PDF of two pages."""
    people = [
        "Bruno Keller leads Project Heron. He answers for the archive and for its backups.",
        "Dana Novak works at Lumen Labs. She plans the trips to the weather stations.",
        "Whoever travels tells her a week before, and keeps the receipts.",
    ]
    offices = [f"Lumen Labs is based in {office}.", "The kitchen is open from 8 to 18 o'clock."]
    return pdf_of(
        [
            [Row("Handbook", 20), *(Row(text, 11, 10) for text in people)],
            [Row("Offices", 16), *(Row(text, 11, 10) for text in offices)],
        ]
    )


async def fill(client: Client) -> None:
    """A conversation, a document in two revisions, a correction, a merge, communities; and a second group."""
    said = [record.request.message for record in conversation()]
    await client.wait_receipt((await client.add_messages(GROUP, said)).receipt_id)
    for data, at_ms in ((handbook("Lisbon"), JAN), (handbook("Porto"), MAR)):
        item = DocumentItem(document_id="handbook", title="Handbook", path="handbook.pdf", data=data)
        item.reference_time.CopyFrom(timestamp(at_ms))
        for added in (await client.ask("AddDocuments", group_id=GROUP, documents=[item])).documents:
            for receipt in added.receipt_ids:
                await client.wait_receipt(receipt)
    alice = await client.entity_of(GROUP, "Alice Chen")
    found = (await client.get_entity(GROUP, alice)).facts
    (wrong,) = (each for each in found if "Kestrel" in each.fact)
    right = "Alice Chen leads Project Kestrel together with Dana Novak."
    await client.ask(
        "UpdateFact", uuid=wrong.uuid, group_id=GROUP, fact=right, reason="The team page says so"
    )
    await client.ask("AddEntityNode", uuid="a-chen", group_id=GROUP, name="A. Chen")
    await client.ask("MergeEntityNodes", group_id=GROUP, keep_uuid=alice, merge_uuid="a-chen")
    await built(client, GROUP)
    said = [message(text, JAN, role="Ines Duarte") for text in ("I live in Faro.", "I like green tea.")]
    await client.wait_receipt((await client.add_messages("customers/faro", said)).receipt_id)


async def parked(client: Client) -> None:
    """Items of which the model makes nothing."""
    said = ("Rosa Lima asks for a second key.", "Nuno Reis sits in Faro now.", "The printer waits for ink.")
    items = [episode(text, JAN + n, uuid=f"ticket-{n}") for n, text in enumerate(said)]
    for number, item in enumerate(items):
        item.name = f"Ticket {4711 + number}"
    await client.wait_receipt((await client.add_episodes("tickets", items)).receipt_id)


async def slid(page: Page, month: str) -> None:
    """Move the slider of fact time to a month."""
    for place in range(0, 1_000, 3):
        await page.get_by_label("True on").fill(str(place))
        if (await page.locator("output").first.inner_text()).startswith(month):
            return


async def take(page: Page, name: str, height: int) -> None:
    """A picture, from the top of the page to `height`."""
    await page.mouse.move(0, 0)
    await page.set_viewport_size({"width": WIDE, "height": height})
    await page.evaluate("scrollTo(0, 0)")
    await page.wait_for_timeout(300)  # what is drawn on a canvas follows the size of the window
    path = DOCS / f"page-{name}.png"
    await page.screenshot(path=path)
    assert path.stat().st_size < MOST_BYTES, f"{path.name} has {path.stat().st_size:,} bytes"


async def views(view: View, client: Client) -> None:
    """Every view of what was filled in."""
    page = view.page
    alice = await client.entity_of(GROUP, "Alice Chen")
    (moved,) = (each for each in await client.get_episodes(GROUP, 100) if "since May 1, 2024" in each.body)
    await view.open(group="")
    await page.get_by_role("row").nth(2).wait_for()
    await take(page, "groups", 240)
    await view.open("search", q="Where does Alice Chen live?", group=GROUP)
    await page.get_by_text("1 source").first.click()
    await take(page, "search", 620)
    await view.open("entity", alice, group=GROUP)
    await page.locator(".line", has_text="Alice Chen lives in Berlin").get_by_role("button").click()
    await page.locator(".merges li").wait_for()
    await take(page, "entity", 990)
    await view.open("episode", moved.uuid, group=GROUP)
    await take(page, "episode", 480)
    await view.open("document", "handbook", group=GROUP)
    await page.locator(".margin button").first.click()
    await take(page, "document", 470)
    await view.open("document", "handbook", group=GROUP, show="revisions")
    await page.locator("ins").first.wait_for()
    await take(page, "revisions", 520)
    await page.evaluate("performance.clearMarks()")
    await view.open("communities", group=GROUP)
    await laid_out(page)
    await take(page, "communities", 760)
    await page.evaluate("performance.clearMarks()")
    await view.open("graph", alice, group=GROUP)
    await laid_out(page)
    await slid(page, "2024-07")
    await take(page, "graph", 720)
    await page.emulate_media(color_scheme="dark")
    await take(page, "graph-dark", 720)
    await page.emulate_media(color_scheme="light")
    await view.open("live", group=GROUP)
    await page.get_by_text("Watching.").wait_for()
    news = [message("I live in Porto. I like long walks.", MAR, role="Dana Novak")]
    await client.add_messages(GROUP, news)
    await page.locator("li .badge.fact").first.wait_for()
    await take(page, "live", 260)


async def tab(browser: Browser, url: str) -> View:
    """A tab that shows the page of a service."""
    page = await browser.new_page(viewport={"width": WIDE, "height": 800})
    return View(page, url)


async def main() -> None:
    """All pictures."""
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        playwright = await stack.enter_async_context(async_playwright())
        program = shutil.which("chromium")
        browser = await playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        stack.push_async_callback(browser.close)
        service = await stack.enter_async_context(Service(HTTP, folder))
        client = await stack.enter_async_context(Client(service.address))
        await fill(client)
        await views(await tab(browser, service.http_url), client)
        model = await stack.enter_async_context(ScriptedOpenAI(reads_bodies))
        model.fail(says("I think so."), times=None)
        failing = await stack.enter_async_context(Service(scripted(model) | HTTP, folder, "failing"))
        await parked(await stack.enter_async_context(Client(failing.address)))
        view = await tab(browser, failing.http_url)
        await view.open(group="tickets")
        await view.page.get_by_role("button", name="Retry all").wait_for()
        await take(view.page, "overview", 420)


if __name__ == "__main__":
    asyncio.run(main())
