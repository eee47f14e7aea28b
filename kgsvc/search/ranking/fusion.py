"""From rank lists to one order (spec 004 §10, design §6)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache

RRF_K = 60

Key = tuple[str, str]  # uuid, group_id: a uuid is unique within its group, and ties go by it first


RankList = list[tuple[float, Key]]  # minus the score, key: sorts best first


def reciprocal_ranks(rankings: Iterable[Sequence[Key]]) -> dict[Key, float]:
    """Reciprocal rank fusion: Σ 1 / (60 + rank) over the lists that hold a key, ranks from 1."""
    scores: dict[Key, float] = {}
    for ranking in rankings:
        for key, gain in zip(ranking, _gains(len(ranking)), strict=True):
            scores[key] = scores.get(key, 0.0) + gain
    return scores


@cache
def _gains(ranks: int) -> tuple[float, ...]:
    return tuple(1.0 / (RRF_K + rank) for rank in range(1, ranks + 1))


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
