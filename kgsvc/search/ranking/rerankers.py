"""Rerankers: from what the methods found to scores (docs/search.md)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from kgsvc.search.index.topk import Key
from kgsvc.search.plans import Reason, Reranker, ScopePlan
from kgsvc.search.ranking.pool import ScopeCandidates, ScopeQuery, Scores

Floats = NDArray[np.float64]


def in_force(plan: ScopePlan, has_vector: bool) -> tuple[Reranker, Reason | None]:
    """The reranker that makes the order, and why it is not the plan's own.

    MMR compares embeddings, and goes by ranks where there is none. CROSS_ENCODER begins with the order by
    ranks, the first of which a model rates (kgsvc.search.ranking.cross_encoding).
    """
    if plan.reranker is Reranker.CROSS_ENCODER:
        return Reranker.RRF, None
    if plan.reranker is Reranker.MMR and not has_vector:
        return Reranker.RRF, Reason.NO_EMBEDDING
    return plan.reranker, None


def _reciprocal_rank_fusion(found: ScopeCandidates, _asked: ScopeQuery) -> Scores:
    """Σ 1 / (60 + rank) over the methods, ranks from 1."""
    return found.reciprocal_ranks()


def _maximal_marginal_relevance(found: ScopeCandidates, asked: ScopeQuery) -> Scores:
    """λ · cosine to the query - (1 - λ) · largest cosine to what was taken before, of the first `asked.top`.

    What has no vector is like nothing. Of equals the one that ranks higher is taken.
    """
    if asked.vector is None or not found.candidates():
        return {}
    ranks = found.reciprocal_ranks()
    keys = sorted(found.candidates(), key=lambda key: (-round(ranks[key], 12), key))
    none = np.zeros(len(asked.vector))
    rows = np.array([found.vectors.get(key, none) for key in keys], np.float64)
    share = asked.plan.mmr_lambda
    relevance = share * _cosines(rows, asked.vector.astype(np.float64))
    alike = np.zeros(len(keys))
    taken: Scores = {}
    left = np.ones(len(keys), np.bool_)
    while len(taken) < min(asked.top, len(keys)):
        worth = np.where(left, np.round(relevance - (1 - share) * alike, 9), -np.inf)
        best = int(worth.argmax())
        cosines = _cosines(rows, rows[best])
        alike = np.maximum(alike, cosines) if taken else cosines
        taken[keys[best]] = float(worth[best])
        left[best] = False
    return taken


def _cosines(rows: Floats, one: Floats) -> Floats:
    """Row by row: a product by BLAS would depend in its last bits on where a row lies."""
    products: Floats = (rows * one).sum(axis=1)
    return products


def _node_distance(found: ScopeCandidates, _asked: ScopeQuery) -> Scores:
    """1 / (1 + hops from the center), 0 for what is not within five."""
    return {
        key: 1.0 / (1 + found.distances[key]) if key in found.distances else 0.0 for key in found.candidates()
    }


def _episode_mentions(found: ScopeCandidates, _asked: ScopeQuery) -> Scores:
    """How many episodes state a fact or name an entity."""
    return {key: float(found.mentions.get(key, 0)) for key in found.candidates()}


def _weighted_sum(found: ScopeCandidates, asked: ScopeQuery) -> Scores:
    """Σ weight · score / best score over the methods."""
    sums: Scores = {}
    for method, ranked in found.lists.items():
        weight = asked.plan.weight(method)
        for low, key in ranked:
            sums[key] = sums.get(key, 0.0) + weight * (low / ranked[0][0])
    return {key: round(score, 12) for key, score in sums.items()}


def _evidence(found: ScopeCandidates, _asked: ScopeQuery) -> Scores:
    """What kgsvc.search.ranking.evidence_search computed already: it takes all of the groups."""
    return found.evidence


RERANKERS: Mapping[Reranker, Callable[[ScopeCandidates, ScopeQuery], Scores]] = {
    Reranker.RRF: _reciprocal_rank_fusion,
    Reranker.MMR: _maximal_marginal_relevance,
    Reranker.NODE_DISTANCE: _node_distance,
    Reranker.EPISODE_MENTIONS: _episode_mentions,
    Reranker.WEIGHTED_SUM: _weighted_sum,
    Reranker.EVIDENCE: _evidence,
}


def near_center(scores: Mapping[Key, float], distances: Mapping[Key, int], weight: float) -> dict[Key, float]:
    """Distance rerank: (1 - w) · score / best score + w / (1 + d), the second term only where d is known.

    Rounded to twelve digits, so that what is equal on paper is a tie.
    """
    top = max(scores.values(), default=1.0) or 1.0
    nearness = {hops: weight / (1 + hops) for hops in set(distances.values())}
    return {
        key: round((1 - weight) * score / top + (nearness[distances[key]] if key in distances else 0.0), 12)
        for key, score in scores.items()
    }


# By nearness to the center (docs/search.md).
_LIFTED = frozenset({Reranker.RRF, Reranker.WEIGHTED_SUM, Reranker.EVIDENCE})


def ranked(
    found: ScopeCandidates, asked: ScopeQuery, reranker: Reranker, weight: float
) -> list[tuple[Key, float]]:
    """All candidates, best first; ties by the reciprocal ranks, then by uuid. By MMR as they were taken.

    Scores are rounded to twelve digits, so that what is equal on paper is a tie; `weight` is the share of
    nearness to the center.
    """
    scores = RERANKERS[reranker](found, asked)
    if reranker is Reranker.MMR:
        return list(scores.items())
    if asked.center is not None and reranker in _LIFTED:
        scores = near_center(scores, found.distances, weight)
    if reranker is Reranker.RRF:
        order = sorted([(-round(score, 12), key) for key, score in scores.items()])
        return [(key, -low) for low, key in order]
    if len(set(scores.values())) == len(scores):
        return sorted(scores.items(), key=lambda entry: -entry[1])
    ranks = found.reciprocal_ranks()
    tied = [(-score, -round(ranks.get(key, 0.0), 12), key) for key, score in scores.items()]
    return [(key, -low) for low, _, key in sorted(tied)]
