"""DeleteEpisode with cascade: what the graph is without one episode. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from kgsvc.domain.facts.plan import refold
from kgsvc.domain.facts.summary import OF_EPISODE
from kgsvc.domain.model.delta import FactTombstone, SlotView
from kgsvc.domain.model.graph import Closure, Entity, Fact

_ASSERTED = ""  # in the stamp of a name: a caller made the entity


@dataclass(frozen=True, slots=True)
class Without:
    """What changes: rows to write, rows that go, how many are current again, which have other words now."""

    facts: tuple[Fact, ...]
    removed: tuple[FactTombstone, ...]
    restored: int
    reworded: Mapping[str, str] = field(default_factory=dict)  # facts with other words now, by uuid


def without_episode(view: SlotView, episode_uuid: str, system_ms: int) -> Without:
    """The slots of `view`, which holds every trace of the episode, as if it had never spoken.

    Rows that it alone supports go; others lose its statements; what it had ended, in its slot or by a
    closure elsewhere, is folded anew.
    """
    left = {fact.uuid: _stripped(fact, episode_uuid, system_ms) for fact in view.facts}
    slots: defaultdict[str, list[Fact]] = defaultdict(list)
    touched: set[str] = set()
    for fact in view.facts:
        rest = left[fact.uuid]
        if rest is not None:
            rest = _reopened(rest, left, episode_uuid, system_ms)
            slots[fact.slot].append(rest)
        if rest != fact:
            touched.add(fact.slot)
    taken = {fact.uuid for fact in view.facts} | {stone.uuid for stone in view.tombstones}
    names = {f.source_uuid: f.source_name for f in view.facts}
    names |= {f.target_uuid: f.target_name for f in view.facts}
    written: dict[str, Fact] = {}
    for slot in sorted(touched):
        written |= {fact.uuid: fact for fact in slots[slot] if fact not in view.facts}
        stated = [fact for fact in slots[slot] if fact.evidence]
        folded = refold(view.facts[0].group_id, slot, stated, taken, names, system_ms)
        written |= {fact.uuid: fact for fact in folded}
    gone = [fact for fact in view.facts if left[fact.uuid] is None]
    before = {fact.uuid: fact for fact in view.facts}
    restored = sum(
        fact.expired_ms is None and before[uuid].expired_ms is not None
        for uuid, fact in written.items()
        if uuid in before
    )
    reworded = {u: f.fact for u, f in written.items() if u in before and before[u].fact != f.fact}
    stones = tuple(_stone(fact, system_ms) for fact in gone)
    return Without(tuple(written.values()), stones, restored, reworded)


def _stripped(fact: Fact, episode_uuid: str, system_ms: int) -> Fact | None:
    """The fact without what the episode stated; itself if it stated nothing, None if nothing else did."""
    if episode_uuid not in fact.episodes:
        return fact
    episodes = tuple(uuid for uuid in fact.episodes if uuid != episode_uuid)
    if not episodes:
        return None
    evidence = tuple(e for e in fact.evidence if e.episode_uuid != episode_uuid)
    rest = replace(fact, evidence=evidence, episodes=episodes, updated_ms=system_ms)
    return rest if fact.asserted else _in_words_that_are_left(rest)


def _in_words_that_are_left(fact: Fact) -> Fact:
    """The fact as those who still tell it said it: in its own words if one of them used these; otherwise
    without the keywords and attributes, which came with the words."""
    if not fact.evidence or any(not e.said for e in fact.evidence):
        return fact
    words = min(fact.evidence).said
    evidence = tuple(replace(e, said="" if e.said == words else e.said) for e in fact.evidence)
    return replace(fact, fact=words, evidence=evidence, keywords=(), attributes={})


def _reopened(fact: Fact, left: Mapping[str, Fact | None], episode_uuid: str, system_ms: int) -> Fact:
    """The fact without the closures by the episode, unless others tell what closed it: then by the first."""
    closures: set[Closure] = set()
    for closure in fact.closures:
        by = left.get(closure.by_fact)
        if closure.by_episode != episode_uuid:
            closures.add(closure)
        elif by is not None and by.evidence:
            first = min(by.evidence)
            closures.add(Closure(first.start_ms, first.reference_ms, by.uuid, first.episode_uuid))
    kept = tuple(sorted(closures))
    return fact if kept == fact.closures else replace(fact, closures=kept, updated_ms=system_ms)


def _stone(fact: Fact, system_ms: int) -> FactTombstone:
    """It forbids nothing: another episode may say the same, even one that was accepted before."""
    return FactTombstone(fact.uuid, fact.slot, "", system_ms)


def without_words(entity: Entity, episode_uuid: str, system_ms: int) -> Entity:
    """The entity without the attributes and the summary that the episode gave it; itself if it gave none."""
    given = {part for part, stamp in entity.stamps.items() if stamp.partition("/")[2] == episode_uuid}
    given.discard("name")
    if not given:
        return entity
    return replace(
        entity,
        attributes={name: value for name, value in entity.attributes.items() if f"a.{name}" not in given},
        summary="" if "summary" in given else entity.summary,
        stamps={part: stamp for part, stamp in entity.stamps.items() if part not in given},
        summary_parts=tuple(part for part in entity.summary_parts if part.key != OF_EPISODE + episode_uuid),
        updated_ms=system_ms,
    )


def removable(entities: Sequence[Entity]) -> list[Entity]:
    """Those that go once nothing holds them: a caller's own stay."""
    return [entity for entity in entities if entity.stamps.get("name", _ASSERTED) != _ASSERTED]
