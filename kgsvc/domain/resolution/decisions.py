"""What was decided about new names and facts: by rule, or by a model that is not asked twice (design §4).

Decisions are stored with an item's stage and may be used later, in another batch: they name what they mean
in a way that survives that, and are checked against the graph when they are used.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from kgsvc.domain.model.extraction import ExtractedEdge
from kgsvc.domain.model.graph import Entity, Fact
from kgsvc.domain.model.identity import name_key

Place = tuple[str, int]  # an edge of a batch: episode uuid, index among the extraction's edges


@dataclass(frozen=True, slots=True)
class Meant:
    """The entity `uuid`, or whatever bears `name`."""

    name: str
    uuid: str | None = None


@dataclass(frozen=True, slots=True)
class NameDecision:
    """What a name stands for: the entity `uuid`, or whatever bears `name`; its own name: something new.

    `also` is what turned out to be the same thing too.
    """

    name: str
    uuid: str | None = None
    full_name: str = ""  # the fullest name that was found for it
    also: tuple[Meant, ...] = ()

    @property
    def meant(self) -> tuple[Meant, ...]:
        """All that it stands for."""
        return (Meant(self.name, self.uuid), *self.also)


@dataclass(frozen=True, slots=True)
class StoredFact:
    """A fact of the graph."""

    uuid: str
    slot: str


@dataclass(frozen=True, slots=True)
class ToldFact:
    """A fact that an episode of the same batch told, with the names of its ends."""

    edge: ExtractedEdge
    source: str
    target: str


KnownRef = StoredFact | ToldFact


@dataclass(frozen=True, slots=True)
class FactDecision:
    """What a fact repeats, and what it makes untrue. `told_as`: the fact as one of a type of the ontology."""

    duplicate: KnownRef | None = None
    contradicts: tuple[KnownRef, ...] = ()
    told_as: ExtractedEdge | None = None


@dataclass(frozen=True, slots=True)
class Decisions:
    """For names by name key, for edges by place."""

    names: Mapping[str, NameDecision] = field(default_factory=dict)
    facts: Mapping[Place, FactDecision] = field(default_factory=dict)

    def with_more(self, other: Decisions) -> Decisions:
        """Both; of two about the same the other's."""
        return Decisions({**self.names, **other.names}, {**self.facts, **other.facts})

    @property
    def uuids(self) -> set[str]:
        """Entities to read before use."""
        return {each.uuid for decision in self.names.values() for each in decision.meant if each.uuid}

    @property
    def keys(self) -> set[str]:
        """Name keys to read before use."""
        names = {decision.full_name for decision in self.names.values()}
        names |= {each.name for decision in self.names.values() for each in decision.meant}
        for ref in self._refs():
            if isinstance(ref, ToldFact):
                names |= {ref.source, ref.target}
        return {key for name in names if (key := name_key(name))}

    @property
    def stored(self) -> set[str]:
        """Stored facts that decisions are about."""
        return {ref.uuid for ref in self._refs() if isinstance(ref, StoredFact)}

    @property
    def slots(self) -> set[str]:
        """Slots of stored facts to read before use."""
        return {ref.slot for ref in self._refs() if isinstance(ref, StoredFact)}

    def _refs(self) -> Iterable[KnownRef]:
        for decision in self.facts.values():
            if decision.duplicate is not None:
                yield decision.duplicate
            yield from decision.contradicts


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
