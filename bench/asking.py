"""The searches that benchmarks measure, as callers send them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from bench.measuring import Ask
from kgsvc.v1 import retrieval_pb2 as ret
from tests.support.client import Client, granted

RESULTS = 10
WAIT_S = 900.0  # until a group of a million facts is in memory
_LOOK_S = 0.5
_GIB = 1024**3
ROOMY = {  # a server of searches alone, with room for any group
    "server.role": "api",
    "server.deadline_s": str(WAIT_S),
    "retrieval.index_bytes": str(16 * _GIB),
    "retrieval.search_timeout_s": str(WAIT_S),
    "retrieval.store_timeout_s": str(WAIT_S),
}


def search_facts(client: Client, group: str) -> Ask:
    """SearchFacts."""

    async def ask(query: str) -> object:
        request = _facts_request(group, query)
        return granted(await client.retrieval.SearchFacts(request, timeout=WAIT_S)).output

    return ask


def facts_bytes(group: str, query: str) -> bytes:
    """A request of SearchFacts as it is sent."""
    return _facts_request(group, query).SerializeToString()


def search_facts_bytes(client: Client) -> Callable[[bytes], Awaitable[object]]:
    """SearchFacts with requests that are bytes already: for clients that shall cost little."""
    call: Callable[..., Awaitable[ret.SearchFactsResponse]] = client.channel.unary_unary(
        "/kgsvc.v1.RetrievalService/SearchFacts", response_deserializer=ret.SearchFactsResponse.FromString
    )

    async def ask(request: bytes) -> object:
        found = granted(await call(request, timeout=WAIT_S)).output
        assert found.facts, "nothing found"
        return found

    return ask


def _facts_request(group: str, query: str) -> ret.SearchFactsRequest:
    given = ret.SearchFactsInput(group_ids=[group], query=query, max_facts=RESULTS)
    return ret.SearchFactsRequest(input=given)


def search_graph(client: Client, group: str) -> Ask:
    """SearchGraph by its default recipe."""

    async def ask(query: str) -> object:
        given = ret.SearchGraphInput(group_ids=[group], query=query, max_results=RESULTS)
        request = ret.SearchGraphRequest(input=given)
        return granted(await client.retrieval.SearchGraph(request, timeout=WAIT_S)).output

    return ask


async def in_memory(client: Client, group: str, query: str) -> None:
    """Ask twice a second until the default recipe is answered from memory."""
    given = ret.SearchGraphInput(group_ids=[group], query=query, max_results=RESULTS)
    request = ret.SearchGraphRequest(input=given)
    async with asyncio.timeout(WAIT_S):
        while True:
            found = granted(await client.retrieval.SearchGraph(request, timeout=WAIT_S)).output
            if not any(ran.from_store for ran in found.ran):
                return
            await asyncio.sleep(_LOOK_S)
