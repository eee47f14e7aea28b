"""Spec 000: what episodes, facts and entities tell of where they come from."""

from __future__ import annotations

import pytest

from kgsvc.v1 import ingestion_pb2 as ing
from kgsvc.v1 import types_pb2 as typ
from tests.acceptance.refusals import refused
from tests.acceptance.saying import JAN, fact, telling
from tests.support.client import Client, message

pytestmark = pytest.mark.asyncio(loop_scope="module")

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


@pytest.mark.parametrize(
    ("url", "about"),
    [
        ("ftp://chat.example", None),
        ("chat.example", None),
        ("https://chat.example/a,b", None),
        ("https://chat.example/a b", None),
        (URL, "source_url: https://other.example"),
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
