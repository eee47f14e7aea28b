"""SearchFacts (spec 004 §4.3.1), SearchGraph (specs 000, 002, 003)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TypeAlias

from google.protobuf.message import Message

from kgsvc.api import mapping
from kgsvc.api.calls import current_call
from kgsvc.api.checks import RequestCheck
from kgsvc.api.envelope import Operation, Reply, Rpcs, Unary
from kgsvc.api.rpc.provenance import first_place, provenance_message
from kgsvc.commands.core import Core
from kgsvc.commands.provenance import Room, placed, provenance
from kgsvc.domain.facts.beliefs import as_known_at
from kgsvc.domain.model.communities import Community
from kgsvc.search import plans
from kgsvc.search.context import TOKEN_CHARS
from kgsvc.search.context_talk import told
from kgsvc.search.engine import Engine
from kgsvc.search.episode_index import FoundEpisode
from kgsvc.search.filters import NONE, Filters, Span
from kgsvc.search.graph_results import GraphHit, GraphQuery, Hit, Item, ScopeAnswer
from kgsvc.search.node_index import FoundEntity
from kgsvc.search.plans import (
    MAX_DEPTH,
    RECIPES,
    Method,
    Reason,
    Recipe,
    Reranker,
    Scope,
    ScopePlan,
    default_plan,
)
from kgsvc.v1 import retrieval_pb2, types_pb2

_pb = retrieval_pb2
Asking: TypeAlias = retrieval_pb2.SearchGraphInput | retrieval_pb2.AskInput
_SCOPES = mapping.enum_table(_pb.SearchScope, "SEARCH_SCOPE_", Scope)
_METHODS = mapping.enum_table(_pb.SearchMethod, "SEARCH_METHOD_", Method)
_RERANKERS = mapping.enum_table(_pb.Reranker, "RERANKER_", Reranker)
_RECIPES = mapping.enum_table(_pb.SearchRecipe, "SEARCH_RECIPE_", Recipe)
_SCOPE_NUMBERS = mapping.enum_numbers(_pb.SearchScope, "SEARCH_SCOPE_", Scope)
_METHOD_NUMBERS = mapping.enum_numbers(_pb.SearchMethod, "SEARCH_METHOD_", Method)
_RERANKER_NUMBERS = mapping.enum_numbers(_pb.Reranker, "RERANKER_", Reranker)
_REASON_NUMBERS = mapping.enum_numbers(_pb.RerankerReason, "RERANKER_REASON_", Reason)
_SCOPE_ENTRIES = len(Scope)
_ORIGINS = 64
_NAMES = 256  # in one filter
_LEAST, _MOST = 1e-6, 1e6  # weights; scores are rounded to twelve digits
_ENVELOPE_BYTES = 1_024  # of a response without its output
_CHARACTER_BYTES = 4  # at most


class SearchRpcs:
    """The RPCs that search."""

    def __init__(self, core: Core, search: Engine) -> None:
        self._core = core
        self._search = search
        self.rpcs: Rpcs = {"SearchFacts": Unary(self._search_facts), "SearchGraph": Unary(self._search_graph)}

    def _search_facts(self, sent: retrieval_pb2.SearchFactsInput, check: RequestCheck) -> Operation:
        group_ids = check.group_ids("input.group_ids", sent.group_ids)
        query = check.required_text("input.query", sent.query, check.limits.query)
        max_facts, center = read_fact_bounds(sent, check)

        async def run() -> Reply:
            with timed(self._core):
                await self._search.require(group_ids, center)
                hits = await self._search.facts(group_ids, query, max_facts, center)
            return Reply(retrieval_pb2.SearchFactsOutput(facts=fact_results(hits)))

        return run

    def _search_graph(self, sent: retrieval_pb2.SearchGraphInput, check: RequestCheck) -> Operation:
        query, scores = _query(sent, check), sent.include_scores
        tokens = _context_tokens(sent, check)

        async def run() -> Reply:
            with timed(self._core):
                results = await self._search.search(replace(query, ends_s=current_call.get().ends_s))
            output = _output(results, scores, query.filters.known_at_ms)
            output.chunks.extend(await self._chunks(results, scores))
            if tokens is not None:
                chars = min(tokens * TOKEN_CHARS, room_of(self._core, output) // _CHARACTER_BYTES)
                output.context = told(await self._search.context(query, results, chars))
            if sent.include_provenance:
                known_at_ms, room = query.filters.known_at_ms, Room(room_of(self._core, output))
                told_of = await provenance(self._core, hits_of(results), room, known_at_ms)
                output.provenance.CopyFrom(provenance_message(told_of))
            return Reply(output)

        return run

    async def _chunks(self, results: Sequence[ScopeAnswer], scores: bool) -> list[retrieval_pb2.ChunkHit]:
        """The chunks among the results with where they stand; without those erased meanwhile."""
        hits = [hit for answer in results if answer.scope is Scope.CHUNKS for hit in answer.hits]
        episodes = [hit.item.episode for hit in hits if isinstance(hit.item, FoundEpisode)]
        told = await placed(self._core, episodes) if episodes else []
        return [
            retrieval_pb2.ChunkHit(
                chunk=first_place(source), score=hit.score, found_by=_found_by(hit, scores)
            )
            for source, hit in zip(told, hits, strict=True)
            if source.document is not None
        ]


def room_of(core: Core, output: Message) -> int:
    """How many bytes a response with `output` has left."""
    return max(0, core.limits.response_bytes - _ENVELOPE_BYTES - output.ByteSize())


def hits_of(answers: Sequence[ScopeAnswer]) -> Iterator[tuple[Item, float]]:
    """What was found, with its scores, scope by scope, the best first."""
    return ((hit.item, hit.score) for answer in answers for hit in answer.hits)


@contextmanager
def timed(core: Core) -> Iterator[None]:
    """Observe the time of a search that succeeds."""
    started = core.clock.monotonic()
    yield
    core.metrics.search_latency.observe((core.clock.monotonic() - started) * 1_000)


def read_fact_bounds(
    sent: retrieval_pb2.SearchFactsInput | retrieval_pb2.GetMemoryInput, check: RequestCheck
) -> tuple[int, str | None]:
    """How many facts are wanted, and the entity that they should be near to."""
    limits = check.limits
    max_facts = check.optional_number(
        sent, "input.", "max_facts", limits.max_facts_default, limits.max_facts_bound
    )
    return max_facts, check.optional_uuid(sent, "center_node_uuid")


def fact_results(hits: Sequence[Hit]) -> list[types_pb2.FactResult]:
    """Facts with their scores."""
    return [mapping.fact_result(hit.fact, hit.score) for hit in hits]


def _query(sent: retrieval_pb2.SearchGraphInput, check: RequestCheck) -> GraphQuery:
    limits = check.limits
    group_ids = check.group_ids("input.group_ids", sent.group_ids)
    query = check.required_text("input.query", sent.query, limits.query)
    default, most = limits.max_facts_default, limits.max_facts_bound
    results = check.optional_number(sent, "input.", "max_results", default, most)
    origins = sent.bfs_origin_node_uuids
    return GraphQuery(
        group_ids=tuple(dict.fromkeys(group_ids)),
        text=query,
        plans=_plans(sent, check),
        max_results=results,
        filters=read_filters(sent, check),
        center=check.optional_uuid(sent, "center_node_uuid"),
        origins=check.identifiers("input.bfs_origin_node_uuids", origins, _ORIGINS, limits.uuid),
        min_score=_optional_float(sent, "input.", "min_score", check),
        max_bytes=limits.response_bytes,
    )


def _plans(sent: retrieval_pb2.SearchGraphInput, check: RequestCheck) -> tuple[ScopePlan, ...]:
    """What is searched and how."""
    ways = [name for name in ("search_type", "recipe") if sent.HasField(name)] + ["scopes"] * bool(
        sent.scopes
    )
    for name in ways[1:]:
        check.invalid(f"input.{name}", f"cannot be combined with {ways[0]}")
    chosen: tuple[ScopePlan, ...] = RECIPES[Recipe.DEFAULT]
    if sent.HasField("search_type"):
        chosen = (default_plan(check.enum("input.search_type", sent.search_type, _SCOPES, Scope.FACTS)),)
    if sent.HasField("recipe"):
        chosen = _recipe(sent, check)
    if sent.scopes:
        chosen = _own_plans(sent.scopes, check)
    return _centered(chosen, sent, check)


def read_recipe(sent: Asking, check: RequestCheck) -> tuple[ScopePlan, ...]:
    """The ready-made search that is wanted, or the default."""
    wanted = _recipe(sent, check) if sent.HasField("recipe") else RECIPES[Recipe.DEFAULT]
    return _centered(wanted, sent, check)


def _recipe(sent: Asking, check: RequestCheck) -> tuple[ScopePlan, ...]:
    return RECIPES[check.enum("input.recipe", sent.recipe, _RECIPES, Recipe.DEFAULT)]


def _centered(
    chosen: tuple[ScopePlan, ...],
    sent: Asking,
    check: RequestCheck,
) -> tuple[ScopePlan, ...]:
    by_distance = any(plan.reranker is Reranker.NODE_DISTANCE for plan in chosen)
    if by_distance and not sent.HasField("center_node_uuid"):
        check.invalid("input.center_node_uuid", "is required by NODE_DISTANCE")
    return chosen


def _own_plans(sent: Sequence[retrieval_pb2.ScopeSearch], check: RequestCheck) -> tuple[ScopePlan, ...]:
    if len(sent) > _SCOPE_ENTRIES:
        check.over("input.scopes", f"has {len(sent)} entries, at most {_SCOPE_ENTRIES} are allowed")
        return ()
    own: dict[Scope, ScopePlan] = {}
    for at, each in enumerate(sent):
        path = f"input.scopes[{at}]."
        scope = check.enum(f"{path}scope", each.scope, _SCOPES, Scope.FACTS)
        if scope in own and each.scope in _SCOPES:
            check.invalid(f"{path}scope", "is named twice")
        own[scope] = _own_plan(each, scope, path, check)
    return tuple(own.values())


def _own_plan(sent: retrieval_pb2.ScopeSearch, scope: Scope, path: str, check: RequestCheck) -> ScopePlan:
    reranker = Reranker.RRF
    if sent.HasField("reranker"):
        reranker = check.enum(f"{path}reranker", sent.reranker, _RERANKERS, Reranker.RRF)
    methods = _methods(sent, path, check)
    for at, method in enumerate(methods):
        if method not in plans.METHODS[scope]:
            check.invalid(f"{path}methods[{at}]", f"cannot search {scope.value}")
    if reranker not in plans.RERANKERS[scope]:
        check.invalid(f"{path}reranker", f"cannot order {scope.value}")
    bodies = scope in (Scope.EPISODES, Scope.CHUNKS)
    if bodies and reranker is Reranker.EVIDENCE and Method.BFS in methods:
        check.invalid(
            f"{path}methods[{methods.index(Method.BFS)}]",
            f"cannot be combined with EVIDENCE for {scope.value}",
        )
    plan = ScopePlan(scope, methods, reranker)
    depth = check.optional_number(sent, path, "max_depth", plan.depth, MAX_DEPTH)
    if sent.HasField("max_depth") and methods and Method.BFS not in methods:
        check.invalid(f"{path}max_depth", "is for the method BFS only")
    share = plan.mmr_lambda
    if sent.HasField("mmr_lambda"):
        share = sent.mmr_lambda
        if not 0 <= share <= 1:
            check.invalid(f"{path}mmr_lambda", "must be from 0 to 1")
        if reranker is not Reranker.MMR:
            check.invalid(f"{path}mmr_lambda", "is for the reranker MMR only")
    weights = _weights(sent, reranker, path, check)
    return ScopePlan(scope, methods, reranker, depth, share, weights)


def _methods(sent: retrieval_pb2.ScopeSearch, path: str, check: RequestCheck) -> tuple[Method, ...]:
    check.count(f"{path}methods", sent.methods, len(Method))
    bounded = sent.methods[: len(Method)]
    methods = [
        check.enum(f"{path}methods[{i}]", each, _METHODS, Method.BM25) for i, each in enumerate(bounded)
    ]
    for at, method in enumerate(bounded):
        if method in _METHODS and method in bounded[:at]:
            check.invalid(f"{path}methods[{at}]", "is named twice")
    return tuple(methods)


def _weights(
    sent: retrieval_pb2.ScopeSearch, reranker: Reranker, path: str, check: RequestCheck
) -> tuple[float, ...]:
    if not sent.weights:
        return ()
    if reranker is not Reranker.WEIGHTED_SUM:
        check.invalid(f"{path}weights", "are for the reranker WEIGHTED_SUM only")
    if sent.methods and len(sent.weights) != len(sent.methods):
        check.invalid(f"{path}weights", f"must be one for each of the {len(sent.methods)} methods")
    elif not all(w == 0 or _LEAST <= w <= _MOST for w in sent.weights) or not any(sent.weights):
        check.invalid(f"{path}weights", f"must each be 0 or from {_LEAST:g} to {_MOST:g}, and not all 0")
    return tuple(sent.weights)


def read_filters(asked: Asking, check: RequestCheck) -> Filters:
    """The conditions on results."""
    if not asked.HasField("filters"):
        return NONE
    sent, path = asked.filters, "input.filters."
    names = check.identifiers(f"{path}relation_names", sent.relation_names, _NAMES, check.limits.name)
    types = check.identifiers(f"{path}entity_types", sent.entity_types, _NAMES, check.limits.name)

    return Filters(
        entity_types=frozenset(types),
        relations=frozenset(names),
        valid=_optional_span(sent, path, "valid_at", check),
        invalid=_optional_span(sent, path, "invalid_at", check),
        created=_optional_span(sent, path, "created_at", check),
        expired=_optional_span(sent, path, "expired_at", check),
        true_at_ms=check.optional_time(sent, path, "valid_as_of"),
        known_at_ms=check.optional_time(sent, path, "known_as_of"),
    )


def _optional_span(sent: Message, path: str, field: str, check: RequestCheck) -> Span | None:
    return _span(getattr(sent, field), f"{path}{field}.", check) if sent.HasField(field) else None


def _span(sent: retrieval_pb2.TimeSpan, path: str, check: RequestCheck) -> Span:
    span = Span(check.optional_time(sent, path, "since"), check.optional_time(sent, path, "until"))
    if span.since_ms is None and span.until_ms is None:
        check.invalid(path.rstrip("."), "needs since or until")
    elif None not in (span.since_ms, span.until_ms) and span.since_ms >= span.until_ms:  # type: ignore[operator]
        check.invalid(f"{path}until", "must be later than since")
    return span


def _optional_float(sent: Message, path: str, field: str, check: RequestCheck) -> float | None:
    if not sent.HasField(field):
        return None
    value: float = getattr(sent, field)
    if not math.isfinite(value):
        check.invalid(f"{path}{field}", "must be a finite number")
    return value


def _context_tokens(sent: retrieval_pb2.SearchGraphInput, check: RequestCheck) -> int | None:
    """The size of the context; None: none is wanted."""
    default, most = check.limits.context_tokens_default, check.limits.context_tokens_bound
    tokens = check.optional_number(sent, "input.", "context_tokens", default, most)
    if sent.HasField("context_tokens") and not sent.include_context:
        check.invalid("input.context_tokens", "is allowed with include_context only")
    return tokens if sent.include_context else None


def _output(
    results: Sequence[ScopeAnswer], with_scores: bool, known_at_ms: int | None
) -> retrieval_pb2.SearchGraphOutput:
    """The results, scope by scope; facts as they were known then."""
    output = retrieval_pb2.SearchGraphOutput(ran=map(run_message, results))
    for answer in results:
        for hit in answer.hits if answer.scope is not Scope.CHUNKS else ():
            _add(output, hit, with_scores, known_at_ms)
    if len(results) == 1:
        output.search_type = _SCOPE_NUMBERS[results[0].scope]
    output.count = sum(len(answer.hits) for answer in results)
    output.message = "1 result" if output.count == 1 else f"{output.count} results"
    return output


def run_message(answer: ScopeAnswer) -> retrieval_pb2.ScopeRun:
    """How a scope was searched."""
    return retrieval_pb2.ScopeRun(
        scope=_SCOPE_NUMBERS[answer.scope],
        methods=[_METHOD_NUMBERS[method] for method in answer.methods],
        reranker=_RERANKER_NUMBERS[answer.reranker],
        reason=None if answer.reason is None else _REASON_NUMBERS[answer.reason],
        from_store=answer.from_store,
    )


def _add(
    output: retrieval_pb2.SearchGraphOutput, hit: GraphHit, with_scores: bool, known_at_ms: int | None
) -> None:
    by = _found_by(hit, with_scores)
    if isinstance(hit.item, FoundEntity):
        output.nodes.add(node=_node(hit.item), score=hit.score, found_by=by)
    elif isinstance(hit.item, FoundEpisode):
        output.episodes.add(episode=mapping.episode(hit.item.episode), score=hit.score, found_by=by)
    elif isinstance(hit.item, Community):
        output.communities.add(community=mapping.community(hit.item), score=hit.score, found_by=by)
    else:
        fact = as_known_at(hit.item, known_at_ms)
        output.facts.add(fact=mapping.fact_result(fact), score=hit.score, found_by=by)


def _node(hit: FoundEntity) -> types_pb2.EntityNode:
    node = mapping.entity_node(hit.entity, hit.aliases)
    node.summary_facts[:] = hit.summary_facts
    return node


def _found_by(hit: GraphHit, with_scores: bool) -> list[retrieval_pb2.FoundBy]:
    if not with_scores:
        return []
    return [
        retrieval_pb2.FoundBy(method=_METHOD_NUMBERS[by.method], rank=by.rank, score=by.score)
        for by in hit.found_by
    ]
