"""What a ranking must be, worked out from its definition (docs/search.md) beside the service.

Ranks by keyword come from a server without an embedder, cosines from the scripted vectors; how both become
one order is computed here.
"""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence

from kgsvc.v1 import types_pb2 as typ
from tests.acceptance.saying import vector

RRF_K = 60
HOPS = 3
WEIGHT = 0.3  # w: share of nearness to the center
Ranking = list[tuple[str, float]]  # uuid and score, best first


def shown(facts: Iterable[typ.FactResult]) -> Ranking:
    """A service's answer, scores rounded as far as they can be told apart."""
    return [(each.uuid, round(each.score, 12)) for each in facts]


def by_meaning(query: str, facts: Iterable[typ.FactResult]) -> list[str]:
    """Uuids by cosine to the query, ties by uuid; what has nothing in common with it is left out."""
    cosines = {each.uuid: round(float(vector(query) @ vector(each.fact)), 6) for each in facts}
    return sorted((uuid for uuid, cosine in cosines.items() if cosine > 0), key=lambda u: (-cosines[u], u))


def fused(*rankings: Sequence[str]) -> dict[str, float]:
    """Reciprocal rank fusion with k = 60."""
    scores: dict[str, float] = {}
    for ranking in rankings:
        for rank, uuid in enumerate(ranking, 1):
            scores[uuid] = scores.get(uuid, 0.0) + 1 / (RRF_K + rank)
    return scores


def near(scores: Mapping[str, float], facts: Iterable[typ.FactResult], center: str) -> dict[str, float]:
    """`scores` reranked by distance: (1 - w) · score / best + w / (1 + hops to the nearer end)."""
    top = max(scores.values())
    edges = [(each.uuid, each.source_node_uuid, each.target_node_uuid) for each in facts]
    hops = _hops([(source, target) for _, source, target in edges], center)
    ends = {uuid: min(hops.get(source, 9), hops.get(target, 9)) for uuid, source, target in edges}
    return {
        uuid: (1 - WEIGHT) * score / top + (WEIGHT / (1 + ends[uuid]) if ends[uuid] <= HOPS else 0.0)
        for uuid, score in scores.items()
    }


def ordered(scores: Mapping[str, float]) -> Ranking:
    """Best first, ties by uuid."""
    rounded = {uuid: round(score, 12) for uuid, score in scores.items()}
    return sorted(rounded.items(), key=lambda entry: (-entry[1], entry[0]))


def _hops(edges: Sequence[tuple[str, str]], center: str) -> dict[str, int]:
    """Steps from the center over facts, whichever way they point."""
    reached, waiting = {center: 0}, deque([center])
    while waiting:
        node = waiting.popleft()
        beside = [b if a == node else a for a, b in edges if node in {a, b}]
        for other in beside:
            if other not in reached:
                reached[other] = reached[node] + 1
                waiting.append(other)
    return reached
