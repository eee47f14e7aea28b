"""What a search asks of one group's index."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from kgsvc.domain.text import is_cjk, query_terms, tokens
from kgsvc.retrieval.function_words import weight
from kgsvc.retrieval.fusion import Key, RankList
from kgsvc.retrieval.packing import Shown


@dataclass(frozen=True, slots=True)
class Term:
    """A search term, what it counts, and whether it also matches the bigrams that begin with it."""

    text: str
    weight: float = 1.0
    by_prefix: bool = False


@dataclass(frozen=True, slots=True)
class Query:
    """A search, ready to be run on any group."""

    terms: tuple[Term, ...]
    vector: NDArray[np.float32] | None  # unit length, of the index's space; None: keywords only
    now_ms: int
    candidates: int  # length of each rank list
    center_node_uuid: str | None = None
    min_cosine: float = 0.0  # what makes a candidate must be nearer than this


@dataclass(frozen=True, slots=True)
class Candidates:
    """One group's answer: a sorted rank list for each modality, hops from the center where there are any."""

    keyword: RankList = field(default_factory=list)
    semantic: RankList = field(default_factory=list)
    distances: dict[Key, int] = field(default_factory=dict)
    packed: dict[Key, Shown] = field(default_factory=dict)  # display fields of all that is in the lists


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
