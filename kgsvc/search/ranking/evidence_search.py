"""Episodes, chunks and facts by evidence (kgsvc.search.ranking.evidence), in one or several groups.

What facts fit, what bodies fit, which episodes that makes the best, which facts follow them. What is best,
and so 1 on its scale, is best of all groups.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kgsvc.search.index.fact_columns import Mask
from kgsvc.search.index.facts import GroupIndex
from kgsvc.search.index.group import SearchedGroup
from kgsvc.search.index.topk import Key, Ranked, RankList, ordered
from kgsvc.search.index.turns import Floats, Rows
from kgsvc.search.past import words_of_when
from kgsvc.search.plans import Method, Reranker, Scope, ScopePlan
from kgsvc.search.query import lighter, with_names, with_roles
from kgsvc.search.ranking.belonging import HITS, belonging
from kgsvc.search.ranking.episodes import Fitting, best_told, weighed
from kgsvc.search.ranking.evidence import (
    DIGITS,
    FACT_WORDS,
    MEANING,
    NOBODY,
    by_best,
    by_spread,
    fact_scores,
    rounded,
)
from kgsvc.search.ranking.facts import NOWHERE, Walk, fact_lists, measured, seen_facts, walk
from kgsvc.search.ranking.pool import ScopeCandidates, ScopeQuery, united
from kgsvc.search.ranking.texts import find_texts, measure_episodes, near_passages
from kgsvc.search.times import named_times

_FOLLOWED = 20  # best episodes whose facts are looked at even where no method found them
_FACTS = ScopePlan(Scope.FACTS, (Method.BM25, Method.COSINE), Reranker.EVIDENCE)
_EPISODES = ScopePlan(Scope.EPISODES, (Method.BM25,), Reranker.EVIDENCE)
_BODIES = frozenset({Scope.EPISODES, Scope.CHUNKS})
Told = tuple[str, ...]


@dataclass(slots=True)
class Candidates:
    """Facts by their rows: those that methods found, then those that follow episodes."""

    index: GroupIndex
    asked: ScopeQuery
    seen: Mask  # of all facts; once a search, since every look goes over all of them
    lists: dict[Method, list[Ranked]]
    rows: list[int]

    @classmethod
    def found(cls, index: GroupIndex, asked: ScopeQuery) -> Candidates:
        """What the methods find."""
        seen = seen_facts(index, asked)
        lists = fact_lists(index, asked, seen)
        rows = dict.fromkeys(row for ranked in lists.values() for _, _, row in ranked)
        return cls(index, asked, seen, lists, list(rows))

    def follow(self, episodes: Sequence[str]) -> None:
        """Put the facts that episodes tell, and that fulfil the filters, beside those that were found."""
        told = dict.fromkeys(row for episode in episodes for row in self.index.episodes.rows_of(episode))
        if told:
            known = set(self.rows)
            self.rows += [row for row in told if self.seen[row] and row not in known]

    def scores(self, method: Method) -> list[float]:
        """What a method gave, best first."""
        return [-low for low, _, _ in self.lists.get(method, ())]

    def told(self, method: Method) -> list[Told]:
        """The episodes of what a method found, best first."""
        return self.index.episodes.of_rows([row for _, _, row in self.lists.get(method, ())])

    def own(self, words: Floats, meaning: Floats) -> Floats:
        """How each fits by itself; given are the scaled scores of what was found, best first."""
        place = {row: place for place, row in enumerate(self.rows)}
        own = np.zeros(len(self.rows))
        for method, weight, scores in ((Method.BM25, FACT_WORDS, words), (Method.COSINE, MEANING, meaning)):
            own[[place[row] for _, _, row in self.lists.get(method, ())]] += weight * scores
        return own

    def follows(self, ranks: Mapping[str, int]) -> list[int]:
        """The best episode of each by its rank, or NOBODY."""
        return [
            ranks.get(told[0], NOBODY) if len(told) == 1 else _first(told, ranks)
            for told in self.index.episodes.of_rows(self.rows)
        ]


def _first(told: Told, ranks: Mapping[str, int]) -> int:
    return min((ranks[episode] for episode in told if episode in ranks), default=NOBODY)


@dataclass(slots=True)
class _GroupEvidence:
    """One group's part."""

    group: SearchedGroup
    facts: Candidates
    bodies: ScopeCandidates
    passages: RankList  # episodes by the nearest of their passages, best first
    episodes: dict[str, float]  # best first


@dataclass(frozen=True, slots=True)
class _Scaled:
    """How the facts and bodies of a group fit that methods found, from 0 to 1, best first."""

    fact_words: Floats
    meaning: Floats  # of facts
    words: Floats
    passages: Floats  # the meaning of these


def find_evidence(groups: Sequence[SearchedGroup], asked: ScopeQuery) -> ScopeCandidates:
    """The candidates of a plan whose reranker is EVIDENCE, with their scores."""
    looks = [_look(group, asked) for group in groups]
    scaled = _scaled(looks, asked)
    named = named_times(asked.question)
    for look, each in zip(looks, scaled, strict=True):
        look.episodes = weighed(look.group.texts, _of_bodies(asked), _fitting(look, each), named)
    if asked.plan.scope in _BODIES:
        return united([_shown(look, asked) for look in looks], asked.candidates)
    for look in looks:
        look.facts.follow(list(look.episodes)[:_FOLLOWED])
    return _facts(looks, scaled, asked)


def _look(group: SearchedGroup, asked: ScopeQuery) -> _GroupEvidence:
    terms = with_roles(lighter(asked.terms, words_of_when(asked.question, asked.filters)))
    asked = asked.in_space(group.space)
    asked = replace(asked, terms=with_names(terms, group.texts.nodes.meant(asked.question)))
    of_facts, types = _of_facts(asked), asked.filters.entity_types
    if asked.plan.scope is Scope.FACTS and types:
        of_facts = replace(of_facts, typed=group.texts.nodes.of_types(types))
    found, of_bodies = Candidates.found(group.facts, of_facts), _of_bodies(asked)
    bodies = find_texts(group.texts, of_bodies, NOWHERE)
    near = bodies.lists.get(Method.COSINE)
    if near is None:
        near = group.texts.episodes.rank_list(near_passages(group.texts, of_bodies))
    return _GroupEvidence(group, found, bodies, near, {})


def _shown(look: _GroupEvidence, asked: ScopeQuery) -> ScopeCandidates:
    """The best episodes with what is shown of them."""
    walked = Walk({}, {}) if asked.center is None else walk(look.group.facts, asked, ())
    index = look.group.texts.episodes
    rows = [row for uuid in look.episodes if (row := index.row(uuid)) is not None]
    keys = index.keys(rows)
    found = ScopeCandidates(dict(look.bodies.lists), dict(zip(keys, index.packed(rows), strict=True)))
    found.evidence.update({key: look.episodes[key[0]] for key in keys})
    measure_episodes(found, index, walked)
    return found


def _of_facts(asked: ScopeQuery) -> ScopeQuery:
    """What is asked of facts: where episodes are wanted, whichever fit."""
    return asked if asked.plan.scope is Scope.FACTS else _beside(asked, _FACTS)


def _of_bodies(asked: ScopeQuery) -> ScopeQuery:
    """What is asked of episodes: where facts are wanted, whichever fit."""
    return asked if asked.plan.scope in _BODIES else _beside(asked, _EPISODES)


def _beside(asked: ScopeQuery, plan: ScopePlan) -> ScopeQuery:
    """The same of another scope. Filters say what is found; what leads there is held to as-of times alone."""
    return replace(asked, plan=plan, filters=asked.filters.as_of, center=None, origins=(), typed=None)


def _scaled(looks: Sequence[_GroupEvidence], asked: ScopeQuery) -> list[_Scaled]:
    """Of each group; the scales are those of all together."""

    def spread(cosines: Floats) -> Floats:
        return by_spread(cosines, asked.min_cosine, asked.candidates)

    facts = [look.facts for look in looks]
    bodies = [look.bodies.lists for look in looks]
    return [
        _Scaled(*scores)
        for scores in zip(
            _on_scale((each.scores(Method.BM25) for each in facts), by_best),
            _on_scale((each.scores(Method.COSINE) for each in facts), spread),
            _on_scale(([-low for low, _ in lists.get(Method.BM25, ())] for lists in bodies), by_best),
            _on_scale(([-low for low, _ in look.passages] for look in looks), spread),
            strict=True,
        )
    ]


def _on_scale(parts: Iterable[Sequence[float]], scale: Callable[[Floats], Floats]) -> list[Floats]:
    """The scores of several groups, scaled together."""
    columns = [np.array(part, np.float64) for part in parts]
    if not columns:
        return []
    return np.split(scale(np.concatenate(columns)), np.cumsum([len(column) for column in columns])[:-1])


def _fitting(look: _GroupEvidence, scaled: _Scaled) -> Fitting:
    """An episode means what its best fact does, or its best passage, if that fits better."""
    meaning = best_told(look.facts.told(Method.COSINE), scaled.meaning)
    for (_, (episode, _)), score in zip(look.passages, scaled.passages.tolist(), strict=True):
        meaning[episode] = max(score, meaning.get(episode, 0.0))
    found = (key[0] for _, key in look.bodies.lists.get(Method.BM25, ()))
    return Fitting(
        dict(zip(found, scaled.words.tolist(), strict=True)),
        best_told(look.facts.told(Method.BM25), scaled.fact_words),
        meaning,
    )


def _facts(looks: Sequence[_GroupEvidence], scaled: Sequence[_Scaled], asked: ScopeQuery) -> ScopeCandidates:
    """The facts of all groups that can be among the results, with their scores."""
    every = [(look.group.facts, look.facts.rows) for look in looks]
    found = _listed(looks, asked)
    if not any(rows for _, rows in every):
        return found

    def keys() -> list[Key]:
        return [key for index, rows in every for key in index.keys(rows)]

    own = np.concatenate(
        [look.facts.own(each.fact_words, each.meaning) for look, each in zip(looks, scaled, strict=True)]
    )
    episodes = np.array([score for look in looks for score in look.episodes.values()], np.float64)
    ties = np.concatenate([index.ties(rows) for index, rows in every])
    scores = fact_scores(own, _order(own, ties, keys), _followed(looks), episodes)
    more, scores = _with_belonging(looks, scores, _best(scores, ties, keys, HITS))
    scores = rounded(scores, DIGITS)
    chosen = _highest(scores, len(scores) if asked.center is not None else asked.top)
    begin = 0
    for index, rows in (*every, *more):
        here = chosen[(chosen >= begin) & (chosen < begin + len(rows))]
        shown = [rows[at] for at in (here - begin).tolist()]
        of_these = index.keys(shown)
        found.evidence.update(zip(of_these, scores[here].tolist(), strict=True))
        found.packed.update(zip(of_these, index.packed(shown), strict=True))
        begin += len(rows)
    return found


def _with_belonging(
    looks: Sequence[_GroupEvidence], scores: Floats, best: Sequence[int]
) -> tuple[list[tuple[GroupIndex, list[int]]], Floats]:
    """Scores raised to what belonging to the best counts; with facts that nothing else found behind the
    others."""
    raised, begin, added, more = scores.copy(), 0, list[float](), list[tuple[GroupIndex, list[int]]]()
    for look in looks:
        index, rows = look.group.facts, look.facts.rows
        hits = {rows[at - begin]: float(scores[at]) for at in best if begin <= at < begin + len(rows)}
        least = belonging(index, look.facts.seen, hits) if hits else {}
        for place, row in enumerate(rows, begin):
            if row in least:
                raised[place] = max(raised[place], least.pop(row))
        more.append((index, list(least)))
        added += least.values()
        begin += len(rows)
    return more, np.append(raised, added)


def _listed(looks: Sequence[_GroupEvidence], asked: ScopeQuery) -> ScopeCandidates:
    """What the methods found in all groups, and how far facts are from the center."""
    parts = []
    for look in looks:
        index, facts = look.group.facts, look.facts
        lists = {method: index.rank_list(ranked) for method, ranked in facts.lists.items()}
        near = {facts.rows[place]: hops for place, hops in measured(index, facts.asked, facts.rows)}
        parts.append(
            ScopeCandidates(lists, distances=dict(zip(index.keys(near), near.values(), strict=True)))
        )
    return united(parts, asked.candidates)


def _followed(looks: Sequence[_GroupEvidence]) -> Rows:
    """The best episode of each fact, by its place among those of all groups."""
    places: list[int] = []
    begin = 0
    for look in looks:
        ranks = {uuid: rank for rank, uuid in enumerate(look.episodes, begin)}
        places += look.facts.follows(ranks)
        begin += len(ranks)
    return np.array(places, np.intp)


def _order(own: Floats, ties: NDArray[np.uint64], keys: Callable[[], Sequence[Key]]) -> Rows:
    """Facts by how they fit by themselves, best first, ties by key: those are made only where they decide."""
    order = ordered(own, ties)
    if order is None:
        low, known = (-own).tolist(), keys()
        return np.array(sorted(range(len(low)), key=lambda at: (low[at], known[at])), np.intp)
    return order


def _best(
    scores: Floats, ties: NDArray[np.uint64], keys: Callable[[], Sequence[Key]], count: int
) -> list[int]:
    """The places of the `count` best, ties by key."""
    some = _highest(scores, count)

    def of_some() -> list[Key]:
        known = keys()
        return [known[place] for place in some]

    best: list[int] = some[_order(scores[some], ties[some], of_some)[:count]].tolist()
    return best


def _highest(scores: Floats, count: int) -> Rows:
    """The places of the `count` highest, and of what equals the last of them."""
    if len(scores) <= count:
        return np.arange(len(scores))
    return np.flatnonzero(scores >= np.partition(scores, -count)[-count])
