"""What a name or a fact is compared with before it counts as new (spec 002, deduplication)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from kgsvc.domain.model import Entity, Fact


@dataclass(frozen=True, slots=True)
class CandidateQuery:
    """Entities by tokens of their names; open facts (not expired) by source and between pairs."""

    tokens: Collection[str] = ()
    sources: Collection[str] = ()  # entity uuids
    pairs: Collection[tuple[str, str]] = ()  # (source uuid, target uuid)
    entities_per_token: int = 20
    names_per_entity: int = 8
    facts_per_source: int = 20
    facts_per_pair: int = 10
    told_per_token: int = 0  # of each token the first so many entities are sources too


@dataclass(frozen=True, slots=True)
class Candidates:
    """What was found.

    A token found as often as `entities_per_token` allows is one of many things: it tells least.
    """

    by_token: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # entity uuids, ascending
    entities: Mapping[str, Entity] = field(default_factory=dict)  # of `by_token`
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # their name keys, ascending
    facts: tuple[Fact, ...] = ()  # latest (start_ms, uuid) first
