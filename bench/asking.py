"""The searches that benchmarks measure, as callers send them."""

from __future__ import annotations

from bench.measuring import Ask
from kgsvc.v1 import retrieval_pb2 as ret
from tests.support.client import Client, granted

RESULTS = 10
WAIT_S = 900.0  # a group of a million facts is loaded by the first search
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
        given = ret.SearchFactsInput(group_ids=[group], query=query, max_facts=RESULTS)
        request = ret.SearchFactsRequest(input=given)
        return granted(await client.retrieval.SearchFacts(request, timeout=WAIT_S)).output

    return ask


def search_graph(client: Client, group: str) -> Ask:
    """SearchGraph by its default recipe."""

    async def ask(query: str) -> object:
        given = ret.SearchGraphInput(group_ids=[group], query=query, max_results=RESULTS)
        request = ret.SearchGraphRequest(input=given)
        return granted(await client.retrieval.SearchGraph(request, timeout=WAIT_S)).output

    return ask
