"""Facts by every method, in one group (design §6)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from kgsvc.retrieval.fact_columns import Mask
from kgsvc.retrieval.fusion import Key
from kgsvc.retrieval.group_index import GroupIndex
from kgsvc.retrieval.plans import Method, Reranker
from kgsvc.retrieval.pool import Asked, Found
from kgsvc.retrieval.topk import Ranked


def find_facts(index: GroupIndex, asked: Asked) -> Found:
    """The candidates of one group."""
    columns, rows = index.columns, index.rows
    seen = columns.fulfilling(rows, asked.filters, asked.now_ms)
    walkable = seen
    if asked.filters.relations:  # what is found is filtered by relation, not the way there
        walkable = columns.fulfilling(rows, replace(asked.filters, relations=frozenset()), asked.now_ms)
    lists: dict[Method, list[Ranked]] = {}
    if Method.BM25 in asked.plan.methods:
        lists[Method.BM25] = index.by_keyword(asked.terms, seen, asked.candidates)
    if Method.COSINE in asked.plan.methods and asked.vector is not None:
        lists[Method.COSINE] = index.by_vector(asked.vector, seen, asked.candidates, asked.min_cosine)
    if Method.BFS in asked.plan.methods:
        lists[Method.BFS] = _walk(index, asked, seen, walkable, _origins(index, asked, lists))
    return _found(index, asked, walkable, lists)


def _origins(index: GroupIndex, asked: Asked, lists: dict[Method, list[Ranked]]) -> list[int]:
    """Where BFS begins: where it was said, else at the center, else at the sources of what was found."""
    columns = index.columns
    named = asked.origins or ((asked.center,) if asked.center is not None else ())
    if named:
        numbers = (columns.node(uuid) for uuid in named)
        return [number for number in numbers if number is not None]
    rows = [row for found in lists.values() for _, _, row in found[: asked.top]]
    sources, _ = columns.ends(index.rows)
    return sorted(set(sources[rows].tolist()))


def _walk(index: GroupIndex, asked: Asked, seen: Mask, walkable: Mask, origins: list[int]) -> list[Ranked]:
    if not origins:
        return []
    reached = index.walked(origins, walkable, asked.plan.depth - 1)
    sources, targets = index.columns.ends(index.rows)
    before = np.minimum(reached[sources], reached[targets])  # steps to its nearer end; one more to itself
    rows = np.flatnonzero(seen & (before < asked.plan.depth))
    return index.best(rows, np.round(1.0 / (2.0 + before[rows]), 9), asked.candidates)


def _found(index: GroupIndex, asked: Asked, walkable: Mask, lists: dict[Method, list[Ranked]]) -> Found:
    rows = list(dict.fromkeys(row for found in lists.values() for _, _, row in found))
    keys = _keys(index, lists)
    found = Found(
        {method: index.rank_list(ranked) for method, ranked in lists.items()},
        dict(zip(keys, index.packed(rows), strict=True)),
    )
    if not rows:
        return found
    center = index.columns.node(asked.center)
    if center is not None:
        far = index.nearest_end(index.walked([center], walkable, asked.reach), rows)
        found.distances.update((k, d) for k, d in zip(keys, far, strict=True) if d <= asked.reach)
    if asked.plan.reranker is Reranker.EPISODE_MENTIONS:
        found.mentions.update(zip(keys, index.columns.episodes(rows), strict=True))
    if asked.plan.reranker is Reranker.MMR:
        found.vectors.update(_vectors(index, rows, keys))
    return found


def _keys(index: GroupIndex, lists: dict[Method, list[Ranked]]) -> list[Key]:
    return list(dict.fromkeys((uuid, index.group_id) for found in lists.values() for _, uuid, _ in found))


def _vectors(index: GroupIndex, rows: list[int], keys: list[Key]) -> dict[Key, NDArray[np.float32]]:
    vectors = index.vectors(rows)
    return {} if vectors is None else dict(zip(keys, vectors, strict=True))
