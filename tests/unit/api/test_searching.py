"""What is wrong with a SearchGraph is said; half a search is never made of it."""

from dataclasses import replace
from typing import Any, cast

import pytest

from kgsvc.search.context.lines import ContextLine
from kgsvc.search.engine import Searched
from kgsvc.search.results import GraphQuery, ScopeAnswer
from kgsvc.v1 import envelope_pb2, retrieval_pb2
from tests.support.client import Client
from tests.support.served import LIMITS, Serve
from tests.unit.api.samples import Change, assert_violation, call, clear, first, put, request

INVALID, LIMIT = "INVALID_ARGUMENT", "LIMIT_EXCEEDED"
BY_EVIDENCE = retrieval_pb2.ScopeSearch(
    scope=retrieval_pb2.SEARCH_SCOPE_EPISODES,
    methods=[retrieval_pb2.SEARCH_METHOD_BM25, retrieval_pb2.SEARCH_METHOD_BFS],
    reranker=retrieval_pb2.RERANKER_EVIDENCE,
)


def _alone(**values: Any) -> Change:
    """Without scopes of its own."""

    def change(target: Any) -> None:
        target.ClearField("scopes")
        put(**values)(target)

    return change


def _only(scope: retrieval_pb2.ScopeSearch) -> Change:
    def change(target: Any) -> None:
        target.ClearField("scopes")
        target.scopes.append(scope)

    return change


def _weighted(*weights: float) -> Change:
    def change(target: Any) -> None:
        target.reranker = 5
        target.weights.extend(weights)

    return change


CASES: list[tuple[Change, str, str]] = [
    (clear("group_ids"), "group_ids", INVALID),
    (clear("query"), "query", INVALID),
    (put(query="q" * 201), "query", LIMIT),
    (put(max_results=0), "max_results", INVALID),
    (put(max_results=101), "max_results", LIMIT),
    (put(min_score=float("nan")), "min_score", INVALID),
    (put(context_tokens=100), "context_tokens", INVALID),
    (put(context_tokens=100, include_context=False), "context_tokens", INVALID),
    (put(context_tokens=0, include_context=True), "context_tokens", INVALID),
    (put(context_tokens=32_001, include_context=True), "context_tokens", LIMIT),
    (put(recipe=2), "scopes", INVALID),
    (put(search_type=1), "scopes", INVALID),
    (_alone(search_type=99), "search_type", INVALID),
    (_alone(recipe=99), "recipe", INVALID),
    (_alone(recipe=0), "recipe", INVALID),
    (_alone(recipe=4), "center_node_uuid", INVALID),
    (_alone(search_type=1, recipe=2), "recipe", INVALID),
    (lambda i: i.scopes.append(i.scopes[0]), "scopes[1].scope", INVALID),
    (lambda i: i.scopes.extend(8 * [i.scopes[0]]), "scopes", LIMIT),
    (first("scopes", clear("scope")), "scopes[0].scope", INVALID),
    (first("scopes", put(scope=99)), "scopes[0].scope", INVALID),
    (first("scopes", clear("methods", "max_depth")), "scopes[0].methods", INVALID),
    (first("scopes", lambda s: s.methods.append(1)), "scopes[0].methods", LIMIT),
    (first("scopes", lambda s: s.methods.__setitem__(1, 1)), "scopes[0].methods[1]", INVALID),
    (first("scopes", lambda s: s.methods.__setitem__(1, 9)), "scopes[0].methods[1]", INVALID),
    (first("scopes", put(reranker=9)), "scopes[0].reranker", INVALID),
    (first("scopes", put(reranker=3)), "center_node_uuid", INVALID),
    (first("scopes", put(max_depth=0)), "scopes[0].max_depth", INVALID),
    (first("scopes", put(max_depth=4)), "scopes[0].max_depth", LIMIT),
    (first("scopes", lambda s: s.methods.pop()), "scopes[0].max_depth", INVALID),
    (first("scopes", put(mmr_lambda=0.5)), "scopes[0].mmr_lambda", INVALID),
    (first("scopes", put(mmr_lambda=1.1, reranker=2)), "scopes[0].mmr_lambda", INVALID),
    (first("scopes", lambda s: s.weights.extend([1, 1, 1])), "scopes[0].weights", INVALID),
    (first("scopes", _weighted(1, 1)), "scopes[0].weights", INVALID),
    (first("scopes", _weighted(0, 0, 0)), "scopes[0].weights", INVALID),
    (first("scopes", _weighted(1, -1, 1)), "scopes[0].weights", INVALID),
    (first("scopes", _weighted(1, float("nan"), 1)), "scopes[0].weights", INVALID),
    (first("scopes", _weighted(0, 1e-13, 0)), "scopes[0].weights", INVALID),
    (first("scopes", _weighted(1e308, 1e308, 1)), "scopes[0].weights", INVALID),
    (_only(BY_EVIDENCE), "scopes[0].methods[1]", INVALID),
    (lambda i: i.bfs_origin_node_uuids.append(""), "bfs_origin_node_uuids[0]", INVALID),
    (lambda i: i.bfs_origin_node_uuids.extend(65 * "n"), "bfs_origin_node_uuids", LIMIT),
    (lambda i: i.filters.relation_names.append(""), "filters.relation_names[1]", INVALID),
    (lambda i: i.filters.valid_at.Clear(), "filters.valid_at", INVALID),
    (lambda i: i.filters.created_at.until.FromSeconds(1), "filters.created_at.until", INVALID),
]


@pytest.mark.parametrize(("change", "field", "code"), CASES)
async def test_violation_is_named(client: Client, change: Change, field: str, code: str) -> None:
    response = await call(client.channel, "SearchGraph", request("SearchGraph", change).SerializeToString())
    assert_violation(response, field, code)


async def test_what_is_right_is_answered(client: Client) -> None:
    response = await call(client.channel, "SearchGraph", request("SearchGraph").SerializeToString())
    assert response.status == envelope_pb2.STATUS_OK
    assert (response.output.count, response.output.message) == (0, "0 results")


class Asked:
    """A SearchGraph that finds nothing and remembers what it was asked."""

    def __init__(self) -> None:
        self.queries: list[GraphQuery] = []

    async def search(self, query: GraphQuery) -> list[ScopeAnswer]:
        self.queries.append(query)
        return []

    async def search_for_context(self, query: GraphQuery) -> Searched:
        return Searched(query, await self.search(query), cast(Any, None))

    async def context(self, searched: Searched, chars: int) -> list[ContextLine]:
        return [ContextLine(f"{chars} characters")]


@pytest.mark.parametrize("patient", [True, False])
async def test_a_search_knows_when_its_caller_stops_waiting(patient: bool, serve: Serve) -> None:
    asked = Asked()
    async with serve(search=asked) as stack:
        before = stack.core.clock.monotonic()
        given = request("SearchGraph")
        await stack.client.retrieval.SearchGraph(given, timeout=None if patient else 20)
        (query,) = asked.queries
        if patient:
            assert query.ends_s is None
        else:
            assert query.ends_s is not None
            assert before < query.ends_s < stack.core.clock.monotonic() + 40, "gRPC rounds a deadline"


@pytest.mark.parametrize(("tokens", "chars"), [(None, 8_000), (5, 20), (32_000, 15_000)])
async def test_a_context_has_the_room_that_is_asked_for_and_that_the_response_has(
    tokens: int | None, chars: int, serve: Serve
) -> None:
    limits = replace(LIMITS, response_bytes=61_024)
    async with serve(search=Asked(), limits=limits) as stack:
        given = request("SearchGraph", put(include_context=True))
        if tokens is not None:
            given.input.context_tokens = tokens
        response = await stack.client.retrieval.SearchGraph(given, timeout=20)
        assert chars - 10 < int(response.output.context.split()[0]) <= chars
