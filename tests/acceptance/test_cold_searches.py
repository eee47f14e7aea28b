"""Searches of facts that are not in memory: the same answers, whether they are loaded behind or never."""

import asyncio
import itertools
import re
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from kgsvc.v1 import retrieval_pb2 as ret
from kgsvc.v1 import types_pb2 as typ
from tests.acceptance.graph_searches import BM25, COSINE, facts_by, graph
from tests.acceptance.saying import JAN, fact, telling
from tests.acceptance.shared import scripted
from tests.support.client import Client, timestamp
from tests.support.scripted_openai import ScriptedOpenAI
from tests.support.service import Service
from tests.support.store_spec import StoreSpec

ALL = 100
MANY, PER_EPISODE = 600, 20  # more facts than are loaded while a search waits
PEOPLE = ("Ann", "Bob", "Cid", "Dan", "Eve", "Fay", "Gus", "京子")
THINGS = ("red car", "green car", "old house", "cup of tea", "東京の地図", "piano", "boat", "letter")
QUERIES = (
    "Who has a red car?",
    "京",
    "the letter that Eve wrote about the piano",
    "automobile of Bob, number 17",
    'boat AND "tea" -house (x:y*)',
)
RERANKERS = (ret.RERANKER_RRF, ret.RERANKER_WEIGHTED_SUM)  # what a store that has found facts leaves to do
ANYWHERE = [
    value for name, value in ret.SearchRecipe.items() if value and not name.endswith("NODE_DISTANCE")
]  # the others want a center
STARTS = 2
_AT_ONCE = 8  # queries
SETTINGS = {"server.metrics_listen": "127.0.0.1:0"}


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def filled(service: Service) -> str:
    """A group of MANY facts, some of which ended; the server that wrote them has searched for none."""
    group = "cold-searches"
    async with Client(service.address) as client:
        await client.delete_group(group)
        numbers = [range(n, n + PER_EPISODE) for n in range(0, MANY, PER_EPISODE)]
        told = [telling(JAN + each[0], *(_told(n) for n in each), uuid=f"e{each[0]}") for each in numbers]
        # The last in a commit of its own: a page ends with a commit, however much that wrote.
        for some in (told[:-2], told[-2:]):
            await client.ingest(group, some)
    return group


def _told(n: int) -> dict[str, object]:
    person, thing = PEOPLE[n % len(PEOPLE)], THINGS[n // len(PEOPLE) % len(THINGS)]
    words = f"{person} {'saw' if n % 3 else 'wrote about'} the {thing}, number {n}"
    ended = {"invalid_at": "2024-02-01T00:00:00Z"} if n % 10 == 0 else {}
    return fact("SAW", person, f"thing {n}", words, **ended)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def tight(
    model: ScriptedOpenAI, spec: StoreSpec, filled: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Service]:
    """A server on the same store that can hold no index of the group."""
    poor = {"retrieval.index_bytes": "1", "retrieval.warm_groups": "0", "server.role": "api"} | SETTINGS
    async with Service(
        scripted(model) | spec.settings | poor, tmp_path_factory.mktemp("tight"), "tight"
    ) as one:
        yield one


async def test_answers_are_the_same_loaded_or_not(
    service: Service, tight: Service, filled: str, spec: StoreSpec
) -> None:
    exact = spec.settings["store.kind"] == "embedded"
    async with Client(service.address) as roomy, Client(tight.address) as poor:
        before = (await _steps(service))["search_candidates"]  # by whatever the server did for other tests
        first = await roomy.search(filled, QUERIES[0], max_facts=ALL)
        assert (await _steps(service))["search_candidates"] == before + 1, (
            "what is not in memory yet is searched in the store"
        )
        while_loading = await _loaded(service, roomy, filled)
        assert await roomy.search(filled, QUERIES[0], max_facts=ALL) == first, "loaded behind the answer"
        for query in QUERIES:
            expected = await roomy.search(filled, query, max_facts=ALL)
            assert expected
            cold = await poor.search(filled, query, max_facts=ALL)
            if exact:
                assert cold == expected, query
            else:
                _nearly_same([each.uuid for each in expected], [each.uuid for each in cold], 0.95)
            message = typ.MemoryMessage(role_type=typ.ROLE_TYPE_USER, content=query, timestamp=timestamp(JAN))
            assert await poor.memory(filled, [message]) == await roomy.memory(filled, [message])
            for reranker in RERANKERS:
                wanted = facts_by(BM25, COSINE, reranker=reranker)
                answers = [await graph(each, filled, query, scopes=wanted) for each in (roomy, poor)]
                if exact:
                    assert answers[0].facts == answers[1].facts, (query, reranker)
                else:
                    best, cold_best = ([hit.fact.uuid for hit in each.facts] for each in answers)
                    _nearly_same(best, cold_best, 0.95)
    after = (await _steps(service))["search_candidates"]
    assert after == while_loading, "what is in memory is searched there"
    cold_steps = await _steps(tight)
    assert cold_steps["search_candidates"] >= len(QUERIES) * (1 + len(RERANKERS))
    assert cold_steps["changes"] == 0, "a group that cannot be held is not loaded for searches like these"


async def test_the_default_recipe_is_rrf_of_facts_until_the_group_is_in_memory(
    tight: Service, filled: str
) -> None:
    async with Client(tight.address) as poor:
        for query in QUERIES:
            cold = await graph(poor, filled, query)
            (run,) = cold.ran
            assert (list(run.methods), run.reranker) == ([BM25, COSINE], ret.RERANKER_RRF)
            assert run.from_store
            fused = await graph(poor, filled, query, recipe=ret.SEARCH_RECIPE_EDGE_HYBRID_SEARCH_RRF)
            assert fused.facts == cold.facts
    assert (await _steps(tight))["changes"] == 0


async def test_a_server_that_was_restarted_answers_at_once_and_later_from_memory(
    model: ScriptedOpenAI, spec: StoreSpec, filled: str, tmp_path: Path
) -> None:
    first: list[str] = []
    for attempt in range(3):
        settings = scripted(model) | spec.settings | {"server.role": "api", "retrieval.warm_groups": "0"}
        async with (
            Service(settings, tmp_path, f"again{attempt}") as again,
            Client(again.address) as client,
        ):
            async with asyncio.timeout(60):
                answers = [await graph(client, filled, QUERIES[0])]
                while answers[-1].ran[0].from_store:
                    answers.append(await graph(client, filled, QUERIES[0]))
        assert answers[0].ran[0].from_store, "nothing is loaded yet"
        assert all(each.facts for each in answers)
        warm = [hit.fact.uuid for hit in answers[-1].facts]
        assert warm == (first or warm), "from memory the answer is always the same"
        first = warm


async def test_a_search_asks_the_store_once(tight: Service, filled: str) -> None:
    """But for the space of the group, in which the query is embedded, and for the names that it means."""
    async with Client(tight.address) as poor:
        before = await _steps(tight)
        assert await poor.search(filled, QUERIES[0])
        asked = {step: count - before[step] for step, count in (await _steps(tight)).items()}
    assert asked == {"search_candidates": 1, "changes": 0, "heads": 1, "names": 1}


async def test_a_group_in_memory_is_asked_for_nothing_but_its_head(
    model: ScriptedOpenAI, spec: StoreSpec, filled: str, tmp_path: Path
) -> None:
    """The names that a question may mean are loaded behind the first answers, as facts are."""
    settings = scripted(model) | spec.settings | SETTINGS | {"server.role": "api"}
    async with Service(settings, tmp_path, "only-facts") as fresh, Client(fresh.address) as client:
        async with asyncio.timeout(60):
            while await _names_read(fresh, client, filled, QUERIES[0]):
                pass
        assert await _names_read(fresh, client, filled, "Did Fay see the boat?") == 0


async def test_what_is_told_is_found_by_the_next_search(client: Client, tight: Service, filled: str) -> None:
    async with Client(tight.address) as poor:
        for n in range(3):
            await client.ingest(
                filled, [telling(JAN, fact("HEARD", "Ann", f"sound {n}", f"Ann heard zither {n}"))]
            )
            found = await poor.search(filled, "zither", max_facts=ALL)
            assert sorted(each.fact for each in found if "zither" in each.fact) == [
                f"Ann heard zither {m}" for m in range(n + 1)
            ]


async def test_what_needs_more_than_facts_waits_for_the_load(
    model: ScriptedOpenAI, spec: StoreSpec, filled: str, tmp_path: Path
) -> None:
    """Each first of a server that holds no group: a context, filters, a center, episodes."""
    early = ret.SearchFilters()
    early.valid_as_of.FromMilliseconds(JAN + 700)
    settings = scripted(model) | spec.settings | SETTINGS
    settings |= {"server.role": "api", "retrieval.warm_groups": "0"}
    wanted: list[dict[str, Any]] = [
        {"include_context": True},
        {"filters": early},
        {"recipe": ret.SEARCH_RECIPE_COMBINED_HYBRID_SEARCH_RRF},
    ]
    for at, how in enumerate(wanted):
        async with Service(settings, tmp_path, f"waits{at}") as fresh, Client(fresh.address) as client:
            found = await graph(client, filled, "Ann red car number 0", max_results=ALL, **how)
            assert found.count
            assert not any(run.from_store for run in found.ran), how
            assert ("# Sources" in found.context) is ("include_context" in how)
            assert (await _steps(fresh))["search_candidates"] == 0
            center = found.facts[0].fact.source_node_uuid
            lifted = await client.search(filled, "car", center=center, max_facts=5)
            assert center in {lifted[0].source_node_uuid, lifted[0].target_node_uuid}
            if "filters" in how:
                assert any(hit.fact.HasField("invalid_at") for hit in found.facts), "what ended since"


def _nearly_same(loaded: list[str], cold: list[str], share: float) -> None:
    """Of many equally good facts, which are the last among the candidates is the database's choice; MMR looks
    for what differs, also among these."""
    assert len(set(loaded[:20]) & set(cold[:20])) >= share * len(loaded[:20])


async def _steps(service: Service) -> dict[str, int]:
    """How often the store was asked for what."""
    said = await service.metrics()
    made = dict(re.findall(r'^kgsvc_store_round_trips_total\{step="(\w+)"\} (\S+)$', said, re.MULTILINE))
    return {
        step: int(float(made.get(step, 0))) for step in ("search_candidates", "changes", "heads", "names")
    }


async def _names_read(service: Service, client: Client, group: str, query: str) -> int:
    """How often a search asked the store for names."""
    before = await _steps(service)
    assert await client.search(group, query)
    return (await _steps(service))["names"] - before["names"]


async def _loaded(service: Service, client: Client, group: str) -> int:
    """Search until the store is no more asked; how often it was."""
    async with asyncio.timeout(60):
        while True:
            before = (await _steps(service))["search_candidates"]
            await client.search(group, QUERIES[0])
            if (await _steps(service))["search_candidates"] == before:
                return before


@pytest.mark.parametrize(
    ("room", "count"),
    [({"retrieval.warm_groups": "0"}, 60), ({"retrieval.index_bytes": "1"}, 60)],
    ids=["loading", "never loaded"],
)
async def test_no_query_is_refused_while_servers_restart(
    room: dict[str, str], count: int, model: ScriptedOpenAI, spec: StoreSpec, filled: str, tmp_path: Path
) -> None:
    """Queries of every recipe, plain, with filters, a center and origins, right behind starts."""
    settings = scripted(model) | spec.settings | room | {"server.role": "api"}
    from_store: Counter[bool] = Counter()
    near = ""  # asked for once: a search before the others has the group loaded behind it
    for start in range(STARTS):
        async with Service(settings, tmp_path, f"start{start}") as server, Client(server.address) as client:
            near = near or (await client.search(filled, "Ann", max_facts=1))[0].source_node_uuid
            every = itertools.cycle(_searches(near))
            asked = itertools.islice(every, start * count, (start + 1) * count)
            await asyncio.gather(*(_ask_all(client, filled, asked, from_store) for _ in range(_AT_ONCE)))
    assert from_store[True]
    assert from_store[False]
    assert from_store.total() == STARTS * count


def _searches(near: str) -> list[dict[str, Any]]:
    """Every recipe, with everything that can be asked beside a query."""
    then, typed = ret.SearchFilters(), ret.SearchFilters(entity_types=["Entity"])
    then.valid_as_of.FromMilliseconds(JAN + 700)
    beside: list[dict[str, Any]] = [
        {},
        {"center_node_uuid": near},
        {"bfs_origin_node_uuids": [near]},
        {"filters": then},
        {"filters": typed, "include_context": True},
    ]
    every = [{"recipe": recipe, **each} for recipe in ANYWHERE for each in beside]
    near_to = [value for value in ret.SearchRecipe.values()[1:] if value not in ANYWHERE]
    return every + [
        {"recipe": recipe, "center_node_uuid": near, **each} for recipe in near_to for each in beside
    ]


async def _ask_all(
    client: Client, group: str, asked: Iterator[dict[str, Any]], from_store: Counter[bool]
) -> None:
    """Ask until there is nothing left; a refusal is an AssertionError."""
    for wanted in asked:
        found = await graph(client, group, "Ann wrote about the red car", **{"max_results": 10, **wanted})
        from_store[any(run.from_store for run in found.ran)] += 1
