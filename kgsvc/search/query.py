"""English words that carry grammar rather than content.

A question is half made of them, and in a small group BM25's own statistics do not yet show that they say
little. They weigh less in a query instead of being dropped, so that a query of nothing else still finds.
On the development sets: recall@10 of LoCoMo 58.8 → 63.8, of 2Wiki 81.4 → 80.5.
"""

from __future__ import annotations

from dataclasses import dataclass

from kgsvc.domain.text import is_cjk, query_terms, tokens

WEIGHT = 0.25

FUNCTION_WORDS = frozenset(
    tokens(
        "a an the this that these those it its i me my you your he him his she her we us our they them their "
        "is are was were be been being am do does did done has have had having can could will would shall "
        "should may might must of to in on at for from by with about as into than then so "
        "and or but if what which who whom whose when where why how there"
    )
)


def weight(term: str) -> float:
    """How much a term counts in a query, 1 for words of content."""
    return WEIGHT if term in FUNCTION_WORDS else 1.0


@dataclass(frozen=True, slots=True)
class Term:
    """A search term, what it counts, and whether it also matches the bigrams that begin with it."""

    text: str
    weight: float = 1.0
    by_prefix: bool = False


def parse(text: str) -> tuple[Term, ...]:
    """The distinct terms of a query, at most 256 (kgsvc.domain.text.query_terms)."""
    terms = query_terms(text)
    single = {term for term in terms if len(term) == 1 and is_cjk(term)}
    lone = single and single & _standing_alone(text)
    return tuple(Term(term, weight(term), term in lone) for term in terms)


def _standing_alone(text: str) -> set[str]:
    """CJK characters that are a whole run by themselves, not the last one of a longer run.

    A longer run's last character follows the bigram that ends with it.
    """
    terms = tokens(text)
    return {
        term
        for before, term in zip(["", *terms], terms, strict=False)
        if len(term) == 1 and not (len(before) == 2 and before[1] == term and is_cjk(before))
    }
