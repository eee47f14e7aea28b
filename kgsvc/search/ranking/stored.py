"""Facts of a group that is not in memory: what the store found by words and by vector, scored as an index in
memory scores it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np

from kgsvc.domain.text import gain, idf
from kgsvc.search.index.facts import pack
from kgsvc.search.index.topk import RankList
from kgsvc.search.index.vectors import COSINE_FLOOR, exact_cosines
from kgsvc.search.plans import Method
from kgsvc.search.ranking.pool import ScopeCandidates, ScopeQuery
from kgsvc.stores.search_protocol import FactCandidates, FactsAsked

_DIGITS = 9  # to which scores are rounded, as those of an index


def of_store(asked: ScopeQuery, space: str) -> FactsAsked:
    """What a store is asked."""
    return FactsAsked(
        tuple(term.text for term in asked.terms if not term.by_prefix),
        tuple(term.text for term in asked.terms if term.by_prefix),
        None if asked.vector is None else asked.vector.astype("<f4").tobytes(),
        space,
        asked.now_ms,
        asked.candidates,
        asked.min_cosine,
        {term.text: term.weight for term in asked.terms if term.weight != 1.0},
        all_vectors=asked.vector is not None,
    )


def found_in_store(stored: FactCandidates, asked: ScopeQuery) -> ScopeCandidates:
    """The candidates of a group, by the statistics of all its facts."""
    group_id = stored.head.group_id
    lists = {}
    if Method.BM25 in asked.plan.methods:
        lists[Method.BM25] = _best(group_id, _by_words(stored, asked), asked.candidates)
    if Method.COSINE in asked.plan.methods and asked.vector is not None:
        lists[Method.COSINE] = _best(group_id, _by_vector(stored, asked), asked.candidates)
    found = ScopeCandidates(lists)
    shown = {each.uuid: each.show for each in (*stored.semantic, *stored.keyword)}
    found.packed.update((key, pack(shown[key[0]]())) for key in found.candidates())
    return found


def _by_words(stored: FactCandidates, asked: ScopeQuery) -> Iterable[tuple[str, float]]:
    """BM25. Numbers of a store that lag behind its facts do no harm."""
    held = Counter(term for each in stored.keyword for term in each.counts)
    facts = max(stored.facts, len(stored.keyword))
    shortness = facts / max(stored.total_length, 1)
    worth = {
        term.text: term.weight * idf(max(stored.frequencies.get(term.text, 0), held[term.text]), facts)
        for term in asked.terms
    }
    for each in stored.keyword:
        counts = ((term.text, each.counts.get(term.text, 0)) for term in asked.terms)
        yield each.uuid, sum(worth[t] * gain(n, each.length * shortness) for t, n in counts if n)


def _by_vector(stored: FactCandidates, asked: ScopeQuery) -> Iterable[tuple[str, float]]:
    assert asked.vector is not None
    near = [each for each in stored.semantic if each.vector is not None]
    vectors = np.frombuffer(b"".join(each.vector or b"" for each in near), "<f4")
    cosines = exact_cosines(vectors.reshape(len(near), -1) if near else vectors, asked.vector)
    floor = max(asked.min_cosine, COSINE_FLOOR)
    return ((e.uuid, c) for e, c in zip(near, cosines.tolist(), strict=True) if c > floor)


def _best(group_id: str, scored: Iterable[tuple[str, float]], count: int) -> RankList:
    low = ((-round(score, _DIGITS), (uuid, group_id)) for uuid, score in scored)
    return sorted(entry for entry in low if entry[0] < 0)[:count]
