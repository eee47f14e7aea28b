"""UpdateFact (spec 000, soft update): the old row expires, a new one takes over its episodes. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kgsvc.domain.facts.plan import UPDATED, refold, relation_of
from kgsvc.domain.model.delta import SlotView
from kgsvc.domain.model.graph import Entity, Fact, FactKind, Polarity
from kgsvc.domain.model.identity import event_qualifiers, slot_of


@dataclass(frozen=True, slots=True)
class FactInput:
    """What a caller says instead of a fact; None keeps what is there."""

    uuid: str
    group_id: str | None
    fact: str
    source_uuid: str | None = None
    target_uuid: str | None = None
    attributes: Mapping[str, Any] | None = None
    reason: str | None = None


def says_so(fact: Fact, wanted: FactInput) -> bool:
    """Whether the fact is already as wanted."""
    kept = wanted.attributes is None or dict(wanted.attributes) == dict(fact.attributes)
    source, target = wanted.source_uuid or fact.source_uuid, wanted.target_uuid or fact.target_uuid
    return kept and (fact.fact, fact.source_uuid, fact.target_uuid) == (wanted.fact, source, target)


def successor(old: Fact, wanted: FactInput, ends: Mapping[str, Entity], uuid: str, system_ms: int) -> Fact:
    """The row that takes over from `old`: its interval, episodes and statements, other words. `ends` holds
    the entities that the caller named."""
    source, target = ends.get(wanted.source_uuid or ""), ends.get(wanted.target_uuid or "")
    qualifiers: Mapping[str, str] = old.qualifiers
    if old.kind is FactKind.EVENT and old.polarity is Polarity.ASSERTS:
        qualifiers = event_qualifiers(dict(old.qualifiers), wanted.fact, old.valid_ms)
    source_uuid = source.uuid if source else old.source_uuid
    target_uuid = target.uuid if target else old.target_uuid
    return replace(
        old,
        uuid=uuid,
        fact=wanted.fact,
        source_uuid=source_uuid,
        target_uuid=target_uuid,
        source_name=source.name if source else old.source_name,
        target_name=target.name if target else old.target_name,
        slot=slot_of(old.kind, source_uuid, relation_of(old), target_uuid, qualifiers),
        fact_key="",  # follows from the fold
        qualifiers=qualifiers,
        attributes=old.attributes if wanted.attributes is None else dict(wanted.attributes),
        created_ms=system_ms,
        updated_ms=system_ms,
        original_fact=old.fact,
        update_reason=wanted.reason,
        previous_uuid=old.uuid,
        closures=(),
        asserted=True,
    )


def correct(old: Fact, new: Fact, view: SlotView, system_ms: int) -> tuple[Fact, ...]:
    """Every row that changes when `new` takes over from `old`; `view` holds the slots of both.

    The rows around them are folded anew: what `old` had ended may be current again, and `new` stands in
    its slot as if its episodes had said so.
    """
    expired = replace(
        old,
        expired_ms=system_ms,
        expired_reason=UPDATED,
        expired_by_fact=new.uuid,
        invalid_before_ms=old.invalid_ms,
        updated_ms=system_ms,
    )
    written = {expired.uuid: expired, new.uuid: new}
    taken = {fact.uuid for fact in view.facts} | {stone.uuid for stone in view.tombstones} | {new.uuid}
    names = _names((*view.facts, new))
    for slot in sorted({old.slot, new.slot}):
        stays = [fact for fact in view.facts if fact.slot == slot and fact.uuid != old.uuid and fact.evidence]
        facts = [*stays, new] if slot == new.slot and new.evidence else stays
        for fact in refold(old.group_id, slot, facts, taken, names, system_ms):
            written[fact.uuid] = fact
    return tuple(written.values())


def _names(facts: Sequence[Fact]) -> dict[str, str]:
    names = {fact.source_uuid: fact.source_name for fact in facts}
    return names | {fact.target_uuid: fact.target_name for fact in facts}
