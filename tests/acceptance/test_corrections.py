"""Spec 000 "soft update": a corrected fact expires, another takes over, and all that was said can be read."""

import asyncio

from kgsvc.v1 import admin_pb2 as adm
from kgsvc.v1 import ingestion_pb2 as ing
from kgsvc.v1 import retrieval_pb2 as ret
from tests.acceptance.refusals import refused
from tests.acceptance.saying import FEB, JAN, MAR, fact, telling
from tests.support.client import CALL_S, Client, granted

WORKS = fact("WORKS_AT", "Alice", "Acme", "Alice works at Acme")
A, B = "Alice works at Acme", "Alice leads Acme since 2020"


async def told(client: Client, group: str) -> str:
    """A fact that two episodes tell."""
    await client.ingest(group, [telling(JAN, WORKS, uuid="one"), telling(FEB, WORKS, uuid="two")])
    (found,) = await client.search(group, "Alice")
    return found.uuid


async def test_the_old_fact_expires_and_a_new_one_takes_over(client: Client, group: str) -> None:
    old = await told(client, group)
    done = await client.update_fact(group, old, B, reason="she was promoted")
    assert (done.status, done.old_uuid) == ("updated", old)
    assert done.new_uuid == done.new_edge.uuid != old
    assert done.message
    (current,) = await client.search(group, "Alice")
    assert current.uuid == done.new_uuid
    before, after = await client.get_edge(group, old), await client.get_edge(group, done.new_uuid)
    assert after == done.new_edge
    assert (before.fact, before.expired_reason, before.expired_by_fact) == (A, "updated", done.new_uuid)
    assert before.expired_at == after.created_at
    assert not after.HasField("expired_at")
    assert (after.fact, after.original_fact, after.update_reason) == (B, A, "she was promoted")
    assert after.previous_uuid == old


async def test_episodes_and_citations_are_inherited(client: Client, group: str) -> None:
    old = await told(client, group)
    done = await client.update_fact(group, old, B)
    assert list(done.new_edge.episodes) == ["one", "two"]
    assert [each.episode_uuid for each in done.new_edge.citations] == ["one", "two"]
    edges = {each.uuid: set(each.entity_edges) for each in await client.get_episodes(group)}
    assert edges == {"one": {old, done.new_uuid}, "two": {old, done.new_uuid}}


async def test_there_and_back_again_makes_three(client: Client, group: str) -> None:
    first = await told(client, group)
    second = (await client.update_fact(group, first, B, reason="promoted")).new_uuid
    third = (await client.update_fact(group, second, A, reason="she was not")).new_uuid
    assert len({first, second, third}) == 3
    assert [each.uuid for each in await client.search(group, "Alice")] == [third]
    for uuid in (first, second, third):
        history = await client.fact_history(group, uuid)
        assert [each.uuid for each in history] == [first, second, third]
        assert [each.fact for each in history] == [A, B, A]
        assert [each.update_reason for each in history] == ["", "promoted", "she was not"]
        assert [[c.episode_uuid for c in each.citations] for each in history] == [["one", "two"]] * 3


async def test_history_holds_what_superseded_too(client: Client, group: str) -> None:
    old = await told(client, group)
    leads = "Alice leads Acme"
    await client.ingest(group, [telling(MAR, fact("WORKS_AT", "Alice", "Acme", leads))])
    (current,) = await client.search(group, "Alice")
    done = await client.update_fact(group, current.uuid, B)
    history = await client.fact_history(group, old)
    assert [(each.fact, each.expired_reason) for each in history] == [
        (A, "superseded"),
        (leads, "updated"),
        (B, ""),
    ]
    assert history[0].expired_by_fact == history[2].uuid == done.new_uuid


async def test_no_model_ends_what_a_caller_wrote(client: Client, group: str) -> None:
    done = await client.update_fact(group, await told(client, group), B)
    left = fact("WORKS_AT", "Alice", "Acme", "Alice left for good", polarity="ends")
    retold = fact("WORKS_AT", "Alice", "Acme", A)
    await client.ingest(group, [telling(MAR, left)])
    await client.ingest(group, [telling(MAR + 1, retold)])
    assert done.new_uuid in {each.uuid for each in await client.search(group, "Alice")}


async def test_what_is_said_already_is_unchanged(client: Client, group: str) -> None:
    old = await told(client, group)
    done = await client.update_fact(group, old, f" {A} ")
    assert (done.status, done.old_uuid, done.new_uuid) == ("unchanged", old, old)
    assert len(await client.fact_history(group, old)) == 1


async def test_an_expired_fact_cannot_be_updated(client: Client, group: str) -> None:
    old = await told(client, group)
    await client.update_fact(group, old, B)
    request = adm.UpdateFactRequest(input=adm.UpdateFactInput(uuid=old, group_id=group, fact="another"))
    refusal = await refused(client, "UpdateFact", request)
    assert (refusal.code, refusal.fields) == ("CONFLICT", ("input.uuid",))


async def test_unknown_facts_and_ends_are_not_found(client: Client, group: str) -> None:
    old = await told(client, group)
    nobody = adm.UpdateFactRequest(input=adm.UpdateFactInput(uuid="nobody", group_id=group, fact="x"))
    assert (await refused(client, "UpdateFact", nobody)).code == "NOT_FOUND"
    given = adm.UpdateFactInput(uuid=old, group_id=group, fact="x", target_node_uuid="nobody")
    refusal = await refused(client, "UpdateFact", adm.UpdateFactRequest(input=given))
    assert (refusal.code, refusal.fields) == ("NOT_FOUND", ("input.target_node_uuid",))
    unknown = ret.GetFactHistoryRequest(input=ret.GetFactHistoryInput(uuid="nobody", group_id=group))
    assert (await refused(client, "GetFactHistory", unknown)).code == "NOT_FOUND"


async def test_both_ends_must_differ(client: Client, group: str) -> None:
    old = await client.get_edge(group, await told(client, group))
    given = adm.UpdateFactInput(
        uuid=old.uuid, group_id=group, fact="x", target_node_uuid=old.source_node_uuid
    )
    refusal = await refused(client, "UpdateFact", adm.UpdateFactRequest(input=given))
    assert (refusal.code, refusal.fields) == ("INVALID_ARGUMENT", ("input.target_node_uuid",))


async def test_a_fact_can_be_moved_to_another_entity_and_given_attributes(client: Client, group: str) -> None:
    old = await told(client, group)
    node = ing.AddEntityNodeRequest(input=ing.AddEntityNodeInput(uuid="bruno", group_id=group, name="Bruno"))
    granted(await client.ingestion.AddEntityNode(node, timeout=CALL_S))
    wanted = adm.UpdateFactInput(
        uuid=old, group_id=group, fact="Bruno works at Acme", source_node_uuid="bruno"
    )
    wanted.attributes.update({"since": 2020})
    done = granted(
        await client.admin.UpdateFact(adm.UpdateFactRequest(input=wanted), timeout=CALL_S)
    ).output.new_edge
    assert (done.source_node_uuid, done.source_name, done.target_name) == ("bruno", "Bruno", "Acme")
    assert done.attributes["since"] == 2020
    assert [each.uuid for each in (await client.get_entity(group, "bruno")).facts] == [done.uuid]
    assert [each.uuid for each in await client.fact_history(group, done.uuid)] == [old, done.uuid]


async def test_the_first_outcome_is_told_again_by_its_key(client: Client, group: str) -> None:
    old = await told(client, group)
    first = await client.update_fact(group, old, B, "key", reason="promoted")
    assert await client.update_fact(group, old, B, "key", reason="promoted") == first
    assert len(await client.fact_history(group, old)) == 2
    given = adm.UpdateFactInput(uuid=first.new_uuid, group_id=group, fact="other")
    request = adm.UpdateFactRequest(idempotency_key="key", input=given)
    assert (await refused(client, "UpdateFact", request)).code == "CONFLICT"


async def test_of_two_corrections_at_once_one_is_in_conflict(client: Client, group: str) -> None:
    old = await told(client, group)
    both = [adm.UpdateFactInput(uuid=old, group_id=group, fact=f"Alice is {what}") for what in "ab"]
    calls = [client.admin.UpdateFact(adm.UpdateFactRequest(input=each), timeout=CALL_S) for each in both]
    assert sorted(each.error.error_code for each in await asyncio.gather(*calls)) == ["", "CONFLICT"]
    assert len(await client.search(group, "Alice")) == 1


async def test_a_corrected_fact_is_found_by_its_new_words(client: Client, group: str) -> None:
    old = await told(client, group)
    done = await client.update_fact(group, old, "Alice is a physician")
    (found,) = await client.search(group, "a doctor")
    assert found.uuid == done.new_uuid
