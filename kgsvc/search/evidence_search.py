"""Episodes and facts by evidence (kgsvc.search.evidence), in the indexes of one or several groups.

Four looks, since facts and texts are indexes of their own: what facts fit, what bodies fit, which episodes
that makes the best, which facts follow them. What is best, and so 1 on its scale, is best of all groups.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain, repeat

import numpy as np
from numpy.typing import NDArray

from kgsvc.domain.model.delta import GroupHead
from kgsvc.runtime import RANKED, offload
from kgsvc.search.cold_groups import Indexes
from kgsvc.search.evidence import DIGITS, by_best, by_spread, fact_scores, rounded
from kgsvc.search.evidence_candidates import Candidates
from kgsvc.search.evidence_times import named_times
from kgsvc.search.evidence_turns import Floats, Rows
from kgsvc.search.evidence_weighing import Fitting, best_told, weighed
from kgsvc.search.fact_scope import NOWHERE, Walk, walk
from kgsvc.search.fusion import Key
from kgsvc.search.group_texts import GroupTexts
from kgsvc.search.plans import Method, Reranker, Scope, ScopePlan
from kgsvc.search.pool import Asked, Found, united
from kgsvc.search.text_scopes import find_texts, measure_episodes

_FOLLOWED = 20  # best episodes whose facts are looked at even where no method found them
_FACTS = ScopePlan(Scope.FACTS, (Method.BM25, Method.COSINE), Reranker.EVIDENCE)
_EPISODES = ScopePlan(Scope.EPISODES, (Method.BM25,), Reranker.EVIDENCE)


@dataclass(slots=True)
class _Group:
    """One group's part, look by look."""

    head: GroupHead
    of_facts: Asked
    facts: Candidates
    bodies: Found
    episodes: dict[str, float]  # best first

    @property
    def keys(self) -> list[Key]:
        """The facts by their places."""
        return list(zip(self.facts.uuids, repeat(self.head.group_id)))


@dataclass(frozen=True, slots=True)
class _Scaled:
    """How the facts and bodies of a group fit that methods found, from 0 to 1, best first."""

    fact_words: Floats
    meaning: Floats
    words: Floats


class EvidenceSearch:
    """Finds what bears on a question; `heavy` as IndexCache.use. Raises StoreUnavailable."""

    def __init__(self, indexes: Indexes) -> None:
        self._indexes = indexes

    async def found(self, asked: Asked, question: str, heads: Sequence[GroupHead], heavy: bool) -> Found:
        """The candidates of a plan whose reranker is EVIDENCE, with their scores."""
        groups = list(await asyncio.gather(*(self._fitting(asked, head, heavy) for head in heads)))
        cost = sum(len(group.facts.uuids) for group in groups) / RANKED
        scaled = await offload(cost, _scaled, groups, asked)
        named = named_times(question)

        async def weigh(group: _Group, scaled: _Scaled) -> None:
            fitting = _fitting(group, scaled)
            group.episodes = await self._indexes.use_texts(
                group.head, lambda texts: weighed(texts, _of_bodies(asked), fitting, named), heavy
            )

        await asyncio.gather(*map(weigh, groups, scaled))
        if asked.plan.scope is Scope.EPISODES:
            return united([await self._shown(group, asked) for group in groups], asked.candidates)
        await asyncio.gather(*(self._follow(group, heavy) for group in groups))
        return await offload(cost, _facts, groups, scaled, asked)

    async def _fitting(self, asked: Asked, head: GroupHead, heavy: bool) -> _Group:
        of_facts, types = _of_facts(asked), asked.filters.entity_types
        if asked.plan.scope is Scope.FACTS and types:
            typed = await self._indexes.use_texts(head, lambda texts: texts.nodes.of_types(types))
            of_facts = replace(of_facts, typed=typed)

        def bodies(texts: GroupTexts) -> Found:
            return find_texts(texts, _of_bodies(asked), NOWHERE)

        found = await self._indexes.use(head, lambda index: Candidates.found(index, of_facts), heavy)
        return _Group(head, of_facts, found, await self._indexes.use_texts(head, bodies, heavy), {})

    async def _follow(self, group: _Group, heavy: bool) -> None:
        """Put the facts of the best episodes beside those that fit by themselves."""
        best = list(group.episodes)[:_FOLLOWED]
        if best:
            await self._indexes.use(
                group.head, lambda index: group.facts.follow(index, group.of_facts, best), heavy
            )

    async def _shown(self, group: _Group, asked: Asked) -> Found:
        """The best episodes with what is shown of them."""
        walked, center = Walk({}, {}), asked.center
        if center is not None:
            walked = await self._indexes.use(group.head, lambda index: walk(index, asked, ()))

        def show(texts: GroupTexts) -> Found:
            rows = [row for uuid in group.episodes if (row := texts.episodes.row(uuid)) is not None]
            keys = texts.episodes.keys(rows)
            found = Found(dict(group.bodies.lists), dict(zip(keys, texts.episodes.packed(rows), strict=True)))
            found.evidence.update({key: group.episodes[key[0]] for key in keys})
            measure_episodes(found, texts.episodes, walked)
            return found

        return await self._indexes.use_texts(group.head, show)


def _of_facts(asked: Asked) -> Asked:
    """What is asked of facts: where episodes are wanted, whichever fit."""
    return asked if asked.plan.scope is Scope.FACTS else _beside(asked, _FACTS)


def _of_bodies(asked: Asked) -> Asked:
    """What is asked of episodes: where facts are wanted, whichever fit."""
    return asked if asked.plan.scope is Scope.EPISODES else _beside(asked, _EPISODES)


def _beside(asked: Asked, plan: ScopePlan) -> Asked:
    """The same of another scope. Filters say what is found; what leads there is held to as-of times alone."""
    return replace(asked, plan=plan, filters=asked.filters.as_of, center=None, origins=(), typed=None)


def _scaled(groups: Sequence[_Group], asked: Asked) -> list[_Scaled]:
    """Of each group; the scales are those of all together."""

    def spread(cosines: Floats) -> Floats:
        return by_spread(cosines, asked.min_cosine, asked.candidates)

    facts = [group.facts for group in groups]
    bodies = [[-low for low, _ in group.bodies.lists.get(Method.BM25, ())] for group in groups]
    return [
        _Scaled(*scores)
        for scores in zip(
            _on_scale((each.scores(Method.BM25) for each in facts), by_best),
            _on_scale((each.scores(Method.COSINE) for each in facts), spread),
            _on_scale(bodies, by_best),
            strict=True,
        )
    ]


def _on_scale(parts: Iterable[Sequence[float]], scale: Callable[[Floats], Floats]) -> list[Floats]:
    """The scores of several groups, scaled together."""
    columns = [np.array(part, np.float64) for part in parts]
    if not columns:
        return []
    return np.split(scale(np.concatenate(columns)), np.cumsum([len(column) for column in columns])[:-1])


def _fitting(group: _Group, scaled: _Scaled) -> Fitting:
    bodies = (key[0] for _, key in group.bodies.lists.get(Method.BM25, ()))
    return Fitting(
        dict(zip(bodies, scaled.words.tolist(), strict=True)),
        best_told(group.facts.told(Method.BM25), scaled.fact_words),
        best_told(group.facts.told(Method.COSINE), scaled.meaning),
    )


def _facts(groups: Sequence[_Group], scaled: Sequence[_Scaled], asked: Asked) -> Found:
    """The facts of all groups that can be among the results, with their scores."""
    keys = [key for group in groups for key in group.keys]
    found = _listed(groups, asked)
    if not keys:
        return found
    own = np.concatenate(
        [group.facts.own(each.fact_words, each.meaning) for group, each in zip(groups, scaled, strict=True)]
    )
    episodes = np.array([score for group in groups for score in group.episodes.values()], np.float64)
    ties = np.concatenate([tie for group in groups for tie in group.facts.ties])
    scores = rounded(fact_scores(own, _order(own, ties, keys), _followed(groups), episodes), DIGITS)
    chosen = _highest(scores, len(scores) if asked.center is not None else asked.top).tolist()
    packed = list(chain.from_iterable(group.facts.packed for group in groups))
    found.packed.update((keys[place], packed[place]) for place in chosen)
    found.evidence.update((keys[place], float(scores[place])) for place in chosen)
    return found


def _listed(groups: Sequence[_Group], asked: Asked) -> Found:
    """What the methods found in all groups, and how far facts are from the center."""
    parts = []
    for group in groups:
        group_id, keys = group.head.group_id, group.keys
        lists = {
            method: [(low, (uuid, group_id)) for low, uuid, _ in ranked]
            for method, ranked in group.facts.lists.items()
        }
        near = {keys[place]: hops for place, hops in group.facts.distances.items()}
        parts.append(Found(lists, distances=near))
    return united(parts, asked.candidates)


def _followed(groups: Sequence[_Group]) -> Rows:
    """The best episode of each fact, by its place among those of all groups."""
    places: list[int] = []
    begin = 0
    for group in groups:
        ranks = {uuid: rank for rank, uuid in enumerate(group.episodes, begin)}
        places += group.facts.follows(ranks)
        begin += len(ranks)
    return np.array(places, np.intp)


def _order(own: Floats, ties: NDArray[np.uint64], keys: Sequence[Key]) -> Rows:
    """Facts by how they fit by themselves, best first, ties by key."""
    order = np.lexsort((ties, -own))
    one, next_one = order[:-1], order[1:]
    if np.any((own[one] == own[next_one]) & (ties[one] == ties[next_one])):
        low = (-own).tolist()
        return np.array(sorted(range(len(keys)), key=lambda at: (low[at], keys[at])), np.intp)
    return order


def _highest(scores: Floats, count: int) -> Rows:
    """The places of the `count` highest, and of what equals the last of them."""
    if len(scores) <= count:
        return np.arange(len(scores))
    return np.flatnonzero(scores >= np.partition(scores, -count)[-count])
