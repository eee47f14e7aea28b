"""Words of an earlier message that a fact quotes, because without them it says nothing. Pure."""

from __future__ import annotations

import re
from dataclasses import replace

from kgsvc.domain.model.graph import Fact
from kgsvc.domain.names.merging import rekeyed

_QUOTATION = re.compile(r" \((?:asked|after) “([^”]*)”\)")


def asked(question: str) -> str:
    """How a short answer quotes what it answers."""
    return f"asked “{question}”"


def after(words: str) -> str:
    """How a correction quotes the speaker's own words before it."""
    return f"after “{words}”"


def quotation_end(body: str) -> str:
    """What is in every fact that quotes the end of this episode, and in few others; empty: none does."""
    last = body.split()[-1:]
    return f"{last[0]}”)" if last else ""


def without_quotations(text: str, body: str) -> str:
    """The text without what it quotes of this episode."""
    whole = " ".join(body.split())
    return _QUOTATION.sub(lambda found: "" if " ".join(found[1].split()) in whole else found[0], text)


def unquoted(fact: Fact, body: str, system_ms: int) -> Fact:
    """The fact without what it quotes of this episode; itself if it quotes nothing of it."""
    original = fact.original_fact
    left = replace(
        fact,
        fact=without_quotations(fact.fact, body),
        original_fact=None if original is None else without_quotations(original, body),
        evidence=tuple(replace(e, said=without_quotations(e.said, body)) for e in fact.evidence),
    )
    return fact if left == fact else rekeyed(replace(left, updated_ms=system_ms))
