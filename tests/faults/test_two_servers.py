"""Two server processes on one store: who waited for a receipt on one finds what was said on the other, and
nobody finds on one what was erased on the other."""

import asyncio
import random
from pathlib import Path
from typing import Any

import pytest

from kgsvc.v1 import retrieval_pb2 as ret
from kgsvc.v1 import types_pb2 as typ
from tests.acceptance.graph_searches import BM25, graph
from tests.support.canaries import erased, found
from tests.support.client import CALL_S, Client, episode, timestamp
from tests.support.contract import request_of
from tests.support.service import Service
from tests.support.store_spec import StoreSpec

GROUPS = 10
CALLERS = 50
EVERY = 10  # so many items a caller looks for the entity and the episode too
AT_MS = 1_717_000_000_000
READER = {"server.role": "api"}  # it ingests nothing: all it knows it has read in the store


@pytest.mark.parametrize("each", [2, pytest.param(20, marks=pytest.mark.soak)])
async def test_what_a_receipt_says_is_done_is_found_on_the_other_server(
    store_spec: StoreSpec, group: str, tmp_path: Path, each: int
) -> None:
    """A hundred times of a hundred, or a thousand of a thousand, by callers at once in several groups."""
    names = random.Random(5)
    settings = store_spec.settings | {"retrieval.index_dir": str(tmp_path / "index")}
    async with (
        Service(settings, tmp_path, "writing") as writing,
        Service(settings | READER, tmp_path, "searching") as searching,
        Client(writing.address) as sender,
        Client(searching.address) as finder,
    ):
        callers = [
            caller(sender, finder, f"{group}-{n % GROUPS}", f"{n}", [person(names) for _ in range(each)])
            for n in range(CALLERS)
        ]
        assert [missing for missing in await asyncio.gather(*callers) if missing] == []


async def caller(sender: Client, finder: Client, group: str, name: str, people: list[str]) -> list[str]:
    """Tell of one person after the other, and look for each at once; what was not found."""
    missing: list[str] = []
    for n, who in enumerate(people):
        uuid = f"said-{name}-{n}"
        await sender.ingest(group, [episode(f"{who} works at Globex.", AT_MS + n, uuid=uuid)])
        if not any(uuid in fact.episodes for fact in await finder.search(group, f"Where does {who} work?")):
            missing.append(f"the fact of {uuid}")
        if n % EVERY == 0:
            missing += await missing_texts(finder, group, who, uuid)
    return missing


async def missing_texts(finder: Client, group: str, who: str, uuid: str) -> list[str]:
    """Which of the entity and the episode SearchGraph does not find."""
    wanted = (ret.SEARCH_SCOPE_NODES, ret.SEARCH_SCOPE_EPISODES)
    scopes = [ret.ScopeSearch(scope=scope, methods=[BM25], reranker=ret.RERANKER_RRF) for scope in wanted]
    found = await graph(finder, group, who, scopes=scopes)
    missing = [] if any(hit.node.name == who for hit in found.nodes) else [f"the entity of {uuid}"]
    if not any(hit.episode.uuid == uuid for hit in found.episodes):
        missing.append(f"the episode {uuid}")
    return missing


def person(rng: random.Random) -> str:
    """A name that resembles no other."""
    words = ("".join(rng.choice("bdfgklmnprstvz") + rng.choice("aeiou") for _ in range(4)) for _ in range(2))
    return " ".join(word.capitalize() for word in words)


async def test_what_is_erased_on_one_server_is_shown_by_no_other(
    store_spec: StoreSpec, group: str, tmp_path: Path
) -> None:
    """From the answer to DeleteEpisode on, whatever the other server holds in memory."""
    word = person(random.Random(7)).partition(" ")[0]
    told = [
        episode(f"{word} works at Globex.", AT_MS, "evil"),
        episode("Bob works at Globex.", AT_MS, "kept"),
    ]
    async with (
        Service(store_spec.settings, tmp_path, "erasing") as erasing,
        Service(store_spec.settings, tmp_path, "searching") as searching,
        Client(erasing.address) as eraser,
        Client(searching.address) as finder,
    ):
        await eraser.ingest(group, told)
        entity = await finder.entity_of(group, word)
        before = await shown(finder, group, entity)
        assert all(word in each for each in before.values()), "or its absence proves nothing"
        done = await eraser.ask("DeleteEpisode", uuid="evil", group_id=group, cascade=True)
        after = await shown(finder, group, entity)
        assert {name for name, answer in after.items() if word in answer} == set()
        assert any("Bob" in answer for answer in after.values())
        await erased(eraser, done.erasure_id)
        assert await found(store_spec, [word]) == set()
        again = await shown(finder, group, entity)
        assert {name for name, answer in again.items() if word in answer} == set()


async def shown(finder: Client, group: str, entity: str) -> dict[str, str]:
    """What each way of reading answers; questions do not have the word, so that no answer repeats it."""
    asked = "Who works at Globex?"
    said = typ.MemoryMessage(role_type=typ.ROLE_TYPE_USER, content=asked, timestamp=timestamp(AT_MS))
    scopes: dict[str, dict[str, Any]] = {
        name: {"group_ids": [group], "query": asked, "search_type": scope, "include_context": True}
        for name, scope in ret.SearchScope.items()
        if scope in {ret.SEARCH_SCOPE_FACTS, ret.SEARCH_SCOPE_EPISODES}
    }
    answers = {name: str(await finder.answer("SearchGraph", **given)) for name, given in scopes.items()}
    answers["SearchFacts"] = str(await finder.answer("SearchFacts", group_ids=[group], query=asked))
    answers["GetMemory"] = str(
        await finder.answer("GetMemory", group_id=group, messages=[said], include_provenance=True)
    )
    answers["GetEpisodes"] = str(await finder.answer("GetEpisodes", group_id=group, last_n=9))
    answers["GetEntityNode"] = str(await finder.answer("GetEntityNode", group_id=group, uuid=entity))
    wanted = request_of(
        "Ask", group_ids=[group], question=asked, only_need_context=True, include_provenance=True
    )
    answers["Ask"] = " ".join([str(each) async for each in finder.retrieval.Ask(wanted, timeout=CALL_S)])
    return answers
