"""Following what was accepted: GetReceipt and WatchReceipt (docs/contract.md)."""

import asyncio

import grpc
import pytest

from kgsvc.models.prompts import extraction
from kgsvc.v1 import envelope_pb2
from kgsvc.v1 import ingestion_pb2 as ing
from kgsvc.v1 import types_pb2 as typ
from tests.acceptance.refusals import AS_STATUS, as_status
from tests.acceptance.saying import APR, FEB, HELD, JAN, MAR, body, fact, held_up, telling
from tests.support.client import CALL_S, DONE_S, Client, episode
from tests.support.scripted_openai import ScriptedOpenAI, refused, says
from tests.support.scripted_openai.script import fenced_data

WORKS = fact("WORKS_AT", "Alice", "Acme")
UNKNOWN = ing.WatchReceiptRequest(input=ing.WatchReceiptInput(receipt_id="nobody's"))


async def test_a_receipt_shows_each_item_from_acceptance_to_completion(
    client: Client, group: str, patient_model: ScriptedOpenAI
) -> None:
    named = episode(body(WORKS), FEB, uuid="a", name="first")
    accepted = await held_up(client, group, patient_model, named, telling(JAN, HELD, uuid="held"))
    running = await client.receipt(accepted.receipt_id)
    assert (running.receipt_id, running.group_id, running.done) == (accepted.receipt_id, group, False)
    assert [(item.uuid, item.name) for item in running.items] == [("a", "first"), ("held", "")]
    assert sum(count.count for count in running.counts) == 2
    patient_model.heal()
    await client.wait_receipt(accepted.receipt_id)
    done = await client.receipt(accepted.receipt_id)
    assert done.done
    assert [(count.state, count.count) for count in done.counts] == [(typ.ITEM_STATE_COMPLETED, 2)]
    assert all(item.updated_at.ToMilliseconds() >= done.created_at.ToMilliseconds() for item in done.items)


async def test_a_receipt_tells_what_models_were_paid(
    client: Client, group: str, patient_model: ScriptedOpenAI
) -> None:
    """Repairs and failed attempts count, embedding too; each item has its own, the receipt all of it."""
    patient_model.fail(says("no JSON"), match="Repaired")
    patient_model.fail(refused(), match="Refused")
    before = len(patient_model.requests)
    whom = {uuid: [fact("KNOWS", "Alice", uuid)] for uuid in ("Plain", "Repaired", "Refused")}
    told = [telling(JAN, *facts, uuid=uuid) for uuid, facts in whom.items()]
    accepted = await client.add_episodes(group, [*told, told[0]])
    await client.wait_receipt(accepted.receipt_id)
    receipt = await client.receipt(accepted.receipt_id)
    spent = {item.uuid: item.usage for item in receipt.items}
    paid = len(patient_model.requests) - before
    assert spent["Plain"].calls >= 1
    assert spent["Repaired"].calls >= 2
    assert spent["Refused"].calls >= 2  # refused, then tried again by the queue
    assert all(usage.prompt_tokens > 500 and usage.completion_tokens > 10 for usage in spent.values())
    assert 5 <= receipt.usage.calls <= paid
    for field in ("calls", "prompt_tokens", "completion_tokens"):
        assert getattr(receipt.usage, field) == sum(getattr(usage, field) for usage in spent.values())


async def test_named_episodes_are_the_context_of_an_extraction(
    client: Client, group: str, patient_model: ScriptedOpenAI
) -> None:
    early, late, named = (
        telling(at, fact("KNOWS", "Alice", f"{at}"), uuid=f"{at}") for at in (JAN, FEB, MAR)
    )
    named.previous_episode_uuids.extend(["nobody", early.uuid, named.uuid])
    alone = telling(APR, fact("KNOWS", "Alice", "Nobody"), uuid="alone")
    alone.previous_episode_uuids.append("nobody")
    for item in (early, late, named, alone):
        await client.wait_receipt((await client.add_episodes(group, [item])).receipt_id)
    shown = {chat.text: fenced_data(chat.body, extraction.MARK) for chat in patient_model.chats}
    contexts = {
        item.uuid: [_whose(line, early, late, named, alone) for line in data["previous"]]
        for item in (late, named, alone)
        if (data := shown[item.body]) is not None
    }
    assert contexts == {late.uuid: [early.uuid], named.uuid: [early.uuid], "alone": []}


def _whose(line: str, *items: typ.EpisodeItem) -> str:
    """The episode of which a line of the context shows the day and the beginning."""
    _, _, beginning = line.partition(" ")
    (found,) = [item.uuid for item in items if item.body.startswith(beginning.rstrip("…"))]
    return found


async def test_a_watch_tells_all_then_changes_and_ends_when_all_is_done(
    client: Client, group: str, patient_model: ScriptedOpenAI
) -> None:
    items = telling(JAN, HELD, uuid="held"), telling(FEB, WORKS, uuid="a")
    accepted = await held_up(client, group, patient_model, *items)
    seen: list[ing.WatchReceiptOutput] = []
    async for output in client.watch(accepted.receipt_id):
        if not seen:
            patient_model.heal()
        seen.append(output)
    assert [item.uuid for item in seen[0].items] == ["held", "a"]
    assert all((output.receipt_id, output.group_id) == (accepted.receipt_id, group) for output in seen)
    assert [output.done for output in seen] == [False] * (len(seen) - 1) + [True]
    last = {item.uuid: item.state for output in seen for item in output.items}
    assert last == {"held": typ.ITEM_STATE_COMPLETED, "a": typ.ITEM_STATE_COMPLETED}


async def test_a_watch_of_finished_work_ends_at_once(client: Client, group: str) -> None:
    accepted = await client.add_episodes(group, [telling(JAN, WORKS)])
    await client.wait_receipt(accepted.receipt_id)
    (only,) = [output async for output in client.watch(accepted.receipt_id)]
    assert (only.done, len(only.items)) == (True, 1)


async def test_many_can_watch_one_receipt(client: Client, group: str, patient_model: ScriptedOpenAI) -> None:
    accepted = await held_up(client, group, patient_model, telling(JAN, HELD))
    watches = [client.wait_receipt(accepted.receipt_id) for _ in range(10)]
    waiting = asyncio.gather(*watches)
    patient_model.heal()
    for items in await waiting:
        assert [item.state for item in items.values()] == [typ.ITEM_STATE_COMPLETED]


async def test_a_watch_ends_when_the_group_is_deleted(
    client: Client, group: str, patient_model: ScriptedOpenAI
) -> None:
    accepted = await held_up(client, group, patient_model, telling(JAN, HELD, uuid="held"))
    states: list[int] = []
    async for output in client.watch(accepted.receipt_id):
        if not states:
            await client.delete_group(group)
        states.extend(item.state for item in output.items)
    assert states[-1] == typ.ITEM_STATE_DELETED


async def test_every_call_has_a_receipt_of_its_own_items(client: Client, group: str) -> None:
    first = await client.add_episodes(group, [telling(JAN, WORKS, uuid="a")])
    second = await client.add_episodes(group, [telling(JAN, WORKS, uuid="a"), telling(FEB, WORKS, uuid="b")])
    assert first.receipt_id != second.receipt_id
    items = (await client.receipt(second.receipt_id)).items
    assert [(item.uuid, item.duplicate) for item in items] == [("a", True), ("b", False)]
    assert [item.uuid for item in (await client.receipt(first.receipt_id)).items] == ["a"]


async def test_an_unknown_receipt_is_not_found(client: Client) -> None:
    request = ing.GetReceiptRequest(input=ing.GetReceiptInput(receipt_id="nobody's"))
    response = await client.ingestion.GetReceipt(request, timeout=CALL_S)
    assert (response.status, response.error.error_code) == (envelope_pb2.STATUS_ERROR, "NOT_FOUND")
    (refusal,) = [each async for each in client.ingestion.WatchReceipt(UNKNOWN, timeout=DONE_S)]
    assert (refusal.status, refusal.error.error_code) == (envelope_pb2.STATUS_ERROR, "NOT_FOUND")
    for started in (
        client.ingestion.GetReceipt(request, timeout=CALL_S, metadata=AS_STATUS),
        client.ingestion.WatchReceipt(UNKNOWN, timeout=CALL_S, metadata=AS_STATUS).read(),
    ):
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await started
        assert caught.value.code() is grpc.StatusCode.NOT_FOUND
        assert as_status(caught.value).code == "NOT_FOUND"
