"""Taking over a graph that Graphiti wrote: its rows with the keys and evidence that ours have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kgsvc.domain.facts.slots import SUPERSEDED
from kgsvc.domain.model.graph import Closure, Entity, Evidence, Fact, FactKind
from kgsvc.domain.model.keys import fact_key, name_key, slot_of


@dataclass(frozen=True, slots=True)
class ForeignFact:
    """A fact as Graphiti keeps it. `episodes` maps the uuids of those that exist to their reference times."""

    uuid: str
    name: str
    fact: str
    source_uuid: str
    target_uuid: str
    source_name: str
    target_name: str
    created_ms: int
    valid_ms: int | None = None
    invalid_ms: int | None = None
    expired_ms: int | None = None
    episodes: Mapping[str, int] = field(default_factory=dict)
    attributes: Mapping[str, Any] = field(default_factory=dict)


def adopted_names(entities: Iterable[Entity], owned: Mapping[str, Entity]) -> dict[str, str]:
    """Whom each name that is not `owned` yet stands for: of several with one name the first made."""
    names: dict[str, str] = {}
    for entity in sorted(entities, key=lambda e: (e.created_ms, e.uuid)):
        key = name_key(entity.name)
        if key not in owned:
            names.setdefault(key, entity.uuid)
    return names


def adopted(group_id: str, foreign: ForeignFact) -> Fact:
    """The fact as one of ours, current or expired as it was.

    What had ended it is not known any more: it counts as a contradiction from outside, so that no later
    statement opens it again.
    """
    times = foreign.episodes.values()
    reference_ms = min(times, default=foreign.created_ms)
    start_ms = reference_ms if foreign.valid_ms is None else foreign.valid_ms
    expired = foreign.expired_ms is not None
    stated_end_ms = None if expired else foreign.invalid_ms
    end_ms = foreign.expired_ms if expired and foreign.invalid_ms is None else foreign.invalid_ms
    slot = slot_of(FactKind.STATE, foreign.source_uuid, foreign.name, foreign.target_uuid, {})
    known = sorted((ms, uuid) for uuid, ms in foreign.episodes.items()) or [(reference_ms, "")]
    return Fact(
        uuid=foreign.uuid,
        group_id=group_id,
        name=foreign.name,
        fact=foreign.fact,
        source_uuid=foreign.source_uuid,
        target_uuid=foreign.target_uuid,
        source_name=foreign.source_name,
        target_name=foreign.target_name,
        created_ms=foreign.created_ms,
        reference_ms=reference_ms,
        slot=slot,
        fact_key=fact_key(slot, foreign.target_uuid, start_ms, foreign.fact),
        valid_ms=foreign.valid_ms,
        invalid_ms=end_ms,
        expired_ms=foreign.expired_ms,
        episodes=tuple(uuid for _, uuid in known if uuid),
        evidence=tuple(
            Evidence(start_ms, at_ms, uuid, foreign.valid_ms, stated_end_ms) for at_ms, uuid in known
        ),
        expired_reason=SUPERSEDED if expired else None,
        closures=(Closure(end_ms, end_ms, "", ""),) if expired and end_ms is not None else (),
        attributes=foreign.attributes,
    )
