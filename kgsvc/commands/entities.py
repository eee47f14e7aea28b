"""AddEntityNode (docs/contract.md) and GetEntityNode."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from kgsvc.commands.core import Core, the_one, until_applied
from kgsvc.commands.facts import CitedFact, cited
from kgsvc.domain.errors import Conflict, LimitExceeded, NotFound, Violation
from kgsvc.domain.facts.summary import holds, recomposed, summary_facts
from kgsvc.domain.model.delta import GraphDelta, NameView
from kgsvc.domain.model.extraction import UNKNOWN, Ontology
from kgsvc.domain.model.graph import Citation, Entity, Episode, Mention
from kgsvc.domain.model.keys import ASSERTED, digest, name_key
from kgsvc.domain.names.entities import given_names, names_given
from kgsvc.domain.names.merging import teachers_of
from kgsvc.domain.names.namesakes import plain
from kgsvc.ontology import read
from kgsvc.stores.protocol import EntityEpisodes, HistoryStore, ReadStore

OPERATION = "AddEntityNode"
# Stamps say who set a value. This one sorts behind every episode's, so no extraction changes what a caller
# set. Of names the earliest stamp wins instead, so a caller's is empty.
_ASSERTED_NAME = ""
_ALIASES = 1_000
_RECENT_FACTS = 500  # the latest facts, which are searched for episodes that ended one
_MERGES = 100  # that are followed one after another


@dataclass(frozen=True, slots=True)
class EntityInput:
    """An entity as a caller wants it; None keeps the present value."""

    uuid: str
    group_id: str
    name: str
    summary: str | None = None
    attributes: Mapping[str, Any] | None = None


@until_applied
async def add_entity_node(core: Core, wanted: EntityInput, key: str | None = None) -> Entity:
    """Create or update an entity; the entity as it is afterwards. A repeated idempotency key with the same
    input writes nothing.

    Raises Conflict (the name belongs to another entity of the group, or did; the key was used with another
    input), Overloaded, StoreUnavailable.
    """
    view = await core.store.names(wanted.group_id, [name_key(wanted.name)], [wanted.uuid])
    delta = upsert(view, wanted, core.system_ms(view.head))
    before = view.by_uuid.get(wanted.uuid)
    if delta is None:
        if key is None:
            return _present(before)
        delta = GraphDelta(wanted.group_id, view.head.last_ms, bumps_rev=False)
    if key is not None:
        values = digest(wanted.uuid, wanted.name, wanted.summary, wanted.attributes)
        delta = replace(delta, claim=core.claim(OPERATION, key, values))
    head = await core.apply(delta, view.head)
    return delta.entities[0] if head.rev != view.head.rev else _present(before)


def upsert(view: NameView, wanted: EntityInput, system_ms: int) -> GraphDelta | None:
    """The change that makes the entity what the caller wants; None when nothing would change.

    A new name becomes the entity's name and the old one stays its alias. Raises Conflict when another
    entity owns the name.
    """
    key = name_key(wanted.name)
    owner = view.by_key.get(key)
    if owner is not None and owner.uuid != wanted.uuid:
        raise Conflict(
            "another entity of the group owns this name", [Violation("name", "belongs to another entity")]
        )
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
        summary, stamps["summary"], rewriting = wanted.summary, ASSERTED, None
    if wanted.attributes is not None:
        attributes = dict(wanted.attributes)
        stamps = {part: stamp for part, stamp in stamps.items() if not part.startswith("a.")}
        stamps |= {f"a.{attribute}": ASSERTED for attribute in attributes}
    return replace(
        entity, name=wanted.name, summary=summary, attributes=attributes, stamps=stamps, rewriting=rewriting
    )


def _present(entity: Entity | None) -> Entity:
    if entity is None:  # its group was deleted between the key's first use and now
        raise Conflict("the idempotency key was used for an entity that no longer exists")
    return entity


class CitationOperation(StrEnum):
    """What an episode did to an entity."""

    CREATED = "created"
    UPDATED = "updated"
    REFERENCED = "referenced"


@dataclass(frozen=True, slots=True)
class ChainEntry:
    """An episode in the history of an entity."""

    citation: Citation
    operation: CitationOperation


@dataclass(frozen=True, slots=True)
class EntityView:
    """An entity with its facts, latest first, and its episodes and citation chain, oldest first."""

    entity: Entity
    aliases: tuple[str, ...]
    facts: tuple[CitedFact, ...]
    episodes: tuple[Episode, ...]
    edges: Mapping[str, Sequence[str]]  # episode -> the facts it states
    chain: tuple[ChainEntry, ...]
    mentions: tuple[Mention, ...]  # by `episodes`, in their order


async def get_entity_node(
    core: Core, uuid: str, group_id: str | None, facts: int, episodes: int, current: bool
) -> EntityView:
    """The entity with this uuid, or the one it was merged into, with at most so many of its latest facts and
    episodes. Raises NotFound, Conflict (several groups have one), LimitExceeded (naming `max_episodes`: their
    bodies are too much for one response), StoreUnavailable."""
    store = core.store
    entity = await find_entity(store, uuid, group_id)
    group_id, uuid = entity.group_id, entity.uuid
    now_ms, most = core.clock.now_ms(), core.limits.response_bytes
    naming = await store.entity_episodes(group_id, uuid, episodes, most)
    if sum(len(episode.body.encode()) for episode in naming.latest) > most:
        problem = f"the bodies of these episodes have more than {most} bytes; ask for fewer"
        raise LimitExceeded(problem, [Violation("max_episodes", problem)])
    rows = await store.entity_facts(group_id, uuid, facts, now_ms if current else None)
    latest = [episode.uuid for episode in naming.latest]
    edges = await store.episode_edges(group_id, latest)
    mentions = await store.mentions(group_id, uuid, latest)
    return EntityView(
        await as_of(store, entity, now_ms),
        await aliases_of(store, entity),
        tuple(await cited(store, group_id, rows)),
        naming.latest,
        edges,
        await _chain(store, entity, naming, edges),
        tuple(mentions[episode] for episode in latest if episode in mentions),
    )


async def find_entity(store: ReadStore, uuid: str, group_id: str | None) -> Entity:
    """The entity with this uuid, or the one it was merged into. Raises NotFound, Conflict (several groups
    have one), StoreUnavailable."""
    for _ in range(_MERGES):
        entity = the_one(await store.entity(uuid, group_id), "an entity")
        if entity is not None:
            return entity
        record = the_one(await store.merged(uuid, group_id), "an entity")
        if record is None:
            break
        uuid, group_id = record.kept_uuid, record.group_id
    raise NotFound("there is no entity with this uuid")


async def as_of(store: HistoryStore, entity: Entity, now_ms: int) -> Entity:
    """The entity without the sentences of its summary whose facts are no longer valid. Raises
    StoreUnavailable."""
    uuids = summary_facts(entity)
    facts = await store.facts(entity.group_id, uuids) if uuids else []
    over = [fact for fact in facts if not holds(fact, now_ms)]
    current = recomposed(entity, over, (), now_ms) if over else entity
    return replace(current, updated_ms=entity.updated_ms)


async def aliases_of(store: HistoryStore, entity: Entity) -> tuple[str, ...]:
    """Other names that lead to the entity, normalised; the first 1,000. Raises StoreUnavailable."""
    names = await store.entity_names(entity.group_id, entity.uuid, _ALIASES + 1)
    shown = dict.fromkeys(map(plain, names))
    return tuple(name for name in shown if name != name_key(entity.name))[:_ALIASES]


async def main_type(core: Core, entity: Entity, of_server: Ontology) -> str:
    """The type that most episodes give the entity: of several the one of the
    highest priority in the group's ontology, else by name; UNKNOWN where none gives it one. Raises
    StoreUnavailable."""
    said = await core.store.types_said(entity.group_id, entity.uuid)
    most = max(said.values(), default=0)
    tied = sorted(kind for kind, count in said.items() if count == most)
    if len(tied) < 2:
        return tied[0] if tied else UNKNOWN
    text = await core.store.ontology(entity.group_id)
    own = None if text is None else await asyncio.to_thread(read, text)
    ranked = [each.name for each in (own or of_server).by_priority]
    return min(tied, key=lambda kind: ranked.index(kind) if kind in ranked else len(ranked))


async def _chain(
    store: HistoryStore, entity: Entity, naming: EntityEpisodes, edges: Mapping[str, Collection[str]]
) -> tuple[ChainEntry, ...]:
    stated = await store.facts(entity.group_id, {fact for facts in edges.values() for fact in facts})
    about = {fact.uuid for fact in stated if entity.uuid in (fact.source_uuid, fact.target_uuid)}
    latest = await store.entity_facts(entity.group_id, entity.uuid, _RECENT_FACTS)
    changed = {fact.expired_by_episode for fact in latest if fact.expired_by_episode} | teachers_of(entity)
    changed |= {episode for episode, facts in edges.items() if about.intersection(facts)}

    def entry(episode: Episode) -> ChainEntry:
        if episode.uuid == naming.first_uuid:
            return ChainEntry(_citation(episode), CitationOperation.CREATED)
        did = CitationOperation.UPDATED if episode.uuid in changed else CitationOperation.REFERENCED
        return ChainEntry(_citation(episode), did)

    return tuple(map(entry, naming.latest))


def _citation(episode: Episode) -> Citation:
    return Citation(
        episode.uuid, episode.name, episode.source, episode.source_description, episode.created_ms
    )
