"""SearchGraph: the operation and its answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kgsvc.api import answers
from kgsvc.api.calls import current_call
from kgsvc.api.checks import Check
from kgsvc.api.communities import community_out
from kgsvc.api.ports import GraphSearch
from kgsvc.api.searching import METHODS, RERANKERS, SCOPES, read_graph_search
from kgsvc.api.unary import Reply, Unary
from kgsvc.domain.clock import Clock
from kgsvc.domain.limits import Limits
from kgsvc.domain.model.communities import Community
from kgsvc.observability.metrics import Metrics
from kgsvc.search.context import TOKEN_CHARS
from kgsvc.search.episode_index import FoundEpisode
from kgsvc.search.graph_results import FoundBy, GraphHit, ScopeAnswer
from kgsvc.search.node_index import FoundEntity
from kgsvc.search.plans import Reason
from kgsvc.search.search_graph import GraphQuery
from kgsvc.v1 import retrieval_pb2, types_pb2

_SCOPE_NUMBERS = {scope: number for number, scope in SCOPES.items()}
_METHOD_NUMBERS = {method: number for number, method in METHODS.items()}
_REASONS = {
    Reason.NO_EMBEDDING: retrieval_pb2.RERANKER_REASON_NO_EMBEDDING,
    Reason.NO_MODEL: retrieval_pb2.RERANKER_REASON_NO_MODEL,
    Reason.TIMEOUT: retrieval_pb2.RERANKER_REASON_TIMEOUT,
    Reason.MODEL_FAILED: retrieval_pb2.RERANKER_REASON_MODEL_FAILED,
    Reason.ANSWER_REJECTED: retrieval_pb2.RERANKER_REASON_ANSWER_REJECTED,
}
_RERANKER_NUMBERS = {reranker: number for number, reranker in RERANKERS.items()}


_ENVELOPE_BYTES = 1_024  # of a response beside its output
_CHARACTER_BYTES = 4  # at most


@dataclass(frozen=True, slots=True)
class Wanted:
    """The input of SearchGraph: what is searched for, and what is told of it."""

    query: GraphQuery
    scores: bool
    context_tokens: int | None  # None: no context


class Searching:
    """Searches of the graph."""

    def __init__(self, search: GraphSearch, metrics: Metrics, clock: Clock, limits: Limits) -> None:
        self._search = search
        self._metrics = metrics
        self._clock = clock
        self._limits = limits

    def operations(self) -> Mapping[str, Unary[Any]]:
        """The RPCs by method name."""
        pb = retrieval_pb2
        return {"SearchGraph": Unary(pb.SearchGraphRequest, pb.SearchGraphResponse, read, self._graph)}

    async def _graph(self, wanted: Wanted, _key: str | None) -> Reply:
        started = self._clock.monotonic()
        found = await self._search.search(replace(wanted.query, ends_s=current_call.get().ends_s))
        self._metrics.search_latency.observe((self._clock.monotonic() - started) * 1_000)
        output = graph_output(found, wanted.scores)
        if wanted.context_tokens is not None:
            chars = min(wanted.context_tokens * TOKEN_CHARS, self._room(output))
            output.context = await self._search.context(wanted.query, found, chars)
        return Reply(output)

    def _room(self, output: retrieval_pb2.SearchGraphOutput) -> int:
        """The characters that the response has room for beside `output`."""
        left = self._limits.response_bytes - _ENVELOPE_BYTES - output.ByteSize()
        return max(0, left) // _CHARACTER_BYTES


def read(sent: retrieval_pb2.SearchGraphInput, check: Check) -> Wanted:
    """The input of SearchGraph."""
    return Wanted(read_graph_search(sent, check), sent.include_scores, _context_tokens(sent, check))


def _context_tokens(sent: retrieval_pb2.SearchGraphInput, check: Check) -> int | None:
    tokens = check.limits.context_tokens_default
    if sent.HasField("context_tokens"):
        path = "input.context_tokens"
        tokens = check.number(path, sent.context_tokens, check.limits.context_tokens_bound)
        if not sent.include_context:
            check.invalid(path, "is of include_context alone")
    return tokens if sent.include_context else None


def graph_output(found: Sequence[ScopeAnswer], with_scores: bool) -> retrieval_pb2.SearchGraphOutput:
    """What was found, scope by scope."""
    output = retrieval_pb2.SearchGraphOutput(ran=map(_run, found))
    for answer in found:
        for hit in answer.hits:
            _add(output, hit, with_scores)
    if len(found) == 1:
        output.search_type = _SCOPE_NUMBERS[found[0].scope]
    output.count = sum(len(answer.hits) for answer in found)
    output.message = "1 result" if output.count == 1 else f"{output.count} results"
    return output


def _run(answer: ScopeAnswer) -> retrieval_pb2.ScopeRun:
    return retrieval_pb2.ScopeRun(
        scope=_SCOPE_NUMBERS[answer.scope],
        methods=[_METHOD_NUMBERS[method] for method in answer.methods],
        reranker=_RERANKER_NUMBERS[answer.reranker],
        reason=None if answer.reason is None else _REASONS[answer.reason],
    )


def _add(output: retrieval_pb2.SearchGraphOutput, hit: GraphHit, with_scores: bool) -> None:
    by = _found_by(hit, with_scores)
    if isinstance(hit.item, FoundEntity):
        output.nodes.add(node=_node(hit.item), score=hit.score, found_by=by)
    elif isinstance(hit.item, FoundEpisode):
        output.episodes.add(episode=answers.episode(hit.item.episode), score=hit.score, found_by=by)
    elif isinstance(hit.item, Community):
        output.communities.add(community=community_out(hit.item), score=hit.score, found_by=by)
    else:
        output.facts.add(fact=answers.fact_result(hit.item), score=hit.score, found_by=by)


def _node(found: FoundEntity) -> types_pb2.EntityNode:
    node = answers.entity_node(found.entity, found.aliases)
    node.summary_facts[:] = found.summary_facts
    return node


def _found_by(hit: GraphHit, with_scores: bool) -> list[retrieval_pb2.FoundBy]:
    return [_method(each) for each in hit.found_by] if with_scores else []


def _method(found: FoundBy) -> retrieval_pb2.FoundBy:
    return retrieval_pb2.FoundBy(method=_METHOD_NUMBERS[found.method], rank=found.rank, score=found.score)
