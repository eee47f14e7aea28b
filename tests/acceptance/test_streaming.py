"""StreamEpisodes: one acknowledgement an item, duplicates named, refusals in band (docs/contract.md)."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from kgsvc.v1 import envelope_pb2
from kgsvc.v1 import ingestion_pb2 as ing
from kgsvc.v1 import types_pb2 as typ
from tests.acceptance.operations import OPERATIONS, without
from tests.acceptance.refusals import AS_STATUS
from tests.acceptance.saying import FEB, JAN, body, fact, telling
from tests.support.client import DONE_S, Client, message, stream_request
from tests.support.requests import with_unknown_field
from tests.support.scripted_openai import ScriptedOpenAI, says
from tests.support.service import Service

WORKS = fact("WORKS_AT", "Alice", "Acme")
LIVES = fact("LIVES_IN", "Alice", "Oslo")
REFUSED = envelope_pb2.STATUS_ERROR


def complete(group: str) -> ing.StreamEpisodesRequest:
    """An item with everything in it."""
    whole = OPERATIONS["AddEpisodes"].request(group).input.items[0]
    return stream_request(group, whole, "ref")


async def test_each_item_is_acknowledged_in_order(client: Client, group: str) -> None:
    requests = [stream_request(group, telling(JAN + n, WORKS), f"ref {n}") for n in range(40)]
    for number, request in enumerate(requests):
        request.request_id = f"request {number}"
    acknowledged = await client.stream(*requests)
    assert [each.sequence for each in acknowledged] == list(range(40))
    assert [each.client_ref for each in acknowledged] == [f"ref {n}" for n in range(40)]
    assert [each.request_id for each in acknowledged] == [f"request {n}" for n in range(40)]
    assert {each.status for each in acknowledged} == {envelope_pb2.STATUS_ACCEPTED}
    assert not any(each.duplicate or each.HasField("error") for each in acknowledged)
    assert len({each.uuid for each in acknowledged}) == 40
    for receipt_id in {each.receipt_id for each in acknowledged}:
        await client.wait_receipt(receipt_id)
    (only,) = await client.search(group, "Alice")
    assert list(only.episodes) == [each.uuid for each in acknowledged]


async def test_messages_and_groups_mix_on_one_stream(client: Client, group: str) -> None:
    other = f"{group}-2"
    acknowledged = await client.stream(
        stream_request(group, telling(JAN, WORKS, uuid="a")),
        stream_request(other, message(body(LIVES), FEB, role="Bob", uuid="a")),
        stream_request(group, message("Hello.", FEB, uuid="b")),
    )
    assert [each.uuid for each in acknowledged] == ["a", "a", "b"]
    for receipt_id in {each.receipt_id for each in acknowledged}:
        await client.wait_receipt(receipt_id)
    assert [each.uuid for each in await client.get_episodes(group)] == ["a", "b"]
    (said,) = await client.get_episodes(other)
    assert said.body.startswith("Bob(user): ")
    assert [each.fact for each in await client.search(other, "Alice")] == ["Alice lives in Oslo"]


async def test_duplicates_are_named_and_keep_their_receipt(client: Client, group: str) -> None:
    items = [stream_request(group, telling(JAN, WORKS, uuid="a")), stream_request(group, telling(FEB, WORKS))]
    first = await client.stream(*items)
    again = await client.stream(*items)
    assert [each.duplicate for each in first] == [False, False]
    assert [each.duplicate for each in again] == [True, True]
    assert {each.status for each in again} == {envelope_pb2.STATUS_ACCEPTED}
    assert [(each.uuid, each.receipt_id) for each in again] == [(e.uuid, e.receipt_id) for e in first]
    unary = await client.add_episodes(group, [telling(JAN, WORKS, uuid="a")])
    assert unary.items[0].duplicate, "however it was sent first"


async def test_a_duplicate_within_one_stream_is_named(client: Client, group: str) -> None:
    twice = [stream_request(group, telling(JAN, WORKS)) for _ in range(2)]
    first, second = await client.stream(*twice)
    assert (first.duplicate, second.duplicate) == (False, True)
    assert (first.uuid, first.receipt_id) == (second.uuid, second.receipt_id)


@pytest.mark.parametrize("mode", [(), AS_STATUS], ids=["in band", "status asked for"])
async def test_a_refused_item_is_told_in_band_and_does_not_end_the_stream(
    mode: Any, client: Client, group: str
) -> None:
    wrong_enum, broken_time, two_faults = complete(group), complete(group), complete("")
    wrong_enum.episode.source = 77  # type: ignore[assignment]
    broken_time.episode.reference_time.nanos = -1
    two_faults.episode.ClearField("body")
    empty = ing.StreamEpisodesRequest(group_id=group)
    over = complete(group)
    over.episode.name = "x" * 513
    bad: list[tuple[ing.StreamEpisodesRequest, str, set[str]]] = [
        (wrong_enum, "INVALID_ARGUMENT", {"episode.source"}),
        (broken_time, "INVALID_ARGUMENT", {"episode.reference_time"}),
        (two_faults, "INVALID_ARGUMENT", {"group_id", "episode.body"}),
        (empty, "INVALID_ARGUMENT", {"item"}),
        (with_unknown_field(complete(group), ""), "INVALID_ARGUMENT", {"2047"}),
        (with_unknown_field(complete(group), "episode."), "INVALID_ARGUMENT", {"episode.2047"}),
        (over, "LIMIT_EXCEEDED", {"episode.name"}),
    ]
    good = stream_request(group, telling(JAN, WORKS, uuid="good"), "good")
    acknowledged = await client.stream(*(request for request, _, _ in bad), good, metadata=mode)
    for number, (request, code, fields) in enumerate(bad):
        answer = acknowledged[number]
        assert (answer.status, answer.error.error_code) == (REFUSED, code)
        assert {violation.field for violation in answer.error.field_violations} == fields
        assert (answer.sequence, answer.client_ref) == (number, request.client_ref)
        assert (answer.uuid, answer.receipt_id, answer.state) == ("", "", typ.ITEM_STATE_UNSPECIFIED)
        assert answer.request_id
    assert (acknowledged[-1].client_ref, acknowledged[-1].uuid) == ("good", "good")
    assert [each.uuid for each in await client.get_episodes(group)] == ["good"]


@pytest.mark.parametrize(
    ("left_out", "named"),
    [
        ("group_id", "group_id"),
        ("episode", "item"),
        ("episode.source", "episode.source"),
        ("episode.body", "episode.body"),
        ("episode.reference_time", "episode.reference_time"),
    ],
)
async def test_a_missing_field_is_named(left_out: str, named: str, client: Client, group: str) -> None:
    (answer,) = await client.stream(without(complete(group), left_out))
    assert [violation.field for violation in answer.error.field_violations] == [named]


async def test_a_conflict_is_told_in_band_beside_good_items(client: Client, group: str) -> None:
    await client.ingest(group, [telling(JAN, WORKS, uuid="a")])
    acknowledged = await client.stream(
        stream_request(group, telling(FEB, WORKS, uuid="b")),
        stream_request(group, telling(FEB, LIVES, uuid="a")),
        stream_request(group, message("hi", FEB, uuid="b")),
        stream_request(group, telling(FEB, LIVES, uuid="c")),
    )
    assert [each.error.error_code for each in acknowledged] == ["", "CONFLICT", "CONFLICT", ""]
    fields = [[v.field for v in each.error.field_violations] for each in acknowledged]
    assert fields == [[], ["episode.uuid"], ["message.uuid"], []]
    assert {each.uuid for each in await client.get_episodes(group)} == {"a", "b", "c"}


async def test_a_parked_item_is_told_when_it_is_sent_again(
    client: Client, group: str, patient_model: ScriptedOpenAI
) -> None:
    patient_model.fail(says("no"), match="Badword", times=None)
    bad = stream_request(group, telling(JAN, fact("KNOWS", "Alice", "Badword"), uuid="bad"))
    (first,) = await client.stream(bad)
    await client.wait_receipt(first.receipt_id)
    (again,) = await client.stream(bad)
    assert (again.status, again.error.error_code) == (envelope_pb2.STATUS_PARKED, "PARKED")
    assert (again.duplicate, again.state) == (True, typ.ITEM_STATE_PARKED)


async def test_acknowledgements_come_while_the_stream_is_open(client: Client, group: str) -> None:
    more = asyncio.Event()

    async def one_by_one() -> AsyncIterator[ing.StreamEpisodesRequest]:
        yield stream_request(group, telling(JAN, WORKS), "first")
        async with asyncio.timeout(DONE_S):
            await more.wait()
        yield stream_request(group, telling(FEB, LIVES), "second")

    seen: list[str] = []
    async for acknowledgement in client.ingestion.StreamEpisodes(one_by_one(), timeout=DONE_S):
        seen.append(acknowledgement.client_ref)
        more.set()
    assert seen == ["first", "second"]


async def test_what_a_stream_acknowledged_survives_a_crash(service: Service, group: str) -> None:
    acknowledged: list[str] = []
    async with Client(service.address) as client:
        requests = [stream_request(group, telling(JAN + n, LIVES, uuid=f"n{n:03}")) for n in range(100)]

        async def sent() -> AsyncIterator[ing.StreamEpisodesRequest]:
            for request in requests:
                yield request
            await asyncio.get_running_loop().create_future()  # the client never closes its side

        call = client.ingestion.StreamEpisodes(sent(), timeout=DONE_S)
        async for answer in call:
            acknowledged.append(answer.uuid)
            if len(acknowledged) == 60:
                break
        service.kill9()
        call.cancel()
    await service.start()
    async with Client(service.address) as client:
        stored = {item.uuid for item in await client.list_items(group)}
        assert stored >= set(acknowledged)
        again = await client.stream(*requests)
        assert {each.uuid for each in again if each.duplicate} == stored
        for receipt_id in {each.receipt_id for each in again}:
            await client.wait_receipt(receipt_id)
        (only,) = await client.search(group, "Alice")
        assert list(only.episodes) == [f"n{n:03}" for n in range(100)]
