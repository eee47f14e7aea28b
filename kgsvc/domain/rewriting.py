"""Summaries in a model's words: when they are asked for, of what, and what becomes of the answer. Pure.

A model is asked where the sentences of an entity are more than a summary shows, and not again until a
quarter of those it was shown have changed: of an entity that is spoken of all the time few are. It is shown
facts alone, never what an episode said in passing, so that each of its sources can be followed. Its text
leaves room for what is told next.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from kgsvc.domain.model import Entity, Fact, Rewriting, SummaryPart
from kgsvc.domain.summary import (
    OF_EPISODE,
    SHOWN,
    is_authored,
    lasts,
    latest,
    news,
    part_of,
    sentences,
    size,
    told,
    words_of,
)
from kgsvc.domain.text import normalise

TEXT = 400  # characters of a model's text
SOURCES = 32  # facts that it is made from, the latest
_SOURCE_CHARS = 3_000
_SHARE = 4  # one of so many must have changed
_FIGURES = re.compile(r"\d+")


def is_due(entity: Entity) -> bool:
    """Whether a model should be asked, as far as the entity tells: of what, `has_news` sees."""
    if is_authored(entity):
        return False
    made = entity.rewriting
    if made is None:
        return size(entity.summary_parts) - 1 > SHOWN
    later = [part for part in news(entity.summary_parts, made) if not part.key.startswith(OF_EPISODE)]
    if not _is_much(later, made):
        return False
    if made.text:
        return size(later) > SHOWN - len(made.text)
    return size(entity.summary_parts) - 1 > SHOWN


def has_news(entity: Entity, sources: Sequence[SummaryPart]) -> bool:
    """Whether enough of what a model would be shown is new to it. The parts of a summary are others: they
    tell facts with an end too, and of many that began at once not the same are the last."""
    made = entity.rewriting
    return bool(sources) and (made is None or _is_much(news(sources, made), made))


def _is_much(later: Sequence[SummaryPart], made: Rewriting) -> bool:
    changed = len(later) + made.made_of - len(made.sources)
    return _SHARE * changed >= made.made_of or size(later) > SHOWN


def sources_of(facts: Iterable[Fact], now_ms: int) -> tuple[SummaryPart, ...]:
    """What the model is shown of these facts of an entity, the latest that have room, in their order."""
    parts = sorted(
        (part_of(fact) for fact in facts if lasts(fact, now_ms)), key=lambda p: (p.start_ms, p.text)
    )
    return tuple(latest(parts, _SOURCE_CHARS)[-SOURCES:])


def still_hold(
    entity: Entity, sources: Sequence[SummaryPart], facts: Mapping[str, Fact], now_ms: int
) -> bool:
    """Whether a text that was made from them may be told: all are there, of this entity, in these words."""
    if is_authored(entity) or not sources:
        return False
    for part in sources:
        fact = facts.get(part.key)
        if fact is None or not lasts(fact, now_ms) or part_of(fact).text != part.text:
            return False
        if entity.uuid not in (fact.source_uuid, fact.target_uuid):
            return False
    return True


def rewritten(entity: Entity, sources: Sequence[SummaryPart], text: str, system_ms: int) -> Entity:
    """The entity with the text of a model, cut at a sentence; without one, or where it names figures that
    nobody told, it keeps its own words, and the model is not asked again before others would be made from."""
    kept = tuple((part.key, words_of(part)) for part in sources)
    told_of = _figures(entity.name).union(*(_figures(part.text) for part in sources))
    made = Rewriting(sentences(text, TEXT) if _figures(text) <= told_of else "", kept, len(kept))
    summary = told(entity.summary_parts, made)
    return replace(entity, rewriting=made, summary=summary, updated_ms=system_ms)


def _figures(text: str) -> set[str]:
    return set(_FIGURES.findall(normalise(text)))
