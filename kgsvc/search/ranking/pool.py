"""What the methods of one scope found: of one group, and of all groups together."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from kgsvc.search.filters import Filters
from kgsvc.search.index.text_index import TextIndex
from kgsvc.search.index.topk import Key, Ranked, RankList
from kgsvc.search.plans import Method, Reranker, ScopePlan
from kgsvc.search.query import Term, with_names
from kgsvc.search.spaces import Meaning

V = TypeVar("V")
Scores = dict[Key, float]
LIFT_HOPS = 3  # as SearchFacts
DISTANCE_HOPS = 5  # what is farther from the center has no distance
RRF_K = 60


@dataclass(frozen=True, slots=True)
class ScopeQuery:
    """What is asked of one scope of a group."""

    plan: ScopePlan
    terms: tuple[Term, ...]
    vector: NDArray[np.float32] | None  # unit length; None: no embedder answered
    min_cosine: float
    filters: Filters
    now_ms: int
    candidates: int  # length of each list
    top: int  # results wanted: as many of each list are where BFS begins when nobody says where
    center: str | None = None
    origins: tuple[str, ...] = ()
    question: str = ""  # what `terms` and `vector` were made of
    typed: frozenset[str] | None = None  # entities of the types that are asked for; None: whichever
    meant: Mapping[str, Sequence[str]] = field(default_factory=dict)  # names called by an alias, by group
    # What `vector` and `min_cosine` are in the spaces of the groups that are searched; None: the same in all.
    meanings: Mapping[str, Meaning] | None = None

    def within(self, group_id: str, space: str) -> ScopeQuery:
        """The same in one group: with the terms of the names that are meant there, and in its space."""
        names, asked = self.meant.get(group_id), self.in_space(space)
        return replace(asked, terms=with_names(self.terms, names)) if names else asked

    def in_space(self, space: str) -> ScopeQuery:
        """The same with the query's vector in a space: none if it was not embedded there."""
        if self.meanings is None:
            return self
        found = self.meanings.get(space)
        if found is None:
            return replace(self, vector=None)
        if found.vector is self.vector and found.min_cosine == self.min_cosine:
            return self
        return replace(self, vector=found.vector, min_cosine=found.min_cosine)

    @property
    def named_origins(self) -> tuple[str, ...]:
        """Where BFS begins if that was said: else it begins at what the other methods found."""
        return self.origins or (() if self.center is None else (self.center,))

    @property
    def reach(self) -> int:
        """How many hops from the center count."""
        return DISTANCE_HOPS if self.plan.reranker is Reranker.NODE_DISTANCE else LIFT_HOPS


@dataclass(frozen=True, slots=True)
class ScopeCandidates:
    """Candidates of one group, or of several: a sorted list for each method, and what rerankers need."""

    lists: dict[Method, RankList] = field(default_factory=dict)
    packed: dict[Key, bytes | memoryview] = field(
        default_factory=dict
    )  # display fields of all that is in the lists
    distances: dict[Key, int] = field(default_factory=dict)  # hops from the center, where near enough
    mentions: dict[Key, int] = field(default_factory=dict)  # episodes, where they are asked for
    vectors: dict[Key, NDArray[np.float32]] = field(default_factory=dict)  # where they are asked for
    evidence: Scores = field(default_factory=dict)  # where it is asked for; may name what no list holds

    def candidates(self) -> Collection[Key]:
        """Each candidate once."""
        return dict.fromkeys(key for found in self.lists.values() for _, key in found)

    def reciprocal_ranks(self) -> Scores:
        """Fused by rank: Σ 1 / (60 + rank) over the lists that hold a key, ranks from 1."""
        scores: Scores = {}
        for found in self.lists.values():
            for (_, key), gain in zip(found, _gains(len(found)), strict=True):
                scores[key] = scores.get(key, 0.0) + gain
        return scores


@cache
def _gains(ranks: int) -> tuple[float, ...]:
    return tuple(1.0 / (RRF_K + rank) for rank in range(1, ranks + 1))


def assembled(
    index: TextIndex, asked: ScopeQuery, lists: dict[Method, list[Ranked]]
) -> tuple[ScopeCandidates, list[int]]:
    """Candidates of one index with what every scope has, and the rows that they are.

    Evidence brings the display fields of those few that it chooses.
    """
    rows = list(dict.fromkeys(row for ranked in lists.values() for _, _, row in ranked))
    found = ScopeCandidates({method: index.rank_list(ranked) for method, ranked in lists.items()})
    keys = found.candidates()
    if asked.plan.reranker is not Reranker.EVIDENCE:
        found.packed.update(zip(keys, index.packed(rows), strict=True))
    vectors = index.vectors(rows) if asked.plan.reranker is Reranker.MMR else None
    if vectors is not None:
        found.vectors.update(zip(keys, vectors, strict=True))
    return found, rows


def united(parts: Iterable[ScopeCandidates], count: int) -> ScopeCandidates:
    """Groups in one: lists by score, since each group's scores come from its own statistics."""
    parts = list(parts)
    if len(parts) == 1:
        return parts[0]
    methods = dict.fromkeys(method for part in parts for method in part.lists)
    return ScopeCandidates(
        {m: _merged([part.lists.get(m, []) for part in parts], count) for m in methods},
        _joined(part.packed for part in parts),
        _joined(part.distances for part in parts),
        _joined(part.mentions for part in parts),
        _joined(part.vectors for part in parts),
        _joined(part.evidence for part in parts),
    )


def _merged(lists: Iterable[RankList], count: int) -> RankList:
    return sorted(entry for found in lists for entry in found)[:count]


def _joined(maps: Iterable[Mapping[Key, V]]) -> dict[Key, V]:
    return {key: value for each in maps for key, value in each.items()}
