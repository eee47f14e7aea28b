"""Spec 004 §15 "Ingestion": what is accepted becomes facts that can be found, by the default extractor."""

from kgsvc.v1 import envelope_pb2
from kgsvc.v1 import ingestion_pb2 as ing
from kgsvc.v1 import types_pb2 as typ
from tests.acceptance.saying import FEB, JAN
from tests.acceptance.shared import OFFLINE
from tests.support.client import CALL_S, Client, episode, message
from tests.support.service import Service

SETTINGS = OFFLINE

TOLD = [
    "Alice works at Acme Robotics.",
    "Bruno lives in Lisbon.",
    "Carla leads Project Heron.",
    "Dmitri likes chess.",
    "Elena works at Globex.",
]


async def test_k_episodes_are_accepted_and_their_facts_are_found(client: Client, group: str) -> None:
    given = ing.AddEpisodesInput(group_id=group, items=[episode(told, JAN) for told in TOLD])
    response = await client.ingestion.AddEpisodes(ing.AddEpisodesRequest(input=given), timeout=CALL_S)
    assert response.status == envelope_pb2.STATUS_ACCEPTED
    assert response.output.accepted == len(TOLD)
    uuids = [item.uuid for item in response.output.items]
    assert len(set(uuids)) == len(TOLD)
    assert not any(item.duplicate for item in response.output.items)
    items = await client.wait_receipt(response.output.receipt_id)
    assert {item.state for item in items.values()} == {typ.ITEM_STATE_COMPLETED}
    assert list(items) == uuids
    for uuid, told in zip(uuids, TOLD, strict=True):
        best, *_ = await client.search(group, told)
        assert list(best.episodes) == [uuid], f"{told} is not the best answer to itself: {best.fact}"


async def test_messages_become_episodes_that_name_their_speakers(client: Client, group: str) -> None:
    said = [
        message("I work at Northwind.", JAN, role="Farid"),
        message("Noted.", FEB, role_type=typ.ROLE_TYPE_ASSISTANT),
    ]
    accepted = await client.add_messages(group, said)
    assert accepted.accepted == 2
    assert accepted.message
    await client.wait_receipt(accepted.receipt_id)
    bodies = [(each.body, each.source) for each in await client.get_episodes(group)]
    assert bodies == [
        ("Farid(user): I work at Northwind.", typ.SOURCE_MESSAGE),
        ("(assistant): Noted.", typ.SOURCE_MESSAGE),
    ]
    best, *_ = await client.search(group, "Where does Farid work?")
    assert (best.source_name, best.target_name) == ("Farid", "Northwind")


async def test_json_becomes_facts(client: Client, group: str) -> None:
    body = '{"name": "Elena Rossi", "employer": "Globex", "city": "Vienna"}'
    (uuid,) = await client.ingest(group, [episode(body, JAN, source=typ.SOURCE_JSON)])
    found = await client.search(group, "Elena Rossi Globex")
    assert found
    assert all(list(fact.episodes) == [uuid] for fact in found)


async def test_replays_add_nothing_and_are_answered_in_the_same_order(client: Client, group: str) -> None:
    items = [episode(told, JAN, uuid=f"told-{n}") for n, told in enumerate(TOLD)]
    await client.ingest(group, items)
    before = await client.search(group, "Who works at Acme or Globex?", max_facts=100)
    assert before
    for again in (items, items[::-1], items[2:3]):
        accepted = await client.add_episodes(group, again)
        assert accepted.accepted == len(again)
        assert all(item.duplicate for item in accepted.items)
        await client.wait_receipt(accepted.receipt_id)
    assert await client.search(group, "Who works at Acme or Globex?", max_facts=100) == before
    assert len(await client.get_episodes(group)) == len(TOLD)


async def test_what_was_acknowledged_survives_a_crash(service: Service, group: str) -> None:
    items = [episode(f"{told} ({n})", JAN + n) for n, told in enumerate(TOLD * 8)]
    async with Client(service.address) as client:
        accepted = await client.add_episodes(group, items)
        service.kill9()
    await service.start()
    async with Client(service.address) as client:
        done = await client.wait_receipt(accepted.receipt_id)
        assert {item.state for item in done.values()} == {typ.ITEM_STATE_COMPLETED}
        assert {item.uuid for item in accepted.items} == set(done)
        assert len(await client.get_episodes(group)) == len(items)
