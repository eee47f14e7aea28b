"""What a search is asked, and what it finds."""

from __future__ import annotations

from dataclasses import dataclass

from kgsvc.domain.model.communities import Community
from kgsvc.domain.model.graph import Fact
from kgsvc.search.filters import NONE, Filters
from kgsvc.search.index.episodes import FoundEpisode
from kgsvc.search.index.nodes import FoundEntity
from kgsvc.search.plans import Method, Reason, Reranker, Scope, ScopePlan

Item = Fact | FoundEntity | FoundEpisode | Community


@dataclass(frozen=True, slots=True)
class GraphQuery:
    """A search of one or several groups."""

    group_ids: tuple[str, ...]
    text: str
    plans: tuple[ScopePlan, ...]
    max_results: int  # of each scope
    filters: Filters = NONE
    center: str | None = None
    origins: tuple[str, ...] = ()
    min_score: float | None = None
    ends_s: float | None = None  # by the monotonic clock, when its caller stops waiting; None: never
    max_bytes: int = 4 * 1024 * 1024  # of the episodes of an answer


@dataclass(frozen=True, slots=True)
class FoundBy:
    """A method that found a result: its rank there, from 1, and its score."""

    method: Method
    rank: int
    score: float


@dataclass(frozen=True, slots=True)
class GraphHit:
    """A result; its score is comparable within its scope and answer only."""

    item: Item
    score: float
    found_by: tuple[FoundBy, ...]


@dataclass(frozen=True, slots=True)
class ScopeAnswer:
    """The results of one scope, best first, and what was done in fact."""

    scope: Scope
    methods: tuple[Method, ...]
    reranker: Reranker
    hits: tuple[GraphHit, ...]
    reason: Reason | None = None  # why it was not the reranker that was asked for
    from_store: bool = False  # whether some groups were not in memory: their stores' indexes found candidates


@dataclass(frozen=True, slots=True)
class Hit:
    """A fact that SearchFacts found and its score, comparable within one answer only.

    The fact carries what is shown of it: `slot`, `fact_key`, `evidence` and `closures` are empty.
    """

    fact: Fact
    score: float
