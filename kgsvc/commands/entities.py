"""AddEntityNode (spec 004 §4.2.3 and §9, design §2): a caller creates an entity or updates it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from kgsvc.commands.contention import Contention
from kgsvc.commands.facts import CitedFact, cited
from kgsvc.domain.clock import Clock
from kgsvc.domain.errors import Conflict, LimitExceeded, Violation
from kgsvc.domain.facts.summary import holds, recomposed, summary_facts
from kgsvc.domain.limits import Limits
from kgsvc.domain.model.delta import Claim, GraphDelta, Guard, NameView
from kgsvc.domain.model.graph import Citation, Entity, Episode, Fact, Mention
from kgsvc.domain.model.identity import digest, name_key
from kgsvc.domain.names.forgetting import given_names, names_given
from kgsvc.domain.names.merging import teachers_of
from kgsvc.stores.protocol import EntityEpisodes, GraphStore, HistoryStore

OPERATION = "AddEntityNode"
# Sorts behind the stamp of every episode: what a caller set, no extraction changes. A name keeps by the
# earliest stamp instead.
_ASSERTED = "99999999999999999/"
_ASSERTED_NAME = ""


@dataclass(frozen=True, slots=True)
class EntityInput:
    """What a caller says of an entity; None keeps what is there."""

    uuid: str
    group_id: str
    name: str
    summary: str | None = None
    attributes: Mapping[str, Any] | None = None


class EntityNodes:
    """Writes entities on a caller's behalf."""

    def __init__(self, store: GraphStore, limits: Limits, clock: Clock, contention: Contention) -> None:
        self._store = store
        self._limits = limits
        self._clock = clock
        self._contention = contention

    async def add(self, wanted: EntityInput, idempotency_key: str | None = None) -> Entity:
        """The entity as it is afterwards. With a key that is known with the same input nothing is written.

        Raises Conflict (another entity of the group owns the name or had it; the key is known with another
        input), Overloaded (the group is written to without a pause), StoreUnavailable.
        """
        return await self._contention.settle(lambda: self._attempt(wanted, idempotency_key))

    async def _attempt(self, wanted: EntityInput, key: str | None) -> Entity:
        view = await self._store.names(wanted.group_id, [name_key(wanted.name)], [wanted.uuid])
        now_ms = self._clock.now_ms()
        delta = upsert(view, wanted, max(now_ms, view.head.last_ms + 1))
        before = view.by_uuid.get(wanted.uuid)
        if delta is None:
            if key is None:
                return _present(before)
            delta = GraphDelta(wanted.group_id, view.head.last_ms, bumps_rev=False)
        if key is not None:
            delta = replace(delta, claim=self._claim(wanted, key, now_ms))
        head = await self._store.apply(delta, Guard(view.head.rev, view.head.epoch))
        return delta.entities[0] if head.rev != view.head.rev else _present(before)

    def _claim(self, wanted: EntityInput, key: str, now_ms: int) -> Claim:
        values = digest(wanted.uuid, wanted.name, wanted.summary, wanted.attributes)
        return Claim(OPERATION, key, values, now_ms, self._limits.dedup_window_ms)


def upsert(view: NameView, wanted: EntityInput, system_ms: int) -> GraphDelta | None:
    """The change that makes the entity what the caller wants; None when it is that already.

    A new name becomes the entity's name and the old one stays its alias. Raises Conflict when another
    entity owns the name.
    """
    key = name_key(wanted.name)
    owner = view.by_key.get(key)
    if owner is not None and owner.uuid != wanted.uuid:
        raise Conflict("another entity of the group owns this name", [Violation("name", "is taken")])
    before = view.by_uuid.get(wanted.uuid)
    after = _merged(before or _new(wanted, system_ms), wanted)
    if after == before:
        return None
    return GraphDelta(
        group_id=wanted.group_id,
        system_ms=system_ms,
        entities=(replace(after, updated_ms=system_ms),),
        names={} if owner is not None else {key: wanted.uuid},
    )


def _new(wanted: EntityInput, system_ms: int) -> Entity:
    return Entity(wanted.uuid, wanted.group_id, wanted.name, system_ms, labels=("Entity",))


def _merged(entity: Entity, wanted: EntityInput) -> Entity:
    stamps = {**entity.stamps, **names_given(entity), **given_names([wanted.name]), "name": _ASSERTED_NAME}
    summary, attributes, rewriting = entity.summary, entity.attributes, entity.rewriting
    if wanted.summary is not None:
        summary, stamps["summary"], rewriting = wanted.summary, _ASSERTED, None
    if wanted.attributes is not None:
        attributes = dict(wanted.attributes)
        stamps = {part: stamp for part, stamp in stamps.items() if not part.startswith("a.")}
        stamps |= {f"a.{attribute}": _ASSERTED for attribute in attributes}
    return replace(
        entity, name=wanted.name, summary=summary, attributes=attributes, stamps=stamps, rewriting=rewriting
    )


def _present(entity: Entity | None) -> Entity:
    if entity is None:  # its group was deleted between the key's first use and now
        raise Conflict("the idempotency key was used for an entity that is no longer there")
    return entity


_ALIASES = 1_000
_ENDED = 500  # latest facts in which it is looked for which episodes ended one


class Operation(StrEnum):
    """What an episode did to an entity (spec 000, citation chain)."""

    CREATED = "created"
    UPDATED = "updated"
    REFERENCED = "referenced"


@dataclass(frozen=True, slots=True)
class ChainEntry:
    """An episode in the history of an entity."""

    citation: Citation
    operation: Operation


@dataclass(frozen=True, slots=True)
class EntityView:
    """An entity and what hangs on it. Facts begin with the latest, episodes and chain with the oldest."""

    entity: Entity
    aliases: tuple[str, ...]
    facts: tuple[CitedFact, ...]
    episodes: tuple[Episode, ...]
    edges: Mapping[str, Sequence[str]]  # episode -> facts that it tells
    chain: tuple[ChainEntry, ...]
    mentions: tuple[Mention, ...]  # by `episodes`, in their order


@dataclass(frozen=True, slots=True)
class Extent:
    """How much is wanted, as of now. Not `current`: facts that are expired or not valid now, too."""

    facts: int
    episodes: int
    now_ms: int
    current: bool
    max_bytes: int


async def view_of(store: HistoryStore, entity: Entity, extent: Extent) -> EntityView:
    """Raises LimitExceeded (naming `max_episodes`: their bodies are too much for one response),
    StoreUnavailable."""
    group_id, uuid = entity.group_id, entity.uuid
    naming = await store.entity_episodes(group_id, uuid, extent.episodes, extent.max_bytes)
    if sum(len(episode.body.encode()) for episode in naming.latest) > extent.max_bytes:
        says = f"the bodies of these episodes have more than {extent.max_bytes} bytes; ask for fewer"
        raise LimitExceeded(says, [Violation("max_episodes", says)])
    current_ms = extent.now_ms if extent.current else None
    facts = await store.entity_facts(group_id, uuid, extent.facts, current_ms)
    latest = [episode.uuid for episode in naming.latest]
    edges = await store.episode_edges(group_id, latest)
    mentions = await store.mentions(group_id, uuid, latest)
    return EntityView(
        await as_of(store, entity, extent.now_ms),
        await aliases_of(store, entity),
        tuple(await cited(store, group_id, facts)),
        naming.latest,
        edges,
        await _chain(store, entity, naming, edges),
        tuple(mentions[episode] for episode in latest if episode in mentions),
    )


async def as_of(store: HistoryStore, entity: Entity, now_ms: int) -> Entity:
    """The entity without the sentences of its summary whose time is over since they were written. Raises
    StoreUnavailable."""
    told = summary_facts(entity)
    facts = await store.facts(entity.group_id, told) if told else []
    over = [fact for fact in facts if not holds(fact, now_ms)]
    left = recomposed(entity, over, (), now_ms) if over else entity
    return replace(left, updated_ms=entity.updated_ms)


async def aliases_of(store: HistoryStore, entity: Entity) -> tuple[str, ...]:
    """Other names that lead to the entity, normalised; the first 1,000. Raises StoreUnavailable."""
    names = await store.entity_names(entity.group_id, entity.uuid, _ALIASES + 1)
    return tuple(name for name in names if name != name_key(entity.name))[:_ALIASES]


async def _chain(
    store: HistoryStore, entity: Entity, naming: EntityEpisodes, edges: Mapping[str, Collection[str]]
) -> tuple[ChainEntry, ...]:
    told = await store.facts(entity.group_id, {fact for facts in edges.values() for fact in facts})
    about = {fact.uuid for fact in told if entity.uuid in (fact.source_uuid, fact.target_uuid)}
    latest = await store.entity_facts(entity.group_id, entity.uuid, _ENDED)
    changed = _ending(latest) | teachers_of(entity)
    changed |= {episode for episode, facts in edges.items() if about.intersection(facts)}

    def entry(episode: Episode) -> ChainEntry:
        if episode.uuid == naming.first_uuid:
            return ChainEntry(_citation(episode), Operation.CREATED)
        did = Operation.UPDATED if episode.uuid in changed else Operation.REFERENCED
        return ChainEntry(_citation(episode), did)

    return tuple(map(entry, naming.latest))


def _ending(facts: Sequence[Fact]) -> set[str]:
    return {fact.expired_by_episode for fact in facts if fact.expired_by_episode}


def _citation(episode: Episode) -> Citation:
    return Citation(
        episode.uuid, episode.name, episode.source, episode.source_description, episode.created_ms
    )
