"""SearchGraph on every store beside the embedded one: the same graph, the same results in the same order."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
import pytest_asyncio

from kgsvc.search.plans import METHODS, RERANKERS, Reranker, Scope, default_plan
from kgsvc.v1 import retrieval_pb2 as ret
from tests.acceptance.graph_searches import BFS, BM25, COSINE, graph
from tests.acceptance.saying import APR, CORPUS, FEB, JAN, MAR, fact, telling
from tests.acceptance.shared import scripted
from tests.acceptance.test_documents import read
from tests.acceptance.test_search_graph import JAPANESE, QUERY
from tests.support.client import Client
from tests.support.communities import built
from tests.support.scripted_openai import ScriptedOpenAI
from tests.support.service import Service

JAPANESE_TEXT = "田中太郎は東京で寿司が好き"
QUERIES = (
    QUERY,
    "Ann's physician and the automobile",
    JAPANESE_TEXT,
    "who drove in February 2024",
)
RECIPES = [name for name, number in ret.SearchRecipe.items() if number]
Measured = tuple[float, tuple[tuple[int, int, float], ...]]
Shown = list[tuple[str, float, tuple[tuple[int, int, float], ...]]]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def beside(model: ScriptedOpenAI, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Client]:
    """A connection to a server on an embedded store of its own."""
    place = {"store.kind": "embedded", "store.data_dir": str(tmp_path_factory.mktemp("beside") / "data")}
    async with (
        Service(scripted(model) | place, tmp_path_factory.mktemp("service")) as running,
        Client(running.address) as connected,
    ):
        yield connected


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def both(service: Service, beside: Client) -> AsyncIterator[tuple[Client, Client]]:
    """Two servers whose groups "agreeing" and "apart" are told the same."""
    async with Client(service.address) as client:
        for each in (client, beside):
            await tell(each)
        yield client, beside


async def tell(client: Client) -> None:
    """English and Japanese, something superseded, a document, communities; and a group of its own that shares
    words."""
    corpus = [*CORPUS, *JAPANESE]
    await client.ingest("agreeing", [telling(JAN + n, each, uuid=f"e{n}") for n, each in enumerate(corpus)])
    moves = [fact("LIVES_IN", "Ann", place, f"Ann has her home in {place}") for place in ("Rome", "Oslo")]
    for at_ms, move in zip((FEB, MAR), moves, strict=True):
        await client.ingest("agreeing", [telling(at_ms, move, uuid=f"moved-{at_ms}")])
    await read(client, "agreeing", f"{QUERY}\n\n{JAPANESE_TEXT}\n")
    await built(client, "agreeing")
    far = fact("DRIVES", "Zoe", "Ann", "Zoe drives Ann to the doctor in a red car")
    await client.ingest("apart", [telling(APR, far, uuid="far")])


async def agree(both: tuple[Client, Client], query: str, **wanted: Any) -> int:
    """How many results a search has, the same on both servers."""
    one, other = [
        await graph(client, ["agreeing", "apart"], query, include_scores=True, **wanted) for client in both
    ]
    assert list(told(one)) == list(told(other))
    assert list(one.ran) == list(other.ran)
    return one.count


def told(output: ret.SearchGraphOutput) -> Iterator[Shown]:
    """The results of each scope: which, how good, found by what."""
    yield [(hit.fact.uuid, *measured(hit)) for hit in output.facts]
    yield [(hit.node.uuid, *measured(hit)) for hit in output.nodes]
    yield [(hit.episode.uuid, *measured(hit)) for hit in output.episodes]
    yield [(hit.chunk.chunk_id, *measured(hit)) for hit in output.chunks]
    # Every build gives its communities uuids of their own, and these decide between equal scores.
    named = [(hit.community.name, *measured(hit)) for hit in output.communities]
    yield sorted(named, key=lambda entry: (-entry[1], entry[0]))


def measured(hit: ret.FactHit | ret.NodeHit | ret.EpisodeHit | ret.ChunkHit | ret.CommunityHit) -> Measured:
    """The score, and method, rank and score of each method that found it."""
    found_by = tuple((by.method, by.rank, round(by.score, 9)) for by in hit.found_by)
    return round(hit.score, 9), found_by


async def center(client: Client) -> str:
    """An entity in the middle of the chain."""
    found = await graph(client, "agreeing", "Cid doctor Dan", search_type=ret.SEARCH_SCOPE_FACTS)
    return next(hit.fact.source_node_uuid for hit in found.facts if hit.fact.source_name == "Cid")


@pytest.mark.parametrize("recipe", RECIPES)
async def test_every_recipe(recipe: str, both: tuple[Client, Client]) -> None:
    near = await center(both[1])
    counts = [
        await agree(both, query, recipe=ret.SearchRecipe.Value(recipe), center_node_uuid=near)
        for query in QUERIES
    ]
    assert all(counts)


@pytest.mark.parametrize(
    ("scope", "reranker"), [(scope, each) for scope, taken in RERANKERS.items() for each in sorted(taken)]
)
async def test_every_reranker_of_every_scope(
    scope: Scope, reranker: Reranker, both: tuple[Client, Client]
) -> None:
    methods = default_plan(scope).methods if reranker is Reranker.EVIDENCE else sorted(METHODS[scope])
    how = ret.ScopeSearch(
        scope=ret.SearchScope.Value(f"SEARCH_SCOPE_{scope.name}"),
        methods=[ret.SearchMethod.Value(f"SEARCH_METHOD_{method.name}") for method in methods],
        reranker=ret.Reranker.Value(f"RERANKER_{reranker.name}"),
    )
    assert await agree(both, QUERY, scopes=[how], center_node_uuid=await center(both[1]))


async def test_walks_and_the_past(both: tuple[Client, Client]) -> None:
    near = await center(both[1])
    walking = (ret.SEARCH_SCOPE_FACTS, ret.SEARCH_SCOPE_NODES, ret.SEARCH_SCOPE_EPISODES)
    walk = [ret.ScopeSearch(scope=scope, methods=[BFS], max_depth=2) for scope in walking]
    assert await agree(both, QUERY, scopes=walk, bfs_origin_node_uuids=[near])
    then = ret.SearchFilters()
    then.valid_as_of.FromMilliseconds(FEB + 1)
    homes = [ret.ScopeSearch(scope=ret.SEARCH_SCOPE_FACTS, methods=[BM25, COSINE])]
    assert await agree(both, "Ann home Rome Oslo", scopes=homes, filters=then)
