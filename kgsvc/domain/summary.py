"""Summaries of entities: composed from what is current, at most 500 characters, cut at a sentence. Pure.

A caller's own text is left alone. Else the latest sentences that fit are shown in their order; some more are
kept, so that those that cease to hold leave no gap.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import replace

from kgsvc.domain.model import Entity, Fact, SummaryPart

SHOWN = 500  # characters of a summary
KEPT = 32  # parts that are kept
_KEPT_CHARS = 2 * SHOWN
_ASSERTED = "99999999999999999/"  # the stamp of what AddEntityNode set
OF_EPISODE = "episode:"  # how the key of a part begins that an episode said of the entity itself
_SHIFT_MS = 10**15  # of the times in stamps
_ENDS = re.compile(r"[.!?…。！？](?=\s|$)|[。！？]")


def is_authored(entity: Entity) -> bool:
    """Whether the summary is a caller's."""
    return entity.stamps.get("summary") == _ASSERTED


def summary_facts(entity: Entity) -> tuple[str, ...]:
    """The facts that the summary was composed from, in the order of its sentences."""
    if is_authored(entity):
        return ()
    return tuple(part.key for part in _shown(entity.summary_parts) if not part.key.startswith(OF_EPISODE))


def part_of(fact: Fact) -> SummaryPart:
    """A fact as a sentence of the summary of either end."""
    return SummaryPart(fact.start_ms, fact.uuid, _sentence(fact.fact))


def holds(fact: Fact, now_ms: int) -> bool:
    """Whether a summary may tell it."""
    ended = fact.invalid_ms is not None and fact.invalid_ms <= now_ms
    return fact.expired_ms is None and fact.start_ms <= now_ms and not ended


def recomposed(entity: Entity, changed: Iterable[Fact], removed: Collection[str], now_ms: int) -> Entity:
    """The entity with the summary it has once `changed` facts of it are written and `removed` keys are gone;
    itself if that is the same."""
    parts = {part.key: part for part in _with_own(entity) if part.key not in removed}
    for fact in changed:
        parts.pop(fact.uuid, None)
        if holds(fact, now_ms):
            parts[fact.uuid] = part_of(fact)
    # By words before keys: uuids differ between groups that were told the same.
    ordered = sorted(parts.values(), key=lambda part: (part.start_ms, part.text, part.key))
    kept = tuple(_latest(ordered, _KEPT_CHARS)[-KEPT:])
    text = entity.summary if is_authored(entity) else " ".join(part.text for part in _shown(kept))
    if (text, kept) == (entity.summary, entity.summary_parts):
        return entity
    return replace(entity, summary=text, summary_parts=kept, updated_ms=now_ms)


def lacks(before: Entity, after: Entity) -> bool:
    """Whether facts that were left out for want of room may have their place now."""
    return _size(before.summary_parts) >= SHOWN > _size(after.summary_parts) and not is_authored(after)


def _with_own(entity: Entity) -> Iterable[SummaryPart]:
    """The parts, with what an episode said of the entity itself: the latest alone, by its stamp. A summary
    without a stamp came with a graph that was taken over."""
    stamp = entity.stamps.get("summary")
    if stamp == _ASSERTED:
        return [part for part in entity.summary_parts if not part.key.startswith(OF_EPISODE)]
    if stamp is None:
        older = SummaryPart(entity.created_ms, OF_EPISODE, _sentence(entity.summary))
        return entity.summary_parts or ([older] if entity.summary else [])
    shifted, _, episode = stamp.partition("/")
    key = OF_EPISODE + episode
    if any(part.key == key for part in entity.summary_parts):
        return entity.summary_parts
    own = SummaryPart(int(shifted) - _SHIFT_MS, key, _sentence(entity.summary))
    return [*(part for part in entity.summary_parts if not part.key.startswith(OF_EPISODE)), own]


def _shown(parts: Iterable[SummaryPart]) -> list[SummaryPart]:
    return _latest(list(parts), SHOWN)


def _latest(parts: list[SummaryPart], room: int) -> list[SummaryPart]:
    """The last ones that fit together, one blank between them; no sentence twice."""
    taken: list[SummaryPart] = []
    said: set[str] = set()
    for part in reversed(parts):
        if part.text in said or not part.text:
            continue
        room -= len(part.text) + bool(taken)
        if room < 0:
            break
        said.add(part.text)
        taken.append(part)
    return taken[::-1]


def _size(parts: Iterable[SummaryPart]) -> int:
    return sum(len(part.text) + 1 for part in parts)


def _sentence(text: str) -> str:
    """The text as whole sentences within a summary's room; of one that is longer its first words."""
    flat = " ".join(text.split())
    if len(flat) >= SHOWN:
        ends = [found.end() for found in _ENDS.finditer(flat, 0, SHOWN)]
        flat = flat[: ends[-1]] if ends else flat[: SHOWN - 1].rpartition(" ")[0] or flat[: SHOWN - 1]
    return flat if not flat or _ENDS.search(flat[-1]) else f"{flat}."
