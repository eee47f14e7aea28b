"""GetEpisodes (docs/contract.md)."""

import pytest

from kgsvc.v1 import retrieval_pb2 as ret
from kgsvc.v1 import types_pb2 as typ
from tests.acceptance.refusals import refused
from tests.acceptance.saying import FEB, JAN, body, fact, telling
from tests.support.client import CALL_S, Client, episode, granted, timestamp
from tests.support.scripted_openai import ScriptedOpenAI, hanging, says

WORKS = fact("WORKS_AT", "Alice", "Acme")
QUARTER_MIB = "x" * 256 * 1024


def asking(group: str, last_n: int, **page: int | str | None) -> ret.GetEpisodesRequest:
    """A request for the latest `last_n`."""
    given = ret.GetEpisodesInput(group_id=group, last_n=last_n)
    for name, value in page.items():
        if value is not None:
            setattr(given, name, value)
    return ret.GetEpisodesRequest(input=given)


async def latest(client: Client, group: str, last_n: int) -> list[str]:
    """The uuids of the latest `last_n`."""
    response = await client.retrieval.GetEpisodes(asking(group, last_n), timeout=CALL_S)
    return [each.uuid for each in granted(response).output.episodes]


async def test_the_latest_come_in_chronological_order_ties_by_uuid(client: Client, group: str) -> None:
    times = {"e": JAN + 4, "b": JAN + 1, "d": JAN + 1, "a": JAN + 2, "c": JAN + 1}
    await client.add_episodes(group, [telling(at, WORKS, uuid=uuid) for uuid, at in times.items()])
    assert await latest(client, group, 1_000) == ["b", "c", "d", "a", "e"]
    assert await latest(client, group, 3) == ["d", "a", "e"]
    assert await latest(client, group, 1) == ["e"]
    assert await latest(client, f"{group}-2", 5) == []


async def test_an_episode_comes_back_as_it_was_sent(client: Client, group: str) -> None:
    sent = typ.EpisodeItem(
        uuid="a",
        name="Größe 📎",
        source=typ.SOURCE_JSON,
        body='{"A": "ǅ\\n",\r\n "a": 1}',
        reference_time=timestamp(JAN + 7),
        source_description="a file",
    )
    sent.reference_time.nanos += 999_999  # finer than a millisecond: floored
    await client.add_episodes(group, [sent])
    (got,) = await client.get_episodes(group)
    assert (got.uuid, got.group_id, got.name, got.source) == ("a", group, sent.name, sent.source)
    assert (got.body, got.source_description) == (sent.body, "a file")
    assert got.reference_time == timestamp(JAN + 7)
    assert got.created_at.ToMilliseconds() > JAN
    assert got.created_at.nanos % 1_000_000 == 0


async def test_absent_fields_stay_absent(client: Client, group: str) -> None:
    await client.add_episodes(group, [telling(JAN, WORKS)])
    (got,) = await client.get_episodes(group)
    assert got.uuid
    assert not got.HasField("name")
    assert not got.HasField("source_description")


@pytest.mark.parametrize("at_ms", [-62_135_596_800_000, -1, 0, 253_402_300_799_999])
async def test_any_year_is_kept_exactly(at_ms: int, client: Client, group: str) -> None:
    await client.ingest(group, [telling(at_ms, WORKS)])
    (got,) = await client.get_episodes(group)
    assert got.reference_time.ToMilliseconds() == at_ms


async def test_episodes_are_there_as_soon_as_accepted_and_while_parked(
    client: Client, group: str, patient_model: ScriptedOpenAI
) -> None:
    held, bad = fact("KNOWS", "Alice", "Held"), fact("KNOWS", "Alice", "Badword")
    patient_model.fail(hanging(), match="Held", times=None)
    await client.add_episodes(group, [telling(JAN, held, uuid="held")])
    assert await latest(client, group, 5) == ["held"]
    patient_model.heal()
    patient_model.fail(says("no"), match="Badword", times=None)
    accepted = await client.add_episodes(group, [telling(FEB, bad, uuid="bad")])
    assert (await client.wait_receipt(accepted.receipt_id))["bad"].state == typ.ITEM_STATE_PARKED
    assert await latest(client, group, 5) == ["held", "bad"]


async def test_pages_cover_the_range_once_though_more_comes_in(client: Client, group: str) -> None:
    await client.add_episodes(group, [telling(JAN + n, WORKS, uuid=f"n{n}") for n in range(10)])
    pages: list[list[str]] = []
    token: str | None = None
    while token != "":
        request = asking(group, 7, page_size=3, page_token=token)
        page = granted(await client.retrieval.GetEpisodes(request, timeout=CALL_S)).output
        pages.append([each.uuid for each in page.episodes])
        token = page.next_page_token
        await client.add_episodes(group, [telling(FEB + len(pages), WORKS)])
    assert pages == [["n3", "n4", "n5"], ["n6", "n7", "n8"], ["n9"]]


async def test_a_page_token_of_another_listing_is_refused(client: Client, group: str) -> None:
    await client.add_episodes(group, [telling(JAN + n, WORKS) for n in range(4)])
    request = asking(group, 4, page_size=2)
    token = granted(await client.retrieval.GetEpisodes(request, timeout=CALL_S)).output.next_page_token
    for other in (asking(group, 3, page_token=token), asking(f"{group}-2", 4, page_token=token)):
        refusal = await refused(client, "GetEpisodes", other)
        assert (refusal.code, refusal.fields) == ("INVALID_ARGUMENT", ("input.page_token",))
    refusal = await refused(client, "GetEpisodes", asking(group, 4, page_token="made up"))
    assert (refusal.code, refusal.fields) == ("INVALID_ARGUMENT", ("input.page_token",))


async def test_more_than_a_response_may_hold_is_refused_and_read_in_pages(client: Client, group: str) -> None:
    for n in range(16):
        await client.add_episodes(group, [episode(f"{n}{QUARTER_MIB}", JAN + n, uuid=f"n{n:02}")])
    refusal = await refused(client, "GetEpisodes", asking(group, 16))
    assert (refusal.code, refusal.fields) == ("LIMIT_EXCEEDED", ("input.page_token",))
    assert len(await latest(client, group, 5)) == 5
    uuids: list[str] = []
    token: str | None = None
    while token != "":
        request = asking(group, 16, page_size=16, page_token=token)
        page = granted(await client.retrieval.GetEpisodes(request, timeout=CALL_S)).output
        assert page.episodes
        uuids += [each.uuid for each in page.episodes]
        token = page.next_page_token
    assert uuids == [f"n{n:02}" for n in range(16)]


async def test_a_body_of_words_alone_says_nothing_and_completes(client: Client, group: str) -> None:
    assert len(await client.ingest(group, [episode("Nothing.", JAN), episode(body(), FEB)])) == 2
    assert await client.search(group, "Nothing") == []
