"""How often each term occurs in what something is found by."""

from __future__ import annotations

from collections import Counter

from kgsvc.domain.fact_terms import keyword_text
from kgsvc.domain.text import tokens

__all__ = ["keyword_counts", "keyword_text"]


def keyword_counts(text: str) -> Counter[str]:
    """How often each term occurs in a keyword text."""
    return Counter(tokens(text))
