"""What was decided about new names and facts: by rule, or by a model that is not asked twice.

Decisions are stored with an item's stage and may be used later, in another batch: they name what they mean
in a way that survives that, and are checked against the graph when they are used.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from kgsvc.domain.model.extraction import ExtractedEdge
from kgsvc.domain.model.graph import Entity, Fact, Polarity
from kgsvc.domain.model.keys import name_key

Place = tuple[str, int]  # an edge of a batch: episode uuid, index among the extraction's edges


@dataclass(frozen=True, slots=True)
class NameTarget:
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
    also: tuple[NameTarget, ...] = ()

    @property
    def meant(self) -> tuple[NameTarget, ...]:
        """All that it stands for."""
        return (NameTarget(self.name, self.uuid), *self.also)


@dataclass(frozen=True, slots=True)
class StoredFact:
    """A fact of the graph."""

    uuid: str
    slot: str


@dataclass(frozen=True, slots=True)
class BatchFact:
    """A fact that an episode of the same batch told, with the names of its ends."""

    edge: ExtractedEdge
    source: str
    target: str


KnownRef = StoredFact | BatchFact


class Verdict(StrEnum):
    """What a new fact means for a known one. Both hold where there is none.

    repeats: it states the same. rewords: the same, with more detail. replaced: the known one no longer holds,
    something took its place or it ended. untrue: the known one never was true. moved: the known one was
    announced for one time and begins at another. newer: the known one shows that the new one no longer holds.
    goes_on: the known one's announced end is called off.
    """

    REPEATS = "repeats"
    REWORDS = "rewords"
    REPLACED = "replaced"
    UNTRUE = "untrue"
    MOVED = "moved"
    NEWER = "newer"
    GOES_ON = "goes_on"


SAME = frozenset({Verdict.REPEATS, Verdict.REWORDS, Verdict.GOES_ON})


@dataclass(frozen=True, slots=True)
class Judged:
    """A known fact that the new one excludes, or that excludes the new one; since when, if that is known."""

    ref: KnownRef
    verdict: Verdict
    since_ms: int | None = None


@dataclass(frozen=True, slots=True)
class FactDecision:
    """What a fact repeats (`same`: how), and what it excludes. `told_as`: the fact as one of a type of the
    ontology. `by_model`: of all it was compared with; what is not named here holds beside it."""

    duplicate: KnownRef | None = None
    contradicts: tuple[Judged, ...] = ()
    told_as: ExtractedEdge | None = None
    same: Verdict = Verdict.REPEATS
    by_model: bool = False

    @property
    def led_back_to(self) -> KnownRef | None:
        """What the fact counts as where later ones are compared with it. What goes on although its end was
        announced is no end, so it counts as itself."""
        return None if self.same is Verdict.GOES_ON else self.duplicate


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
            if isinstance(ref, BatchFact):
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
            yield from (judged.ref for judged in decision.contradicts)


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


EXPIRED_READ = 32  # of one source or target, the last ones


@dataclass(frozen=True, slots=True)
class CandidateQuery:
    """Entities by tokens of their names or by uuid; open facts (not expired) by source, by target and
    between pairs; with `held_at_ms` also those by source and by target that ended after that time, among the
    `EXPIRED_READ` of each that expired last."""

    tokens: Collection[str] = ()
    sources: Collection[str] = ()  # entity uuids
    pairs: Collection[tuple[str, str]] = ()  # (source uuid, target uuid)
    entities_per_token: int = 20
    names_per_entity: int = 8
    targets: Collection[str] = ()  # entity uuids
    facts_per_source: int = 20
    facts_per_target: int = 10
    facts_per_pair: int = 10
    told_per_token: int = 0  # of each token the first so many entities are sources and targets too
    uuids: Collection[str] = ()
    vectors: VectorsAfter | None = None
    held_at_ms: int | None = None


@dataclass(frozen=True, slots=True)
class NameCandidates:
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


# What a model is asked where no rule decides, and what it may answer. All numbers are the asker's own; a
# model never sees a uuid.


@dataclass(frozen=True, slots=True)
class KnownEntity:
    """An entity of the graph (or of the micro-batch, already decided) that a new name may mean."""

    idx: int
    name: str
    type: str = "Entity"
    summary: str = ""
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NodeQuestion:
    """A new name: is it one of the `candidates` (KnownEntity.idx) or of the `peers` (other, smaller ids)?"""

    id: int
    name: str
    type: str = "Entity"
    context: str = ""  # what its episode says about it
    candidates: tuple[int, ...] = ()
    peers: tuple[int, ...] = ()
    told_in: int | None = None  # the place of its episode in ResolutionRequest.context


@dataclass(frozen=True, slots=True)
class KnownFact:
    """A fact of the graph that a new one may repeat or contradict. `valid_ms` None: not stated."""

    idx: int
    fact: str
    relation: str
    valid_ms: int | None = None
    invalid_ms: int | None = None
    stated_ms: int | None = None
    polarity: Polarity = Polarity.ASSERTS


@dataclass(frozen=True, slots=True)
class KnownType:
    """A fact type of the ontology."""

    name: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class FactQuestion:
    """A new fact: what does it mean for those of `compare_with` (KnownFact.idx), and which of `fact_types`
    (KnownType.name) is it of? `valid_ms` is the stated start, else None."""

    id: int
    fact: str
    relation: str
    reference_ms: int
    valid_ms: int | None = None
    invalid_ms: int | None = None
    compare_with: tuple[int, ...] = ()
    polarity: Polarity = Polarity.ASSERTS
    fact_types: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ResolutionRequest:
    """Everything that a micro-batch needs decided. Raises ValueError where its numbers do not fit."""

    group_id: str
    nodes: tuple[NodeQuestion, ...] = ()
    entities: tuple[KnownEntity, ...] = ()
    facts: tuple[FactQuestion, ...] = ()
    known_facts: tuple[KnownFact, ...] = ()
    context: tuple[str, ...] = ()  # bodies of the episodes, by reference time
    fact_types: tuple[KnownType, ...] = ()

    def __post_init__(self) -> None:
        """Every number offered exists, every id and idx is given once, peers have smaller ids."""
        entities, known = _once(self.entities), _once(self.known_facts)
        ids = {node.id for node in self.nodes}
        types = {each.name for each in self.fact_types}
        fits = (
            len(ids) == len(self.nodes)
            and len({fact.id for fact in self.facts}) == len(self.facts)
            and all(entities.issuperset(node.candidates) for node in self.nodes)
            and all(ids.issuperset(node.peers) for node in self.nodes)
            and all(peer < node.id for node in self.nodes for peer in node.peers)
            and all(node.told_in in (None, *range(len(self.context))) for node in self.nodes)
            and all(known.issuperset(fact.compare_with) for fact in self.facts)
            and all(types.issuperset(fact.fact_types) for fact in self.facts)
        )
        if not fits:
            raise ValueError("the numbers of a resolution request do not fit together")


def _once(known: tuple[KnownEntity, ...] | tuple[KnownFact, ...]) -> set[int]:
    found = {each.idx for each in known}
    if len(found) != len(known):
        raise ValueError("a resolution request gives an idx twice")
    return found


@dataclass(frozen=True, slots=True)
class NodeResolution:
    """What a name turned out to be: a known entity, another question's node, or (both None) something new.

    The rest of its candidates and peers that are the same thing too: the name shows that what was taken for
    several is one.
    """

    entity: int | None = None
    node: int | None = None
    full_name: str | None = None  # the fullest name that the context supports
    also_known: tuple[int, ...] = ()
    also_new: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class FactResolution:
    """What a fact turned out to be, by KnownFact.idx: at most one verdict of SAME among them, alone but for
    UNTRUE and REPLACED. Without a `fact_type` it keeps its relation."""

    verdicts: Mapping[int, tuple[Verdict, int | None]] = field(default_factory=dict)  # with since when
    fact_type: str | None = None


@dataclass(frozen=True, slots=True)
class Resolutions:
    """Exactly one resolution for each question, by its id; only numbers offered to that question."""

    nodes: Mapping[int, NodeResolution] = field(default_factory=dict)
    facts: Mapping[int, FactResolution] = field(default_factory=dict)
