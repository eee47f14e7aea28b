"""What a plan needs of groups, whether stores can tell it, and what it finds in all groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kgsvc.search.filters import NONE, Filters
from kgsvc.search.index.group import WHOLE, LazyPart, SearchedGroup
from kgsvc.search.plans import Method, Reranker, Scope, ScopePlan
from kgsvc.search.ranking.evidence_search import find_evidence
from kgsvc.search.ranking.facts import NOWHERE, find_facts, walk
from kgsvc.search.ranking.pool import ScopeCandidates, ScopeQuery, united
from kgsvc.search.ranking.stored import found_in_store
from kgsvc.search.ranking.texts import find_texts, origins_found
from kgsvc.stores.search_protocol import FactCandidates

# What a store that has found facts leaves to do: the others compare vectors, walk or count.
_FUSING = frozenset({Reranker.RRF, Reranker.WEIGHTED_SUM, Reranker.EVIDENCE, Reranker.CROSS_ENCODER})


def find(
    groups: Sequence[SearchedGroup], stored: Sequence[FactCandidates], asked: ScopeQuery
) -> ScopeCandidates:
    """The candidates of all groups together."""
    if asked.plan.reranker is Reranker.EVIDENCE:
        return find_evidence(groups, asked)
    one = _facts if asked.plan.scope is Scope.FACTS else _texts
    parts = [one(group, asked) for group in groups]
    parts += [found_in_store(each, asked.within(each.head.group_id, each.head.space)) for each in stored]
    return united(parts, asked.candidates)


def told_by_stores(asked: ScopeQuery) -> bool:
    """Whether stores can find this: facts that hold now, by words and by vector. All else is loaded first."""
    plan, filters = asked.plan, replace(asked.filters, holding_now=False)
    fused = plan.reranker in _FUSING and Method.BFS not in plan.methods
    return plan.scope is Scope.FACTS and fused and filters == NONE and asked.center is None


def needed(plan: ScopePlan, filters: Filters, centered: bool) -> tuple[LazyPart, ...]:
    """The parts of a group that a plan looks at."""
    if plan.reranker is Reranker.EVIDENCE:
        return WHOLE
    if plan.scope is Scope.FACTS:
        return WHOLE if filters.entity_types else (LazyPart.FACTS,)
    return WHOLE if centered or Method.BFS in plan.methods else (LazyPart.TEXTS,)


def by_words_of_facts(plan: ScopePlan) -> bool:
    """Whether facts are found by words, of which evidence asks by itself."""
    return (
        plan.scope is Scope.FACTS and Method.BM25 in plan.methods and plan.reranker is not Reranker.EVIDENCE
    )


def _facts(group: SearchedGroup, asked: ScopeQuery) -> ScopeCandidates:
    asked, types = asked.within(group.group_id, group.space), asked.filters.entity_types
    if types:
        asked = replace(asked, typed=group.texts.nodes.of_types(types))
    return find_facts(group.facts, asked)


def _texts(group: SearchedGroup, asked: ScopeQuery) -> ScopeCandidates:
    asked = asked.in_space(group.space)
    walked, origins = NOWHERE, asked.named_origins
    if Method.BFS in asked.plan.methods and not origins:
        origins = tuple(origins_found(group.texts, asked))
    if origins:
        walked = walk(group.facts, asked, origins)
    return find_texts(group.texts, asked, walked)
