"""What a search of the graph consists of: scopes, methods, rerankers; named recipes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

MAX_DEPTH = 3
MMR_LAMBDA = 0.5


class Scope(StrEnum):
    """What is searched for."""

    FACTS = "facts"
    NODES = "nodes"
    EPISODES = "episodes"
    COMMUNITIES = "communities"
    CHUNKS = "chunks"


class Method(StrEnum):
    """How candidates are found. BFS comes last: it may begin at what the others found."""

    BM25 = "bm25"
    COSINE = "cosine"
    BFS = "bfs"


class Reranker(StrEnum):
    """How candidates become one order."""

    RRF = "rrf"
    MMR = "mmr"
    NODE_DISTANCE = "node_distance"
    EPISODE_MENTIONS = "episode_mentions"
    WEIGHTED_SUM = "weighted_sum"
    EVIDENCE = "evidence"
    CROSS_ENCODER = "cross_encoder"


class Reason(StrEnum):
    """Why another reranker than the one that was asked for made the order: it was RRF."""

    NO_EMBEDDING = "no_embedding"  # MMR compares embeddings, and the query has none
    NO_MODEL = "no_model"
    TIMEOUT = "timeout"  # the model did not answer in time (kgsvc.search.ranking.cross_encoding)
    MODEL_FAILED = "model_failed"
    ANSWER_REJECTED = "answer_rejected"  # the model declined, or did not give each one score from 0 to 100


@dataclass(frozen=True, slots=True)
class ScopePlan:
    """How one scope is searched."""

    scope: Scope
    methods: tuple[Method, ...]
    reranker: Reranker = Reranker.RRF
    depth: int = MAX_DEPTH  # steps of BFS
    mmr_lambda: float = MMR_LAMBDA  # 1: near the query, 0: unlike each other
    weights: tuple[float, ...] = ()  # of the methods, for WEIGHTED_SUM; none: 1 each

    def weight(self, method: Method) -> float:
        """What a method counts in a weighted sum."""
        return self.weights[self.methods.index(method)] if self.weights else 1.0


_NO_VECTORS = frozenset({Reranker.MMR, Reranker.EPISODE_MENTIONS})
_NO_EVIDENCE = frozenset({Reranker.EVIDENCE})
# Episodes, of which chunks are some, have a vector for each passage and none of the whole, so that MMR cannot
# compare them. COSINE finds chunks alone; EVIDENCE uses the passages of every episode. Communities lie
# nowhere in the graph, and no episode mentions them; nor does one mention another.
METHODS: dict[Scope, frozenset[Method]] = {
    Scope.FACTS: frozenset(Method),
    Scope.NODES: frozenset(Method),
    Scope.EPISODES: frozenset({Method.BM25, Method.BFS}),
    Scope.COMMUNITIES: frozenset({Method.BM25, Method.COSINE}),
    Scope.CHUNKS: frozenset(Method),
}
RERANKERS: dict[Scope, frozenset[Reranker]] = {
    Scope.FACTS: frozenset(Reranker),
    Scope.NODES: frozenset(Reranker) - _NO_EVIDENCE,
    Scope.EPISODES: frozenset(Reranker) - _NO_VECTORS,
    Scope.COMMUNITIES: frozenset({Reranker.RRF, Reranker.MMR, Reranker.WEIGHTED_SUM, Reranker.CROSS_ENCODER}),
    Scope.CHUNKS: frozenset(Reranker) - _NO_VECTORS,
}


class Recipe(StrEnum):
    """Searches by name; but for the default the names are those that Graphiti's recipes have."""

    DEFAULT = "default"
    EDGE_HYBRID_SEARCH_RRF = "edge_hybrid_search_rrf"
    EDGE_HYBRID_SEARCH_MMR = "edge_hybrid_search_mmr"
    EDGE_HYBRID_SEARCH_NODE_DISTANCE = "edge_hybrid_search_node_distance"
    EDGE_HYBRID_SEARCH_EPISODE_MENTIONS = "edge_hybrid_search_episode_mentions"
    EDGE_HYBRID_SEARCH_CROSS_ENCODER = "edge_hybrid_search_cross_encoder"
    NODE_HYBRID_SEARCH_RRF = "node_hybrid_search_rrf"
    NODE_HYBRID_SEARCH_MMR = "node_hybrid_search_mmr"
    NODE_HYBRID_SEARCH_NODE_DISTANCE = "node_hybrid_search_node_distance"
    NODE_HYBRID_SEARCH_EPISODE_MENTIONS = "node_hybrid_search_episode_mentions"
    NODE_HYBRID_SEARCH_CROSS_ENCODER = "node_hybrid_search_cross_encoder"
    COMMUNITY_HYBRID_SEARCH_RRF = "community_hybrid_search_rrf"
    COMMUNITY_HYBRID_SEARCH_MMR = "community_hybrid_search_mmr"
    COMMUNITY_HYBRID_SEARCH_CROSS_ENCODER = "community_hybrid_search_cross_encoder"
    COMBINED_HYBRID_SEARCH_RRF = "combined_hybrid_search_rrf"
    COMBINED_HYBRID_SEARCH_MMR = "combined_hybrid_search_mmr"
    COMBINED_HYBRID_SEARCH_CROSS_ENCODER = "combined_hybrid_search_cross_encoder"


_HYBRID = (Method.BM25, Method.COSINE)
_WALKING = (*_HYBRID, Method.BFS)


def default_plan(scope: Scope) -> ScopePlan:
    """How a scope is searched when nobody says how: by evidence where there is any."""
    methods = tuple(method for method in _HYBRID if method in METHODS[scope])
    ours = Reranker.EVIDENCE if Reranker.EVIDENCE in RERANKERS[scope] else Reranker.WEIGHTED_SUM
    return ScopePlan(scope, methods, ours)


def _combined(reranker: Reranker) -> tuple[ScopePlan, ...]:
    """All scopes but chunks; episodes, which COSINE does not find, by BM25 and RRF."""
    hybrid = (Scope.FACTS, Scope.NODES, Scope.COMMUNITIES)
    facts, nodes, communities = (ScopePlan(scope, _HYBRID, reranker) for scope in hybrid)
    return facts, nodes, ScopePlan(Scope.EPISODES, (Method.BM25,), Reranker.RRF), communities


_RATED = Reranker.CROSS_ENCODER
_RATED_FACTS = ScopePlan(Scope.FACTS, _WALKING, _RATED)
_RATED_NODES = ScopePlan(Scope.NODES, _WALKING, _RATED)
_RATED_EPISODES = ScopePlan(Scope.EPISODES, (Method.BM25, Method.BFS), _RATED)
_RATED_COMMUNITIES = ScopePlan(Scope.COMMUNITIES, _HYBRID, _RATED)

RECIPES: dict[Recipe, tuple[ScopePlan, ...]] = {
    Recipe.DEFAULT: (default_plan(Scope.FACTS),),
    Recipe.EDGE_HYBRID_SEARCH_RRF: (ScopePlan(Scope.FACTS, _HYBRID, Reranker.RRF),),
    Recipe.EDGE_HYBRID_SEARCH_MMR: (ScopePlan(Scope.FACTS, _HYBRID, Reranker.MMR),),
    Recipe.EDGE_HYBRID_SEARCH_NODE_DISTANCE: (ScopePlan(Scope.FACTS, _WALKING, Reranker.NODE_DISTANCE),),
    Recipe.EDGE_HYBRID_SEARCH_EPISODE_MENTIONS: (ScopePlan(Scope.FACTS, _HYBRID, Reranker.EPISODE_MENTIONS),),
    Recipe.EDGE_HYBRID_SEARCH_CROSS_ENCODER: (_RATED_FACTS,),
    Recipe.NODE_HYBRID_SEARCH_RRF: (ScopePlan(Scope.NODES, _HYBRID, Reranker.RRF),),
    Recipe.NODE_HYBRID_SEARCH_MMR: (ScopePlan(Scope.NODES, _HYBRID, Reranker.MMR),),
    Recipe.NODE_HYBRID_SEARCH_NODE_DISTANCE: (ScopePlan(Scope.NODES, _HYBRID, Reranker.NODE_DISTANCE),),
    Recipe.NODE_HYBRID_SEARCH_EPISODE_MENTIONS: (ScopePlan(Scope.NODES, _HYBRID, Reranker.EPISODE_MENTIONS),),
    Recipe.NODE_HYBRID_SEARCH_CROSS_ENCODER: (_RATED_NODES,),
    Recipe.COMMUNITY_HYBRID_SEARCH_RRF: (ScopePlan(Scope.COMMUNITIES, _HYBRID, Reranker.RRF),),
    Recipe.COMMUNITY_HYBRID_SEARCH_MMR: (ScopePlan(Scope.COMMUNITIES, _HYBRID, Reranker.MMR),),
    Recipe.COMMUNITY_HYBRID_SEARCH_CROSS_ENCODER: (_RATED_COMMUNITIES,),
    Recipe.COMBINED_HYBRID_SEARCH_RRF: _combined(Reranker.RRF),
    Recipe.COMBINED_HYBRID_SEARCH_MMR: _combined(Reranker.MMR),
    Recipe.COMBINED_HYBRID_SEARCH_CROSS_ENCODER: (
        _RATED_FACTS,
        _RATED_NODES,
        _RATED_EPISODES,
        _RATED_COMMUNITIES,
    ),
}
