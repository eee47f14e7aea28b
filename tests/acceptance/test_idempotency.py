"""Spec 004 §16 "Idempotency/dedup": the same again changes nothing and is answered the same."""

from kgsvc.v1 import ingestion_pb2 as ing
from kgsvc.v1 import types_pb2 as typ
from tests.acceptance.operations import OPERATIONS
from tests.acceptance.refusals import call, refused
from tests.acceptance.saying import FEB, JAN, body, fact, telling
from tests.support.client import CALL_S, Client, episode, message
from tests.support.service import Service
from tests.support.store_spec import StoreSpec, dumped

WORKS = fact("WORKS_AT", "Alice", "Acme")
LIVES = fact("LIVES_IN", "Alice", "Oslo")


def request_with(key: str, group: str, *items: typ.EpisodeItem) -> ing.AddEpisodesRequest:
    """AddEpisodes under an idempotency key."""
    return ing.AddEpisodesRequest(
        idempotency_key=key, input=ing.AddEpisodesInput(group_id=group, items=items)
    )


async def test_the_same_uuid_and_content_is_a_duplicate(client: Client, group: str, spec: StoreSpec) -> None:
    items = [telling(JAN, WORKS, uuid="a"), telling(FEB, LIVES, uuid="b")]
    first = await client.add_episodes(group, items)
    await client.wait_receipt(first.receipt_id)
    graph = await dumped(spec, group)
    again = await client.add_episodes(group, items)
    assert again.receipt_id == first.receipt_id
    assert again.accepted == 2
    assert [(item.uuid, item.duplicate) for item in again.items] == [("a", True), ("b", True)]
    await client.wait_receipt(again.receipt_id)
    assert await dumped(spec, group) == graph


async def test_the_same_content_without_a_uuid_is_a_duplicate(client: Client, group: str) -> None:
    first = await client.add_episodes(group, [telling(JAN, WORKS)])
    again = await client.add_episodes(group, [telling(JAN, WORKS)])
    other = await client.add_episodes(group, [telling(FEB, WORKS)])
    assert again.receipt_id == first.receipt_id
    assert (again.items[0].uuid, again.items[0].duplicate) == (first.items[0].uuid, True)
    assert (other.items[0].duplicate, other.receipt_id == first.receipt_id) == (False, False)
    assert len(await client.get_episodes(group)) == 2


async def test_the_same_content_twice_in_one_call_is_one_item(client: Client, group: str) -> None:
    accepted = await client.add_episodes(group, [telling(JAN, WORKS), telling(JAN, WORKS)])
    assert accepted.accepted == 2
    assert [item.duplicate for item in accepted.items] == [False, True]
    await client.wait_receipt(accepted.receipt_id)
    assert len(await client.get_episodes(group)) == 1


async def test_a_message_said_by_somebody_else_is_another_item(client: Client, group: str) -> None:
    said = [message("Yes.", JAN, role="Ann"), message("Yes.", JAN, role="Bob"), message("Yes.", JAN)]
    assert not any(item.duplicate for item in (await client.add_messages(group, said)).items)


async def test_new_items_beside_known_ones_are_accepted(client: Client, group: str) -> None:
    await client.ingest(group, [telling(JAN, WORKS, uuid="a")])
    accepted = await client.add_episodes(
        group, [telling(JAN, WORKS, uuid="a"), telling(FEB, LIVES, uuid="b")]
    )
    assert [item.duplicate for item in accepted.items] == [True, False]
    items = await client.wait_receipt(accepted.receipt_id)
    assert [(item.uuid, item.duplicate) for item in items.values()] == [("a", True), ("b", False)]


async def test_the_same_uuid_with_other_content_is_a_conflict(client: Client, group: str) -> None:
    await client.ingest(group, [telling(JAN, WORKS, uuid="a")])
    for other in (telling(JAN, LIVES, uuid="a"), telling(FEB, WORKS, uuid="a")):
        given = ing.AddEpisodesInput(group_id=group, items=[telling(FEB, LIVES, uuid="b"), other])
        refusal = await refused(client, "AddEpisodes", ing.AddEpisodesRequest(input=given))
        assert (refusal.code, refusal.fields) == ("CONFLICT", ("input.items[1].uuid",))
    assert [each.uuid for each in await client.get_episodes(group)] == ["a"], "all or none is accepted"
    said = ing.AddMessagesInput(group_id=group, messages=[message("hi", JAN, uuid="a")])
    refusal = await refused(client, "AddMessages", ing.AddMessagesRequest(input=said))
    assert (refusal.code, refusal.fields) == ("CONFLICT", ("input.messages[0].uuid",))


async def test_the_same_uuid_in_another_group_is_another_item(client: Client, group: str) -> None:
    await client.ingest(group, [telling(JAN, WORKS, uuid="a")])
    await client.ingest(f"{group}-2", [telling(JAN, LIVES, uuid="a")])
    assert [each.body for each in await client.get_episodes(group)] == [body(WORKS)]
    assert [each.body for each in await client.get_episodes(f"{group}-2")] == [body(LIVES)]


async def test_an_idempotency_key_gives_the_first_outcome_again(client: Client, group: str) -> None:
    request = request_with("key", group, telling(JAN, WORKS), telling(FEB, LIVES))
    first, _ = await call(client, "AddEpisodes", request)
    await client.wait_receipt(first.output.receipt_id)
    facts = await client.search(group, "Alice", max_facts=100)
    assert len(facts) == 2
    again, _ = await call(client, "AddEpisodes", request)
    assert again.status == first.status
    assert again.output.receipt_id == first.output.receipt_id
    assert again.output.accepted == 2
    assert [item.uuid for item in again.output.items] == [item.uuid for item in first.output.items]
    assert all(item.duplicate for item in again.output.items)
    assert await client.search(group, "Alice", max_facts=100) == facts


async def test_an_idempotency_key_outlives_the_server(service: Service, group: str) -> None:
    request = request_with("key", group, telling(JAN, WORKS))
    async with Client(service.address) as client:
        first, _ = await call(client, "AddEpisodes", request)
        assert await service.terminate() == 0
    await service.start()
    async with Client(service.address) as client:
        again, _ = await call(client, "AddEpisodes", request)
        refusal = await refused(client, "AddEpisodes", request_with("key", group, telling(FEB, LIVES)))
    assert again.output.receipt_id == first.output.receipt_id
    assert refusal.code == "CONFLICT"


async def test_an_idempotency_key_with_other_input_is_a_conflict(client: Client, group: str) -> None:
    await call(client, "AddEpisodes", request_with("key", group, telling(JAN, WORKS, uuid="a")))
    for other in (
        request_with("key", group, telling(FEB, WORKS, uuid="a")),
        request_with("key", group, telling(JAN, WORKS, uuid="a"), telling(JAN, LIVES)),
        request_with("key", group, episode(body(WORKS), JAN, uuid="a", name="named")),
    ):
        refusal = await refused(client, "AddEpisodes", other)
        assert (refusal.code, refusal.fields) == ("CONFLICT", ("idempotency_key",))
    assert len(await client.get_episodes(group)) == 1


async def test_an_idempotency_key_counts_in_its_group_and_operation(client: Client, group: str) -> None:
    first, _ = await call(client, "AddEpisodes", request_with("key", group, telling(JAN, WORKS)))
    other, _ = await call(client, "AddEpisodes", request_with("key", f"{group}-2", telling(FEB, LIVES)))
    said = await client.add_messages(group, [message("Hello.", JAN)], idempotency_key="key")
    assert len({first.output.receipt_id, other.output.receipt_id, said.receipt_id}) == 3
    assert not other.output.items[0].duplicate
    assert not said.items[0].duplicate


async def test_an_entity_write_is_idempotent_by_key(client: Client, group: str) -> None:
    request = OPERATIONS["AddEntityNode"].request(group)
    request.idempotency_key = "key"
    first, _ = await call(client, "AddEntityNode", request)
    changed = ing.AddEntityNodeRequest(
        input=ing.AddEntityNodeInput(uuid="node-1", group_id=group, name="Ann", summary="a nurse")
    )
    await call(client, "AddEntityNode", changed)
    again, _ = await call(client, "AddEntityNode", request)
    assert again.output.uuid == first.output.uuid
    assert again.output.summary == "a nurse", "a replay writes nothing"
    request.input.summary = "a doctor"
    assert (await refused(client, "AddEntityNode", request)).code == "CONFLICT"


async def test_a_replay_while_the_first_is_under_way_is_a_duplicate(client: Client, group: str) -> None:
    items = [telling(JAN + n, WORKS, uuid=f"n{n}") for n in range(50)]
    given = ing.AddEpisodesInput(group_id=group, items=items)
    request = ing.AddEpisodesRequest(input=given)
    calls = [client.ingestion.AddEpisodes(request, timeout=CALL_S) for _ in range(4)]
    outputs = [(await each).output for each in calls]
    assert len({output.receipt_id for output in outputs}) == 1
    fresh = [item.uuid for output in outputs for item in output.items if not item.duplicate]
    assert sorted(fresh) == sorted(item.uuid for item in items), "each item is new exactly once"
