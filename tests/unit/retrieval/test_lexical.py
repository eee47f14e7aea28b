"""BM25 against the formula written out, term by term and fact by fact."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgsvc.domain.text import tokens
from kgsvc.retrieval import lexical
from kgsvc.retrieval.document import keyword_text
from kgsvc.retrieval.function_words import WEIGHT, weight
from kgsvc.retrieval.group_index import GroupIndex
from kgsvc.retrieval.query import Query, parse
from tests.unit.retrieval.feed import NOW, fact, indexed, page, patient

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
            norm = lexical.K1 * (1 - lexical.B + lexical.B * len(document) / mean)
            total += weight(term) * idf * count * (lexical.K1 + 1) / (count + norm)
        if total > 0:
            scores[uuid] = total
    return scores


def by_keyword(index: GroupIndex, query: str) -> dict[str, float]:
    found = index.candidates(Query(parse(query), None, NOW, 1000))
    assert found.keyword == sorted(found.keyword)
    return {uuid: -low for low, (uuid, _) in found.keyword}


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
