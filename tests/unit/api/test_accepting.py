"""AddMessages and AddEpisodes: acceptance, replays, parked items (docs/contract.md)."""

from tests.support.client import Client, episode, message


async def test_messages_become_episodes_with_role_in_front(client: Client) -> None:
    done = await client.add_messages("g", [message("hello", 1_000, role="Ann"), message("hi", 2_000)])
    assert done.accepted == 2
    assert done.message == "2 messages accepted"
    assert done.receipt_id
    assert [item.duplicate for item in done.items] == [False, False]
    assert [e.body for e in await client.get_episodes("g")] == ["Ann(user): hello", "(user): hi"]


async def test_a_replay_with_other_context_is_a_duplicate_but_another_input_of_the_same_key(
    client: Client,
) -> None:
    """The named context is no part of an item's content, and part of what a call says."""
    plain, named = episode("one", 1, uuid="u"), episode("one", 1, uuid="u")
    named.previous_episode_uuids.append("before")
    await client.add_episodes("g", [plain])
    assert (await client.add_episodes("g", [named])).items[0].duplicate
    await client.add_episodes("g", [named], idempotency_key="k")
    refused = await client.answer("AddEpisodes", "k", group_id="g", items=[plain])
    assert refused.error.error_code == "CONFLICT"


async def test_named_context_is_bounded_and_names_its_offences(client: Client) -> None:
    most = message("hi", 1)
    most.previous_episode_uuids.extend(["same"] * 50)
    assert (await client.add_messages("g", [most])).accepted == 1
    offences = {"LIMIT_EXCEEDED": (["x"] * 51, ""), "INVALID_ARGUMENT": (["fine", "", "a\tb"], "[1]")}
    for code, (uuids, place) in offences.items():
        wrong = message("ho", 2)
        wrong.previous_episode_uuids.extend(uuids)
        error = (await client.answer("AddMessages", group_id="g", messages=[wrong])).error
        assert error.error_code == code
        assert error.field_violations[0].field == f"input.messages[0].previous_episode_uuids{place}"
