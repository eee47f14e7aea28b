"""Deletes and look-ups by bare uuid (spec 004 §4.3.2, §4.4; design §2, §3)."""

from __future__ import annotations

from typing import Any

import pytest

from kgsvc.domain.facts.plan import text_digest
from kgsvc.domain.model.delta import GraphDelta, Guard
from kgsvc.domain.model.graph import Entity, Fact, FactKind
from kgsvc.domain.model.identity import fact_key, slot_of
from kgsvc.domain.model.items import ItemState
from kgsvc.stores.protocol import Store
from kgsvc.v1 import admin_pb2 as adm
from kgsvc.v1 import envelope_pb2, types_pb2
from kgsvc.v1 import retrieval_pb2 as ret
from tests.support.client import Client, episode, timestamp
from tests.support.served import Stack, finish

TEXT = "Ann likes tea"


async def put_fact(store: Store, group_id: str, uuid: str, expired_ms: int | None = None) -> Fact:
    """A fact between two entities, as the pipeline would have written it."""
    head = (await store.names(group_id, ())).head
    now_ms = head.last_ms + 1_000
    ends = [Entity(f"{uuid}-{n}", group_id, f"{uuid} {n}", now_ms) for n in ("ann", "tea")]
    slot = slot_of(FactKind.STATE, ends[0].uuid, "LIKES", ends[1].uuid, {})
    fact = Fact(
        uuid, group_id, "LIKES", TEXT, ends[0].uuid, ends[1].uuid, ends[0].name, ends[1].name,
        created_ms=now_ms, reference_ms=500, slot=slot, fact_key=fact_key(slot, ends[1].uuid, 500, TEXT),
        expired_ms=expired_ms, episodes=("ep",),
    )  # fmt: skip
    names = {entity.name: entity.uuid for entity in ends}
    delta = GraphDelta(group_id, now_ms, entities=tuple(ends), names=names, facts=(fact,))
    await store.apply(delta, Guard(head.rev, head.epoch))
    return fact


async def get_edge(client: Client, uuid: str, group_id: str | None = None) -> Any:
    wanted = ret.GetEntityEdgeInput(uuid=uuid, group_id=group_id)
    return await client.retrieval.GetEntityEdge(ret.GetEntityEdgeRequest(input=wanted), timeout=30)


async def delete_edge(client: Client, uuid: str, group_id: str | None = None) -> Any:
    wanted = adm.DeleteEntityEdgeInput(uuid=uuid, group_id=group_id)
    return await client.admin.DeleteEntityEdge(adm.DeleteEntityEdgeRequest(input=wanted), timeout=30)


async def delete_episode(client: Client, uuid: str, group_id: str | None = None) -> Any:
    wanted = adm.DeleteEpisodeInput(uuid=uuid, group_id=group_id)
    return await client.admin.DeleteEpisode(adm.DeleteEpisodeRequest(input=wanted), timeout=30)


async def delete_group(client: Client, group_id: str) -> Any:
    wanted = adm.DeleteGroupInput(group_id=group_id)
    return await client.admin.DeleteGroup(adm.DeleteGroupRequest(input=wanted), timeout=30)


def succeeded(response: Any) -> bool:
    return bool(response.status == envelope_pb2.STATUS_OK and response.output.success)


async def test_fact_is_read_with_both_time_axes(stack: Stack) -> None:
    fact = await put_fact(stack.store, "g", "f", expired_ms=9_999)
    found = (await get_edge(stack.client, "f")).output
    assert (found.uuid, found.name, found.fact, found.group_id) == ("f", "LIKES", TEXT, "g")
    assert (found.source_name, found.target_name) == (fact.source_name, fact.target_name)
    assert list(found.episodes) == ["ep"]
    assert not found.HasField("valid_at")
    assert not found.HasField("invalid_at")
    assert found.expired_at == timestamp(9_999)
    assert found.created_at == timestamp(fact.created_ms)
    assert found.reference_time == timestamp(500)
    assert not found.HasField("score")


async def test_unknown_fact_is_not_found(stack: Stack) -> None:
    await put_fact(stack.store, "g", "f")
    assert (await get_edge(stack.client, "other")).error.error_code == "NOT_FOUND"
    assert (await get_edge(stack.client, "f", "h")).error.error_code == "NOT_FOUND"


@pytest.mark.parametrize("operation", [get_edge, delete_edge])
async def test_bare_uuid_in_two_groups_asks_for_the_group(stack: Stack, operation: Any) -> None:
    for group_id in ("g", "h"):
        await put_fact(stack.store, group_id, "f")
    ambiguous = await operation(stack.client, "f")
    assert ambiguous.error.error_code == "CONFLICT"
    assert [v.field for v in ambiguous.error.field_violations] == ["input.group_id"]
    assert (await operation(stack.client, "f", "h")).status == envelope_pb2.STATUS_OK


async def test_deleting_a_fact_is_idempotent_and_leaves_a_tombstone(stack: Stack) -> None:
    fact = await put_fact(stack.store, "g", "f")
    assert succeeded(await delete_edge(stack.client, "f"))
    assert succeeded(await delete_edge(stack.client, "f"))
    assert succeeded(await delete_edge(stack.client, "never-there"))
    assert (await get_edge(stack.client, "f")).error.error_code == "NOT_FOUND"
    view = await stack.store.slots("g", [fact.slot])
    assert view.facts == ()
    assert [(stone.uuid, stone.fact) for stone in view.tombstones] == [("f", text_digest(TEXT))]
    assert view.tombstones[0].deleted_ms > fact.created_ms


async def test_deleting_an_episode_keeps_facts_and_takes_it_in_anew(stack: Stack) -> None:
    client = stack.client
    done = await client.add_episodes("g", [episode("one", 1, uuid="ep"), episode("two", 2)])
    await put_fact(stack.store, "g", "f")
    assert succeeded(await delete_episode(client, "ep"))
    assert succeeded(await delete_episode(client, "ep"))
    assert [e.body for e in await client.get_episodes("g")] == ["two"]
    assert list((await get_edge(client, "f")).output.episodes) == ["ep"]
    items = {item.uuid: item.state for item in (await client.receipt(done.receipt_id)).items}
    assert items["ep"] == types_pb2.ITEM_STATE_DELETED
    again = await client.add_episodes("g", [episode("other words", 1, uuid="ep")])
    assert [item.duplicate for item in again.items] == [False]


async def test_episode_uuid_in_two_groups_asks_for_the_group(client: Client) -> None:
    for group_id in ("g", "h"):
        await client.add_episodes(group_id, [episode("x", 1, uuid="ep")])
    assert (await delete_episode(client, "ep")).error.error_code == "CONFLICT"
    assert succeeded(await delete_episode(client, "ep", "g"))
    assert await client.get_episodes("g") == []
    assert len(await client.get_episodes("h")) == 1


async def test_deleting_a_group_empties_it_and_no_other(stack: Stack) -> None:
    client = stack.client
    for group_id in ("g", "h"):
        await client.add_episodes(group_id, [episode("x", 1)])
        await put_fact(stack.store, group_id, f"f-{group_id}")
    assert succeeded(await delete_group(client, "g"))
    assert succeeded(await delete_group(client, "g"))
    assert succeeded(await delete_group(client, "unknown"))
    assert await client.get_episodes("g") == []
    assert await client.search("g", "tea") == []
    assert (await get_edge(client, "f-g")).error.error_code == "NOT_FOUND"
    assert len(await client.get_episodes("h")) == 1
    assert [fact.uuid for fact in await client.search("h", "tea")] == ["f-h"]


async def test_clear_all_empties_every_group(stack: Stack) -> None:
    client = stack.client
    for group_id in ("g", "h"):
        await client.add_episodes(group_id, [episode("x", 1)])
    await finish(stack.store, "g", ItemState.COMPLETED)
    response = await client.admin.ClearAll(adm.ClearAllRequest())
    assert succeeded(response)
    assert response.output.message == "2 groups deleted"
    assert await client.get_episodes("g") == await client.get_episodes("h") == []
    assert succeeded(await client.admin.ClearAll(adm.ClearAllRequest()))


async def test_healthcheck_names_what_it_runs_on(client: Client) -> None:
    output = (await client.admin.Healthcheck(adm.HealthcheckRequest())).output
    assert output.status == "healthy"
    assert (output.version, output.store, output.extractor, output.embedder) == (
        "1.2.3", "embedded", "offline", "",
    )  # fmt: skip
    assert output.contract_revision == 1
