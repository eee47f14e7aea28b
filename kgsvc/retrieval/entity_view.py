"""GetEntityNode (spec 000): an entity with its facts, its episodes and what each of them did to it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from kgsvc.domain.citation import Citation
from kgsvc.domain.errors import LimitExceeded, Violation
from kgsvc.domain.identity import name_key
from kgsvc.domain.merging import teachers_of
from kgsvc.domain.model import Entity, Episode, Fact, Mention
from kgsvc.domain.summary import holds, recomposed, summary_facts
from kgsvc.retrieval.citing import CitedFact, cited
from kgsvc.stores.protocol import EntityEpisodes, HistoryStore

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
