"""Two server processes on one store: who waited for a receipt on one finds what was said on the other."""

import asyncio
import random
from pathlib import Path

import pytest

from kgsvc.v1 import retrieval_pb2 as ret
from tests.acceptance.graph_searches import BM25, graph
from tests.support.client import Client, episode
from tests.support.service import Service
from tests.support.store_spec import StoreSpec

GROUPS = 10
CALLERS = 50
EVERY = 10  # so many items a caller looks for the entity and the episode too
AT_MS = 1_717_000_000_000
READER = {"server.role": "api"}  # it ingests nothing: all it knows it has read in the store


@pytest.mark.parametrize("each", [2, pytest.param(20, marks=pytest.mark.slow)])
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
