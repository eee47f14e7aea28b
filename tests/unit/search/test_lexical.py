"""BM25 against the formula written out, term by term and fact by fact."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgsvc.domain import text as bm25
from kgsvc.domain.text import tokens
from kgsvc.search.index import bm25 as module
from kgsvc.search.index.bm25 import Corpus, strongest
from kgsvc.search.index.facts import GroupIndex
from kgsvc.search.index.postings import keyword_text
from kgsvc.search.index.word_blocks import Packed
from kgsvc.search.query import WEIGHT, parse, weight
from tests.unit.search.feed import NOW, fact, indexed, page, patient

WORDS = ["alpha", "beta", "gamma", "delta", "the", "of", "東京", "京都"]


def reference(documents: dict[str, list[str]], query: str) -> dict[str, float]:
    """Scores by uuid, straight from the formula."""
    mean = sum(map(len, documents.values())) / len(documents)
    scores: dict[str, float] = {}
    for uuid, document in documents.items():
        total = 0.0
        for term in dict.fromkeys(tokens(query)):
            holding = sum(term in other for other in documents.values())
            idf = math.log(1 + (len(documents) - holding + 0.5) / (holding + 0.5))
            count = document.count(term)
            norm = bm25.K1 * (1 - bm25.B + bm25.B * len(document) / mean)
            total += weight(term) * idf * count * (bm25.K1 + 1) / (count + norm)
        if total > 0:
            scores[uuid] = total
    return scores


def by_keyword(index: GroupIndex, query: str) -> dict[str, float]:
    found = index.by_keyword(parse(query), index.columns.current(index.rows, NOW), 1000)
    assert found == sorted(found)
    return {uuid: -low for low, uuid, _ in found}


texts = st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join)


@patient
@given(st.lists(texts, min_size=1, max_size=12), texts)
def test_scores_are_the_formula(facts: list[str], query: str) -> None:
    index = GroupIndex("g")
    rows = [fact(f"f{i}", text) for i, text in enumerate(facts)]
    index.apply(page(*map(indexed, rows)))
    expected = reference({row.uuid: tokens(keyword_text(row)) for row in rows}, query)
    assert by_keyword(index, query) == pytest.approx(expected, abs=1e-8)


def test_function_words_count_less_but_still_find() -> None:
    index = GroupIndex("g")
    index.apply(page(indexed(fact("a", "the whale")), indexed(fact("b", "a whale watched"))))
    assert list(by_keyword(index, "the")) == ["a"]
    assert WEIGHT < 1


def test_expired_facts_count_in_the_statistics_but_are_not_found() -> None:
    rows = [fact("a", "whale"), fact("b", "shark"), fact("c", "whale", expired_ms=NOW - 1)]
    index = GroupIndex("g")
    index.apply(page(*map(indexed, rows)))
    expected = reference({row.uuid: tokens(keyword_text(row)) for row in rows}, "whale")
    assert by_keyword(index, "whale") == pytest.approx({"a": expected["a"]}, abs=1e-8)


def test_repetitions_saturate() -> None:
    index = GroupIndex("g")
    index.apply(page(indexed(fact("a", "whale " * 300)), indexed(fact("b", "shark"))))
    assert 0 < by_keyword(index, "whale")["a"] < 2.2 * math.log(2)


@st.composite
def postings(draw: st.DrawFn) -> tuple[int, list[tuple[Packed, float]]]:
    """Terms of any frequency over some rows."""
    rows = draw(st.integers(1, 300))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    terms = []
    for share in draw(st.lists(st.sampled_from([0.005, 0.1, 0.5, 1.0]), min_size=1, max_size=7)):
        held = np.flatnonzero(rng.random(rows) < share)
        words = held << 8 | np.minimum(rng.geometric(0.6, len(held)), 20)
        terms.append((words.astype(np.uint32), float(rng.choice([1.0, 0.25]))))
    return rows, terms


@patient
@given(postings(), st.integers(1, 30), st.integers(0, 2**32 - 1), st.sampled_from([1.0, 0.5, 0.0]))
def test_going_through_the_strong_terms_alone_finds_the_same(
    made: tuple[int, list[tuple[Packed, float]]], count: int, seed: int, share: float
) -> None:
    rows, terms = made
    rng = np.random.default_rng(seed)
    lengths = rng.integers(20, 60, rows).astype(np.uint32)
    corpus, seen = Corpus(lengths, rows, int(lengths.sum())), rng.random(rows) < share
    best = []
    for few in (0, 10**6):
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(module, "_FEW", few)
            found, scores = strongest(terms, corpus, seen, count)
        assert (scores > 0).all()
        ranked = sorted(zip((-np.round(scores, 9)).tolist(), found.tolist(), strict=True))
        assert len({row for _, row in ranked}) == len(ranked)
        best.append(ranked[:count])
    assert best[0] == best[1]


def test_of_a_common_term_only_what_can_matter_is_looked_at() -> None:
    rows = 240_000
    rare = ((np.arange(300) * 700) << 8 | 1).astype(np.uint32)
    common = (np.arange(rows) << 8 | 1).astype(np.uint32)
    lengths = np.full(rows, 10, np.uint32)
    corpus = Corpus(lengths, rows, int(lengths.sum()))
    found, scores = strongest([(common, 1.0), (rare, 1.0)], corpus, np.ones(rows, np.bool_), 200)
    assert found.tolist() == (rare >> 8).tolist()
    assert len(set(scores.tolist())) == 1
