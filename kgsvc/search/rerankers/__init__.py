"""One file a reranker: from what the methods found to scores (spec 002, design §6)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kgsvc.search.plans import Reason, Reranker, ScopePlan
from kgsvc.search.pool import Asked, Found, Scores
from kgsvc.search.rerankers import episode_mentions, evidence, mmr, node_distance, rrf, weighted_sum

__all__ = ["RERANKERS", "in_force"]

RERANKERS: Mapping[Reranker, Callable[[Found, Asked], Scores]] = {
    Reranker.RRF: rrf.scores,
    Reranker.MMR: mmr.scores,
    Reranker.NODE_DISTANCE: node_distance.scores,
    Reranker.EPISODE_MENTIONS: episode_mentions.scores,
    Reranker.WEIGHTED_SUM: weighted_sum.scores,
    Reranker.EVIDENCE: evidence.scores,
}


def in_force(plan: ScopePlan, has_vector: bool) -> tuple[Reranker, Reason | None]:
    """The reranker that makes the order, and why it is not the plan's own.

    MMR compares embeddings, and goes by ranks where there is none. CROSS_ENCODER begins with the order by
    ranks, the first of which a model rates (kgsvc.search.cross_encoding).
    """
    if plan.reranker is Reranker.CROSS_ENCODER:
        return Reranker.RRF, None
    if plan.reranker is Reranker.MMR and not has_vector:
        return Reranker.RRF, Reason.NO_EMBEDDING
    return plan.reranker, None
