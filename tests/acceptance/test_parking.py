"""Spec 004 §15: invalid extraction is tried N times, then PARKED, and leaves nothing in the graph."""

from collections import Counter

import pytest

from kgsvc.v1 import envelope_pb2
from kgsvc.v1 import ingestion_pb2 as ing
from kgsvc.v1 import types_pb2 as typ
from tests.acceptance.operations import OPERATIONS
from tests.acceptance.refusals import call
from tests.acceptance.saying import FEB, JAN, MAR, body, fact, telling
from tests.support.client import CALL_S, Client, episode, granted
from tests.support.scripted_openai import (
    Outcome,
    ScriptedOpenAI,
    answer,
    node,
    refused,
    reply_body,
    says,
    status,
)
from tests.support.store_spec import StoreSpec, dumped

N = 5  # attempts a step, by default
WORKS = fact("WORKS_AT", "Alice", "Acme")
BAD = fact("KNOWS", "Alice", "Badword")
LONG = "x" * 2_049

INVALID = {
    "no JSON": says("Alice knows somebody, I think."),
    "broken JSON": says('{"nodes": [], "edges": ['),
    "another shape": says('{"entities": []}'),
    "an unknown field": says('{"nodes": [], "edges": [], "notes": "none"}'),
    "a reference to nothing": Outcome("answer", answer([node("n1", "Alice")], [fact("KNOWS", "n1", "n7")])),
    "a broken time": Outcome("answer", answer([], [fact("KNOWS", "A", "B", valid_at="next Tuesday")])),
    "a fact over its cap": Outcome("answer", answer([], [fact("KNOWS", "A", "B", LONG)])),
    "a name over its cap": Outcome("answer", answer([node("n1", LONG)])),
    "a refusal": refused(),
    "no completion": reply_body("{}"),
}


async def assert_nothing_of_it(client: Client, spec: StoreSpec, group: str) -> None:
    """No fact to be found, no node, no edge."""
    assert await client.search(group, "Alice Badword knows", max_facts=100) == []
    dump = await dumped(spec, group)
    assert (dump.entities, dump.facts, dump.mentions, dump.names) == ((), (), (), {})


@pytest.mark.parametrize("kind", INVALID)
async def test_invalid_extraction_is_retried_n_times_then_parked(
    kind: str, client: Client, group: str, patient_model: ScriptedOpenAI, spec: StoreSpec
) -> None:
    patient_model.fail(INVALID[kind], match="Badword", times=None)
    before = len(patient_model.chats)
    accepted = await client.add_episodes(group, [telling(JAN, BAD, uuid="bad")])
    items = await client.wait_receipt(accepted.receipt_id)
    assert items["bad"].state == typ.ITEM_STATE_PARKED
    assert items["bad"].attempts == N
    assert items["bad"].reason
    assert "Badword" not in items["bad"].reason, "reasons quote nothing of what was said"
    assert sum(not request.is_repair for request in patient_model.chats[before:]) == N
    await assert_nothing_of_it(client, spec, group)


async def test_one_bad_item_does_not_hold_up_its_neighbours(
    client: Client, group: str, patient_model: ScriptedOpenAI
) -> None:
    patient_model.fail(INVALID["no JSON"], match="Badword", times=None)
    before = len(patient_model.chats)  # other tests may have told the same
    likes = [fact("LIKES", "Alice", f"thing {n}") for n in range(8)]
    items = [telling(JAN + n, each, uuid=f"good-{n}") for n, each in enumerate(likes)]
    accepted = await client.add_episodes(group, [*items[:4], telling(JAN, BAD, uuid="bad"), *items[4:]])
    done = await client.wait_receipt(accepted.receipt_id)
    assert done.pop("bad").state == typ.ITEM_STATE_PARKED
    assert {(item.state, item.attempts) for item in done.values()} == {(typ.ITEM_STATE_COMPLETED, 0)}
    asked = Counter(request.text for request in patient_model.chats[before:] if request.resolution is None)
    assert {asked[item.body] for item in items} == {1}, "none is extracted again because of another"
    assert len(await client.search(group, "Alice", max_facts=100)) == len(likes)


async def test_a_failure_that_heals_in_time_is_not_parked(
    client: Client, group: str, patient_model: ScriptedOpenAI
) -> None:
    patient_model.fail(status(500), match="Badword", times=N - 1)
    assert not (await client.ingest(group, [telling(JAN, BAD, uuid="bad")]))["bad"].HasField("reason")
    assert len(await client.search(group, "Alice")) == 1


async def test_embedding_that_keeps_failing_parks_too(
    client: Client, group: str, patient_model: ScriptedOpenAI, spec: StoreSpec
) -> None:
    patient_model.fail(status(500), match="Unheard", endpoint="embeddings", times=None)  # of before: not kept
    unheard = fact("KNOWS", "Alice", f"Unheard {group}")
    accepted = await client.add_episodes(group, [telling(JAN, unheard, uuid="bad")])
    assert (await client.wait_receipt(accepted.receipt_id))["bad"].state == typ.ITEM_STATE_PARKED
    (listed,) = await client.list_items(group, typ.ITEM_STATE_PARKED)
    assert (listed.step, listed.attempts) == ("embed", N)
    patient_model.heal()
    await assert_nothing_of_it(client, spec, group)


async def test_replaying_a_parked_item_says_so(
    client: Client, group: str, patient_model: ScriptedOpenAI
) -> None:
    patient_model.fail(INVALID["no JSON"], match="Badword", times=None)
    items = [telling(JAN, BAD, uuid="bad"), telling(FEB, WORKS, uuid="good")]
    accepted = await client.add_episodes(group, items)
    await client.wait_receipt(accepted.receipt_id)
    request = OPERATIONS["AddEpisodes"].request(group)
    request.input.CopyFrom(ing.AddEpisodesInput(group_id=group, items=items))
    response, trailers = await call(client, "AddEpisodes", request)
    assert response.status == envelope_pb2.STATUS_PARKED
    assert response.output.accepted == 2
    assert response.output.receipt_id == accepted.receipt_id
    assert [item.state for item in response.output.items] == [typ.ITEM_STATE_PARKED, typ.ITEM_STATE_COMPLETED]
    assert response.error.error_code == "PARKED"
    assert trailers["kgsvc-error-code"] == "PARKED"


async def test_parked_items_are_listed_with_their_reasons(
    client: Client, group: str, patient_model: ScriptedOpenAI
) -> None:
    patient_model.fail(INVALID["no JSON"], match="Badword", times=None)
    bad = [episode(body(BAD), JAN + n, uuid=f"bad-{n}", name=f"note {n}") for n in range(5)]
    accepted = await client.add_episodes(group, [*bad, telling(FEB, WORKS, uuid="good")])
    await client.wait_receipt(accepted.receipt_id)
    parked = await client.list_items(group, typ.ITEM_STATE_PARKED)
    assert [item.uuid for item in parked] == [f"bad-{n}" for n in range(5)]
    assert [item.name for item in parked] == [f"note {n}" for n in range(5)]
    assert all((item.step, item.attempts) == ("extract", N) for item in parked)
    assert all(item.reason and item.receipt_id == accepted.receipt_id for item in parked)
    assert all(item.group_id == group and item.HasField("updated_at") for item in parked)
    (good,) = await client.list_items(group, typ.ITEM_STATE_COMPLETED)
    assert (good.uuid, good.HasField("reason")) == ("good", False)
    both = await client.list_items(group, typ.ITEM_STATE_PARKED, typ.ITEM_STATE_COMPLETED)
    assert {item.uuid for item in both} == {item.uuid for item in await client.list_items(group)}
    assert await client.list_items(f"{group}-2") == []


async def test_listings_come_in_pages(client: Client, group: str) -> None:
    items = [telling(JAN + n, WORKS, uuid=f"n{n}") for n in range(7)]
    await client.ingest(group, items)
    pages: list[list[str]] = []
    token: str | None = None
    while token != "":
        given = ing.ListItemsInput(group_id=group, page_size=3, page_token=token)
        request = ing.ListItemsRequest(input=given)
        page = granted(await client.ingestion.ListItems(request, timeout=CALL_S)).output
        pages.append([item.uuid for item in page.items])
        token = page.next_page_token
    assert pages == [["n0", "n1", "n2"], ["n3", "n4", "n5"], ["n6"]]


async def test_retrying_completes_parked_items_once_the_cause_is_gone(
    client: Client, group: str, patient_model: ScriptedOpenAI
) -> None:
    patient_model.fail(INVALID["no JSON"], match="Badword", times=None)
    bad = [telling(JAN + n, BAD, uuid=f"bad-{n}") for n in range(3)]
    accepted = await client.add_episodes(group, [*bad, telling(MAR, WORKS, uuid="good")])
    await client.wait_receipt(accepted.receipt_id)
    patient_model.heal()
    assert await client.retry(group, ["bad-1", "good", "nobody"]) == ["bad-1"]
    await client.wait_receipt(accepted.receipt_id)
    states = {item.uuid: item.state for item in await client.list_items(group)}
    assert states == {
        "bad-0": typ.ITEM_STATE_PARKED,
        "bad-1": typ.ITEM_STATE_COMPLETED,
        "bad-2": typ.ITEM_STATE_PARKED,
        "good": typ.ITEM_STATE_COMPLETED,
    }
    assert sorted(await client.retry(group)) == ["bad-0", "bad-2"]
    items = await client.wait_receipt(accepted.receipt_id)
    assert {item.state for item in items.values()} == {typ.ITEM_STATE_COMPLETED}
    assert await client.retry(group) == []
    (known,) = (each for each in await client.search(group, "Badword") if each.name == "KNOWS")
    assert list(known.episodes) == ["bad-0", "bad-1", "bad-2"]


async def test_a_retried_item_has_n_fresh_attempts(
    client: Client, group: str, patient_model: ScriptedOpenAI
) -> None:
    patient_model.fail(INVALID["no JSON"], match="Badword", times=None)
    accepted = await client.add_episodes(group, [telling(JAN, BAD, uuid="bad")])
    await client.wait_receipt(accepted.receipt_id)
    before = len(patient_model.chats)
    assert await client.retry(group) == ["bad"]
    assert (await client.wait_receipt(accepted.receipt_id))["bad"].state == typ.ITEM_STATE_PARKED
    assert sum(not request.is_repair for request in patient_model.chats[before:]) == N
