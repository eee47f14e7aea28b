"""What a name or a fact is compared with before it counts as new (spec 002, deduplication)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from kgsvc.domain.model import Entity, Fact

FROM_THE_FIRST = (-1, "")  # a place before all vectors


@dataclass(frozen=True, slots=True)
class VectorsAfter:
    """Vectors of names written after a place, which only counts in its epoch: in another all are."""

    space: str
    epoch: int = 0
    place: tuple[int, str] = FROM_THE_FIRST  # the rev that wrote it, entity uuid
    limit: int = 1_000


@dataclass(frozen=True, slots=True)
class VectorPage:
    """The next vectors of names by (rev, uuid), and the place of the last."""

    epoch: int
    place: tuple[int, str] = FROM_THE_FIRST
    rows: tuple[tuple[str, bytes], ...] = ()  # entity uuid, float32 little-endian
    more: bool = False


@dataclass(frozen=True, slots=True)
class CandidateQuery:
    """Entities by tokens of their names or by uuid; open facts (not expired) by source and between pairs."""

    tokens: Collection[str] = ()
    sources: Collection[str] = ()  # entity uuids
    pairs: Collection[tuple[str, str]] = ()  # (source uuid, target uuid)
    entities_per_token: int = 20
    names_per_entity: int = 8
    facts_per_source: int = 20
    facts_per_pair: int = 10
    told_per_token: int = 0  # of each token the first so many entities are sources too
    uuids: Collection[str] = ()
    vectors: VectorsAfter | None = None


@dataclass(frozen=True, slots=True)
class Candidates:
    """What was found.

    A token found as often as `entities_per_token` allows is one of many things: it tells least.
    """

    by_token: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # entity uuids, ascending
    entities: Mapping[str, Entity] = field(default_factory=dict)  # of `by_token`, and those asked by uuid
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # their name keys, ascending
    facts: tuple[Fact, ...] = ()  # latest (start_ms, uuid) first
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # of the targets of `facts`, by uuid
    vectors: VectorPage | None = None  # None: not asked for, or there is no such group
    # Added by whoever has the vectors: for name keys the entities, and other new names' keys, that are near.
    near: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    near_names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
