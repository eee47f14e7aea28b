"""Spec 004 §15: facts with and without embeddings in one group rank together, deterministically.

Some were told to a server that had no embedder; they are found by their words alone.
"""

import uuid
from dataclasses import dataclass

import pytest
import pytest_asyncio

from kgsvc.v1 import types_pb2 as typ
from tests.acceptance.ranking import Ranking, by_meaning, fused, ordered, shown
from tests.acceptance.saying import FEB, JAN, fact, telling
from tests.acceptance.shared import scripted
from tests.support.client import Client
from tests.support.scripted_openai import ScriptedOpenAI
from tests.support.service import Service
from tests.support.store_spec import StoreSpec

ALL = 100
WITHOUT = [
    fact("DRIVES", "Ann", "Rex", "Ann drives a red car"),
    fact("SEES", "Bob", "Cid", "Bob sees the doctor"),
    fact("LIKES", "Fay", "Tea", "Fay likes green tea"),
]
WITH = [
    fact("SOLD", "Dan", "Van", "Dan sold the red car"),
    fact("IS", "Eve", "Medic", "Eve is a doctor at home"),
    fact("DRINKS", "Gus", "Mate", "Gus drinks green tea"),
]
QUERIES = ("red car", "doctor at home", "green tea and a red car", "physician", "automobile")


@dataclass(frozen=True, slots=True)
class Mixed:
    """A group of both kinds of facts, and the ranking of its facts by words alone."""

    group: str
    by_words: dict[str, list[str]]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def half(alone: StoreSpec, model: ScriptedOpenAI, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A group that was told things while there was no embedder; that server is gone."""
    name = f"mixed-{uuid.uuid4().hex}"
    settings = scripted(model) | alone.settings | {"models.embedder": "none"}
    async with (
        Service(settings, tmp_path_factory.mktemp("without"), "without") as server,
        Client(server.address) as client,
    ):
        await client.ingest(name, [telling(JAN, *WITHOUT)])
        assert len(await client.search(name, "red doctor green", ALL)) == len(WITHOUT)
        assert await client.search(name, "physician", ALL) == []
    return name


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def mixed(
    half: str,
    service: Service,
    model: ScriptedOpenAI,
    spec: StoreSpec,
    tmp_path_factory: pytest.TempPathFactory,
) -> Mixed:
    """The same group, told more by the module's server, which embeds."""
    async with Client(service.address) as client:
        await client.ingest(half, [telling(FEB, *WITH)])
    alone = scripted(model) | spec.settings | {"models.embedder": "none", "server.role": "api"}
    async with (
        Service(alone, tmp_path_factory.mktemp("words"), "words") as server,
        Client(server.address) as client,
    ):
        by_words = {query: [f.uuid for f in await client.search(half, query, ALL)] for query in QUERIES}
    return Mixed(half, by_words)


async def facts_of(client: Client, group: str) -> list[typ.FactResult]:
    """All facts of the group."""
    found = await client.search(group, "red car doctor green tea", ALL)
    assert len(found) == len(WITHOUT) + len(WITH)
    return found


def expected(mixed: Mixed, query: str, facts: list[typ.FactResult]) -> Ranking:
    """By words over all facts, by meaning over those that have an embedding."""
    embedded = [each for each in facts if each.fact in {told["fact"] for told in WITH}]
    return ordered(fused(mixed.by_words[query], by_meaning(query, embedded)))


@pytest.mark.parametrize("query", QUERIES)
async def test_both_kinds_are_fused_by_reciprocal_ranks(query: str, mixed: Mixed, client: Client) -> None:
    facts = await facts_of(client, mixed.group)
    assert shown(await client.search(mixed.group, query, ALL)) == expected(mixed, query, facts)


async def test_what_has_no_embedding_is_not_found_by_meaning(mixed: Mixed, client: Client) -> None:
    assert mixed.by_words["physician"] == []
    found = await client.search(mixed.group, "physician", ALL)
    assert [each.fact for each in found] == ["Eve is a doctor at home"]


async def test_the_ranking_is_the_same_after_restarts(mixed: Mixed, service: Service) -> None:
    answers = []
    for _ in range(3):
        async with Client(service.address) as client:
            answers.append([await client.search(mixed.group, query, ALL) for query in QUERIES])
        service.kill9()
        await service.start()
    assert answers[0] == answers[1] == answers[2]
