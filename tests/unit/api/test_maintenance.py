"""Deletes and look-ups by bare uuid (docs/contract.md)."""

import pytest

from kgsvc.api.rpc.health import CONTRACT_REVISION
from kgsvc.domain.facts.plan import text_digest
from kgsvc.domain.model.delta import GraphDelta, Guard
from kgsvc.domain.model.graph import Entity, Fact, FactKind
from kgsvc.domain.model.items import ItemState
from kgsvc.domain.model.keys import fact_key, slot_of
from kgsvc.stores.protocol import Store
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


async def test_fact_is_read_with_both_time_axes(stack: Stack) -> None:
    fact = await put_fact(stack.store, "g", "f", expired_ms=9_999)
    found = await stack.client.ask("GetEntityEdge", uuid="f")
    assert (found.uuid, found.name, found.fact, found.group_id) == ("f", "LIKES", TEXT, "g")
    assert (found.source_name, found.target_name) == (fact.source_name, fact.target_name)
    assert list(found.episodes) == ["ep"]
    assert not found.HasField("valid_at")
    assert not found.HasField("invalid_at")
    assert found.expired_at == timestamp(9_999)
    assert found.created_at == timestamp(fact.created_ms)
    assert found.reference_time == timestamp(500)
    assert not found.HasField("score")


@pytest.mark.parametrize("operation", ["GetEntityEdge", "DeleteEntityEdge"])
async def test_bare_uuid_in_two_groups_asks_for_the_group(stack: Stack, operation: str) -> None:
    for group_id in ("g", "h"):
        await put_fact(stack.store, group_id, "f")
    ambiguous = await stack.client.answer(operation, uuid="f")
    assert ambiguous.error.error_code == "CONFLICT"
    assert [v.field for v in ambiguous.error.field_violations] == ["input.group_id"]
    await stack.client.ask(operation, uuid="f", group_id="h")


async def test_deleting_a_fact_is_idempotent_and_leaves_a_tombstone(stack: Stack) -> None:
    fact = await put_fact(stack.store, "g", "f")
    for uuid in ("f", "f", "never-there"):
        assert (await stack.client.ask("DeleteEntityEdge", uuid=uuid)).success
    assert (await stack.client.answer("GetEntityEdge", uuid="f")).error.error_code == "NOT_FOUND"
    view = await stack.store.slots("g", [fact.slot])
    assert view.facts == ()
    assert [(stone.uuid, stone.fact) for stone in view.tombstones] == [("f", text_digest(TEXT))]
    assert view.tombstones[0].deleted_ms > fact.created_ms


async def test_clear_all_empties_every_group(stack: Stack) -> None:
    client = stack.client
    for group_id in ("g", "h"):
        await client.add_episodes(group_id, [episode("x", 1)])
    await finish(stack.store, "g", ItemState.COMPLETED)
    assert (await client.ask("ClearAll")).message == "2 groups deleted"
    assert await client.get_episodes("g") == await client.get_episodes("h") == []
    assert (await client.ask("ClearAll")).success


async def test_healthcheck_names_what_it_runs_on(client: Client) -> None:
    output = await client.ask("Healthcheck")
    assert output.status == "healthy"
    assert (output.version, output.store, output.extractor, output.embedder) == (
        "1.2.3", "embedded", "offline", "",
    )  # fmt: skip
    assert output.contract_revision == CONTRACT_REVISION
