"""Episodes and facts by evidence (kgsvc.retrieval.evidence), in the indexes of one or several groups.

Four looks, since facts and texts are indexes of their own: what facts fit, what bodies fit, which episodes
that makes the best, which facts follow them. What is best, and so 1 on its scale, is best of all groups.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kgsvc.domain.delta import GroupHead
from kgsvc.retrieval.evidence import DIGITS, FACT_WORDS, MEANING, Fit, in_context
from kgsvc.retrieval.evidence_facts import fact_scores
from kgsvc.retrieval.evidence_hops import SEEDS, with_hops
from kgsvc.retrieval.evidence_scales import by_best, by_spread
from kgsvc.retrieval.evidence_times import Named, from_times, named_times
from kgsvc.retrieval.fact_scope import NOWHERE, Walk, add_facts, find_facts, seen_facts, walk
from kgsvc.retrieval.fusion import Key
from kgsvc.retrieval.group_index import GroupIndex
from kgsvc.retrieval.group_texts import GroupTexts
from kgsvc.retrieval.index_cache import IndexCache
from kgsvc.retrieval.plans import Method, Reranker, Scope, ScopePlan
from kgsvc.retrieval.pool import Asked, Found, Scores, united
from kgsvc.retrieval.text_scopes import find_texts, measure_episodes, searched
from kgsvc.retrieval.topk import Ranked

Floats = NDArray[np.float64]
_INLINE_FACTS = 2_000  # of all groups; more are weighed beside the event loop
_FOLLOWED = 20  # best episodes whose facts are looked at even where no method found them
_FACTS = ScopePlan(Scope.FACTS, (Method.BM25, Method.COSINE), Reranker.EVIDENCE)
_EPISODES = ScopePlan(Scope.EPISODES, (Method.BM25,), Reranker.EVIDENCE)


@dataclass(slots=True)
class _Group:
    """One group's part, look by look."""

    head: GroupHead
    of_facts: Asked
    facts: Found
    told_in: dict[Key, tuple[str, ...]]  # the episodes of facts
    bodies: Found
    episodes: Scores  # best first


@dataclass(frozen=True, slots=True)
class _Scaled:
    """How facts and bodies fit, from 0 to 1."""

    fact_words: Scores
    meaning: Scores
    words: Scores

    def of(self, fact: Key) -> float:
        """How a fact fits by itself."""
        return FACT_WORDS * self.fact_words.get(fact, 0.0) + MEANING * self.meaning.get(fact, 0.0)


class EvidenceSearch:
    """Finds what bears on a question; `heavy` as IndexCache.use. Raises StoreUnavailable."""

    def __init__(self, indexes: IndexCache) -> None:
        self._indexes = indexes

    async def found(self, asked: Asked, question: str, heads: Sequence[GroupHead], heavy: bool) -> Found:
        """The candidates of a plan whose reranker is EVIDENCE, with their scores."""
        groups = list(await asyncio.gather(*(self._fitting(asked, head, heavy) for head in heads)))
        many = sum(len(group.facts.packed) for group in groups) > _INLINE_FACTS
        scaled = await asyncio.to_thread(_scaled, groups, asked) if many else _scaled(groups, asked)
        named = named_times(question)

        async def weigh(group: _Group) -> None:
            group.episodes = await self._indexes.use_texts(
                group.head, lambda texts: _weigh(texts, _of_bodies(asked), group, scaled, named), heavy
            )

        await asyncio.gather(*map(weigh, groups))
        if asked.plan.scope is Scope.EPISODES:
            return united([await self._shown(group, asked) for group in groups], asked.candidates)
        await asyncio.gather(*(self._follow(group, heavy) for group in groups))
        weighing = (groups, scaled, asked)
        return await asyncio.to_thread(_facts, *weighing) if many else _facts(*weighing)

    async def _fitting(self, asked: Asked, head: GroupHead, heavy: bool) -> _Group:
        of_facts, types = _of_facts(asked), asked.filters.entity_types
        if asked.plan.scope is Scope.FACTS and types:
            typed = await self._indexes.use_texts(head, lambda texts: texts.nodes.of_types(types))
            of_facts = replace(of_facts, typed=typed)

        def facts(index: GroupIndex) -> tuple[Found, dict[Key, tuple[str, ...]]]:
            found, told_in = find_facts(index, of_facts), index.telling.told_in
            return found, {key: told_in(index.row(key[0])) for key in found.packed}

        def bodies(texts: GroupTexts) -> Found:
            return find_texts(texts, _of_bodies(asked), NOWHERE)

        found, told_in = await self._indexes.use(head, facts, heavy)
        return _Group(head, of_facts, found, told_in, await self._indexes.use_texts(head, bodies, heavy), {})

    async def _follow(self, group: _Group, heavy: bool) -> None:
        """Put the facts of the best episodes beside those that fit by themselves."""
        best = list(group.episodes)[:_FOLLOWED]

        def add(index: GroupIndex) -> None:
            seen = seen_facts(index, group.of_facts)
            telling = index.telling
            rows = dict.fromkeys(row for uuid, _ in best for row in telling.tells(uuid) if seen[row])
            keys = zip(index.keys(rows), rows, strict=True)
            more = {key: row for key, row in keys if key not in group.told_in}
            add_facts(group.facts, index, group.of_facts, list(more.values()))
            group.told_in.update({key: telling.told_in(row) for key, row in more.items()})

        await self._indexes.use(group.head, add, heavy)

    async def _shown(self, group: _Group, asked: Asked) -> Found:
        """The best episodes with what is shown of them."""
        walked, center = Walk({}, {}), asked.center
        if center is not None:
            walked = await self._indexes.use(group.head, lambda index: walk(index, asked, ()))

        def show(texts: GroupTexts) -> Found:
            rows = [row for uuid, _ in group.episodes if (row := texts.episodes.row(uuid)) is not None]
            keys = texts.episodes.keys(rows)
            found = Found(dict(group.bodies.lists), dict(zip(keys, texts.episodes.packed(rows), strict=True)))
            found.evidence.update({key: group.episodes[key] for key in keys})
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


def _scaled(groups: Sequence[_Group], asked: Asked) -> _Scaled:
    def spread(cosines: Floats) -> Floats:
        return by_spread(cosines, asked.min_cosine, asked.candidates)

    facts, bodies = [group.facts for group in groups], [group.bodies for group in groups]
    return _Scaled(
        _on_scale(facts, Method.BM25, by_best),
        _on_scale(facts, Method.COSINE, spread),
        _on_scale(bodies, Method.BM25, by_best),
    )


def _on_scale(parts: Iterable[Found], method: Method, scale: Callable[[Floats], Floats]) -> Scores:
    entries = [entry for part in parts for entry in part.lists.get(method, ())]
    values = scale(np.array([-low for low, _ in entries], np.float64))
    return dict(zip((key for _, key in entries), values.tolist(), strict=True))


def _weigh(texts: GroupTexts, asked: Asked, group: _Group, scaled: _Scaled, named: Sequence[Named]) -> Scores:
    """The best episodes of a group, by their scores."""
    index, (_, seen) = texts.episodes, searched(texts, asked)
    known = index.dated(asked.filters.as_of)  # later ones lend nothing to what was known then

    def by_row(scores: Mapping[str, float]) -> Floats:
        values = np.zeros(index.rows)
        for uuid, score in scores.items():
            row = index.row(uuid)
            if row is not None and known[row]:
                values[row] = score
        return values

    found, told = group.facts.lists, group.told_in
    fit = Fit(
        by_row({key[0]: scaled.words[key] for _, key in group.bodies.lists.get(Method.BM25, ())}),
        by_row(_best_of(found.get(Method.BM25, ()), told, scaled.fact_words)),
        by_row(_best_of(found.get(Method.COSINE, ()), told, scaled.meaning)),
        from_times(named, index.times()) if named else None,
    )
    scores = np.where(seen, in_context(fit, index.turns()), 0.0)

    def best(scores: Floats, count: int) -> list[Ranked]:
        rows = np.flatnonzero(scores > 0)
        return index.best(rows, np.round(scores[rows], DIGITS), count)

    def seeds(scores: Floats) -> list[int]:
        return [row for _, _, row in best(scores, SEEDS)]

    raised = np.where(seen, with_hops(scores, seeds, index), 0.0)
    return {(uuid, group.head.group_id): -low for low, uuid, _ in best(raised, asked.candidates)}


def _best_of(
    found: Sequence[tuple[float, Key]], told_in: Mapping[Key, Sequence[str]], scaled: Scores
) -> dict[str, float]:
    """Of each episode the score of the best fact that it tells; `found` begins with the best."""
    best: dict[str, float] = {}
    for _, fact in found:
        for episode in told_in[fact]:
            best.setdefault(episode, scaled[fact])
    return best


def _facts(groups: Sequence[_Group], scaled: _Scaled, asked: Asked) -> Found:
    found = united([group.facts for group in groups], asked.candidates)
    own = {key: scaled.of(key) for key in found.packed}
    told_in = {key: episodes for group in groups for key, episodes in group.told_in.items()}
    episodes = {key: score for group in groups for key, score in group.episodes.items()}
    scores = fact_scores(own, told_in, episodes)
    found.evidence.update({key: round(score, DIGITS) for key, score in scores.items()})
    return found
