"""Spec 004 §16 "Search": by words, by meaning, by both; the same to the last tie; near a center first."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from kgsvc.v1 import ingestion_pb2 as ing
from tests.acceptance.ranking import by_meaning, fused, near, ordered, shown
from tests.acceptance.saying import CORPUS, FEB, JAN, MAR, corpus_told, fact, telling
from tests.acceptance.shared import scripted
from tests.support.client import Client
from tests.support.scripted_openai import ScriptedOpenAI, status
from tests.support.service import Service
from tests.support.store_spec import StoreSpec

ALL = 100
QUERIES = ("red car", "Who is the doctor of Dan?", "residence", "physician", "tea for Fay")


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def words(
    service: Service, model: ScriptedOpenAI, spec: StoreSpec, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Client]:
    """A server on the same store that searches by words alone and works on nothing."""
    alone = {"models.embedder": "none", "server.role": "api"}
    folder = tmp_path_factory.mktemp("words")
    settings = scripted(model) | spec.settings | alone
    async with Service(settings, folder, "words") as second, Client(second.address) as connected:
        yield connected


async def test_by_words_alone(client: Client, words: Client, group: str) -> None:
    facts = await corpus_told(client, group)
    found = await words.search(group, "red car", max_facts=ALL)
    assert [each.source_name for each in found[:2]] == ["Dan", "Bob"], "the shorter of two that say it all"
    assert [each.source_name for each in found[2:]] == ["Eve"], "says half of it; others are not found"
    assert shown(found) == ordered(fused([each.uuid for each in found]))
    assert await words.search(group, "physician doctors", max_facts=ALL), "words are found by their stems"
    assert await words.search(group, "zebra", max_facts=ALL) == []
    assert {each.uuid for each in found} <= {each.uuid for each in facts}


async def test_words_are_found_in_names_and_relations_too(words: Client, client: Client, group: str) -> None:
    told_once = fact("REPORTS_TO", "Alice Moreau", "Bruno", "She answers for her work to him")
    await client.ingest(group, [telling(JAN, told_once)])
    for query in ("Moreau", "bruno", "who reports to whom", "answers"):
        assert len(await words.search(group, query)) == 1, query


async def test_a_query_that_shares_no_word_finds_what_means_it(
    client: Client, words: Client, group: str
) -> None:
    told_once = [
        fact("TREATS", "Cid", "Dan", "doctor visit"),
        fact("OWNS", "Bob", "Rex", "car garage doctor"),
        fact("LIKES", "Fay", "Tea", "nothing alike"),
    ]
    await client.ingest(group, [telling(JAN, *told_once)])
    facts = await client.search(group, "doctor nothing garage", max_facts=ALL)
    assert len(facts) == 3
    assert await words.search(group, "physician") == []
    found = await client.search(group, "physician", max_facts=ALL)
    assert [each.fact for each in found] == ["doctor visit", "car garage doctor"]
    assert shown(found) == ordered(fused(by_meaning("physician", facts)))


@pytest.mark.parametrize("query", QUERIES)
async def test_both_are_fused_by_reciprocal_ranks(
    query: str, client: Client, words: Client, group: str
) -> None:
    facts = await corpus_told(client, group)
    by_words = [each.uuid for each in await words.search(group, query, max_facts=ALL)]
    expected = ordered(fused(by_words, by_meaning(query, facts)))
    assert shown(await client.search(group, query, max_facts=ALL)) == expected
    assert shown(await client.search(group, query, max_facts=2)) == expected[:2]


async def test_ties_go_by_uuid(client: Client, words: Client, group: str) -> None:
    alike = [fact("LIKES", f"P{n}", f"Q{n}", "likes green") for n in range(20)]
    await client.ingest(group, [telling(JAN, each) for each in alike])
    for server in (client, words):
        found = [each.uuid for each in await server.search(group, "green", max_facts=ALL)]
        assert len(found) == 20
        assert found == sorted(found)
        assert [e.uuid for e in await server.search(group, "green", max_facts=7)] == found[:7]


async def test_the_ranking_does_not_depend_on_arrival(client: Client, group: str) -> None:
    episodes = [telling(JAN + n, each, uuid=f"e{n}") for n, each in enumerate(CORPUS)]
    answers = []
    for number, order in enumerate(([0, 1, 2, 3, 4, 5], [5, 3, 1, 4, 2, 0])):
        name = f"{group}-{number}"
        for index in order:
            await client.ingest(name, [episodes[index]])
        found = [await client.search(name, query, max_facts=ALL) for query in QUERIES]
        answers.append([[(each.fact, each.score) for each in hits] for hits in found])
    assert answers[0] == answers[1]


async def test_the_ranking_is_the_same_after_a_restart(service: Service, group: str) -> None:
    async with Client(service.address) as client:
        await corpus_told(client, group)
        before = [await client.search(group, query, max_facts=ALL) for query in QUERIES]
        assert [await client.search(group, query, max_facts=ALL) for query in QUERIES] == before
    service.kill9()
    await service.start()
    async with Client(service.address) as client:
        assert [await client.search(group, query, max_facts=ALL) for query in QUERIES] == before


async def test_a_center_lifts_what_is_near_it(client: Client, words: Client, group: str) -> None:
    facts = await corpus_told(client, group)
    node = {each.source_name: each.source_node_uuid for each in facts}
    query = "red car of the doctor, tea and a residence"
    by_words = [each.uuid for each in await words.search(group, query, max_facts=ALL)]
    plain = fused(by_words, by_meaning(query, facts))
    assert len(plain) == len(CORPUS)
    orders = set()
    for name in ("Ann", "Cid", "Fay"):
        found = await client.search(group, query, max_facts=ALL, center=node[name])
        assert shown(found) == ordered(near(plain, facts, node[name]))
        orders.add(tuple(each.uuid for each in found))
    assert len(orders) == 3, "the center makes a difference"


async def test_a_center_without_facts_changes_no_order(client: Client, group: str) -> None:
    await corpus_told(client, group)
    given = ing.AddEntityNodeInput(uuid="alone", group_id=group, name="Nobody Near")
    await client.ingestion.AddEntityNode(ing.AddEntityNodeRequest(input=given), timeout=30)
    plain = await client.search(group, "red car", max_facts=ALL)
    far = await client.search(group, "red car", max_facts=ALL, center="alone")
    assert [each.uuid for each in far] == [each.uuid for each in plain]


async def test_groups_are_searched_together_and_kept_apart(client: Client, group: str) -> None:
    one, two, three = (f"{group}-{n}" for n in range(3))
    for name in (one, two, three):
        await corpus_told(client, name)
    await client.ingest(one, [telling(FEB, fact("OWNS", "Bob", "Rex", "Bob owns a red car"))])
    both = await client.search([one, two], "red car", max_facts=ALL)
    assert {each.group_id for each in both} == {one, two}
    assert await client.search([two, one, two], "red car", max_facts=ALL) == both
    alone = await client.search(one, "red car", max_facts=ALL)
    assert {each.uuid for each in alone} == {each.uuid for each in both if each.group_id == one}
    assert await client.search([one, f"{group}-unknown"], "red car", max_facts=ALL) == alone


async def test_what_other_groups_hold_moves_no_ranking(client: Client, group: str) -> None:
    await corpus_told(client, group)
    before = [await client.search(group, query, max_facts=ALL) for query in QUERIES]
    noise = [fact("OWNS", f"P{n}", "Car", f"P{n} has a red car and a doctor") for n in range(30)]
    await client.ingest(f"{group}-2", [telling(MAR, *noise)])
    assert [await client.search(group, query, max_facts=ALL) for query in QUERIES] == before


async def test_without_the_querys_embedding_words_answer(
    client: Client, words: Client, group: str, patient_model: ScriptedOpenAI
) -> None:
    await corpus_told(client, group)
    query = f"red car {group}"  # not asked before: embeddings of queries are kept
    patient_model.fail(status(500), match=query, endpoint="embeddings", times=None)
    degraded = await client.search(group, query, max_facts=ALL)
    assert degraded
    assert degraded == await words.search(group, query, max_facts=ALL)
