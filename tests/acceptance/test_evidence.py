"""The default recipe, as a client sees it: what it finds beyond words and meaning, on every store alike."""

import pytest

from kgsvc.documents.passages import passages
from kgsvc.v1 import retrieval_pb2 as ret
from tests.acceptance.graph_searches import BM25, facts_by, graph, texts
from tests.acceptance.saying import FEB, JAN, fact, telling
from tests.support.client import Client, episode, message

MINUTE = 60_000
HOP = [
    telling(JAN, fact("DIRECTED", "Ada Park", "The Zone", "Ada Park directed The Zone"), uuid="film"),
    telling(JAN, fact("CAME_FROM", "Ada Park", "Montreal", "She was born at Montreal"), uuid="home"),
    telling(JAN, fact("LIKES", "Bob", "tea", "Bob likes tea"), uuid="tea"),
    telling(JAN, fact("LIKES", "Cid", "tea", "Cid likes tea"), uuid="more-tea"),
]


async def test_the_second_half_of_a_question_in_two_hops(client: Client, group: str) -> None:
    await client.ingest(group, HOP)
    question = "The Zone"
    assert texts(await graph(client, group, question, scopes=facts_by(BM25))) == [
        "Ada Park directed The Zone"
    ]
    found = await graph(client, group, question)
    assert texts(found) == ["Ada Park directed The Zone", "She was born at Montreal"]
    assert [run.reranker for run in found.ran] == [ret.RERANKER_EVIDENCE]
    assert found.facts[0].score > found.facts[1].score > 0
    episodes = await graph(client, group, question, search_type=ret.SEARCH_SCOPE_EPISODES)
    assert [hit.episode.uuid for hit in episodes.episodes] == ["film", "home"]
    assert [hit.score for hit in episodes.episodes] == pytest.approx([2.75, 1.375])


async def test_an_answer_beside_its_question(client: Client, group: str) -> None:
    said = ["What do you grow?", "Lichens", "Good night"]
    times = [JAN, JAN + MINUTE, FEB]
    asked = [message(text, at, role="Ann", uuid=f"m{at - JAN}") for text, at in zip(said, times, strict=True)]
    await client.say(group, asked)
    found = await graph(client, group, "Who grows something?", search_type=ret.SEARCH_SCOPE_EPISODES)
    assert [hit.episode.body for hit in found.episodes] == [
        "Ann(user): What do you grow?",
        "Ann(user): Lichens",
    ]
    assert [hit.score for hit in found.episodes] == pytest.approx([1.0, 0.3])


async def test_an_alias_in_the_question_finds_facts_of_the_full_name(client: Client, group: str) -> None:
    """A former name is an alias, and the present one still finds what was told before."""
    for name in ("Liz", "Elizabeth Hart"):
        await client.ask("AddEntityNode", group_id=group, uuid="n1", name=name)
    told = fact("ON_SQUAD", "Elizabeth Hart", "Atlas", "Elizabeth Hart is on Atlas since May")
    others = [fact("ON_SQUAD", f"P{n}", f"S{n}", f"P{n} is on squad S{n}") for n in range(3)]
    await client.ingest(group, [telling(JAN, each, uuid=f"e{n}") for n, each in enumerate((*others, told))])
    for question in ("Liz", "Which one is Liz's?"):
        assert texts(await graph(client, group, question))[:1] == ["Elizabeth Hart is on Atlas since May"]


async def test_an_episode_is_found_by_what_one_of_its_passages_means(client: Client, group: str) -> None:
    """No fact tells it, and the question shares no word with it."""
    said = " ".join(["physician"] * 200)
    await client.ingest(group, [episode(said, FEB, uuid="long"), episode("tea time", FEB, uuid="short")])
    question = passages(said)[0].replace("physician", "doctor")
    found = await graph(client, group, question, search_type=ret.SEARCH_SCOPE_EPISODES)
    assert found.episodes[0].episode.uuid == "long"
