"""SearchGraph in short words, and what its rankings must be, worked out from their definitions."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from kgsvc.v1 import retrieval_pb2 as ret
from tests.acceptance.saying import vector
from tests.support.client import Client

BM25, COSINE, BFS = ret.SEARCH_METHOD_BM25, ret.SEARCH_METHOD_COSINE, ret.SEARCH_METHOD_BFS
Method: TypeAlias = "ret.SearchMethod.ValueType"
Ranking = list[tuple[str, float]]  # uuid and score, best first
Hit = ret.FactHit | ret.NodeHit | ret.EpisodeHit


async def graph(
    client: Client, groups: str | Sequence[str], query: str, **wanted: Any
) -> ret.SearchGraphOutput:
    """SearchGraph."""
    group_ids = [groups] if isinstance(groups, str) else groups
    asked = {"group_ids": group_ids, "query": query, "max_results": 100, **wanted}
    output: ret.SearchGraphOutput = await client.ask("SearchGraph", **asked)
    return output


def facts_by(*methods: Method, **how: Any) -> list[ret.ScopeSearch]:
    """Facts, searched so."""
    return [ret.ScopeSearch(scope=ret.SEARCH_SCOPE_FACTS, methods=methods, **how)]


def texts(output: ret.SearchGraphOutput) -> list[str]:
    """The facts in their order."""
    return [hit.fact.fact for hit in output.facts]


def _uuid(hit: Hit) -> str:
    if isinstance(hit, ret.FactHit):
        return hit.fact.uuid
    return hit.node.uuid if isinstance(hit, ret.NodeHit) else hit.episode.uuid


def shown(hits: Iterable[Hit]) -> Ranking:
    """Uuids with their scores, rounded as far as they can be told apart."""
    return [(_uuid(hit), round(hit.score, 9)) for hit in hits]


def by_method(hits: Iterable[Hit]) -> dict[Method, dict[str, tuple[int, float]]]:
    """Rank and score of each result by each method that found it."""
    found: dict[Method, dict[str, tuple[int, float]]] = {}
    for hit in hits:
        for each in hit.found_by:
            found.setdefault(each.method, {})[_uuid(hit)] = (each.rank, each.score)
    return found


def reciprocal(found: Mapping[Method, Mapping[str, tuple[int, float]]]) -> dict[str, float]:
    """Σ 1 / (60 + rank)."""
    uuids = {uuid for ranks in found.values() for uuid in ranks}
    return {u: sum(1 / (60 + ranks[u][0]) for ranks in found.values() if u in ranks) for u in uuids}


def ordered(scores: Mapping[str, float], ranks: Mapping[str, float]) -> Ranking:
    """Best first, ties by reciprocal ranks, then by uuid."""
    rounded = {uuid: round(score, 9) for uuid, score in scores.items()}
    order = sorted(rounded, key=lambda u: (-rounded[u], -round(ranks[u], 12), u))
    return [(uuid, rounded[uuid]) for uuid in order]


def weighted(
    found: Mapping[Method, Mapping[str, tuple[int, float]]], weights: Mapping[Method, float]
) -> dict[str, float]:
    """Σ weight · score / best score."""
    sums: dict[str, float] = {}
    for method, entries in found.items():
        top = max(score for _, score in entries.values())
        for uuid, (_, score) in entries.items():
            sums[uuid] = sums.get(uuid, 0.0) + weights[method] * score / top
    return sums


def diverse(query: str, said: Mapping[str, str], ranks: Mapping[str, float], share: float) -> Ranking:
    """Maximal marginal relevance over texts by uuid."""
    left = sorted(said, key=lambda u: (-round(ranks[u], 12), u))
    vectors = {uuid: vector(text).astype(np.float32).astype(float) for uuid, text in said.items()}
    asked = vector(query).astype(np.float32).astype(float)
    taken: Ranking = []
    while left:

        def worth(uuid: str) -> float:
            alike = max((float(vectors[uuid] @ vectors[other]) for other, _ in taken), default=0.0)
            return round(share * float(vectors[uuid] @ asked) - (1 - share) * alike, 6)

        best = max(left, key=worth)
        taken.append((best, worth(best)))
        left.remove(best)
    return taken
