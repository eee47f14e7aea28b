"""AddMessages and AddEpisodes: acceptance, replays, parked items (spec 004 §4.2, design §2)."""

from __future__ import annotations

from kgsvc.v1 import envelope_pb2
from kgsvc.v1 import ingestion_pb2 as ing
from tests.support.client import Client, episode, message


async def test_messages_become_episodes_with_role_in_front(client: Client) -> None:
    done = await client.add_messages("g", [message("hello", 1_000, role="Ann"), message("hi", 2_000)])
    assert done.accepted == 2
    assert done.message == "2 messages accepted"
    assert done.receipt_id
    assert [item.duplicate for item in done.items] == [False, False]
    assert [e.body for e in await client.get_episodes("g")] == ["Ann(user): hello", "(user): hi"]


async def test_replay_returns_the_same_receipt_and_marks_duplicates(client: Client) -> None:
    items = [episode("one", 1_000), episode("two", 2_000, uuid="u2")]
    first = await client.add_episodes("g", items)
    second = await client.add_episodes("g", items)
    assert second.receipt_id == first.receipt_id
    assert second.accepted == 2
    assert [i.uuid for i in second.items] == [i.uuid for i in first.items]
    assert [i.duplicate for i in second.items] == [True, True]
    assert len(await client.get_episodes("g")) == 2


async def test_request_id_is_echoed_or_generated(client: Client) -> None:
    given = ing.AddEpisodesInput(group_id="g", items=[episode("x", 1)])
    named = await client.ingestion.AddEpisodes(ing.AddEpisodesRequest(request_id="mine", input=given))
    unnamed = await client.ingestion.AddEpisodes(ing.AddEpisodesRequest(input=given))
    assert named.request_id == "mine"
    assert unnamed.request_id
    assert named.status == envelope_pb2.STATUS_ACCEPTED


async def test_same_key_other_input_is_a_conflict(client: Client) -> None:
    await client.add_episodes("g", [episode("one", 1)], idempotency_key="k")
    again = await client.add_episodes("g", [episode("one", 1)], idempotency_key="k")
    assert again.items[0].duplicate
    given = ing.AddEpisodesInput(group_id="g", items=[episode("two", 1)])
    refused = await client.ingestion.AddEpisodes(ing.AddEpisodesRequest(idempotency_key="k", input=given))
    assert (refused.status, refused.error.error_code) == (envelope_pb2.STATUS_ERROR, "CONFLICT")
    assert len(await client.get_episodes("g")) == 1


async def test_same_uuid_other_content_is_a_conflict_naming_the_message(client: Client) -> None:
    await client.add_messages("g", [message("one", 1, uuid="u")])
    given = ing.AddMessagesInput(group_id="g", messages=[message("new", 5), message("two", 1, uuid="u")])
    refused = await client.ingestion.AddMessages(ing.AddMessagesRequest(input=given))
    assert refused.error.error_code == "CONFLICT"
    assert [v.field for v in refused.error.field_violations] == ["input.messages[1].uuid"]
    assert len(await client.get_episodes("g")) == 1


async def test_a_replay_with_other_context_is_a_duplicate_but_another_input_of_the_same_key(
    client: Client,
) -> None:
    """The named context is no part of an item's content, and part of what a call says."""
    plain, named = episode("one", 1, uuid="u"), episode("one", 1, uuid="u")
    named.previous_episode_uuids.append("before")
    await client.add_episodes("g", [plain])
    assert (await client.add_episodes("g", [named])).items[0].duplicate
    await client.add_episodes("g", [named], idempotency_key="k")
    given = ing.AddEpisodesInput(group_id="g", items=[plain])
    refused = await client.ingestion.AddEpisodes(ing.AddEpisodesRequest(idempotency_key="k", input=given))
    assert refused.error.error_code == "CONFLICT"


async def test_named_context_is_bounded_and_names_its_offences(client: Client) -> None:
    most = message("hi", 1)
    most.previous_episode_uuids.extend(["same"] * 50)
    assert (await client.add_messages("g", [most])).accepted == 1
    offences = {"LIMIT_EXCEEDED": (["x"] * 51, ""), "INVALID_ARGUMENT": (["fine", "", "a\tb"], "[1]")}
    for code, (uuids, place) in offences.items():
        wrong = message("ho", 2)
        wrong.previous_episode_uuids.extend(uuids)
        given = ing.AddMessagesInput(group_id="g", messages=[wrong])
        error = (await client.ingestion.AddMessages(ing.AddMessagesRequest(input=given))).error
        assert error.error_code == code
        assert error.field_violations[0].field == f"input.messages[0].previous_episode_uuids{place}"
