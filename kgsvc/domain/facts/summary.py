"""Summaries of entities: composed from what is current, at most 500 characters, cut at a sentence. Pure.

A caller's own text is left alone. Else the latest sentences that fit are shown in their order; some more are
kept, so that others can take the place of those that cease to hold. A model's rewriting of them is shown in
their place, with later sentences behind it, until a fact that it was made from ceases to hold.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from kgsvc.domain.facts.slots import relation_of
from kgsvc.domain.model.graph import ENDED, Entity, Fact, FactKind, Polarity, Rewriting, SummaryPart
from kgsvc.domain.model.keys import ASSERTED, digest, stamped_ms
from kgsvc.domain.text import normalise

SHOWN = 500  # characters of a summary
KEPT = 32  # parts that are kept
_KEPT_CHARS = 2 * SHOWN
OF_EPISODE = "episode:"  # begins the key of a part that an episode gave as summary of the entity
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DIGITS = 16  # of a digest of words
_ENDS = re.compile(r"[.!?…。！？](?=\s|$)|[。！？]")


def is_authored(entity: Entity) -> bool:
    """Whether the summary is a caller's."""
    return entity.stamps.get("summary") == ASSERTED


def summary_facts(entity: Entity) -> tuple[str, ...]:
    """The facts that the summary was composed from, in the order of its sentences."""
    if is_authored(entity):
        return ()
    retold, parts = _retold(entity.summary_parts, entity.rewriting)
    keys = [key for key, _ in retold.sources] if retold else []
    return tuple(key for key in [*keys, *(part.key for part in parts)] if not key.startswith(OF_EPISODE))


def part_of(fact: Fact) -> SummaryPart:
    """A fact as a sentence of the summary of either end, with its end if it has one."""
    end = (
        "" if fact.invalid_ms is None else f" (– {_EPOCH + timedelta(milliseconds=fact.invalid_ms):%Y-%m-%d})"
    )
    return SummaryPart(fact.start_ms, fact.uuid, sentences(fact.fact, SHOWN - len(end)) + end)


def holds(fact: Fact, now_ms: int) -> bool:
    """Whether a summary may state the fact."""
    ended = fact.invalid_ms is not None and fact.invalid_ms <= now_ms
    return fact.expired_ms is None and fact.start_ms <= now_ms and not ended


def recomposed(entity: Entity, changed: Iterable[Fact], removed: Collection[str], now_ms: int) -> Entity:
    """The entity with the summary it has once `changed` facts of it are written and `removed` keys are gone;
    itself if that is the same."""
    changed = list(changed)
    parts = {part.key: part for part in _with_own(entity) if part.key not in removed}
    for fact in changed:
        parts.pop(fact.uuid, None)
        if holds(fact, now_ms):
            parts[fact.uuid] = part_of(fact)
        elif fact.start_ms <= now_ms:  # it is over; one that is yet to begin ends nothing
            for told in fact.evidence:
                if told.stated_invalid_ms is None and told.says != ENDED:
                    # What that episode said of the entity beside may be over too.
                    parts.pop(OF_EPISODE + told.episode_uuid, None)
    # By words before keys: uuids differ between groups of the same content.
    ordered = sorted(parts.values(), key=lambda part: (part.start_ms, part.text, part.key))
    kept = tuple(latest(ordered, _KEPT_CHARS)[-KEPT:])
    rewriting = _upheld(entity, changed, removed, now_ms)
    text = entity.summary if is_authored(entity) else composed_text(kept, rewriting)
    if (text, kept, rewriting) == (entity.summary, entity.summary_parts, entity.rewriting):
        return entity
    return replace(entity, summary=text, summary_parts=kept, rewriting=rewriting, updated_ms=now_ms)


def composed_text(parts: Sequence[SummaryPart], rewriting: Rewriting | None) -> str:
    """The summary that they make, a line for each."""
    retold, shown = _retold(parts, rewriting)
    return "\n".join([*([retold.text] if retold else []), *(part.text for part in shown)])


def _is_composed(entity: Entity) -> bool:
    """Whether the summary is what its parts make; sentences were parted by spaces before."""
    made = composed_text(entity.summary_parts, entity.rewriting)
    return entity.summary.split() == made.split()


def news(parts: Iterable[SummaryPart], rewriting: Rewriting) -> list[SummaryPart]:
    """The parts that it was not made from."""
    keys, words = dict(rewriting.sources), {each for _, each in rewriting.sources}
    return [part for part in parts if part.key not in keys and words_of(part) not in words]


def words_of(part: SummaryPart) -> str:
    """By what the words of a part are recognised."""
    return digest(part.text)[:_DIGITS]


def with_parts(entity: Entity, parts: Iterable[SummaryPart]) -> Entity:
    """The entity with these parts of its summary alone, in their own words."""
    kept = tuple(parts)
    composed = not is_authored(entity) and _is_composed(entity)
    summary = composed_text(kept, None) if composed else entity.summary
    return replace(entity, summary=summary, summary_parts=kept, rewriting=None)


def lacks(before: Entity, after: Entity) -> bool:
    """Whether there is room again for facts that had been left out."""
    return size(before.summary_parts) >= SHOWN > size(after.summary_parts) and not is_authored(after)


def _upheld(
    entity: Entity, changed: Iterable[Fact], removed: Collection[str], now_ms: int
) -> Rewriting | None:
    """The rewriting; without its text and those sources that no longer hold or have other words now."""
    made = entity.rewriting
    if made is None or is_authored(entity):
        return None
    present = {fact.uuid: words_of(part_of(fact)) if holds(fact, now_ms) else "" for fact in changed}
    left = tuple(
        (key, words) for key, words in made.sources if key not in removed and present.get(key, words) == words
    )
    return made if left == made.sources else replace(made, text="", sources=left)


def _own(entity: Entity) -> str:
    """The key of the part that is an episode's own summary of the entity."""
    return OF_EPISODE + entity.stamps.get("summary", "").partition("/")[2]


def _with_own(entity: Entity) -> Iterable[SummaryPart]:
    """The parts, with the latest summary that an episode gave of the entity itself, by its stamp. A summary
    without a stamp came with an adopted graph."""
    stamp = entity.stamps.get("summary")
    if stamp == ASSERTED:
        return [part for part in entity.summary_parts if not part.key.startswith(OF_EPISODE)]
    own_key = _own(entity)
    if _is_composed(entity) and all(
        p.key == own_key for p in entity.summary_parts if p.key.startswith(OF_EPISODE)
    ):
        return entity.summary_parts
    if stamp is None:
        older = SummaryPart(entity.created_ms, OF_EPISODE, sentences(entity.summary))
        return entity.summary_parts or ([older] if entity.summary else [])
    if any(part.key == own_key for part in entity.summary_parts):
        return entity.summary_parts
    own = SummaryPart(stamped_ms(stamp), own_key, sentences(entity.summary))
    return [*(part for part in entity.summary_parts if not part.key.startswith(OF_EPISODE)), own]


def _retold(
    parts: Sequence[SummaryPart], rewriting: Rewriting | None
) -> tuple[Rewriting | None, list[SummaryPart]]:
    """The rewriting, if it has a text, and the parts that are shown behind it."""
    if rewriting is None or not rewriting.text:
        return None, latest(parts, SHOWN)
    return rewriting, latest(news(parts, rewriting), SHOWN - len(rewriting.text) - 1)


def latest(parts: Sequence[SummaryPart], room: int) -> list[SummaryPart]:
    """The last ones that fit together, a character between them; no sentence twice."""
    taken: list[SummaryPart] = []
    seen: set[str] = set()
    for part in reversed(parts):
        if part.text in seen or not part.text:
            continue
        room -= len(part.text) + bool(taken)
        if room < 0:
            break
        seen.add(part.text)
        taken.append(part)
    return taken[::-1]


def size(parts: Iterable[SummaryPart]) -> int:
    """Characters, with a space behind each."""
    return sum(len(part.text) + 1 for part in parts)


def sentences(text: str, room: int = SHOWN) -> str:
    """The text as whole sentences within `room` characters; of one that is longer its first words."""
    flat = " ".join(text.split())
    if len(flat) >= room:
        ends = [found.end() for found in _ENDS.finditer(flat, 0, room)]
        flat = flat[: ends[-1]] if ends else flat[: room - 1].rpartition(" ")[0] or flat[: room - 1]
    return flat if not flat or _ENDS.search(flat[-1]) else f"{flat}."


TEXT = 400  # characters of a model's text
SOURCES = 32  # facts that it is made from
_SOURCE_CHARS = 3_000
_SHARE = 4  # one of so many must have changed
_FIGURES = re.compile(r"\d+")


def is_due(entity: Entity) -> bool:
    """Whether a model may have to be asked, by the entity alone; `has_news` decides by its facts."""
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
    """Whether enough of what a model would be shown is new since its last rewriting. These are not the parts
    of the summary: those include facts with an end, and of many that began at once others may be the last."""
    made = entity.rewriting
    return bool(sources) and (made is None or _is_much(news(sources, made), made))


def _is_much(later: Sequence[SummaryPart], made: Rewriting) -> bool:
    changed = len(later) + made.made_of - len(made.sources)
    return _SHARE * changed >= made.made_of or size(later) > SHOWN


def sources_of(entity_uuid: str, facts: Iterable[Fact], now_ms: int) -> tuple[SummaryPart, ...]:
    """What the model is shown of these facts of an entity, in the order in which they began: the latest that
    have room. Half of it is for what the entity has only one of (home, employer, price), however long ago
    that began. What something is not is left out where it is known what it is instead."""
    holding = _without_answered_denials([fact for fact in facts if holds(fact, now_ms)])
    only = (fact for fact in holding if fact.kind is FactKind.FUNCTIONAL and fact.source_uuid == entity_uuid)
    first = latest(_in_order(map(part_of, only)), _SOURCE_CHARS // 2)[-SOURCES // 2 :]
    told = {part.text for part in first}
    others = [part for part in _in_order(map(part_of, holding)) if part.text not in told]
    more = latest(others, _SOURCE_CHARS - size(first))[-(SOURCES - len(first)) :]
    return tuple(_in_order([*first, *more]))


def _without_answered_denials(facts: Sequence[Fact]) -> list[Fact]:
    known = {
        (fact.source_uuid, fact.name)
        for fact in facts
        if fact.polarity is Polarity.ASSERTS and fact.kind is FactKind.FUNCTIONAL
    }
    return [
        fact
        for fact in facts
        if fact.polarity is not Polarity.DENIES or (fact.source_uuid, relation_of(fact)) not in known
    ]


def _in_order(parts: Iterable[SummaryPart]) -> list[SummaryPart]:
    return sorted(parts, key=lambda part: (part.start_ms, part.text))


def still_hold(
    entity: Entity, sources: Sequence[SummaryPart], facts: Mapping[str, Fact], now_ms: int
) -> bool:
    """Whether a text made from them may be shown: all facts still hold, of this entity, in these words."""
    if is_authored(entity) or not sources:
        return False
    for part in sources:
        fact = facts.get(part.key)
        if fact is None or not holds(fact, now_ms) or part_of(fact).text != part.text:
            return False
        if entity.uuid not in (fact.source_uuid, fact.target_uuid):
            return False
    return True


def rewritten(entity: Entity, sources: Sequence[SummaryPart], text: str, system_ms: int) -> Entity:
    """The entity with the text of a model, cut at a sentence. Without a text, or where it holds numbers that
    its sources do not, the entity keeps its own sentences; the model is asked again only once enough has
    changed."""
    kept = tuple((part.key, words_of(part)) for part in sources)
    known = _figures(entity.name).union(*(_figures(part.text) for part in sources))
    made = Rewriting(sentences(text, TEXT) if _figures(text) <= known else "", kept, len(kept))
    summary = composed_text(entity.summary_parts, made)
    return replace(entity, rewriting=made, summary=summary, updated_ms=system_ms)


def _figures(text: str) -> set[str]:
    return {figure.lstrip("0") for figure in _FIGURES.findall(normalise(text))}
