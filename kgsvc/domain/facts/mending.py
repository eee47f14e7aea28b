"""Former values that were taken for the end of the present one become rows of their own again. Pure.

Until schema 28 of the embedded store and 20 of Neo4j the end of any value of a thing (its price, its status)
closed whatever value held. The statements are still there, with the row that they closed.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

from kgsvc.domain.facts.beliefs import all_remembering
from kgsvc.domain.facts.slots import REBUILT_REASONS, Slot, names_of_ends, relation_of, wording_of
from kgsvc.domain.facts.statements import EdgeStatement
from kgsvc.domain.facts.values import value_of
from kgsvc.domain.model.delta import SlotView
from kgsvc.domain.model.graph import ENDED, Evidence, Fact, Polarity


def with_values_apart(group_id: str, view: SlotView, system_ms: int) -> tuple[Fact, ...]:
    """What changes when ends stand with the values that they name, where it is sure that they name others."""
    taken = {fact.uuid for fact in view.facts} | {stone.uuid for stone in view.tombstones}
    names = names_of_ends(view.facts)
    by_slot: defaultdict[str, list[Fact]] = defaultdict(list)
    for fact in view.facts:
        by_slot[fact.slot].append(fact)
    changed: dict[str, Fact] = {}
    for key, facts in sorted(by_slot.items()):
        strays = {fact.uuid: strays_of(fact) for fact in facts if fact.expired_reason in REBUILT_REASONS}
        if any(strays.values()):
            left = [_without(fact, strays.get(fact.uuid, [])) for fact in facts]
            told = [_end(fact, each) for fact in facts for each in strays.get(fact.uuid, [])]
            folded = Slot(group_id, key, left, told).folded((), taken, names, system_ms)
            changed |= {fact.uuid: fact for fact in left if strays.get(fact.uuid)}
            changed |= {fact.uuid: fact for fact in folded}
    return tuple(all_remembering(view.facts, changed, system_ms).values())


def strays_of(fact: Fact) -> list[Evidence]:
    """Ends of other values among the statements of a value."""
    if fact.source_uuid != fact.target_uuid or fact.polarity is not Polarity.ASSERTS:
        return []
    judged = {closure.by_episode for closure in fact.closures}
    at_once = fact.invalid_ms == fact.start_ms  # nothing ends as it begins
    return [
        each
        for each in fact.evidence[1:]
        if each.says == ENDED and each.episode_uuid not in judged and _differ(fact, each.said, at_once)
    ]


def _differ(fact: Fact, said: str, at_once: bool) -> bool:
    """Whether two values surely differ: they have no figure in common, or the row ended as it began.
    Words may tell the end of a value without naming it."""
    own, other = (value_of(text, fact.source_name, relation_of(fact)) for text in (fact.fact, said))
    if not said or own == other:
        return False
    figures = own.startswith("#") and other.startswith("#")
    return at_once or (figures and set(own[1:].split()).isdisjoint(other[1:].split()))


def _without(fact: Fact, strays: list[Evidence]) -> Fact:
    if not strays:
        return fact
    return replace(fact, evidence=tuple(each for each in fact.evidence if each not in strays))


def _end(fact: Fact, stray: Evidence) -> EdgeStatement:
    about = value_of(stray.said, fact.source_name, relation_of(fact))
    wording = replace(wording_of(fact), polarity=Polarity.ENDS, fact=stray.said, about=about)
    return EdgeStatement(wording, stray, fact.asserted)
