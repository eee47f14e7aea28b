"""SearchFacts, GetMemory and GetEpisodes as the wire shows them (docs/contract.md)."""

from dataclasses import replace

import pytest
from prometheus_client import generate_latest

from tests.support.client import Client, episode
from tests.support.served import LIMITS, Serve, Stack
from tests.unit.api.test_maintenance import put_fact


async def pages(client: Client, last_n: int, page_size: int) -> list[list[str]]:
    """Bodies by page."""
    found = client.pages("GetEpisodes", group_id="g", last_n=last_n, page_size=page_size)
    return [[e.body for e in page.episodes] async for page in found]


async def fill(client: Client, count: int, size: int = 1) -> None:
    """Episodes "0", "1", … of the group g, each at its number."""
    for first in range(0, count, 4):
        numbers = range(first, min(first + 4, count))
        await client.add_episodes("g", [episode(str(n).ljust(size), n, uuid=f"u{n:03}") for n in numbers])


async def test_hits_carry_score_and_sources(stack: Stack) -> None:
    await put_fact(stack.store, "g", "f")
    hits = await stack.client.search(["g", "g", "unknown"], "who likes tea?")
    assert [(hit.uuid, hit.group_id, list(hit.episodes)) for hit in hits] == [("f", "g", ["ep"])]
    assert hits[0].score > 0
    assert b"search_latency_ms_count 1.0" in generate_latest(stack.core.metrics.registry)


@pytest.mark.parametrize("page_size", [1, 2, 3, 6, 7, 100])
async def test_pages_put_together_are_the_whole(client: Client, page_size: int) -> None:
    await fill(client, 9)
    found = await pages(client, 7, page_size)
    assert [body for page in found for body in page] == [str(n) for n in range(2, 9)]
    assert all(len(page) == min(page_size, 7) for page in found[:-1])


async def test_too_much_for_one_answer_asks_for_pages(serve: Serve) -> None:
    async with serve(limits=replace(LIMITS, response_bytes=10_000)) as stack:
        await fill(stack.client, 8, size=3_000)
        refused = await stack.client.answer("GetEpisodes", group_id="g", last_n=8)
        assert refused.error.error_code == "LIMIT_EXCEEDED"
        assert [v.field for v in refused.error.field_violations] == ["input.page_token"]
        found = await pages(stack.client, 8, 100)
        assert [body.strip() for page in found for body in page] == [str(n) for n in range(8)]
        assert [len(page) for page in found] == [3, 3, 2]


async def test_an_answer_over_the_budget_is_refused(serve: Serve) -> None:
    async with serve(limits=replace(LIMITS, response_bytes=50)) as stack:
        await put_fact(stack.store, "g", "f")
        response = await stack.client.answer("SearchFacts", group_ids=["g"], query="tea")
    assert response.error.error_code == "LIMIT_EXCEEDED"
