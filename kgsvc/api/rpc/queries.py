"""What a search asks for: plans, filters and bounds of SearchFacts, GetMemory, SearchGraph and Ask."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

from google.protobuf.message import Message

from kgsvc.api import mapping
from kgsvc.api.checks import RequestCheck
from kgsvc.search import plans
from kgsvc.search.filters import NONE, Filters, Span
from kgsvc.search.plans import (
    MAX_DEPTH,
    RECIPES,
    Method,
    Recipe,
    Reranker,
    Scope,
    ScopePlan,
    default_plan,
)
from kgsvc.search.results import GraphQuery
from kgsvc.v1 import retrieval_pb2

_pb = retrieval_pb2
Asking: TypeAlias = retrieval_pb2.SearchGraphInput | retrieval_pb2.AskInput
_SCOPES = mapping.enum_table(_pb.SearchScope, "SEARCH_SCOPE_", Scope)
_METHODS = mapping.enum_table(_pb.SearchMethod, "SEARCH_METHOD_", Method)
_RERANKERS = mapping.enum_table(_pb.Reranker, "RERANKER_", Reranker)
_RECIPES = mapping.enum_table(_pb.SearchRecipe, "SEARCH_RECIPE_", Recipe)
_SCOPE_ENTRIES = len(Scope)
_ORIGINS = 64
_NAMES = 256  # in one filter
_LEAST, _MOST = 1e-6, 1e6  # weights; scores are rounded to twelve digits


def read_fact_bounds(
    sent: retrieval_pb2.SearchFactsInput | retrieval_pb2.GetMemoryInput, check: RequestCheck
) -> tuple[int, str | None]:
    """How many facts are wanted, and the entity that they should be near to."""
    limits = check.limits
    max_facts = check.optional_number(
        sent, "input.", "max_facts", limits.max_facts_default, limits.max_facts_bound
    )
    return max_facts, check.optional_uuid(sent, "center_node_uuid")


def read_query(sent: retrieval_pb2.SearchGraphInput, check: RequestCheck) -> GraphQuery:
    """The search of SearchGraph."""
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
        min_score=_min_score(sent, check),
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
        holding_now=sent.holding_now,
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


def _min_score(sent: retrieval_pb2.SearchGraphInput, check: RequestCheck) -> float | None:
    if not sent.HasField("min_score"):
        return None
    if not math.isfinite(sent.min_score):
        check.invalid("input.min_score", "must be a finite number")
    return sent.min_score


def read_context_tokens(sent: retrieval_pb2.SearchGraphInput, check: RequestCheck) -> int | None:
    """The size of the context; None: none is wanted."""
    default, most = check.limits.context_tokens_default, check.limits.context_tokens_bound
    tokens = check.optional_number(sent, "input.", "context_tokens", default, most)
    if sent.HasField("context_tokens") and not sent.include_context:
        check.invalid("input.context_tokens", "is allowed with include_context only")
    return tokens if sent.include_context else None
