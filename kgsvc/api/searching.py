"""SearchGraph: its input."""

from __future__ import annotations

import math
from collections.abc import Sequence

from google.protobuf.message import Message

from kgsvc.api.checks import Check
from kgsvc.search import plans
from kgsvc.search.filters import NONE, Filters, Span
from kgsvc.search.plans import MAX_DEPTH, RECIPES, Method, Recipe, Reranker, Scope, ScopePlan, default_plan
from kgsvc.search.search_graph import GraphQuery
from kgsvc.v1 import retrieval_pb2

_pb = retrieval_pb2
SCOPES = {
    _pb.SEARCH_SCOPE_FACTS: Scope.FACTS,
    _pb.SEARCH_SCOPE_NODES: Scope.NODES,
    _pb.SEARCH_SCOPE_EPISODES: Scope.EPISODES,
    _pb.SEARCH_SCOPE_COMMUNITIES: Scope.COMMUNITIES,
}
METHODS = {
    _pb.SEARCH_METHOD_BM25: Method.BM25,
    _pb.SEARCH_METHOD_COSINE: Method.COSINE,
    _pb.SEARCH_METHOD_BFS: Method.BFS,
}
RERANKERS = {
    _pb.RERANKER_RRF: Reranker.RRF,
    _pb.RERANKER_MMR: Reranker.MMR,
    _pb.RERANKER_NODE_DISTANCE: Reranker.NODE_DISTANCE,
    _pb.RERANKER_EPISODE_MENTIONS: Reranker.EPISODE_MENTIONS,
    _pb.RERANKER_WEIGHTED_SUM: Reranker.WEIGHTED_SUM,
    _pb.RERANKER_EVIDENCE: Reranker.EVIDENCE,
    _pb.RERANKER_CROSS_ENCODER: Reranker.CROSS_ENCODER,
}
_PREFIX = "SEARCH_RECIPE_"
RECIPE_NAMES = {
    number: Recipe(name.removeprefix(_PREFIX).lower()) for name, number in _pb.SearchRecipe.items() if number
}
_SCOPE_ENTRIES = 4
_ORIGINS = 64
_NAMES = 256  # in one filter
_LEAST, _MOST = 1e-6, 1e6  # weights; scores are rounded to twelve digits


def read_graph_search(sent: retrieval_pb2.SearchGraphInput, check: Check) -> GraphQuery:
    """The input of SearchGraph."""
    limits = check.limits
    check.count("input.group_ids", sent.group_ids, limits.items_per_call)
    bounded = sent.group_ids[: limits.items_per_call]
    group_ids = [check.group_id(f"input.group_ids[{i}]", group) for i, group in enumerate(bounded)]
    if not sent.query.strip():
        check.invalid("input.query", "is required")
    query = check.text("input.query", sent.query, limits.query)
    results = limits.max_facts_default
    if sent.HasField("max_results"):
        results = check.number("input.max_results", sent.max_results, limits.max_facts_bound)
    origins = sent.bfs_origin_node_uuids
    return GraphQuery(
        group_ids=tuple(dict.fromkeys(group_ids)),
        text=query,
        plans=_plans(sent, check),
        max_results=results,
        filters=_filters(sent.filters, check) if sent.HasField("filters") else NONE,
        center=check.optional_identifier(sent, "input.", "center_node_uuid", limits.uuid),
        origins=check.identifiers("input.bfs_origin_node_uuids", origins, _ORIGINS, limits.uuid),
        min_score=_optional_float(sent, "input.", "min_score", check),
        max_bytes=limits.response_bytes,
    )


def _plans(sent: retrieval_pb2.SearchGraphInput, check: Check) -> tuple[ScopePlan, ...]:
    """What is searched and how."""
    ways = [name for name in ("search_type", "recipe") if sent.HasField(name)] + ["scopes"] * bool(
        sent.scopes
    )
    for name in ways[1:]:
        check.invalid(f"input.{name}", f"cannot go with {ways[0]}")
    chosen: tuple[ScopePlan, ...] = RECIPES[Recipe.DEFAULT]
    if sent.HasField("search_type"):
        chosen = (default_plan(check.enum("input.search_type", sent.search_type, SCOPES, Scope.FACTS)),)
    if sent.HasField("recipe"):
        chosen = RECIPES[check.enum("input.recipe", sent.recipe, RECIPE_NAMES, Recipe.DEFAULT)]
    if sent.scopes:
        chosen = _own_plans(sent.scopes, check)
    if not sent.HasField("center_node_uuid"):
        for plan in chosen:
            if plan.reranker is Reranker.NODE_DISTANCE:
                check.invalid("input.center_node_uuid", "is required by NODE_DISTANCE")
                break
    return chosen


def _own_plans(sent: Sequence[retrieval_pb2.ScopeSearch], check: Check) -> tuple[ScopePlan, ...]:
    if len(sent) > _SCOPE_ENTRIES:
        check.over("input.scopes", f"has {len(sent)} entries, at most {_SCOPE_ENTRIES} are allowed")
        return ()
    own: dict[Scope, ScopePlan] = {}
    for at, each in enumerate(sent):
        path = f"input.scopes[{at}]."
        scope = check.enum(f"{path}scope", each.scope, SCOPES, Scope.FACTS)
        if scope in own and each.scope in SCOPES:
            check.invalid(f"{path}scope", "is named twice")
        own[scope] = _own_plan(each, scope, path, check)
    return tuple(own.values())


def _own_plan(sent: retrieval_pb2.ScopeSearch, scope: Scope, path: str, check: Check) -> ScopePlan:
    reranker = Reranker.RRF
    if sent.HasField("reranker"):
        reranker = check.enum(f"{path}reranker", sent.reranker, RERANKERS, Reranker.RRF)
    methods = _methods(sent, path, check)
    for at, method in enumerate(methods):
        if method not in plans.METHODS[scope]:
            check.invalid(f"{path}methods[{at}]", f"is not of {scope.value}")
    if reranker not in plans.RERANKERS[scope]:
        check.invalid(f"{path}reranker", f"is not of {scope.value}")
    if scope is Scope.EPISODES and reranker is Reranker.EVIDENCE and Method.BFS in methods:
        check.invalid(f"{path}methods[{methods.index(Method.BFS)}]", "does not go with EVIDENCE for episodes")
    plan = ScopePlan(scope, methods, reranker)
    depth, share = plan.depth, plan.mmr_lambda
    if sent.HasField("max_depth"):
        depth = check.number(f"{path}max_depth", sent.max_depth, MAX_DEPTH)
        if methods and Method.BFS not in methods:
            check.invalid(f"{path}max_depth", "is of BFS alone")
    if sent.HasField("mmr_lambda"):
        share = sent.mmr_lambda
        if not 0 <= share <= 1:
            check.invalid(f"{path}mmr_lambda", "must be from 0 to 1")
        if reranker is not Reranker.MMR:
            check.invalid(f"{path}mmr_lambda", "is of MMR alone")
    weights = _weights(sent, reranker, path, check)
    return ScopePlan(scope, methods, reranker, depth, share, weights)


def _methods(sent: retrieval_pb2.ScopeSearch, path: str, check: Check) -> tuple[Method, ...]:
    check.count(f"{path}methods", sent.methods, len(Method))
    bounded = sent.methods[: len(Method)]
    found = [check.enum(f"{path}methods[{i}]", each, METHODS, Method.BM25) for i, each in enumerate(bounded)]
    for at, method in enumerate(bounded):
        if method in METHODS and method in bounded[:at]:
            check.invalid(f"{path}methods[{at}]", "is named twice")
    return tuple(found)


def _weights(
    sent: retrieval_pb2.ScopeSearch, reranker: Reranker, path: str, check: Check
) -> tuple[float, ...]:
    if not sent.weights:
        return ()
    if reranker is not Reranker.WEIGHTED_SUM:
        check.invalid(f"{path}weights", "are of WEIGHTED_SUM alone")
    if sent.methods and len(sent.weights) != len(sent.methods):
        check.invalid(f"{path}weights", f"must be as many as the methods, {len(sent.methods)}")
    elif not all(w == 0 or _LEAST <= w <= _MOST for w in sent.weights) or not any(sent.weights):
        check.invalid(f"{path}weights", f"must be 0 or from {_LEAST:g} to {_MOST:g}, not all 0")
    return tuple(sent.weights)


def _filters(sent: retrieval_pb2.SearchFilters, check: Check) -> Filters:
    path = "input.filters."
    names = check.identifiers(f"{path}relation_names", sent.relation_names, _NAMES, check.limits.name)
    types = check.identifiers(f"{path}entity_types", sent.entity_types, _NAMES, check.limits.name)

    return Filters(
        entity_types=frozenset(types),
        relations=frozenset(names),
        valid=_optional_span(sent, path, "valid_at", check),
        invalid=_optional_span(sent, path, "invalid_at", check),
        created=_optional_span(sent, path, "created_at", check),
        expired=_optional_span(sent, path, "expired_at", check),
        true_at_ms=_optional_time(sent, path, "valid_as_of", check),
        known_at_ms=_optional_time(sent, path, "known_as_of", check),
    )


def _optional_span(sent: Message, path: str, field: str, check: Check) -> Span | None:
    return _span(getattr(sent, field), f"{path}{field}.", check) if sent.HasField(field) else None


def _span(sent: retrieval_pb2.TimeSpan, path: str, check: Check) -> Span:
    span = Span(_optional_time(sent, path, "since", check), _optional_time(sent, path, "until", check))
    if span.since_ms is None and span.until_ms is None:
        check.invalid(path.rstrip("."), "needs since or until")
    elif None not in (span.since_ms, span.until_ms) and span.since_ms >= span.until_ms:  # type: ignore[operator]
        check.invalid(f"{path}until", "must be later than since")
    return span


def _optional_time(sent: Message, path: str, field: str, check: Check) -> int | None:
    return check.time(sent, path, field) if sent.HasField(field) else None


def _optional_float(sent: Message, path: str, field: str, check: Check) -> float | None:
    if not sent.HasField(field):
        return None
    value: float = getattr(sent, field)
    if not math.isfinite(value):
        check.invalid(f"{path}{field}", "must be a finite number")
    return value
