"""Spec 004 §15 and §16 "Maintenance": what is deleted is gone, deleting again is fine, coming back works."""

from typing import Any

import pytest

from kgsvc.v1 import admin_pb2 as adm
from kgsvc.v1 import ingestion_pb2 as ing
from kgsvc.v1 import retrieval_pb2 as ret
from kgsvc.v1 import types_pb2 as typ
from tests.acceptance.refusals import refused
from tests.acceptance.saying import FEB, HELD, JAN, body, fact, held_up, telling
from tests.support.client import CALL_S, Client, granted
from tests.support.scripted_openai import ScriptedOpenAI
from tests.support.store_spec import StoreSpec, dumped

WORKS = fact("WORKS_AT", "Alice", "Acme")
LIVES = fact("LIVES_IN", "Alice", "Oslo")


async def delete_episode(client: Client, uuid: str, group: str | None = None) -> Any:
    """DeleteEpisode."""
    return await client.ask("DeleteEpisode", uuid=uuid, group_id=group)


async def delete_edge(client: Client, uuid: str) -> Any:
    """DeleteEntityEdge."""
    return await client.ask("DeleteEntityEdge", uuid=uuid)


async def test_delete_group_removes_everything_of_it(client: Client, group: str, spec: StoreSpec) -> None:
    kept = f"{group}-kept"
    for name in (group, kept):
        await client.ingest(name, [telling(JAN, WORKS, uuid="a"), telling(FEB, LIVES, uuid="b")])
    (gone, *_) = await client.search(group, "Alice")
    deleted = await client.delete_group(group)
    assert deleted.success
    assert deleted.message
    assert await client.get_episodes(group) == []
    assert await client.search(group, "Alice") == []
    assert await client.list_items(group) == []
    request = ret.GetEntityEdgeRequest(input=ret.GetEntityEdgeInput(uuid=gone.uuid))
    assert (await refused(client, "GetEntityEdge", request)).code == "NOT_FOUND"
    dump = await dumped(spec, group)
    assert (dump.episodes, dump.entities, dump.facts, dump.mentions) == ((), (), (), ())
    assert dump.names == {}
    assert len(await client.search(kept, "Alice")) == 2
    assert len(await client.get_episodes(kept)) == 2


async def test_delete_group_is_idempotent(client: Client, group: str) -> None:
    await client.ingest(group, [telling(JAN, WORKS)])
    for name in (group, group, f"{group}-never-there"):
        assert (await client.delete_group(name)).success


async def test_a_deleted_group_can_be_filled_again(client: Client, group: str) -> None:
    items = [telling(JAN, WORKS, uuid="a"), telling(FEB, LIVES, uuid="b")]
    first = await client.add_episodes(group, items, idempotency_key="key")
    await client.wait_receipt(first.receipt_id)
    before = [each.fact for each in await client.search(group, "Alice")]
    await client.delete_group(group)
    again = await client.add_episodes(group, items, idempotency_key="key")
    assert not any(item.duplicate for item in again.items), "nothing of the group is remembered"
    await client.wait_receipt(again.receipt_id)
    assert [each.fact for each in await client.search(group, "Alice")] == before


async def test_delete_group_stops_work_under_way(
    client: Client, group: str, patient_model: ScriptedOpenAI, spec: StoreSpec
) -> None:
    await held_up(client, group, patient_model, telling(JAN, HELD, uuid="held"))
    await client.delete_group(group)
    patient_model.heal()
    await client.ingest(group, [telling(JAN, WORKS, uuid="new")])
    assert [each.fact for each in await client.search(group, "Alice")] == ["Alice works at Acme"]
    assert {each.name for each in (await dumped(spec, group)).entities} == {"Alice", "Acme"}


async def test_delete_entity_edge_is_idempotent(client: Client, group: str) -> None:
    await client.ingest(group, [telling(JAN, WORKS, LIVES)])
    best, other = await client.search(group, "Alice works at Acme")
    for uuid in (best.uuid, best.uuid, f"{group}-never-there"):
        deleted = await delete_edge(client, uuid)
        assert deleted.success
        assert deleted.message
    assert [each.uuid for each in await client.search(group, "Alice works at Acme")] == [other.uuid]
    request = ret.GetEntityEdgeRequest(input=ret.GetEntityEdgeInput(uuid=best.uuid))
    assert (await refused(client, "GetEntityEdge", request)).code == "NOT_FOUND"


async def test_delete_entity_edge_keeps_nodes_and_episodes(
    client: Client, group: str, spec: StoreSpec
) -> None:
    await client.ingest(group, [telling(JAN, WORKS, uuid="a")])
    (only,) = await client.search(group, "Alice")
    await delete_edge(client, only.uuid)
    dump = await dumped(spec, group)
    assert {each.name for each in dump.entities} == {"Alice", "Acme"}
    assert [each.uuid for each in dump.episodes] == ["a"]
    assert dump.facts == ()


async def test_a_deleted_fact_comes_back_only_when_told_anew(client: Client, group: str) -> None:
    await client.ingest(group, [telling(JAN, WORKS, uuid="a")])
    (only,) = await client.search(group, "Alice")
    await delete_edge(client, only.uuid)
    await client.ingest(group, [telling(JAN, WORKS, uuid="a")])
    assert await client.search(group, "Alice") == [], "sending the same item again says nothing new"
    await client.ingest(group, [telling(FEB, WORKS, uuid="b")])
    (anew,) = await client.search(group, "Alice")
    assert list(anew.episodes) == ["b"]


async def test_work_accepted_before_a_fact_was_deleted_cannot_bring_it_back(
    client: Client, group: str, patient_model: ScriptedOpenAI
) -> None:
    await client.ingest(group, [telling(JAN, WORKS, uuid="a")])
    (only,) = await client.search(group, "Alice")
    accepted = await held_up(client, group, patient_model, telling(FEB, WORKS, HELD, uuid="held"))
    await delete_edge(client, only.uuid)
    patient_model.heal()
    await client.wait_receipt(accepted.receipt_id)
    assert [each.fact for each in await client.search(group, "Alice")] == ["Alice knows Held"]


async def test_delete_episode_keeps_what_was_read_from_it(
    client: Client, group: str, spec: StoreSpec
) -> None:
    await client.ingest(group, [telling(JAN, WORKS, uuid="a"), telling(FEB, LIVES, uuid="b")])
    facts = await client.search(group, "Alice")
    for uuid in ("a", "a", "never-there"):
        deleted = await delete_episode(client, uuid, group)
        assert deleted.success
        assert deleted.message
    assert [each.uuid for each in await client.get_episodes(group)] == ["b"]
    assert await client.search(group, "Alice") == facts, "facts keep naming the episode"
    dump = await dumped(spec, group)
    assert {each.name for each in dump.entities} == {"Alice", "Acme", "Oslo"}
    assert {episode for episode, _ in dump.mentions} == {"b"}


async def test_a_deleted_episode_can_be_sent_again(client: Client, group: str) -> None:
    await client.ingest(group, [telling(JAN, WORKS, uuid="a")])
    await delete_episode(client, "a", group)
    accepted = await client.add_episodes(group, [telling(FEB, LIVES, uuid="a")])
    assert not accepted.items[0].duplicate, "even with other content: the first is forgotten"
    await client.wait_receipt(accepted.receipt_id)
    assert [each.body for each in await client.get_episodes(group)] == [body(LIVES)]
    assert len(await client.search(group, "Alice")) == 2


@pytest.mark.parametrize("cascades", [False, True])
async def test_delete_episode_cancels_work_under_way(
    cascades: bool, client: Client, group: str, patient_model: ScriptedOpenAI, spec: StoreSpec
) -> None:
    accepted = await held_up(client, group, patient_model, telling(JAN, HELD, uuid="held"))
    await client.ask("DeleteEpisode", uuid="held", group_id=group, cascade=cascades)
    assert (await client.wait_receipt(accepted.receipt_id))["held"].state == typ.ITEM_STATE_DELETED
    patient_model.heal()
    await client.ingest(group, [telling(JAN, WORKS)])
    assert {each.name for each in (await dumped(spec, group)).entities} == {"Alice", "Acme"}


async def test_a_uuid_in_two_groups_must_be_told_apart(client: Client, group: str) -> None:
    other = f"{group}-2"
    shared = f"shared {group}"
    for name in (group, other):
        await client.add_episodes(name, [telling(JAN, WORKS, uuid=shared)])
    request = adm.DeleteEpisodeRequest(input=adm.DeleteEpisodeInput(uuid=shared))
    refusal = await refused(client, "DeleteEpisode", request)
    assert (refusal.code, refusal.fields) == ("CONFLICT", ("input.group_id",))
    assert len(await client.get_episodes(group)) == 1
    await delete_episode(client, shared, group)
    assert (await client.get_episodes(group), len(await client.get_episodes(other))) == ([], 1)


async def test_entities_of_a_deleted_group_leave_their_names_free(client: Client, group: str) -> None:
    for uuid in ("first", "second"):
        given = ing.AddEntityNodeInput(uuid=uuid, group_id=group, name="Alice")
        request = ing.AddEntityNodeRequest(input=given)
        assert granted(await client.ingestion.AddEntityNode(request, timeout=CALL_S)).output.uuid == uuid
        await client.delete_group(group)


TRUE = (
    fact("WORKS_AT", "Alice", "Acme", "Alice works at Acme"),
    fact("LIVES_IN", "Alice", "Oslo", "Alice lives in Oslo", kind="functional"),
    fact("KNOWS", "Alice", "Bruno", "Alice knows Bruno"),
)
POISON = (
    fact("WORKS_AT", "Alice", "Acme", "Alice embezzled from Acme"),
    fact("LIVES_IN", "Alice", "Gehenna", "Alice lives in Gehenna", kind="functional"),
    fact("KNOWS", "Alice", "Bruno", "Alice never met Bruno", polarity="denies"),
    fact("LIKES", "Alice", "jazz", "Alice likes jazz"),
)


async def cascade(client: Client, group: str, uuid: str) -> Any:
    """DeleteEpisode with cascade."""
    return await client.ask("DeleteEpisode", uuid=uuid, group_id=group, cascade=True)


async def test_a_poisoning_episode_is_undone_by_cascade(client: Client, group: str, spec: StoreSpec) -> None:
    await client.ingest(group, [telling(JAN, *TRUE, uuid="true")])
    before = {each.uuid: each for each in await client.search(group, "Alice", max_facts=100)}
    await client.ingest(group, [telling(FEB, *POISON, uuid="evil-1"), telling(FEB, POISON[3], uuid="other")])
    poisoned = {each.fact for each in await client.search(group, "Alice", max_facts=100)}
    assert poisoned.isdisjoint(each["fact"] for each in TRUE)
    done = await cascade(client, group, "evil-1")
    assert (done.facts_removed, done.facts_restored, done.entities_removed) == (3, 3, 1)
    after = {each.uuid: each for each in await client.search(group, "Alice", max_facts=100)}
    assert before.keys() < after.keys()
    for uuid, fact_before in before.items():
        assert after[uuid].fact == fact_before.fact
        assert not after[uuid].HasField("invalid_at")
        assert not after[uuid].HasField("expired_at")
    (likes,) = (each for uuid, each in after.items() if uuid not in before)
    assert (likes.fact, list(likes.episodes)) == ("Alice likes jazz", ["other"])
    for query in ("embezzled", "Gehenna", "never met"):
        assert {each.uuid for each in await client.search(group, query, max_facts=100)} <= after.keys()
    alice = await client.get_entity(group, likes.source_node_uuid, include_expired=True)
    dump = await dumped(spec, group)
    for word in ("evil-1", "embezzled", "gehenna", "never met"):
        assert word not in str(alice).casefold()
        assert word not in str((dump.facts, dump.mentions, dump.names, dump.episode_edges)).casefold()
        assert word not in str([(each.name, each.summary) for each in dump.entities]).casefold()
    assert {each.name for each in dump.entities} == {"Alice", "Acme", "Oslo", "Bruno", "jazz"}


async def test_cascade_of_what_is_not_there_or_said_nothing_is_ok(client: Client, group: str) -> None:
    await client.ingest(group, [telling(JAN, WORKS, uuid="a"), telling(FEB, uuid="silent")])
    for uuid in ("silent", "silent", "never-there"):
        done = await cascade(client, group, uuid)
        assert done.success
        assert (done.facts_removed, done.facts_restored, done.entities_removed) == (0, 0, 0)
    assert len(await client.search(group, "Alice")) == 1


async def test_after_a_cascade_the_episode_can_be_told_anew(client: Client, group: str) -> None:
    await client.ingest(group, [telling(JAN, WORKS, uuid="a")])
    await cascade(client, group, "a")
    assert await client.search(group, "Alice") == []
    await client.ingest(group, [telling(JAN, WORKS, uuid="a")])
    (again,) = await client.search(group, "Alice")
    assert list(again.episodes) == ["a"]


async def test_an_entity_of_a_caller_outlives_a_cascade(client: Client, group: str, spec: StoreSpec) -> None:
    node = ing.AddEntityNodeRequest(input=ing.AddEntityNodeInput(uuid="own", group_id=group, name="Alice"))
    granted(await client.ingestion.AddEntityNode(node, timeout=CALL_S))
    await client.ingest(group, [telling(JAN, WORKS, uuid="a")])
    assert (await cascade(client, group, "a")).entities_removed == 1
    assert [each.uuid for each in (await dumped(spec, group)).entities] == ["own"]
