"""What a plan finds in groups: the one place that knows which look at a group a plan takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kgsvc.search.evidence_search import find_evidence
from kgsvc.search.fact_scope import NOWHERE, find_facts, walk
from kgsvc.search.filters import Filters
from kgsvc.search.group import WHOLE, Group, Part
from kgsvc.search.plans import Method, Reranker, Scope, ScopePlan
from kgsvc.search.pool import Asked, Found, united
from kgsvc.search.text_scopes import find_texts, origins_found


def find(groups: Sequence[Group], asked: Asked) -> Found:
    """The candidates of all groups together."""
    if asked.plan.reranker is Reranker.EVIDENCE:
        return find_evidence(groups, asked)
    one = _facts if asked.plan.scope is Scope.FACTS else _texts
    return united([one(group, asked) for group in groups], asked.candidates)


def needed(plan: ScopePlan, filters: Filters, centered: bool) -> tuple[Part, ...]:
    """The parts of a group that a plan looks at."""
    if plan.reranker is Reranker.EVIDENCE:
        return WHOLE
    if plan.scope is Scope.FACTS:
        return WHOLE if filters.entity_types else (Part.FACTS,)
    return WHOLE if centered or Method.BFS in plan.methods else (Part.TEXTS,)


def _facts(group: Group, asked: Asked) -> Found:
    types = asked.filters.entity_types
    if types:
        asked = replace(asked, typed=group.texts.nodes.of_types(types))
    return find_facts(group.facts, asked)


def _texts(group: Group, asked: Asked) -> Found:
    walked, origins = NOWHERE, asked.named_origins
    if Method.BFS in asked.plan.methods and not origins:
        origins = tuple(origins_found(group.texts, asked))
    if origins:
        walked = walk(group.facts, asked, origins)
    return find_texts(group.texts, asked, walked)
