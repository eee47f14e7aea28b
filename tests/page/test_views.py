"""Each view of the page with a real graph: what it shows, and what one does there."""

import re
import statistics
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, CDPSession, Dialog, Locator, Page, expect

from kgsvc.cli.demo import conversation
from kgsvc.v1.documents_pb2 import DocumentItem
from tests.acceptance.saying import JAN, fact, reads_bodies, telling
from tests.acceptance.shared import scripted
from tests.page.conftest import GROUP, WAIT_MS, View, laid_out
from tests.support.client import Client, message, timestamp
from tests.support.scripted_openai import ScriptedOpenAI, says
from tests.support.service import Service


@pytest_asyncio.fixture(loop_scope="session")
async def client(service: Service) -> AsyncIterator[Client]:
    async with Client(service.address) as connected:
        yield connected


async def opened(view: View, client: Client, name: str, group: str = GROUP) -> Page:
    """The view of an entity."""
    return await view.open("entity", await client.entity_of(group, name), group=group)


async def copied(client: Client, group: str) -> None:
    """The conversation, in a group that a test may change."""
    said = [record.request.message for record in conversation()]
    await client.wait_receipt((await client.add_messages(group, said)).receipt_id)


async def test_groups_are_listed_and_lead_into_them(view: View) -> None:
    page = await view.open(group="")
    row = page.get_by_role("row").filter(has=page.get_by_role("link", name=GROUP, exact=True))
    await expect(row).to_contain_text(re.compile(r"\d{4}-\d\d-\d\d"))
    await row.get_by_role("link").click()
    await expect(page.locator(".tile", has_text="episodes").locator("dd")).to_have_text(re.compile(r"^\d+$"))
    await expect(page.get_by_text("Nothing is parked.")).to_be_visible()


async def test_a_search_shows_scores_reasons_intervals_sources_and_the_context(view: View) -> None:
    page = await view.open("search")
    await page.get_by_label("Question").fill("Where does Alice Chen live?")
    await page.get_by_role("button", name="Search").click()
    best = page.locator(".hit").first
    await expect(best).to_contain_text("Alice Chen lives in Zurich")
    await expect(best).to_contain_text(
        re.compile(r"2024-05-01 → now.*score [\d.]+.*words: no\. \d.*meaning: no\. \d", re.DOTALL)
    )
    await best.get_by_text("1 source").click()
    await expect(best.locator("blockquote")).to_contain_text("I live in Zurich since May 1, 2024.")
    await page.get_by_text("What a model would be given").click()
    await expect(page.locator("pre")).to_contain_text("# Facts")


async def test_a_search_into_the_past_finds_what_was_true_then(view: View) -> None:
    page = await view.open("search", q="Where does Alice Chen live?", true="2024-03-01", relation="LIVES_IN")
    await expect(page.locator(".hit").first).to_contain_text("Alice Chen lives in Berlin")
    await expect(page.locator(".hit", has_text="Zurich")).to_have_count(0)
    await expect(page.get_by_label("True on")).to_have_value("2024-03-01")


async def test_an_entity_is_a_timeline(view: View, client: Client) -> None:
    page = await opened(view, client, "Alice Chen")
    past = page.locator(".line.superseded", has_text="Alice Chen lives in Berlin")
    now = page.locator(".line.current", has_text="Alice Chen lives in Zurich")
    before, after = await width(past), await width(now)
    assert before[1] == pytest.approx(after[0], abs=2), "the one ends where the other begins"
    await past.get_by_role("button").click()
    await expect(past.locator(".details")).to_contain_text(
        re.compile(r"true.*2024-01-08.*2024-05-01", re.DOTALL)
    )
    await expect(past.locator("blockquote")).to_contain_text("Berlin")
    await page.get_by_label("former facts too").uncheck()
    await expect(past).to_have_count(0)


async def width(line: Any) -> tuple[float, float]:
    """Where the bar of a fact begins and ends."""
    box = await line.locator("rect.span").bounding_box()
    return box["x"], box["x"] + box["width"]


async def test_a_fact_is_corrected_with_a_reason_and_struck(view: View, client: Client) -> None:
    await copied(client, "corrected")
    page = await opened(view, client, "Alice Chen", "corrected")
    line = page.locator(".line.current", has_text="Alice Chen lives in Zurich")
    await line.get_by_role("button").click()
    await line.get_by_label("Fact").fill("Alice Chen lives in Winterthur")
    await line.get_by_label("Why").fill("She said so")
    await line.get_by_role("button", name="Correct").click()
    await expect(page.locator(".line.current", has_text="Winterthur")).to_be_visible()
    struck = page.locator(".line.updated", has_text="Zurich")
    await expect(struck.locator("line.strike")).to_have_count(1)
    (found,) = [each for each in await client.search("corrected", "Winterthur") if "Winterthur" in each.fact]
    assert found.update_reason == "She said so"


async def test_a_fact_is_retracted_with_a_reason_and_struck(view: View, client: Client) -> None:
    await copied(client, "retracted")
    page = await opened(view, client, "Alice Chen", "retracted")
    line = page.locator(".line", has_text="Alice Chen lives in Zurich")
    await line.get_by_role("button").click()
    retract = line.get_by_role("button", name="Retract", exact=True)
    await expect(retract).to_be_disabled()
    await line.get_by_label("Why").fill("She never did")
    await retract.click()
    struck = page.locator(".line.retracted", has_text="Zurich")
    await expect(struck.locator("line.strike")).to_have_count(1)
    await expect(struck.locator(".details")).to_contain_text("She never did")
    await expect(retract).to_have_count(0)
    await expect(page.locator(".line.current", has_text="Alice Chen lives in Berlin")).to_be_visible()
    found = await client.search("retracted", "Where does Alice Chen live?")
    assert not any("lives in Zurich" in each.fact for each in found)


async def agrees(page: Page) -> None:
    """Say yes to whatever the page asks."""

    async def accept(dialog: Dialog) -> None:
        await dialog.accept()

    page.on("dialog", accept)


async def test_entities_are_merged_and_the_merge_is_undone(view: View, client: Client) -> None:
    await copied(client, "merged")
    bruno, greta = [await client.entity_of("merged", name) for name in ("Bruno Keller", "Greta")]
    page = await view.open("entity", bruno, group="merged")
    await agrees(page)
    await page.get_by_text("The same as another entity?").click()
    await page.get_by_label("Merge into this one").fill("Greta")
    await page.get_by_role("button", name="Merge").click()
    done = page.locator(".merges li")
    await expect(done).to_contain_text("Greta went into Bruno Keller")
    assert (await client.get_entity("merged", greta)).node.uuid == bruno
    await page.reload()
    await done.get_by_role("button", name="Undo").click()
    await expect(done).to_have_count(0)
    assert (await client.get_entity("merged", greta)).node.uuid == greta


async def test_merges_and_splits_say_how_they_came_and_whether_they_can_be_undone(
    view: View, client: Client
) -> None:
    group = "parted"
    await copied(client, group)
    bruno, greta = [await client.entity_of(group, name) for name in ("Bruno Keller", "Greta")]
    fact = (await client.get_entity(group, bruno)).facts[0].uuid
    parted = await client.ask(
        "SplitEntityNode", group_id=group, uuid=bruno, fact_uuids=[fact], name="Bruno the Younger"
    )
    await client.ask("MergeEntityNodes", group_id=group, keep_uuid=greta, merge_uuid=parted.node.uuid)
    page = await view.open("entity", parted.node.uuid, group=group)
    await agrees(page)
    split = page.locator(".merges li", has_text="was taken out of Bruno Keller")
    merge = page.locator(".merges li", has_text="Bruno the Younger went into Greta")
    await expect(split).to_contain_text("stays: one of the two entities was deleted")
    await expect(split.get_by_role("button")).to_have_count(0)
    await expect(merge).to_contain_text("asked for by a caller")
    await merge.get_by_role("button", name="Undo").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Bruno the Younger")
    await split.get_by_role("button", name="Undo").click()
    await expect(page.get_by_text("There is no such entity (any more).")).to_be_visible()
    assert fact in {each.uuid for each in (await client.get_entity(group, bruno)).facts}


async def test_an_episode_tells_what_was_read_from_it_and_what_it_ended(view: View) -> None:
    page = await view.open("episodes")
    await page.get_by_label("Find in episodes").fill("I live in Zurich since")
    await page.locator("main li a").first.click()
    await expect(page.locator("blockquote.whole")).to_contain_text("I live in Zurich since May 1, 2024.")
    read = page.locator("section", has=page.get_by_role("heading", name="Read from it"))
    ended = page.locator("section", has=page.get_by_role("heading", name="What it ended"))
    await expect(read).to_contain_text("Alice Chen lives in Zurich")
    await expect(ended).to_contain_text("Alice Chen lives in Berlin")


async def listed(page: Page) -> Locator:
    """The list below the graph, open."""
    if await page.locator("details[open]").count() == 0:
        await page.get_by_text("As a list").click()
    return page.locator("details[open]")


async def slide(page: Page, label: str, share: float) -> None:
    """Move a slider."""
    await page.get_by_label(label).fill(str(round(1_000 * share)))


async def test_the_graph_is_that_of_two_times(view: View, client: Client) -> None:
    page = await view.open("graph", await client.entity_of(GROUP, "Alice Chen"))
    await expect(page.locator(".head")).to_contain_text("facts hold")
    await expect(await listed(page)).to_contain_text("Alice Chen lives in Zurich")
    await expect(await listed(page)).not_to_contain_text("Alice Chen lives in Berlin")
    await slide(page, "True on", 0.1)
    await expect(await listed(page)).to_contain_text("Alice Chen lives in Berlin")
    await expect(await listed(page)).not_to_contain_text("Alice Chen lives in Zurich")
    await slide(page, "Known on", 0)
    await expect(page.get_by_text("As a list: 0 facts")).to_be_visible()
    for button in await page.get_by_role("button", name="Now").all():
        await button.click()
    await expect(await listed(page)).to_contain_text("Alice Chen lives in Zurich")


async def test_the_graph_is_walked_by_keyboard(view: View, client: Client) -> None:
    page = await view.open("graph", await client.entity_of(GROUP, "Greta"))
    await expect(page.locator("aside h2")).to_have_text("Greta")
    await laid_out(page)
    canvas = page.get_by_role("application")
    for key in ("ArrowUp", "ArrowRight", "ArrowDown", "ArrowLeft"):
        await canvas.press(key)
        if await page.locator("aside h2").inner_text() != "Greta":
            break
    reached = await page.locator("aside h2").inner_text()
    assert reached != "Greta"
    await canvas.press("Enter")
    await expect(page.get_by_role("heading", level=1)).to_have_text(reached)


async def test_the_slider_redraws_500_nodes(
    view: View, client: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each move draws the graph of another time. How long the scripts of a move took is printed."""
    works = [f"Person{n} works at Firm{n // 4} since May {n % 28 + 1}, {2000 + n // 20}." for n in range(400)]
    people = [message(text, JAN + n, role="Ann") for n, text in enumerate(works)]
    for at in range(0, len(people), 200):
        receipt = (await client.add_messages("many", people[at : at + 200])).receipt_id
        await client.wait_receipt(receipt)
    page = await view.open("graph", group="many")
    await expect(page.locator(".head")).to_contain_text(re.compile(r"5\d\d entities"))
    await laid_out(page)
    session = await page.context.new_cdp_session(page)
    await session.send("Performance.enable")
    taken, seen = [], set()
    for at in range(50, 1_000, 50):
        before = await script_ms(session)
        drawn = await page.evaluate(MOVED, at)
        taken.append(await script_ms(session) - before)
        assert drawn
        seen.add(await page.locator(".head [role=status]").inner_text())
    assert len(seen) > 5
    told = f"{statistics.median(taken):.1f} ms of script, {max(taken):.1f} ms at most"
    with capsys.disabled():
        print(f"\nThe slider redraws 500 nodes in {told}.")  # noqa: T201  the figure is what this is for


MOVED = """async (at) => {
    performance.clearMeasures();
    const slider = document.querySelector("input[type=range]");
    slider.value = at;
    slider.dispatchEvent(new Event("input", { bubbles: true }));
    for (let frame = 0; frame < 3; frame += 1) await new Promise((resolve) => requestAnimationFrame(resolve));
    return performance.getEntriesByName("kgsvc:draw").length > 0;
}"""


async def script_ms(session: CDPSession) -> float:
    """For how long scripts of the tab have run."""
    metrics = (await session.send("Performance.getMetrics"))["metrics"]
    return 1_000 * float(next(each["value"] for each in metrics if each["name"] == "ScriptDuration"))


async def test_a_document_shows_its_pages_and_the_facts_that_cite_it(view: View) -> None:
    page = await view.open("documents")
    await expect(page.get_by_role("row").filter(has_text="Handbook")).to_contain_text("processed")
    await page.get_by_role("link", name="Handbook").click()
    await expect(page.locator(".page").first).to_have_text(re.compile(r"page"))
    cited = page.locator(".passage.cited .margin")
    await expect(cited).to_contain_text("Dana Novak works at Acme")
    row = cited.locator("li", has_text="Dana Novak works at Acme")
    await row.get_by_role("button").click()
    await expect(page.locator("mark.chosen")).to_have_text("Dana Novak works at Acme.")
    await page.locator("mark", has_text="Alice Chen likes Fjord Maps").click()
    await expect(cited.locator("li.chosen")).to_contain_text("Alice Chen likes Fjord Maps")


async def test_two_revisions_of_a_document_stand_side_by_side(view: View, client: Client) -> None:
    async def put(text: str, at_ms: int) -> None:
        item = DocumentItem(document_id="rules", title="Rules", text=text, reference_time=timestamp(at_ms))
        (added,) = (await client.ask("AddDocuments", group_id="revised", documents=[item])).documents
        for receipt in added.receipt_ids:
            await client.wait_receipt(receipt)

    page = await view.open("documents", group="revised")
    await put("Ann works at Acme. <b>Nobody</b> sleeps here.", JAN)
    await put("Ann works at Beta Labs. <b>Nobody</b> sleeps here.", JAN + 1_000)
    await page.get_by_role("link", name="Rules").click()
    await page.get_by_role("link", name="Revisions (2)").click()
    former, present = page.locator(".beside .text").nth(0), page.locator(".beside .text").nth(1)
    await expect(former).to_have_text("Ann works at Acme. <b>Nobody</b> sleeps here.")
    await expect(former.locator("del")).to_have_text("Acme")
    await expect(present).to_have_text("Ann works at Beta Labs. <b>Nobody</b> sleeps here.")
    await expect(present.locator("ins")).to_have_text("Beta Labs")


async def test_communities_are_built_and_drawn(view: View, client: Client) -> None:
    page = await view.open("communities")
    await page.get_by_role("button", name="Build").click()
    await expect(page.get_by_role("application")).to_be_visible()
    await expect(page.locator(".communities li").first).to_contain_text("built")


async def test_what_comes_in_is_seen_live(view: View, client: Client) -> None:
    page = await view.open("live", group="live")
    await expect(page.get_by_text("Watching.")).to_be_visible()
    await client.add_messages("live", [message("Ann works at Acme.", JAN, role="Ann")])
    for kind, text in (("episode", "Ann works at Acme."), ("entity", "Acme"), ("fact", "Ann works at Acme.")):
        row = page.locator("li", has=page.locator(f".badge.{kind}"))
        await expect(row.filter(has_text=text)).to_be_visible()


@pytest_asyncio.fixture(loop_scope="session")
async def failing(tmp_path: Path) -> AsyncIterator[tuple[Service, ScriptedOpenAI]]:
    """A service whose model fails."""
    async with ScriptedOpenAI(reads_bodies) as model:
        model.fail(says("I think so."), match="Alice", times=None)
        settings = scripted(model) | {"server.http_listen": "127.0.0.1:0"}
        async with Service(settings, tmp_path) as service:
            yield service, model


async def test_parked_items_say_why_and_are_retried(
    browser: Browser, failing: tuple[Service, ScriptedOpenAI]
) -> None:
    service, model = failing
    async with Client(service.address) as client:
        told = telling(JAN, fact("WORKS_AT", "Alice", "Acme"), uuid="told")
        await client.wait_receipt((await client.add_episodes("parked", [told])).receipt_id)
    page = await browser.new_page()
    page.set_default_timeout(WAIT_MS)
    await page.goto(f"{service.http_url}/")
    numbers = page.get_by_role("row").filter(has_text="parked").locator("td")
    await expect(numbers.nth(4)).to_have_text("1")
    await page.goto(f"{service.http_url}/#/parked")
    await expect(page.get_by_role("row").filter(has_text="told")).to_contain_text("extract")
    model.heal()
    await page.get_by_role("button", name="Retry", exact=True).click()
    await expect(page.get_by_text("Nothing is parked.")).to_be_visible()
    await expect(page.locator(".tile", has_text="facts").locator("dd")).to_have_text("1")
    await page.close()
