"""A question as it is searched for: its terms with their weights, and its vector."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from kgsvc.domain.errors import StepError
from kgsvc.domain.model.delta import NameView
from kgsvc.domain.model.keys import name_key
from kgsvc.domain.names.namesakes import namesakes_of, plain
from kgsvc.domain.text import is_cjk, normalise, query_terms, tokens
from kgsvc.models.embedding import CachingEmbedder
from kgsvc.models.protocol import Embedder
from kgsvc.search.settings import SearchSettings

# English words that carry grammar rather than content. A question is half made of them, and in a small group
# BM25's own statistics do not yet show that they say little. They weigh less in a query instead of being
# dropped, so that a query of nothing else still finds. On the development sets: recall@10 of LoCoMo 58.8 ->
# 63.8, of 2Wiki 81.4 -> 80.5.
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


_NAMED_TERMS = 256  # that names add to a query: it may mean hundreds of names of as many words each


def with_names(terms: tuple[Term, ...], names: Iterable[str]) -> tuple[Term, ...]:
    """Terms with those of names that are meant by them: together a name counts as much as one word."""
    known = {term.text for term in terms}
    more: dict[str, float] = {}
    for name in names:
        missing = [text for text in query_terms(name) if text not in known]
        more |= {text: 1.0 / len(missing) for text in missing}
    return (*terms, *(Term(text, worth) for text, worth in islice(more.items(), _NAMED_TERMS)))


# Words for the same role: a question calls it by one, the text by another.
_SAME_ROLE = (
    "boss manager supervisor",
    "colleague coworker",
    "doctor physician gp",
    "flatmate roommate housemate",
    "landlord landlady",
    "mother mum mom mummy",
    "father dad daddy",
    "grandmother grandma granny",
    "grandfather grandpa granddad",
    "kid child",
    "attorney lawyer solicitor",
    "vorgesetzter vorgesetzte",
)
_ROLES = {role: frozenset(tokens(line)) for line in _SAME_ROLE for role in tokens(line)}


def with_roles(terms: tuple[Term, ...]) -> tuple[Term, ...]:
    """Terms with the other words for the roles among them, each of which counts as much."""
    known = {term.text for term in terms}
    more = {
        other: term.weight for term in terms for other in sorted(_ROLES.get(term.text, frozenset()) - known)
    }
    return (*terms, *(Term(text, worth) for text, worth in more.items()))


def lighter(terms: tuple[Term, ...], words: str) -> tuple[Term, ...]:
    """Terms, of which those of some words count no more than function words."""
    light = set(tokens(words))
    return tuple(
        replace(term, weight=min(term.weight, WEIGHT)) if term.text in light else term for term in terms
    )


_NAME_WORD = re.compile(r"\w+(?:[-.]\w+)*")  # "Liz's" is "liz" and "s"
_NAME_WORDS = 4  # of an alias that is looked for
_NAMED_CHARS = 1_000  # of a question in which they are looked for


def may_be_names(question: str) -> list[str]:
    """The runs of words of a question that may be aliases, as name keys, in its order."""
    words = _NAME_WORD.findall(normalise(question[:_NAMED_CHARS]))
    sizes = range(1, _NAME_WORDS + 1)
    return list(dict.fromkeys(" ".join(words[at : at + size]) for at in range(len(words)) for size in sizes))


def names_meant(view: NameView, runs: Iterable[str]) -> tuple[str, ...]:
    """The names of entities that are called by an alias, in the order of `runs`."""
    found: dict[str, None] = {}
    for run in runs:
        names = sorted({view.by_key[key].name for key in namesakes_of(run) & view.by_key.keys()})
        found |= dict.fromkeys(name for name in names if plain(name_key(name)) != run)
    return tuple(found)


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


_log = logging.getLogger("kgsvc.search")
_CACHED_BYTES = 8 * 1024 * 1024


class QueryVectors:
    """Embeds queries; what cannot be embedded is None, so that keywords alone answer."""

    def __init__(self, embedder: Embedder | None, settings: SearchSettings) -> None:
        self._embedder = CachingEmbedder(embedder, _CACHED_BYTES) if embedder else None
        self._timeout_s = settings.embed_timeout_s

    async def of(self, text: str) -> NDArray[np.float32] | None:
        """The query's unit vector; None without an embedder, when it fails or takes too long."""
        if self._embedder is None:
            return None
        try:
            async with asyncio.timeout(self._timeout_s):
                vectors = await self._embedder.vectors([text])
        except (StepError, TimeoutError) as error:
            _log.warning("query not embedded, searching by keyword only: %s", type(error).__name__)
            return None
        return np.frombuffer(vectors[text], "<f4")
