"""Facts by every method, in one group, and distances over them (docs/search.md)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kgsvc.search.index.fact_columns import Mask
from kgsvc.search.index.facts import GroupIndex
from kgsvc.search.index.topk import Ranked
from kgsvc.search.plans import Method, Reranker
from kgsvc.search.ranking.pool import ScopeCandidates, ScopeQuery, assembled


@dataclass(frozen=True, slots=True)
class Walk:
    """Entities by their steps over facts: from the origins of BFS, and from the center."""

    reached: dict[str, int]
    from_center: dict[str, int]


NOWHERE = Walk({}, {})


def find_facts(index: GroupIndex, asked: ScopeQuery) -> ScopeCandidates:
    """The candidates of one group."""
    found, rows = assembled(index, asked, fact_lists(index, asked, seen_facts(index, asked)))
    keys = list(found.packed)
    found.distances.update({keys[place]: hops for place, hops in measured(index, asked, rows)})
    if asked.plan.reranker is Reranker.EPISODE_MENTIONS:
        found.mentions.update(zip(found.candidates(), index.columns.episodes(rows), strict=True))
    return found


def fact_lists(index: GroupIndex, asked: ScopeQuery, seen: Mask) -> dict[Method, list[Ranked]]:
    """What each method finds of the facts that fulfil the filters."""
    lists: dict[Method, list[Ranked]] = {}
    if Method.BM25 in asked.plan.methods:
        lists[Method.BM25] = index.by_keyword(asked.terms, seen, asked.candidates)
    if Method.COSINE in asked.plan.methods and asked.vector is not None:
        lists[Method.COSINE] = index.by_vector(asked.vector, seen, asked.candidates, asked.min_cosine)
    if Method.BFS in asked.plan.methods:
        lists[Method.BFS] = _reached_facts(index, asked, seen, _origins(index, asked, lists))
    return lists


def seen_facts(index: GroupIndex, asked: ScopeQuery) -> Mask:
    """Which facts fulfil the filters; not to be changed."""
    seen = index.columns.fulfilling(index.rows, asked.filters, asked.now_ms)
    return seen if asked.typed is None else seen & index.columns.touching(index.rows, asked.typed)


def measured(index: GroupIndex, asked: ScopeQuery, rows: Sequence[int]) -> list[tuple[int, int]]:
    """Facts that are near enough to the center, by their places in `rows`, and how far they are."""
    center = index.columns.node(asked.center)
    if center is None or not rows:
        return []
    far = index.nearest_end(index.walked([center], _walkable(index, asked), asked.reach), rows)
    return [(place, hops) for place, hops in enumerate(far) if hops <= asked.reach]


def walk(index: GroupIndex, asked: ScopeQuery, origins: Collection[str]) -> Walk:
    """Entities within the steps of BFS, and within those that count from the center; these too."""
    center = () if asked.center is None else (asked.center,)
    return Walk(
        _reached(index, asked, origins, asked.plan.depth), _reached(index, asked, center, asked.reach)
    )


def _reached(index: GroupIndex, asked: ScopeQuery, origins: Collection[str], most: int) -> dict[str, int]:
    columns = index.columns
    reached = dict.fromkeys(origins, 0)  # one may have no facts
    numbers = [number for uuid in origins if (number := columns.node(uuid)) is not None]
    if numbers:
        hops = index.walked(numbers, _walkable(index, asked), most)
        near: NDArray[np.intp] = np.flatnonzero(hops <= most)
        reached |= {columns.uuid(n): h for n, h in zip(near.tolist(), hops[near].tolist(), strict=True)}
    return reached


def _walkable(index: GroupIndex, asked: ScopeQuery) -> Mask:
    """Facts that lead on: what is found is filtered, the way there held to as-of times alone."""
    filters = asked.filters.as_of
    return index.columns.fulfilling(index.rows, filters, asked.now_ms)


def _origins(index: GroupIndex, asked: ScopeQuery, lists: dict[Method, list[Ranked]]) -> list[int]:
    """Where BFS begins: where it was said, else at the sources of what was found."""
    columns = index.columns
    if asked.named_origins:
        numbers = (columns.node(uuid) for uuid in asked.named_origins)
        return [number for number in numbers if number is not None]
    rows = [row for found in lists.values() for _, _, row in found[: asked.top]]
    sources, _ = columns.ends(index.rows)
    return sorted(set(sources[rows].tolist()))


def _reached_facts(index: GroupIndex, asked: ScopeQuery, seen: Mask, origins: list[int]) -> list[Ranked]:
    if not origins:
        return []
    reached = index.walked(origins, _walkable(index, asked), asked.plan.depth - 1)
    sources, targets = index.columns.ends(index.rows)
    before = np.minimum(reached[sources], reached[targets])  # steps to its nearer end; one more to itself
    rows = np.flatnonzero(seen & (before < asked.plan.depth))
    return index.best(rows, np.round(1.0 / (2.0 + before[rows]), 9), asked.candidates)
