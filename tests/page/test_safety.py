"""The page runs its own scripts alone, shows text as text, asks nobody else, and lets in who may."""

import re
from collections.abc import AsyncIterator

import httpx
import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect

from tests.acceptance.access import GROUP, Guarded, guarded
from tests.page.conftest import MARKUP, STRANGE, WAIT_MS, View, needed
from tests.support.client import CALL_S, Client
from tests.support.service import Service
from tests.support.spawning import REPOSITORY

AXE = REPOSITORY / "page" / "node_modules" / "axe-core" / "axe.min.js"
FOREIGN = "img, iframe, #page b, #page i, script:not([src='page/page.js'])"
VIEWS = ["overview", "search", "entities", "graph", "episodes", "documents", "communities", "live"]


@pytest.mark.parametrize("where", ["/", "/page/page.js", "/page/page.css"])
async def test_browsers_are_told_to_load_nothing_from_elsewhere(service: Service, where: str) -> None:
    async with httpx.AsyncClient(base_url=service.http_url, timeout=CALL_S, trust_env=False) as http:
        answer = await http.get(where)
    policy = answer.headers["content-security-policy"]
    assert answer.status_code == 200
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert not re.search(r"https?:", policy)
    assert "require-trusted-types-for 'script'" in policy
    assert "frame-ancestors 'none'" in policy
    assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("where", ["/page/../page.py", "/page/%2e%2e%2fpage.py", "/page/nothing", "/page/"])
async def test_nothing_but_its_files_is_served(service: Service, where: str) -> None:
    async with httpx.AsyncClient(base_url=service.http_url, timeout=CALL_S, trust_env=False) as http:
        assert (await http.get(where)).status_code in {404, 405}


async def test_markup_stays_text_wherever_it_comes_from(view: View, service: Service) -> None:
    async with Client(service.address) as client:
        (episode, *_) = await client.get_episodes(STRANGE)
    places: list[tuple[str, ...]] = [(each,) for each in VIEWS]
    places += [("entity", "odd"), ("graph", "odd"), ("episode", episode.uuid), ("document", "book")]
    places += [("document", "book", "")]  # its revisions
    for place in places:
        asked = {"q": MARKUP} if place == ("search",) else {"show": "revisions"} if place[-1] == "" else {}
        page = await view.open(*place, group=STRANGE, **asked)
        await expect(page.locator(".waiting")).to_have_count(0)
        assert await page.evaluate("window.broken") is None, place
        assert await page.locator(FOREIGN).count() == 0, place
    page = await view.open("entity", "odd", group=STRANGE)
    await expect(page.get_by_role("heading", level=1)).to_have_text(MARKUP)
    await expect(page.locator(".merges li")).to_contain_text(f"{MARKUP} too")
    page = await view.open("episode", episode.uuid, group=STRANGE)
    await expect(page.locator("blockquote.whole")).to_contain_text(MARKUP)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", [*VIEWS, "entity", "episode", "document", "revisions", ""])
async def test_nothing_keeps_anybody_out(view: View, service: Service, name: str, scheme: str) -> None:
    """By axe: nothing serious or critical, contrast included."""
    needed(AXE.is_file(), "page/node_modules (`make page`)")
    await view.page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    async with Client(service.address) as client:
        (episode, *_) = await client.get_episodes("colleagues")
        things = {
            "entity": await client.entity_of("colleagues", "Alice Chen"),
            "episode": episode.uuid,
            "document": "book",
        }
    asked = {"search": {"q": "Where does Alice live?"}, "revisions": {"show": "revisions"}}.get(name, {})
    path = ("document", "book") if name == "revisions" else (name, things.get(name, ""))
    page = await view.open(*path, group="colleagues" if name else "", **asked)
    ready = {
        "search": ".hit",
        "": "tbody tr",
        "entity": ".merges li",
        "document": ".passage",
        "revisions": "ins",
    }
    await page.wait_for_selector(ready.get(name, "h1"))
    if name == "entity":
        await page.locator(".line button").first.click()
    await page.evaluate(AXE.read_text())
    found = await page.evaluate("axe.run({resultTypes: ['violations']})")
    serious = [
        (each["id"], each["nodes"][0]["html"], each["nodes"][0]["failureSummary"])
        for each in found["violations"]
        if each["impact"] in {"serious", "critical"}
    ]
    assert serious == []


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def closed(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Guarded]:
    async with guarded(tmp_path_factory.mktemp("closed"), "token", server__http_listen="127.0.0.1:0") as made:
        yield made


async def test_who_calls_is_asked_for_and_may_do_what_the_token_says(
    closed: Guarded, browser: Browser
) -> None:
    async with closed.client("tenant") as owner:
        await owner.ask("AddEntityNode", uuid="mine", group_id=GROUP, name="Mine")
    context = await browser.new_context(ignore_https_errors=True)
    context.set_default_timeout(WAIT_MS)
    page = await context.new_page()
    await page.goto(f"{closed.http_url}/")
    await page.get_by_label("Token").fill("kgsvc_0123_wrong")
    await page.get_by_role("button", name="Go on").click()
    await expect(page.get_by_label("Token")).to_be_visible()
    await page.get_by_label("Token").fill(closed.tokens["only-reads"])
    await page.get_by_role("button", name="Go on").click()
    await page.get_by_role("link", name=GROUP).click()
    await page.goto(f"{closed.http_url}/#/acme%2Fteam/entity/mine")
    await expect(page.get_by_role("heading", level=1)).to_have_text("Mine")
    await page.goto(f"{closed.http_url}/#/acme2/overview")
    await expect(page.get_by_role("alert").first).to_contain_text("permission denied")
    await context.close()
