"""The keyword policy (spec 004 §10): which words a fact is found by."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from kgsvc.domain.model import Fact
from kgsvc.domain.text import tokens

# A qualifier that carries a content hash, no words (kgsvc.domain.identity.event_qualifiers).
_NO_WORDS = frozenset({"event"})


def keyword_text(fact: Fact) -> str:
    """Everything a fact is found by: its text, the names of both ends, the relation's words, its keywords,
    the values of its qualifiers and those attributes that are plain strings."""
    return "\n".join((fact.fact, *_beside_text(fact)))


def keyword_counts(text: str) -> Counter[str]:
    """How often each term occurs in a keyword text."""
    return Counter(tokens(text))


def _beside_text(fact: Fact) -> Iterator[str]:
    yield fact.source_name
    yield fact.target_name
    yield fact.name
    yield from fact.keywords
    yield from (value for key, value in fact.qualifiers.items() if key not in _NO_WORDS)
    yield from (value for value in fact.attributes.values() if isinstance(value, str))
