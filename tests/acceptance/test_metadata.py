"""Spec 000: what episodes, facts and entities tell of where they come from."""

import asyncio
from typing import Any

import pytest

from kgsvc.v1 import admin_pb2 as adm
from kgsvc.v1 import ingestion_pb2 as ing
from kgsvc.v1 import retrieval_pb2 as ret
from kgsvc.v1 import types_pb2 as typ
from tests.acceptance.refusals import refused
from tests.acceptance.saying import APR, FEB, JAN, MAR, RETOLD, body, fact, telling
from tests.support.client import CALL_S, Client, granted, message

WORKS = fact("WORKS_AT", "Alice", "Acme", "Alice works at Acme")
URL = "https://chat.example/archives/C123/p456"


def told(url: str | None, about: str | None = None, uuid: str = "ep") -> typ.EpisodeItem:
    """An episode that comes from an address."""
    item = telling(JAN, WORKS, uuid=uuid)
    if about is not None:
        item.source_description = about
    if url is not None:
        item.source_url = url
    return item


async def test_source_url_is_kept_at_the_end_of_source_description(client: Client, group: str) -> None:
    said = message("Hello.", JAN, role="Ann", uuid="b")
    said.source_description, said.source_url = "a chat", URL
    await client.add_episodes(group, [told(URL, uuid="a"), told(None, "a notebook", uuid="c")])
    await client.add_messages(group, [said])
    found = {each.uuid: each for each in await client.get_episodes(group)}
    assert found["a"].source_description == f"source_url: {URL}"
    assert found["b"].source_description == f"a chat, source_url: {URL}"
    assert found["c"].source_description == "a notebook"
    assert [found[uuid].source_url for uuid in "ab"] == [URL, URL]
    assert not found["c"].HasField("source_url")


async def test_source_url_is_read_from_any_description(client: Client, group: str) -> None:
    await client.add_episodes(group, [told(None, "exported; source_url:https://old.example/7, by hand")])
    (found,) = await client.get_episodes(group)
    assert found.source_url == "https://old.example/7"


@pytest.mark.parametrize("url", ["https://chat.example/a,b?c=1,2", "HTTP://chat.example/A", "HttpS://c,h"])
async def test_addresses_with_commas_and_capitals_are_told_again(
    client: Client, group: str, url: str
) -> None:
    await client.add_episodes(group, [told(url, "a chat")])
    (found,) = await client.get_episodes(group)
    assert (found.source_description, found.source_url) == (f"a chat, source_url: {url}", url)


async def test_an_address_beside_another_is_put_behind_it(client: Client, group: str) -> None:
    about = "source_url: https://other.example"
    await client.add_episodes(group, [told(URL, about)])
    (found,) = await client.get_episodes(group)
    assert found.source_description == f"{about}, source_url: {URL}"
    assert found.source_url == "https://other.example"  # of two, the first is read


@pytest.mark.parametrize(
    ("url", "about"),
    [
        ("ftp://chat.example", None),
        ("chat.example", None),
        ("https://chat.example/a,", None),
        ("https://chat.example/a b", None),
    ],
)
async def test_an_address_that_could_not_be_told_again_is_invalid(
    client: Client, group: str, url: str, about: str | None
) -> None:
    given = ing.AddEpisodesInput(group_id=group, items=[told(url, about)])
    refusal = await refused(client, "AddEpisodes", ing.AddEpisodesRequest(input=given))
    assert (refusal.code, refusal.fields) == ("INVALID_ARGUMENT", ("input.items[0].source_url",))


async def test_description_and_address_share_one_limit(client: Client, group: str) -> None:
    label = len(", source_url: ") + len(URL)
    await client.add_episodes(group, [told(URL, "x" * (4_096 - label))])
    given = ing.AddEpisodesInput(group_id=group, items=[told(URL, "x" * (4_097 - label), uuid="b")])
    refusal = await refused(client, "AddEpisodes", ing.AddEpisodesRequest(input=given))
    assert (refusal.code, refusal.fields) == ("LIMIT_EXCEEDED", ("input.items[0].source_url",))


async def test_episodes_name_the_facts_they_tell(client: Client, group: str) -> None:
    await client.ingest(group, [told(None, uuid="a"), telling(JAN, uuid="b")])
    (only,) = await client.search(group, "Alice")
    edges = {each.uuid: list(each.entity_edges) for each in await client.get_episodes(group)}
    assert edges == {"a": [only.uuid], "b": []}


async def test_a_fact_cites_its_episodes_in_their_order(client: Client, group: str) -> None:
    first, second = told(URL, "a chat", uuid="a"), told(None, uuid="b")
    first.name = "slack_message_123"
    await client.ingest(group, [second])
    await client.ingest(group, [first])
    (found,) = await client.search(group, "Alice")
    assert not found.citations, "searches read nothing more"
    edge = await client.get_edge(group, found.uuid)
    assert list(edge.episodes) == ["a", "b"]
    one, two = edge.citations
    accepted = {each.uuid: each.created_at for each in await client.get_episodes(group)}
    assert one == typ.CitationInfo(
        episode_uuid="a",
        episode_name="slack_message_123",
        source=typ.SOURCE_TEXT,
        source_description=f"a chat, source_url: {URL}",
        created_at=accepted["a"],
        source_url=URL,
    )
    assert (two.episode_uuid, two.episode_name) == ("b", "b"), "one without a name goes by its uuid"
    assert not two.HasField("source_url")


async def test_a_deleted_episode_is_cited_no_more(client: Client, group: str) -> None:
    await client.ingest(group, [told(None, uuid="a"), told(None, uuid="b")])
    (found,) = await client.search(group, "Alice")
    request = adm.DeleteEpisodeRequest(input=adm.DeleteEpisodeInput(uuid="a", group_id=group))
    granted(await client.admin.DeleteEpisode(request, timeout=CALL_S))
    edge = await client.get_edge(group, found.uuid)
    assert list(edge.episodes) == ["a", "b"]
    assert [each.episode_uuid for each in edge.citations] == ["b"]


async def test_updated_at_is_when_another_episode_joined_or_replaced(client: Client, group: str) -> None:
    await client.ingest(group, [telling(JAN, WORKS, uuid="a")])
    (once,) = await client.search(group, "Alice")
    assert not once.HasField("updated_at")
    await client.ingest(group, [telling(FEB, WORKS, uuid="b")])
    (twice,) = await client.search(group, "Alice")
    assert twice.updated_at.ToMilliseconds() > once.created_at.ToMilliseconds()
    await client.ingest(group, [telling(MAR, fact("WORKS_AT", "Alice", "Acme", "Alice leads Acme"))])
    (newer,) = await client.search(group, "Alice")
    ended = await client.get_edge(group, once.uuid)
    assert ended.updated_at == ended.expired_at == newer.created_at
    assert not newer.HasField("updated_at")


async def test_an_expired_fact_says_why_and_by_what(client: Client, group: str) -> None:
    await client.ingest(group, [telling(JAN, WORKS, uuid="a")])
    (older,) = await client.search(group, "Alice")
    await client.ingest(
        group, [telling(FEB, fact("WORKS_AT", "Alice", "Acme", "Alice leads Acme"), uuid="b")]
    )
    (newer,) = await client.search(group, "Alice")
    ended = await client.get_edge(group, older.uuid)
    assert (ended.expired_reason, ended.expired_by_fact, ended.expired_by_episode) == (
        "superseded",
        newer.uuid,
        "b",
    )
    assert not newer.HasField("expired_reason")


async def test_an_entity_comes_with_its_facts_the_latest_first(client: Client, group: str) -> None:
    likes = [fact("LIKES", "Alice", thing) for thing in ("chess", "jazz")]
    boss = fact("MANAGES", "Bruno", "Alice")
    await client.ingest(
        group,
        [telling(at, each, uuid=f"at-{at}") for at, each in ((JAN, likes[0]), (MAR, boss), (FEB, likes[1]))],
    )
    found = await client.get_entity(group, await client.entity_of(group, "Alice"))
    assert (found.node.name, list(found.node.labels), found.node.group_id) == ("Alice", ["Entity"], group)
    assert [each.fact for each in found.facts] == [
        "Bruno manages Alice",
        "Alice likes jazz",
        "Alice likes chess",
    ]
    assert [[c.episode_uuid for c in each.citations] for each in found.facts] == [
        [f"at-{at}"] for at in (MAR, FEB, JAN)
    ]
    assert [each.uuid for each in found.episodes] == [f"at-{at}" for at in (JAN, FEB, MAR)]
    assert list(found.episodes[0].entity_edges) == [found.facts[2].uuid]
    few = await client.get_entity(group, found.node.uuid, max_facts=1, max_episodes=2)
    assert [each.fact for each in few.facts] == ["Bruno manages Alice"]
    assert [each.uuid for each in few.episodes] == [f"at-{at}" for at in (FEB, MAR)]


async def test_expired_facts_of_an_entity_are_added_on_request(client: Client, group: str) -> None:
    await client.ingest(group, [telling(JAN, WORKS, uuid="a")])
    uuid = await client.entity_of(group, "Alice")
    await client.ingest(
        group, [telling(FEB, fact("WORKS_AT", "Alice", "Acme", "Alice leads Acme"), uuid="b")]
    )
    assert [each.fact for each in (await client.get_entity(group, uuid)).facts] == ["Alice leads Acme"]
    every = await client.get_entity(group, uuid, include_expired=True)
    assert [each.fact for each in every.facts] == ["Alice leads Acme", "Alice works at Acme"]


async def test_the_citation_chain_says_what_each_episode_did(client: Client, group: str) -> None:
    naming = telling(MAR, fact("LIKES", "Bruno", "jazz"), uuid="c")
    naming.body = body(fact("LIKES", "Bruno", "jazz"), names=("Alice",))
    await client.ingest(group, [telling(FEB, WORKS, uuid="b"), naming])
    await client.ingest(group, [telling(APR, fact("LIKES", "Alice", "chess"), uuid="d"), named_alone()])
    found = await client.get_entity(group, await client.entity_of(group, "Alice"))
    chain = [(each.citation.episode_uuid, each.operation) for each in found.citation_chain]
    assert chain == [
        ("a", typ.CITATION_OPERATION_CREATED),
        ("b", typ.CITATION_OPERATION_UPDATED),
        ("c", typ.CITATION_OPERATION_REFERENCED),
        ("d", typ.CITATION_OPERATION_UPDATED),
    ]
    assert all(
        each.citation.episode_name and each.citation.HasField("created_at") for each in found.citation_chain
    )


def named_alone() -> typ.EpisodeItem:
    """An episode that arrives late, is the first by its time and names Alice without a fact of her."""
    item = telling(JAN, uuid="a")
    item.body = body(names=("Alice",))
    return item


async def test_an_unknown_entity_is_not_found(client: Client, group: str) -> None:
    request = ret.GetEntityNodeRequest(input=ret.GetEntityNodeInput(uuid="nobody", group_id=group))
    assert (await refused(client, "GetEntityNode", request)).code == "NOT_FOUND"


async def test_a_summary_lists_the_facts_it_came_from_and_follows_them(client: Client, group: str) -> None:
    await client.ingest(group, [telling(JAN, WORKS, uuid="a"), telling(FEB, fact("LIKES", "Alice", "jazz"))])
    uuid = await client.entity_of(group, "Alice")
    found = await client.get_entity(group, uuid)
    assert found.node.summary == "Alice works at Acme.\nAlice likes jazz."
    assert [each.uuid for each in found.facts] == list(found.node.summary_facts)[::-1]
    await client.ingest(group, [telling(MAR, fact("WORKS_AT", "Alice", "Acme", "Alice leads Acme"))])
    assert (await client.get_entity(group, uuid)).node.summary == "Alice likes jazz.\nAlice leads Acme."
    (leads, *_) = await client.search(group, "Alice leads Acme")
    await client.update_fact(group, leads.uuid, "Alice runs Acme")
    found = await client.get_entity(group, uuid)
    assert found.node.summary == "Alice likes jazz.\nAlice runs Acme."
    assert found.node.updated_at.ToMilliseconds() > found.node.created_at.ToMilliseconds()
    request = adm.DeleteEntityEdgeRequest(input=adm.DeleteEntityEdgeInput(uuid=found.facts[0].uuid))
    granted(await client.admin.DeleteEntityEdge(request, timeout=CALL_S))
    assert (await client.get_entity(group, uuid)).node.summary == "Alice likes jazz."


async def test_a_summary_is_rebuilt_from_current_facts(client: Client, group: str) -> None:
    things = [f"{n:02} " + "x" * 80 for n in range(20)]
    homes = [fact("LIKES", "Alice", each) for each in things]
    await client.ingest(group, [telling(JAN + n, each, uuid=f"e{n:02}") for n, each in enumerate(homes)])
    uuid = await client.entity_of(group, "Alice")
    assert 400 < len((await client.get_entity(group, uuid)).node.summary) <= 500
    ends = [
        fact("LIKES", "Alice", each, f"Alice is done with {n}", polarity="ends")
        for n, each in enumerate(things[5:])
    ]
    await client.ingest(group, [telling(FEB, *ends, uuid="ends")])
    (latest,) = [e for e in await client.get_episodes(group) if e.uuid == "ends"]
    given = adm.DeleteEpisodeInput(uuid=latest.uuid, group_id=group)
    granted(await client.admin.DeleteEpisode(adm.DeleteEpisodeRequest(input=given), timeout=CALL_S))
    for each in latest.entity_edges:
        request = adm.DeleteEntityEdgeRequest(input=adm.DeleteEntityEdgeInput(uuid=each))
        granted(await client.admin.DeleteEntityEdge(request, timeout=CALL_S))
    left = await client.get_entity(group, uuid)
    assert set(left.node.summary_facts) == {each.uuid for each in left.facts}
    assert len(left.facts) == 5


async def test_a_long_summary_is_told_in_a_models_words(client: Client, group: str) -> None:
    uuid = await much_told(client, group, 16)
    summary = await until_retold(client, group, uuid)
    node = (await client.get_entity(group, uuid)).node
    assert summary == f"In short: {long_fact(15)['fact']}."
    assert len(node.summary_facts) == 16
    await client.ingest(group, [telling(APR, fact("LIKES", RETOLD, "jazz"))])
    assert (await client.get_entity(group, uuid)).node.summary == f"{summary}\n{RETOLD} likes jazz."


async def test_a_models_words_go_with_the_first_fact_they_are_made_from(client: Client, group: str) -> None:
    uuid = await much_told(client, group, 16)
    await until_retold(client, group, uuid)
    ended = {**long_fact(3), "polarity": "ends", "fact": f"{RETOLD} is done with thing 03"}
    await client.ingest(group, [telling(APR, ended)])
    node = (await client.get_entity(group, uuid)).node
    assert "In short" not in node.summary
    assert long_fact(15)["fact"] in node.summary


async def test_no_poisoned_word_survives_in_a_models_summary(client: Client, group: str) -> None:
    lie = {**long_fact(15), "fact": f"{RETOLD} steals " + "y" * 60}
    await client.ingest(group, [telling(APR, lie, uuid="evil")])
    uuid = await much_told(client, group, 15)
    assert "steals" in await until_retold(client, group, uuid)
    given = adm.DeleteEpisodeInput(uuid="evil", group_id=group, cascade=True)
    granted(await client.admin.DeleteEpisode(adm.DeleteEpisodeRequest(input=given), timeout=CALL_S))
    node = (await client.get_entity(group, uuid)).node
    assert node.summary.startswith(RETOLD)
    assert "steals" not in str(node)


def long_fact(number: int) -> dict[str, Any]:
    """A fact that fills a ninth of a summary."""
    thing = f"thing {number:02}"
    return fact("LIKES", RETOLD, thing, f"{RETOLD} likes {thing} " + "x" * 40)


async def much_told(client: Client, group: str, count: int) -> str:
    """Whom so many facts are told of, in one episode; her model's words follow soon."""
    await client.ingest(group, [telling(JAN, *map(long_fact, range(count)), uuid="much")])
    return await client.entity_of(group, RETOLD)


async def until_retold(client: Client, group: str, uuid: str) -> str:
    """The summary once it is in a model's words."""
    summary = ""
    async with asyncio.timeout(CALL_S):
        while not summary.startswith("In short"):
            await asyncio.sleep(0.02)
            summary = (await client.get_entity(group, uuid)).node.summary
    return summary
