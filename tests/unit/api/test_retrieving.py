"""SearchFacts, GetMemory and GetEpisodes as the wire shows them (spec 004 §4.3, design §2)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from prometheus_client import generate_latest

from kgsvc.v1 import retrieval_pb2 as ret
from kgsvc.v1 import types_pb2 as typ
from tests.support.client import Client, episode, timestamp
from tests.support.served import LIMITS, Serve, Stack
from tests.unit.api.test_maintenance import put_fact


async def get_episodes(client: Client, last_n: int, **fields: Any) -> Any:
    given = ret.GetEpisodesInput(group_id=fields.pop("group", "g"), last_n=last_n, **fields)
    return await client.retrieval.GetEpisodes(ret.GetEpisodesRequest(input=given), timeout=30)


async def pages(client: Client, last_n: int, page_size: int) -> list[list[str]]:
    """Bodies by page."""
    found, token = [], None
    while token != "":
        output = (await get_episodes(client, last_n, page_size=page_size, page_token=token)).output
        found.append([e.body for e in output.episodes])
        token = output.next_page_token
    return found


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


async def test_memory_is_the_search_for_the_composed_query(stack: Stack) -> None:
    await put_fact(stack.store, "g", "f")
    said = typ.MemoryMessage(
        role_type=typ.ROLE_TYPE_USER, role="Bob", content="what does Ann like?", timestamp=timestamp(1)
    )
    found = await stack.client.memory("g", [said, said])
    line = "user(Bob): what does Ann like?\n"
    assert found == await stack.client.search("g", line * 2)
    assert [fact.uuid for fact in found] == ["f"]


async def test_unknown_center_is_not_found(stack: Stack) -> None:
    fact = await put_fact(stack.store, "g", "f")
    assert [f.uuid for f in await stack.client.search("g", "tea", center=fact.source_uuid)] == ["f"]
    given = ret.SearchFactsInput(group_ids=["h"], query="tea", center_node_uuid=fact.source_uuid)
    response = await stack.client.retrieval.SearchFacts(ret.SearchFactsRequest(input=given))
    assert response.error.error_code == "NOT_FOUND"


async def test_latest_episodes_come_in_chronological_order(client: Client) -> None:
    times = {"c": 30, "a": 10, "b2": 20}
    await client.add_episodes("g", [episode(name, at_ms, uuid=name) for name, at_ms in times.items()])
    await client.add_episodes("g", [episode("b1", 20, uuid="b1")])
    bodies = [e.body for e in (await get_episodes(client, 3)).output.episodes]
    assert bodies == ["b1", "b2", "c"]
    assert [e.body for e in (await get_episodes(client, 100)).output.episodes] == ["a", "b1", "b2", "c"]
    assert len((await get_episodes(client, 1, group="unknown")).output.episodes) == 0


@pytest.mark.parametrize("page_size", [1, 2, 3, 6, 7, 100])
async def test_pages_put_together_are_the_whole(client: Client, page_size: int) -> None:
    await fill(client, 9)
    found = await pages(client, 7, page_size)
    assert [body for page in found for body in page] == [str(n) for n in range(2, 9)]
    assert all(len(page) == min(page_size, 7) for page in found[:-1])


async def test_the_range_is_fixed_by_the_first_page(client: Client) -> None:
    await fill(client, 6)
    first = (await get_episodes(client, 4, page_size=2)).output
    await client.add_episodes("g", [episode("later", 1_000 + n, uuid=f"l{n}") for n in range(4)])
    second = (await get_episodes(client, 4, page_size=2, page_token=first.next_page_token)).output
    assert [e.body for e in (*first.episodes, *second.episodes)] == ["2", "3", "4", "5"]
    assert second.next_page_token == ""


async def test_too_much_for_one_answer_asks_for_pages(serve: Serve) -> None:
    async with serve(limits=replace(LIMITS, response_bytes=10_000)) as stack:
        await fill(stack.client, 8, size=3_000)
        refused = await get_episodes(stack.client, 8)
        assert refused.error.error_code == "LIMIT_EXCEEDED"
        assert [v.field for v in refused.error.field_violations] == ["input.page_token"]
        found = await pages(stack.client, 8, 100)
        assert [body.strip() for page in found for body in page] == [str(n) for n in range(8)]
        assert [len(page) for page in found] == [3, 3, 2]


async def test_token_of_another_listing_is_refused(client: Client) -> None:
    await fill(client, 4)
    token = (await get_episodes(client, 4, page_size=2)).output.next_page_token
    for other in ({"last_n": 3}, {"last_n": 4, "group": "h"}):
        refused = await get_episodes(client, page_token=token, **other)
        assert refused.error.error_code == "INVALID_ARGUMENT"
        assert [v.field for v in refused.error.field_violations] == ["input.page_token"]


async def test_an_answer_over_the_budget_is_refused(serve: Serve) -> None:
    async with serve(limits=replace(LIMITS, response_bytes=50)) as stack:
        await put_fact(stack.store, "g", "f")
        given = ret.SearchFactsInput(group_ids=["g"], query="tea")
        response = await stack.client.retrieval.SearchFacts(ret.SearchFactsRequest(input=given))
    assert response.error.error_code == "LIMIT_EXCEEDED"
