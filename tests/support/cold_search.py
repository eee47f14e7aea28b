"""ColdSearchStore over facts in dicts: an oracle, which finds exactly the best."""

from collections import Counter
from collections.abc import Iterable

import numpy as np

from kgsvc.domain.model.delta import GroupHead
from kgsvc.domain.model.graph import Fact, keyword_text
from kgsvc.domain.text import firsts, tokens
from kgsvc.stores.search_protocol import FactCandidate, FactCandidates, FactsAsked, IndexedFact


def candidates_among(head: GroupHead, rows: Iterable[IndexedFact], asked: FactsAsked) -> FactCandidates:
    """See ColdSearchStore; every visible fact that holds a term or is near is a candidate."""
    keyword: list[FactCandidate] = []
    semantic: list[FactCandidate] = []
    facts = total_length = 0
    frequencies = Counter[str]()
    for row in rows:
        terms = tokens(keyword_text(row.fact))
        held, begun = Counter(terms), Counter(firsts(terms))
        counts = {t: held[t] for t in asked.terms if t in held}
        counts |= {p: begun[p] for p in asked.prefixes if p in begun}
        facts, total_length = facts + 1, total_length + len(terms)
        frequencies.update(counts.keys())
        if _is_visible(row.fact, asked.now_ms):
            vector = _vector(row, asked)
            if counts:
                with_it = vector if asked.all_vectors else None
                keyword.append(_candidate(row.fact, counts, len(terms), with_it))
            if (
                vector is not None
                and asked.vector is not None
                and _cosine(vector, asked.vector) > asked.min_cosine
            ):
                semantic.append(_candidate(row.fact, {}, 0, vector))
    return FactCandidates(head, facts, total_length, frequencies, tuple(keyword), tuple(semantic))


def _candidate(fact: Fact, counts: dict[str, int], length: int, vector: bytes | None) -> FactCandidate:
    return FactCandidate(fact.uuid, lambda: fact, counts, length, vector)


def _is_visible(fact: Fact, now_ms: int) -> bool:
    ended = fact.invalid_ms is not None and fact.invalid_ms <= now_ms
    return fact.expired_ms is None and fact.start_ms <= now_ms and not ended


def _vector(row: IndexedFact, asked: FactsAsked) -> bytes | None:
    fits = row.space == asked.space and (asked.vector is None or len(row.vector or b"") == len(asked.vector))
    return row.vector if fits else None


def _cosine(one: bytes, other: bytes) -> float:
    return float(np.frombuffer(one, "<f4").astype(float) @ np.frombuffer(other, "<f4").astype(float))
