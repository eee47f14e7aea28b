"""Entities, episodes, chunks and communities by every method, in one group."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from kgsvc.search.index.episodes import EpisodeIndex
from kgsvc.search.index.group import GroupTexts
from kgsvc.search.index.text_index import Mask, TextIndex
from kgsvc.search.index.topk import Ranked
from kgsvc.search.plans import Method, Reranker, Scope
from kgsvc.search.ranking.facts import Walk
from kgsvc.search.ranking.pool import ScopeCandidates, ScopeQuery, assembled

Lists = dict[Method, list[Ranked]]


def find_texts(texts: GroupTexts, asked: ScopeQuery, walk: Walk) -> ScopeCandidates:
    """The candidates of one group."""
    return _FINDERS[asked.plan.scope](texts, asked, walk)


def origins_found(texts: GroupTexts, asked: ScopeQuery) -> list[str]:
    """Where BFS begins when nobody says where: the entities that the other methods rank among the first,
    or those that their episodes name."""
    index, seen = searched(texts, asked)
    first = [row for ranked in _lists(index, asked, seen).values() for _, _, row in ranked[: asked.top]]
    if asked.plan.scope is Scope.NODES:
        return sorted(set(texts.nodes.uuids(first)))
    return sorted({entity for row in first for entity in texts.episodes.entities(row)})


def searched(texts: GroupTexts, asked: ScopeQuery) -> tuple[TextIndex, Mask]:
    """The index of the scope, and which of its rows fulfil the filters."""
    if asked.plan.scope is Scope.NODES:
        return texts.nodes, texts.nodes.fulfilling(asked.filters)
    if asked.plan.scope is Scope.COMMUNITIES:
        return texts.communities, texts.communities.dated(asked.filters)
    types = asked.filters.entity_types
    typed = texts.nodes.of_types(types) if types else None
    seen = texts.episodes.fulfilling(asked.filters, typed)
    return texts.episodes, seen & texts.episodes.chunks() if asked.plan.scope is Scope.CHUNKS else seen


def near_passages(texts: GroupTexts, asked: ScopeQuery) -> list[Ranked]:
    """Episodes or chunks by the nearest of their passages."""
    index, seen = searched(texts, asked)
    return index.by_vector(asked.vector, seen, asked.candidates, asked.min_cosine)


def _lists(index: TextIndex, asked: ScopeQuery, seen: Mask) -> Lists:
    lists: Lists = {}
    if Method.BM25 in asked.plan.methods:
        lists[Method.BM25] = index.by_keyword(asked.terms, seen, asked.candidates)
    if Method.COSINE in asked.plan.methods and asked.vector is not None:
        lists[Method.COSINE] = index.by_vector(asked.vector, seen, asked.candidates, asked.min_cosine)
    return lists


def _find_nodes(texts: GroupTexts, asked: ScopeQuery, walk: Walk) -> ScopeCandidates:
    index, seen = searched(texts, asked)
    lists = _lists(index, asked, seen)
    if Method.BFS in asked.plan.methods:  # what was begun at was not found by walking
        steps = {index.row(uuid): hops for uuid, hops in walk.reached.items() if hops}
        lists[Method.BFS] = _by_steps(index, asked, seen, {r: s for r, s in steps.items() if r is not None})
    found, _ = assembled(index, asked, lists)
    near = {key: walk.from_center[key[0]] for key in found.candidates() if key[0] in walk.from_center}
    found.distances.update(near)
    if asked.plan.reranker is Reranker.EPISODE_MENTIONS:
        found.mentions.update({key: texts.episodes.naming_count(key[0]) for key in found.candidates()})
    return found


def _find_episodes(texts: GroupTexts, asked: ScopeQuery, walk: Walk) -> ScopeCandidates:
    index, seen = searched(texts, asked)
    lists = _lists(index, asked, seen)
    if Method.BFS in asked.plan.methods:
        near = {uuid: hops for uuid, hops in walk.reached.items() if hops < asked.plan.depth}
        lists[Method.BFS] = _by_steps(index, asked, seen, _steps_to_episodes(texts.episodes, near))
    found, _ = assembled(index, asked, lists)
    measure_episodes(found, texts.episodes, walk)
    return found


def measure_episodes(found: ScopeCandidates, index: EpisodeIndex, walk: Walk) -> None:
    """Enter how far the episodes of `packed` are from the center: as far as the nearest entity they name."""
    if walk.from_center:
        for key in found.packed:
            row = index.row(key[0])
            named = () if row is None else index.entities(row)
            hops = [walk.from_center[uuid] for uuid in named if uuid in walk.from_center]
            if hops:
                found.distances[key] = min(hops)


def _find_communities(texts: GroupTexts, asked: ScopeQuery, _walk: Walk) -> ScopeCandidates:
    index, seen = searched(texts, asked)
    return assembled(index, asked, _lists(index, asked, seen))[0]


_FINDERS: Mapping[Scope, Callable[[GroupTexts, ScopeQuery, Walk], ScopeCandidates]] = {
    Scope.NODES: _find_nodes,
    Scope.EPISODES: _find_episodes,
    Scope.CHUNKS: _find_episodes,
    Scope.COMMUNITIES: _find_communities,
}


def _steps_to_episodes(index: EpisodeIndex, near: Mapping[str, int]) -> dict[int, int]:
    """Rows of episodes by their steps: one more than to the nearest entity that they name."""
    steps: dict[int, int] = {}
    for uuid, hops in sorted(near.items(), key=lambda entry: entry[1]):
        for row in index.naming(uuid):
            steps.setdefault(row, hops + 1)
    return steps


def _by_steps(index: TextIndex, asked: ScopeQuery, seen: Mask, steps: Mapping[int, int]) -> list[Ranked]:
    rows = np.array([row for row in steps if seen[row]], np.intp)
    scores = np.array([1.0 / (1.0 + steps[row]) for row in rows.tolist()], np.float64)
    return index.best(rows, np.round(scores, 9), asked.candidates)
